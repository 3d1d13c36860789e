"""``python -m barrow.paper FOLDER [LABEL…]``: measures rows, all by default, and writes paper.json and paper.md."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from barrow.paper import Result, markdown, reproduce_all, rows, to_json
from barrow.paper.page import verdicts


def main(folder: str, labels: list[str]) -> None:
    """Measure, and write both files; rows that are not named stay as they were."""
    place = Path(folder)
    file = place / "paper.json"
    data = to_json(reproduce_all(labels or None, progress=_said))
    if labels:
        known = {row["label"]: row for row in json.loads(file.read_text(encoding="utf-8"))["rows"]}
        known |= {row["label"]: row for row in data["rows"]}
        data["rows"] = [known[label] for label in rows() if label in known]
        data["verdicts"] = verdicts(data["rows"])
    file.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (place / "paper.md").write_text(markdown(data), encoding="utf-8")


def _said(found: Result) -> None:
    sys.stderr.write(f"{found.seconds:7.2f} s  {found.row.label}\n")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "docs", sys.argv[2:])
