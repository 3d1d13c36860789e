"""Files of a release: values as CSV, Parquet and, for places, GeoJSON; written whole or not at all."""

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
from barrow.release.plan import Plan

_KINDS: dict[type, Any] = {float: np.float64, int: np.int64}


class OutputFolder:
    """A folder that appears under its name only when everything in it has been written.

    It is made (under a hidden name beside it) before anything is spent, so that a folder that cannot be written is
    found in time.

    >>> place = Path(tempfile.mkdtemp()) / "results"
    >>> folder = OutputFolder(place)
    >>> folder.write("a.txt", b"x")["name"], place.exists()
    ('a.txt', False)
    >>> folder.publish() == place and (place / "a.txt").read_text()
    'x'
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.exists():
            raise ParameterError(
                f"The output folder {str(path)!r} exists.",
                allowed="a new folder, so that no earlier release is overwritten",
                fix=f"--out {self.path.name}-2",
            )
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._stage = Path(tempfile.mkdtemp(prefix=f".{self.path.name}.", dir=self.path.parent))
        except OSError as error:
            raise ParameterError(
                f"The output folder {str(path)!r} cannot be made: {error.strerror}.",
                allowed="a folder that can be written",
                fix="--out with another folder",
            ) from None

    def write(self, name: str, content: bytes) -> dict[str, str]:
        """Write one file; returns its name and digest."""
        with open(self._stage / name, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        return {"name": name, "sha256": hashlib.sha256(content).hexdigest()}

    def publish(self) -> Path:
        """Give the folder its name."""
        os.chmod(self._stage, 0o755)  # noqa: S103  (a released folder is for others to read)
        os.rename(self._stage, self.path)
        return self.path

    def discard(self) -> None:
        """Remove what was staged; nothing is left behind."""
        shutil.rmtree(self._stage, ignore_errors=True)


def value_files(plan: Plan, drawn: Any) -> dict[str, bytes]:
    """The values as files by name.

    >>> from fractions import Fraction
    >>> from barrow.release.study import Study
    >>> from barrow.spaces import Line
    >>> study = Study(Line(0, 1, step=0.1), alpha=Fraction(5), query={"kind": "mean"}, users=10)
    >>> sorted(value_files(study.plan(), np.array([0.5])))
    ['values.csv', 'values.parquet']
    """
    tables = plan.tables(drawn)
    files: dict[str, bytes] = {}
    for name, parquet in _parquets(tables).items():
        files |= {f"{name}.csv": _csv(tables[name]), f"{name}.parquet": parquet}
        if plan.mapped and name == "values":
            files["values.geojson"] = _geojson(tables[name])
    return files


def _csv(rows: list[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows(row.values() for row in rows)  # all rows of a table have the same keys in the same order
    return text.getvalue().encode()


def _parquets(tables: Mapping[str, list[dict[str, Any]]]) -> dict[str, bytes]:
    """By DuckDB, which is there anyway; whole columns go in as arrays.

    Its default database, in memory, exists already; what is registered with a cursor is seen by that cursor alone.
    """
    import duckdb

    found = {}
    with tempfile.TemporaryDirectory() as folder, duckdb.cursor() as connection:
        file = Path(folder) / "values.parquet"
        for table, rows in tables.items():
            columns = {
                name: np.array([row[name] for row in rows], dtype=_KINDS.get(type(value), object))
                for name, value in rows[0].items()
            }
            connection.register("release", columns)
            connection.execute(f"COPY (SELECT * FROM release) TO '{file}' (FORMAT parquet)")  # noqa: S608
            connection.unregister("release")
            found[table] = file.read_bytes()
    return found


def _properties(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a map shows of a place: everything but where it is, under the names that people look for."""
    names = {"count": "reports", "value": "share"}
    return {names.get(key, key): value for key, value in row.items() if key not in ("lat", "lon", "output", "unit")}


def _geojson(rows: list[dict[str, Any]]) -> bytes:
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [row["lon"], row["lat"]]},
            "properties": _properties(row),
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
