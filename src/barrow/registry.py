"""Kinds by name: our own by a literal table, those of other packages by entry points.

A name in a file runs no code of another package unless somebody asked for it: from Python only packages count that
were imported already, a command that runs a person's own study loads what is installed, and other people's cards and
studies have the kinds that are built in (docs/plugins.md).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import TYPE_CHECKING, Literal, TypeVar

from barrow.errors import ParameterError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
Usable = Literal["built in", "imported", "installed"]
_USABLE: ContextVar[Usable] = ContextVar("usable", default="imported")
GROUPS = ("barrow.spaces", "barrow.questions", "barrow.engines")


class PluginError(ParameterError):
    """A kind of another package that is not used here.

    >>> issubclass(PluginError, ParameterError)
    True
    """


@contextmanager
def usable(which: Usable) -> Iterator[None]:
    """Which kinds may be used meanwhile: those built in, those of packages imported already, or all installed ones.

    >>> with usable("built in"):
    ...     _USABLE.get()
    'built in'
    """
    before = _USABLE.set(which)
    try:
        yield
    finally:
        _USABLE.reset(before)


class Registry(Mapping[str, type[T]]):
    """The classes of one sort of thing, each loaded when it is asked for.

    Args:
        what: What they are, in words.
        group: The entry points of other packages.
        own: The place ``module:Class`` of every kind that is built in. No other package can take such a name.

    Attributes:
        added: Classes of this process by their names, as entry points would make them known.

    >>> shelves = Registry("shelf", "barrow.shelves", {"plain": "fractions:Fraction"})
    >>> shelves["plain"].__name__, "odd" in shelves, list(shelves)
    ('Fraction', False, ['plain'])
    """

    def __init__(self, what: str, group: str, own: Mapping[str, str]) -> None:
        self.what, self.group, self.own = what, group, own
        self.added: dict[str, type[T]] = {}

    def __getitem__(self, name: str) -> type[T]:
        if name in self.own:
            module, _, attribute = self.own[name].partition(":")
            result: type[T] = getattr(import_module(module), attribute)
            return result
        if name in self.added and _USABLE.get() != "built in":
            return self.added[name]
        entry = self._installed().get(name)
        if entry is None and name not in self.added:
            raise KeyError(name)
        if entry is None or not _may_load(entry):
            raise self._refused(name, entry)
        result = entry.load()
        return result

    def __iter__(self) -> Iterator[str]:
        yield from sorted({*self.own, *self.added, *self._installed()})

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in self.added or name in self._installed()

    def owner(self, name: str) -> str:
        """Whose word a kind is, as ``PACKAGE VERSION``; nothing for what is built in. Nothing is loaded.

        >>> Registry("shelf", "barrow.shelves", {"plain": "fractions:Fraction"}).owner("plain")
        ''
        """
        if name in self.own:
            return ""
        return package_of(self.added[name]) if name in self.added else _package(self._installed()[name])

    def _installed(self) -> dict[str, EntryPoint]:
        """The entry points of other packages; nothing is loaded."""
        from importlib.metadata import entry_points  # which takes long to load, and few names are not our own

        result: dict[str, EntryPoint] = {}
        for entry in entry_points(group=self.group):
            if entry.name not in self.own and result.setdefault(entry.name, entry).value != entry.value:
                raise ParameterError(
                    f"Two packages have a {self.what} {entry.name!r}: {_package(result[entry.name])} and "
                    f"{_package(entry)}.",
                    allowed="one package for each name",
                    fix="uninstall one of them",
                )
        return result

    def _refused(self, name: str, entry: EntryPoint | None) -> PluginError:
        owner = "this program" if entry is None else _package(entry)
        if entry is None or _USABLE.get() == "built in":
            allowed = f"in other people's cards and studies: {', '.join(sorted(self.own))}"
            fix = "ask whoever published it for one of these"
        else:
            allowed = "packages that you trust; a file that names one does not load it"
            fix = f"barrow --plugins … on the command line, or import {entry.module} in Python first"
        return PluginError(
            f"The {self.what} {name!r} is not built in. It belongs to {owner}, which was not loaded.",
            allowed=allowed,
            fix=fix,
        )


def _may_load(entry: EntryPoint) -> bool:
    which = _USABLE.get()
    return which == "installed" or (which == "imported" and entry.module in sys.modules)


def _package(entry: EntryPoint) -> str:
    return entry.module if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"


def package_of(kind: type) -> str:
    """Whose word a class is, as ``PACKAGE VERSION``; nothing for what is built in.

    >>> package_of(Registry), package_of(ParameterError)
    ('', '')
    """
    root = kind.__module__.partition(".")[0]
    if root == "barrow":
        return ""
    from importlib.metadata import entry_points

    entries = (entry for group in GROUPS for entry in entry_points(group=group))
    return next((_package(x) for x in entries if x.module.partition(".")[0] == root), f"{kind.__module__} (no version)")


def declared(what: str, owner: str, rests: str) -> list[str]:
    """What a plan, a statement and a ledger say of what is not built in; nothing where it has no other owner.

    >>> declared("space 'prefixes'", "prefixes 1.0", "its distances")  # doctest: +ELLIPSIS
    ["The space 'prefixes' is declared by prefixes 1.0, unproved: its distances are claims of that package, and ..."]
    """
    told = f"The {what} is declared by {owner}, unproved: {rests} are claims of that package, and if they are wrong,"
    return [f"{told} no promise of this statement holds."] if owner else []
