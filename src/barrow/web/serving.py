"""Starting the page: a socket on this machine alone, a link that works once, and a browser that opens it."""

from __future__ import annotations

import html
import os
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path

from barrow.errors import MissingExtraError, ParameterError


def serve(
    study: str | os.PathLike[str] = "study.toml",
    *,
    port: int = 0,
    browser: bool = True,
    say: Callable[[str], None] = print,
) -> None:
    """Serve the designer until it is interrupted.

    Args:
        study: The study file to open, and to save to; it need not exist.
        port: Where to listen on 127.0.0.1; 0 for any free port.
        browser: Whether to open a browser.
        say: Is told the link.

    >>> serve(port=70000)
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: port is 70000.
      allowed: 0 (any free one) to 65535
      fix:     --port 8000
    """
    try:
        import uvicorn

        from barrow.web.app import Designer
    except ImportError as error:
        missing = error.name or "starlette"
        if missing.partition(".")[0] not in ("starlette", "uvicorn", "anyio", "h11"):
            raise
        raise MissingExtraError.for_extra(missing, extra="web", purpose="The designer") from None
    with _socket(port) as bound, tempfile.TemporaryDirectory(prefix="barrow-") as private:
        own = bound.getsockname()[1]
        designer = Designer(Path(study), own)
        link = f"http://127.0.0.1:{own}/#code={designer.guard.code()}"
        say(f"The designer is at {link}")
        say("The link works once, on this machine. Ctrl-C ends it.")
        designer.warm_up()
        if browser:
            _opened(link, Path(private))
        config = uvicorn.Config(
            designer.guard, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=2
        )
        try:
            uvicorn.Server(config).run(sockets=[bound])
        except KeyboardInterrupt:  # uvicorn raises it again after it has closed everything
            pass
        finally:
            designer.close()


def _socket(port: int) -> socket.socket:
    """A bound socket: what is printed works at once."""
    if not 0 <= port < 2**16:
        raise ParameterError(f"port is {port}.", allowed="0 (any free one) to 65535", fix="--port 8000")
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise ParameterError(
            f"Port {port} cannot be used: {error.strerror}.", allowed="a free port", fix="leave --port out"
        ) from None


def _opened(link: str, folder: Path) -> None:
    """Open a browser by a private file that leads on: arguments of processes can be read by other users."""
    page = folder / "designer.html"
    words = f'<meta http-equiv="refresh" content="0;url={html.escape(link)}">'
    page.write_text(f"<!doctype html><title>barrow</title>{words}", encoding="utf-8")
    threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()
