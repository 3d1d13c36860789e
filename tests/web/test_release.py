# ruff: noqa: E501 - records in one line
"""Releases from the page: confirmed, seen stage by stage, called off for nothing, paid once, and blind to the records."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest

from barrow.ledger import Ledger
from barrow.study import Release
from barrow.web.child import Cancelled, Child
from tests.web.test_page import Opened

CANARY = "Zaphod-Canary-31415"
STUDY = {
    "dataset": "visits-of-march",
    "users": 400,
    "space": {"kind": "line", "low": 0, "high": 100, "step": 1, "unit": "years"},
    "promise": [{"share": "all", "distance": "5 years", "epsilon": "0.5"}],
    "question": [{"kind": "mean"}],
    "data": {"source": "visits.csv", "user": "uid", "items": ["age"]},
}


def records(folder):
    """Records with a name and a number that stand nowhere else."""
    values = f"SELECT CASE WHEN i = 7 THEN '{CANARY}' ELSE 'u' || (i % 400) END AS uid, 20 + i % 60 AS age FROM range(400) t(i)"
    values += f" UNION ALL SELECT '{CANARY}', 41.2718281"
    duckdb.sql(f"COPY ({values}) TO '{folder / 'visits.csv'}' (HEADER)")


NAME = STUDY["dataset"]


def ended(designer, until=lambda job: job["state"] != "running", seconds=900):
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        job = designer.api("progress")[1]
        if until(job):
            return job
        time.sleep(0.01)
    raise AssertionError(job)


def payments(folder):
    """How often something was paid for; 0 where there is no ledger."""
    file = folder / "visits-of-march.ledger"
    return len([row for row in Ledger.open(file).records() if row.kind == "reserve"]) if file.exists() else 0


@pytest.fixture
def ready(running, tmp_path):
    records(tmp_path)
    built = running(tmp_path)
    yield built
    if built.process.poll() is None:
        built.stop()


def in_memory(pid, text):
    """Whether some bytes stand in the memory of a process."""
    wanted = [text.encode(), text.encode("utf-16-le")]
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            span, rights = line.split()[:2]
            if not rights.startswith("rw"):
                continue
            low, high = (int(end, 16) for end in span.split("-"))
            try:
                memory.seek(low)
                content = memory.read(high - low)
            except (OSError, ValueError, OverflowError):
                continue
            if any(one in content for one in wanted):
                return True
    return False


def test_a_release_is_confirmed_paid_once_and_tells_nothing_private(ready, tmp_path):
    typed = NAME
    heard = []

    def api(name, body=None):
        status, outcome = ready.api(name, body)
        heard.append(json.dumps(outcome))
        return status, outcome

    status, columns = api("columns", {"source": "visits.csv"})
    assert (status, list(columns["columns"])) == (200, ["uid", "age"])
    status, result = api("release", {"study": STUDY, "typed": "another"})
    assert (status, result["where"], result["allowed"]) == (422, "release", typed)
    assert not (tmp_path / "visits-of-march.ledger").exists()
    assert api("release", {"study": STUDY, "typed": typed})[0] == 200
    status, result = api("release", {"study": STUDY, "typed": typed})
    assert status == 422 or ready.api("progress")[1]["state"] != "running"
    job = ended(ready)
    heard.append(json.dumps(job))
    assert job["state"] == "done", job
    assert [stage["name"] for stage in job["stages"] if stage["seen"]] == [stage["name"] for stage in job["stages"]]
    first = Release.read(tmp_path / "release" / "mean")
    assert first.values.size == 1
    assert payments(tmp_path) == 1
    # The same again draws nothing and costs nothing.
    assert api("release", {"study": STUDY, "typed": typed})[0] == 200
    assert ended(ready)["state"] == "done"
    assert payments(tmp_path) == 1
    assert Release.read(tmp_path / "release" / "mean").values.tolist() == first.values.tolist()
    # Nothing of the records came into the server: not into answers, not into its log, not into its memory.
    for secret in (CANARY, "41.2718281"):
        assert not any(secret in text for text in heard)
        assert secret not in ready.log.read_text()
        assert not in_memory(ready.process.pid, secret)
    assert in_memory(ready.process.pid, "visits-of-march")  # the search finds what is there
    # Something else is released beside it.
    other = {**STUDY, "question": [{"kind": "mean", "fraction": "0.25"}]}
    body = {"study": other, "typed": NAME, "seen": ready.api("start")[1]["seen"]}
    assert ready.api("release", body)[0] == 200
    job = ended(ready)
    assert job["state"] in ("done", "failed")  # the budget may be spent; nothing that was there is touched
    assert Release.read(tmp_path / "release" / "mean").values.tolist() == first.values.tolist()


def test_records_that_cannot_be_read_tell_nothing(ready, tmp_path):
    (tmp_path / "visits.csv").write_text(f"uid,age\n{CANARY},{CANARY}\n")
    assert ready.api("release", {"study": STUDY, "typed": NAME})[0] == 200
    job = ended(ready)
    assert job["state"] == "failed"
    assert CANARY not in json.dumps(job)
    assert payments(tmp_path) == 0


ENDLESS = """
import os, sys
if sys.orig_argv[1:] == ["-m", "barrow.web.child"]:
    from barrow.engines.duckdb.engine import DuckDBEngine
    from barrow.engines.duckdb.session import Session

    def begun(x: int) -> int:
        with open("begun.partial", "w") as file:
            file.write(str(os.getpid()))
        os.rename("begun.partial", "begun")
        return x

    def count(*_, **__):
        with Session(memory=None, threads=1, folder=None, progress=False) as session:
            session.connection.create_function("begun", begun, side_effects=True)
            session.rows("SELECT sum(a.range * b.x) FROM range(1000000000000) a, (SELECT begun(1::BIGINT) AS x) b")

    DuckDBEngine.count_cells = DuckDBEngine.sum_cells = count
"""
"""In the process that reads: a query that says itself that it has begun, and would run for days."""


@pytest.fixture
def reading(running, tmp_path, tmp_path_factory):
    """A designer whose release is being read, and is never done with it; and the process that reads."""
    records(tmp_path)
    place = tmp_path_factory.mktemp("endless")
    (place / "sitecustomize.py").write_text(ENDLESS)
    built = running(tmp_path, path=place)
    assert built.api("release", {"study": STUDY, "typed": NAME})[0] == 200
    ended(built, lambda job: (tmp_path / "begun").exists() or job["state"] != "running")
    yield built, int((tmp_path / "begun").read_text())
    if built.process.poll() is None:
        built.stop()


def gone(pid, seconds=600):
    """Whether a process ends; the clock is for what never does."""
    limit = time.monotonic() + seconds
    while runs(pid) and time.monotonic() < limit:
        time.sleep(0.01)
    return not runs(pid)


def runs(pid):
    """Whether a process has not ended yet; one that nobody has asked about since is over, too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_cancelled_before_it_is_paid_for_nothing_is_spent(reading, tmp_path):
    designer, pid = reading
    assert designer.api("progress")[1]["stage"] == "read"
    told = designer.api("cancel")[1]
    job = ended(designer)
    assert told["state"] in ("running", "cancelled")
    assert job["state"] == "cancelled", job
    assert payments(tmp_path) == 0
    assert not list(tmp_path.glob("release/*"))
    assert gone(pid)


def test_a_killed_server_spends_nothing_that_was_not_paid(reading, tmp_path):
    designer, pid = reading
    assert runs(pid)
    designer.stop(hard=True)
    assert gone(pid)
    assert payments(tmp_path) == 0
    assert not (tmp_path / "release" / "mean").exists()


def test_two_designers_pay_once(running, tmp_path):
    records(tmp_path)
    both = [running(tmp_path), running(tmp_path)]
    typed = NAME
    for one in both:
        one.api("save", {"study": STUDY, "over": True})
    with ThreadPoolExecutor(2) as pool:
        requests = list(pool.map(lambda one: one.api("release", {"study": STUDY, "typed": typed}), both))
    assert [status for status, _ in requests].count(200) >= 1
    jobs = [ended(one) for one, (status, _) in zip(both, requests, strict=True) if status == 200]
    assert "done" in [job["state"] for job in jobs]
    again = both[1].api("release", {"study": STUDY, "typed": typed})
    assert again[0] in (200, 422)
    if again[0] == 200:
        assert ended(both[1])["state"] == "done"
    assert payments(tmp_path) == 1
    for one in both:
        one.stop()


def test_the_command_lines_do_the_same(ready, tmp_path):
    status, result = ready.api("design", {"tab": "t", "seq": 1, "study": STUDY, "exact": "all"})
    assert status == 200
    assert ready.api("save", {"study": STUDY})[0] == 200
    for line in result["commands"]:
        _, *words = shlex.split(line)
        done = subprocess.run([sys.executable, "-m", "barrow", *words], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, (line, done.stderr)
        if words[0] == "plan":
            assert result["plan"][0] in done.stdout
    # The page shows what the command released, and pays nothing.
    assert ready.api("release", {"study": STUDY, "typed": NAME})[0] == 200
    assert ended(ready)["state"] == "done"
    assert payments(tmp_path) == 1


def test_once_paid_it_is_too_late():
    lines = []
    child = Child(lines.append)
    for stage in ("validate", "read", "reserve"):
        child.stage(stage)
    child.cancel(lambda: lines.append("interrupted"))
    child.stage("draw")
    assert lines[-2:] == [{"event": "late"}, {"event": "stage", "stage": "draw"}]
    assert "interrupted" not in lines
    early = Child(lines.append)
    early.stage("validate")
    early.cancel(lambda: lines.append("interrupted"))
    assert lines[-1] == "interrupted"
    with pytest.raises(Cancelled):
        early.stage("reserve")


def test_the_page_releases_with_stages_and_a_report(browser, ready, tmp_path, pictures):
    ready.api("save", {"study": STUDY})
    opened = Opened(browser, ready.another_link())
    page = opened.page
    typed = NAME
    page.locator("#spend").click()
    page.locator('[data-where="release"] .problem').wait_for()
    assert "not the name of the data set" in page.locator('[data-where="release"] .problem').inner_text()
    page.locator("#typed").fill(typed)
    page.locator("#spend").click()
    page.get_by_text("Published in").wait_for(timeout=60_000)
    assert page.locator(".stages .seen").count() == 7
    assert "mean" in page.get_by_label("Released values").inner_text()
    page.locator("section[aria-labelledby=h-release]").screenshot(path=pictures / "designer-release.png")
    # Another picture of the study, asked for by a narrow window, leaves what was published on the page.
    before = int(page.evaluate("document.body.dataset.settled"))
    for width in (480, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        before += 1
        page.wait_for_function("settled => Number(document.body.dataset.settled) >= settled", arg=before)
    assert page.get_by_text("Published in").count() == 1
    if page.locator("#report").count():
        with opened.context.expect_page() as result:
            page.locator("#report").click()
        report = result.value
        report.wait_for_load_state()
        assert report.evaluate("origin") == "null"  # a sandbox: it cannot reach the designer
        assert report.locator("h1").count() == 1
        address = report.url
        assert ready.ask(address.partition(str(ready.port))[2])[0] == 404
    assert [text for text in opened.troubles if "422" not in text] == []
    opened.close()


class Keys:
    """Somebody without a pointer."""

    def __init__(self, page):
        self.page = page

    def reach(self, name):
        """Press Tab until the control with this name or id has the keys."""
        for _ in range(160):
            self.page.keyboard.press("Tab")
            found = self.page.evaluate(
                """() => { const e = document.activeElement;
                     return [e.id, e.getAttribute("aria-label"), e.labels?.[0]?.textContent.trim(), e.textContent.trim()]; }"""
            )
            if name in found:
                return
        raise AssertionError(name)

    def write(self, name, text):
        self.reach(name)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(text)

    def choose(self, name, text):
        """Type the beginning of an option of a list."""
        self.reach(name)
        self.page.keyboard.type(text)

    def press(self, name, key="Enter"):
        self.reach(name)
        self.page.keyboard.press(key)


def test_keys_alone_lead_from_a_file_to_a_series(browser, running, tmp_path, pictures):
    duckdb.sql(
        "COPY (SELECT 'u' || (i % 40) AS uid, 20 + i % 60 AS age, CASE WHEN i % 40 < 15 THEN 'north' ELSE 'south' END AS region, "
        f"DATE '2026-01-15' + to_months(CAST(i // 40 AS INT)) AS day FROM range(120) t(i)) TO '{tmp_path / 'visits.parquet'}'"
    )
    (tmp_path / "study.toml").write_text(
        'dataset = "example"\nusers = 40\n[space]\nkind = "line"\nlow = 0\nhigh = 100\nstep = 1\nunit = "years"\n'
        '[[promise]]\nshare = "all"\ndistance = "20 years"\nepsilon = 3\n[[question]]\nkind = "mean"\n'
    )
    built = running(tmp_path)
    opened = Opened(browser, built.another_link())
    page, keys = opened.page, Keys(opened.page)
    keys.write("File or address", "visits.parquet")
    keys.press("Columns from the header")
    page.locator("#data fieldset").wait_for()
    page.locator("#data").get_by_label("Column of the person").focus()
    page.keyboard.type("uid")
    keys.press("age", "Space")
    keys.write("Data set", "visits")
    keys.press("By month, by group")
    keys.choose("Column of the time", "day")
    page.get_by_label("Time zone").wait_for()
    keys.press("Add a grouping of people")
    keys.write("Sizes", "north 15\nsouth 25")
    keys.choose("Promise 1: in which months", "in any month")
    keys.choose("By", "region")
    page.wait_for_function("() => document.querySelector('#toml').textContent.includes('scope = \"any month\"')")
    opened.settled()
    assert page.locator("#alarm").is_visible()  # a 50 % guess may become more than 90 %
    keys.write("Which months", "2026-01..2026-03")
    keys.write("typed", "visits")
    keys.press("spend")
    page.get_by_text("Published in").wait_for(timeout=120_000)
    assert page.locator("#released svg").count() == 1
    page.locator("#released").screenshot(path=pictures / "designer-series.png")
    for month in ("2026-01", "2026-02", "2026-03"):
        rows = Release.read(tmp_path / "release" / month / "mean").rows()
        assert [(row["period"], row["group"]) for row in rows] == [(month, "north"), (month, "south")]
    page.locator("#cap").focus()
    page.keyboard.press("Enter")  # the promise that caps the worst case
    opened.settled()
    page.wait_for_function("() => document.querySelector('#toml').textContent.includes('anywhere')")
    opened.settled()
    assert not page.locator("#alarm").is_visible()
    assert [text for text in opened.troubles if "422" not in text] == []
    opened.close()
