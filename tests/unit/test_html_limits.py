"""What would hang a parser is taken out, and nothing else."""

import random
import time

import pytest
from selectolax.lexbor import LexborHTMLParser

from fscrawl.parse import html_limits
from fscrawl.parse.html_limits import limit_html


def crowd(attributes: int) -> bytes:
    return b"<p " + b" ".join(b"x%d=1" % number for number in range(attributes)) + b">text</p>"


def test_ordinary_pages_come_back_as_they_are():
    """Of a page without nesting or crowds not a byte is changed, however large it is."""
    page = b"<p class=a id='b'><a href=\"/c\">d</a></p>" * 5000
    assert limit_html(page) == page


def test_a_crowded_tag_loses_its_attributes():
    """A tag with tens of thousands of attributes is parsed in no time, and the text after it stays."""
    began = time.process_time()
    tree = LexborHTMLParser(limit_html(crowd(100_000)))
    assert tree.body.text() == "text"
    assert time.process_time() - began < 2  # minutes without


def test_a_long_attribute_is_no_crowd():
    """An image in a data: URL of a megabyte is left alone."""
    page = b'<img src="data:image/png;base64,' + b"A" * 1_000_000 + b'"><a href=x>y</a>'
    assert limit_html(page) == page


def test_crowds_in_quotes_are_found():
    """Brackets in quotes hide no crowd."""
    page = b"<p " + b" ".join(b'x%d=">"' % number for number in range(20_000)) + b"><a href=x>y</a>"
    assert len(limit_html(page)) < 100


@pytest.mark.gate
@pytest.mark.parametrize("part", [b'<a "', b"<a '\"<", b"<", b"<a ", b"<a ''", b"\"<a '", b"<!--<a "])
def test_time_is_linear(part):
    """Two megabytes of unbalanced quotes and brackets take less than two seconds."""
    began = time.process_time()
    limit_html(part * (2_000_000 // len(part)))
    assert time.process_time() - began < 2


def test_deep_nesting_is_flattened():
    """What nests too deeply keeps its links and words, and loses its other tags."""
    page = b"<div>a" * 100_000 + b"<a href=/x>b</a>"
    flat = limit_html(page)
    assert b"<div>" not in flat
    assert b"<a href=/x>b</a>" in flat


def test_elements_that_nobody_closes_are_not_deep():
    """A thousand paragraphs and lists without end tags nest no deeper than their names do, and stay as they are."""
    page = b"<ul>" + b"<li><p>a<br><b>c</b></i>" * 1000 + b"</ul><!--" + b"<div>" * 1000 + b"-->"
    assert limit_html(page) == page


def test_depth_counts_what_is_open():
    """What is closed again does not count: a page deep in one place, and shallow in all others, is flattened."""
    shallow = b"<p>" * 600 + b"<div><b>a</b></div>" * 100
    assert limit_html(shallow) == shallow
    deep = shallow + b"<i>" * 513
    assert b"<div>" not in limit_html(deep)


PARTS = [b"<", b">", b"/", b"=", b'"', b"'", b" ", b"<a ", b"<p>", b"x='<'", b'y=">"', b"\n", b" " * 300, b"x" * 700]
FORMATS = [
    b"<b>",
    b"</b>",
    b"<i x>",
    b"</i>",
    b"<CODE>",
    b"</code>",
    b"<big>",
    b"</big>",
    b"<tt><u>",
    b"</u></tt>",
    b"<p>",
]


def some(rng: random.Random, parts: list[bytes], most: int) -> bytes:
    """Give a page of a few kinds of parts."""
    return b"".join(rng.choices(rng.sample(parts, rng.randint(2, len(parts))), k=rng.randint(1, most)))


def test_the_quick_look_for_crowds_misses_none():
    """A page gets the full check just if it has one of the three signs of a long tag, at random or near the limits."""
    rng = random.Random(1)
    pages = [some(rng, PARTS, 400) for _ in range(600)]
    pages += [b"<b>" + b"<" * over + b"<a" + b" " * (1023 + rng.randrange(3)) + b"<" for over in range(1200)]
    found = [html_limits._may_be_crowded(page) for page in pages]
    many = [html_limits._has_many(each, page) for page in pages for each in (QUOTED, OPEN)]
    assert found == [
        html_limits._LONG.search(page) is not None or any(many[2 * number : 2 * number + 2])
        for number, page in enumerate(pages)
    ]
    assert 100 < sum(found) < len(found) - 100
    assert all(sum(many[kind::2]) > 0 for kind in range(2))


QUOTED, OPEN = html_limits._QUOTED_BRACKET, html_limits._OPEN_IN_TAG


def test_the_quick_count_of_open_elements_is_not_too_low():
    """It is at least the highest number of elements that are open, little more, and the stray end tags are exact."""
    rng = random.Random(2)
    for _ in range(400):
        names = html_limits._FORMATTING.findall(some(rng, FORMATS, 300).lower())
        (quick, stray), (most, strays) = html_limits._at_most_open(names), html_limits._most_open(names)
        assert (most <= quick <= most + 12, stray) == (True, strays)
