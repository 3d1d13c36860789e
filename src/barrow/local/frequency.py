"""Frequency estimation in the local and the shuffle model: item-wise reports, and what their items must have been.

The client is that of :mod:`barrow.local.items`, and so is the study's digest: a person who has answered the item-wise
study has answered this one, and is never asked to draw twice. What differs is what the server makes of the counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from barrow.local.items import ItemResult, ItemServer, ItemStudy, Received
from barrow.local.sampled import SampledStudy
from barrow.mechanisms.decoding import nearest_in_simplex
from barrow.mechanisms.frequency import FrequencyEstimator


@dataclass(frozen=True, eq=False)
class FrequencyStudy:
    """An item-wise study whose reports are turned into frequencies; all public.

    Args:
        items: The item-wise study: space, alpha, delta, how many items each person reports on, and the randomiser.
        decode: ``"tree"``, ``"simplex"``, ``"bayesian"`` or ``"none"``; the one that suits the space by default.

    >>> from barrow.spaces import Clustered
    >>> study = FrequencyStudy(ItemStudy(Clustered.grid(2, 2, r=0.25), 20, items=5))
    >>> study.estimator.how, study.digest == study.items.digest
    ('tree', True)
    """

    items: ItemStudy
    decode: str | None = None

    def __post_init__(self) -> None:
        _ = self.estimator  # a randomiser that cannot be undone is refused before anybody reports

    @property
    def digest(self) -> str:
        """That of the item-wise study: how reports are decoded later does not change them."""
        return self.items.digest

    @cached_property
    def estimator(self) -> FrequencyEstimator:
        """What the server will do with the counts."""
        sampled = isinstance(self.items, SampledStudy)
        return FrequencyEstimator(self.items.mechanism, how=self.decode, sampled=sampled)

    def lines(self) -> list[str]:
        """The study in words, a line each."""
        return [*self.items.lines(), *self.estimator.lines()]


@dataclass(frozen=True)
class FrequencyResult:
    """The estimated mean histogram over those who reported.

    Errors are earth mover's distances in the space's units, for the people whose reports were counted.

    Attributes:
        counted: The histogram of the reports themselves, how many were counted or refused, and the guarantee.
        labels: What the items are called.
        estimate: The unbiased estimate; entries may be negative.
        histogram: The decoded estimate, a histogram; None where decoding was not wanted.
        decode: How it was decoded.
        unit: The unit of distances.
        predicted_error: The expected error of the unbiased estimate, if the items are as decoded.
        error_upper: The largest expected error of the unbiased estimate, for any data.
        decoded_upper: The same for the decoded one, where it is proven.
        warning: A sentence if the estimate is nearly useless.

    >>> from barrow.local import Report
    >>> from barrow.spaces import Discrete
    >>> study = FrequencyStudy(ItemStudy(Discrete(["a", "b"]), 6, items=2))
    >>> found = aggregate_frequency(study, [Report(study.digest, f"{i:032x}", (0, 0)) for i in range(9)])
    >>> found.histogram, [round(x, 2) for x in found.estimate]
    ((1.0, 0.0), [1.05, -0.05])
    """

    counted: ItemResult
    labels: tuple[str, ...]
    estimate: tuple[float, ...]
    histogram: tuple[float, ...] | None
    decode: str
    unit: str
    predicted_error: float
    error_upper: float
    decoded_upper: float | None
    warning: str | None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        told = self.counted.to_json()
        reports = told.pop("histogram")
        decoded = None if self.histogram is None else dict(zip(self.labels, self.histogram, strict=True))
        return {
            **told,
            "reports": reports,
            "estimate": dict(zip(self.labels, self.estimate, strict=True)),
            "decoded": decoded,
            "decode": self.decode,
            "unit": self.unit,
            "predicted_error": self.predicted_error,
            "error_upper": self.error_upper,
            "decoded_error_upper": self.decoded_upper,
            "warning": self.warning,
        }


class FrequencyServer(ItemServer):
    """The collecting side: counts reports as the item-wise server does, and then undoes the randomiser.

    Args:
        study: The public study.

    >>> from barrow.local import Report
    >>> from barrow.spaces import Discrete
    >>> study = FrequencyStudy(ItemStudy(Discrete(["a", "b"]), 6, items=3))
    >>> server = FrequencyServer(study)
    >>> server.add(Report(study.digest, "0" * 32, (0, 0, 1))), server.add(Report(study.digest, "1" * 32, (0,)))
    (None, 'wrong size')
    >>> [round(x, 2) for x in server.frequencies().estimate]
    [0.72, 0.28]
    """

    def __init__(self, study: FrequencyStudy) -> None:
        super().__init__(study.items)
        self.question = study

    def frequencies(self) -> FrequencyResult:
        """The estimate so far, with the guarantee."""
        counted = self.result()
        made = self.question.estimator.for_users(counted.n)
        estimate = made.estimate(counted.counts)
        decoded = made.decode(counted.counts)
        # Which error to expect depends on the items; what has been decoded is the best public guess of them.
        reference = nearest_in_simplex(estimate) if made.how == "none" else decoded
        return FrequencyResult(
            counted,
            tuple(made.space.labels),
            tuple(estimate.tolist()),
            None if made.how == "none" else tuple(decoded.tolist()),
            str(made.how),
            made.space.unit,
            made.predicted_error(reference / reference.sum()),
            made.error_upper,
            made.decoded_upper,
            made.warning,
        )


def aggregate_frequency(study: FrequencyStudy, reports: Iterable[Received]) -> FrequencyResult:
    """The frequencies that many reports speak for; those that do not fit are refused and counted by reason.

    >>> from barrow.local import Report
    >>> from barrow.spaces import Discrete
    >>> study = FrequencyStudy(ItemStudy(Discrete(["a", "b"]), 6, items=2))
    >>> aggregate_frequency(study, [Report(study.digest, "0" * 32, (0, 1)), "hello"]).counted.refused
    {'malformed': 1}
    """
    server = FrequencyServer(study)
    server.add_all(reports)
    return server.frequencies()
