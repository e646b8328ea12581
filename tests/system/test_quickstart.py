"""The quick start and the first day are true: their commands, all of them, are typed in their order.

Quick start: two machines share a directory by sshfs. A command is a line of an indented block of docs/quickstart.md. A
comment before a block says what a reader sees by the text around it: `second machine`, `stays` (it runs on in its
terminal), `exit 1`. What differs from a reader's world is replaced: the two directories, the host that shares, the
sites, and how long to wait.

First day: what is printed is compared with docs/first-day.md. A command is a line of a `console` block that begins with
"$ ". All other lines of these blocks are what was printed. FSCRAWL_TRANSCRIPT=1 writes what is printed now into the
document. What differs from run to run is replaced on both sides: times, rates, sizes, how two machines shared the work,
and the names of machines.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Self

import pytest

from demo.server import Server
from demo.site import HOSTS as DEMO_HOSTS
from demo.site import Site
from tests.support.crawling import check_tree, pages
from tests.support.shares import sshfs as mounts
from tests.support.web import Request, Response, Web, linked_site

CHECKOUT = Path(__file__).resolve().parent.parent.parent
HOSTS = ["127.0.41.1", "127.0.41.2"]
SETTINGS = ("politeness.delay=0.05", "fetch.allow_addresses=['127.0.0.0/8']", "fleet.beat=2", "fleet.dead_after=8")
DEADLINE_S = 60.0  # of a command; all but the demo end within seconds
HTML = {"Content-Type": "text/html"}


class Command(NamedTuple):
    """A line of the quick start, and what the comment before its block says."""

    text: str
    second: bool
    stays: bool
    code: int


def commands(text: str) -> Iterator[Command]:
    """Read the commands of a document.

    >>> list(commands("<!-- second machine, exit 1 -->\\n\\n    false\\n\\ntext\\n\\n    true\\n"))[0]
    Command(text='false', second=True, stays=False, code=1)
    """
    said = ""
    for line in text.splitlines():
        if line.startswith("    "):
            exits = re.search(r"exit (\d+)", said)
            yield Command(line.strip(), "second machine" in said, "stays" in said, int(exits[1]) if exits else 0)
        elif line.strip():
            found = re.fullmatch(r"<!-- (.*) -->", line)
            said = found[1] if found else ""


class Terminal:
    """A bash in which commands are typed one after another; leaving the `with` ends whatever runs in it."""

    def __init__(self, directory: Path, log: Path, home: Path) -> None:
        self._log = log
        self._count = 0
        with log.open("wb") as printed:
            self._bash = subprocess.Popen(
                ["bash", "--norc"],
                stdin=subprocess.PIPE,
                stdout=printed,
                stderr=subprocess.STDOUT,
                cwd=directory,
                env={**os.environ, "HOME": str(home), "COLUMNS": "120", "TERM": "dumb"},
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._bash.pid, signal.SIGKILL)
        assert self._bash.stdin is not None
        with contextlib.suppress(OSError):
            self._bash.stdin.close()
        self._bash.wait()

    def type(self, text: str) -> None:
        assert self._bash.stdin is not None
        self._count += 1
        self._bash.stdin.write(f"{{ {text}\n}} </dev/null; printf '\\n@%d %d@\\n' {self._count} $?\n".encode())
        self._bash.stdin.flush()

    def answer(self, deadline_s: float = DEADLINE_S) -> tuple[int, str]:
        """Wait for the last command's end; give its exit code, and all that was printed so far."""
        until = time.monotonic() + deadline_s
        while True:
            printed = self._log.read_text(encoding="utf-8", errors="replace")
            over = re.search(rf"@{self._count} (\d+)@", printed)
            if over:
                return int(over[1]), printed
            assert time.monotonic() < until, printed
            assert self._bash.poll() is None, printed
            time.sleep(0.02)


def site(request: Request) -> Response:
    """Give a linked site whose first page also links to one that robots.txt forbids."""
    if request.path == "/robots.txt":
        return Response(200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /private/\n")
    answer = linked_site(60, 4)(request)
    if request.path == "/":
        return Response(200, HTML, answer.body + b"<a href=/private/report>for us</a>")
    return answer


def checkout(directory: Path) -> Path:
    """Make a directory that looks like the checkout, with a `.venv` that is made already."""
    directory.mkdir()
    for name in ("Makefile", "crawl.py", "demo", "fscrawl", "pyproject.toml", "constraints.txt"):
        (directory / name).symlink_to(CHECKOUT / name)
    venv = directory / ".venv"
    venv.mkdir()
    for name in ("bin", "lib", "include"):
        (venv / name).symlink_to(CHECKOUT / ".venv" / name)
    shutil.copy(CHECKOUT / ".venv/pyvenv.cfg", venv)
    for stamp in (".run", ".merge", ".dev"):
        (venv / stamp).touch()
    return directory


# Where no sshd was ever started as a service its directory is missing: it gets one in a mount namespace of its own.
_SSHD = """\
#!/bin/sh
exec unshare --mount sh -c 'mount -t tmpfs none /run && mkdir /run/sshd && exec "$0" "$@"' {sshd} "$@"
"""


@pytest.fixture
def sshd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[mounts.Sshd]:
    missing = mounts.missing()
    if missing or os.geteuid() != 0:
        pytest.skip(f"a mount needs root and these: {', '.join(missing) or 'all are there'}")
    if not Path("/run/sshd").exists():
        wrapper = tmp_path / "sshd"
        wrapper.write_text(_SSHD.format(sshd=mounts._sshd()))
        wrapper.chmod(0o755)
        monkeypatch.setattr(mounts, "_sshd", lambda: str(wrapper))
    with mounts.Sshd() as running:
        yield running


@pytest.fixture
def point(tmp_path: Path) -> Iterator[Path]:
    """Where the second machine mounts; whatever happens it is unmounted."""
    where = tmp_path / "mnt" / "shared"
    where.parent.mkdir()
    yield where
    if os.path.ismount(where):
        subprocess.run(["fusermount", "-uz", str(where)], check=False)


def replaced(web: Web, sshd: mounts.Sshd, tmp_path: Path, point: Path) -> Callable[[str], str]:
    """Give what puts the test's world into a command."""
    key = sshd._directory / "user"
    ssh = f"port={sshd.port},IdentityFile={key},StrictHostKeyChecking=no,UserKnownHostsFile=/dev/null,BatchMode=yes"
    first, second = (web.url(host, "/") for host in HOSTS)
    table = {
        "--set crawl.max_pages=20": " ".join(f"--set {each}" for each in ("crawl.max_pages=20", *SETTINGS)),
        "sshfs ": f"sshfs -o {ssh},LogLevel=ERROR ",
        "storage.example:": "127.0.0.1:",
        "/srv/crawl": str(tmp_path / "srv" / "crawl"),
        "/mnt/shared": str(point),
        "https://example.org/": first,
        "https://www.example.com/": second,
        "links/example.org/": f"links/{HOSTS[0]}_{web.port}/",
    }

    def replace(text: str) -> str:
        for old, new in table.items():
            text = text.replace(old, new)
        return text

    return replace


def wait_for(holds: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < until, what
        time.sleep(0.02)


PRINTED = {
    "fscrawl doctor --root /srv": "there is no tree at",
    "fscrawl doctor --root /mnt": "this machine sees the heartbeats of ",
    "fscrawl show --root /srv/crawl https://example.org/private": "Disallow: /private/",
    "fscrawl show --root /srv/crawl https://example.org/ ": "stored    200",
    "fscrawl audit": "nothing is wrong",
    "python -c": "Page 1",
}


@pytest.mark.root
@pytest.mark.timeout(300)
def test_the_quick_start_can_be_walked(tmp_path: Path, sshd: mounts.Sshd, point: Path) -> None:
    """Every command of the quick start does what the text says, on two machines that share a directory by sshfs."""
    here, root = checkout(tmp_path / "checkout"), tmp_path / "srv" / "crawl"
    root.parent.mkdir()
    with Web(site, hosts=HOSTS, deadline_s=300) as web, contextlib.ExitStack() as open_:
        replace = replaced(web, sshd, tmp_path, point)

        def terminal(name: str) -> Terminal:
            return open_.enter_context(Terminal(here, tmp_path / name, tmp_path))

        desks = {False: terminal("first"), True: terminal("second")}
        staying: list[Terminal] = []
        for command in commands((CHECKOUT / "docs/quickstart.md").read_text(encoding="utf-8")):
            if command.stays:
                staying.append(terminal(f"staying-{len(staying)}"))
                staying[-1].type('export PATH="$PWD/.venv/bin:$PATH"')
                staying[-1].type(replace(command.text))
                machines = len(staying)
                wait_for(lambda n=machines: at_work(root) == n, f"{machines} machines at work")
                continue
            desk = desks[command.second]
            desk.type(replace(command.text))
            code, printed = desk.answer()
            assert code == command.code, f"{command.text}\n{printed}"
            for beginning, wanted in PRINTED.items():
                assert not command.text.startswith(beginning) or wanted in printed, f"{command.text}\n{printed}"
            if "seeds.txt" in command.text:
                wait_for(lambda: web.count(HOSTS[1]) > 5, "the added seed")
            if command.text.startswith("fscrawl stop"):
                assert [each.answer()[0] for each in staying] == [0, 0]
        assert len(staying) == 2
    assert web.duplicates() == {}
    assert {each.url.split("/")[2].partition(":")[0] for each in pages(root).values()} == set(HOSTS)
    check_tree(root)
    assert not os.path.ismount(point)


def at_work(root: Path) -> int:
    """Count the machines that have said hello and not goodbye."""
    logs = [path.read_text(encoding="utf-8") for path in (root / ".fscrawl/machines").glob("*.log")]
    return sum("hello" in log and '"bye"' not in log for log in logs)


# -- the first day

FIRST_DAY = CHECKOUT / "docs/first-day.md"
PORT = "8713"  # of the demo's web in the document
_BLOCK = re.compile(r"(?<=```console\n).*?(?=```\n)", re.DOTALL)

_VARIES = (
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"),
    (r"\d\d:\d\d:\d\d", "TIME"),
    (r"\b[\w.-]+-\d+-[0-9a-f]{16}\b", "MACHINE"),
    (r"(?<=crawl )[0-9a-f]{16}", "CRAWL"),
    (r"\b[0-9a-f]{24}\b", "KEY"),  # the key and the shard depend on the port
    (r"shard \d+", "SHARD"),
    (r"\d+(\.\d+)? (B|kB|MB|GB|TB|bytes)\b", "SIZE"),
    (r"\d+(?:\.\d+)? (s\b|pages/s)", r"N \1"),
    (r"(1 min|60 min): +[\d.]+", r"\1: N"),
    (r"^(this machine  ).*", r"\1N pages"),
    (r"(stopped: interrupted; ).*", r"\1PENDING"),
    (r"^(the tree ).*, (?!0 )[\d,]+ URLs? pending.*", r"\1N"),
    (r" +", " "),
)


def normal(text: str, port: str) -> list[str]:
    """Give the lines of a text without what varies."""
    text = text.replace(f":{port}/", f":{PORT}/").replace(f"_{port}", f"_{PORT}")
    for pattern, word in _VARIES:
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    return [line.strip() for line in text.splitlines() if line.strip()]


def session(text: str) -> Iterator[tuple[str, str]]:
    """Read the commands of a document, each with what it printed."""
    for block in _BLOCK.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            yield command, printed


@pytest.mark.timeout(240)
def test_the_session_is_real(tmp_path: Path) -> None:
    """Each command of the document prints what the document shows."""
    text = FIRST_DAY.read_text(encoding="utf-8")
    with Server(Site(), DEMO_HOSTS, deadline_s=10) as server:
        port = str(server.port)  # free on all hosts
    played = play(tmp_path, [command for command, _ in session(text)], port)
    if os.environ.get("FSCRAWL_TRANSCRIPT"):
        FIRST_DAY.write_text(_BLOCK.sub(lambda block: written(block[0], played, port), text), encoding="utf-8")
        return
    for command, shown in session(text):
        assert normal(next(played), port) == normal(shown, PORT), command


def written(block: str, played: Iterator[str], port: str) -> str:
    """Give a block with what is printed now."""
    lines = []
    for command in re.findall(r"^\$ (.*)$", block, flags=re.MULTILINE):
        printed = next(played).replace(f":{port}/", f":{PORT}/").replace(f"_{port}", f"_{PORT}")
        lines += [f"$ {command}", *(line.rstrip() for line in printed.splitlines())]
    return "\n".join(lines) + "\n"


def play(directory: Path, commands: list[str], port: str) -> Iterator[str]:
    """Type the commands; give what each printed. A clone with the libraries of this checkout is prepared."""
    prepared = checkout(directory / "prepared")
    log = directory / "printed"
    with Terminal(directory, log, directory) as terminal:
        before = 0
        for command in commands:
            terminal.type(as_typed(command, port, prepared))
            _, printed = terminal.answer(deadline_s=120)
            yield printed[before:].rpartition("\n@")[0].strip("\n")
            before = len(printed)


def as_typed(command: str, port: str, prepared: Path) -> str:
    """Give a command as it is typed here: the clone is local, and its libraries need no index."""
    if command.startswith("git clone"):
        return f"cp -a {prepared} fscrawl"
    return command.replace(PORT, port)
