"""New files and folders of commands: nothing that is there is written over."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from barrow.errors import ParameterError


def beside(place: Path) -> Path:
    """Another name in the same folder, to be suggested where there is a file already.

    >>> beside(Path("out/visits.html")).as_posix()
    'out/visits-2.html'
    """
    return place.with_name(f"{place.stem}-2{place.suffix}")


def write_new(place: Path, pieces: Iterable[bytes], fix: str) -> None:
    """Write a new file; refused where there is one."""
    try:
        with place.open("xb") as file:
            file.writelines(pieces)
    except OSError as error:
        raise ParameterError(
            f"The file {str(place)!r} cannot be written: {error.strerror}.",
            allowed="a new file in a folder that you may write to",
            fix=fix if place.parent.is_dir() else f"mkdir -p {place.parent}",
        ) from None


def refuse_existing(folder: Path, option: str) -> None:
    """Refuse a folder that exists."""
    if folder.exists():
        fix = f"{option} {beside(folder)}"
        raise ParameterError(f"The folder {str(folder)!r} exists.", allowed="a new folder", fix=fix)


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """The folder, if need be new."""
    try:
        folder.mkdir(mode, parents=True, exist_ok=True)
    except OSError as error:
        problem = f"The folder {str(folder)!r} cannot be made: {error.strerror}."
        raise ParameterError(problem, allowed="a folder that you may write to", fix="another one") from None
