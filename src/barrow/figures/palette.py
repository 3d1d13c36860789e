"""Colours by day and by night, as CSS variables; ``figures.css`` has the rules that use them.

Shades of one class ladder grow monotonously in contrast with the ground. The colours of curves differ in lightness as
well as in hue and come with their own dashes, so that nobody has to tell colours to tell curves.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Literal

from barrow.errors import ParameterError

Theme = Literal["auto", "light", "dark"]

LIGHT = {
    "ground": "#ffffff", "card": "#f6f7f9", "ink": "#1b1f24", "dim": "#555e69", "rule": "#c9cfd6", "grid": "#e8ebee",
    "accent": "#b23a0e", "focus": "#0b6e99", "sea": "#e9f0f5", "land": "#faf9f5", "coast": "#7d8893",
    "hatch": "#bcc5cd", "q1": "#c9dff0", "q2": "#8bbfdd", "q3": "#4a97c9", "q4": "#1c68ac", "q5": "#08306b",
    "c0": "#b23a0e", "c1": "#0b6e99", "c2": "#2f1a66", "c3": "#6b727a", "g0": "#a9cfe6", "g1": "#f2c99c",
    "g2": "#b9dcab", "g3": "#d9c4e4", "g4": "#f1bcbc", "g5": "#d3d3d0", "dot": "#1b1f24",
    "o1": "#14181c", "o2": "#14181c", "o3": "#14181c", "o4": "#ffffff", "o5": "#ffffff",
}  # fmt: skip

DARK = {
    "ground": "#14171a", "card": "#1d2126", "ink": "#e8eaed", "dim": "#a8b0b9", "rule": "#48515b", "grid": "#2a3037",
    "accent": "#ff9a73", "focus": "#6cc3e8", "sea": "#182027", "land": "#23292f", "coast": "#77828d",
    "hatch": "#4a535c", "q1": "#1f4666", "q2": "#2c6899", "q3": "#4a92cb", "q4": "#8bc2ea", "q5": "#dcf0fd",
    "c0": "#ff9a73", "c1": "#5cb3e6", "c2": "#eadcff", "c3": "#9aa2ab", "g0": "#2b5c77", "g1": "#775023",
    "g2": "#3b6733", "g3": "#5d446e", "g4": "#773a3a", "g5": "#4c4c4a", "dot": "#e8eaed",
    "o1": "#ffffff", "o2": "#ffffff", "o3": "#0c0e10", "o4": "#0c0e10", "o5": "#0c0e10",
}  # fmt: skip


@cache
def _resource(name: str) -> str:
    return files("barrow.figures").joinpath(name).read_text(encoding="utf-8")


def script() -> str:
    """The script that reads figures out: pointer, arrow keys and a choice of layers. Figures are complete without it.

    >>> "data-at" in script()
    True
    """
    return _resource("figures.js")


@cache
def stylesheet(theme: Theme = "auto") -> str:
    """The rules for figures in a page; "auto" follows the reader's choice of light or dark."""
    by_day, by_night = (":root{" + _variables(colours) + "}" for colours in (LIGHT, DARK))
    if theme == "auto":
        # Paper is white, whatever the reader's screen is.
        head = f":root{{color-scheme:light dark}}{by_day}@media screen and (prefers-color-scheme:dark){{{by_night}}}"
    else:
        head = _of_theme(theme, by_day, by_night)
    return head + _resource("figures.css")


@cache
def plain_rules(theme: Theme = "auto") -> str:
    """The same rules without variables: for programs that know no more CSS than colours."""
    rules = _resource("figures.css").split("/* pages */")[0]
    by_day, by_night = (_resolved(rules, colours) for colours in (LIGHT, DARK))
    if theme == "auto":
        return f"{by_day}@media (prefers-color-scheme:dark){{{_coloured(by_night)}}}"
    return _of_theme(theme, by_day, by_night)


def _of_theme(theme: str, light: str, dark: str) -> str:
    if theme not in ("light", "dark"):
        raise ParameterError(f"theme is {theme!r}.", allowed="auto, light, dark", fix="theme='light'")
    return light if theme == "light" else dark


def _variables(colours: dict[str, str]) -> str:
    return ";".join(f"--{name}:{colour}" for name, colour in colours.items())


def _resolved(rules: str, colours: dict[str, str]) -> str:
    return re.sub(r"var\(--([a-z0-9]+)\)", lambda found: colours[found[1]], rules)


def _coloured(rules: str) -> str:
    """Only the rules that set a colour: by night nothing else changes."""
    return "".join(rule for rule in re.findall(r"[^{}]+\{[^{}]*\}", rules) if "#" in rule.split("{")[1])
