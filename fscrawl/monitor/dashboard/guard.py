"""Which requests the dashboard answers, and with which headers. `refusal` and `headers_for` are pure.

Vocabulary:
  names     the host names that a request may use; in a DNS rebinding attack a request has the attacker's name
  token     a secret that is printed when the dashboard starts
  foreign   requested by a page of another origin

Promise: pages of other origins can neither read an answer nor put it into a frame. A policy lets the browser run only
the scripts of the dashboard. Only a POST with the token changes anything. It is in a header of our own, which a page of
another origin may not send without being allowed to (Fetch, "CORS-preflight fetch"), and nobody is.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping

import msgspec
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fscrawl.hostnames import is_address

TOKEN_HEADER = "x-fscrawl-token"  # noqa: S105 - the name of the header
CONTROL = "/control/"
BODY = "/body/"
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; frame-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
# `sandbox` alone: no script, no form, no new window, an origin of its own, no access to the page around it
_BODY_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'"
)
_COMMON = {
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-dns-prefetch-control": "off",  # no policy stops a browser from resolving the names in a stored page
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
    "connection": "close",  # see `serve`
}
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?\Z")
_PATH = re.compile(r"/[A-Za-z0-9._/-]*\Z")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_EVERY_ADDRESS = frozenset({"0.0.0.0", "::"})  # noqa: S104 - to recognise it


class Names(msgspec.Struct, frozen=True):
    """The host names that a request may use. `any_address`: any IP address is allowed, too."""

    names: frozenset[str]
    any_address: bool = False

    def allow(self, header: str) -> bool:
        """Tell whether a Host header is one of these, with any port (it may be a tunnel's).

        >>> [names_for("127.0.0.1", "box").allow(each) for each in ("localhost:9000", "evil.example:8712", "")]
        [True, False, False]
        """
        found = _HOST.match(header.lower())
        return found is not None and (found[1] in self.names or (self.any_address and is_address(found[1])))


def names_for(host: str, machine: str) -> Names:
    """Give the names for an address to listen on. `machine`: this machine's name, allowed if it listens on all.

    >>> names_for("192.0.2.7", "box").allow("192.0.2.7:8712"), names_for("0.0.0.0", "Box").allow("box:8712")
    (True, True)
    """
    if host in _EVERY_ADDRESS:
        return Names(_LOOPBACK | {machine.lower()}, any_address=True)
    return Names(_LOOPBACK | {f"[{host}]".lower() if ":" in host else host.lower()})


def refusal(
    method: str, path: str, headers: Mapping[str, str], names: Names, token: str | None
) -> tuple[int, str] | None:
    """Say why a request is refused: (status, one line); None if it is answered.

    `path` is decoded, the names of `headers` are lower case.

    >>> refusal("GET", "/", {"host": "evil.example"}, names_for("127.0.0.1", ""), None)[0]
    400
    """
    if not names.allow(headers.get("host", "")):
        return 400, "the dashboard does not answer to this host name; use the address that it printed"
    if not _PATH.match(path) or ".." in path:
        return 404, "not found"
    if method in {"GET", "HEAD"}:
        # a link on another site may open the page; other sites get nothing else, and cannot make the dashboard work
        foreign = headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}
        return (403, "requested by another site") if foreign and path != "/" else None
    if method != "POST" or not path.startswith(CONTROL):
        return 405, "only GET is allowed here"
    return _control_refusal(headers, token)


def _control_refusal(headers: Mapping[str, str], token: str | None) -> tuple[int, str] | None:
    if token is None:
        return 403, "this dashboard is read-only; start it with --control to change that"
    if not secrets.compare_digest(headers.get(TOKEN_HEADER, "").encode(), token.encode()):
        return 403, "the token is missing or wrong; open the address that was printed at the start"
    return None


def headers_for(path: str) -> dict[str, str]:
    """Give the security headers of an answer: for the page, or for a stored body in its frame.

    >>> headers_for("/")["x-frame-options"], headers_for("/body/a.example/0123")["x-frame-options"]
    ('DENY', 'SAMEORIGIN')
    """
    if path.startswith(BODY):
        return {**_COMMON, "content-security-policy": _BODY_POLICY, "x-frame-options": "SAMEORIGIN"}
    return {**_COMMON, "content-security-policy": _PAGE_POLICY, "x-frame-options": "DENY"}


class Guard:
    """Checks each request before the application gets it. `token` None: nothing can be changed."""

    def __init__(self, app: ASGIApp, names: Names, token: str | None) -> None:
        self._app = app
        self._names = names
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        path: str = scope["path"]
        extra = [(name.encode(), value.encode()) for name, value in headers_for(path).items()]

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *extra]
            await send(message)

        asked = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refused = refusal(scope["method"], path, asked, self._names, self._token)
        app = self._app if refused is None else PlainTextResponse(f"{refused[1]}\n", refused[0])
        await app(scope, receive, send_guarded)
