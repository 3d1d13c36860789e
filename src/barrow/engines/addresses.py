"""Addresses of servers: what may stand in a study, a statement, a ledger or an error is free of secrets."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlencode, urlsplit

from barrow.errors import ParameterError

_SECRETS = ("password", "passwd", "pwd", "sslpassword", "scram_client_key", "scram_server_key", "oauth_client_secret")
_OPTIONS = (
    "service", "passfile", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "sslcrldir", "sslnegotiation",
    "ssl_min_protocol_version", "ssl_max_protocol_version", "channel_binding", "require_auth", "gssencmode",
    "krbsrvname", "connect_timeout", "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count",
    "tcp_user_timeout", "target_session_attrs", "load_balance_hosts", "host", "hostaddr", "port", "user", "dbname",
)  # fmt: skip


def without_secrets(address: str) -> str:
    """An address without the table and the query; one that holds a secret, or an unknown option, is refused unread."""
    try:
        parts = urlsplit(address)
        options = parse_qsl(parts.query, keep_blank_values=True)
        password, port = parts.password, parts.port
    except ValueError:
        password, port, options = None, None, [("", "")]
    if password is not None or any(name.lower() in _SECRETS for name, _ in options):
        raise ParameterError(
            "The address of the server holds a password.",
            allowed="an address without secrets, which may stand in a study, a statement and a ledger",
            fix="put it into ~/.pgpass, a service file (?service=NAME) or the variable PGPASSWORD",
        )
    rest = [(name, value) for name, value in options if name not in ("table", "sql")]
    wrong = [name for name, _ in rest if name not in _OPTIONS]
    if wrong or (port is not None and port < 1):
        # The address is not repeated: what is wrong with it might be a secret in the wrong place.
        raise ParameterError(
            "The address of the server cannot be read"
            + (f": {wrong[0]!r} is no option." if wrong[0:] and wrong[0] else "."),
            allowed=f"postgresql://user@host:port/database?table=NAME, with options such as {', '.join(_OPTIONS[:5])}",
            fix="postgresql://host/database?table=visits",
        )
    # Not by urlunsplit, which leaves out the slashes of an address without a host.
    return f"postgresql://{parts.netloc}{parts.path}" + (f"?{urlencode(rest)}" if rest else "")


_HERE = re.compile(r"local(\[[0-9*]+(, ?[0-9]+)?\])?|yarn")
_HOSTS = re.compile(r"[A-Za-z0-9._-]+(:[0-9]+)?(,[A-Za-z0-9._-]+(:[0-9]+)?)*")
_SPARK_OPTIONS = ("table", "sql", "path", "format", "snapshot")


def spark_options(address: str) -> tuple[str, dict[str, str]]:
    """Where Spark is, and the options of an address (``spark://local[*]?path=x.parquet``); secrets are refused."""
    head, _, query = address.partition("?")
    scheme, _, where = head.partition("://")
    where = where.rstrip("/")
    try:
        given = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        given = [("", "")]
    options = dict(given)
    place = options.get("path", "").partition("://")[2].partition("/")[0]
    wrong = [name for name, value in given if name not in _SPARK_OPTIONS or not value]
    if (
        not (_HOSTS.fullmatch(where) or _HERE.fullmatch(where))
        or wrong
        or len(options) < len(given)
        or "@" in place
        or ("path" in options and "table" in options)
        or not options.get("snapshot", "0").isdigit()
        or (scheme == "sc" and _HERE.fullmatch(where))
    ):
        # Nothing is repeated: what is wrong with it might be a secret in the wrong place.
        raise ParameterError(
            "The address of the Spark session cannot be read, or holds a secret.",
            allowed="spark://local[*]?path=FOLDER, spark://host:7077?table=NAME, sc://host:15002?table=NAME; and sql=, "
            "format=, snapshot=",
            fix="spark://local[*]?path=visits.parquet",
        )
    return f"{scheme}://{where}", options


def spark_master(where: str) -> str:
    """What Spark calls the place of an address: ``local[*]``, ``yarn``, or the address of a cluster itself."""
    name = where.removeprefix("spark://")
    return name if _HERE.fullmatch(name) else where


def spark_address(address: str) -> str:
    """An address without the table and the query."""
    head, options = spark_options(address)
    rest = urlencode({name: value for name, value in options.items() if name not in ("table", "sql")}, safe="/:")
    return f"{head}?{rest}" if rest else head
