"""``python -m barrow.paper FOLDER``: measures every row and writes FOLDER/paper.json and FOLDER/paper.md."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from barrow.paper import markdown, reproduce_all, to_json


def main(folder: str) -> None:
    """Measure, and write both files."""
    data = to_json(reproduce_all(progress=lambda r: print(f"{r.seconds:7.2f} s  {r.row.label}", file=sys.stderr)))
    place = Path(folder)
    (place / "paper.json").write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (place / "paper.md").write_text(markdown(data), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "docs")
