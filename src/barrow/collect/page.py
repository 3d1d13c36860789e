"""The demo page of a collector: a person answers in a browser and sees what leaves it, and what all answers say."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from barrow.collect.card import Card
from barrow.collect.web import Handler, Reply, constant
from barrow.errors import ParameterError

_KINDS = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css"}


def client_folder() -> Path:
    """The JavaScript client: in the package where it was installed, in the checkout otherwise."""
    here = Path(__file__).resolve()
    for folder in (here.parent / "js", here.parents[3] / "clients" / "js"):
        if (folder / "src" / "index.js").is_file():
            return folder
    raise ParameterError(
        "The JavaScript client is not installed beside the package.",
        allowed="a wheel of barrow, or a checkout with its folder clients/",
        fix="install barrow again",
    )


def demo_routes(card: Card) -> dict[tuple[str, str], Handler]:
    """The page, its script and style, and the client's modules; only the card's addresses may be contacted from it."""
    folder = client_folder()
    files = {"/": folder / "demo" / "index.html"}
    files |= {f"/{name}": folder / "demo" / name for name in ("demo.css", "demo.js")}
    files |= {f"/client/{path.name}": path for path in sorted((folder / "src").glob("*.js"))}
    hosts = sorted({"{0.scheme}://{0.netloc}".format(urlsplit(address)) for address in card.send.values()})
    policy = (
        f"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' {' '.join(hosts)}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return {("GET", path): _serve(file, policy) for path, file in files.items()}


def _serve(file: Path, policy: str) -> Handler:
    body, kind = file.read_bytes(), _KINDS[file.suffix]
    headers = {
        "content-type": kind,
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
    }
    return constant(Reply(body, 200, tuple((name.encode(), value.encode()) for name, value in headers.items())))
