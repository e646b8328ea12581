"""The main content by resiliparse: what it is, and the pages that it is not asked about."""

import subprocess
import sys
import time

import pytest

from fscrawl.parse.text import Text, read

ARTICLE = b"<html lang=en><nav><a href=/>Home</a></nav><article><h1>Head</h1>%s</article><footer>Foot</footer>" % (
    b"<p>A paragraph that is long enough to be taken for the content of this page, or so it is hoped.</p>" * 5
)


def fast(html: bytes) -> str:
    return read(html, "fast").text


def test_fast_content():
    """It is the article without navigation and footer, a line for each block; the language is the page's."""
    found = read(ARTICLE, "fast")
    assert found.text.split("\n")[0] == "Head"
    assert found.text.count("\nA paragraph") == 5
    assert "Home" not in found.text
    assert "Foot" not in found.text
    assert found.language == "en"


def test_cells_and_code():
    """Cells are parted by one tab, and code keeps what stands before its lines."""
    page = ARTICLE.replace(b"</h1>", b"</h1><table><tr><td>one<td>two words</table><pre>if x:\n    return\n\ny</pre>")
    assert "\none\ttwo words\n" in fast(page)
    assert "\nif x:\n    return\ny\n" in fast(page)


def test_clean():
    """Control characters and odd white space do not get into it, and no line is empty."""
    text = fast(ARTICLE.replace(b"A par", "\x01\x0bA&#1;&#x85;&#xd800;\0\u2028\xa0par\x1c\x7f\x84".encode()))
    assert all(c in "\n\t" or (ord(c) >= 32 and not 127 <= ord(c) < 160) for c in text)
    assert "" not in text.split("\n")
    assert text.encode().decode() == text


@pytest.mark.parametrize("html", [b"", b" ", b"\0", b"<html/>", b"<frameset><frame src=x>"])
def test_nothing(html):
    """Where there is nothing to find, it is empty."""
    assert fast(html) == ""


def test_errors_are_no_content(monkeypatch):
    """A page that resiliparse stumbles over has none."""

    def stumble(*args, **options):
        raise ValueError

    monkeypatch.setattr("fscrawl.parse.fast_content._extractor", lambda: stumble)
    assert read(ARTICLE, "fast") == Text("", "en")


def test_resiliparse_is_needed(monkeypatch):
    """Where it is missing, that is an error and not an empty text."""

    def missing():
        raise ImportError

    monkeypatch.setattr("fscrawl.parse.fast_content._extractor", missing)
    with pytest.raises(ImportError):
        fast(ARTICLE)


def test_resiliparse_is_lazy():
    """Who reads visible text does not pay for it."""
    code = "import sys, fscrawl.parse.text as t; t.visible(b'x'); sys.exit('resiliparse' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


# Pages that would keep it busy: nothing can interrupt it. The first took 87 s, the others 5 s.


@pytest.mark.gate
@pytest.mark.parametrize(
    "html",
    [
        b"<div></td>" * 50_000,
        b"<div><script></div></script>" * 3000 + b"<p>x" * 20_000,
        b"<div>" * 500 + b"<p>x" * 100_000,
    ],
)
def test_it_is_not_asked(html):
    """Pages that nest deeply, and whose parsing is slow, have none, and take no time."""
    began = time.process_time()
    assert fast(html) == ""
    assert time.process_time() - began < 2


def test_depth_and_size():
    """A small page may nest deeply: a thread of answers to answers. A large one may do so less."""
    page = ARTICLE.replace(b"<h1>", b"<div>" * 300 + b"<h1>")
    assert "A paragraph" in fast(page)
    assert fast(page + b"<p>x" * 40_000) == ""
    assert "A paragraph" in fast(ARTICLE.replace(b"<h1>", b"<div>" * 40 + b"<h1>") + b"<p>x" * 40_000)
