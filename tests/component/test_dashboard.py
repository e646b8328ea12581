"""`fscrawl dashboard` as a process: what it says, whom it answers over a real socket, and how it ends."""

from __future__ import annotations

import contextlib
import re
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.crawling import CHECKOUT, Running
from tests.support.dashboards import Served, until, write_log
from tests.support.trees import Grown

URL = "http://a.example/"


@pytest.fixture
def grown(root: Path) -> Grown:
    grown = Grown(root)
    grown.page(URL, b"<title>Front</title><a href=b>b</a>")
    grown.page(URL + "b")
    write_log(root, "m-1-aa", *({"beat": n, "pages": n} for n in range(20)), every_s=1.0, alive=True)
    return grown


@pytest.fixture
def served(grown: Grown) -> Iterator[Served]:
    with Served(grown.root) as served:
        yield served


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A dashboard for tests that change nothing."""
    grown = Grown(tmp_path_factory.mktemp("standing") / "tree")
    grown.page(URL)
    with Served(grown.root) as served:
        yield served


@pytest.fixture(scope="module")
def pausable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Path]]:
    """A dashboard with --control, and where the sign of a pause is, for tests that take it away again."""
    grown = Grown(tmp_path_factory.mktemp("pausable") / "tree")
    grown.page(URL)
    with Served(grown.root, "--control") as served:
        yield served, grown.root / "PAUSE"


@pytest.fixture
def controlled(grown: Grown) -> Iterator[Served]:
    with Served(grown.root, "--control") as served:
        yield served


def raw(port: int, request: bytes) -> bytes:
    """Send bytes as they are, and read until the other side closes."""
    with contextlib.closing(socket.create_connection(("127.0.0.1", port), timeout=10)) as connection:
        connection.sendall(request)
        came = b""
        with contextlib.suppress(ConnectionResetError):  # it would not read it all
            while more := connection.recv(65536):
                came += more
        return came


def get(port: int, path: bytes, *headers: bytes) -> int:
    answer = raw(port, b"\r\n".join([b"GET " + path + b" HTTP/1.1", b"Connection: close", *headers, b"", b""]))
    return int(answer.split(b" ", 2)[1])


# -- whom it answers


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([b"Host: localhost"], 200),
        ([b"Host: evil.example"], 400),
        ([], 400),
        ([b"Host: localhost", b"Host: evil.example"], 400),
        ([b"Host: evil.example", b"X-Forwarded-Host: localhost", b"X-Forwarded-For: 127.0.0.1"], 400),
        ([b"Host: localhost", b"Sec-Fetch-Site: cross-site"], 403),
    ],
)
def test_host_header(standing: Served, headers: list[bytes], status: int) -> None:
    """A name that leads here by somebody else's DNS is refused, whatever else the request says."""
    assert get(standing.port, b"/api/state", *headers) == status


@pytest.mark.parametrize(
    "path",
    [
        b"/../../etc/passwd",
        b"/body/%2e%2e/%2e%2e/crawl.toml",
        b"/body/..%2f..%2fcrawl.toml",
        b"/body/a.example/000000000000000000000000%00.html",
        b"/body/a.example\\..\\..",
        b"/static/../app.py",
        b"//etc/passwd",
    ],
)
def test_no_way_out_of_the_directories(standing: Served, path: bytes) -> None:
    """No path leads to a file that is not a page's."""
    assert get(standing.port, path, b"Host: localhost") == 404


@pytest.mark.parametrize(
    "path", ["/", "/dashboard.js", "/api/state", "/metrics", "/nothing", "/body/a.example/x", "/control/pause"]
)
def test_headers_of_every_answer(standing: Served, path: str) -> None:
    """Every answer, errors too, has a policy, is not sniffed, tells no referrer, and is for no other origin."""
    headers = standing.ask("GET", path, {"origin": "http://evil.example"}).headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "frame-ancestors" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert not any(name.startswith("access-control") for name in headers)
    assert "server" not in headers


def test_what_is_no_http(standing: Served) -> None:
    """Rubbish gets a 400, a head without end no answer, and the next request one."""
    assert raw(standing.port, b"\x16\x03\x01\x02\x00\x01\r\n\r\n").startswith(b"HTTP/1.1 400")
    long = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 200_000 + b"\r\n\r\n"
    assert b" 200 " not in raw(standing.port, long)[:20]
    assert standing.ask("GET", "/").status == 200


# -- control


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"x_fscrawl_token": ""}, 403),
        ({"x_fscrawl_token": "wrong"}, 403),
        ({"host": "evil.example"}, 400),
    ],
)
def test_who_may_control(pausable: tuple[Served, Path], headers: dict[str, str], status: int) -> None:
    """Only the token pauses the crawl."""
    served, sign = pausable
    assert not sign.exists()
    assert served.control("pause", **headers).status == status
    paused = sign.exists()
    sign.unlink(missing_ok=True)
    assert paused == (status == 200)


@pytest.mark.gate
def test_control_of_a_crawl(controlled: Served, grown: Grown) -> None:
    """The page is told at once what control has done."""
    with controlled.events() as events:
        until(events, "state", lambda state: state["state"] == "running" and state["control"])
        assert controlled.control("pause").json() == {"done": "created: PAUSE"}
        until(events, "state", lambda state: state["state"] == "pausing")  # no machine is there that would say so
        assert controlled.control("resume").status == 200
        until(events, "state", lambda state: state["state"] == "running")
    assert controlled.control("seed", {"url": "http://new.example"}).status == 200
    assert (grown.root / "seeds.txt").read_text().endswith("\nhttp://new.example/\n")


@pytest.mark.gate
def test_read_only(served: Served, grown: Grown) -> None:
    """Without --control there is no token, and every change is refused; so is every method that could be one."""
    assert served.token == ""
    before = sorted(grown.root.iterdir())
    for verb in ("pause", "resume", "stop", "seed", "retry"):
        assert served.control(verb, {"url": "http://b.example/"}, x_fscrawl_token="x").status == 403
        assert served.ask("GET", f"/control/{verb}").status == 405
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        assert served.ask(method, "/").status == 405
    assert sorted(grown.root.iterdir()) == before


@pytest.mark.gate
def test_tokens_differ(grown: Grown) -> None:
    """Each start has a token of its own, which is long."""
    tokens = set()
    for _ in range(2):
        with Served(grown.root, "--control") as served:
            tokens.add(served.token)
    assert len(tokens) == 2
    assert all(len(token) >= 32 for token in tokens)


# -- streams and the tree


@pytest.mark.gate
def test_events_follow_the_logs(served: Served, grown: Grown) -> None:
    """A beat that is written is an event soon after, without anybody asking."""
    with served.events("/events?window=1h") as events:
        first = until(events, "state")
        assert first["pages"] == 19
        write_log(grown.root, "m-2-bb", {"beat": 0, "pages": 100}, alive=True)
        assert len(until(events, "state", lambda state: state["pages"] == 119)["machines"]) == 2


@pytest.mark.gate
def test_tree_that_goes_and_comes_back(served: Served, grown: Grown) -> None:
    """An unmounted tree is said in the stream, which goes on by itself; the process says nothing of it."""
    with served.events() as events:
        until(events, "state")
        away = grown.root.rename(grown.root.with_name("away"))
        assert "is the share mounted" in until(events, "trouble")["error"]
        assert served.ask("GET", "/api/state").status == 503
        assert b"fscrawl_tree_up 0" in served.ask("GET", "/metrics").body
        away.rename(grown.root)
        until(events, "state", lambda state: state["pages"] == 19)
    done = served.end()
    assert (done.code, done.err.strip()) == (0, "")


# -- its life


@pytest.mark.gate
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_end_with_open_streams(served: Served, number: signal.Signals) -> None:
    """Ctrl-C and SIGTERM end it at once, although pages are open and listen; only Ctrl-C is how it should end."""
    with contextlib.ExitStack() as stack:
        for path in ("/events", "/events/hosts", "/events?window=1h"):
            until(
                stack.enter_context(served.events(path)),
                path.rpartition("/")[2].partition("?")[0].replace("events", "state"),
            )
        began = time.monotonic()
        served.running.signal(number)
        done = served.running.wait(10)
    assert time.monotonic() - began < 3
    said = "terminated: the dashboard has ended, the crawl has not"
    assert (done.code, done.err.strip()) == ((0, "") if number == signal.SIGINT else (143, said))


@pytest.mark.gate
def test_port_that_is_taken(served: Served, grown: Grown) -> None:
    """A port that is taken is one line and exit code 2."""
    with Running(
        [sys.executable, "-m", "fscrawl", "dashboard", "--root", str(grown.root), "--port", str(served.port)],
        cwd=CHECKOUT,
    ) as second:
        done = second.wait()
    assert (done.code, done.out) == (2, "")
    assert done.err == f"fscrawl: --port {served.port}: this port is in use; choose another, or 0 for any free port\n"


@pytest.mark.gate
@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        (["--port", "65536"], 2, "must be a number from 0 to 65535"),
        (["--bind", "192.0.2.1"], 2, "--bind 192.0.2.1: cannot listen on this address"),
        (["--bind", "[2001:db8::1]"], 2, "--bind 2001:db8::1: cannot listen on this address"),
        (["--bind", "a..b"], 2, "--bind a..b: no host can have this name"),
        (["--bind", "x" * 64], 2, "no host can have this name"),
        (["--root", "nowhere"], 75, "is the share mounted?"),
    ],
)
def test_what_cannot_be(grown: Grown, flags: list[str], code: int, said: str) -> None:
    """What is wrong at start is one line, with the exit code of its kind."""
    words = [sys.executable, "-m", "fscrawl", "dashboard", "--root", str(grown.root), "--port", "0", *flags]
    with Running(words, cwd=CHECKOUT) as running:
        done = running.wait()
    assert (done.code, done.err.count("\n")) == (code, 1)
    assert said in done.err


@pytest.mark.gate
def test_missing_extra(grown: Grown, tmp_path: Path) -> None:
    """Without its extra the command says in one line what to install."""
    hidden = "import sys; sys.modules['uvicorn'] = None; from fscrawl.cli import main; sys.exit(main(sys.argv[1:]))"
    with Running([sys.executable, "-c", hidden, "dashboard", "--root", str(grown.root)], cwd=CHECKOUT) as running:
        done = running.wait()
    assert done.code == 2
    assert done.err.startswith("fscrawl: dashboard needs uvicorn: ")
    assert done.err.endswith("'fscrawl[dashboard]'\n")


@pytest.mark.gate
def test_every_address(grown: Grown) -> None:
    """Listening on every address is said to be open to others, and still answers no foreign name."""
    words = [
        sys.executable,
        "-m",
        "fscrawl",
        "dashboard",
        "--root",
        str(grown.root),
        "--port",
        "0",
        "--bind",
        "0.0.0.0",
    ]
    with Running(words, cwd=CHECKOUT) as running:
        assert running.process.stdout is not None
        said = running.process.stdout.readline().decode() + running.process.stdout.readline().decode()
        port = int(re.search(r":(\d+)/", said)[1])
        assert "anyone who can reach this machine can read the crawl" in said
        assert get(port, b"/api/state", b"Host: 127.0.3.7") == 200
        assert get(port, b"/api/state", b"Host: evil.example") == 400


@pytest.mark.gate
def test_standard_output_is_closed(grown: Grown) -> None:
    """Whatever starts it may have closed that. It serves all the same, on the port that it was given."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = f"{sys.executable} -m fscrawl dashboard --root {grown.root} --port {port} >&-"
    with Running(["sh", "-c", f"exec {words}"], cwd=CHECKOUT) as running:

        def is_up() -> bool:
            with contextlib.suppress(OSError):
                return get(port, b"/api/state", f"Host: 127.0.0.1:{port}".encode()) == 200
            return False

        running.until(is_up, "the dashboard answers")


@pytest.mark.gate
def test_many_at_a_time(served: Served) -> None:
    """Fifty streams and requests besides are all answered, out of one look a second."""
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 200
    barrier = threading.Barrier(50)

    def listen(_: int) -> int:
        with served.events() as events:
            barrier.wait(30)
            return until(events, "state")["pages"]

    with ThreadPoolExecutor(50) as pool:
        assert set(pool.map(listen, range(50))) == {19}
    assert served.ask("GET", "/").status == 200
