"""The forger: every field of a real statement of every kind changed, every file changed, added, removed.

A careless forger changes one thing. A careful one then repairs what can be repaired without the ledger: the digests in
the statement, and the words. With the ledger, or a head that its owner signed, both are found out. Without, a careful
one is found out where something else in the folder says otherwise; the other fields are for the owner to confirm, and
``verify`` names them.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
from msgspec import structs

import barrow as bw
from barrow.errors import BarrowError
from barrow.ledger.keys import SigningKey
from barrow.ledger.published import FILE as HEAD
from barrow.questions.statement import Statement
from barrow.study import Check
from barrow.study.folders import ReleaseFolder
from barrow.study.prose import statement_text
from barrow.study.restated import owner_only
from barrow.study.statement import STATEMENT_VERSION, statement_digest, write_statement

Step = str | int
Files = dict[str, bytes | None]
"""What is written over a real release; None for what is removed."""
Verifier = Callable[..., list[Check]]

_LINE = "line(low=0, high=10, step=1, unit='km', cells=True)"
_NUMBERS = {"uid": [1, 1, 2, 2, 3, 3], "x": [2, 3, 4, 5, 6, 7]}
_PLACES = {"uid": [1, 2, 3], "lat": [40.1, 40.5, 40.9], "lon": [-74.5, -74.0, -73.5]}
_WORDS = bw.Embedding(["a", "b", "c"], [[0.0, 1.0], [1.0, 0.0], [0.6, 0.8]])
_LETTERS = {"uid": [1, 2, 3], "x": ["a", "b", "c"]}
_FUNCTION = {"kind": "function", "values": list(range(10)), "unit": "kg", "lipschitz": "100"}
_SHARE_OF_PEOPLE = bw.Person(
    function="share", region={"center": 3, "radius": "2 km", "border": "1 km"}, above="1/2", ramp="1/3"
)
KINDS: dict[str, tuple[Any, dict[str, list[Any]], str, Any]] = {
    "mean": (_LINE, _NUMBERS, "2 km", "mean"),
    "distance": (_LINE, _NUMBERS, "2 km", "distance(to=3)"),
    "region": (_LINE, _NUMBERS, "2 km", "region(center=3, radius='2 km', ramp='1 km')"),
    "density": (_LINE, _NUMBERS, "2 km", "density(bandwidth='2 km')"),
    "function": (_LINE, _NUMBERS, "2 km", _FUNCTION),
    "histogram": (_LINE, _NUMBERS, "2 km", "histogram"),
    "items": (_LINE, _NUMBERS, "2 km", "items(items=2)"),
    "samples": (_LINE, _NUMBERS, "2 km", "items(samples=2)"),
    "frequency": (_LINE, _NUMBERS, "2 km", "frequency(items=2)"),
    "quantile": (_LINE, _NUMBERS, "2 km", "quantile(of='1/2')"),
    "spread": (_LINE, _NUMBERS, "2 km", "spread"),
    "person": (_LINE, _NUMBERS, "2 km", "person(function='radius')"),
    "share_of_people": (_LINE, _NUMBERS, "2 km", _SHARE_OF_PEOPLE),
    "user_level": (_LINE, _NUMBERS, "2 km", "mean(definition='user_level')"),
    "gaussian": (_LINE, _NUMBERS, "2 km", "density(bandwidth='2 km', noise='gaussian')"),
    "circular_mean": (
        "circle(period=24, unit='h', step=1)",
        {"uid": [1, 2, 3], "x": [1.5, 7.5, 9.5]},
        "2 h",
        "circular_mean",
    ),
    "similarity": (_WORDS, _LETTERS, "0.3", bw.Similarity(to=[[1.0, 0.0]])),
    "projection": (_WORDS, _LETTERS, "0.3", bw.Projection(matrix=[[1.0, 0.5]])),
    "map": ("earth(box=(40, -75, 41, -73), cell=30)", _PLACES, "20 km", "density(bandwidth='60 km')"),
}
"""A study for each kind of question: its space, its records, how far a promise goes, and the question."""


@dataclass(frozen=True)
class Case:
    """A real release with a head that its ledger's owner signed."""

    kind: str
    folder: Path
    ledger: bw.Ledger
    signer: str
    data: dict[str, Any]
    files: dict[str, bytes]

    @property
    def statement(self) -> Statement:
        """The statement."""
        return msgspec.convert(self.data, Statement)


@dataclass(frozen=True)
class Forgery:
    """What was changed, in which field (or file), and by whom; the files that are written over the real ones."""

    name: str
    field: str
    careful: bool
    files: Files


def released(kind: str, folder: Path) -> Case:
    """A release of one kind in a folder, with its ledger and the owner's key beside it."""
    space, records, distance, question = KINDS[kind]
    data = bw.read(records, user="uid", item=["lat", "lon"] if "lat" in records else "x")
    promises = [("all", distance, 9), ("1/2", distance, 7)]
    study = bw.Study(space, promises, users=3, dataset="people", data=data, delta="1e-6", questions=[question])
    ledger = bw.Ledger.create(folder / "people.ledger", study)
    place = study.release(study.questions[0], ledger=ledger, out=folder / "release").folder
    key = SigningKey.new(folder / "owner.key")
    ledger.publish(key).write(place / HEAD)
    files = {file.name: file.read_bytes() for file in place.iterdir()}
    return Case(kind, place, ledger, key.fingerprint, json.loads(files["statement.json"]), files)


def leaves(value: Any, path: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """The way to every value that is no table and no list, and to every empty one."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    results = list(inside)
    if not results:
        yield path
    for step, held in results:
        yield from leaves(held, (*path, step))


def others(value: Any) -> list[Any]:
    """Values that might be put in place of one."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, str(value), 0 if value else 7]
    if isinstance(value, float):
        return [value + 1.0, value / 2 - 1e-9, value * (1 + 1e-9) + 1e-300]
    if isinstance(value, str):
        return [f"{value} ", f"{value}0", ""]
    return [1] if value is None else [None]


def _put(text: Any, path: tuple[Step, ...], value: Any) -> Any:
    changed = copy.deepcopy(text)
    place = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return changed


def _without(text: Any, path: tuple[Step, ...]) -> Any:
    changed = copy.deepcopy(text)
    place = changed
    for step in path[:-1]:
        place = place[step]
    del place[path[-1]]
    return changed


def statement_files(data: dict[str, Any], careful: bool) -> Files:
    """The statement's files, written as barrow does; the careful forger mends digest and words as far as that goes."""
    try:
        built = msgspec.convert(data, Statement)
    except msgspec.ValidationError:
        return {"statement.json": json.dumps(data, indent=2, ensure_ascii=False).encode()}
    built = structs.replace(built, digest=statement_digest(built)) if careful and "digest" in data else built
    files: Files = {"statement.json": write_statement(built)}
    if careful:
        with suppress(BarrowError):
            files["statement.txt"] = (statement_text(built) + "\n").encode()
    return files


def forged_fields(case: Case, variants: int = 3) -> Iterator[Forgery]:
    """Every field changed, and removed; every number that a version can be; a field added."""
    for path, how, text in _changes(case.data, variants):
        for careful in (False, True):
            where = ".".join(map(str, path))
            field = ".".join(map(str, path[: 2 if path[0] == "answer" else 1]))
            yield Forgery(f"{case.kind}: {where} {how}", field, careful, statement_files(text, careful))


def _changes(data: dict[str, Any], variants: int) -> Iterator[tuple[tuple[Step, ...], str, dict[str, Any]]]:
    for path in leaves(data):
        held: Any = data
        for step in path:
            held = held[step]
        for new in others(held)[:variants]:
            yield path, f"→ {new!r}", _put(data, path, new)
        if variants > 1:
            yield path, "removed", _without(data, path)
    for version in (*range(-1, STATEMENT_VERSION), STATEMENT_VERSION + 1, 10**9, None, "1", True, 1.0):
        yield ("statement",), f"→ {version!r}", {**data, "statement": version}
    yield ("note",), "added", {**data, "note": "checked by the ministry"}


def forged_files(case: Case) -> Iterator[Forgery]:
    """Every file changed and removed, with and without its entry in the statement; files added."""
    listed = [file["name"] for file in case.data["files"]]
    for name, content in case.files.items():
        if name in ("statement.json", HEAD):
            continue
        for how, new in (("changed", content[:-2] + bytes([content[-2] ^ 1]) + content[-1:]), ("removed", None)):
            yield Forgery(f"{case.kind}: {name} {how}", name, False, {name: new})
            if name in listed:
                data = copy.deepcopy(case.data)
                rows = [row for row in data["files"] if new is not None or row["name"] != name]
                for row in rows:
                    if row["name"] == name and new is not None:
                        row["sha256"] = hashlib.sha256(new).hexdigest()
                data["files"] = rows
                yield Forgery(f"{case.kind}: {name} {how}", name, True, {name: new, **statement_files(data, True)})
    for name in ("values-corrected.csv", ".hidden", "statement.json.bak", "values.parquet.csv"):
        yield Forgery(f"{case.kind}: {name} added", name, False, {name: b"1"})
    yield Forgery(f"{case.kind}: statement.json removed", "statement.json", False, {"statement.json": None})


def forged_heads(case: Case) -> Iterator[Forgery]:
    """Every field of the signed head changed, and the file cut off."""
    content = case.files[HEAD]
    text = json.loads(content)
    for path in leaves(text):
        held = text[path[0]] if len(path) == 1 else text[path[0]][path[1]]
        for new in others(held):
            changed = _put(text, path, new)
            yield Forgery(f"{case.kind}: head {path[0]} → {new!r}", HEAD, False, {HEAD: json.dumps(changed).encode()})
        yield Forgery(f"{case.kind}: head {path[0]}", HEAD, False, {HEAD: json.dumps(_without(text, path)).encode()})
    for length in range(0, len(content) - 1, 37):
        yield Forgery(f"{case.kind}: head of {length} bytes", HEAD, False, {HEAD: content[:length]})


def noticed(case: Case, forgery: Forgery, verifier: Verifier = bw.verify, **typed: Any) -> bool:
    """Whether the verifier says that something is wrong with the forged folder.

    What could help it by chance is taken away: the tables where a field was forged, the numbers where the ledger or a
    signature must do, the head where nothing is typed. So nothing is noticed here that would not be otherwise.
    """
    bare: Files = {} if typed or forgery.field == HEAD else {HEAD: None}
    with ExitStack() as stack:
        for name, content in (bare | forgery.files).items():
            file = case.folder / name
            stack.callback(file.write_bytes, case.files[name]) if name in case.files else stack.callback(file.unlink)
            file.unlink(missing_ok=True) if content is None else file.write_bytes(content)
        if typed or forgery.field not in case.files:
            stack.enter_context(patch.object(ReleaseFolder, "disagreeing", lambda self: []))
        if typed:
            stack.enter_context(patch("barrow.study.verification.contradictions", lambda text, recorded: []))
        try:
            return any(check.holds is False for check in verifier(case.folder, **typed))
        except BarrowError:
            return True


def unseen(
    case: Case, forgeries: Iterable[Forgery], verifier: Verifier = bw.verify, *, heads: bool = True
) -> tuple[int, list[str]]:
    """How many folders were forged, and those that should have been noticed and were not.

    Without a ledger every change must be but a careful forger's of what the owner alone can confirm. With the ledger,
    or a signed head, the careful forger must be noticed whatever was changed; so must the careless one, who does less.
    """
    number, missed = 0, []
    own = {*owner_only(case.statement), "note", *case.files}
    for forgery in forgeries:
        if all(content == case.files.get(name) for name, content in forgery.files.items()):
            continue  # the careful forger repaired it
        number += 1
        ways: dict[str, dict[str, Any]] = {}
        if forgery.careful or forgery.field in case.files:
            ways["with the ledger"] = {"ledger": case.ledger}
            ways |= {"with a signed head": {"signer": case.signer}} if heads else {}
        if not forgery.careful or forgery.field not in own:
            ways["without the ledger"] = {}
        believed = [way for way, typed in ways.items() if not noticed(case, forgery, verifier, **typed)]
        missed += [f"{forgery.name}, {way}" for way in believed]
    return number, missed


def weak(folder: Path, **typed: Any) -> list[Check]:
    """A verifier that believes the statement: it asks neither the ledger nor a signature."""
    return [check for check in bw.verify(folder, **typed) if check.what not in ("ledger", "head")]


def run(
    kinds: Iterable[str] = KINDS, variants: int = 1, verifier: Verifier = bw.verify, *, every: int = 1
) -> dict[str, Any]:
    """All forgeries of all kinds, or every so-manieth: how many there were, and how many were believed."""
    number: Counter[str] = Counter()
    missed: list[str] = []
    for kind in kinds:
        with tempfile.TemporaryDirectory() as name:
            case = released(kind, Path(name))
            for built in (forged_fields(case, variants), forged_files(case), forged_heads(case)):
                tried, result = unseen(case, itertools.islice(built, 0, None, every), verifier)
                number[kind] += tried
                missed += result
    return {"forgeries": sum(number.values()), "undetected": len(missed), "believed": missed[:20]}
