"""The draft's two fields, on whole arrays: Field64 in numpy's words of 64 bits, Field128 in Python's integers."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Elements = NDArray[Any]
"""Elements of one field, each below its modulus."""
_HALF = np.uint64(32)
_LOW = np.uint64(2**32 - 1)


class Field128:
    """Integers modulo 2^66 · 4611686018427387897 + 1, as arrays of Python's integers: exact, and slow.

    >>> Field128().mul(Field128().array([2**127]), Field128().array([2]))[0] == 2**128 % Field128.modulus
    True
    """

    modulus = 2**66 * 4611686018427387897 + 1
    size, order = 16, 2**66

    def array(self, values: Any) -> Elements:
        """Integers of any size and sign, reduced."""
        return np.array(values, dtype=object) % self.modulus

    def add(self, a: Elements, b: Elements) -> Elements:
        """A + b."""
        return (a + b) % self.modulus

    def sub(self, a: Elements, b: Elements) -> Elements:
        """A - b."""
        return (a - b) % self.modulus

    def mul(self, a: Elements, b: Elements) -> Elements:
        """A times b."""
        return (a * b) % self.modulus

    def sum(self, a: Elements, axis: int) -> Elements:
        """The sum along an axis."""
        return np.asarray(np.add.reduce(a, axis=axis) % self.modulus, dtype=object)

    def segments(self, a: Elements, starts: NDArray[np.intp]) -> Elements:
        """Sums of consecutive runs of the last axis, given where each begins."""
        return np.asarray(np.add.reduceat(a, starts, axis=-1) % self.modulus, dtype=object)

    def read(self, data: bytes) -> Elements:
        """Elements as they are written, the lowest byte first; they may be too large: see ``canonical``."""
        return np.array([int.from_bytes(data[i : i + 16], "little") for i in range(0, len(data), 16)], dtype=object)

    def write(self, a: Elements) -> bytes:
        """Elements as they are sent."""
        return b"".join(int(x).to_bytes(16, "little") for x in a)

    def canonical(self, a: Elements) -> NDArray[np.bool_]:
        """Which elements are below the modulus."""
        return np.asarray(a < self.modulus, dtype=bool)

    @cache  # noqa: B019 (there is one of each field)
    def roots(self, n: int) -> Elements:
        """The powers 0 to n - 1 of the n-th root of unity, for n a power of two."""
        root = pow(7, (self.modulus - 1) // n, self.modulus)
        return self.array([pow(root, i, self.modulus) for i in range(n)])

    def inverse(self, value: int) -> Elements:
        """1 / value, as an array of one."""
        return self.array([pow(value, -1, self.modulus)])

    def power(self, a: Elements, n: int) -> Elements:
        """A to the power of n, for n a power of two."""
        while n > 1:
            a, n = self.mul(a, a), n // 2
        return a


class Field64(Field128):
    """Integers modulo 2^64 - 2^32 + 1 in words of 64 bits.

    >>> Field64().mul(Field64().array([2**63]), Field64().array([6])).tolist() == [3 * 2**64 % Field64.modulus]
    True
    """

    modulus = 2**64 - 2**32 + 1
    size, order = 8, 2**32

    def array(self, values: Any) -> Elements:
        """Integers of any size and sign, reduced."""
        return np.asarray(np.array(values, dtype=object) % self.modulus, dtype=np.uint64)

    def add(self, a: Elements, b: Elements) -> Elements:
        """A + b."""
        result = a + b
        # 2^64 is 2^32 - 1 modulo the modulus; one of both corrections at most is due.
        result += ((result < a) | (result >= self.modulus)) * _LOW
        return result

    def sub(self, a: Elements, b: Elements) -> Elements:
        """A - b."""
        result = a - b
        result -= (a < b) * _LOW
        return result

    def mul(self, a: Elements, b: Elements) -> Elements:
        """A times b, by four products of halves."""
        a0, a1, b0, b1 = a & _LOW, a >> _HALF, b & _LOW, b >> _HALF
        low = a0 * b0
        middle = a0 * b1
        middle += low >> _HALF
        high = a1 * b1
        high += middle >> _HALF
        middle &= _LOW
        middle += a1 * b0
        high += middle >> _HALF
        low &= _LOW
        middle <<= _HALF
        low |= middle
        return self._reduced(high, low)

    def _reduced(self, high: Elements, low: Elements) -> Elements:
        """2^64 high + low: 2^64 is 2^32 - 1 and 2^96 is -1 modulo the modulus."""
        top = high >> _HALF
        result: Elements = low - top
        result -= (low < top) * _LOW
        high = (high & _LOW) * _LOW
        result += high
        result += (result < high) * _LOW
        result += (result >= self.modulus) * _LOW
        return result

    def _halves(self, low: Elements, high: Elements) -> Elements:
        """Low + 2^32 high, of sums of fewer than 2^32 halves."""
        high += low >> _HALF
        return self._reduced(high >> _HALF, (high << _HALF) | (low & _LOW))

    def sum(self, a: Elements, axis: int) -> Elements:
        """The sum along an axis."""
        return self._halves(np.add.reduce(a & _LOW, axis=axis), np.add.reduce(a >> _HALF, axis=axis))

    def segments(self, a: Elements, starts: NDArray[np.intp]) -> Elements:
        """Sums of consecutive runs of the last axis, given where each begins."""
        halves = (np.add.reduceat(half, starts, axis=-1) for half in (a & _LOW, a >> _HALF))
        return self._halves(*halves)

    def read(self, data: bytes) -> Elements:
        """Elements as they are written, the lowest byte first; they may be too large: see ``canonical``."""
        return np.frombuffer(data, "<u8").astype(np.uint64)

    def write(self, a: Elements) -> bytes:
        """Elements as they are sent."""
        return a.astype("<u8").tobytes()


FIELDS: dict[str, Field128] = {"Field64": Field64(), "Field128": Field128()}
"""By name; Field64 says more of what Field128 says of itself."""
