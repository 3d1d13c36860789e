"""The formats that others keep, written out: ``scripts/golden --write`` writes these files anew.

A format changes only with its version number, its golden file and a line in CHANGELOG.md, in one commit. Ledgers are
written once for each version of their records and never again: they stay readable, and their folders verify.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

import barrow as bw
from barrow.collect.batches import _VERSION as SEALED_VERSION
from barrow.collect.card_form import CARD_VERSION
from barrow.collect.client_budget import _VERSION as WALLET_VERSION
from barrow.ledger import Ledger, PromiseLimit, Promises, SpaceRef
from barrow.ledger.approvals import APPROVAL_VERSION, Approval, Approver, ProposedRelease, Quorum, release_digest
from barrow.ledger.published import VERSION as HEAD_VERSION
from barrow.ledger.state import RECORD_VERSION, make_row
from barrow.local.client import SURVEY_VERSION
from barrow.local.memory import MEMORY_VERSION
from barrow.local.mixing import _VERSION as BATCH_VERSION
from barrow.local.report import REPORT_VERSION, Report, message_of
from barrow.promises.events import EVENT_VERSION
from barrow.promises.periods import Calendar, Period, Window
from barrow.questions.statement import LedgerEntry, SoFar
from barrow.spaces import NoRecords
from barrow.study.about import ALL, About
from barrow.study.data import read
from barrow.study.keys import parameters_of
from barrow.study.parts import Series, plan_parts, with_parts
from barrow.study.proposal import PROPOSAL_VERSION, propose
from barrow.study.prose import explain, statement_text
from barrow.study.statement import STATEMENT_VERSION, make_statement
from tests.fuzz.forgeries import KINDS
from tests.ledger.helpers import Clock, signing_key
from tests.study.test_schemas import EXAMPLES

FOLDER = Path(__file__).parent / "files"
SPACES = (
    "line(low=0, high=10, step=1, unit='km')", "line(low=0, high=10, step=1, unit='km', cells=True)", "hours", "week",
    "earth(box=(40, -75, 41, -73), cell=30)", "discrete(labels=['a', 'b', 'c'])", "clustered(shape=[3, 4], r=0.1)",
    "scale(answers=['never', 'sometimes', 'often'])",
)  # fmt: skip


def digests() -> str:
    """What names spaces in statements and ledgers, and studies on phones."""
    result = {text: bw.Study(text, alpha=1).space.digest for text in SPACES}
    result["no records"] = NoRecords(bw.Line(0, 10, step=1)).digest
    return _json(result)


def versions() -> str:
    """The number of every format."""
    return _json(
        {
            "ledger record": RECORD_VERSION, "statement": STATEMENT_VERSION, "event": EVENT_VERSION,
            "signed head": HEAD_VERSION, "card": CARD_VERSION, "survey": SURVEY_VERSION, "report": REPORT_VERSION,
            "batch": BATCH_VERSION, "sealed batch": SEALED_VERSION, "memory": MEMORY_VERSION, "wallet": WALLET_VERSION,
            "approval": APPROVAL_VERSION,
            "proposal": PROPOSAL_VERSION,
        }
    )  # fmt: skip


def events() -> str:
    """Every kind of event as ledgers and statements hold it."""
    return _json([event.to_json() for event in EXAMPLES])


def wires() -> str:
    """A report, a message and a record as they are written."""
    study = "sha256:" + "0" * 64
    stamped: dict[str, Any] = {"when": "2026-10-15T19:02:00Z", "who": "ana", "barrow": "0.1.0"}
    record = make_row(None, "abandoned", {"reserve": 2}, **stamped)
    report = Report(study, "0" * 32, (5, -3)).to_text()
    return _json({"report": report, "message": message_of(study, 3, 10), "record": record.body, "hash": record.hash})


def statement(kind: str) -> tuple[str, str]:
    """A statement of one kind as data and in words; nothing is drawn for it."""
    space, records, distance, question = KINDS[kind]
    data = read(records, user="uid", item=["lat", "lon"] if "lat" in records else "x", version="golden")
    promises = [("all", distance, 9), ("1/2", distance, 7)]
    study = bw.Study(space, promises, users=3, dataset="people", data=data, delta="1e-6", questions=[question])
    plan = study.plan()
    entry = LedgerEntry(entry=2, key="golden", ledger="people.ledger")
    result = make_statement(study, plan, entry=entry, parameters=parameters_of(study, plan), summary=["golden"])
    result = msgspec.structs.replace(result, library="barrow")  # whose number changes with every release
    words = f"{statement_text(result)}\n\n{explain(result)}\n"
    return _json(_rounded(msgspec.to_builtins(result))), words


def statement_of_parts() -> tuple[str, str]:
    """A statement about one month, by region, as data and in words."""
    records = {"uid": [1, 2, 3, 4], "x": [20.0, 30.0, 40.0, 50.0], "region": ["n", "n", "s", "s"], "at": ["x"] * 4}
    data = read(records, user="uid", item="x", version="golden", time="at", period="month", zone="Europe/Berlin")
    promises = ["1/2, 5 years, 4, in any month", "1/2, 5 years, 36, in every month"]
    regions = bw.Grouping("region", sizes={"n": 2, "s": 2})
    study = bw.Study(
        "line(low=0, high=100, step=10, unit='years')", promises, users=4, dataset="people", data=data,
        questions=["mean(by='region')"], groups=[regions], periods=12,
    )  # fmt: skip
    about = About(Window.parse("2026-10"), regions)
    parts = plan_parts(study, study.question(), about)
    entry = LedgerEntry(entry=5, key="golden", ledger="people.ledger")
    parameters = parameters_of(study, parts.stated, about)
    result = make_statement(study, parts.plan, entry=entry, parameters=parameters, summary=["golden"])
    total = SoFar(changed="in every month a share of 1/2 of the data had been 5 years elsewhere", epsilon=9.0, odds=1.0)
    result = with_parts(msgspec.structs.replace(result, library="barrow"), study, parts, (3, [total]))
    words = f"{statement_text(result)}\n\n{explain(result)}\n"
    return _json(_rounded(msgspec.to_builtins(result))), words


TEXTS: dict[str, Callable[[], str]] = {
    "digests.json": digests, "versions.json": versions, "events.json": events, "wires.json": wires,
}  # fmt: skip


def write_ledger(place: Path) -> None:
    """A ledger with a record of every kind, and the folder of a release that it paid for."""
    people = read({"uid": [1, 2, 3], "age": [20, 30, 40]}, user="uid", item="age", version="golden")
    ages, text = "line(low=0, high=100, step=10, unit='years')", "mean(fraction='1/8')"
    study = bw.Study(ages, ["all, 5 years, 4"], users=3, dataset="ages", data=people, ledger="ages.ledger")
    clock = Clock(2026, 10, 15)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        keys = {name: signing_key(number) for number, name in enumerate(("ana", "bo"), 1)}
        quorum = Quorum([Approver(name, key.public) for name, key in keys.items()], 2)
        ledger = Ledger.create(path / "ages.ledger", _monthly(study), clock=clock, approval=quorum)
        proposal = propose([(Series(study, study.question(text), [ALL]), ALL)], ledger=ledger, now=clock())
        for name, key in keys.items():
            ledger.accept(proposal.approve(by=name, key=key, now=clock()))
        study.release(text, ledger=ledger, out=path / "mean")
        plan, october = study.plan(text), Window((Period.parse("2026-10"),))
        wanted: dict[str, dict[str, Any]] = {
            key: {
                "event": plan.event, "guarantee": plan.guarantee, "space": SpaceRef.of(plan.terms.space),
                "dataset": "ages", "users": 3, "parameters": {"key": key}, "reads": reads,
                "groups": {"region": (region,)},
            }
            for key, reads, region in (("given up", october, "north"), ("resumed", None, "south"))
        }  # fmt: skip
        asked = [release_digest(ledger.proposed(**paid)) for paid in wanted.values()]
        named = [ProposedRelease(key, [], digest) for key, digest in zip(wanted, asked, strict=True)]
        times = {"expires": "2026-12-31T23:59:59Z", "signed": "2026-10-15T00:00:00Z"}
        for name, key in keys.items():
            ledger.accept(Approval.sign(ledger.name, "sha256:" + "0" * 64, named, by=name, key=key, **times))
        paid = {
            key: ledger.reserve(key=key, what=plan.description, resumable=True, **asked)
            for key, asked in wanted.items()
        }
        ledger.freeze("golden", by="ana", key=keys["ana"])
        for name, key in keys.items():
            ledger.unfreeze(by=name, key=key)
        ledger.abandon(paid["given up"])
        ledger.resume("resumed", {"key": "resumed"}, folder="elsewhere")
        tighter = study.replace(promises=["all, 5 years, 3.9"])
        Ledger.join(path / "ages.ledger", _monthly(tighter), tighten=True, clock=clock)
        for name, key in keys.items():
            ledger.change_approvers(Quorum(quorum.approvers, 1), by=name, key=key)
        shutil.copytree(path, place)


def _monthly(study: bw.Study) -> bw.Budget:
    own = study.budget
    monthly = [*own.promises, PromiseLimit(1, 5, 4, scope="any month")]
    limit, groups = Promises(monthly, own.limit.delta), {"region": {"north": 1, "south": 2}}
    calendar = Calendar("month", "UTC")
    return bw.Budget(own.dataset, own.users, str(own.metric), limit, calendar=calendar, groups=groups)


def _rounded(value: Any) -> Any:
    """Numbers to six digits: the last ones hang on the machine."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _rounded(held) for name, held in value.items()}
    return [_rounded(held) for held in value] if isinstance(value, list | tuple) else value


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def current() -> dict[str, str]:
    """Every golden text as this barrow writes it."""
    result = {name: make() for name, make in TEXTS.items()}
    for kind in KINDS:
        result[f"statements/{kind}.json"], result[f"statements/{kind}.txt"] = statement(kind)
    result["statements/month_by_region.json"], result["statements/month_by_region.txt"] = statement_of_parts()
    return result


def main() -> None:
    """Compare, or write with ``--write``."""
    wanted = current()
    changed = [
        name
        for name, text in wanted.items()
        if not (FOLDER / name).is_file() or (FOLDER / name).read_text(encoding="utf-8") != text
    ]
    if "--write" in sys.argv:
        for name in changed:
            (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
            (FOLDER / name).write_text(wanted[name], encoding="utf-8")
        place = FOLDER / "ledgers" / str(RECORD_VERSION)
        if not place.exists():
            write_ledger(place)
    print(json.dumps({"golden": len(wanted), "changed": changed}))


if __name__ == "__main__":
    main()
