"""The ledger: a budget and everything that was paid from it. Make or join one, spend from it, read it, check it."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol, cast
from urllib.parse import quote, urlencode

from barrow._version import __version__
from barrow.display import Displayed
from barrow.errors import BarrowError, ParameterError, path_text
from barrow.ledger.anchors import check_anchor, check_head, move_anchor
from barrow.ledger.approvals import Quorum
from barrow.ledger.budget import Account, Amount, Budget, SpaceRef
from barrow.ledger.charges import Composer, groups_of, keeps_promises
from barrow.ledger.errors import CorruptLedgerError, MissingLedgerError
from barrow.ledger.governed import GovernedLedger
from barrow.ledger.joining import check_joined, joined, priced_at
from barrow.ledger.keys import SigningKey
from barrow.ledger.opened import Clock, Verification, refuse_second, stamp, twins_of, utc_now, whoami
from barrow.ledger.postgres import SCHEMES, PostgresStore
from barrow.ledger.promises import PromiseLimit
from barrow.ledger.published import PublishedHead, marks_of
from barrow.ledger.sqlite import SqliteStore, is_ledger_file
from barrow.ledger.state import LedgerState, Record, make_row
from barrow.ledger.store import ChainHead, Other, Row, Store
from barrow.ledger.table import Balance, Overview, balances, overview, remaining
from barrow.promises import Event
from barrow.promises.periods import Window
from barrow.spaces.space import Space

PathLike = str | os.PathLike[str]
Where = str | os.PathLike[str]
"""A path, or ``postgresql://user@host/database?ledger=NAME``."""


class HasBudget(Protocol):
    """Anything that knows its budget, such as a study."""

    @property
    def budget(self) -> Budget:
        """What its releases may spend."""


class Ledger(Displayed, GovernedLedger):
    """A budget and what was spent of it, in a store. The object may spend only in the process that opened it.

    Args:
        store: Where the records are: a store, a path, or ``postgresql://…``.
        composer: How charges add up, if not as the budget says.
        clock: The time; for tests.
        anchor: The file that holds the newest head elsewhere, if not as the ledger or the environment
            (``BARROW_LEDGER_ANCHOR``) says.

    >>> import tempfile
    >>> from barrow.ledger.promises import PromiseLimit, Promises
    >>> from barrow.promises import Emd, Guarantee, PureRelease
    >>> budget = Budget("visits", 1083, "earth km", Promises([PromiseLimit(1, "0.3", 1, text="all data by 300 m")]))
    >>> grid = SpaceRef("earth", "sha256:00", 30, "km", metric="earth km", snapping="1/100")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger.create(folder + "/visits.ledger", budget)
    ...     paid = ledger.reserve(
    ...         key="map-1", what="heatmap 1 km", event=PureRelease(20, model="central"),
    ...         guarantee=Guarantee(Emd(20, model="central"), "pure", "def:emd-dp"),
    ...         space=grid, dataset="visits", users=1083, parameters={"cell": "0.6 km"},
    ...     )
    ...     paid.take()
    ...     _ = ledger.commit(paid, "sha256:" + "ab" * 32)
    ...     print(ledger.overview().sentences()[0])
    all data by 300 m: ε 0.6 of 1 used.
    """

    def __init__(
        self,
        store: Store | PathLike,
        *,
        composer: Composer | None = None,
        clock: Clock | None = None,
        anchor: PathLike | None = None,
    ) -> None:
        opened = cast(Store, store) if hasattr(store, "rows") else open_store(path_text(store, "The ledger"))
        super().__init__(opened, composer=composer, clock=clock, anchor=anchor)

    @classmethod
    def create(
        cls,
        path: Where,
        budget: Budget | HasBudget,
        *,
        composer: Composer | None = None,
        clock: Clock | None = None,
        anchor: PathLike | None = None,
        approval: Quorum | None = None,
    ) -> Ledger:
        """Make a ledger at ``path`` (a file, or ``postgresql://…?ledger=NAME``); refused if anything is there already.

        It is refused as well where another ledger of the same data set lies beside it, whatever it is called.
        ``anchor`` names a file that holds the newest head from now on, on another disk at best; ``approval`` says who
        must agree to every release, for good.
        """
        built, path = _budget(budget), path_text(path, "The ledger")
        kind: type[PostgresStore | SqliteStore] = PostgresStore if is_url(path) else SqliteStore
        store = kind.create(
            path,
            [first_row(built, clock, anchor, approval)],
            unless=lambda others: refuse_second(built.dataset, others),
        )
        ledger = cls(store, composer=composer, clock=clock, anchor=anchor)
        if ledger._anchor is not None:
            move_anchor(ledger._state, ledger._anchor)
        return ledger

    @classmethod
    def open(
        cls,
        path: Where,
        *,
        composer: Composer | None = None,
        clock: Clock | None = None,
        anchor: PathLike | None = None,
    ) -> Ledger:
        """Open the ledger at ``path``; every link of its chain is checked."""
        return cls(path, composer=composer, clock=clock, anchor=anchor)

    @classmethod
    def join(
        cls,
        path: Where,
        budget: Budget | HasBudget,
        *,
        tighten: bool = False,
        clock: Clock | None = None,
        anchor: PathLike | None = None,
        approval: Quorum | None = None,
    ) -> Ledger:
        """The ledger at ``path`` for a study with ``budget``: made if there is none, else joined.

        Args:
            path: A file, or ``postgresql://…?ledger=NAME``.
            budget: What the study promises.
            tighten: Let the study add promises and tighten some, for every study and for good.
            clock: The time; for tests.
            anchor: As in :class:`Ledger`.
            approval: Who must agree to every release; of an existing ledger it must be the same.

        Raises:
            NotCoveredError: The study drops or loosens a promise, is about something else, or promises what the
                releases so far have broken already.
        """
        request, path = _budget(budget), path_text(path, "The ledger")
        if not cls.exists(path):
            return cls.create(path, request, clock=clock, anchor=anchor, approval=approval)
        ledger = cls.open(path, clock=clock, anchor=anchor)
        ledger.check_quorum(approval)
        if joined(ledger._fresh(), request, tighten=tighten) is not None:
            with ledger._appending() as work:
                new = joined(work.state, request, tighten=tighten)
                if new is not None:
                    work.add("budget", new.to_json())
        return ledger

    def check_study(self, budget: Budget | HasBudget, *, spaces: Iterable[Space | SpaceRef] = ()) -> None:
        """The check that :meth:`join` makes, for a study that is about to release: nothing is written.

        Raises:
            NotCoveredError: The study promises something else than this ledger keeps.
        """
        check_joined(self._fresh(), _budget(budget), spaces=tuple(SpaceRef.of(space) for space in spaces))

    @classmethod
    def adopt(cls, url: str, anchor: PathLike) -> Ledger:
        """Take a restored or promoted Postgres server for the ledger's own, if it continues the newest ``anchor``."""
        store = open_store(url)
        if not isinstance(store, PostgresStore):
            raise ParameterError(
                f"The ledger {store.name!r} is a file.", allowed="a ledger in Postgres", fix="nothing is to be adopted"
            )
        ledger = cls(store, anchor=anchor)
        check_anchor(ledger._fresh(), Path(anchor))
        store.adopt()
        return ledger

    @staticmethod
    def exists(path: Where) -> bool:
        """Whether there is anything at ``path``, which :meth:`join` would then open."""
        if is_url(path):
            return PostgresStore.address(str(path))[1] in PostgresStore.names(str(path))
        return os.path.lexists(path)

    @staticmethod
    def find(place: Where, dataset: str) -> str | None:
        """The ledger of ``dataset`` in the folder ``place``, or in a database ``postgresql://…``; None if none is."""
        for where in _all_in(place):
            try:  # The first record says it, even where a later one is broken.
                if twins_of(dataset, [Other(where, open_store(where).rows()[0].body)]):
                    return where
            except (BarrowError, IndexError):  # Not this data set's, as far as anybody can tell.
                continue
        return None

    @property
    def file(self) -> Path | None:
        """The file that holds it; None for a ledger in a database."""
        place = getattr(self._store, "path", None)
        return None if place is None else Path(place)

    def left(self, account: Account = "main") -> Amount:
        """What is left of ``account``, whatever a release reads; :meth:`remaining` says it for one that reads less."""
        state = self._fresh()
        if state.budget.promises:
            state.budget.number_of(account)  # there is no main account of promises
        return self._left(state, account)

    def balances(self) -> tuple[Balance, ...]:
        """Each promise (or account): its limit, what is used and what is left."""
        state = self._fresh()
        return balances(state, self.composer)

    def remaining(
        self, *, reads: Window | None = None, groups: Mapping[str, Sequence[str]] | None = None
    ) -> tuple[Balance, ...]:
        """What is left at each promise for a release that reads a window and is about some groups of people.

        ``left`` of each is what such a release may cost there; it is charged with its price in every period it meets.
        """
        state = self._fresh()
        return remaining(state, reads, groups_of(state.budget, groups))

    def spent_at(self, promises: Sequence[PromiseLimit]) -> tuple[Amount, ...]:
        """What all releases so far, reserved ones too, cost together at promises that need not be in the budget."""
        return priced_at(self._fresh(), promises)

    def anchor(self, path: PathLike) -> ChainHead:
        """Write the head into the file ``path``, to be kept elsewhere; refused if a newer head is there."""
        state = self._fresh()
        with suppress(MissingLedgerError):
            check_anchor(state, Path(path))
        move_anchor(state, Path(path))
        return state.head

    def records(self) -> tuple[Record, ...]:
        """All records, oldest first."""
        return tuple(self._fresh().records)

    def folders(self, seq: int) -> tuple[str, ...]:
        """The folders that were named for the release of record ``seq``, the first one first."""
        return self._fresh().folders(seq)

    def events(self, account: Account = "main") -> tuple[Event, ...]:
        """The events of all paid releases of ``account``, oldest first, for an accountant to price anew."""
        state = self._fresh()
        charges = state.charges.values()
        return tuple(c.event for c in charges if state.budget.promises or c.account == account)

    def head(self) -> ChainHead:
        """Length and head hash: keep them elsewhere, and :meth:`verify` can show that nothing was cut off."""
        return self._fresh().head

    def publish(self, key: SigningKey | PathLike) -> PublishedHead:
        """The head, signed with the owner's key after :meth:`verify`: a stranger can check a release against it."""
        signing = key if isinstance(key, SigningKey) else SigningKey.read(key)
        self.verify()
        state = self._fresh()
        return PublishedHead.of(state, self._now(state), signing)

    def published(self, head: PublishedHead) -> bool:
        """Whether ``head`` is one of this ledger, and holds the releases that were committed up to there."""
        then = LedgerState.read(self._store.rows()[: head.head.length])
        return (then.name, then.head, marks_of(then.committed.values())) == (head.ledger, head.head, head.releases)

    def continues(self, anchor: PathLike) -> None:
        """Refuse this ledger if it is not a continuation of the anchor in a file."""
        check_anchor(self._fresh(), Path(path_text(anchor, "The anchor")))

    def verify(self, head: ChainHead | str | None = None) -> Verification:
        """Read everything anew and check every link, every charge, and that ``head`` is part of the chain.

        Raises:
            CorruptLedgerError: Records were edited, swapped, dropped or cut off, or too much was spent.
        """
        anchor = ChainHead.parse(head) if isinstance(head, str) else head
        state = LedgerState.read(self._store.rows())
        if anchor is not None:
            check_head(state, anchor)
        same = self._same_composer(state) and state.budget.per is None
        if same:
            charges, limits = list(state.charges.values()), state.budget.limit_of
            fits = all(self._spent(state, account).fits(limits(account)) for account in state.budget.accounts)
            if not (keeps_promises(state.budget, charges) if state.budget.promises else fits):
                raise CorruptLedgerError.at(state.head.length, "more was spent than the budget allows")
        return Verification(
            state.head,
            len(state.charges),
            len(state.charges) - len(state.outputs),
            anchor is not None,
            True if same else None,
        )

    def export(self) -> dict[str, object]:
        """Everything as plain data, after :meth:`verify`; enough to check the chain without barrow."""
        self.verify()
        state = self._fresh()
        return {
            "format": "barrow ledger 1",
            "ledger": state.name,
            "head": {"length": state.head.length, "hash": state.head.hash},
            "records": [{"seq": row.seq, "body": row.body, "hash": row.hash} for row in self._store.rows()][
                : state.head.length
            ],
        }

    def overview(self) -> Overview:
        """What was spent, when, by whom, and what is left."""
        state = self._fresh()
        return overview(state, self.composer)

    def _repr_html_(self) -> str:
        return self.overview().to_html()

    def _same_composer(self, state: LedgerState) -> bool:
        """Whether all that was let through was added up as here; a new budget carries what came before as sums."""
        if state.budget.promises:
            return True  # each payment says which account it is in
        since = max((record.seq for record in state.records if record.kind == "budget"), default=0)
        paid = [record for record in state.records if record.kind == "reserve" and record.seq > since]
        return all(record.data["composer"] == self.composer.name for record in paid)


def _budget(given: Budget | HasBudget) -> Budget:
    """A budget, or that of a study."""
    result = given if isinstance(given, Budget) else getattr(given, "budget", None)
    if not isinstance(result, Budget):
        raise ParameterError(
            f"The budget is a {type(given).__name__}.", allowed="a study, or a Budget", fix="Ledger.create(path, study)"
        )
    return result


def first_row(
    budget: Budget, clock: Clock | None = None, anchor: PathLike | None = None, approval: Quorum | None = None
) -> Row:
    """The record that begins the chain of ``budget``."""
    when = stamp((clock or utc_now)())
    place = None if anchor is None else str(Path(anchor).absolute())
    # A name, not noise: it tells two ledgers with the same budget apart.
    data: dict[str, object] = {"ledger": str(uuid.uuid4()), "budget": budget.to_json(), "anchor": place}
    data["approval"] = None if approval is None else approval.to_json()
    return make_row(None, "init", data, when=when, who=whoami(), barrow=__version__)


def is_url(where: Where) -> bool:
    """Whether ``where`` is a database."""
    return isinstance(where, str) and where.startswith(SCHEMES)


def open_store(where: Where) -> Store:
    """The store at ``where``."""
    return PostgresStore(str(where)) if is_url(where) else SqliteStore(where)


def _all_in(place: Where) -> list[str]:
    if is_url(place):
        url = str(place)
        base = PostgresStore.address(url if "ledger=" in url else f"{url}{'&' if '?' in url else '?'}ledger=any")[0]
        joint = "&" if "?" in base else "?"
        return [f"{base}{joint}{urlencode({'ledger': name}, quote_via=quote)}" for name in PostgresStore.names(url)]
    try:
        return sorted(str(file) for file in Path(place).iterdir() if file.is_file() and is_ledger_file(file))
    except OSError:
        return []
