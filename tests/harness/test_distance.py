"""A server that is made distant by a relay."""

import contextlib
import socket
import socketserver
import threading
import time

import pytest

from tests.support.shares.distance import Distance

FAR_S = 0.05


class Echo(socketserver.BaseRequestHandler):
    """Sends back what it gets, and at the end says so."""

    def handle(self):
        while data := self.request.recv(1 << 16):
            self.request.sendall(data)
        self.request.sendall(b"end")


@pytest.fixture
def port():
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        with Distance(server.server_address[1], FAR_S) as relay:
            yield relay
        server.shutdown()
        serving.join()


def received(connection):
    found = b""
    while data := connection.recv(1 << 16):
        found += data
    return found


def test_bytes(port):
    """All bytes come back in their order, also the end of what is sent; none before it has gone both ways."""
    sent = bytes(range(256)) * 4096
    with socket.create_connection(("127.0.0.1", port)) as connection:
        began = time.monotonic()
        sending = threading.Thread(target=lambda: (connection.sendall(sent), connection.shutdown(socket.SHUT_WR)))
        sending.start()
        first = connection.recv(1)
        assert time.monotonic() - began >= 2 * FAR_S
        assert first + received(connection) == sent + b"end"
        sending.join()


def test_connections_end_with_it():
    """Who is still connected when it ends, is told."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo) as server, contextlib.ExitStack() as stack:
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        port = stack.enter_context(Distance(server.server_address[1], 0.0))
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"x")
            assert connection.recv(1) == b"x"
            stack.close()
            assert received(connection) in (b"", b"end")
        server.shutdown()
        serving.join()


def test_a_server_that_is_gone():
    """A connection to a server that has ended is closed, and the relay ends as always."""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with (
        Distance(port, 0.0) as relay,
        socket.create_connection(("127.0.0.1", relay)) as connection,
        contextlib.suppress(ConnectionResetError),
    ):
        assert connection.recv(1) == b""
