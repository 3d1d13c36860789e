"""Scripts for people who work on the project: what they count and choose."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from scripts import choose_tests, count_lines

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


def test_the_nearest_tests_come_first_and_what_is_left_out_is_said():
    files, left_out = choose_tests.chosen(["src/barrow/transport/emd.py", "tests/spaces/test_week.py"])
    assert files[0] == "tests/spaces/test_week.py"
    emd, doctests, elsewhere = map(
        files.index, ("tests/transport/test_emd.py", "src/barrow/transport", "tests/mechanisms/test_itemwise.py")
    )
    assert emd < doctests < elsewhere
    assert "tests/mechanisms" in left_out
    assert "tests/noise" not in left_out
    assert len(files) == len(set(files)) <= 80
    assert all((ROOT / name).exists() for name in files)


def test_what_starts_something_large_comes_last_and_nothing_changed_chooses_nothing():
    files, _ = choose_tests.chosen(["src/barrow/engines/sql/encoding.py"])
    assert files[0] == "tests/engines/test_encoding.py"
    assert files.index("tests/engines/test_spark.py") > files.index("tests/test_architecture.py")
    assert choose_tests.chosen([]) == ([], [])
    assert choose_tests.chosen(["docs/limits.md"]) == (["tests/test_docs.py"], [])


def test_a_shell_reads_one_line_for_each_file_and_none_where_nothing_changed(capsys):
    choose_tests.main([])
    assert capsys.readouterr().out == ""
    choose_tests.main(["docs/limits.md", "tests/spaces/test_week.py"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "tests/spaces/test_week.py"
    assert all((ROOT / line).exists() for line in lines)


REPEATED = """
import pytest
from tests.thorough import often

@pytest.mark.thorough
def test_repetition():
    assert often(1, 1000) == 1000

def test_claim():
    assert often(1, 1000) in (1, 1000)
"""


@pytest.mark.parametrize(
    ("options", "said"),
    [([], "1 passed, 1 skipped"), (["--thorough"], "2 passed"), (["--cpu-seconds", "0"], "left out, because")],
)
def test_repetitions_are_asked_for_and_cpu_time_has_an_end(tmp_path, options, said):
    file = tmp_path / "test_repeated.py"
    file.write_text(REPEATED)
    named = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), "-p", "conftest", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-v", *named, str(file), *options]
    clean = {name: value for name, value in os.environ.items() if name != "BARROW_THOROUGH"}
    ended = subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True, check=False)
    assert said in ended.stdout, ended.stdout + ended.stderr
