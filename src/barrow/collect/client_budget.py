"""A person's own ledger over all cards, and what was prepared for each: on the disk before anything is sent.

What answering a card costs is reserved before anything is drawn, once for each survey, and for that card at that price
alone. A crash wastes what was reserved; nothing is ever given back.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from barrow.collect.keys import price_of
from barrow.errors import LedgerError, ParameterError, plain_file
from barrow.local.memory import Memory
from barrow.numerics import Exact, exact, exact_text, float_up

_KIND, _VERSION = "card wallet", 3
_READABLE = (2, 3)


class ClientBudget:
    """What one person has spent on cards, the limit they set, and the messages that wait to be sent.

    Args:
        path: Its file, beside the memory of reports.

    >>> import tempfile
    >>> budget = ClientBudget(Path(tempfile.mkdtemp()) / "me.json.cards")
    >>> budget.set_limit(10)
    >>> budget.reserve("sha256:a", "sha256:b", Fraction(4)), budget.spent, budget.left
    (True, Fraction(4, 1), Fraction(6, 1))
    >>> budget.reserve("sha256:a", "sha256:b", Fraction(4)), budget.spent
    (False, Fraction(4, 1))
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file = Memory(self.path)

    @property
    def limit(self) -> Fraction | None:
        """The most that all answers together may cost; None if the person has set none."""
        result = self._load()["limit"]
        return None if result is None else Fraction(result)

    @property
    def spent(self) -> Fraction:
        """What all answers together cost at most, if enough aggregators of each sum in shares keep to the rules."""
        return sum((Fraction(entry["epsilon"]) for entry in self._load()["surveys"].values()), Fraction(0))

    @property
    def shared(self) -> int:
        """How many answers were handed out in shares: all aggregators of one together see it whole."""
        return sum("aggregators" in entry for entry in self._load()["surveys"].values())

    @property
    def spent_whoever(self) -> float:
        """The same whoever colludes: infinite from the first answer in shares on."""
        return math.inf if self.shared else float_up(self.spent)

    @property
    def left(self) -> Fraction | None:
        """What is left of the limit."""
        limit = self.limit
        return None if limit is None else limit - self.spent

    def set_limit(self, limit: Exact) -> None:
        """Remember the person's limit."""
        value = exact(limit, "limit")
        if not 0 < value <= 10**9 or value.denominator > 10**9:
            raise ParameterError(f"limit is {exact_text(value)}.", allowed="a number above 0", fix="limit=10")
        with self.changing() as data:
            data["limit"] = str(value)

    def trust(self, aggregators: str) -> None:
        """Remember that the person counts on these aggregators, by their name, not to work together."""
        with self.changing() as data:
            data["trusted"] = sorted({*data["trusted"], aggregators})

    def reserve(self, survey: str, card: str, epsilon: Fraction, *, aggregators: str | None = None) -> bool:
        """Pay for a survey, once; whether it was paid now. Refused beyond the limit, and for another card or price.

        An answer in shares is paid for only where the person opted in to its ``aggregators``, by their name.
        """
        price, shared = price_of(str(epsilon)), {} if aggregators is None else {"aggregators": aggregators}
        with self.changing() as data:
            if survey in data["surveys"]:
                paid = data["surveys"][survey]
                if (paid["card"], Fraction(paid["epsilon"])) != (card, price):
                    raise LedgerError(
                        "This survey was answered already with another card or at another price.",
                        allowed="one card for each survey, at its price",
                        fix="do not answer this card; whoever made it should publish a new study",
                    )
                return False
            if aggregators is not None and aggregators not in data["trusted"]:
                raise ParameterError(
                    "This card's answers are added up in shares, and its aggregators together could see each of them. "
                    "The person has not opted in to these aggregators.",
                    allowed="an opt-in, once for each group of aggregators",
                    fix=f"trust={aggregators!r} (--trust {aggregators}), if you trust that they do not work together",
                )
            if data["limit"] is None:
                raise ParameterError(
                    "The person has set no limit for all their answers together.",
                    allowed="a limit, once; the client remembers it",
                    fix=f"limit={math.ceil(epsilon)} (--limit {math.ceil(epsilon)}) would allow this "
                    f"card, which costs {float(epsilon):.3g}",
                )
            spent = sum((Fraction(entry["epsilon"]) for entry in data["surveys"].values()), Fraction(0))
            left = Fraction(data["limit"]) - spent
            if price > left:
                raise LedgerError(
                    f"This card costs {float(epsilon):.4g}, and {float(left):.4g} of the person's limit of "
                    f"{float(Fraction(data['limit'])):.4g} are left; nothing was drawn.",
                    allowed="cards within the limit",
                    fix="do not answer this card; a larger limit is the person's own choice",
                )
            data["surveys"][survey] = {"card": card, "epsilon": str(price), **shared}
            return True

    def entry(self, survey: str) -> dict[str, Any]:
        """What was prepared for a survey."""
        result: dict[str, Any] = self._load()["surveys"].get(survey, {})
        return result

    def put(self, survey: str, **facts: Any) -> None:
        """Remember more about a survey that was paid for."""
        with self.changing() as data:
            data["surveys"][survey].update(facts)

    @contextmanager
    def changing(self) -> Iterator[dict[str, Any]]:
        """The data, locked while they change; written whole and forced to disk."""
        with self._file.locked():
            data = self._load()
            yield data
            self._file.write(data)

    def _load(self) -> dict[str, Any]:
        try:
            data = msgspec.json.decode(plain_file(self.path, "The client budget").read_bytes(), type=dict[str, Any])
            if data["barrow"] != _KIND or data["version"] not in _READABLE or not isinstance(data["surveys"], dict):
                raise ValueError
            data = {**data, "version": _VERSION, "trusted": data["trusted"] if data["version"] == _VERSION else []}
            if not isinstance(data["trusted"], list) or not all(isinstance(name, str) for name in data["trusted"]):
                raise ValueError
            amounts = [entry["epsilon"] for entry in data["surveys"].values() if isinstance(entry["card"], str)]
            if len(amounts) != len(data["surveys"]):
                raise ValueError
            amounts += [] if data["limit"] is None else [data["limit"]]
            _ = [price_of(text) for text in amounts]
        except FileNotFoundError:
            return {"barrow": _KIND, "version": _VERSION, "limit": None, "surveys": {}, "trusted": []}
        except (OSError, ValueError, TypeError, KeyError, ZeroDivisionError, RecursionError):
            raise LedgerError(
                f"The client budget {str(self.path)!r} cannot be read, so what was spent is unknown; nothing is drawn.",
                allowed="a file that this client wrote",
                fix="restore it from a copy; if you delete it, what was spent is lost",
            ) from None
        return data
