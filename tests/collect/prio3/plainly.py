"""The circuit `Edges` and Prio3 a second time: Python's integers, one report at a time, polynomials by coefficients.

It shares no line with ``barrow.collect.prio3``: Field64 and three proofs only, polynomials are interpolated by
Lagrange's formula with inverses, and evaluated by Horner's rule.
"""

from Crypto.Hash import TurboSHAKE128

P = 2**64 - 2**32 + 1
PROOFS = 3


def xof(seed, algorithm, usage, context, binder):
    dst = b"\x12\x00" + algorithm.to_bytes(4, "big") + usage.to_bytes(2, "big") + context
    return TurboSHAKE128.new(data=len(dst).to_bytes(2, "little") + dst + b"\x20" + seed + binder, domain=1)


def vector(stream, length):
    result = []
    while len(result) < length:
        number = int.from_bytes(stream.read(8), "little")
        if number < P:
            result.append(number)
    return result


def written(numbers):
    return b"".join(number.to_bytes(8, "little") for number in numbers)


def root(n):
    return pow(7, (P - 1) // n, P)


def times(a, b):
    result = [0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            result[i + j] = (result[i + j] + x * y) % P
    return result


def through(points):
    """The coefficients of the polynomial through (x, y)."""
    result = [0] * len(points)
    for i, (x, y) in enumerate(points):
        term, below = [1], 1
        for j, (other, _) in enumerate(points):
            if i != j:
                term, below = times(term, [-other % P, 1]), below * (x - other) % P
        result = [(a + y * pow(below, -1, P) * b) % P for a, b in zip(result, term, strict=True)]
    return result


def at(polynomial, x):
    result = 0
    for coefficient in reversed(polynomial):
        result = (result * x + coefficient) % P
    return result


class Plainly:
    """most: ends of ranges; groups: (members, floor, span); chunk: bits of a call."""

    def __init__(self, most, groups, chunk, aggregators, context, algorithm):
        self.most, self.groups, self.chunk, self.m = most, groups, chunk, aggregators
        self.context, self.algorithm = context, algorithm
        self.spans = [span for _, _, span in groups if span > 0]
        self.length = sum(len(bin(top)) - 2 for top in [*most, *self.spans])
        self.calls = (self.length + chunk - 1) // chunk
        self.n = 2
        while self.n < self.calls + 1:
            self.n *= 2
        self.queries = 1 + (1 + len(groups) if groups else 0)

    def bits(self, values):
        above = [sum(values[i] for i in members) - floor for members, floor, span in self.groups if span > 0]
        result = []
        for value, top in zip([*values, *above], [*self.most, *self.spans], strict=True):
            width = len(bin(top)) - 2
            weights = [2**i for i in range(width - 1)]
            weights.append(top - sum(weights))
            last = 1 if value > sum(weights[:-1]) else 0
            left = value - last * weights[-1]
            result += [left // w % 2 for w in weights[:-1]] + [last]
        return result

    def worth(self, bits):
        result, bits = [], list(bits)
        for top in [*self.most, *self.spans]:
            total, used = 0, 0
            width = len(bin(top)) - 2
            for i in range(width):
                weight = 2**i if i + 1 < width else top - used
                used += weight
                total += weight * bits.pop(0)
            result.append(total % P)
        return result

    def _xof(self, seed, usage, binder):
        return xof(seed, self.algorithm, usage, self.context, binder)

    def expanded(self, index, seed):
        bits = vector(self._xof(seed, 1, bytes([index])), self.length)
        size = 2 * self.chunk + 2 * self.n - 1
        return bits, vector(self._xof(seed, 2, bytes([PROOFS, index])), PROOFS * size)

    def part(self, index, blind, bits, nonce):
        return self._xof(blind, 7, bytes([index]) + nonce + written(bits)).read(32)

    def seed_of(self, parts):
        return self._xof(bytes(32), 6, b"".join(parts)).read(32)

    def joint(self, seed):
        return vector(self._xof(seed, 3, bytes([PROOFS])), PROOFS * self.calls)

    def wires(self, bits, seeds, joint, one):
        """Values at the n-th roots of unity of each of the gadget's inputs."""
        result = [[seed] + [0] * (self.n - 1) for seed in seeds]
        for k in range(self.calls):
            for j in range(self.chunk):
                place = k * self.chunk + j
                bit = bits[place] if place < self.length else 0
                result[2 * j][k + 1] = pow(joint[k], j + 1, P) * bit % P
                result[2 * j + 1][k + 1] = (bit - one) % P
        return result

    def shard(self, values, nonce, random):
        seeds = [random[i : i + 32] for i in range(0, len(random), 32)]
        bits = self.bits(values)
        leader, parts, proofs_of = list(bits), [], []
        for index in range(1, self.m):
            share, proof = self.expanded(index, seeds[2 * index - 2])
            leader = [(a - b) % P for a, b in zip(leader, share, strict=True)]
            parts.append(self.part(index, seeds[2 * index - 1], share, nonce))
            proofs_of.append(proof)
        blind, prover = seeds[-2:]
        parts = [self.part(0, blind, leader, nonce), *parts]
        joint = self.joint(self.seed_of(parts))
        prove = vector(self._xof(prover, 4, bytes([PROOFS])), PROOFS * 2 * self.chunk)
        proofs, w = [], root(self.n)
        for which in range(PROOFS):
            own = prove[which * 2 * self.chunk :][: 2 * self.chunk]
            lines = self.wires(bits, own, joint[which * self.calls :][: self.calls], 1)
            lines = [through([(pow(w, k, P), y) for k, y in enumerate(line)]) for line in lines]
            gadget = [0] * (2 * self.n - 1)
            for j in range(self.chunk):
                gadget = [(a + b) % P for a, b in zip(gadget, times(lines[2 * j], lines[2 * j + 1]), strict=True)]
            proofs += own + [at(gadget, pow(root(2 * self.n), i, P)) for i in range(2 * self.n - 1)]
        for proof in proofs_of:
            proofs = [(a - b) % P for a, b in zip(proofs, proof, strict=True)]
        helpers = [seeds[2 * i - 2] + seeds[2 * i - 1] for i in range(1, self.m)]
        return b"".join(parts), [written(leader) + written(proofs) + blind, *helpers]

    def verifier(self, key, index, nonce, public, share):
        """What an aggregator tells, and its share of the entries."""
        if index == 0:
            numbers = [int.from_bytes(share[i : i + 8], "little") for i in range(0, len(share) - 32, 8)]
            bits, proofs = numbers[: self.length], numbers[self.length :]
        else:
            bits, proofs = self.expanded(index, share[:32])
        own = self.part(index, share[-32:], bits, nonce)
        parts = [public[i : i + 32] for i in range(0, len(public), 32)]
        parts[index] = own
        joint, one = self.joint(self.seed_of(parts)), pow(self.m, -1, P)
        asked = vector(self._xof(key, 5, bytes([PROOFS]) + nonce), PROOFS * self.queries)
        values, result, w, fine = self.worth(bits), [], root(self.n), root(2 * self.n)
        size = 2 * self.chunk + 2 * self.n - 1
        for which in range(PROOFS):
            proof, queries = proofs[which * size :][:size], asked[which * self.queries :][: self.queries]
            lines = self.wires(bits, proof[: 2 * self.chunk], joint[which * self.calls :][: self.calls], one)
            # 2n - 1 values fix a polynomial of degree 2n - 2.
            gadget = through([(pow(fine, i, P), y) for i, y in enumerate(proof[2 * self.chunk :])])
            zeros, claimed = [sum(at(gadget, pow(w, k, P)) for k in range(1, self.calls + 1))], len(self.most)
            for members, floor, span in self.groups:
                zero = sum(values[i] for i in members) - floor * one
                if span > 0:
                    zero, claimed = zero - values[claimed], claimed + 1
                zeros.append(zero)
            out = zeros[0] if not self.groups else sum(a * b for a, b in zip(zeros, queries[:-1], strict=True))
            point = queries[-1]
            lines = [at(through([(pow(w, k, P), y) for k, y in enumerate(line)]), point) for line in lines]
            result += [out % P, *lines, at(gadget, point)]
        return written(result) + own, written(values[: len(self.most)])
