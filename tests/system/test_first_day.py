"""The session in docs/first-day.md is real: each command is run in its order, and what it prints is compared.

A command is a line of a `console` block that begins with "$ ". All other lines of these blocks are what was printed.
FSCRAWL_TRANSCRIPT=1 writes what is printed now into the document. What differs from run to run is replaced on both
sides: times, rates, sizes, how two machines shared the work, and the names of machines.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.server import Server
from demo.site import HOSTS, Site
from tests.system.test_quickstart import Terminal, checkout

CHECKOUT = Path(__file__).resolve().parents[2]
DOCUMENT = CHECKOUT / "docs" / "first-day.md"
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
    text = DOCUMENT.read_text(encoding="utf-8")
    with Server(Site(), HOSTS, deadline_s=10) as server:
        port = str(server.port)  # free on all hosts
    played = play(tmp_path, [command for command, _ in session(text)], port)
    if os.environ.get("FSCRAWL_TRANSCRIPT"):
        DOCUMENT.write_text(_BLOCK.sub(lambda block: written(block[0], played, port), text), encoding="utf-8")
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
            terminal.type(replaced(command, port, prepared))
            _, printed = terminal.answer(deadline_s=120)
            yield printed[before:].rpartition("\n@")[0].strip("\n")
            before = len(printed)


def replaced(command: str, port: str, prepared: Path) -> str:
    """Give a command as it is typed here: the clone is local, and its libraries need no index."""
    if command.startswith("git clone"):
        return f"cp -a {prepared} fscrawl"
    return command.replace(PORT, port)


def test_what_varies_is_replaced() -> None:
    """Two sessions agree although their machines, times and sizes differ; they differ where a number matters."""
    one = "fetched   2026-11-23T01:02:03.004Z by host-12-0123456789abcdef\nthe tree      5 pages (3 kB), 1 failure"
    other = "fetched  2027-01-01T00:00:00.000Z by b-1-fedcba9876543210\nthe tree 5 pages (12 MB), 1 failure"
    assert normal(one, PORT) == normal(other, "9999")
    assert normal(one, PORT) != normal(other.replace("5 pages", "6 pages"), PORT)


def test_a_session_is_read() -> None:
    """A block's commands have the lines behind them."""
    text = "a\n```console\n$ one\nout\n\n$ two\n```\nb\n```\n$ not this\n```\n"
    assert list(session(text)) == [("one", "out\n\n"), ("two", "")]
