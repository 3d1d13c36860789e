"""What a hostile page, a name server that lies, and a nosy neighbour get: nothing."""

from __future__ import annotations

import http.server
import json
import socket
import threading
from contextlib import closing

import pytest

from barrow.web.guard import MOST_BODY, Guard
from tests.web.conftest import JSON

HEADERS = ("content-security-policy", "x-frame-options", "referrer-policy", "cache-control", "x-content-type-options")


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "evil.example:8931"},
        {"host": "127.0.0.1"},
        {"host": "127.0.0.1.evil.example:1"},
        {"host": ""},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "https://127.0.0.1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
@pytest.mark.parametrize("path", ["/", "/static/main.js", "/help"])
def test_other_hosts_and_other_pages_get_nothing(designer, path, headers):
    status, answered, text = designer.ask(path, headers=headers)
    assert status == 403
    assert set(json.loads(text)) == {"problem"}
    assert all(name in answered for name in HEADERS)


def test_the_bare_page_may_be_opened_from_anywhere_but_not_embedded(designer):
    opened = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert designer.ask("/", headers=opened)[0] == 200
    assert designer.ask("/", headers={**opened, "sec-fetch-dest": "iframe"})[0] == 403
    assert designer.ask("/help", headers=opened)[0] == 403


@pytest.mark.parametrize(
    "name", ["start", "design", "save", "columns", "release", "progress", "cancel", "report", "link"]
)
def test_nothing_is_answered_without_the_token(designer, name):
    assert designer.token
    for sent in ({}, {"authorization": "Bearer x"}, {"authorization": designer.token}, {"authorization": "Bearer "}):
        assert designer.ask(f"/api/{name}", "POST", {}, {**JSON, **sent})[0] == 403
    good = {"authorization": f"Bearer {designer.token}"}
    assert designer.ask(f"/api/{name}", "GET", headers=good)[0] == 405
    assert designer.ask(f"/api/{name}", "POST", b"a=b", {**good, "content-type": "text/plain"})[0] == 415
    form = {**good, "content-type": "application/x-www-form-urlencoded"}
    assert designer.ask(f"/api/{name}", "POST", b"a=b", form)[0] == 415
    assert designer.ask(f"/api/{name}", "POST", {}, {**JSON, **good, "origin": "http://evil.example"})[0] == 403
    assert designer.ask(f"/api/{name}", "POST", {}, {**JSON, **good, "sec-fetch-site": "cross-site"})[0] == 403


def test_a_link_works_once(designer):
    assert designer.token
    for code in (designer.code, "", "x", designer.code[:-1]):
        assert designer.ask("/api/session", "POST", {"code": code}, JSON)[0] == 403
    fresh = designer.api("link")[1]["code"]
    assert designer.ask("/api/session", "POST", {"code": fresh}, JSON)[0] == 200
    assert designer.ask("/api/session", "POST", {"code": fresh}, JSON)[0] == 403


def test_headers_said_twice_and_other_ways_of_asking_are_refused(designer):
    own = f"127.0.0.1:{designer.port}"
    assert designer.ask("/", headers={"host": [own, "evil.example"]})[0] == 400
    assert designer.ask("/", headers={"origin": [f"http://{own}", "http://evil.example"]})[0] == 400
    for method in ("PUT", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"):
        status, answered, _ = designer.ask("/", method)
        assert status == 405
        assert not any(name.startswith("access-control") for name in answered)
    upgrade = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "eA==",
    }
    assert designer.ask("/", headers=upgrade)[0] in (200, 400, 403)  # never 101: there is no other door
    assert designer.ask("/api/design", headers=upgrade)[0] == 405


def test_long_bodies_are_cut_off(designer):
    good = {**JSON, "authorization": f"Bearer {designer.token}"}
    assert designer.ask("/api/design", "POST", b"{}", {**good, "content-length": str(MOST_BODY + 1)})[0] == 413
    assert designer.ask("/api/design", "POST", b"{}", {**good, "content-length": "-2"})[0] in (400, 413)
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    status = designer.ask(
        "/api/design", "POST", chunk * (MOST_BODY // 0x10000 + 2), {**good, "transfer-encoding": "chunked"}
    )
    assert status[0] >= 400
    assert designer.ask("/")[0] == 200


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/static/app.py", "/study.toml",
             "/report/", "/report/x", "/report/../index.html", "//evil.example/", "/static/main.js%00.css"],
)  # fmt: skip
def test_no_other_file_is_served(designer, path):
    assert designer.ask(path)[0] in (400, 403, 404)


def test_what_every_answer_carries(designer):
    for path in ("/", "/static/main.js", "/nowhere"):
        _, answered, _ = designer.ask(path)
        policy = answered["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answered["cache-control"] == "no-store"
        assert not {"server", "set-cookie", "access-control-allow-origin"} & set(answered)


def test_malformed_bodies_are_mistakes_and_no_crashes(designer):
    good = {**JSON, "authorization": f"Bearer {designer.token}"}
    malformed = [b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"study": 7}', b'{"seq": "x"}']
    spaces = [
        b"[]",
        b'{"kind": "line"}',
        b'{"call": "x"}',
        b'{"kind": ["line"]}',
        b'{"kind": "line", "low": NaN, "high": 1}',
    ]
    for body in [*malformed, *(b'{"study": {"space": ' + space + b"}}" for space in spaces)]:
        status, _, text = designer.ask("/api/design", "POST", body, good)
        assert status == 422, body[:40]
        assert "problem" in json.loads(text)
    assert designer.process.poll() is None


def test_only_this_machine_is_listened_to(designer):
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            own = probe.getsockname()[0]
        except OSError:
            pytest.skip("this machine has no other address")
    if own.startswith("127."):
        pytest.skip("this machine has no other address")
    with pytest.raises(OSError), closing(socket.create_connection((own, designer.port), timeout=2)):
        pass


def test_code_and_token_stand_in_no_log(designer):
    text = designer.log.read_text()
    assert text.count(designer.code) == 1
    assert designer.token not in text
    assert "GET" not in text
    assert "POST" not in text


def test_tokens_differ():
    guards = [Guard(lambda *_: None, 1) for _ in range(3)]
    assert len({guard.exchange(guard.code()) for guard in guards}) == 3
    assert guards[0].exchange(guards[1].code()) is None


class Evil(http.server.BaseHTTPRequestHandler):
    """A page of somebody else, on another port of this machine."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>evil</title>")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def evil():
    server = http.server.HTTPServer(("127.0.0.1", 0), Evil)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def test_a_real_browser_keeps_other_pages_out(browser, designer, evil):
    context = browser.new_context()
    page = context.new_page()
    page.goto(evil)
    here = f"http://127.0.0.1:{designer.port}"
    reach = "([url, how]) => fetch(url, how).then(r => r.type + r.status, () => 'blocked')"
    assert page.evaluate(reach, [f"{here}/", {}]) == "blocked"
    send = {"method": "POST", "body": "{}", "headers": {"content-type": "application/json"}}
    assert page.evaluate(reach, [f"{here}/api/session", send]) == "blocked"
    simple = {"method": "POST", "body": '{"code": "x"}', "mode": "no-cors"}
    assert page.evaluate(reach, [f"{here}/api/session", simple]) in ("opaque0", "blocked")
    framed = """url => new Promise(done => {
        const f = document.createElement("iframe"); f.src = url; document.body.append(f);
        f.onload = () => { try { done(f.contentDocument?.title ?? "kept out"); } catch { done("kept out"); } } })"""
    assert "barrow" not in page.evaluate(framed, f"{here}/")
    script = """url => new Promise(done => {
        const s = document.createElement("script"); s.src = url; document.head.append(s);
        s.onload = () => done("ran"); s.onerror = () => done("blocked"); })"""
    assert page.evaluate(script, f"{here}/static/figures.js") == "blocked"
    context.close()


def test_a_name_that_leads_here_gets_nothing(browser, designer):
    context = browser.new_context()
    page = context.new_page()
    result = page.goto(f"http://evil.localhost:{designer.port}/")  # browsers take such names for this machine
    assert result.status == 403
    assert "barrow" not in page.title()
    context.close()
