"""Frozen dataclasses that load quickly.

The standard library writes and compiles six functions for each class, and a command loads some 240 classes: that took a
quarter of its time. Here methods are closures, and only ``__init__`` is compiled, when it is first asked for. Values
look, compare and refuse as those of the standard library do, either kind of class may derive from the other, and type
checkers read the standard library's. A test builds every class both ways.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from operator import attrgetter
from reprlib import recursive_repr
from types import MethodType, SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, frozen, eq=True, repr=True, init=True, kw_only=False):
        """A frozen dataclass; what may change or has an order is made by the standard library.

        >>> @dataclass(frozen=True)
        ... class Point:
        ...     x: int
        ...     y: int = 0
        >>> Point(1), Point(1) == Point(1, 0), Point(y=2, x=1)
        (Point(x=1, y=0), True, Point(x=1, y=2))
        >>> Point(1).x = 2
        Traceback (most recent call last):
        dataclasses.FrozenInstanceError: cannot assign to field 'x'
        """
        if frozen is not True:
            raise TypeError("only frozen dataclasses are made here")

        def made(cls):
            found = _fields(cls, kw_only)
            cls.__dataclass_fields__ = found
            cls.__dataclass_params__ = SimpleNamespace(
                init=init, repr=repr, eq=eq, order=False, unsafe_hash=False, frozen=True, kw_only=kw_only
            )
            names = {"__match_args__": tuple(f.name for f in found.values() if f.init and not f.kw_only)}
            if init:
                names["__init__"] = _Init(cls)
            if repr:
                names["__repr__"] = _repr([name for name, f in found.items() if f.repr])
            if eq:
                names |= _comparison([name for name, f in found.items() if f.compare])
            for name, value in names.items():
                if cls.__dict__.get(name) is None:  # who writes __eq__ has None for __hash__
                    setattr(cls, name, value)
            cls.__setattr__, cls.__delattr__ = _refusals(cls)
            return cls

        return made


def _fields(cls: type, kw_only: bool) -> dict[str, dataclasses.Field[Any]]:
    """The fields of a class, those of its bases first."""
    found: dict[str, dataclasses.Field[Any]] = {}
    for base in cls.__mro__[-1:0:-1]:
        found |= getattr(base, "__dataclass_fields__", {})
    for name, kind in vars(cls).get("__annotations__", {}).items():
        if kind.startswith(("ClassVar", "typing.ClassVar")):
            continue
        default = getattr(cls, name, dataclasses.MISSING)
        made: dataclasses.Field[Any] = default if isinstance(default, dataclasses.Field) else _field(default)
        if default is made:
            if made.default is dataclasses.MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, made.default)
        if type(made.default).__hash__ is None:
            raise ValueError(f"the default of {name} can change: use a default_factory")
        made.name, made.type, made._field_type = name, kind, dataclasses._FIELD  # type: ignore[attr-defined]
        if made.kw_only is dataclasses.MISSING:
            made.kw_only = kw_only
        found[name] = made
    return found


def _field(default: Any) -> dataclasses.Field[Any]:
    made: dataclasses.Field[Any] = dataclasses.field(default=default)
    return made


def _values(names: Sequence[str]) -> Callable[[object], tuple[object, ...]]:
    """What gets the values of some attributes."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


def _repr(names: Sequence[str]) -> Callable[[object], str]:
    @recursive_repr()
    def shown(self: object) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return shown


def _comparison(names: Sequence[str]) -> dict[str, Callable[..., object]]:
    values = _values(names)

    def equal(self: object, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: object) -> int:
        return hash(values(self))

    return {"__eq__": equal, "__hash__": hashed}


def _refusals(cls: type) -> tuple[Callable[[object, str, object], None], Callable[[object, str], None]]:
    """Fields cannot be set; subclasses that are no dataclasses may keep other values."""
    fields: dict[str, object] = cls.__dict__["__dataclass_fields__"]

    def set_none(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in fields:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)  # type: ignore[arg-type]

    def delete_none(self: object, name: str) -> None:
        if type(self) is cls or name in fields:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)  # type: ignore[arg-type]

    return set_none, delete_none


class _Factory:
    """Stands in a signature for a value that is made."""

    def __repr__(self) -> str:
        return "<factory>"


class _Init:
    """``__init__`` of a class: compiled when it is first asked for, and from then on a plain function."""

    def __init__(self, home: type) -> None:
        self._home = home

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., None]:
        written = _written(self._home)
        setattr(self._home, "__init__", written)  # noqa: B010 (mypy refuses to assign to it)
        return written if instance is None else MethodType(written, instance)


def _written(cls: type) -> Callable[..., None]:
    """The function that sets all fields, with a signature that people can read."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_missing": _Factory()}
    plain: list[str] = []
    named: list[str] = []
    body: list[str] = []
    for field in dataclasses.fields(cls):
        name = field.name
        made = field.default_factory is not dataclasses.MISSING
        known |= {f"_default_{name}": field.default, f"_factory_{name}": field.default_factory}
        if field.init:
            default = f"=_{'missing' if made else f'default_{name}'}"
            (named if field.kw_only else plain).append(
                f"{name}{default if made or field.default is not dataclasses.MISSING else ''}"
            )
            body.append(
                f"_set(self, {name!r}, {f'_factory_{name}() if {name} is _missing else ' if made else ''}{name})"
            )
        elif made:
            body.append(f"_set(self, {name!r}, _factory_{name}())")
    body += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    parts = ", ".join(["self", *plain, *(["*", *named] if named else [])])
    lines = "\n  ".join(body or ["pass"])
    text = f"def _make({', '.join(known)}):\n def __init__({parts}):\n  {lines}\n return __init__"
    scope: dict[str, Any] = {}
    exec(text, vars(sys.modules[cls.__module__]), scope)  # noqa: S102 (the names are those of the class)
    made_init: Callable[..., None] = scope["_make"](**known)
    made_init.__qualname__ = f"{cls.__qualname__}.__init__"
    made_init.__annotations__ = {f.name: f.type for f in dataclasses.fields(cls) if f.init} | {"return": None}
    return made_init
