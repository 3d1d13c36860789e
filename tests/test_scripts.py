"""Scripts for people who work on the project: what they count and choose."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from scripts import count_lines

ROOT = Path(__file__).parent.parent
SOURCE = '''"""Of the module.

Two paragraphs.
"""

# A comment.
import os  # counted


class Point:
    """Of the class."""

    x: int = 3
    """Of an attribute."""

    text = """kept,
because it is a value"""

    def far(
        self,
    ) -> bool:
        """Of a method."""
        return self.x > 3
'''


def test_code_is_what_is_left_without_docstrings_comments_and_blanks():
    assert count_lines.code_lines("") == count_lines.code_lines("# nothing\n\n") == 0
    # import, class, x, two lines of text, three of def, return.
    assert count_lines.code_lines(SOURCE) == 9


def test_lines_are_counted_by_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(count_lines, "ROOT", tmp_path)
    for name, text in {"a.py": "x = 1\n", "b/c.py": SOURCE, "b/d/e.py": "y = 2\n", "b/f.txt": "no"}.items():
        (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / name).write_text(text)
    count_lines.main(["src"])
    assert capsys.readouterr().out.split() == [".", "1", "b", "10", "total", "11"]
    count_lines.main(["src/", "--json"])
    assert json.loads(capsys.readouterr().out)["lines"] == {".": 1, "b": 10}
    with pytest.raises(SystemExit):
        count_lines.main(["src/b/d/none"])
    assert "no Python files in 'src/b/d/none'" in capsys.readouterr().err


def test_lines_of_a_commit_are_those_of_its_files(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(count_lines, "ROOT", tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("x = 1\n")
    named = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], [*named, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    (tmp_path / "src" / "a.py").write_text("x = 1\ny = 2\n")
    assert count_lines.counted("src", "HEAD") == {".": 1}
    assert count_lines.counted("src") == {".": 2}
    with pytest.raises(SystemExit):
        count_lines.main(["src", "--at", "nowhere"])
    assert "nowhere" in capsys.readouterr().err
