"""What a statement says about each kind of release: what was released, what was counted, how noise was drawn.

Everything is said from the statement's plain data, so that an old statement can be explained without its study.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Said = Mapping[str, Any]


@dataclass(frozen=True)
class Words:
    """The sentences about one kind of release.

    Attributes:
        released: What was released, and how accurate it is.
        counted: What the noise was added to.
        drawn: How the noise was drawn, step by step.

    >>> words_of({"items_per_person": 3}) is KINDS["items"]
    True
    """

    released: Callable[[Said], str]
    counted: Callable[[Said], str]
    drawn: Callable[[Said], list[str]]


def words_of(said: Said) -> Words:
    """The words for the statement's kind; the first statements did not name it.

    >>> words_of({"kind": "linear"}) is words_of({})
    True
    """
    return KINDS[said.get("kind", "items" if "items_per_person" in said else "linear")]


def _linear_released(said: Said) -> str:
    unit = f" {said['unit_of_values']}" if said["unit_of_values"] else ""
    return (
        f"We released {said['released']}, computed from {said['people']:,} people, each person counting once. "
        f"Each value is within {said['half_width_95']:.3g}{unit} of the true one with probability 95 %."
    )


def _linear_counted(said: Said) -> str:
    return f"Every person counts once: {said['released']}, over {said['people']:,} people, as an exact fraction."


def noise_sentence(said: Said) -> str:
    """How additive noise was drawn and rounded.

    >>> noise_sentence({"noise": {"law": "Laplace", "scale": 0.5, "grid": "1/1024"}, "unit_of_values": "km"})[:30]
    'Laplace noise of scale 0.5 km '
    """
    noise = said["noise"]
    return (
        f"{noise['law']} noise of scale {noise['scale']:.4g} {said['unit_of_values']}".rstrip()
        + f" from the operating system's entropy was added and rounded once, exactly, to multiples of {noise['grid']}."
    )


def _linear_drawn(said: Said) -> list[str]:
    all_at_once = f", all {said['outputs']:,} at once by {said['half_width_95_all']:.4g}" if said["outputs"] > 1 else ""
    each = f"Each value is off by at most {said['half_width_95']:.4g} {said['unit_of_values']}".rstrip()
    return [noise_sentence(said), f"{each} with probability 95 %{all_at_once}."]


def reports_sentence(said: Said) -> str:
    """How reports were drawn in place of items.

    >>> noise = {"law": "randomised response", "alpha0": 1.0, "method": "flow_strong"}
    >>> reports_sentence({"noise": noise})[:45]
    'Every item was replaced by a random report (r'
    """
    noise = said["noise"]
    return (
        f"Every item was replaced by a random report ({noise['law']}, α₀ = {noise['alpha0']:.6g} for each, by "
        f"{noise['method']}), drawn exactly, as counts, from the operating system's entropy; only the multiset of "
        "reports is released."
    )


def _items_released(said: Said) -> str:
    unit = f" {said['unit']}" if said["unit"] else ""
    moved, blind = said["displacement"], said["blind_displacement"]
    far = (
        ""
        if moved is None
        else f" A report is {moved:.3g}{unit} from its item on average (a blind guess: {blind:.3g}{unit})."
    )
    warning = f" {said['warning']}" if said["warning"] else ""
    return (
        f"We released {said['released']} of {said['people']:,} people, {_how_many(said)}. Every item was replaced by a "
        f"random report ({said['noise']['law']}).{far}{warning}"
    )


def _how_many(said: Said) -> str:
    items = said["items_per_person"]
    return f"{items:,} items drawn from each" if said.get("sampled") else f"each holding exactly {items:,} items"


def _items_counted(said: Said) -> str:
    people, items = said["people"], said["items_per_person"]
    if said.get("sampled"):
        return (
            f"{items:,} items were drawn from each of the {people:,} people with replacement, exactly uniformly, from "
            "the operating system's entropy, and counted together inside the engine."
        )
    return f"The items of all {people:,} people, exactly {items:,} of each, were counted together."


def _items_drawn(said: Said) -> list[str]:
    moved = said["displacement"]
    far = [] if moved is None else [f"A report is {moved:.4g} {said['unit']}".rstrip() + " from its item on average."]
    return [reports_sentence(said), *far]


def _size(said: Said, error: float) -> str:
    return f"{error:.3g} {said['unit']}".rstrip()


def _frequency_released(said: Said) -> str:
    found = said["frequency"]
    warning = f" {said['warning']}" if said["warning"] else ""
    return (
        f"We released {said['released']}, of {said['people']:,} people, {_how_many(said)}. Every item was replaced by "
        f"a random report ({said['noise']['law']}); the estimate is off by an earth mover's distance of about "
        f"{_size(said, found['predicted_error'])} before decoding, at most {_size(said, found['error_upper'])} on "
        f"average for any data.{warning}"
    )


def _frequency_drawn(said: Said) -> list[str]:
    decode = said["frequency"]["decode"]
    made = {
        "tree": "the nearest histogram along the tree",
        "simplex": "the nearest histogram",
        "bayesian": "the likeliest histogram",
        "none": "no histogram: the estimate is left as it is",
    }[decode]
    return [
        reports_sentence(said),
        f"From the reports an unbiased estimate was made by undoing the randomiser, and from it {made}; both use the "
        "reports alone and cost nothing more.",
    ]


def _histogram_released(said: Said) -> str:
    found = said["histogram"]
    error = f"{found['about']} {_size(said, found['emd_predicted'])}"
    return (
        f"We released {said['released']}, computed from {said['people']:,} people, each person counting once. It is "
        f"off by an earth mover's distance of {error} (predicted at a public reference distribution). "
        f"The unbiased shares of {found['unbiased_outputs']} go with it, each with a 95 % interval."
    )


def _histogram_counted(said: Said) -> str:
    return (
        f"Every person counts once: the shares of {said['histogram']['unbiased_outputs']}, over {said['people']:,} "
        "people, as exact fractions."
    )


def _histogram_drawn(said: Said) -> list[str]:
    found = said["histogram"]
    before = found["emd_undecoded"]
    error = (
        "" if before is None else f" The expected error before decoding is {_size(said, before)}, whatever the data."
    )
    return [
        noise_sentence(said),
        f"The noisy values ({found['words']}) were decoded to one histogram, which uses nothing else.{error}",
    ]


KINDS: dict[str, Words] = {
    "linear": Words(_linear_released, _linear_counted, _linear_drawn),
    "items": Words(_items_released, _items_counted, _items_drawn),
    "frequency": Words(_frequency_released, _items_counted, _frequency_drawn),
    "histogram": Words(_histogram_released, _histogram_counted, _histogram_drawn),
}
"""The words by kind of plan."""
