"""Our dataclasses against those of the standard library: every class of the package, and odd ones, built both ways."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar  # noqa: F401 (the standard library looks for it in the module of a class)

import pytest

from barrow import _dataclass

ALL = """
import dataclasses, inspect, pkgutil, sys
from importlib import import_module
from barrow import _dataclass

if sys.argv[1] == "standard":
    _dataclass.dataclass = dataclasses.dataclass
import barrow

for found in pkgutil.walk_packages(barrow.__path__, "barrow."):
    if "__main__" not in found.name:
        try:
            import_module(found.name)
        except ImportError:
            pass
for name, module in sorted(sys.modules.items()):
    for key, cls in sorted(vars(module).items()) if name.startswith("barrow") else ():
        if inspect.isclass(cls) and cls.__module__ == name and "__dataclass_fields__" in vars(cls):
            fields = [
                (f.name, f.type, f.kw_only, f.compare, f.repr, f.init, str(f.default)[:30])
                for f in dataclasses.fields(cls)
            ]
            own = [each for each in ("__init__", "__repr__", "__eq__", "__hash__", "__setattr__") if each in vars(cls)]
            print(name, key, inspect.signature(cls.__init__), fields, own, cls.__hash__ is None, cls.__match_args__)
"""

ODD = '''
import math
from dataclasses import field
from pathlib import Path
from typing import ClassVar

@dataclass(frozen=True)
class Base:
    kind: ClassVar[str] = "base"
    x: int
    y: float = 0.5
    def double(self): return 2 * self.x

@dataclass(frozen=True, kw_only=True)
class Derived(Base):
    z: list = field(default_factory=list, compare=False)
    seen: int = field(default=3, repr=False)

@dataclass(frozen=True, eq=False)
class ByIdentity(Base):
    w: str = "w"

@dataclass(frozen=True, repr=False)
class Silent:
    a: object = None
    def __repr__(self): return "silent"

@dataclass(frozen=True)
class Checked:
    a: int
    b: int = field(init=False, default=7)
    c: list = field(init=False, default_factory=list)
    def __post_init__(self):
        if self.a < 0: raise ValueError("below 0")

@dataclass(frozen=True)
class OwnEquality:
    a: int
    def __eq__(self, other): return True

@dataclass(frozen=True)
class OwnHash:
    a: int
    def __hash__(self): return 5

@dataclass(frozen=True, init=False)
class OwnInit:
    a: int
    def __init__(self, twice): object.__setattr__(self, "a", twice // 2)

@dataclass(frozen=True)
class Empty:
    pass

class Loose(Base):
    """No dataclass: may keep other values."""

NAN = math.nan
TRIED = [
    lambda: Base(1), lambda: Base(1, 2.0), lambda: Base(x=3), lambda: Derived(1, seen=4), lambda: Derived(1, z=[1]),
    lambda: ByIdentity(1), lambda: Silent([1]), lambda: Checked(2), lambda: OwnEquality(1), lambda: OwnHash(1),
    lambda: OwnInit(4), lambda: Empty(), lambda: Loose(1), lambda: Base(NAN), lambda: Base(x=Base(1)),
    lambda: Base(), lambda: Base(1, 2, 3), lambda: Derived(1, 2, []), lambda: Checked(-1), lambda: Base(1, q=2),
]
'''


def built(dataclass):
    """The odd classes, made by one of both."""
    scope = {"dataclass": dataclass, "__name__": __name__}
    exec(compile(ODD, "odd", "exec", flags=__import__("__future__").annotations.compiler_flag), scope)
    return scope


def said(work):
    """What comes of it, or how it is refused."""
    try:
        return work()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def behaviour(scope):
    """All that can be seen of values of these classes."""
    for make in scope["TRIED"]:
        value = said(make)
        yield value if isinstance(value, str) else repr(value)
        if isinstance(value, str):
            continue
        yield said(lambda value=value: setattr(value, "x", 1)), said(lambda value=value: delattr(value, "a"))
        yield said(lambda value=value: setattr(value, "other", 1)), sorted(vars(value))
        yield said(lambda value=value, make=make: value == make()), value == 1, value == copy.copy(value)
        yield said(lambda value=value: hash(value) if type(value).__name__ != "ByIdentity" else "by identity")
        yield str(said(lambda value=value: dataclasses.replace(value, y=3.5))), str(dataclasses.asdict(value))
        yield type(value).__match_args__, str(inspect.signature(type(value)))
        yield [type(value) is type(other) and value == other for other in map(said, scope["TRIED"])]


def test_every_class_of_the_package_is_as_the_standard_library_makes_it():
    ours, theirs = (
        subprocess.run([sys.executable, "-W", "ignore", "-c", ALL, kind], capture_output=True, text=True, check=True)
        for kind in ("ours", "standard")
    )
    assert ours.stdout == theirs.stdout
    assert len(ours.stdout.splitlines()) > 300


def test_values_behave_as_those_of_the_standard_library():
    ours, theirs = list(behaviour(built(_dataclass.dataclass))), list(behaviour(built(dataclasses.dataclass)))
    assert ours == theirs
    assert len(ours) > 80


@pytest.mark.parametrize("first", [_dataclass.dataclass, dataclasses.dataclass])
@pytest.mark.parametrize("second", [_dataclass.dataclass, dataclasses.dataclass])
def test_either_kind_derives_from_the_other(first, second):
    @first(frozen=True)
    class Base:
        x: int

    @second(frozen=True)
    class Derived(Base):
        y: int = 2

    assert repr(Derived(1)).endswith("Derived(x=1, y=2)")
    assert Derived(1) == dataclasses.replace(Derived(5), x=1)
    assert Derived(1) != Base(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Derived(1).x = 2


@_dataclass.dataclass(frozen=True)
class Sent:
    """A value that another process makes."""

    x: int
    y: tuple[int, ...] = ()


def test_values_that_no_init_made_are_frozen_and_compare():
    value = object.__new__(Sent)
    value.__dict__.update(x=1, y=(2,))
    assert value == pickle.loads(pickle.dumps(Sent(1, (2,))))
    assert {value: 1}[Sent(1, (2,))] == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        value.x = 3


def test_threads_may_make_the_first_value_at_once():
    for _ in range(200):
        scope = built(_dataclass.dataclass)
        with ThreadPoolExecutor(4) as pool:
            assert len(set(pool.map(lambda i, scope=scope: scope["Base"](1), range(8)))) == 1


def test_what_can_change_is_left_to_the_standard_library():
    with pytest.raises(TypeError, match="only frozen"):
        _dataclass.dataclass(frozen=False)
    with pytest.raises(ValueError, match="default_factory"):

        @_dataclass.dataclass(frozen=True)
        class _Wrong:
            x: list = []  # noqa: RUF012


def test_the_package_takes_ours_wherever_nothing_changes():
    slow = [
        path.name
        for path in Path(_dataclass.__file__).parent.rglob("*.py")
        if (
            re.search(r"^from dataclasses import .*\bdataclass\b", text := path.read_text(), re.M)
            and re.search(r"^@dataclass\(.*frozen", text, re.M)
        )
        or re.search(r"^@dataclasses\.dataclass\((?=.*frozen)(?!.*order)", text, re.M)
    ]
    assert slow == []
