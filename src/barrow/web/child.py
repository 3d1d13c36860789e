"""What touches records, in a process of its own: ``python -m barrow.web.child``.

It reads orders from its standard input, one JSON object a line, and answers on its standard output likewise. Only
names of columns, names of stages, published files and errors that may be shown leave it; its standard error is closed,
because a traceback may hold values. When its standard input ends, whoever asked is gone: before the payment it stops.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from barrow.engines import Source, engine_for
from barrow.errors import BarrowError, ParameterError
from barrow.ledger import Ledger
from barrow.questions import Question
from barrow.registry import usable
from barrow.render import plot
from barrow.render.report.series import series_figure
from barrow.study import Release, Study
from barrow.study.about import About, release_folder
from barrow.study.keys import parameters_of
from barrow.study.parts import Series, plan_parts
from barrow.study.release import run_release


class Cancelled(BaseException):
    """The release was called off before it was paid for."""


class Child:
    """Releases one after the other, of which each can be called off until it is paid for."""

    def __init__(self, say: Any) -> None:
        self._say, self._lock = say, threading.Lock()
        self._paid = self._off = False
        self._more = False

    def begin(self, name: str, number: int, of: int) -> None:
        """The next release of several, which is not paid for yet."""
        with self._lock:
            if self._off:
                raise Cancelled
            self._paid, self._more = False, number < of
            self._say({"event": "part", "name": name, "number": number, "of": of})

    def stage(self, name: str) -> None:
        """A stage begins; the first that pays is the last that can be called off."""
        with self._lock:
            if self._off and not self._paid:
                raise Cancelled
            self._paid = self._paid or name not in ("validate", "read")
            self._say({"event": "stage", "stage": name})

    def cancel(self, interrupt: Any) -> None:
        """Call the release off, and those after it; or only these where it is paid for, or say that it is too late."""
        with self._lock:
            self._off = self._off or not self._paid or self._more
            if self._paid:
                self._say({"event": "after" if self._more else "late"})
                return
            self._say({"event": "cancelling"})
            interrupt()


def columns(source: str) -> dict[str, str]:
    """Names and kinds of the columns of a source; no record is read."""
    result = Source.parse(source)
    return dict(engine_for(result).columns(result))


def released(file: Path, label: str, period: str | None, child: Child) -> dict[str, Any]:
    """Release one question of a study file beside it, and say what was published.

    Args:
        file: The study.
        label: The question's name.
        period: Which periods, in a study that has them; one release for each.
        child: Who is told the stages.
    """
    study = Study.read(file)
    question = study.question(label)
    ledger = study.ledger
    if ledger is None:
        raise BarrowError("The study names no ledger.", fix="save the study once more")
    child.stage("validate")
    Ledger.join(ledger, study)
    results: list[Release] = []
    listed = study.abouts(question, period if study.calendar is not None else None)
    wanted = [
        (series, about) for series in (Series(study, question, each) for each in listed) for about in series.abouts
    ]
    names = [" ".join(word for word in (_period_of(about), _group_of(about)) if word) for _, about in wanted]
    try:
        for number, (series, about) in enumerate(wanted, start=1):
            if len(wanted) > 1:
                child.begin(names[number - 1], number, len(wanted))
            place = release_folder(question, about) if study.calendar is not None else _place(study, question, about)
            results.append(
                run_release(
                    study, question, ledger=ledger, out=place, stages=child.stage, about=about, series=series
                )
            )  # fmt: skip
    except (Cancelled, KeyboardInterrupt):
        if not results:
            raise
    last = results[-1]
    report = last.folder / "report.html"
    return {
        "folder": ", ".join(str(result.folder) for result in results),
        "left": names[len(results) :],
        "files": sorted(path.name for path in last.folder.iterdir()),
        "summary": _lines(results, [_period_of(about) for _, about in wanted]),
        "statement": last.text,
        "entry": None if last.statement.ledger is None else last.statement.ledger.entry,
        "report": str(report.resolve()) if report.is_file() else None,
        "figure": _figure(results, _earlier(question, results) if study.calendar is not None else []),
    }


def _lines(results: Sequence[Release], periods: Sequence[str]) -> list[str]:
    """What was released, line by line; of several releases each line begins with its period."""
    told = zip(results, periods, strict=False) if len(results) > 1 else [(result, "") for result in results]
    return [f"{period}: {line}" if period else line for result, period in told for line in result.summary]


def _period_of(about: About) -> str:
    return "" if about.window is None else about.window.text


def _group_of(about: About) -> str:
    return "" if about.grouping is None else f"by {about.grouping.name}"


def _earlier(question: Question, results: Sequence[Release]) -> list[Release]:
    """What was released of the same question about other periods, beside it."""
    known = {result.folder.resolve() for result in results}
    places = sorted(path for path in Path("release").glob(f"*/{question.label}") if path.resolve() not in known)
    found = []
    for place in places:
        with suppress(BarrowError, OSError):
            found.append(Release.read(place))
    return found


def _figure(results: Sequence[Release], earlier: Sequence[Release]) -> str | None:
    """What was released, drawn: values with noise only. A series is drawn whole."""
    with suppress(ParameterError):
        drawn = series_figure([*earlier, *results]) or plot(results[-1])
        return None if drawn is None else drawn.svg
    return None


def _place(study: Study, question: Question, about: About) -> Path:
    """``release/NAME`` where it is free or holds this very release, else ``release/NAME-2`` and so on."""
    wanted: Any = None
    first = release_folder(question, about)
    for k in count(1):
        place = first if k == 1 else first.with_name(f"{first.name}-{k}")
        if not place.exists():
            break
        with suppress(OSError, ValueError):
            statement = msgspec.json.decode((place / "statement.json").read_bytes(), type=dict[str, Any])
            if wanted is None:
                plan = plan_parts(study, question, about).plan
                wanted = msgspec.json.decode(json.dumps(parameters_of(study, plan, about)))
            if statement.get("parameters") == wanted:
                break
    return place


def _say(message: dict[str, Any]) -> None:
    with suppress(OSError, ValueError):  # nobody listens any more: what is paid for is finished all the same
        print(json.dumps(message, ensure_ascii=True), flush=True)


def _listen(child: Child) -> None:
    """Orders that come while a release runs; the end of them is one to stop."""

    def interrupt() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    for line in sys.stdin:
        if line.strip() == "cancel":
            child.cancel(interrupt)
    child.cancel(interrupt)


def main() -> None:
    """Answer one order."""
    order = json.loads(sys.stdin.readline())  # not by msgspec, which refuses lone surrogates: paths may hold one
    try:
        if order["do"] == "columns":
            _say({"event": "done", "columns": columns(str(order["source"]))})
            return
        child = Child(_say)
        threading.Thread(target=_listen, args=(child,), daemon=True).start()
        _say({"event": "done", **released(Path(order["file"]), str(order["question"]), order.get("period"), child)})
    except BarrowError as error:
        _say({"event": "error", **error.to_json()})
    except (Cancelled, KeyboardInterrupt):
        _say({"event": "cancelled"})
    except BaseException as error:  # the text of an unknown error may hold values: only its kind is told
        _say({"event": "error", "problem": f"It failed: {type(error).__name__}.", "fix": "barrow release says more"})


if __name__ == "__main__":
    with usable("installed"):  # whoever looks at the page runs their own study
        main()
