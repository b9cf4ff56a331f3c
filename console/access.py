"""Who may open the console: tokens, cookies, and the checks of every request against other web pages.

The address that is printed ends in a token after a #, which a browser keeps to itself. The page exchanges it for
a cookie that no script can read. A page of another origin, a name that was rebound to this machine and a form on
another page have neither; each is refused by its own check as well.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "granite_console"
#: sessions at a time: the oldest one ends with one more
_SESSIONS = 64
#: longest body of a request [bytes]
_LONGEST = 2**16
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "media-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Tokens:
    """Two tokens, one to operate and one to look, and the sessions that were opened by them."""

    def __init__(self) -> None:
        self.operating, self.looking = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        #: by cookie: whether it may operate
        self._sessions: dict[str, bool] = {}

    def open_session(self, token: str) -> str | None:
        """The cookie of a new session; None where the token is wrong."""
        may_operate = hmac.compare_digest(token.encode(), self.operating.encode())
        if not may_operate and not hmac.compare_digest(token.encode(), self.looking.encode()):
            return None
        cookie = secrets.token_urlsafe(24)
        self._sessions[cookie] = may_operate
        if len(self._sessions) > _SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return cookie

    def may_operate(self, cookie: str | None) -> bool | None:
        """Whether the session of a cookie may operate; None where there is no such session."""
        return self._sessions.get(cookie or "")

    def write(self, path: Path) -> None:
        """Write both tokens into a file that its owner alone can read."""
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(f"operate {self.operating}\nlook {self.looking}\n")


class Access:
    """Checks every request before the application sees it.

    Parameters
    ----------
    app
        The application.
    tokens
        Of the console.
    hosts
        Names and ports by which the page may be called.
    scheme
        http or https.
    public
        Paths that need no session, beside the page itself; one that ends in / stands for all below it.
    """

    def __init__(self, app: ASGIApp, tokens: Tokens, hosts: Iterable[str], scheme: str, public: Iterable[str]) -> None:
        self._app, self._tokens, self._hosts = app, tokens, frozenset(hosts)
        self._scheme, self._public = scheme, tuple(public)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        problem = self._problem(scope)
        if problem is None:
            await self._app(scope, receive, _with_headers(send) if scope["type"] == "http" else send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await PlainTextResponse(f"{problem}\n", 403, _HEADERS)(scope, receive, send)

    def _problem(self, scope: Scope) -> str | None:
        """Why a request is refused."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self._hosts:
            return "refused: this page is not called by that name"
        is_socket, is_post = scope["type"] == "websocket", scope.get("method") == "POST"
        if (is_socket or is_post or origin is not None) and origin != f"{self._scheme}://{host}":
            return "refused: a request of another page"
        if is_post and headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return "refused: expected JSON"
        if is_post and not headers.get("content-length", "x").isdigit():
            return "refused: expected a body of a known length"
        if is_post and int(headers["content-length"]) > _LONGEST:
            return f"refused: expected a body of at most {_LONGEST} bytes"
        session = self._tokens.may_operate(cookie_of(headers.get("cookie", "")))
        path = scope["path"]
        is_public = path == "/" or any(path.startswith(p) if p.endswith("/") else path == p for p in self._public)
        if session is None and (is_socket or not is_public):
            return "refused: open the address that granite console printed"
        scope["may_operate"] = bool(session)
        if is_post and not session and scope["path"] not in self._public:
            return "refused: this session may only look"
        return None


def cookie_of(header: str) -> str | None:
    """The console's cookie in a header."""
    try:
        cookie = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return None
    return cookie.value if cookie else None


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            names = {name.lower() for name, _ in message["headers"]}
            more = [(k.encode(), v.encode()) for k, v in _HEADERS.items() if k.encode() not in names]
            headers: MutableMapping[str, Any] = message
            headers["headers"] = [*message["headers"], *more]
        await send(message)

    return sending
