"""Prio3: shares of a report, what each aggregator tells the others about its own, and sums of what is valid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from barrow.collect.prio3.circuits import Edges
from barrow.collect.prio3.fields import FIELDS, Elements, Field128
from barrow.collect.prio3.proofs import decide, prove, query
from barrow.errors import BarrowError, ParameterError, optional_library

VERSION = 18
"""The draft's version on the wire; every derived value depends on it."""
SEED = 32
"""Bytes of a seed."""


def tag(algorithm: int, usage: int, context: bytes) -> bytes:
    """What keeps uses apart: version, class 0 (a VDAF), algorithm, usage and the application's context."""
    return bytes([VERSION, 0]) + algorithm.to_bytes(4, "big") + usage.to_bytes(2, "big") + context


def _stream(seed: bytes, label: bytes, binder: bytes) -> Any:
    shake = optional_library("Crypto.Hash.TurboSHAKE128", extra="collect", purpose="Secure sums")
    head = len(label).to_bytes(2, "little") + label + bytes([len(seed)]) + seed
    return shake.new(domain=1, data=head + binder)


def derive_seed(seed: bytes, label: bytes, binder: bytes) -> bytes:
    """Another seed.

    >>> derive_seed(bytes(32), b"a use", b"what is agreed on").hex()[:16]
    '31dbe1169bcbc6eb'
    """
    return bytes(_stream(seed, label, binder).read(SEED))


def expand(field: Field128, seed: bytes, label: bytes, binder: bytes, length: int) -> Elements:
    """So many elements; what is not below the modulus is passed over, as it comes."""
    stream = _stream(seed, label, binder)
    result = field.read(stream.read(length * field.size))
    fits = field.canonical(result)
    if fits.all():
        return result
    data = field.write(result[fits])
    while len(data) < length * field.size:
        more = field.read(stream.read(field.size))
        data += field.write(more[field.canonical(more)])
    return field.read(data)


_MEASUREMENT, _PROOFS, _JOINT, _PROVE, _QUERY, _JOINT_SEED, _JOINT_PART = range(1, 8)
NONCE = 16
"""Bytes of a nonce."""
_WEAK = {("Field64", 1), ("Field64", 2)}


class ShareError(BarrowError):
    """A share, a proof or a message is not what it should be; the text is constant and repeats nothing of it."""


class VerifyState(NamedTuple):
    """What an aggregator holds of a report until all have told.

    Attributes:
        output: Its share of the report's entries, as sent.
        seed: The joint randomness's seed that all must arrive at.
        share: What it tells the others.
    """

    output: bytes
    seed: bytes
    share: bytes


class Prio3:
    """One algorithm of the draft: a circuit, so many aggregators, and what it is used for.

    Args:
        circuit: What reports must satisfy.
        aggregators: How many share a report: 2 to 255. The first, the leader, has index 0.
        context: What everything derived is bound to, the digest of the card for instance.
        field: ``"Field64"`` with at least three proofs, or ``"Field128"``.
        proofs: How many independent proofs.
        algorithm: The draft's id of the algorithm; from 0xFFFF0000 on they are private.

    >>> from barrow.collect.prio3 import Edges
    >>> prio3 = Prio3(Edges((5, 5)), context=b"a card")
    >>> public, shares = prio3.shard((2, 3), bytes(16), bytes(range(prio3.random_size)))
    >>> told = [prio3.verify_init(bytes(32), i, bytes(16), public, shares[i]) for i in range(2)]
    >>> message = prio3.decide([each.share for each in told])
    >>> prio3.unshard([prio3.add([prio3.finish(each, message)]) for each in told])
    [2, 3]
    """

    def __init__(
        self, circuit: Edges, aggregators: int = 2, context: bytes = b"", field: str = "Field64", proofs: int = 3,
        algorithm: int = 0xFFFF0001,
    ) -> None:  # fmt: skip
        if not 2 <= aggregators <= 255:
            raise ParameterError(
                f"{aggregators} aggregators cannot share a report.", allowed="2 to 255", fix="aggregators=2"
            )
        if field not in FIELDS or not 1 <= proofs <= 255 or (field, proofs) in _WEAK:
            raise ParameterError(
                f"{proofs} proofs in {field} can be forged or are unknown.",
                allowed="at least 3 proofs in Field64, or Field128",
                fix="proofs=3",
            )
        self.circuit, self.aggregators, self.context, self.proofs = circuit, aggregators, context, proofs
        self.field, self.algorithm = FIELDS[field], algorithm
        size = self.field.size
        self.random_size = 2 * aggregators * SEED
        self.public_size = aggregators * SEED
        self.leader_size = (circuit.length + proofs * circuit.proof_length) * size + SEED
        self.helper_size = 2 * SEED
        self.verifier_size = proofs * circuit.verifier_length * size + SEED
        self.output_size = len(circuit.most) * size

    def shard(self, measurement: Sequence[int], nonce: bytes, random: bytes) -> tuple[bytes, list[bytes]]:
        """The public share and one share for each aggregator of what a person reports.

        Args:
            measurement: The integers.
            nonce: 16 bytes from a generator that nobody can predict, for this report alone.
            random: ``random_size`` bytes of the same kind, never used twice.
        """
        circuit, field = self.circuit, self.field
        if len(nonce) != NONCE or len(random) != self.random_size:
            raise ParameterError(
                "The nonce or the randomness has a wrong size.",
                allowed=f"{NONCE} and {self.random_size} bytes",
                fix="draw them anew",
            )
        seeds = [random[i : i + SEED] for i in range(0, len(random), SEED)]
        helpers, blinds, (blind, prover) = seeds[:-2:2], seeds[1:-2:2], seeds[-2:]
        bits = field.array(circuit.encode(measurement))
        leader, parts = bits, []
        for index, (seed, own) in enumerate(zip(helpers, blinds, strict=True), 1):
            share = self._measurement(index, seed)
            leader = field.sub(leader, share)
            parts.append(self._part(index, own, share, nonce))
        parts.insert(0, self._part(0, blind, leader, nonce))
        wires = self._expand(prover, _PROVE, b"", 2 * circuit.arity)
        proofs = prove(circuit, field, bits, wires, self._joint(self._joint_seed(parts))).reshape(-1)
        for index, seed in enumerate(helpers, 1):
            proofs = field.sub(proofs, self._proofs(index, seed))
        first = field.write(leader) + field.write(proofs) + blind
        return b"".join(parts), [first, *(a + b for a, b in zip(helpers, blinds, strict=True))]

    def verify_init(self, key: bytes, index: int, nonce: bytes, public: bytes, share: bytes) -> VerifyState:
        """What one aggregator tells about its share of one report.

        Raises:
            ShareError: If the share is malformed.
        """
        result = self.verify_block(key, index, [(nonce, public, share)])[0]
        if result is None:
            raise _refused("A share of a report is malformed.")
        return result

    def verify_block(
        self, key: bytes, index: int, reports: Sequence[tuple[bytes, bytes, bytes]]
    ) -> list[VerifyState | None]:
        """The same of several reports (nonce, public share, share) at once, which is quicker; None if malformed."""
        circuit, field = self.circuit, self.field
        results: list[VerifyState | None] = [None] * len(reports)
        opened = {i: read for i, report in enumerate(reports) if (read := self._open(index, *report)) is not None}
        if not opened:
            return results
        rows = list(opened)
        shares = np.stack([opened[i][0] for i in rows])
        proofs = np.stack([opened[i][1] for i in rows])
        seeds, told, good = {}, {}, np.ones(len(rows), dtype=bool)
        for i in rows:
            nonce, public, _ = reports[i]
            told[i] = self._part(index, opened[i][2], opened[i][0], nonce)
            parts = [public[j : j + SEED] for j in range(0, len(public), SEED)]
            seeds[i] = self._joint_seed([*parts[:index], told[i], *parts[index + 1 :]])
        joint = np.stack([self._joint(seeds[i]) for i in rows])
        queries = np.stack([self._expand(key, _QUERY, reports[i][0], circuit.query_length) for i in rows])
        verifiers = []
        for k in range(self.proofs):
            made, fine = query(circuit, field, shares, proofs[:, k], queries[:, k], joint[:, k], self.aggregators)
            verifiers.append(made)
            good &= fine
        lines = np.concatenate(verifiers, axis=1)
        outputs = circuit.values(field, shares)[:, : len(circuit.most)]
        for row, i in enumerate(rows):
            if good[row]:
                share = field.write(lines[row]) + told[i]
                results[i] = VerifyState(field.write(outputs[row]), seeds[i], share)
        return results

    def decide(self, shares: Sequence[bytes]) -> bytes:
        """The message that says that a report is valid, of what all aggregators told, in their order.

        Raises:
            ShareError: If it is not.
        """
        result = self.decide_block([shares])[0]
        if result is None:
            raise _refused("A report is not valid.")
        return result

    def decide_block(self, reports: Sequence[Sequence[bytes]]) -> list[bytes | None]:
        """The same of several reports at once; None if not valid."""
        field, results = self.field, list[bytes | None]([None] * len(reports))
        rows, sums = [], []
        for i, shares in enumerate(reports):
            if len(shares) != self.aggregators or any(len(share) != self.verifier_size for share in shares):
                continue
            read = [field.read(share[:-SEED]) for share in shares]
            if all(field.canonical(share).all() for share in read):
                rows.append(i)
                sums.append(read)
        if not rows:
            return results
        total = np.stack([share[0] for share in sums])
        for j in range(1, self.aggregators):
            total = field.add(total, np.stack([share[j] for share in sums]))
        valid = decide(field, total.reshape(-1, self.circuit.verifier_length)).reshape(len(rows), self.proofs)
        for row, i in enumerate(rows):
            if valid[row].all():
                results[i] = self._joint_seed([share[-SEED:] for share in reports[i]])
        return results

    def finish(self, state: VerifyState, message: bytes) -> bytes:
        """An aggregator's share of the entries, once the message agrees with what it derived itself.

        Raises:
            ShareError: If it does not.
        """
        if message != state.seed:
            raise _refused("A report was shared with other randomness than it says.")
        return state.output

    def add(self, outputs: Sequence[bytes], to: bytes | None = None) -> bytes:
        """The sum of output shares, and of an earlier sum."""
        rows = list(outputs) if to is None else [to, *outputs]
        if not rows:
            return bytes(self.output_size)
        return self.field.write(self.field.sum(np.stack([self._read_output(row) for row in rows]), axis=0))

    def write(self, values: Sequence[int]) -> bytes:
        """Integers of any sign as an output share: noise, to be added."""
        return self.field.write(self.field.array(list(values)))

    def unshard(self, shares: Sequence[bytes]) -> list[int]:
        """The sums of all entries, of all aggregators' sums.

        With noise in them they may be below zero: what is above half of the modulus is taken so.
        """
        modulus = self.field.modulus
        total = (int(value) for value in self._read_output(self.add(shares)))
        return [value - modulus if value > modulus // 2 else value for value in total]

    def _read_output(self, data: bytes) -> Elements:
        if len(data) != self.output_size:
            raise _refused("A sum has another number of entries than the circuit.")
        result = self.field.read(data)
        if not self.field.canonical(result).all():
            raise _refused("A sum holds a number that is not below the modulus.")
        return result

    def _open(self, index: int, nonce: bytes, public: bytes, share: bytes) -> tuple[Elements, Elements, bytes] | None:
        """A share of the bits, shares of the proofs one a row, and the blind; None if it is malformed."""
        size = self.leader_size if index == 0 else self.helper_size
        if len(nonce) != NONCE or len(public) != self.public_size or len(share) != size:
            return None
        blind, length = share[-SEED:], self.circuit.length
        if index:
            seed = share[:SEED]
            bits, proofs = self._measurement(index, seed), self._proofs(index, seed)
        else:
            elements = self.field.read(share[:-SEED])
            if not self.field.canonical(elements).all():
                return None
            bits, proofs = elements[:length], elements[length:]
        return bits, proofs.reshape(self.proofs, self.circuit.proof_length), blind

    def _tag(self, usage: int) -> bytes:
        return tag(self.algorithm, usage, self.context)

    def _expand(self, seed: bytes, usage: int, binder: bytes, length: int) -> Elements:
        """So many elements for each proof, one proof a row."""
        made = expand(self.field, seed, self._tag(usage), bytes([self.proofs]) + binder, length * self.proofs)
        return made.reshape(self.proofs, length)

    def _measurement(self, index: int, seed: bytes) -> Elements:
        return expand(self.field, seed, self._tag(_MEASUREMENT), bytes([index]), self.circuit.length)

    def _proofs(self, index: int, seed: bytes) -> Elements:
        return self._expand(seed, _PROOFS, bytes([index]), self.circuit.proof_length).reshape(-1)

    def _joint(self, seed: bytes) -> Elements:
        return self._expand(seed, _JOINT, b"", self.circuit.calls)

    def _part(self, index: int, blind: bytes, share: Elements, nonce: bytes) -> bytes:
        return derive_seed(blind, self._tag(_JOINT_PART), bytes([index]) + nonce + self.field.write(share))

    def _joint_seed(self, parts: Sequence[bytes]) -> bytes:
        return derive_seed(bytes(SEED), self._tag(_JOINT_SEED), b"".join(parts))


def _refused(problem: str) -> ShareError:
    return ShareError(problem, allowed="what a client of this card makes", fix="leave it out")
