"""The folder of a release as a stranger's: nothing outside it is opened, whatever lies in it."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from barrow.errors import BarrowError, ParameterError
from barrow.ledger.published import FILE as HEAD
from barrow.ledger.state import Digests
from barrow.questions.answer import Rows
from barrow.questions.statement import Statement
from barrow.study.formats import CATALOGUES, format_files
from barrow.study.geoparquet import FILE as CELLS
from barrow.study.geoparquet import cells_content, cells_file
from barrow.study.outputs import FLOWS, as_files, digest_of, read_tables
from barrow.study.statement import space_of

_LARGEST = 2**26
WORDS = ("statement.json", "statement.txt")


def read_regular(path: Path, largest: int | None = None) -> bytes:
    """The content of a file that is one: links are not followed, pipes and devices not opened for reading.

    Raises:
        OSError: It is missing, is something else, or is larger than allowed.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        result = os.fstat(handle)
        if not stat.S_ISREG(result.st_mode) or (largest is not None and result.st_size > largest):
            raise OSError("not a file of a release")
        return file.read()


def read_part(path: str | os.PathLike[str], name: str, what: str, *, allowed: str, fix: str) -> tuple[Path, bytes]:
    """A file of at most 64 MiB, or the file ``name`` of a folder, and what it holds.

    Args:
        path: The file, or the folder.
        name: What the file is called in a folder.
        what: What it is, as in "There is no statement at".
        allowed: What may be named.
        fix: What to type.
    """
    place = Path(path)
    file = place / name if place.is_dir() else place
    try:
        return file, read_regular(file, _LARGEST)
    except OSError:
        raise ParameterError(f"There is no {what} at {str(path)!r}.", allowed=allowed, fix=fix) from None


class ReleaseFolder:
    """What lies in a folder, beside what its statement says should.

    Args:
        place: The folder.
        statement: Its statement.
    """

    def __init__(self, place: Path, statement: Statement) -> None:
        self.place = place
        self.statement = statement
        self.named: dict[str, str] = {file.name: file.sha256 for file in statement.files}
        self.files: dict[str, bytes] = {}
        self.odd: dict[str, str] = {}
        """What is wrong with the names in the folder, by name."""
        expected = {*self.named, *WORDS}
        here = set(os.listdir(place))
        for name in sorted(here | expected):
            if name not in here:
                self.odd[name] = "missing"
            elif name in expected or name == HEAD:
                try:
                    self.files[name] = read_regular(place / name)
                except OSError:
                    self.odd[name] = "is a link or no file, and was not opened"
            else:
                self.odd[name] = "is not part of the release: nothing is known about it"
        for name in {*WORDS, HEAD} & set(self.named):
            self.odd[name] = "is wrongly listed among the values"
        if len(self.named) < len(statement.files):
            self.odd["statement.json"] = "lists a file twice"

    @property
    def values(self) -> dict[str, bytes]:
        """The files that the statement lists."""
        return {name: self.files[name] for name in self.named if name in self.files}

    @property
    def digests(self) -> Digests:
        """What a commit record would hold of this folder."""
        words = {name: self.files[name] for name in WORDS if name in self.files}
        return Digests(digest_of(self.values), digest_of(words))

    def changed(self) -> dict[str, bool]:
        """For each file that the statement lists and that is here, whether it differs from what it says."""
        return {name: hashlib.sha256(content).hexdigest() != self.named[name] for name, content in self.values.items()}

    def disagreeing(self) -> list[str]:
        """The files of values that do not hold what the Parquet table of the same name holds."""
        parquets = {name: content for name, content in self.values.items() if name.endswith(".parquet")}
        others = {name for name in self.named if name.endswith((".csv", ".geojson"))}
        try:
            tables, mapped = read_tables(parquets), "values.geojson" in others
            again = as_files(tables, mapped=mapped, space=space_of(self.statement) if FLOWS in others else None)
            if mapped and again["values.geojson"] != self.files.get("values.geojson"):  # cells, not points
                again = as_files(tables, mapped=True, space=space_of(self.statement))
            if mapped and again["values.geojson"] != self.files.get("values.geojson"):  # as it was first written
                first = as_files(tables, mapped=True, space=space_of(self.statement), ends=False)
                again = first if first["values.geojson"] == self.files.get("values.geojson") else again
        except (BarrowError, ValueError, TypeError, KeyError, IndexError, OverflowError):
            return sorted(parquets)
        twins = {name for name in parquets if name.removesuffix(".parquet") + ".csv" not in others}
        wrong = {name for name in others if again.get(name) != self.files.get(name)} | twins
        return sorted(wrong if CELLS not in self.files or self._cells_agree(tables["values"]) else {*wrong, CELLS})

    def _cells_agree(self, rows: Rows) -> bool:
        """Whether the map of cells holds the values and, where the space can be made again, its polygons."""
        space = space_of(self.statement)
        try:
            held = cells_content(self.files[CELLS])
            if space is not None:
                return held == cells_content(cells_file(rows, space)[CELLS])
            return [{name: row.get(name) for name in rows[0]} for row in held[0]] == rows
        except (BarrowError, ValueError, TypeError, KeyError, IndexError, OverflowError):
            return False

    def misleading(self) -> list[str]:
        """The files for catalogues that do not say what this library would say of the statement and the tables."""
        listed = [name for name in CATALOGUES if name in self.named]
        before = {name: content for name, content in self.values.items() if name not in CATALOGUES}
        try:
            tables = read_tables({name: content for name, content in before.items() if name.endswith(".parquet")})
            ordered = [name.removesuffix(".csv") for name in before if name.endswith(".csv")]
            again = format_files(self.statement, {name: tables[name] for name in ordered}, before)
        except (BarrowError, ValueError, TypeError, KeyError, IndexError, OverflowError):
            return listed
        return [name for name in listed if again.get(name) != self.files.get(name)]
