"""The routes of the page, and who works on what: quick things at once, slow ones one by one, and the newest wins."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from barrow.errors import BarrowError, ParameterError
from barrow.numerics.exact import at_most
from barrow.render.figures import script, stylesheet
from barrow.render.figures.outline import land_rings, relative_path
from barrow.web.catalogue import START, catalogue, distances, entry_of, grids
from barrow.web.design import Design, can_preview, commands, quick, toml_of
from barrow.web.guard import Guard, random_name
from barrow.web.releasing import Releases, columns_of
from barrow.web.request import DesignRequest, MisfitError, at, rescaled
from barrow.web.saving import StudyPlace
from barrow.web.suggest import suggestion
from barrow.web.words import grid_words, guesses, promise_rows

Body = dict[str, Any]
_KINDS = {"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
_STATIC = ("designer.css", "main.js", "state.js", "talk.js", "fields.js", "left.js", "right.js",
           "world.js", "take.js")  # fmt: skip
_REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_REPORT_SECONDS = 60.0


class StaleError(Exception):
    """A newer request of the same tab has come."""


class Designer:
    """One designer: a study file, its page, and its releases."""

    def __init__(self, file: Path, port: int) -> None:
        self.place = StudyPlace(file)
        self.releases = Releases()
        self.jobs = {"quick": 0, "preview": 0, "slow": 0, "stale": 0}
        self._latest: dict[str, int] = {}
        self._reports: dict[str, tuple[Path, float]] = {}
        self._fast = ThreadPoolExecutor(1, thread_name_prefix="quick")
        self._slow = ThreadPoolExecutor(1, thread_name_prefix="slow")
        self._aside = ThreadPoolExecutor(1, thread_name_prefix="aside")
        self.guard = Guard(Starlette(routes=self._routes()), port)

    def warm_up(self) -> None:
        """Begin to work out what the page will ask for first, before a browser has opened it."""

        def work() -> None:
            with suppress(BarrowError, MisfitError, OSError):
                study = self.place.read() or START
                for exact in (False, True):
                    Design(DesignRequest.of({"study": study}), exact).to_json()

        self._slow.submit(work)

    def close(self) -> None:
        """Let nothing that waits begin."""
        self._fast.shutdown(wait=False, cancel_futures=True)
        self._slow.shutdown(wait=False, cancel_futures=True)
        self._aside.shutdown(wait=False, cancel_futures=True)

    def _routes(self) -> list[Route]:
        handlers: dict[str, Callable[[Body], Awaitable[Any]]] = {
            "start": self.start, "design": self.design, "suggest": self.suggest, "columns": self.columns,
            "rescale": self.rescale, "save": self.save, "link": self.link, "release": self.release,
            "progress": self.progress, "cancel": self.cancel, "report": self.report,
        }  # fmt: skip
        return [
            Route("/", _file("index.html")),
            *(Route(f"/static/{name}", _file(name)) for name in _STATIC),
            Route("/help", _file("help.html")),
            Route("/static/figures.css", _text(stylesheet, "css")),
            Route("/static/figures.js", _text(script, "js")),
            Route("/report/{key}", self.shown_report),
            Route("/api/session", self.session, methods=["POST"]),
            *(Route(f"/api/{name}", _api(answer), methods=["POST"]) for name, answer in handlers.items()),
        ]

    async def session(self, request: Request) -> Response:
        """The token for the code of a link, once."""
        body = await _body(request)
        token = self.guard.exchange(str(body.get("code", "")))
        used = {
            "problem": "This link was used already.",
            "fix": "open the tab that used it, or start barrow design again",
        }
        return JSONResponse(used, status_code=403) if token is None else JSONResponse({"token": token})

    async def link(self, body: Body) -> Body:
        """A code for one more tab."""
        return {"code": self.guard.code()}

    async def start(self, body: Body) -> Body:
        """What the page begins with: the study of the file or an example, what is offered, a draft if one is left."""
        spec, trouble = None, None
        try:
            spec = await self._in(self._fast, self.place.read)
        except BarrowError as error:
            trouble = error.to_json()
        return {
            "study": spec or START,
            "seen": self.place.digest,
            "opened": spec is not None,
            "trouble": trouble,
            "file": self.place.file.name,
            "folder": str(self.place.file.parent),
            "draft": self.place.draft(),
            "catalogue": catalogue(),
            "guesses": guesses(),
            "world": world_path(),
        }

    async def design(self, body: Body) -> Body:
        """What the study gives: exact where that is quick or asked for, else a preview."""
        tab, seq = str(body.get("tab", ""))[:64], int(body.get("seq", 0))
        self._latest[tab] = max(self._latest.get(tab, 0), seq)
        began = time.perf_counter()
        if body.get("keep"):
            self.place.keep({"study": body.get("study"), "looked": body.get("looked", 0)})
        request = await self._in(self._fast, lambda: DesignRequest.of(body))
        width = 360 if body.get("narrow") else 720

        def build(exact: bool, kind: str) -> Body:
            if seq < self._latest[tab]:
                self.jobs["stale"] += 1
                raise StaleError
            self.jobs[kind] += 1
            return Design(request, exact, width).to_json()

        if quick(request):
            result = await self._in(self._fast, lambda: build(True, "quick"))
        elif body.get("exact"):
            result = await self._in(self._slow, lambda: build(True, "slow"))
        elif can_preview(request):
            result = await self._in(self._fast, lambda: build(False, "preview"))
        else:
            result = self._waiting(request)
        return {**result, **self._taken(request, body), "seq": seq, "jobs": self.jobs, "ms": _since(began)}

    @staticmethod
    def _waiting(request: DesignRequest) -> Body:
        """What is known at once where nothing else is: what promises ask for."""
        policy = request.study.policy
        return {"exact": False, "alpha": at_most(policy.alpha_exact, digits=4), "cards": {},
                "promises": promise_rows(policy, None), "grid": grid_words(policy)}  # fmt: skip

    def _taken(self, request: DesignRequest, body: Body) -> Body:
        """What can be taken along, and the ranges of the sliders."""
        study = self._with_ledger(request)
        space = body["study"]["space"]
        return {
            "toml": toml_of(study, space),
            "commands": commands(study, self.place.file.name),
            "distances": distances(request.study.space),
            "grids": grids(request.study.space),
            "entry": entry_of(space),
            "label": request.question.label,
        }

    def _saved(self, request: DesignRequest, body: Body, over: bool) -> str:
        text = toml_of(self._with_ledger(request), body["study"]["space"])
        seen = body.get("seen")
        return self.place.save(text, seen=seen if isinstance(seen, str) else None, over=over)

    @staticmethod
    def _with_ledger(request: DesignRequest) -> Any:
        study = request.study
        if study.ledger is not None or study.dataset is None:
            return study
        name = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in study.dataset)
        return study.replace(ledger=f"{name.lstrip('.-') or 'study'}.ledger")

    async def suggest(self, body: Body) -> Body:
        """The error over a range of grids or bandwidths, with the best marked."""
        request = await self._in(self._fast, lambda: DesignRequest.of(body))
        over, narrow = str(body.get("over", "")), bool(body.get("narrow"))
        result: Body = await self._in(self._aside, lambda: suggestion(request, over, 360 if narrow else 720))
        return result

    async def rescale(self, body: Body) -> Body:
        """The distances of the promises for another space: the same parts of the largest distance, in round numbers."""
        return {"distances": await self._in(self._fast, lambda: rescaled(body))}

    async def columns(self, body: Body) -> Body:
        """Names of the columns of a source, read by a child process."""
        result = await columns_of(self.place.file.parent, str(body.get("source", "")))
        if result["event"] != "done":
            raise MisfitError("data", _told(result))
        return {"columns": result["columns"]}

    async def save(self, body: Body) -> Body:
        """Write the study file."""
        request = await self._in(self._fast, lambda: DesignRequest.of(body))
        with at("save"):
            seen = self._saved(request, body, bool(body.get("over")))
        return {"file": self.place.file.name, "folder": str(self.place.file.parent), "seen": seen}

    async def release(self, body: Body) -> Body:
        """Save, and begin a release of the question that is looked at; the data set's name must have been typed."""
        request = await self._in(self._fast, lambda: DesignRequest.of(body))
        await self._in(self._slow, lambda: Design(request).plan)
        named = request.study.dataset
        with at("dataset"):
            if named is None:
                raise ParameterError("The data set has no name.", allowed="a public name", fix="visits-2026")
        with at("release"):
            if str(body.get("typed", "")).strip() != named.strip():
                raise ParameterError(
                    "The typed name is not the name of the data set.",
                    allowed=named,
                    fix=f"type {named}, or do not release",
                )
            if request.study.data is None or request.study.data.source is None:
                raise ParameterError(
                    "The study names no records.", allowed="a file or an address", fix="say where they are"
                )
            if self.releases.busy:
                raise ParameterError("A release is running.", allowed="one at a time", fix="wait for it, or cancel it")
            seen = self._saved(request, body, False)
        job = await self.releases.start(self.place.file.parent, self.place.file, request.question.label, _period(body))
        return {**job.to_json(), "seen": seen}

    async def progress(self, body: Body) -> Body:
        """How far the last release is."""
        return {"state": "none"} if self.releases.job is None else self.releases.job.to_json()

    async def cancel(self, body: Body) -> Body:
        """Call the release off, before it is paid for."""
        await self.releases.cancel()
        return await self.progress(body)

    async def report(self, body: Body) -> Body:
        """An address of the report that works once and soon."""
        job = self.releases.job
        path = None if job is None else job.told.get("report")
        if path is None:
            raise MisfitError("release", ParameterError("There is no report.", fix="release first"))
        key = random_name()
        self._reports[key] = (Path(path), time.monotonic() + _REPORT_SECONDS)
        return {"address": f"/report/{key}"}

    async def shown_report(self, request: Request) -> Response:
        """The report, in a sandbox: it cannot reach this page."""
        path, until = self._reports.pop(request.path_params["key"], (None, 0.0))
        if path is None or time.monotonic() > until:
            return JSONResponse({"problem": "This address was used already."}, status_code=404)
        page = await self._in(self._fast, path.read_bytes)
        return Response(page, media_type=_KINDS["html"], headers={"content-security-policy": _REPORT_POLICY})

    async def _in(self, where: ThreadPoolExecutor, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(where, work)


@cache
def world_path() -> str:
    """The land of the world as one SVG path, for drawing a box with the pointer: x is longitude, y minus latitude."""
    rings = [np.column_stack([ring[:, 0], -ring[:, 1]]) for ring in land_rings()]
    return "".join(relative_path(ring, close=True) for ring in rings if len(ring) > 3)


def _period(body: Body) -> str | None:
    period = body.get("period")
    return period if isinstance(period, str) else None


def _since(began: float) -> int:
    return round(1000 * (time.perf_counter() - began))


def _told(message: Body) -> BarrowError:
    problem = str(message.get("problem", "It failed."))
    return BarrowError(problem, allowed=message.get("allowed"), fix=message.get("fix"))


async def _body(request: Request) -> Body:
    try:
        return msgspec.json.decode(await request.body(), type=Body)
    except (ValueError, RecursionError):
        return {}


def _api(answer: Callable[[Body], Awaitable[Any]]) -> Callable[[Request], Awaitable[Response]]:
    """A route that answers in JSON: mistakes with the control that they belong to, and nothing of unknown errors."""

    async def handle(request: Request) -> Response:
        try:
            return JSONResponse(await answer(await _body(request)))
        except StaleError:
            return JSONResponse({"stale": True}, status_code=409)
        except MisfitError as misfit:
            return JSONResponse(misfit.to_json(), status_code=422)
        except BarrowError as error:
            return JSONResponse({"where": "page", **error.to_json()}, status_code=422)
        except (ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as error:
            problem = f"This cannot be computed ({type(error).__name__})."
            return JSONResponse({"where": "page", "problem": problem, "fix": "undo the last change"}, status_code=422)

    return handle


def _file(name: str) -> Callable[[Request], Awaitable[Response]]:
    return _text(cache(lambda: files("barrow.web").joinpath("static", name).read_text(encoding="utf-8")), name)


def _text(content: Callable[[], str], name: str) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        return Response(content(), media_type=_KINDS[name.rpartition(".")[2]])

    return handle
