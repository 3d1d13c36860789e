"""Many item-wise reports read at once: texts exactly as the client writes them, by arithmetic on their bytes.

A text that differs from the client's in anything (spaces, another order of keys, a sign, a leading zero) is left to
the strict reader; both readers accept the same reports and count the same numbers, which is tested on mended and broken
texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from barrow.local.report import Report

_COMMA, _ZERO = ord(","), ord("0")
_MOST_DIGITS = 18
_LONGEST = 2**24


@dataclass(frozen=True, eq=False)
class ParsedReports:
    """What was read from some texts; entries of texts that were not read are meaningless.

    Attributes:
        read: Whether each text was read here; the others are for the strict reader.
        ids: The id of each report.
        sizes: How many values it holds.
        firsts: Where its values begin in ``values``.
        values: All values, one report after the other.
        falling: Whether a report's values fall somewhere.
        largest: The largest value of each report.
    """

    read: NDArray[np.bool_]
    ids: list[str]
    sizes: NDArray[np.int64]
    firsts: NDArray[np.int64]
    values: NDArray[np.int64]
    falling: NDArray[np.bool_]
    largest: NDArray[np.int64]


class BatchReader:
    """Reads texts of reports on one study, by its digest."""

    def __init__(self, study: str) -> None:
        before, _, after = Report(study, "0" * 32, (7,)).to_text().partition("0" * 32 + '"')
        self._before, self._between, self._after = (
            before,
            '"' + after[: after.index("7")],
            after[after.index("7") + 1 :],
        )

    def read(self, texts: Sequence[object]) -> ParsedReports:
        """The reports among ``texts`` that are written exactly as the client writes them."""
        ids, bodies = [], []
        before, between, after = self._before, self._between, self._after
        at, start, line = len(before), len(before) + 32 + len(between), after + "\n"
        for text in texts:
            # Only plain ASCII texts go on: what is a digit to Python elsewhere is none in JSON.
            if type(text) is str and text.startswith(before) and len(text) < _LONGEST and text.isascii():
                end = -len(line) if text.endswith(line) else -len(after) if text.endswith(after) else 0
                if end and text.startswith(between, at + 32):
                    ids.append(text[at : at + 32])
                    bodies.append(text[start:end])
                    continue
            ids.append("")
            bodies.append("")
        return _numbers(ids, bodies)


def _numbers(ids: list[str], bodies: list[str]) -> ParsedReports:
    data = np.frombuffer((",".join(bodies) + ",").encode("ascii"), dtype=np.uint8)
    lengths = np.array([len(body) for body in bodies], dtype=np.int64)
    begins = np.cumsum(lengths + 1) - lengths - 1
    read = (lengths > 0) & _hexadecimal(ids)
    ends = np.flatnonzero(data == _COMMA)
    starts = np.concatenate([[0], ends[:-1] + 1])
    width = ends - starts
    firsts = np.searchsorted(starts, begins)

    def leave(places: NDArray[np.int64]) -> None:
        """Texts with something odd at these bytes are not read here."""
        read[np.searchsorted(begins, places, side="right") - 1] = False

    leave(np.flatnonzero((data - np.uint8(_ZERO) > 9) & (data != _COMMA)))
    leave(starts[(width == 0) | (width > _MOST_DIGITS) | ((width > 1) & (data[starts] == _ZERO))])
    values = _decimal(data, ends, width)
    falls = np.flatnonzero(np.diff(values) < 0) + 1
    owner = np.searchsorted(firsts, falls, side="right") - 1
    falling = np.zeros(len(ids), dtype=bool)
    falling[owner[falls != firsts[owner]]] = True
    sizes = np.diff(np.append(firsts, len(ends)))
    return ParsedReports(read, ids, sizes, firsts, values, falling, np.maximum.reduceat(values, firsts))


def _decimal(data: NDArray[np.uint8], ends: NDArray[np.int64], width: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers whose digits end before ``ends``, from the last digit to the first; at most 18 digits of each."""
    result = data.take(ends - 1).astype(np.int64) - _ZERO
    scale = 1
    for digit in range(1, min(int(width.max()), _MOST_DIGITS)):
        scale *= 10
        has = width > digit
        if 2 * int(has.sum()) > len(ends):
            # Most numbers have this digit: looking at all of them is quicker than picking.
            looked = data.take(np.maximum(ends - (1 + digit), 0)).astype(np.int64) - _ZERO
            result += np.where(has, looked, 0) * scale
        else:
            some = np.flatnonzero(has)
            result[some] += (data[ends[some] - (1 + digit)].astype(np.int64) - _ZERO) * scale
    return result


def _hexadecimal(ids: list[str]) -> NDArray[np.bool_]:
    """Which ids are 32 digits of 0-9 and a-f."""
    filled = [name if len(name) == 32 else "-" * 32 for name in ids]
    table = np.frombuffer("".join(filled).encode("ascii"), dtype=np.uint8).reshape(-1, 32)
    good = (table - np.uint8(_ZERO) <= 9) | (table - np.uint8(ord("a")) <= 5)
    return np.asarray(good.all(axis=1))
