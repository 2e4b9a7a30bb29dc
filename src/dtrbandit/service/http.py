"""HTTP as it comes over a connection: uvicorn's fast protocol, with a limit on what is no body."""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dtrbandit.service.problems import MEDIA_TYPE, Refused

MOST_HEAD_BYTES = 32 * 1024  # of an address with its headers; clients send some hundred


class HeadTooLarge(Exception):  # noqa: N818  # what a head is
    """The address and the headers of a request have more bytes than allowed."""


class CappedHttp(HttpToolsProtocol):
    """One connection, which is closed when a head goes on for ever: uvicorn would keep all of it.

    It counts what the parser has told of a head, and what came since the parser last told the end of a head or a part
    of a body. The second count finds a single header, a trailer or an extension of a chunk that does not end.
    """

    _head = 0
    _untold = 0

    def data_received(self, data: bytes) -> None:
        """Let the parser take what came, and close the connection if it keeps too much."""
        self._untold += len(data)
        super().data_received(data)
        if self._untold > MOST_HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("")

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._head = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a part of the address."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, or a trailer."""
        self._count(len(name) + len(value) + 4)
        super().on_header(name, value)

    def _count(self, more: int) -> None:
        self._head += more
        if self._head > MOST_HEAD_BYTES:
            raise HeadTooLarge  # which ends the parser, so that no application sees the request

    def on_headers_complete(self) -> None:
        """Begin to answer."""
        self._untold = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of the body, which the application limits."""
        self._untold = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        self._untold = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  # uvicorn's words are not what a client needs
        """Say what is wrong, and close the connection."""
        if max(self._head, self._untold) > MOST_HEAD_BYTES:
            refused = Refused("headers", f"address and headers have more than {MOST_HEAD_BYTES:,} bytes")
        else:
            refused = Refused("bad-request", "what came is no request in HTTP/1.1")
        self.transport.write(as_http(refused))
        self.transport.close()


def as_http(refused: Refused) -> bytes:
    """Return a refusal as it goes over a connection, which it ends."""
    body = refused.body()
    head = f"HTTP/1.1 {refused.status} Refused\r\ncontent-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\n"
    return f"{head}connection: close\r\n\r\n".encode() + body
