"""Who may be connected: few, in bounded memory, and nobody keeps a place by being slow.

Where it is full, whoever has been waited for longest goes: a silent crowd drives out itself, and not the next person.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from barrow.collect.web import MOST_BYTES, Service


@dataclass(frozen=True)
class Limits:
    """What clients may take of a service.

    Attributes:
        connections: How many at a time.
        of_one: How many of them from one address; 0 for no limit.
        head: Bytes of the first line and headers.
        body: Bytes of a body.
        held: Bytes of all bodies and answers that are held at a time.
        head_seconds: How long the head may take, from the connection or the first byte.
        body_seconds: How long the body may take.
        answer_seconds: How long an answer may be left unread.
        idle_seconds: How long a connection is kept for another request.
        leave_seconds: How long somebody who was refused may take to notice.
    """

    connections: int = 1000
    of_one: int = 0
    head: int = 2**14
    body: int = MOST_BYTES
    held: int = 2**26
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    answer_seconds: float = 30.0
    idle_seconds: float = 15.0
    leave_seconds: float = 2.0


def network_of(address: str) -> str:
    """What counts as one address: an IPv6 customer has a whole /64.

    >>> network_of("203.0.113.7"), network_of("2001:db8::1:2") == network_of("2001:db8::3")
    ('203.0.113.7', True)
    """
    try:
        result = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(result) if result.version == 4 else str(int(result) >> 64)


class Guest(Protocol):
    """A connection, as far as the room knows it."""

    address: str
    held: int

    def drop(self, why: str) -> None:
        """Send them away without a word."""
        ...


class Room:
    """Who is connected, and how much is held for them; where it is full, who was waited for longest goes."""

    def __init__(self, service: Service, limits: Limits) -> None:
        self.service, self.limits = service, limits
        self.inside: set[Guest] = set()
        self.waiting: dict[Guest, None] = {}
        self._of: dict[str, int] = {}
        self._held = 0
        self.stopping = False

    def enter(self, guest: Guest) -> bool:
        """Let a connection in, if need be in the place of another; whether there is a place."""
        most, here = self.limits.of_one, guest.address
        if most and self._of.get(here, 0) >= most and not self._drop("crowd", lambda other: other.address == here):
            return False
        if len(self.inside) >= self.limits.connections and not self._drop("full", lambda other: True):
            return False
        self.inside.add(guest)
        self._of[here] = self._of.get(here, 0) + 1
        return True

    def leave(self, guest: Guest) -> None:
        """Forget a connection."""
        self.waiting.pop(guest, None)
        if guest in self.inside:
            self.inside.discard(guest)
            self._of[guest.address] -= 1
            if not self._of[guest.address]:
                del self._of[guest.address]

    def wait(self, guest: Guest, *, now: bool = True) -> None:
        """From now on, or no longer, it is the other side that takes its time."""
        self.waiting.pop(guest, None)
        if now:
            self.waiting[guest] = None

    def hold(self, guest: Guest, size: int) -> bool:
        """Whether this many more bytes may be held, if need be in the place of others."""
        while self._held + size > self.limits.held:
            if not self._drop("memory", lambda other: other.held > 0 and other is not guest):
                return False
        guest.held += size
        self._held += size
        return True

    def let_go(self, guest: Guest) -> None:
        """Nothing is held for a connection any more."""
        self._held -= guest.held
        guest.held = 0

    def _drop(self, why: str, which: Callable[[Guest], bool]) -> bool:
        slow = next(filter(which, self.waiting), None)
        if slow is not None:
            slow.drop(why)
        return slow is not None

    def close(self) -> None:
        """Keep nobody any longer; who is being answered gets the answer."""
        self.stopping = True
        for guest in list(self.waiting):
            guest.drop("stopped")
