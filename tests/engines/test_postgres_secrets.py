"""TLS and passwords: every way that libpq knows works, and the password stands nowhere."""

from __future__ import annotations

import logging
import subprocess

import pytest
from tests.postgres_cluster import Cluster, own, unavailable

from barrow.cli.main import main
from barrow.engines import Columns, engine_for
from barrow.errors import ParameterError
from barrow.ledger import Ledger
from barrow.spaces import Line

pytestmark = pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
PASSWORD = "hunter2-SECRET-5521"
LINE = Line(0, 9, step=1)


def free_port() -> int:
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture(scope="module")
def server():
    cluster = Cluster("listen_addresses = 'localhost'\nssl = on\n", port=free_port())
    key, cert = cluster.data / "server.key", cluster.data / "server.crt"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
        check=True, capture_output=True,
    )  # fmt: skip
    key.chmod(0o600)
    own(key)
    own(cert)
    lines = ["local all owner trust", *(f"hostssl all all {x} scram-sha-256" for x in ("127.0.0.1/32", "::1/128"))]
    (cluster.data / "pg_hba.conf").write_text("\n".join(lines) + "\n")
    root = cluster.folder / "root.crt"
    root.write_bytes(cert.read_bytes())
    import psycopg

    cluster.start()
    try:
        with psycopg.connect(cluster.conninfo, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'")
            connection.execute("CREATE TABLE visits (uid int, age int)")
            connection.execute("INSERT INTO visits SELECT i, i % 10 FROM generate_series(1, 40) i")
            connection.execute("GRANT SELECT ON visits TO reader; GRANT CREATE ON DATABASE postgres TO reader")
        yield cluster
    finally:
        cluster.stop()


def address(server, tail="&sslmode=verify-full", table="table=visits"):
    root = "" if "sslrootcert" in tail or "verify" not in tail else f"&sslrootcert={server.folder / 'root.crt'}"
    return f"postgresql://reader@localhost:{server.port}/postgres?{table}{tail}{root}"


def counted(where):
    return engine_for(where).count(where, Columns("uid", "age"), LINE).users


def by_environment(server, folder, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    return address(server)


def by_passfile(server, folder, monkeypatch):
    (folder / "pass").write_text(f"localhost:{server.port}:*:reader:{PASSWORD}\n")
    (folder / "pass").chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(folder / "pass"))
    return address(server)


def by_passfile_option(server, folder, monkeypatch):
    by_passfile(server, folder, monkeypatch)
    monkeypatch.delenv("PGPASSFILE")
    return address(server) + f"&passfile={folder / 'pass'}"


def by_service(server, folder, monkeypatch):
    lines = [
        "[shop]",
        "host=localhost",
        f"port={server.port}",
        "user=reader",
        "dbname=postgres",
        f"password={PASSWORD}",
        "sslmode=verify-full",
        f"sslrootcert={server.folder / 'root.crt'}",
    ]
    (folder / "services").write_text("\n".join(lines))
    monkeypatch.setenv("PGSERVICEFILE", str(folder / "services"))
    return "postgresql:///?service=shop&table=visits"


WAYS = [by_environment, by_passfile, by_passfile_option, by_service]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_passwords_by_every_way_of_libpq(server, tmp_path, monkeypatch, way):
    assert counted(way(server, tmp_path, monkeypatch)) == 40


def test_tls_is_asked_for_as_the_address_says(server, tmp_path, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert counted(address(server, "&sslmode=require")) == 40
    for tail in (
        "&sslmode=disable",  # the server takes only TLS
        f"&sslmode=verify-full&sslrootcert={tmp_path / 'none.crt'}",  # nothing to judge the server by
    ):
        with pytest.raises(ParameterError, match="cannot be reached"):
            counted(address(server, tail))
    wrong = address(server).replace("@localhost:", "@127.0.0.1:")  # the certificate is another name's
    with pytest.raises(ParameterError, match="cannot be reached"):
        counted(wrong)


def test_a_wrong_password_is_told_without_it(server, monkeypatch, capfd):
    monkeypatch.setenv("PGPASSWORD", PASSWORD + "x")
    with pytest.raises(ParameterError, match="cannot be reached") as caught:
        counted(address(server))
    error = caught.value
    while error is not None:
        assert PASSWORD not in str(error)
        error = error.__cause__ or error.__context__
    assert PASSWORD not in "".join(capfd.readouterr())


@pytest.mark.parametrize("way", [by_environment, by_service], ids=lambda way: way.__name__)
def test_the_password_stands_in_no_file_of_a_release(server, tmp_path, monkeypatch, capfd, caplog, way):
    caplog.set_level(logging.DEBUG)
    source = way(server, tmp_path, monkeypatch)
    folder = tmp_path / "study"
    folder.mkdir()
    monkeypatch.chdir(folder)
    ledger = source.replace("table=visits", f"ledger={way.__name__}")
    flags = ["--user", "uid", "--item", "age", "--users", "40", "--question", "mean", "--dataset", way.__name__]
    flags += ["--space", "line(low=0, high=9, unit='years', step=1)", "--promise", "all, 5 years, 0.5"]
    for command in (
        ["init", source, *flags, "--ledger", ledger],
        ["check"],
        ["release", "--out", "o"],
        ["verify", "o", "--ledger", ledger],
        ["ledger", "show", ledger],
        ["ledger", "export", ledger],
    ):
        with pytest.raises(SystemExit) as stop:
            main(command)
        assert not stop.value.code, (command, capfd.readouterr())
    written = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert b"visits" in written
    assert PASSWORD.encode() not in written
    assert PASSWORD not in "".join(capfd.readouterr()) + caplog.text
    import psycopg

    with psycopg.connect(server.conninfo) as connection:
        bodies = connection.execute("SELECT string_agg(body::text, '') FROM barrow.records").fetchone()[0]
    assert PASSWORD not in bodies
    assert Ledger(ledger).verify().head.length >= 2
