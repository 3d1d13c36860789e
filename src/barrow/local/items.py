"""Item-wise reports in the local and the shuffle model: each person's client randomises every item, once.

A report is a :class:`~barrow.local.report.Report` whose values are the sorted numbers of the randomised items: a
function of the multiset, exactly m of them. The server counts.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from barrow.accounting import price
from barrow.errors import ParameterError
from barrow.local.batches import BatchReader
from barrow.local.client import RememberingClient
from barrow.local.plain import check_kind, digest_of
from barrow.local.report import Report, read_for
from barrow.mechanisms import ItemReports, ItemWise, Reduced, item_wise
from barrow.numerics import Exact, exact_text
from barrow.planning import ItemChoice, ReductionChoice, choose_items
from barrow.privacy import Guarantee, Model
from barrow.privacy.definitions import positive, probability
from barrow.spaces import Space, space_from_spec
from barrow.spaces.base import Ids, Unknown

ITEM_STUDY_VERSION = 1
_KIND = "item study"
_KEYS = {"barrow", "version", "space", "randomiser", "items", "users", "model", "alpha", "delta"}
_BATCH = 4096
_BATCH_LENGTH = 2**22
Received = Report | str | bytes | Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class ItemStudy:
    """What everybody in an item-wise study agrees on; all public.

    Args:
        space: The space of items.
        alpha: Privacy loss per unit of EMD, for all m reports of a person together.
        delta: The probability with which it may fail.
        items: m, how many items each person reports on.
        model: ``"local"`` (the server may look at each report), or ``"shuffle"`` (it sees the reports of all ``users``
            together, mixed by somebody who is trusted).
        users: n, for the shuffle model.
        randomiser: A kind or plain data; the one that suits the space by default.

    >>> from barrow.spaces import Clustered
    >>> study = ItemStudy(Clustered.grid(2, 2, r=0.25), 20, items=5)
    >>> study.mechanism.randomiser.kind, item_study_from_json(study.to_json()).digest == study.digest
    ('gkrr', True)
    """

    space: Space
    alpha: Fraction
    delta: Fraction
    choice: ItemChoice | ReductionChoice
    _randomiser: Mapping[str, Any] | str | None

    def __init__(
        self,
        space: Space,
        alpha: Exact,
        delta: Exact = 0,
        *,
        items: int,
        model: str = "local",
        users: int | None = None,
        randomiser: Mapping[str, Any] | str | None = None,
    ) -> None:
        self._check_model(model)
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "alpha", positive(alpha, "alpha"))
        object.__setattr__(self, "delta", probability(delta))
        n = users if model == "shuffle" else None
        chosen = choose_items(space, alpha, delta, items=items, users=n, model=model, randomiser=randomiser)
        object.__setattr__(self, "choice", chosen)
        object.__setattr__(self, "_randomiser", randomiser)

    @staticmethod
    def _check_model(model: str) -> None:
        if model not in ("local", "shuffle"):
            raise ParameterError(
                f"model is {model!r}, but people who randomise their own items trust no center.",
                allowed="'local' or 'shuffle'",
                fix="model='local', or barrow release for data already held",
            )

    def lines(self) -> list[str]:
        """The study in words, a line each."""
        return self.choice.lines()

    def randomise(self, items: Ids) -> ItemReports:
        """The reports of one person, who holds exactly m items."""
        return self.mechanism.randomise(items)

    def guarantee_for(self, users: int) -> Guarantee:
        """What holds if the reports of ``users`` people are mixed, and not of as many as was planned."""
        made = self.mechanism
        here = item_wise(made.randomiser, items=made.items, users=users, model="shuffle", delta=made.delta)
        return price(here.event)

    @property
    def mechanism(self) -> ItemWise:
        """What each client draws, on exactly m items."""
        made = self.choice.mechanism
        return made.inner if isinstance(made, Reduced) else made

    @property
    def guarantee(self) -> Guarantee:
        """What each person is promised."""
        return self.choice.guarantee

    @property
    def public(self) -> tuple[str, ...]:
        """What is public, and what a report reveals beside its values."""
        space, made = self.space, self.mechanism
        return (
            f"the space ({space.kind}, {space.items:,} items, diameter {space.diameter:.6g} {space.unit}".rstrip()
            + ")",
            f"the randomiser: {made.randomiser.description}, alpha0 = {float(made.event.alpha0):.6g}",
            *self._asked,
            "who reports, when, and how many do: the guarantee is about the values of a report only",
        )

    @property
    def _asked(self) -> tuple[str, str]:
        """How many items each person reports on, and what was asked for."""
        return (
            f"that each person reports on exactly {self.mechanism.items:,} items",
            f"alpha = {float(self.alpha):.6g} and delta = {float(self.delta):.6g}",
        )

    @property
    def _randomiser_spec(self) -> str | dict[str, Any]:
        """The randomiser as plain data: as it was given, or the kind that was chosen."""
        given = self._randomiser
        return self.mechanism.randomiser.kind if given is None else given if isinstance(given, str) else dict(given)

    def to_json(self) -> dict[str, Any]:
        """Plain data that :func:`item_study_from_json` reads back."""
        made = self.mechanism
        return {
            "barrow": _KIND,
            "version": ITEM_STUDY_VERSION,
            "space": self.space.to_spec(),
            "randomiser": self._randomiser_spec,
            "items": made.items,
            "users": made.users,
            "model": made.model.value,
            "alpha": exact_text(self.alpha),
            "delta": exact_text(self.delta),
        }

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical plain data: reports name the study by it."""
        return digest_of(self.to_json())


def item_study_from_json(data: Mapping[str, Any]) -> ItemStudy:
    """The study that plain data describe.

    >>> item_study_from_json({"barrow": "something else"})
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: This is not an item study of version 1.
      allowed: exactly the keys alpha, barrow, delta, items, model, randomiser, space, users, version
      fix:     write it with ItemStudy(...).to_json()
    """
    check_kind(data, _KIND, ITEM_STUDY_VERSION, _KEYS, "ItemStudy")
    return ItemStudy(
        space_from_spec(data["space"]),
        data["alpha"],
        data["delta"],
        items=data["items"],
        users=data["users"],
        model=data["model"],
        randomiser=data["randomiser"],
    )


class ItemClient(RememberingClient):
    """One person's side: their items never leave it; their report does, and only one.

    Args:
        study: The public study.
        memory: The file that remembers reports; one for each person.

    >>> import tempfile
    >>> from barrow.spaces import Discrete
    >>> study = ItemStudy(Discrete(["a", "b"]), 6, items=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     client = ItemClient(study, folder + "/reports.json")
    ...     first = client.report(["a", "b", "a"])
    ...     first == client.report(["b", "b", "b"]), len(first.values)
    (True, 3)
    """

    def __init__(self, study: ItemStudy, memory: str | os.PathLike[str]) -> None:
        self.study = study
        super().__init__(study.digest, study.space, study.mechanism.items, memory)

    def _draw(self, items: Ids) -> list[int]:
        drawn = self.study.randomise(items).counts
        numbers: list[int] = np.repeat(np.arange(len(drawn)), drawn).tolist()
        return numbers


@dataclass(frozen=True)
class ItemResult:
    """The histogram of all reports.

    Attributes:
        study: The digest of the study.
        n: How many people's reports were counted.
        labels: What the reports are called.
        counts: How often each was reported.
        refused: How many reports were refused, by reason.
        guarantee: What each person was promised; in the shuffle model for the n that were really counted together.
        displacement: How far from its item a report is on average, in the space's units.
        public: What is public.

    >>> from barrow.spaces import Discrete
    >>> study = ItemStudy(Discrete(["a", "b"]), 6, items=2)
    >>> aggregate_items(study, [Report(study.digest, "0" * 32, (1, 1))]).to_json()["histogram"]
    {'a': 0, 'b': 2}
    """

    study: str
    n: int
    labels: tuple[str, ...]
    counts: tuple[int, ...]
    refused: Mapping[str, int]
    guarantee: Guarantee
    displacement: float | None
    public: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "study": self.study,
            "n": self.n,
            "histogram": dict(zip(self.labels, self.counts, strict=True)),
            "refused": dict(self.refused),
            "guarantee": self.guarantee.to_json(),
            "displacement": self.displacement,
            "public": list(self.public),
        }


class ItemServer:
    """The collecting side of an item-wise study; it sees randomised reports only, and keeps one count for each.

    Args:
        study: The public study.

    >>> from barrow.spaces import Discrete
    >>> study = ItemStudy(Discrete(["a", "b"]), 6, items=3)
    >>> server = ItemServer(study)
    >>> server.add(Report(study.digest, "0" * 32, (0, 0, 1))), server.add(Report(study.digest, "1" * 32, (0,)))
    (None, 'wrong size')
    >>> server.result().counts, dict(server.refused)
    ((2, 1), {'wrong size': 1})
    """

    def __init__(self, study: ItemStudy) -> None:
        self.study = study
        self.refused: Counter[str] = Counter()
        self._seen: set[str] = set()
        self._counts = np.zeros(study.mechanism.randomiser.reports, dtype=np.int64)
        self._reader = BatchReader(study.digest)

    @property
    def n(self) -> int:
        """How many reports were counted."""
        return len(self._seen)

    def add(self, report: Received) -> str | None:
        """Counts one report; or refuses it, counts the refusal and returns its reason.

        Reasons are ``"malformed"``, ``"another version"``, ``"another study"`` (another digest), ``"wrong size"``,
        ``"repeated"`` and ``"impossible value"``.
        """
        reason = self._add(report)
        if reason is not None:
            self.refused[reason] += 1
        return reason

    def add_all(self, reports: Iterable[Received]) -> None:
        """Counts many reports, in their order, some thousands at a time: memory does not grow with what they hold."""
        some: list[Received] = []
        length = 0
        for report in reports:
            some.append(report)
            length += len(report) if isinstance(report, str) else 0
            if len(some) == _BATCH or length > _BATCH_LENGTH:
                self._add_batch(some)
                some, length = [], 0
        if some:
            self._add_batch(some)

    def _add_batch(self, some: list[Received]) -> None:
        """The same decisions as :meth:`add`, report by report; what they hold was read all at once."""
        batch = self._reader.read(some)
        impossible = batch.falling | (batch.largest >= len(self._counts))
        wrong, seen, items = batch.sizes != self.study.mechanism.items, self._seen, self.study.mechanism.items
        counted = np.zeros(len(some), dtype=bool)
        read, wrong_sizes, no_values = batch.read.tolist(), wrong.tolist(), impossible.tolist()
        for i, name in enumerate(batch.ids):
            if not read[i]:
                self.add(some[i])
            elif wrong_sizes[i]:
                self.refused["wrong size"] += 1
            elif name in seen:
                self.refused["repeated"] += 1
            elif no_values[i]:
                self.refused["impossible value"] += 1
            else:
                seen.add(name)
                counted[i] = True
        chosen = batch.firsts[counted][:, None] + np.arange(items)
        numbers = batch.values[chosen.ravel()]
        if len(self._counts) <= 4 * len(numbers):
            self._counts += np.bincount(numbers, minlength=len(self._counts))
        else:
            np.add.at(self._counts, numbers, 1)

    def _add(self, received: Received) -> str | None:
        report = read_for(self.study.digest, received)
        if isinstance(report, str):
            return report
        if len(report.values) != self.study.mechanism.items:
            return "wrong size"
        if report.id in self._seen:
            return "repeated"
        if min(report.values) < 0 or max(report.values) >= len(self._counts):
            return "impossible value"
        numbers = np.array(report.values, dtype=np.int64)
        if (np.diff(numbers) < 0).any():
            return "impossible value"
        self._seen.add(report.id)
        np.add.at(self._counts, numbers, 1)
        return None

    def result(self) -> ItemResult:
        """The histogram so far, with the guarantee."""
        if self.n == 0:
            raise ParameterError("No report has been counted.", allowed="at least one", fix="server.add(report) first")
        made = self.study.mechanism
        guarantee = self.study.guarantee
        if made.model is Model.SHUFFLE and self.n != made.users:
            # Fewer reports hide each other less than was planned: say what holds for those that came.
            guarantee = self.study.guarantee_for(self.n)
        return ItemResult(
            self.study.digest,
            self.n,
            tuple(made.randomiser.report_labels),
            tuple(self._counts.tolist()),
            dict(self.refused),
            guarantee,
            made.randomiser.displacement,
            self.study.public,
        )


def randomise_items(
    study: ItemStudy, records: Any, *, memory: str | os.PathLike[str], unknown: Unknown = "error"
) -> Report:
    """One person's report on their items: drawn once and remembered in ``memory``.

    >>> import tempfile
    >>> from barrow.spaces import Discrete
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     len(randomise_items(ItemStudy(Discrete(["a", "b"]), 6, items=2), ["a", "b"], memory=folder + "/m").values)
    2
    """
    return ItemClient(study, memory).report(records, unknown=unknown)


def aggregate_items(study: ItemStudy, reports: Iterable[Received]) -> ItemResult:
    """The histogram of many reports; those that do not fit are refused and counted by reason.

    >>> from barrow.spaces import Discrete
    >>> study = ItemStudy(Discrete(["a", "b"]), 6, items=2)
    >>> aggregate_items(study, [Report(study.digest, "0" * 32, (0, 1)), "hello"]).refused
    {'malformed': 1}
    """
    server = ItemServer(study)
    server.add_all(reports)
    return server.result()
