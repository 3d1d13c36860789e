"""Child processes that touch records: one release at a time, its stages, and how it ended."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from barrow.study.release import STAGES

_COLUMNS_SECONDS = 30.0
_NOTES = {
    "cancelling": "Stopping …",
    "after": "The one under way is paid for and will be finished; no other one is begun.",
    "late": "Too late: the budget is charged, and the release will be finished.",
}


async def started(folder: Path, order: dict[str, Any]) -> asyncio.subprocess.Process:
    """A child with its order; its errors go nowhere, since a traceback may hold values."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "barrow.web.child",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        cwd=folder, env={**os.environ, "PYTHONUNBUFFERED": "1"}, start_new_session=True,
    )  # fmt: skip
    if child.stdin is not None:
        child.stdin.write(json.dumps(order).encode() + b"\n")
        await child.stdin.drain()
    return child


async def columns_of(folder: Path, source: str) -> dict[str, Any]:
    """Names and kinds of the columns of a source, or why they cannot be had."""
    child = await started(folder, {"do": "columns", "source": source})
    try:
        out, _ = await asyncio.wait_for(child.communicate(), _COLUMNS_SECONDS)
    except TimeoutError:
        child.kill()
        await child.wait()
        return {"event": "error", "problem": "The source did not answer in time.", "fix": "type the columns"}
    return _message(out.splitlines()[-1] if out else b"")


def _message(line: bytes) -> dict[str, Any]:
    try:
        result = json.loads(line)  # not by msgspec, which refuses lone surrogates: paths may hold one
    except ValueError:
        result = None
    gone = {"event": "error", "problem": "It ended without a message.", "fix": "run barrow release in a terminal"}
    return result if isinstance(result, dict) and "event" in result else gone


@dataclass
class Job:
    """One release: what the page is told about it."""

    question: str
    state: str = "running"
    stage: str = "validate"
    seen: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    of: int = 1
    stopping: bool = False
    told: dict[str, Any] = field(default_factory=dict)
    child: asyncio.subprocess.Process | None = None

    @property
    def cancels(self) -> str:
        """What can be called off, on a button; nothing where it is too late."""
        paid = any(stage not in ("validate", "read") for stage in self.seen)
        if self.state != "running" or self.stopping or (paid and len(self.parts) in (0, self.of)):
            return ""
        if paid:
            return f"Stop after {self.parts[-1]}, which is paid for"
        done = self.parts[:-1]
        return f"Stop: nothing is spent after {done[-1]}" if done else "Cancel: nothing is spent yet"

    def to_json(self) -> dict[str, Any]:
        """Plain data for the page."""
        told = {key: value for key, value in self.told.items() if key not in ("event", "report")}
        return {
            "question": self.question,
            "state": self.state,
            "stage": self.stage,
            "stages": [{"name": name, "seen": name in self.seen} for name in STAGES],
            "cancels": self.cancels,
            "part": f"{self.parts[-1]}, {len(self.parts)} of {self.of}" if self.parts else "",
            "has_report": self.told.get("report") is not None,
            **told,
        }

    def heard(self, message: dict[str, Any]) -> None:
        """Take in what the child said."""
        event = message["event"]
        if event == "stage":
            self.stage = str(message["stage"])
            self.seen.append(self.stage)
        elif event == "part":
            self.parts.append(str(message["name"]))
            self.of, self.seen = int(message["of"]), []
        elif event in _NOTES:
            self.stopping = event != "late"
            self.told["note"] = _NOTES[event]
        else:
            self.state = {"done": "done", "cancelled": "cancelled"}.get(event, "failed")
            self.told = message


class Releases:
    """At most one release at a time; the last one is remembered."""

    def __init__(self) -> None:
        self.job: Job | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether a release is running."""
        return self.job is not None and self.job.state == "running"

    async def start(self, folder: Path, file: Path, question: str, period: str | None = None) -> Job:
        """Begin a release; the caller has seen that none is running."""
        job = self.job = Job(question)
        self._task = asyncio.create_task(self._run(job, folder, file, period))
        return job

    async def _run(self, job: Job, folder: Path, file: Path, period: str | None) -> None:
        order = {"do": "release", "file": str(file), "question": job.question, "period": period}
        child = job.child = await started(folder, order)
        text = child.stdout
        while text is not None and (line := await text.readline()):
            job.heard(_message(line))
        await child.wait()
        if job.state == "running":
            job.heard(_message(b""))

    async def cancel(self) -> None:
        """Ask the child to stop; before the payment it does, of several releases after the one that is paid for."""
        child = None if self.job is None else self.job.child
        if self.busy and child is not None and child.stdin is not None:
            child.stdin.write(b"cancel\n")
            await child.stdin.drain()
