"""What statements say about additive noise, and about snapping beside it."""

from __future__ import annotations

from barrow.numerics.exact import PERCENT, at_most, near
from barrow.questions.base import Said


def value_unit(said: Said, shares: bool) -> str:
    """The unit of a statement's values; shares are said in per cent."""
    return PERCENT if shares else str(said["unit_of_values"])


def snapping_words(said: Said, shares: bool = False) -> str:
    """What snapping does to the values of a statement, in words that follow its half width."""
    moved = said.get("snapping_values") or 0.0
    if not moved:
        return ""
    unit = value_unit(said, shares)
    if said["snapping_included"]:
        return f" ({at_most(moved, unit)} of it for snapping to the grid)"
    typical = said.get("snapping_typical")
    most = f"by up to {at_most(min(moved, 1.0), unit)}"
    much = f"may move a value {most}" if typical is None else f"moves a value by about {near(typical, unit)} ({most})"
    return f", where the true one is that of the records snapped to the grid; snapping itself {much}"


def noise_sentence(said: Said) -> str:
    """How additive noise was drawn and rounded."""
    noise = said["noise"]
    return (
        f"{noise['distribution']} noise of scale {noise['scale']:.4g} {said['unit_of_values']}".rstrip()
        + f" from the operating system's entropy was added and rounded once, exactly, to multiples of {noise['grid']}."
    )
