"""The operator's files: they are whole, they say words that the command line knows, and nginx serves by them."""

from __future__ import annotations

import datetime
import json
import shlex
import shutil
import socket
import ssl
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from barrow.cli.main import cli
from barrow.collect.admission import attest
from barrow.collect.aggregator import add_shares
from barrow.collect.collector import Collector
from barrow.collect.share_messages import ALL, read_message
from barrow.collect.stores import open_store
from barrow.collect.sum_service import HelperService, Wire, Worker
from barrow.local.report import Report
from tests.collect.asking import free_port, served
from tests.collect.sums.world import VERIFY, World
from tests.collect.world import admitted, local_card

DEPLOY = Path(__file__).parents[2] / "deploy"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/sbin")
ANALYZE = shutil.which("systemd-analyze")
SERVICES = ["collector", "issuer", "shuffler", "leader", "helper"]
SECRET = "of-the-operator-and-of-nobody-else"


def understood(words: list[str]) -> dict:
    """What the command line makes of the words behind ``barrow collect``."""
    command = cli.get_command(None, "collect").commands[words[0]]
    return command.make_context(words[0], words[1:]).params


def check(params: dict, name: str) -> None:
    assert (params["card_file"], params["rate"], params["operator"]) == ("card.json", 0, "keys/operator.secret")
    assert params["port"] == 8700
    assert ("out" in params) == (name == "shuffler")
    if "role" in params:
        assert (params["role"], params["store"], params["serve"]) == (name, f"{name}.db", True)
        assert len(params["helpers"]) == (name == "leader")


def test_compose():
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    result = yaml.safe_load((DEPLOY / "compose.yml").read_text())["services"]
    assert sorted(result) == sorted([*SERVICES, "proxy"])
    for name in SERVICES:
        built = result[name]
        check(understood(built["command"]), name)
        assert built["read_only"]
        assert built["cap_drop"] == ["ALL"]
        assert built["profiles"] == [name]  # nobody starts two parties by accident
        assert "ports" not in built  # only the proxy is reached from outside
        assert ("outside" in built["networks"]) == (name == "leader")  # only a leader asks somebody
    for volume in result["proxy"]["volumes"]:
        source = DEPLOY / volume.split(":")[0]
        assert source.is_file() or source.name == "tls"


@pytest.mark.parametrize("name", SERVICES)
def test_the_words_of_units(name):
    text = (DEPLOY / "systemd" / f"{name}.env").read_text()
    assert text.startswith('BARROW="')
    check(understood(shlex.split(text.removeprefix("BARROW=").strip().strip('"'))), name)


@pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed")
def test_units(tmp_path):
    """The unit is understood, and gives a service little: systemd's own measure of exposure stays below 2 of 10."""
    unit = tmp_path / "barrow@.service"
    unit.write_text((DEPLOY / "systemd" / "barrow@.service").read_text().replace("/opt/barrow/bin/barrow", "/bin/true"))
    result = subprocess.run([ANALYZE, "verify", unit], capture_output=True, text=True)
    if result.returncode and "Unknown" not in result.stderr and "barrow@" not in result.stderr:
        pytest.skip(f"systemd-analyze does not run here: {result.stderr[:100]}")
    assert (result.returncode, result.stderr) == (0, "")
    result = subprocess.run([ANALYZE, "security", "--offline=true", "--no-pager", unit], capture_output=True, text=True)
    if "unrecognized option" in result.stderr:
        pytest.skip("this systemd-analyze is too old to judge a file")
    level = result.stdout.split("Overall exposure level for")[1].split(":")[1].split()[0]
    assert float(level) < 2


def certificate(folder: Path) -> None:
    """A certificate for this machine, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    built = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    folder.mkdir()
    (folder / "fullchain.pem").write_bytes(built.public_bytes(serialization.Encoding.PEM))
    plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "privkey.pem").write_bytes(key.private_bytes(*plain))


@contextmanager
def behind_nginx(tmp_path, app):
    """An application behind nginx, configured as in deploy/ but for places and ports: the ports outside and inside."""
    if NGINX is None:
        pytest.skip("nginx is not installed")
    inside, outside = free_port(), free_port()
    certificate(tmp_path / "tls")
    for name in ("nginx.conf", "limits.conf"):
        text = (DEPLOY / "nginx" / name).read_text()
        for old, new in (("service:8700", f"127.0.0.1:{inside}"), ("listen 443", f"listen 127.0.0.1:{outside}")):
            text = text.replace(old, new)
        (tmp_path / name).write_text(text.replace("/tmp/", f"{tmp_path}/"))
    words = [NGINX, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf"), "-e", "/dev/null"]
    if (tmp_path.owner()) == "root":
        words += ["-g", "user root;"]
    sentence = subprocess.run([*words, "-t"], capture_output=True, text=True)
    assert sentence.returncode == 0, sentence.stderr
    assert "[warn]" not in sentence.stderr
    words = [word.replace("user root;", "user root; daemon off;") for word in words]
    if "-g" not in words:
        words += ["-g", "daemon off;"]
    running = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    try:
        with served(app, inside):
            yield outside, inside
    finally:
        running.terminate()
        running.wait(30)


@pytest.fixture
def proxied(tmp_path):
    """A collector behind nginx."""
    card = local_card()
    app = Collector(card, open_store(tmp_path / "reports.db", card.survey.digest), operator=SECRET).app()
    with behind_nginx(tmp_path, app) as (outside, inside):
        yield card, outside, tmp_path / "tls" / "fullchain.pem", inside


def over_tls(port: int, trusted: Path, sent: bytes) -> tuple[int, bytes]:
    until = time.monotonic() + 30
    while True:
        try:
            plain = socket.create_connection(("127.0.0.1", port), timeout=30)
            break
        except OSError:
            assert time.monotonic() < until, "nginx does not listen"
            time.sleep(0.02)
    context = ssl.create_default_context(cafile=str(trusted))
    with plain, context.wrap_socket(plain, server_hostname="localhost") as link:
        link.sendall(sent)
        result = b""
        while some := link.recv(2**16):
            result += some
    head, _, body = result.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


def test_nginx_in_front(proxied):
    card, port, trusted, inside = proxied
    line = admitted(card, Report(card.survey.digest, "1" * 32, (0, 1)).to_text()).encode() + b"\n"
    ending = b"Host: localhost\r\nConnection: close\r\n"

    def ask(first: bytes, more: bytes = b"", body: bytes = b"") -> tuple[int, bytes]:
        return over_tls(port, trusted, first + b" HTTP/1.1\r\n" + ending + more + b"\r\n" + body)

    assert json.loads(ask(b"GET /card")[1]) == json.loads(card.text)
    assert ask(b"GET /health") == (200, b'{"ok":true}')
    length = b"Content-Length: %d\r\n"
    assert ask(b"POST /reports", length % len(line), line) == (200, b'{"lines":["accepted"]}')
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(line), line)  # nginx takes it in whole, and says how long it is
    assert ask(b"POST /reports", b"Transfer-Encoding: chunked\r\n", chunked) == (200, b'{"lines":["repeated"]}')
    bearer = b"Authorization: Bearer %s\r\n" % SECRET.encode()
    for path in (b"/status", b"/metrics"):
        assert ask(b"GET " + path, bearer)[0] == 404  # from outside not even for the operator
    with socket.create_connection(("127.0.0.1", inside), timeout=30) as link:
        link.sendall(b"GET /status HTTP/1.1\r\nConnection: close\r\n" + bearer + b"\r\n")
        assert link.recv(2**16).startswith(b"HTTP/1.1 200")
    assert ask(b"GET /card", b"X: " + b"x" * 30_000 + b"\r\n")[0] == 400
    assert ask(b"POST /reports", length % (2**20 + 1), b"x")[0] == 413


def test_a_leader_asks_a_helper_behind_nginx(tmp_path):
    world = World(tmp_path)
    helper = HelperService(world.aggregator(1), Wire(world.task, VERIFY, 1), fewest=1, operator=SECRET)
    leader, sealed = world.aggregator(0), [world.report()[0] for _ in range(3)]
    bodies = [report.body(attest(world.front, world.card, report.signed)) for report in sealed]
    with behind_nginx(tmp_path, helper.app()) as (outside, _):

        def post(address, body, kind):
            path = address.rpartition("/")[2]
            head = f"POST /{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nConnection: close\r\n"
            sent = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
            return over_tls(outside, tmp_path / "tls" / "fullchain.pem", sent)

        leader.add_read([read_message(world.task, ALL, body) for body in bodies], bodies)
        shares = Worker(leader, ["https://localhost"], VERIFY, post).close(fewest=1)
    assert add_shares(world.task, shares).reports == 3
