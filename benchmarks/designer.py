"""How live the designer is: ``scripts/bench designer``.

A designer in a process of its own, asked over HTTP as its page asks it, about the demo's map of 25,000 cells: how long
a moved slider takes until the new picture has arrived, once the question is known; how long the preview of another
bandwidth takes; how many bytes a picture has. What the browser adds is a few milliseconds. The last line is one JSON
object.
"""

from __future__ import annotations

import copy
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from barrow.web.catalogue import START


class Page:
    """What a page does: it takes the code of the link, and asks."""

    def __init__(self, port: int, code: str) -> None:
        self.connection, self.token, self.seq = http.client.HTTPConnection("127.0.0.1", port, timeout=300), "", 0
        self.size = 0
        self.token = self.ask("session", {"code": code})["token"]

    def ask(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request."""
        heads = {"content-type": "application/json", "authorization": f"Bearer {self.token}"}
        self.connection.request("POST", f"/api/{name}", json.dumps(body), heads)
        answer = self.connection.getresponse()
        text = answer.read()
        self.size = len(text)
        if answer.status != 200:
            raise SystemExit(f"{name}: {answer.status} {text[:300]!r}")
        result: dict[str, Any] = json.loads(text)
        return result

    def design(self, study: dict[str, Any], exact: str = "") -> tuple[dict[str, Any], float]:
        """What is shown, and how many milliseconds it took."""
        self.seq += 1
        began = time.perf_counter()
        result = self.ask("design", {"tab": "bench", "seq": self.seq, "study": study, "exact": exact})
        return result, 1000 * (time.perf_counter() - began)


def main() -> None:
    """Print a table and one JSON object."""
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "barrow", "design", "--no-browser"]
        server = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True)
        try:
            said, link = "", None
            while link is None and server.stdout is not None and (line := server.stdout.readline()):
                said += line
                link = re.search(r":(\d+)/#code=(\w+)", said)
            if link is None:
                raise SystemExit(f"no link: {said!r}")
            result = measured(Page(int(link[1]), link[2]), server.pid)
        finally:
            server.terminate()
            server.wait()
    print(json.dumps(result))


def processor_ms(pid: int) -> float:
    """Processor time of a process so far, in milliseconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(page: Page, pid: int) -> dict[str, float]:
    """Every figure; what other programs do at the same time shows in all but processor times."""
    study = copy.deepcopy(START)
    _, cold = page.design(study)
    _, exact = page.design(study, "plan")
    slides, before = [], processor_ms(pid)
    for k in range(60):
        study["promise"][1]["epsilon"] = f"{0.5 + k / 50:g}"
        result, ms = page.design(study)
        if not result["exact"]:
            raise SystemExit("a moved slider gave a preview")
        slides.append(ms)
    size, processor = page.size / 1000, (processor_ms(pid) - before) / 60
    previews = []
    for bandwidth in ("500 km", "1000 km"):
        study["question"][0]["bandwidth"] = bandwidth
        previews.append(page.design(study)[1])
    print(f"first preview {cold:.0f} ms, exact {exact:.0f} ms later; another bandwidth: preview {max(previews):.0f} ms")
    print(f"a moved slider: {statistics.median(slides):.0f} ms, worst of 60 {max(slides):.0f} ms, {size:.0f} KB")
    print(f"processor time of the server for each: {processor:.0f} ms")
    return {
        "slide_median_ms": round(statistics.median(slides), 1),
        "slide_processor_ms": round(processor, 1),
        "slide_worst_ms": round(max(slides), 1),
        "slide_kb": round(size, 1),
        "preview_ms": round(max(previews), 1),
        "cold_preview_ms": round(cold, 1),
        "cold_exact_ms": round(exact, 1),
    }


if __name__ == "__main__":
    main()
