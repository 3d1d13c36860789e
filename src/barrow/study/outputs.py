"""Files of a release: values as CSV, Parquet and, for places, GeoJSON; staged whole, published by one rename."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from barrow.errors import ParameterError
from barrow.questions.plan import Rows

_KINDS: dict[type, Any] = {float: np.float64, int: np.int64}
_ROOM = "room"


class Stage:
    """A hidden folder beside the one that will be published; only its owner can read it.

    Its name follows from the release's key, so that a release that was interrupted finds what it had staged. Room on
    the disk is taken before anything is paid for.

    Args:
        out: The folder that will appear.
        key: The release's key.

    >>> place = Path(tempfile.mkdtemp()) / "results"
    >>> stage = Stage(place, "map-1")
    >>> stage.open(1000)
    >>> stage.write({"a.txt": b"x"})
    >>> place.exists(), stage.files()
    (False, {'a.txt': b'x'})
    >>> stage.publish() == place and (place / "a.txt").read_text()
    'x'
    """

    def __init__(self, out: str | os.PathLike[str], key: str) -> None:
        self.out = Path(out)
        self.folder = self.out.parent / f".{self.out.name}.{hashlib.sha256(key.encode()).hexdigest()[:12]}.staged"

    def open(self, room: int) -> None:
        """Make the folder and take ``room`` bytes of its disk; refused where the published one exists."""
        if self.out.exists():
            raise ParameterError(
                f"The output folder {str(self.out)!r} exists.",
                allowed="a new folder, so that no earlier release is overwritten",
                fix=f"--out {self.out.name}-2",
            )
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self.discard()
            self.folder.mkdir(mode=0o700)
            with open(self.folder / _ROOM, "wb") as file:
                os.posix_fallocate(file.fileno(), 0, max(room, 1))
                os.fsync(file.fileno())
        except OSError as error:
            self.discard()
            raise ParameterError(
                f"The output folder {str(self.out)!r} cannot be made: {error.strerror}.",
                allowed=f"a folder that can be written, with about {room / 2**20:.1f} MiB of room",
                fix="--out with another folder",
            ) from None

    def write(self, files: Mapping[str, bytes]) -> None:
        """Write all files and force them to the disk."""
        (self.folder / _ROOM).unlink(missing_ok=True)
        for name, content in files.items():
            with open(self.folder / name, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        _sync(self.folder)
        _sync(self.folder.parent)

    def files(self) -> dict[str, bytes]:
        """What was staged, or published, by file name; empty where nothing is."""
        for place in (self.folder, self.out):
            if (place / "statement.json").is_file() or (place.is_dir() and not (place / _ROOM).exists()):
                return {file.name: file.read_bytes() for file in sorted(place.iterdir()) if file.is_file()}
        return {}

    def publish(self) -> Path:
        """Give the folder its name."""
        if self.folder.is_dir():
            os.chmod(self.folder, 0o755)  # noqa: S103  (a released folder is for others to read)
            os.rename(self.folder, self.out)
            _sync(self.out.parent)
        return self.out

    def discard(self) -> None:
        """Remove what was staged."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def value_files(tables: Mapping[str, Rows], *, mapped: bool) -> dict[str, bytes]:
    """The values as files by name.

    >>> sorted(value_files({"values": [{"output": "mean", "value": 0.5}]}, mapped=False))
    ['values.csv', 'values.parquet']
    """
    files: dict[str, bytes] = {}
    for name, parquet in _parquets(tables).items():
        files |= {f"{name}.csv": _csv(tables[name]), f"{name}.parquet": parquet}
        if mapped and name == "values":
            files["values.geojson"] = _geojson(tables[name])
    return files


def read_tables(files: Mapping[str, bytes]) -> dict[str, Rows]:
    """The rows of every table of values that a folder of results holds.

    >>> read_tables(value_files({"values": [{"output": "mean", "value": 0.5}]}, mapped=False))
    {'values': [{'output': 'mean', 'value': 0.5}]}
    """
    import duckdb

    found: dict[str, Rows] = {}
    with tempfile.TemporaryDirectory() as folder, duckdb.cursor() as connection:
        file = Path(folder) / "table.parquet"
        for name in sorted((n for n in files if n.endswith(".parquet")), key=lambda n: (n != "values.parquet", n)):
            file.write_bytes(files[name])
            columns = connection.execute("SELECT * FROM read_parquet(?)", [str(file)]).fetchnumpy()
            rows = zip(*(column.tolist() for column in columns.values()), strict=True)
            found[name.removesuffix(".parquet")] = [dict(zip(columns, row, strict=True)) for row in rows]
    return found


def _csv(rows: Rows) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows(row.values() for row in rows)  # all rows of a table have the same keys in the same order
    return text.getvalue().encode()


def _parquets(tables: Mapping[str, Rows]) -> dict[str, bytes]:
    """By DuckDB, which is there anyway; whole columns go in as arrays.

    Its default database, in memory, exists already; what is registered with a cursor is seen by that cursor alone.
    """
    import duckdb

    found = {}
    with tempfile.TemporaryDirectory() as folder, duckdb.cursor() as connection:
        file = Path(folder) / "values.parquet"
        quoted = str(file).replace("'", "''")
        for table, rows in tables.items():
            columns = {
                name: np.array([row[name] for row in rows], dtype=_KINDS.get(type(value), object))
                for name, value in rows[0].items()
            }
            connection.register("release", columns)
            connection.execute(f"COPY (SELECT * FROM release) TO '{quoted}' (FORMAT parquet)")  # noqa: S608
            connection.unregister("release")
            found[table] = file.read_bytes()
    return found


def _geojson(rows: Rows) -> bytes:
    names = {"count": "reports", "value": "share"}
    hidden = ("lat", "lon", "output", "unit")
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [row["lon"], row["lat"]]},
            "properties": {names.get(key, key): value for key, value in row.items() if key not in hidden},
        }
        for row in rows
    ]
    return json.dumps({"type": "FeatureCollection", "features": features}).encode()


def digest_of(files: Mapping[str, bytes]) -> str:
    """One digest of several files, whatever their order.

    >>> digest_of({"a": b"1"}) == digest_of({"a": b"1"}) != digest_of({"a": b"2"})
    True
    """
    parts = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return "sha256:" + hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
