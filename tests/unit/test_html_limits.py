"""What would hang a parser is taken out, and nothing else."""

import time

import pytest
from selectolax.lexbor import LexborHTMLParser

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
