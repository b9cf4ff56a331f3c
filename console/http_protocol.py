"""HTTP of the console: after a request that is no HTTP, the connection is closed in steps (RFC 9112, 9.6)."""

from __future__ import annotations

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

#: how long the rest of a request that was refused is read, and dropped [s]
_READ_S = 2.0


class HttpProtocol(H11Protocol):
    """Answers a malformed request and reads on: a close with unread bytes is a reset, which destroys the answer."""

    _is_refused = False

    def data_received(self, data: bytes) -> None:
        """Bytes of a client."""
        if not self._is_refused:
            super().data_received(data)

    def send_400_response(self, msg: str) -> None:
        """Refuse, end this side, and close when the client has ended its own."""
        self._is_refused = True
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
        answer = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
        for event in (answer, h11.Data(data=msg.encode("ascii")), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(_READ_S, self.transport.close)
