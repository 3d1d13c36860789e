"""Files of a release: values as CSV, Parquet and, for places, GeoJSON; staged whole, published by one rename."""

from __future__ import annotations

import csv
import errno
import glob
import hashlib
import io
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np

from barrow.errors import ParameterError
from barrow.ledger.store import fsync_folder
from barrow.questions.answer import Rows
from barrow.questions.merging import POLYGON, REGIONS, as_geometry
from barrow.questions.value_tables import places_of
from barrow.spaces import Space
from barrow.spaces.augmented import base_space
from barrow.spaces.shapes import cell_places
from barrow.study.features import Shapes, ends_of, feature_collection, flow_lines

FLOWS = "flows.geojson"
"""Flows between places that stand out, as lines."""
_TRIES = 20
_ROOM = "room"


class Stage:
    """A hidden folder beside the one that will be published; only its owner can read it.

    Its name begins with what follows from the release's key, so that a release that was interrupted finds what it had
    staged; the rest is its own, so that two processes never write into one folder. Room on the disk is taken before
    anything is paid for. What earlier attempts left is removed before another draw, and when the release is published;
    never in between: one of them may hold the values that the ledger knows.

    Args:
        out: The folder that will appear.
        key: The release's key.
    """

    def __init__(self, out: str | os.PathLike[str], key: str) -> None:
        self.out = Path(out)
        self._prefix = f".{self.out.name}.{hashlib.sha256(key.encode()).hexdigest()[:12]}."
        self._room: int | None = None
        self.folder = self.out.parent / f"{self._prefix}staged"

    def open(self, room: int) -> None:
        """Make the folder and take ``room`` bytes of its disk; refused where the published one exists."""
        if os.path.lexists(self.out):
            raise folder_exists(self.out)
        try:
            _make(self.out.parent)
            self._sweep_rooms()
            self.folder = Path(tempfile.mkdtemp(prefix=self._prefix, suffix=".staged", dir=self.out.parent))
            self._room = os.open(self.folder / _ROOM, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            _lock(self._room)
            os.posix_fallocate(self._room, 0, max(room, 1))
            os.fsync(self._room)
            os.stat(self.folder / _ROOM)  # nobody swept it before it was locked
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
        self._let_go()
        for name, content in files.items():
            with open(self.folder / name, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        fsync_folder(self.folder)
        fsync_folder(self.folder.parent)

    def folders(self) -> Iterator[tuple[Path, dict[str, bytes]]]:
        """Every folder that may hold the release, staged or published, and its files."""
        for place in (*self._staged(), self.out):
            if (place / _ROOM).exists():
                continue
            with suppress(OSError):  # it cannot be read now: it is not found
                yield place, {file.name: file.read_bytes() for file in sorted(place.iterdir()) if file.is_file()}

    def publish(self, place: Path) -> Path:
        """Give the folder ``place`` its name and let others read it; what else was staged goes."""
        if place != self.out:
            try:
                os.rename(place, self.out)
            except FileNotFoundError:
                if not self.out.is_dir():  # else another process has just published it
                    raise
        if stat.S_IMODE(self.out.stat().st_mode) == 0o700:
            os.chmod(self.out, 0o755)  # noqa: S103  (a released folder is for others to read)
        fsync_folder(self.out.parent)
        return self.out

    def forget(self) -> None:
        """Destroy what every attempt has drawn here; refused where something stays."""
        result = self._staged()
        for _ in range(_TRIES):  # another process may be writing there: it is removed all the same, a file later
            for left in result:
                shutil.rmtree(left, ignore_errors=True)
        if any(os.path.lexists(left) for left in result):
            raise ParameterError(
                f"The files of an earlier attempt cannot be removed beside {str(self.out)!r}.",
                allowed="one draw for each payment",
                fix=f"remove the hidden folders that begin with {self._prefix!r} there, then run the same command",
            )
        if result:
            fsync_folder(self.out.parent)

    def discard(self) -> None:
        """Remove what this process has staged."""
        self._let_go()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _staged(self) -> list[Path]:
        return sorted(self.out.parent.glob(glob.escape(self._prefix) + "*staged"))

    def _sweep_rooms(self) -> None:
        """Remove the folders of killed processes that hold nothing but room."""
        for folder in self._staged():
            with suppress(OSError):
                handle = os.open(folder / _ROOM, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
                try:
                    _lock(handle)
                    shutil.rmtree(folder, ignore_errors=True)
                finally:
                    os.close(handle)

    def _let_go(self) -> None:
        if self._room is not None:
            handle, self._room = self._room, None
            with suppress(OSError):
                os.close(handle)


def folder_exists(place: Path) -> ParameterError:
    """That results cannot go there."""
    return ParameterError(
        f"The output folder {str(place)!r} exists.",
        allowed="a new folder, so that no earlier release is overwritten",
        fix=f"--out {place.name}-2",
    )


def _lock(handle: int) -> None:
    """Hold the file until this process closes it or ends, however it ends; OSError if another one holds it."""
    import fcntl

    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _make(folder: Path) -> None:
    """The folder and those above it, each on the disk before anything is paid for."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(exist_ok=True)
        fsync_folder(folder.parent)


def value_files(
    tables: Mapping[str, Rows], *, mapped: bool, space: Space | None = None, folder: Path | None = None
) -> dict[str, bytes]:
    """The values as files by name; what is needed on the way is written into ``folder``."""
    parquets = {f"{name}.parquet": parquet_of(columns_of(rows), folder) for name, rows in tables.items()}
    return as_files(tables, mapped=mapped, space=space) | parquets


def as_files(
    tables: Mapping[str, Rows], *, mapped: bool, space: Space | None = None, ends: bool = True
) -> dict[str, bytes]:
    """The values as texts by name, which follow from the tables and the public space alone; points where it is None.

    Flows between places that stand out are lines, where the space is known. Without ``ends``, GeoJSON of densities is
    as it was first written: shares and half widths only.
    """
    files = {f"{name}.csv": csv_text(rows).encode() for name, rows in tables.items()}
    shapes = tables.get(REGIONS, [])
    if shapes and POLYGON in shapes[0]:
        files[f"{REGIONS}.geojson"] = region_features(shapes)
    pairs = None if mapped or space is None else space.records_space
    if pairs is not None and pairs.geometry.parts and (lines := flow_lines(tables["values"], pairs)) is not None:
        files[FLOWS] = json.dumps({"type": "FeatureCollection", "features": lines}).encode()
    return files | ({"values.geojson": _geojson(tables["values"], space, ends)} if mapped else {})


def read_tables(files: Mapping[str, bytes], folder: Path | None = None) -> dict[str, Rows]:
    """The rows of every table of values that a folder of results holds; read in ``folder``, where they lie already."""
    import duckdb

    names = sorted((n for n in files if n.endswith(".parquet")), key=lambda n: (n != "values.parquet", n))
    result: dict[str, Rows] = {}
    try:
        with duckdb.cursor() as connection, ExitStack() as stack:
            place = folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            for name in names:
                file = place / name
                if folder is None:
                    file = place / "table.parquet"  # DuckDB would take a star in a name for several files
                    file.write_bytes(files[name])
                columns = connection.execute("SELECT * FROM read_parquet(?)", [str(file)]).fetchnumpy()
                rows = zip(*(column.tolist() for column in columns.values()), strict=True)
                result[name.removesuffix(".parquet")] = [dict(zip(columns, row, strict=True)) for row in rows]
    except (OSError, duckdb.Error) as error:
        raise ParameterError(
            f"The tables of the release cannot be read: {type(error).__name__}.",
            allowed="the files as they were written",
            fix="repair the disk; barrow verify says whether the files are complete",
        ) from None
    return result


def columns_of(rows: Rows) -> dict[str, object]:
    """Whole columns as arrays: numbers as numbers, everything else as text."""
    kinds: dict[type, type] = {float: np.float64, int: np.int64}
    return {
        name: np.array([row[name] for row in rows], dtype=kinds.get(type(value), object))
        for name, value in rows[0].items()
    }


def csv_text(rows: Rows) -> str:
    """The rows as ``values.csv`` has them."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows(row.values() for row in rows)  # all rows of a table have the same keys in the same order
    return text.getvalue()


def parquet_of(columns: Mapping[str, object], place: Path | None, options: str = "") -> bytes:
    """Whole columns as a Parquet file, by DuckDB, which is there anyway; it is written below ``place`` on the way.

    Its default database, in memory, exists already; what is registered with a cursor is seen by that cursor alone.
    """
    import duckdb

    with tempfile.TemporaryDirectory(dir=place) as folder, duckdb.cursor() as connection:
        file = Path(folder) / "table.parquet"
        quoted = str(file).replace("'", "''")
        connection.register("release", columns)
        try:
            connection.execute(f"COPY (SELECT * FROM release) TO '{quoted}' (FORMAT parquet{options})")  # noqa: S608
        except duckdb.IOException:  # the disk, not the values
            raise OSError(errno.EIO, "The values cannot be written") from None
        except duckdb.OutOfMemoryException:
            raise MemoryError from None
        return file.read_bytes()


def _geojson(rows: Rows, space: Space | None, ends: bool) -> bytes:
    """The rows as GeoJSON: the polygon of each cell, or its point; what is outside the space is nowhere."""
    names = {"count": "reports"} | ({} if ends and "share" in rows[0] else {"value": "share"})
    hidden = ("lat", "lon", "output", "unit")
    shapes = [None] * len(rows) if space is None else row_polygons(rows, space)
    keys = [key for key in rows[0] if key not in hidden]  # all rows of a table have the same keys
    told = {names.get(key, key): [row[key] for row in rows] for key in keys}
    both = [ends_of(row) for row in rows] if ends and "half_width_95" in rows[0] else [{}]
    told |= {name: [each[name] for each in both] for name in both[0]}
    return feature_collection(rows, shapes, told).encode()


def row_polygons(rows: Rows, space: Space) -> Shapes:
    """The corners (latitude, longitude) of the cell of each row, once for each group; None for what has no cell.

    One array where each row has a cell: taking it apart takes longer than writing it.
    """
    where = space.geometry.within or space.records_space
    cells = cell_places(base_space(where))
    if cells is not None and len(rows) % where.items == 0 and "item" in rows[0]:
        if cells.corners is not None and len(cells) == where.items:
            return np.concatenate([cells.corners] * (len(rows) // where.items))
        corners = [None] * len(cells) if cells.corners is None else list(cells.corners)
        return [*corners, *[None] * (where.items - len(cells))] * (len(rows) // where.items)
    if any(row["lat"] is None for row in rows):
        return [None] * len(rows)
    around = places_of(rows, base_space(where).geometry.box).corners
    return [None] * len(rows) if around is None else around


def region_features(rows: Rows) -> bytes:
    """Regions that stand out, as GeoJSON: a polygon each."""
    features = [
        {
            "type": "Feature",
            "geometry": as_geometry(str(row[POLYGON])),
            "properties": {key: value for key, value in row.items() if key != POLYGON},
        }
        for row in rows
    ]
    return json.dumps({"type": "FeatureCollection", "features": features}).encode()


def digest_of(files: Mapping[str, bytes]) -> str:
    """One digest of several files, whatever their order."""
    parts = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return "sha256:" + hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
