"""Texts that people might write for shares, distances, epsilons and promises, read by barrow and by a second reader.

A text is undetected if barrow reads anything but what the second reader reads, or reads what that one is not sure of.
Readers that are wrong on purpose must be found out.
"""

import random
import re
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from barrow.errors import BarrowError
from barrow.promises import Policy, Promise, parse_epsilon, parse_share
from barrow.spaces import Circle, Discrete, Line, Space, parse_distance
from tests.fuzz import reader
from tests.fuzz.inputs import mutated_text

SPACES: tuple[Space, ...] = (
    Line(0, 1000, unit="km"), Line(0, 90, unit="years"), Circle(24, unit="h"), Line(0, 30, unit="day"),
    Line(0, 30, unit="d"), Line(0, 50, unit="%"), Discrete(["a", "b"]), Line(0, 5000, unit="m"),
)  # fmt: skip
SAID = ("one", "two", "three", "a", "an", "twelve", "twenty", "twenty five", "a dozen", "one hundred", "a couple")
SCRIPTS = (
    "٣",
    "٣٠",
    "３",
    "३०",
    "²",
    "½",
    "1_0",
    "1_000",
    "1,000",
    "2,5",
    "1.000",
    "1.500",
    "0.125",
    ".5",
    "1e-3",
    "5.",
)
RANGES = ("one or two", "1 or 2", "1-2", "1 to 2", "1–2", "1+1", "~1", "at least 1", "up to 2", "not 1")
PARTS = ("half", "a half", "one half", "two thirds", "a third", "three quarters", "1/2", "0.5", "1 1/2", "2/3", "tenth")
NOUNS = (
    "day", "days", "hour", "hours", "minute", "week", "weeks", "month", "months", "year", "years", "second", "visit",
    "visits", "items", "records", "flight", "check-in", "entries", "dozen", "hundred", "score", "couple", "thousand",
    "trip", "words", "half", "weekend", "fortnight", "gross", "per cent", "%", "K", "km", "d",
)  # fmt: skip
ENDS = ("of the data", "of the visits", "of the words", "of data", "or more", "km", "of 50", "of the 30 days", "a day")
UNITS = ("km", "m", "mi", "miles", "ft", "h", "hours", "min", "minutes", "s", "day", "days", "d", "weeks", "years", "K")
UNITS += ("%", "% km", "% of the diameter", "of the largest distance", "of the diameter", "D", "kms", "Km", "km²", "")
Read = Callable[[str], Any]


def _number(rng: random.Random) -> str:
    pick = rng.random()
    if pick < 0.5:
        return str(rng.choice((1, 1, 1, 2, 3, 5, 7, 12, 24, 30, 30, 50, 60, 100, 365, 1000)))
    if pick < 0.65:
        return rng.choice(SAID)
    if pick < 0.75:
        return rng.choice(SCRIPTS)
    if pick < 0.85:
        return rng.choice(RANGES)
    return rng.choice(PARTS) if pick < 0.95 else f"{rng.randint(0, 9)}.{rng.randint(0, 99)}"


def share_text(rng: random.Random) -> str:
    """A share, in a form that may or may not be certain."""
    pick = rng.random()
    if pick < 0.6:
        noun, things = (rng.choice(("", " " + rng.choice(NOUNS))) for _ in range(2))
        of = rng.choice((" of ", " of ", " in ", " out of ", " of the ", " or ", " of of ", "/"))
        text = f"{_number(rng)}{noun}{of}{_number(rng)}{things}"
    elif pick < 0.75:
        text = f"{_number(rng)}{rng.choice((' %', '%', ' percent', ' per cent'))}"
    elif pick < 0.85:
        text = rng.choice(("all", "everything", "half", "all of the", "all the", "all but", "the whole", "none"))
        text += rng.choice(("", " data", " visits", " one", " 30 days", " of the data"))
    else:
        text = rng.choice((_number(rng), f"{rng.randint(1, 9)}/{rng.randint(1, 99)}"))
    return _worn(text + (" " + rng.choice(ENDS) if rng.random() < 0.1 else ""), rng)


def distance_text(rng: random.Random) -> str:
    """A distance, in a form that may or may not be certain."""
    if rng.random() < 0.08:
        return _worn(rng.choice(("anywhere", "any", "no records", "presence", "the largest distance", "far")), rng)
    number = rng.choice((_number(rng), str(rng.randint(1, 1500)), f"{rng.randint(0, 9)}.{rng.randint(0, 999)}"))
    return _worn(number + rng.choice((" ", " ", "")) + rng.choice(UNITS), rng)


def epsilon_text(rng: random.Random) -> str:
    """An epsilon, in a form that may or may not be certain."""
    front = rng.choice(("", "", "", "eps ", "ε = ", "epsilon: ", "eps", "ε ≤ ", "e ", "ε₀ "))
    return _worn(front + rng.choice((_number(rng), f"0.{rng.randint(0, 999)}")), rng)


def promise_text(rng: random.Random) -> str:
    """Three parts, or nearly three, between commas."""
    comma = rng.choice((", ", ", ", ", ", ",", " , ", "; "))
    parts = [share_text(rng), distance_text(rng), epsilon_text(rng)]
    if rng.random() < 0.6:  # mostly well-formed, so that many are read
        parts = [
            rng.choice(("1 of 30", "all", "1/30", "2 %", "1")),
            f"{rng.randint(1, 20)} km",
            f"0.{rng.randint(1, 9)}",
        ]
    if rng.random() < 0.15:
        parts[1] = rng.choice(("1,000 km", "1,5 km", "2,000 m", "1,000"))
    return comma.join(parts + (["in any month"] if rng.random() < 0.05 else []))


def _worn(text: str, rng: random.Random) -> str:
    """The text with another case, other spaces, or a few changed characters."""
    pick = rng.random()
    if pick < 0.1:
        return text.upper()
    if pick < 0.2:
        return "  " + text.replace(" ", rng.choice(("  ", "\u00a0", "\t"))) + " "
    return mutated_text(text, rng)[:200] if pick < 0.35 else text


def _barrow(kind: str, text: str, space: Space) -> Any:
    if kind == "share":
        return parse_share(text)
    if kind == "distance":
        return parse_distance(text, space)
    if kind == "epsilon":
        return parse_epsilon(text)
    policy = Policy(space, [Promise.parse(text)])
    return policy.promises[0].share, policy.satisfied[0].distance, policy.promises[0].epsilon


def _second(kind: str, text: str, space: Space) -> Any:
    far = space.unit, Fraction(space.diameter)
    if kind == "distance":
        return reader.distance(text, *far)
    return reader.promise(text, *far) if kind == "promise" else getattr(reader, kind)(text)


WRITERS = {"share": share_text, "distance": distance_text, "epsilon": epsilon_text, "promise": promise_text}


def compare(texts: int, seed: int, readers: dict[str, Read] | None = None) -> dict[str, Any]:
    """Reads so many texts twice; ``readers`` stand in for barrow's."""
    counted: Counter[str] = Counter()
    different: list[tuple[str, str, str, str]] = []
    for number in range(texts):
        rng = random.Random(f"{seed}/texts/{number}")
        kind = rng.choice(("share", "share", "distance", "epsilon", "promise"))
        if readers is not None and kind not in readers:
            continue
        space = rng.choice(SPACES)
        text = WRITERS[kind](rng)
        counted["texts"] += 1
        try:
            got = _barrow(kind, text, space) if readers is None else readers[kind](text)
        except (BarrowError, ValueError, ZeroDivisionError):
            continue
        counted[kind] += 1
        expected = _second(kind, text, space)
        if got != expected:
            different.append((kind, text, str(got), str(expected)))
    return {"texts": counted.pop("texts", 0), "read": dict(sorted(counted.items())), "different": different}


def _generous_share(text: str) -> Fraction:
    """Reads the first number and the last, whatever stands between them."""
    numbers = re.findall(r"\d+", text)
    if re.fullmatch(r"\s*all.*", text):
        return Fraction(1)
    return Fraction(int(numbers[0]), int(numbers[-1]) if len(numbers) > 1 else 1) if numbers else Fraction(text)


def _without_units(text: str) -> Fraction:
    """So many of so many, whatever they are."""
    result = re.fullmatch(r"(\d+)[ a-z]* of (\d+)[ a-z]*", text)
    return Fraction(int(result[1]), int(result[2])) if result else parse_share(text)


def _any_noun(text: str) -> Fraction:
    """Whatever noun is counted counts once: a dozen is one thing."""
    result = re.fullmatch(r"(?:an?|one|1) [a-z]+ of (\d+)", text)
    return Fraction(1, int(result[1])) if result else parse_share(text)


def _lower_end(text: str) -> Fraction:
    """Of a range the lower end."""
    return parse_share(re.sub(r"(\d+)(?:-| or | to )\d+(?= )", r"\1", text))


def _python_share(text: str) -> Fraction:
    """Digits as Python reads them, in any script and with underscores."""
    return parse_share(re.sub(r"[\d_]+", lambda m: str(int(m.group())), text))


def _python_epsilon(text: str) -> Fraction:
    """Numbers as Python reads them; short ones, so that they can be printed."""
    return Fraction(text if len(text) < 20 and "e" not in text.lower() else "")


def _grouped_epsilon(text: str) -> Fraction:
    """Commas group thousands, wherever they stand."""
    return parse_epsilon(text.replace(",", ""))


PLANTS: dict[str, dict[str, Read]] = {
    "the first number of the last": {"share": _generous_share}, "units are not converted": {"share": _without_units},
    "any noun counts once": {"share": _any_noun}, "the lower end of a range": {"share": _lower_end},
    "digits of any script in shares": {"share": _python_share}, "as Python reads them": {"epsilon": _python_epsilon},
    "commas are dropped": {"epsilon": _grouped_epsilon},
}  # fmt: skip
"""Readers that are wrong, by what is wrong with them."""


def run(texts: int, seed: int) -> dict[str, Any]:
    """What ``scripts/fuzz --only texts`` says: texts that were read, those undetected, and which plants were found."""
    result = compare(texts, seed)
    plants = {name: len(compare(texts, seed, readers)["different"]) for name, readers in PLANTS.items()}
    return {
        "texts": result["texts"],
        "undetected": len(result["different"]),
        "read": result["read"],
        "different": result["different"][:20],
        "plants": plants,
        "plants_missed": sum(not n for n in plants.values()),
    }
