"""By which key a ledger knows a release, and the earlier release of the same question.

A default key is a digest of everything public about a release, the noise that was chosen included. Choices rest on
arithmetic that differs by a hair between processors, and by more between versions: what was asked does not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from barrow.errors import ParameterError
from barrow.ledger.state import Record
from barrow.planning.terms import Terms
from barrow.queries.query import plain
from barrow.questions import Answer, Question, declared_parts
from barrow.questions.question import asked_of, named_part, to_question
from barrow.questions.releasing import parameters
from barrow.study.about import ALL, About
from barrow.study.study import Study

_GIVEN = ("values", "matrix", "to")
"""Options that may be long tables: parameters hold them in the query."""
_CHOSEN = frozenset({"query", "noise", "scale", "grid", "constant", "strategy", "mechanism", "decode"})
"""Parameters that are chosen, and not asked."""
_COMPUTED = frozenset({"squares"})
"""What is asked by other parameters, and computed from them in floats."""
_OF_ALL = frozenset({"question", "query", "fraction", "delta", "squares"})
"""What a release of several questions together has otherwise than each of them."""
_ENDS = ("staged", "commit", "abandoned")


def parameters_of(study: Study, plan: Answer, about: About = ALL) -> dict[str, object]:
    """Every public number on which the distribution of the values depends, and which records they are about."""
    return _asked(study, plan.question, plan.terms, about, parameters(plan))


def _asked(
    study: Study, question: Question, terms: Terms, about: About, chosen: Mapping[str, object]
) -> dict[str, object]:
    """What was asked, of which records, at which terms, and what was chosen for it."""
    named = {} if study.data is None else study.data.named()
    if "source" in named:
        named["source"] = study.written(named["source"])
    others = declared_parts(question, terms.space)
    hidden = sorted({grouping.column for grouping in study.groups if grouping.hidden})
    request = {key: value for key, value in asked_of(question).items() if key not in _GIVEN}
    return {
        "dataset": study.dataset,
        **terms.to_spec(),
        "question": msgspec.json.decode(json.dumps(plain_deep(request), default=str)),
        **chosen,
        **({"declared": others} if others else {}),
        **about.to_spec(),
        **({"hidden": hidden} if hidden else {}),
        "data": named,
    }


def plain_deep(value: object) -> object:
    """Plain data of plain data and arrays, at any depth: written as text, long arrays would look alike."""
    if isinstance(value, Mapping):
        return {str(key): plain_deep(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_deep(item) for item in value]
    return plain(value)


def default_key(label: str, public: Mapping[str, object]) -> str:
    """What a release is called in a ledger where nobody names it.

    >>> default_key("mean", {"users": 3})
    'mean-7f94c498ed73c360'
    """
    return f"{label}-{public_digest(public)[:16]}"


def public_digest(data: Mapping[str, object]) -> str:
    """SHA-256 of plain data, in hexadecimal digits."""
    return hashlib.sha256(_line(data).encode()).hexdigest()


def _line(data: object) -> str:
    """Plain data as one text: the same before a ledger holds it and after."""
    return json.dumps(data, sort_keys=True)


@dataclass(frozen=True)
class AskedRelease:
    """What a ledger is asked for by no name, and how an earlier payment for the same question is found.

    Attributes:
        label: The name of the question.
        asked: The question, its terms and its records.
        part: The question as a part of one that asks several together.
        public: The same as ``asked`` with the noise that was chosen.
    """

    label: str
    asked: Mapping[str, object]
    part: Mapping[str, object]
    public: Mapping[str, object]

    @classmethod
    def of(cls, study: Study, plan: Answer, about: About) -> AskedRelease:
        """For a plan."""
        asked, public = _asked(study, plan.question, plan.terms, about, {}), parameters_of(study, plan, about)
        if any(name in asked_of(plan.question) for name in _GIVEN):
            asked["query"] = public.get("query")
        return cls(plan.question.label, asked, named_part(plan.question), public)

    @property
    def key(self) -> str:
        """The default key."""
        return default_key(self.label, self.public)

    def earlier(self, records: Sequence[Record]) -> Record | None:
        """The last payment for the same question under its own default key, whatever noise was chosen for it.

        A release that answered it together with others is one for it, too.

        Raises:
            ParameterError: It was not drawn, and its noise is not what is planned here.
        """
        asked = {name: _line(value) for name, value in self.asked.items()}
        for record in reversed(records):
            if record.kind != "reserve":
                continue
            known = record.data["parameters"]
            if record.data["question"] != self.label:
                if _is_part(self.part, asked, record):
                    self._refuse_unfinished(record, records)
                    return record
                continue
            alike = all(name in known and (name in _COMPUTED or _line(known[name]) == asked[name]) for name in asked)
            beside = known.keys() - asked.keys() <= _CHOSEN | self.public.keys()
            if alike and beside and record.data["key"] == default_key(self.label, known):  # nobody named it
                self._refuse_undrawn(record, records)
                return record
        return None

    def _refuse_unfinished(self, paid: Record, records: Sequence[Record]) -> None:
        if has_ended(paid, records):
            return
        names = ", ".join(paid_names(paid))
        raise ParameterError(
            f"The release {paid.data['key']!r} of several questions together ({names}) was paid for (entry {paid.seq} "
            "of the ledger) and interrupted before it was drawn.",
            allowed="the same command again, which finishes it and costs nothing more",
            fix=f"barrow release {names.replace(',', '')}; or --key with a new name, which is charged again",
        )

    def _refuse_undrawn(self, paid: Record, records: Sequence[Record]) -> None:
        if paid.data["key"] == self.key or has_ended(paid, records):
            return
        raise ParameterError(
            f"The release {paid.data['key']!r} was paid for (entry {paid.seq} of the ledger) and interrupted before it "
            "was drawn, with other noise than is planned here: another processor, or another version, chose it.",
            allowed="the same command where it was begun, which finishes it and costs nothing more",
            fix="go on there; or --key with a new name, which is charged again",
        )


def _is_part(part: Mapping[str, object], asked: Mapping[str, str], paid: Record) -> bool:
    """Whether a payment is for several questions together, by its own default key, and this one is among them."""
    known = paid.data["parameters"]
    several = known.get("question") if isinstance(known, Mapping) else None
    if not isinstance(several, Mapping) or several.get("kind") != "workload":
        return False
    if not known.keys() - asked.keys() <= _CHOSEN | _OF_ALL:  # it is about other records: a month, or groups
        return False
    alike = all(name in known and _line(known[name]) == asked[name] for name in asked.keys() - _OF_ALL)
    wanted = json.dumps(plain_deep(part), sort_keys=True, default=str)
    if not alike or wanted not in map(_line, several["parts"]):
        return False
    return bool(paid.data["key"] == default_key(paid.data["question"], known))  # nobody named it


def has_ended(paid: Record, records: Sequence[Record]) -> bool:
    """Whether what was paid for was drawn, or given up."""
    return any(other.data.get("reserve") == paid.seq for other in records if other.kind in _ENDS)


@dataclass(frozen=True)
class PaidBefore:
    """What a ledger has paid for a question.

    Attributes:
        alone: Whether it was ever paid for by itself, of any records.
        joint: The payment for it together with others, of these records; rather one that has ended.
        ended: Whether that was drawn or given up, and not interrupted before.
    """

    alone: bool
    joint: Record | None
    ended: bool


def paid_before(study: Study, question: Question, about: About, records: Sequence[Record]) -> PaidBefore:
    """What was paid for a question, by itself or together with others.

    No plan is made for it: what is asked, and not what was chosen, says so.
    """
    terms = study.terms(question, reads=about.window)
    asked = {name: _line(value) for name, value in _asked(study, question, terms, about, {}).items()}
    part, alone, joint, ended = named_part(question), False, None, False
    for record in records:
        if record.kind == "reserve" and record.data["question"] == question.label:
            known = record.data["parameters"]
            alone = alone or (isinstance(known, Mapping) and _line(known.get("question")) == asked["question"])
        elif record.kind == "reserve" and _is_part(part, asked, record):
            drawn = has_ended(record, records)
            joint, ended = (record, drawn) if drawn or not ended else (joint, ended)
    return PaidBefore(alone, joint, ended)


def paid_question(paid: Record) -> Question:
    """The question of a payment, with the fraction that it has."""
    known = paid.data["parameters"]
    return to_question({**known["question"], "name": paid.data["question"], "fraction": known["fraction"]})


def paid_text(paid: Record) -> str:
    """A payment's name, question and fraction as one text, whichever records it was for."""
    known = paid.data["parameters"]
    return _line([paid.data["question"], known["question"], known["fraction"]])


def paid_names(paid: Record) -> list[str]:
    """Which questions a payment for several of them is for; those without a name are called by their kind."""
    return [part.get("name", part["kind"]) for part in paid.data["parameters"]["question"]["parts"]]
