"""Names of data sets: what people take for one name is one, and what nobody can see is refused."""

from __future__ import annotations

import unicodedata

from barrow.errors import ParameterError

_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Categories of characters that nobody sees."""
_BLANK = frozenset(
    map(chr, [0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, *range(0x180B, 0x1810)])
) | frozenset(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
"""Letters and marks that are drawn as nothing."""


def visible_name(name: str) -> str:
    r"""``name`` without spaces around it; refused where it holds what nobody can see.

    >>> visible_name(" visits ")
    'visits'
    >>> visible_name("visits\u200b")
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: The name of the data set holds the invisible character U+200B.
      allowed: a name that looks different from every other one
      fix:     dataset = 'visits'
    """
    hidden = next((sign for sign in name.strip() if _unseen(sign)), None)
    if hidden is not None:
        raise ParameterError(
            f"The name of the data set holds the invisible character U+{ord(hidden):04X}.",
            allowed="a name that looks different from every other one",
            fix=f"dataset = {' '.join(_seen(name).split())!r}",
        )
    return name.strip()


def same_name(name: str) -> str:
    r"""What is equal for names that people take for one: without case, width, spaces around, or what nobody sees.

    >>> {same_name(name) for name in ("visits", " VISITS", "\uff36isits", "visits\u200b")}
    {'visits'}
    """
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", _seen(name)).casefold())
    return " ".join(_seen(plain).split())


def _unseen(sign: str) -> bool:
    return sign in _BLANK or unicodedata.category(sign) in _UNSEEN


def _seen(name: str) -> str:
    return "".join(sign for sign in name if not _unseen(sign))
