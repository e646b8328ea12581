"""`seeds.txt`: the URLs and other requests that a crawl begins with, one a line.

    https://a.example/                                    # the label of what this line leads to
    POST https://a.example/search class=Q1 (session 7)    # Q1

Promise: a line that is neither is skipped with a warning that names its place and what would be right. A last line
without a newline may be half written, so a machine that starts waits for it for a few seconds; on a local disk, until
the file is a few seconds old.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

from fscrawl import labels, urls
from fscrawl.config.written_requests import line_of, written_request
from fscrawl.store import SEEDS, Tree
from fscrawl.util.user_text import lines, parted, shown, stray_byte

_POLL_S = 0.25
_WRITING_S = 3.0  # an unfinished last line that stays unchanged for so long is complete
_MOST_WARNINGS = 20  # a file of something else must not fill the terminal
_PAIRS = ('""', "''", "<>", "“”", "‘’", "«»", "``")
_NAME = re.compile(r"(?:(?:[\w-]+\.)+[^\W\d][\w-]*|\d+(?:\.\d+){3}|localhost|\[[0-9a-fA-F:.]+\])(?=[:/?#]|\Z)")


def read_seeds(
    text: str, where: str, warn: Callable[[str], None], warned: set[str] | None = None, begin: int = 0
) -> dict[str, str]:
    """Return the normal forms of the URLs in `text`, and the spellings of its requests, each with its label, "" if it
    has none. Blank lines are skipped. Of a seed on several lines the first one counts.

    `where` names the text in warnings. `warned`: lines that have been warned of already; new ones are added. `begin`:
    where a line begins; those before it are left out.
    """
    found: dict[str, str] = {}
    for _ in reading(found, text, where, warn, warned, begin):
        pass
    return found


def reading(
    found: dict[str, str], text: str, where: str, warn: Callable[[str], None], warned: set[str] | None, begin: int
) -> Iterator[None]:
    """Do what `read_seeds` does, into `found`, a line at each step: 200,000 lines take seconds."""
    bad = 0
    for line in lines(text, begin):
        yield
        try:
            found.setdefault(_read_line(line.text), labels.in_comment(line.comment))
        except ValueError as error:
            if warned is not None:
                if line.text in warned:
                    continue
                warned.add(line.text)
            bad += 1
            if bad <= _MOST_WARNINGS:
                column = line.column + (error.offset if isinstance(error, _ByteError) else 0)
                shown_line = "" if isinstance(error, _ByteError) else f": {shown(urls.without_login(line.text))}"
                warn(f"{where}:{line.number}:{column}: {error}, skipped{shown_line}")
    if bad > _MOST_WARNINGS:
        warn(f"{where}: {bad - _MOST_WARNINGS} more lines like these, skipped")


class _ByteError(ValueError):
    """A byte that is no text. `offset`: in the line."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


def _read_line(text: str) -> str:
    """Return the normal form of the URL on a line, or the spelling of the request; ValueError with what is wrong."""
    stray = stray_byte(text)
    if stray is not None:
        raise _ByteError(*stray)
    if "\0" in text:
        raise _ByteError(text.index("\0"), "a NUL byte is no text; save the file as UTF-8")
    if any(text[0] == pair[0] and text[-1] == pair[1] for pair in _PAIRS):
        text = text[1:-1].strip()
    words = text.split()
    if len(words) > 1 and written_request(text) is None:
        if "://" in words[1]:
            raise ValueError("there must be one URL on a line")
        raise ValueError("a URL has no white space; write %20 for a blank, and # before a comment")
    return read_seed(text)


def read_given(text: str) -> tuple[str, str]:
    """Return a seed that is given by itself, as on a command line, with its label; ValueError with what is wrong.

    What is behind a # is a label, as on a line of a file. It must not become a part of the URL or of a form.

    >>> read_given("http://a.example/?q=1  # day 1")
    ('http://a.example/?q=1', 'day 1')
    >>> read_given("http://a.example/1\\nhttp://a.example/2")
    Traceback (most recent call last):
    ValueError: there must be one URL
    """
    bare, comment = parted(text)
    words = bare.split()
    is_two = len(words) > 1 and "://" in words[1] and written_request(bare.strip()) is None
    if is_two or "\n" in comment:
        raise ValueError("there must be one URL")
    return read_seed(bare), labels.in_comment(comment)


def read_seed(text: str) -> str:
    """Return the normal form of a seed, or its spelling if it is a request; ValueError with what is wrong.

    >>> read_seed("http://a.example:25/")
    Traceback (most recent call last):
    ValueError: port 25 is of another protocol than HTTP, and never asked
    >>> read_seed("a.example/x")
    Traceback (most recent call last):
    ValueError: not an http or https URL; write https://a.example/x
    """
    url = written_request(text.strip()) or urls.normalise(text)
    if url is None:
        raise ValueError(f"not an http or https URL{_advice(text)}")
    if (port := urls.bad_port(url)) is not None:
        raise ValueError(f"port {port} is of another protocol than HTTP, and never asked")
    return url


def _advice(text: str) -> str:
    """Say what was probably meant."""
    bare = text.strip()
    if len(bare) > urls.MAX_URL_CHARS:
        return f", since it is longer than {urls.MAX_URL_CHARS} characters"
    whole = f"https:{bare}" if bare.startswith("//") else f"https://{bare}"
    url = urls.normalise(whole) if bare.startswith("//") or _NAME.match(bare) else None
    if url is None or ("@" in url and urls.without_login(bare) != bare):  # it may have become a part of the path
        return ""
    return f"; write {shown(url)}"


def line_of_seed(seed: str, label: str) -> str:
    """Give a seed as it is written on a line.

    >>> line_of_seed("http://a.example/", "day 1")
    'http://a.example/  # day 1'
    """
    return f"{line_of(seed)}  # {label}" if label else line_of(seed)


def wait_for_seeds(tree: Tree, warn: Callable[[str], None]) -> dict[str, str]:
    """Read the tree's `seeds.txt` when a machine starts. Wait while its last line may still be written."""
    text = wait_for_lines(tree, SEEDS, tree.controls.seeds, warn)
    return read_seeds(text, f"{tree.root}/{SEEDS}", warn)


def wait_for_lines(tree: Tree, name: str, read: Callable[[], str], warn: Callable[[str], None]) -> str:
    """Read a file of lines in the root when a machine starts. Wait while its last line may still be written."""
    text, since = read(), time.monotonic()
    warned = False
    while text and not text.endswith("\n"):
        if tree.controls.same_s(name, time.monotonic() - since, time.time()) >= _WRITING_S:
            break
        if not warned:
            warned = True
            where = f"{tree.root}/{name}"
            warn(f"{where}: the last line does not end with a newline; waiting a few seconds for the rest of it")
        time.sleep(_POLL_S)
        again = read()
        if again != text:
            text, since = again, time.monotonic()
    return text
