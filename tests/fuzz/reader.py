"""A second reader of shares, distances, epsilons and promises, which shares nothing with barrow's.

It works on words instead of patterns, knows English numbers that barrow refuses ("two dozen", "three quarters"), and
gives every way in which somebody might read a text. What barrow reads must be the most protective of them; a text that
may mean something else altogether (:data:`UNSURE`) must be refused.
"""

import itertools
import unicodedata
from fractions import Fraction

UNSURE = Fraction(-1)
"""Among the ways to read a text: somebody may read it otherwise, or not at all."""
Ways = set[Fraction]

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_ONES = {word: i for i, word in enumerate(_SMALL.split(" "))} | {"a": 1, "an": 1}
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90}
_TIMES = {"hundred": 100, "thousand": 1000, "million": 10**6, "dozen": 12, "score": 20, "couple": 2, "pair": 2}
_PARTS = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "tenth": 10, "hundredth": 100}
_RANGES = ("or", "to", "and", "-", "–", "+", "~")
_SECONDS = {"second": 1, "minute": 60, "hour": 60**2, "day": 24 * 60**2, "week": 7 * 24 * 60**2}
_MONTHS = {"month": 1, "year": 12}
_MILLIMETRES = {
    "km": 10**6, "kilometre": 10**6, "kilometer": 10**6, "m": 1000, "metre": 1000, "meter": 1000, "mi": 1609344,
    "mile": 1609344, "nmi": 1852000, "ft": Fraction(3048, 10), "foot": Fraction(3048, 10), "feet": Fraction(3048, 10),
}  # fmt: skip
_CLOCK = {"h": 3600, "hour": 3600, "min": 60, "minute": 60, "s": 1, "second": 1, "day": 86400, "week": 604800}
_ANGLES = {"degree": 1, "deg": 1, "°": 1}
_WHOLE = (["of", "the", "largest", "distance"], ["of", "the", "diameter"], ["of", "the", "largest"])
_FAR = ("anywhere", "any", "the largest distance", "no records", "presence")


def words_of(text: str) -> list[str]:
    """Numerals, words and single signs, in lower case."""
    texts: list[str] = []
    last = " "
    for sign in text:
        kind = _kind(sign)
        joins = kind == last and kind != "sign"
        joins |= {kind, last} == {"digit", "dot"}
        if kind == "space":
            last = " "
            continue
        if joins:
            texts[-1] += sign
        else:
            texts.append(sign)
        last = kind
    return [word.lower() for word in _powers(texts)]


def _kind(sign: str) -> str:
    if sign.isspace():
        return "space"
    if sign in ".,_":
        return "dot"
    return "digit" if unicodedata.digit(sign, None) is not None else "letter" if sign.isalpha() else "sign"


def _powers(words: list[str]) -> list[str]:
    """``1e-3`` in one piece again."""
    texts: list[str] = []
    for word in words:
        begun = bool(texts) and _is_numeral(texts[-1])
        end = texts[-1][-1].lower() if begun else ""
        digits, power = word[0].isdigit(), begun and "e" in texts[-1].lower()
        if (begun and word in ("e", "E")) or (end == "e" and (digits or word in "+-")) or (power and digits):
            texts[-1] += word
        else:
            texts.append(word)
    return texts


def numeral(word: str, *, counts: bool) -> Ways:
    """The ways to read one numeral; whole things that are counted have no decimals."""
    unsure = {UNSURE} if not word.isascii() or "_" in word else set()
    plain = "".join(str(unicodedata.digit(c, c)) for c in word if c != "_")
    mantissa, _, power = plain.partition("e")
    groups = mantissa.split(",")
    grouped = len(groups) > 1 and groups[0][:1] not in ("", "0") and len(groups[0]) <= 3
    if len(groups) > 1:
        first = all(len(g) == 3 and g.isdigit() for g in [*groups[1:-1], groups[-1].partition(".")[0]])
        if not (grouped and first):
            return {UNSURE}
        results = {_decimal("".join(groups), power)}
        if not counts and len(groups) == 2 and "." not in mantissa:
            results |= {_decimal(".".join(groups), power)}
        return results | unsure
    results = {_decimal(mantissa, power)}
    head, _, tail = mantissa.partition(".")
    if len(tail) == 3 and tail[2] == "0" and 1 <= len(head) <= 3 and head[0] != "0":
        results |= {_decimal(head + tail, power)}
    return results | unsure


def _decimal(mantissa: str, power: str) -> Fraction:
    head, _, tail = mantissa.partition(".")
    sign = power[:1]
    digits = power.lstrip("+-")
    if not (head + tail).isdigit() or (power and not digits.isdigit()) or len(digits) > 3:
        return UNSURE
    value = Fraction(int(head + tail), 10 ** len(tail))
    return value if not power else value / 10 ** int(digits) if sign == "-" else value * 10 ** int(digits)


def _is_numeral(word: str) -> bool:
    return word[0].isnumeric() or (word[0] == "." and word[1:2].isdigit())


def _is_number(word: str) -> bool:
    known = (_ONES, _TENS, _TIMES, _PARTS)
    return _is_numeral(word) or word == "/" or word in _RANGES or any(_one(word) in table for table in known)


def _one(word: str) -> str:
    """A word in the singular."""
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith("ches"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and len(word) > 2 else word


def amount(words: list[str], *, counts: bool = False) -> Ways:
    """Every value that an amount in numerals or English words may have."""
    if any(word in _RANGES for word in words) or not words:
        return {UNSURE}
    if "/" in words:
        sides = [numeral(word, counts=True) if _is_numeral(word) else {UNSURE} for word in words[::2]]
        if len(words) != 3 or words[1] != "/" or any(x.denominator > 1 or x < 0 for side in sides for x in side):
            return {UNSURE}
        return {a / b for a in sides[0] for b in sides[1]} if 0 not in sides[1] else {UNSURE}
    total: Ways = {Fraction(0)}
    for place, raw in enumerate(words):
        word = _one(raw)
        if _is_numeral(word) and place == 0:
            total = numeral(word, counts=counts)
        elif word in _ONES and (place == 0 or words[place - 1] in _TENS):
            total = {x + _ONES[word] for x in total}
        elif word in _TENS and place == 0:
            total = {Fraction(_TENS[word])}
        elif word in _TIMES or word in _PARTS:
            by = Fraction(_TIMES.get(word, 1), _PARTS.get(word, 1))
            total = {x if x == UNSURE else (x or 1) * by for x in total}
        else:
            return {UNSURE}
    return total


def _quantity(words: list[str]) -> tuple[Ways, list[str], list[str]]:
    """The amount in front, the words that say it, and the words behind it."""
    size = next((i for i, word in enumerate(words) if not _is_number(word)), len(words))
    return (amount(words[:size], counts=True) if size else set()), words[:size], words[size:]


def share(text: str) -> Fraction | None:
    """The share that a text says; None where it is not certain, or none."""
    result = _share(words_of(text))
    return _most(result)


def _most(ways: Ways) -> Fraction | None:
    """The most protective share or distance that makes sense; None where there is none, or somebody is unsure."""
    return None if UNSURE in ways else max((x for x in ways if 0 < x <= 1), default=None)


def _share(words: list[str]) -> Ways:
    if words in (["everything"], ["all"]):
        return {Fraction(1)}
    if words[:1] == ["all"]:
        rest = [word for word in words[1:] if word not in ("of", "the")]
        return {Fraction(1)} if len(rest) == 1 and not _is_number(rest[0]) else {UNSURE}
    joints = [i for i, word in enumerate(words) if word in ("of", "in")]
    if "-" in words and joints:  # a word such as check-in
        joints = [i for i in joints if i == 0 or words[i - 1] != "-"]
    if len(joints) > 1:
        return {UNSURE}
    left = words[: joints[0]] if joints else words
    left = left[:-1] if joints and left[-1:] == ["out"] else left
    right = [word for word in words[joints[0] + 1 :] if word != "the"] if joints else []
    if left[-2:] == ["per", "cent"]:
        left = [*left[:-2], "%"]
    ways, text, noun = _quantity(left)
    if noun in (["%"], ["percent"]):
        ways, noun = {x if x == UNSURE else x / 100 for x in amount(text)}, []
        return ways if not joints or (len(right) == 1 and not _is_number(right[0])) else {UNSURE}
    if not joints:
        return {UNSURE} if noun else amount(text)
    wholes, counted, things = _quantity(right)
    if not counted:
        part = text and all(_one(word) in _PARTS or word in ("a", "one") for word in text)
        return ways if part and not noun and len(right) == 1 else {UNSURE}
    return _ratio(ways, wholes, _noun(noun), _noun(things), text)


def _noun(words: list[str]) -> str:
    return "-".join(word for word in map(_one, words) if word != "-")


def _ratio(ways: Ways, wholes: Ways, noun: str, things: str, lines: list[str]) -> Ways:
    if UNSURE in ways | wholes or any(x.denominator > 1 for x in ways | wholes) or 0 in wholes:
        return {UNSURE}
    known = _SECONDS | _MONTHS
    if (lines in (["a"], ["an"]) and not noun) or ("-" in noun and noun != "check-in"):
        return {UNSURE}
    if noun and things and noun != things:
        same = next((table for table in (_SECONDS, _MONTHS) if noun in table and things in table), None)
        if same is None:
            return {UNSURE}
        return {a * same[noun] / (b * same[things]) for a, b in itertools.product(ways, wholes)}
    if not (noun in known or things in known or noun.replace("-", "").isalpha() or not noun):
        return {UNSURE}
    return {a / b for a, b in itertools.product(ways, wholes)}


def distance(text: str, unit: str, diameter: Fraction) -> Fraction | None:
    """The distance that a text says, as a share of the diameter; None where it is not certain, or none."""
    if " ".join(text.split()).lower() in _FAR:
        return Fraction(1)
    words = words_of(text)
    size = next((i for i, word in enumerate(words) if not (_is_numeral(word) or word == "/")), len(words))
    ways = amount(words[:size])
    rest = words[size:]
    whole = rest in _WHOLE or rest == ["%"] or (rest[:1] == ["%"] and rest[1:] in _WHOLE)
    if rest[:1] == ["%"]:
        ways = {x if x == UNSURE else x / 100 for x in ways}
        whole &= "%" not in unit
    if whole or (not rest and not unit):
        results = ways
    else:
        rate = _rate(text, rest, unit)
        if rate is None:
            return None
        results = {x if x == UNSURE else x * rate / diameter for x in ways}
    return _most(results)


def _rate(text: str, words: list[str], unit: str) -> Fraction | None:
    """How many of the space's unit one of the unit in the text is; None where that is not one unit of the same kind."""
    if len(words) != 1 or not text.rstrip().endswith(words[0]):  # capitals are other units
        return None
    a, b = _one(words[0]), _one(unit)
    if a == b:
        return Fraction(1)
    for table in (_MILLIMETRES, _CLOCK, _ANGLES):
        if a in table and b in table:
            return Fraction(table[a]) / Fraction(table[b])
    return None


def epsilon(text: str) -> Fraction | None:
    """The epsilon that a text says; None where it is not certain, or none."""
    words = words_of(text)
    if words and words[0] in ("epsilon", "eps", "ε"):
        words = words[1:]
        words = words[1:] if words and words[0] in ("=", "≤", ":") else words
    words = words[1:] if words and words[0] == "+" else words
    results = amount(words) if words and _is_numeral(words[0]) and len(words) in (1, 3) else {UNSURE}
    return None if UNSURE in results or min(results) <= 0 else min(results)


def scope(text: str) -> bool:
    """Whether a text is a scope, word by word."""
    words = text.lower().split()
    words = words[1:] if words[:1] == ["in"] else words
    units = ("day", "week", "month", "quarter", "year")
    if words[:1] == ["every"]:
        return len(words) == 2 and words[1] in units
    if words[:1] != ["any"]:
        return False
    if len(words) == 3 and words[1].isdigit() and words[1].isascii():
        many = int(words[1])
        return words[2] in units if many == 1 else 2 <= many <= 1000 and words[2][-1:] == "s" and words[2][:-1] in units
    return (len(words) == 2 or (len(words) == 3 and words[1] == "one")) and words[-1] in units


def promise(text: str, unit: str, diameter: Fraction) -> tuple[Fraction, Fraction, Fraction] | None:
    """Share, distance and epsilon of a whole promise: the one way to cut it at commas that makes sense.

    A scope at its end is read as well, and says nothing about the numbers.
    """
    pieces = text.split(",")
    if len(pieces) > 3 and scope(pieces[-1]):
        pieces.pop()
    results = set()
    if len(pieces) > 8:
        return None
    for a, b in itertools.combinations(range(1, len(pieces)), 2):
        parts = ",".join(pieces[:a]), ",".join(pieces[a:b]), ",".join(pieces[b:])
        numbers = share(parts[0]), distance(parts[1], unit, diameter), epsilon(parts[2])
        if None not in numbers:
            results.add(numbers)
    return results.pop() if len(results) == 1 else None  # type: ignore[return-value]
