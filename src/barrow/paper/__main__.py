"""``python -m barrow.paper FOLDER [LABEL…]``: measures rows, all by default, and writes paper.json and paper.md."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from barrow.paper import Result, markdown, reproduce_all, rows, to_json
from barrow.paper.page import verdicts


def main(folder: str, labels: list[str]) -> None:
    """Measure, and write both files after each row; rows that are not named stay as they were."""
    place = Path(folder)
    file = place / "paper.json"
    known: dict[str, Any] = {}
    if labels and file.exists():
        known = {row["label"]: row for row in msgspec.json.decode(file.read_bytes())["rows"]}

    def add(found: Result) -> None:
        sys.stderr.write(f"{found.seconds:7.2f} s  {found.row.label}\n")
        known[found.row.label] = found.to_json()
        kept = [known[label] for label in rows() if label in known]
        missing = [label for label in rows() if label not in known]
        data = {**to_json([]), "verdicts": verdicts(kept), "missing": missing, "rows": kept}
        file.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        (place / "paper.md").write_text(markdown(data), encoding="utf-8")

    reproduce_all(labels or None, progress=add)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "docs", sys.argv[2:])
