"""Addresses of servers: what may stand in a study, a statement, a ledger or an error is free of secrets."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from barrow.errors import ParameterError

_SECRETS = ("password", "passwd", "pwd", "sslpassword", "scram_client_key", "scram_server_key", "oauth_client_secret")
_OPTIONS = (
    "service", "passfile", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "sslcrldir", "sslnegotiation",
    "ssl_min_protocol_version", "ssl_max_protocol_version", "channel_binding", "require_auth", "gssencmode",
    "krbsrvname", "connect_timeout", "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count",
    "tcp_user_timeout", "target_session_attrs", "load_balance_hosts", "host", "hostaddr", "port", "user", "dbname",
)  # fmt: skip


def without_secrets(address: str) -> str:
    """An address without the table and the query; one that holds a secret, or an unknown option, is refused unread.

    >>> without_secrets("postgresql://db.example/shop?table=visits&sslmode=verify-full")
    'postgresql://db.example/shop?sslmode=verify-full'
    >>> without_secrets("postgresql://ann:hunter2@db.example/shop?table=visits")
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: The address of the server holds a password.
      allowed: an address without secrets, which may stand in a study, a statement and a ledger
      fix:     put it into ~/.pgpass, a service file (?service=NAME) or the variable PGPASSWORD
    """
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
    kept = [(name, value) for name, value in options if name not in ("table", "sql")]
    wrong = [name for name, _ in kept if name not in _OPTIONS]
    if wrong or (port is not None and port < 1):
        # The address is not repeated: what is wrong with it might be a secret in the wrong place.
        raise ParameterError(
            "The address of the server cannot be read"
            + (f": {wrong[0]!r} is no option." if wrong[0:] and wrong[0] else "."),
            allowed=f"postgresql://user@host:port/database?table=NAME, with options such as {', '.join(_OPTIONS[:5])}",
            fix="postgresql://host/database?table=visits",
        )
    return urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(kept), ""))
