"""Public tables from files: vectors, labels, nodes, paths, distances and edges of a space.

``vectors = "words.parquet"`` in plain data stands for the table in that file. Tables are public, so errors name the
file, the row and what to type. Numbers become doubles; the digest is of labels and numbers, not of bytes, so the
same table in another format is the same table.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from barrow.errors import ParameterError, plain_file
from barrow.numerics.digest import table_digest
from barrow.spaces.checks import DIGESTS, Written

Floats = NDArray[np.float64]

TABLES = ("vectors", "covariates", "nodes", "labels", "paths", "distances", "edges", "points")
"""What a file may hold, by its name in plain data."""
SUFFIXES = (".npy", ".npz", ".parquet", ".csv", ".tsv", ".txt", ".vec")
_LARGEST = 2**32
_PARTNERS = {"vectors": "labels", "covariates": "nodes", "distances": "labels"}
"""Numbers that come with names, and what the names are called."""


@dataclass(frozen=True)
class PublicTable:
    """A public table: names, numbers, or both."""

    names: tuple[str, ...]
    numbers: Floats | None
    first: int = 1
    """The number of the first row in its file, for errors."""

    @property
    def digest(self) -> str:
        """Of what it holds."""
        return table_digest(self.names, self.numbers)


def with_tables(spec: Mapping[str, Any], folder: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    r"""Plain data of a space with every file replaced by what it holds; the space will write the files' names.

    Args:
        spec: Plain data of a space; tables may be names of files.
        folder: Where relative names start: beside the study file, or else here, like the names of records.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "words.csv").write_text("word,x,y\ncat,0,1\ndog,0,2\n")
    >>> result = with_tables({"kind": "embedding", "vectors": "words.csv"}, folder)
    >>> result["labels"], result["vectors"].tolist()
    (['cat', 'dog'], [[0.0, 1.0], [0.0, 2.0]])
    """
    place = Path("." if folder is None else folder)
    rest = {key: _nested(value, place) for key, value in spec.items()}
    given = rest.pop(DIGESTS, {})
    names = [key for key in TABLES if isinstance(rest.get(key), str)]
    if not names:
        if given:
            raise ParameterError(
                "The space has digests, but names no files.", allowed="a file for each digest", fix="remove digests"
            )
        return rest
    result, digests = dict(rest), {}
    for key in names:
        file = place / str(rest[key])
        if not file.exists() and Path(str(rest[key])).exists():
            file = Path(str(rest[key]))
        table = read_table_file(file, key)
        digests[key] = table.digest
        known = given.get(key) if isinstance(given, Mapping) else None
        if known is not None and known != table.digest:
            raise ParameterError(
                f"The file {str(file)!r} does not hold what the study was made with: its digest is {table.digest}, and "
                f"{known} was written down.",
                allowed="the same labels and numbers, in any of the formats",
                fix="restore the file; or, for a new study with a new ledger, remove digests",
            )
        _put(result, key, table, file)
    written = {key: value for key, value in spec.items() if key != DIGESTS} | {DIGESTS: digests}
    result["written"] = Written(written)
    return result


def table_names(spec: Any) -> list[str]:
    """The keys of plain data of a space, and of spaces within it, that name files.

    >>> table_names({"kind": "product", "parts": [{"kind": "embedding", "vectors": "words.csv"}, {"kind": "hours"}]})
    ['vectors']
    """
    if isinstance(spec, list):
        return [name for part in spec for name in table_names(part)]
    if not isinstance(spec, Mapping):
        return []
    own = [key for key in TABLES if isinstance(spec.get(key), str)]
    return own + [name for key, value in spec.items() if key not in (*own, DIGESTS) for name in table_names(value)]


def _nested(value: Any, folder: Path) -> Any:
    """Plain data of spaces within spaces."""
    if isinstance(value, Mapping) and "kind" in value:
        return with_tables(value, folder)
    if isinstance(value, list):
        return [_nested(part, folder) for part in value]
    return value


def _put(result: dict[str, Any], key: str, table: PublicTable, file: Path) -> None:
    """What a file holds, where the space's class takes it."""
    if key in ("labels", "paths"):
        result[key] = list(table.names)
    elif key == "nodes":
        result[key] = list(table.names)
        if table.numbers is not None and "covariates" not in result and "vectors" not in result:
            result["covariates"] = table.numbers
    elif key == "edges":
        half = len(table.names) // 2
        lengths = np.ones(half) if table.numbers is None else table.numbers[:, 0]
        result[key] = list(zip(table.names[:half], table.names[half:], lengths.tolist(), strict=True))
    else:
        result[key] = table.numbers
        partner = _PARTNERS.get(key)
        if table.names and partner is not None and not {partner, "labels", "nodes"} & set(result):
            result[partner] = list(table.names)
        elif partner is not None and not table.names and not {partner, "labels", "nodes"} & set(result):
            raise ParameterError(
                f"{str(file)!r} holds numbers but no names.",
                allowed=f"a {partner} file with one name for each row, or a table with a column of names",
                fix=f'{partner} = "names.txt"',
            )


def read_table_file(path: str | os.PathLike[str], what: str = "vectors") -> PublicTable:
    r"""The public table in a file: NumPy (npy, npz), Parquet, CSV, or text (word2vec vectors; one name on each line).

    Args:
        path: The file.
        what: What it is read for: one of ``TABLES``.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "words.vec"
    >>> _ = file.write_text("2 3\ncat 0 0 1\ndog 0 1 0\n")
    >>> read_table_file(file).names
    ('cat', 'dog')
    """
    file = plain_file(path, "The public table")
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise ParameterError(
            f"The public table {str(path)!r} ends in {file.suffix!r}.",
            allowed=", ".join(SUFFIXES),
            fix=f'{what} = "table.parquet"',
        )
    try:
        if file.stat().st_size > _LARGEST:
            raise ParameterError(
                f"The public table {str(path)!r} is larger than 4 GiB.",
                allowed="fewer labels",
                fix="leave rare ones out",
            )
        result = reader(file, what)
    except FileNotFoundError:
        raise ParameterError(
            f"There is no public table {str(path)!r}.",
            allowed="a file beside the study, or a whole path",
            fix=f'{what} = "{file.name}" beside the study file',
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"The public table {str(path)!r} cannot be read: {error}.", fix="check the file") from None
    return _checked(result, file, what)


def _checked(table: PublicTable, file: Path, what: str) -> PublicTable:
    if not table.names and (table.numbers is None or not table.numbers.size):
        raise ParameterError(f"{str(file)!r} is empty.", allowed="at least one row", fix="check the file")
    if table.numbers is not None and not np.isfinite(table.numbers).all():
        row = int(np.flatnonzero(~np.isfinite(table.numbers).all(axis=-1))[0])
        name = f" ({table.names[row]!r})" if len(table.names) == len(table.numbers) else ""
        raise ParameterError(
            f"{str(file)!r}, row {row + table.first}{name}: a number is missing or not finite.",
            allowed="finite numbers in every row",
            fix="drop the row, or correct it",
        )
    if what != "edges":
        first: dict[str, int] = {}
        for row, name in enumerate(table.names):
            if not name or name in first:
                problem = (
                    "the name is empty" if not name else f"{name!r} stands in row {first[name] + table.first} already"
                )
                raise ParameterError(
                    f"{str(file)!r}, row {row + table.first}: {problem}.",
                    allowed="a name of its own for each row",
                    fix="drop one",
                )
            first[name] = row
    return table


def _rows(rows: Sequence[Sequence[str]], file: Path, what: str, start: int) -> PublicTable:
    """Rows of texts: names where a column is no number, numbers otherwise."""
    if not rows:
        return PublicTable((), None)
    width = len(rows[0])
    for i, row in enumerate(rows):
        if len(row) != width:
            raise ParameterError(
                f"{str(file)!r}, row {i + start}: {len(row)} columns, and the rows before have {width}.",
                allowed="as many columns in every row",
                fix="correct the row (a name with a space, or a missing number?)",
            )
    texts = 2 if what == "edges" else 1 if what in ("nodes", "labels", "paths") or not _number(rows[0][0]) else 0
    if what in ("labels", "paths"):
        return PublicTable(tuple(row[0] for row in rows), None, start)
    names = tuple(row[column] for column in range(texts) for row in rows)
    if width == texts:
        return PublicTable(names, None, start)
    numbers = np.empty((len(rows), width - texts))
    for i, row in enumerate(rows):
        try:
            numbers[i] = row[texts:]
        except ValueError:
            column = next(j for j in range(texts, width) if not _number(row[j]))
            raise ParameterError(
                f"{str(file)!r}, row {i + start}, column {column + 1}: {row[column]!r} is no number.",
                allowed="names in the first column, numbers in the others",
                fix="correct it, or drop the row",
            ) from None
    return PublicTable(names, numbers, start)


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _csv(file: Path, what: str) -> PublicTable:
    with file.open(newline="", encoding="utf-8-sig") as stream:
        rows = [row for row in csv.reader(stream, delimiter="\t" if file.suffix.lower() == ".tsv" else ",") if row]
    if not rows:
        return PublicTable((), None)
    numeric = [_number(text) for text in rows[0]]
    single = len(rows[0]) == 1 and what in ("labels", "paths", "nodes")
    # A first row without a number where the second has some, or a usual name of a column of names, is a header.
    header = (
        rows[0][0].strip().lower() in ("label", "labels", "name", "node", "word", "path", "item")
        if single
        else len(rows) > 1 and not any(numeric) and any(_number(text) for text in rows[1])
    )
    return _rows(rows[1:] if header else rows, file, what, 2 if header else 1)


def _text(file: Path, what: str) -> PublicTable:
    """word2vec and GloVe text: a name and its numbers on each line, perhaps after a line of two counts; or names."""
    lines = [line for line in file.read_text(encoding="utf-8-sig").split("\n") if line.strip()]
    if what in ("labels", "paths"):
        return PublicTable(tuple(line.strip() for line in lines), None)
    rows = [line.split() for line in lines]
    start = 1
    if len(rows) > 1 and len(rows[0]) == 2 and len(rows[1]) > 2 and all(text.isdigit() for text in rows[0]):
        rows, start = rows[1:], 2
    return _rows(rows, file, what, start)


def _numpy(file: Path, what: str) -> PublicTable:
    try:
        loaded = np.load(file, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return _array(loaded, file)
        arrays = {name: loaded[name] for name in loaded.files}
    except ValueError as error:
        raise ParameterError(
            f"{str(file)!r} cannot be read: {error}.",
            allowed="arrays of numbers or texts",
            fix="np.savez without objects",
        ) from None
    names = next((a for a in arrays.values() if a.dtype.kind in "US"), None)
    wanted = [arrays[what]] if what in arrays else []
    numbers = next((a for a in [*wanted, *arrays.values()] if a.dtype.kind in "fiu"), None)
    return PublicTable(
        () if names is None else tuple(str(name) for name in names.ravel()),
        None
        if numbers is None or what in ("labels", "paths")
        else np.atleast_2d(np.asarray(numbers, dtype=np.float64)),
    )


def _array(loaded: NDArray[Any], file: Path) -> PublicTable:
    if loaded.dtype.kind in "US":
        return PublicTable(tuple(str(name) for name in loaded.ravel()), None)
    if loaded.dtype.kind not in "fiu" or loaded.ndim > 2:
        raise ParameterError(
            f"{str(file)!r} is an array of {loaded.dtype} in {loaded.ndim} dimensions.",
            allowed="numbers in two dimensions, or texts",
            fix="one row for each label",
        )
    return PublicTable((), np.asarray(loaded if loaded.ndim == 2 else loaded[:, None], dtype=np.float64))


def _parquet(file: Path, what: str) -> PublicTable:
    """Columns of texts are names; columns of numbers, or one column of lists of them, are the numbers."""
    import duckdb

    if not file.exists():
        raise FileNotFoundError(file)
    try:
        with duckdb.connect() as session:
            # Columns may come back as masked arrays where a value is missing.
            columns = session.execute("SELECT * FROM read_parquet(?)", [str(file)]).fetchnumpy()
    except duckdb.Error as error:
        raise ParameterError(
            f"{str(file)!r} cannot be read: {str(error).splitlines()[0]}.", allowed="Parquet", fix="write it again"
        ) from None
    names: list[str] = []
    numbers: list[Floats] = []
    for column in columns.values():
        first = next((value for value in column[:1]), None)
        if isinstance(first, str):
            names += [str(value) for value in column]
        elif isinstance(first, list | tuple | np.ndarray):
            numbers.append(_stacked(np.asarray(column), file))
        elif column.dtype.kind in "fiub":
            filled = np.ma.filled(np.ma.asarray(column).astype(np.float64), np.nan)
            numbers.append(np.asarray(filled, dtype=np.float64)[:, None])
    if what in ("labels", "paths"):
        return PublicTable(tuple(names), None)
    return PublicTable(tuple(names), np.hstack(numbers) if numbers else None)


def _stacked(column: NDArray[Any], file: Path) -> Floats:
    width = len(column[0])
    wrong = next((i for i, value in enumerate(column) if value is None or len(value) != width), None)
    if wrong is not None:
        raise ParameterError(
            f"{str(file)!r}, row {wrong + 1}: the vector has another length than the first, {width}.",
            allowed="as many numbers in every row",
            fix="drop the row, or correct it",
        )
    return np.array([np.asarray(value, dtype=np.float64) for value in column])


_READERS: dict[str, Callable[[Path, str], PublicTable]] = {
    ".npy": _numpy,
    ".npz": _numpy,
    ".parquet": _parquet,
    ".csv": _csv,
    ".tsv": _csv,
    ".txt": _text,
    ".vec": _text,
}
