"""What a card fixes for a secure sum: the circuit and its proofs, the aggregators' keys, who is let in, the noise."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from barrow.collect.admission import Gate
from barrow.collect.card import Card
from barrow.collect.keys import ANOTHER, ELSEWHERE, unb64
from barrow.collect.prio3 import EdgeGroup, Edges, Prio3
from barrow.collect.tokens import random_bytes
from barrow.errors import ParameterError
from barrow.ledger.keys import private_text, write_private

VERIFY_KEY = 32
"""Bytes of the key that aggregators share and clients never see."""


MOST_SUM = 2**62
"""Sums stay below this, a quarter of the field, so that they and their noise are read off without doubt."""
LARGEST_SHARE = 2**20 - 2**14
"""Bytes of the leader's share; with all that goes beside it, a report fits into one body."""


@dataclass(frozen=True)
class SumTask:
    """Everything about a card that clients and aggregators of a secure sum need.

    Attributes:
        card: The card's digest.
        prio3: How reports are shared and proved; bound to the card.
        keys: The aggregators' public keys, the leader's first.
        verify: The digest of the aggregators' common key.
        gate: Who is let in.
        draw_noise: Draws one aggregator's noise, an integer for each entry.
        people: How many reports there may be.
        expires: Until when reports are taken.
    """

    card: str
    prio3: Prio3
    keys: tuple[bytes, ...]
    verify: str
    gate: Gate
    draw_noise: Callable[[], Sequence[int]]
    people: int
    expires: float

    @property
    def fewest(self) -> int:
        """How few reports an aggregator closes with unless its operator says otherwise.

        100, or all where fewer are planned, and a tenth of what is planned: not for privacy, which fewer do not
        weaken, but because the answer would be mostly noise, and its number of people is published.
        """
        return max(min(100, self.people), -(-self.people // 10))


def sum_task(card: Card) -> SumTask:
    """The task of an aggregated card; its study is built here, so that nothing is taken from the card on its word."""
    if not card.summed:
        raise ParameterError(
            f"The card is of the {card.model} model.",
            allowed="a card of the aggregated model",
            fix="barrow collect shuffle or serve",
        )
    channel: Any = card.survey.channel
    groups = tuple(EdgeGroup(group.members, group.floor, group.span) for group in channel.form.groups)
    keys = tuple(unb64(key, 32) for key in card.sealing["keys"])
    prio3 = Prio3(Edges(channel.form.most, groups), len(keys), card.digest.encode("ascii"))
    if prio3.leader_size > LARGEST_SHARE:
        raise ParameterError(
            f"One person's report would have {prio3.leader_size / 2**20:.3g} MiB.",
            allowed="at most 0.98 MiB: what a leader takes in one body",
            fix="a coarser space (larger cells), or fewer people",
        )
    if max(channel.form.most) * int(card.people) >= MOST_SUM:
        raise ParameterError(
            "The sum of everybody's answers could be too large for the field in which it is shared.",
            allowed="sums below 2^62",
            fix="a smaller alpha, or fewer people",
        )
    return SumTask(
        card.digest,
        prio3,
        keys,
        card.sealing["verify"],
        Gate(card),
        channel.noise_share,
        int(card.people),
        card.expires,
    )


def role_name(index: int) -> str:
    """What an aggregator is called: leader, helper, helper2, and so on.

    >>> [role_name(index) for index in range(3)]
    ['leader', 'helper', 'helper2']
    """
    return "leader" if index == 0 else f"helper{'' if index == 1 else index}"


def role_index(name: str, aggregators: int) -> int:
    """Which aggregator has this name.

    >>> role_index("helper", 2)
    1
    """
    names = [role_name(index) for index in range(aggregators)]
    if name not in names:
        raise ParameterError(
            f"This card has no aggregator {name!r}.", allowed=", ".join(names), fix=f"--role {names[1]}"
        )
    return names.index(name)


def verify_digest(key: bytes) -> str:
    """How a card names the aggregators' common key, which it must not tell."""
    return "sha256:" + hashlib.sha256(b"barrow verify key 1 " + key).hexdigest()


def verify_file(folder: str | os.PathLike[str], digest: str) -> Path:
    """Where the aggregators' common key of a card is kept."""
    return Path(folder) / f"verify-{digest[7:23]}.key"


def new_verify_key() -> bytes:
    """A new common key."""
    return random_bytes(VERIFY_KEY)


def write_verify_key(folder: str | os.PathLike[str], key: bytes) -> Path:
    """Write a common key to a folder; every aggregator gets a copy of the file, and nobody else."""
    place = verify_file(folder, verify_digest(key))
    write_private(place, key.hex().encode() + b"\n", fix=ANOTHER)
    return place


def read_verify_key(folder: str | os.PathLike[str], digest: str) -> bytes:
    """The common key that a card names."""
    allowed = "the key that was made with the card; its author has it"
    place = verify_file(folder, digest)
    text = private_text(place, allowed=allowed, fix=ELSEWHERE)
    try:
        key = bytes.fromhex(text.decode("ascii", "replace").strip())
    except ValueError:
        key = b""
    if len(key) != VERIFY_KEY or verify_digest(key) != digest:
        raise ParameterError(
            f"The key {str(place)!r} is not the one that the card names.", allowed=allowed, fix="copy it again"
        )
    return key
