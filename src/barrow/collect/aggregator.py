"""One aggregator of a secure sum: takes sealed shares, checks them with the others, adds up, closes, adds its noise."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import msgspec
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from barrow.collect.keys import b64, public_bytes, unb64
from barrow.collect.prio3 import VerifyState
from barrow.collect.share_messages import ShareMessage, open_share, read_message
from barrow.collect.share_store import ACCEPTED, RECEIVED, TOLD, ShareStore
from barrow.collect.sum_task import SumTask, role_name, verify_digest
from barrow.errors import ParameterError

BLOCK = 64
"""Reports that are checked at a time."""
VERSION = 1
"""The version of closings, sums and files of verifier shares."""
_RELEASE = "do not release; compare your counts, and repeat the survey with a new card"


class Closing(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What an aggregator tells when it has closed, and before it tells its share.

    Attributes:
        barrow: ``"closing"``.
        version: 1.
        card: The card's digest.
        aggregator: Its index.
        reports: How many reports it counted.
        nonces: The digest of their sorted nonces.
        commitment: The digest of its noised share, which is fixed by this.
    """

    barrow: str
    version: int
    card: str
    aggregator: int
    reports: int
    nonces: str
    commitment: str


class SumShare(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """An aggregator's noised share of the sum, with what all of them told before.

    Attributes:
        barrow: ``"sum"``.
        version: 1.
        card: The card's digest.
        aggregator: Its index.
        reports: How many reports all of them counted.
        nonces: The digest of their sorted nonces.
        commitments: What each aggregator was fixed to, in their order.
        share: The share, base64.
    """

    barrow: str
    version: int
    card: str
    aggregator: int
    reports: int
    nonces: str
    commitments: list[str]
    share: str


class Aggregator:
    """One of a card's aggregators.

    Args:
        task: What the card fixes.
        index: Which one; 0 for the leader.
        store: Where it keeps everything.
        key: Its private key.
        verify_key: The key that all aggregators share.
        grace: Seconds after the card's end in which a helper takes what the leader took in time.
    """

    def __init__(
        self, task: SumTask, index: int, store: ShareStore, key: X25519PrivateKey, verify_key: bytes, *,
        grace: float = 0,
    ) -> None:  # fmt: skip
        if public_bytes(key) != task.keys[index]:
            raise ParameterError(
                f"The key is not the {role_name(index)}'s on the card.",
                allowed="the private key of this aggregator",
                fix="--keys FOLDER, or the other --role",
            )
        if verify_digest(verify_key) != task.verify:
            raise ParameterError(
                "The aggregators' common key is not the one that the card names.",
                allowed="the key that was made with the card",
                fix="--keys FOLDER",
            )
        self.task, self.index, self.store = task, index, store
        self._key, self._verify_key, self._grace = key, verify_key, grace

    def add(self, messages: Sequence[bytes]) -> list[str]:
        """Store messages durably: ``accepted``, ``repeated``, or why not. Nothing is counted yet."""
        return self.add_read([read_message(self.task, self.index, data) for data in messages], messages)

    def add_read(self, read: Sequence[ShareMessage | str], messages: Sequence[bytes]) -> list[str]:
        """The same of messages that were read."""
        expired = time.time() >= self.task.expires + self._grace
        lines: list[str] = []
        rows: list[tuple[bytes, bytes]] = []
        for result, data in zip(read, messages, strict=True):
            line = "" if not isinstance(result, str) else result
            if isinstance(result, ShareMessage):
                if expired:
                    line = "expired"
                elif not self.task.gate.lets_in(result.admission, result.nonce + result.public):
                    line = "not let in"
                else:
                    rows.append((result.nonce, data))
            lines.append(line)
        stored = iter(self.store.add(rows, Counter(line for line in lines if line), self.task.people))
        return [line or next(stored) for line in lines]

    def look(self) -> int:
        """Check everything that was received and not looked at, alone; how many reports."""
        number = 0
        while rows := self.store.received(BLOCK):
            read = {nonce: read_message(self.task, self.index, data) for nonce, data in rows}
            self.store.look(self.check({n: m for n, m in read.items() if isinstance(m, ShareMessage)}))
            number += len(rows)
        return number

    def check(self, messages: Mapping[bytes, ShareMessage]) -> dict[bytes, VerifyState | str]:
        """What this aggregator says of its shares; or why it leaves a report out."""
        results: dict[bytes, VerifyState | str] = {}
        opened: dict[bytes, tuple[bytes, bytes, bytes]] = {}
        for nonce, message in messages.items():
            share = open_share(self.task, self.index, self._key, message)
            if share is None:
                results[nonce] = "cannot be opened"
            else:
                opened[nonce] = (nonce, message.public, share)
        states = self.task.prio3.verify_block(self._verify_key, self.index, list(opened.values()))
        for nonce, state in zip(opened, states, strict=True):
            results[nonce] = "malformed" if state is None else state
        return results

    def decide(self, others: Callable[[bytes], Sequence[bytes] | None]) -> int:
        """Count or leave out what all others told about; how many reports.

        ``others`` gives what the other aggregators told about a report, in their order without this one; None where
        one of them did not yet.
        """
        number, last = 0, b""
        while rows := self.store.undecided(BLOCK, last):
            last = rows[-1][0]
            told = {nonce: (own, heard) for nonce, own in rows if (heard := others(nonce)) is not None}
            self.store.decide(self.task.prio3, self.messages(told))
            number += len(told)
        return number

    def messages(self, told: Mapping[bytes, tuple[bytes, Sequence[bytes]]]) -> dict[bytes, bytes | None]:
        """The message that counts each report, or None, of what this aggregator and the others tell about it."""
        shares = [[*heard[: self.index], own, *heard[self.index :]] for own, heard in told.values()]
        return dict(zip(told, self.task.prio3.decide_block(shares), strict=True))

    def close(self, *, fewest: int | None = None, leave_out: bool = False) -> Closing:
        """Take and count no more, add the noise, and say what was counted; asked again the same.

        Args:
            fewest: How few reports there may be; by default the card's.
            leave_out: Whether reports that the others did not tell about are left out. Without it they are waited for,
                since another aggregator may have counted them.
        """
        self.check_close(fewest=fewest, leave_out=leave_out)
        reports, nonces, share = self.store.close(self.task.prio3, self.task.draw_noise)
        return Closing("closing", VERSION, self.task.card, self.index, reports, nonces, commitment_of(share))

    def check_close(self, *, fewest: int | None = None, leave_out: bool = False) -> None:
        """Refuse to close too early; see :meth:`close`."""
        if self.store.closed:
            return
        least = self.task.fewest if fewest is None else fewest
        number, waiting = self.store.count(ACCEPTED), self.store.count(TOLD) + self.store.count(RECEIVED)
        if waiting and not leave_out:
            raise ParameterError(
                f"{waiting:,} reports wait for confirmation by the other aggregators; nothing was closed.",
                allowed="closing when every report is decided",
                fix="wait for the others and try again; --leave-out if they never got these reports",
            )
        if number < least:
            raise ParameterError(
                f"{number:,} reports were counted, but at least {least:,} are needed to close; nothing was closed.",
                allowed="more reports: fewer give mostly noise",
                fix="wait for more, or --fewest N with a reason",
            )

    def share(self, others: Sequence[Closing]) -> SumShare:
        """The noised share, once all others closed with the same reports and are fixed to theirs.

        Raises:
            ParameterError: If they counted other reports, or are not of this card.
        """
        own = self.close()
        listed = {self.index: own}
        for closing in others:
            self._check_closing(closing, listed)
            listed[closing.aggregator] = closing
        missing = [role_name(i) for i in range(self.task.prio3.aggregators) if i not in listed]
        if missing:
            raise ParameterError(
                f"The {missing[0]} has not closed yet, so no share is written.",
                allowed="a closing of every other aggregator",
                fix=f"let the {missing[0]} close, and try again",
            )
        for index, closing in sorted(listed.items()):
            if (closing.reports, closing.nonces) != (own.reports, own.nonces):
                raise ParameterError(
                    f"The {role_name(index)} counted other reports than the {role_name(self.index)}; no share is "
                    f"written.",
                    allowed="the same reports at every aggregator",
                    fix=_RELEASE,
                )
        for index, closing in listed.items():
            self.store.remember(f"commitment {index}", closing.commitment.encode())
        commitments = [listed[i].commitment for i in range(self.task.prio3.aggregators)]
        _, _, share = self.store.close(self.task.prio3, self.task.draw_noise)
        return SumShare("sum", VERSION, self.task.card, self.index, own.reports, own.nonces, commitments, b64(share))

    def _check_closing(self, closing: Closing, listed: Mapping[int, Closing]) -> None:
        wrong = (
            "of another kind or version" if (closing.barrow, closing.version) != ("closing", VERSION)
            else "of another card" if closing.card != self.task.card
            else "of an unknown aggregator" if not 0 <= closing.aggregator < self.task.prio3.aggregators
            else "a second one of the same aggregator" if closing.aggregator in listed
            else ""
        )  # fmt: skip
        if wrong:
            raise ParameterError(
                f"A closing is {wrong}; no share is written.",
                allowed="one closing of each other aggregator of this card",
                fix="take it again from whoever wrote it",
            )


def commitment_of(share: bytes) -> str:
    """What fixes an aggregator to its share before it tells it; shares are random, so that it tells nothing else."""
    return "sha256:" + hashlib.sha256(b"barrow sum share 1 " + share).hexdigest()


class SummedReports(msgspec.Struct, frozen=True):
    """The sum of all shares: what is released, with its noise in it.

    Attributes:
        values: The noised sums, one for each entry.
        reports: How many reports were counted.
        nonces: The digest of their sorted nonces.
        commitments: What each aggregator was fixed to.
    """

    values: list[int]
    reports: int
    nonces: str
    commitments: list[str]


def add_shares(task: SumTask, shares: Sequence[SumShare]) -> SummedReports:
    """The sums, of every aggregator's share.

    Raises:
        ParameterError: If one is missing, twice there, of another card or version, or not what was committed to.
    """
    m = task.prio3.aggregators
    for share in shares:
        wrong = (
            "is of another kind or version" if (share.barrow, share.version) != ("sum", VERSION)
            else "is of another card" if share.card != task.card
            else "has no place among this card's aggregators"
            if not 0 <= share.aggregator < m or len(share.commitments) != m
            else ""
        )  # fmt: skip
        if wrong:
            raise _no_sum(f"A share of the sum {wrong}.")
    by_index = {share.aggregator: share for share in shares}
    if len(by_index) < len(shares):
        raise _no_sum("Two shares of the sum are of the same aggregator.")
    if len(by_index) < m:
        missing = next(i for i in range(m) if i not in by_index)
        raise _no_sum(f"The {role_name(missing)}'s share of the sum is missing.")
    first = by_index[0]
    data = []
    for index, share in sorted(by_index.items()):
        same = (first.reports, first.nonces, first.commitments)
        if (share.reports, share.nonces, share.commitments) != same:
            raise _no_sum("The aggregators did not count the same reports and shares.")
        data.append(unb64(share.share, task.prio3.output_size))
        if commitment_of(data[-1]) != first.commitments[index]:
            raise _no_sum(f"The {role_name(index)}'s share of the sum differs from the one that it committed to.")
    return SummedReports(task.prio3.unshard(data), first.reports, first.nonces, list(first.commitments))


def _no_sum(problem: str) -> ParameterError:
    return ParameterError(
        f"{problem} Nothing was released.",
        allowed="one share of each aggregator of this card, as barrow collect aggregate wrote it",
        fix="take it again from the aggregator; if it stays so, do not release",
    )
