"""A fixed budget of hostile bytes for every target of `tests/support/fuzz`, and what longer runs have found.

`make fuzz` goes on from here, with other inputs each time.
"""

import time
from itertools import islice
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fscrawl.config import settings as crawl_settings
from fscrawl.errors import RecordError, SettingsError
from fscrawl.fleet.beat import Beat
from fscrawl.fleet.machinery import Peer
from fscrawl.parse import links
from fscrawl.parse.html_limits import limit_html, suits_html5lib
from fscrawl.storage.records import PageRecord
from fscrawl.urls import Joiner
from tests.support.effort import tries
from tests.support.field_rules import found_by, rules
from tests.support.fuzz.campaign import fixed, inputs
from tests.support.fuzz.judge import GROWTH_BYTES, held_bytes, judge
from tests.support.fuzz.mutator import repeated
from tests.support.fuzz.target import Target
from tests.support.fuzz.targets import TARGETS

pytestmark = pytest.mark.proof

INPUTS = tries(150)
MOST_S = 15  # of what took minutes and gigabytes; 1 s alone, and 5 s where coverage is measured
STRICT = 0.2  # five seconds where one is allowed: coverage is measured, and the machine is busy
URL = "http://a.example/"


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_fixed_budget(target):
    """Mutations and repetitions, the same ones each time, break no promise of the target."""
    assert fixed(target, INPUTS, target.reach // 10, STRICT) == []


@given(st.data())
@settings(deadline=None, max_examples=tries(400), derandomize=True)
def test_fragments(data):
    """Short rows of fragments, of which hypothesis finds the shortest that fails, break no promise either."""
    target = data.draw(st.sampled_from(list(TARGETS.values())))
    rows = st.lists(st.sampled_from(target.fragments) | st.binary(max_size=6), max_size=12).map(b"".join)
    row = data.draw(st.binary(min_size=1, max_size=1)) + data.draw(rows) if target.options > 1 else data.draw(rows)
    assert judge(target, row, STRICT) is None


@pytest.mark.parametrize("name", ["links", "text", "fields", "robots", "sitemaps", "bodies", "records", "cookies"])
def test_no_growth(name):
    """Twice as many inputs more leave no more memory in use than those before them, but for some MiB."""
    rows = inputs(TARGETS[name], Random(name))
    for row in islice(rows, tries(200)):
        judge(TARGETS[name], row)
    before = held_bytes()
    for row in islice(rows, tries(400)):
        judge(TARGETS[name], row)
    assert held_bytes() - before < GROWTH_BYTES


# The judge itself


def busy(data):
    end = time.process_time() + len(data) / 1000
    while time.process_time() < end:
        pass


def test_judge():
    """What is not allowed is named with its place, what takes too long with its size; what is allowed is not."""
    assert judge(Target("t", lambda data: data[1], ()), b"").startswith("IndexError: index out of range")
    assert judge(Target("t", lambda data: {}[1], (), allowed=(KeyError,)), b"") is None
    assert judge(Target("t", busy, (), base_s=0.01), b"x" * 100) == "slow: 0.1 s for 100 bytes"
    assert judge(Target("t", busy, (), base_s=0.01, bytes_per_s=100), b"x" * 100) is None
    assert judge(Target("t", busy, (), base_s=0.05), b"x" * 100, strict=0.1) is None


def test_inputs_are_the_same_ones():
    """The same seed gives the same inputs, on every machine."""
    target = TARGETS["links"]
    assert list(islice(inputs(target, Random(1)), 50)) == list(islice(inputs(target, Random(1)), 50))


# What was found


def crowd(count):
    return b"<p>" + b"".join(b"<b x%d></i>" % number for number in range(count))


def test_formatting_that_is_made_anew():
    """Hundreds of open <b>, made anew in each of thousands of paragraphs, took gigabytes: now they are left out."""
    began = time.process_time()
    page = crowd(1600) + b"<p>x" * 6400 + b"<a href=y>z</a>"
    limited = limit_html(page)
    assert len(limited) < 30_000
    assert b"<p>x<p>x<a href=y>" in limited
    shallow = repeated(b"<b x%d>", 4000) + b"<p>x" * 50_000  # no deeper than 512
    assert len(limit_html(shallow)) < len(shallow)
    assert links.extract(page, URL, Joiner()).links == ("http://a.example/y",)
    assert time.process_time() - began < MOST_S


def test_formatting_of_ordinary_pages():
    """A page whose <font> is never closed, and one with all elements closed, are not changed by it."""
    page = b"<font size=2>" + b"<p><b><i><u><em><code>a</code></em></u></i></b>" * 2000
    assert limit_html(page) == page
    page = b"<p><B CLASS=x><i>a</i></B><b></b></i></p>" * 400
    assert limit_html(page) == page


def test_stray_end_tags_hide_no_nesting():
    """<div></i> again and again is nested as deeply as <div> is."""
    assert b"<div>" not in limit_html(b"<div></i>" * 20_000)
    page = b"<p>a</i></p>" * 20_000
    assert limit_html(page) == page


@pytest.mark.parametrize("unit", [b"<b></i>", b"<div>", b"<nobr><table>", b"<ruby><rt>"])
def test_html5lib_is_spared(unit):
    """Pages on which html5lib takes quadratic time are read by lexbor, also where that is not asked for."""
    page = repeated(unit, 15_000) + b"<a href=y>z</a>"
    assert not suits_html5lib(page)
    began = time.process_time()
    links.extract(page, URL, Joiner(), parser="html5lib")
    assert time.process_time() - began < MOST_S


def test_short_comments_hide_no_nesting():
    """<!--> and <!---> are whole comments, and --!> ends one, too: what follows counts."""
    for comment in (b"<!-->", b"<!--->", b"<!-- --!>"):
        assert not suits_html5lib(comment + b"<div>" * 200)
    assert suits_html5lib(b"<!--" + b"<div>" * 200 + b"-->")


def test_html5lib_is_spared_crowds():
    """So are tags with thousands of attributes."""
    page = b"<p " + repeated(b"x%d ", 50_000) + b"><a href=y>z</a>"
    assert not suits_html5lib(page)
    assert links.extract(page, URL, Joiner(), parser="html5lib").links == ("http://a.example/y",)


@pytest.mark.parametrize("selector", ['css = "div"', 'xpath = "//div"'])
def test_fields_in_each_other(selector):
    """Text in hundreds of selected elements is no value hundreds of times its size, but a bad one."""
    fields = rules(f'n = {{ {selector}, type = "string[]" }}')
    began = time.process_time()
    found = found_by(fields, b"<div>" * 500 + b"some words <b>more</b>" * 20_000)
    assert time.process_time() - began < MOST_S
    assert found.bad == {"n": "ValueError: the selected elements are nested too deeply"}
    assert found.missing == ("n",)
    assert len(found_by(fields, b"<div>a" * 100).values["n"]) == 100


def test_settings_beyond_floats():
    """A negative number of hundreds of digits is refused as any other, and so is a list in hundreds of lists."""
    with pytest.raises(SettingsError, match="must be a number of seconds"):
        crawl_settings.parse("[politeness]\ndelay = -1" + "0" * 400)
    with pytest.raises(SettingsError, match="must be a list of strings"):
        crawl_settings.parse("[crawl]\nallow = " + "[" * 400 + "]" * 400)


def test_records_without_infinity():
    """1e999, which Python reads as infinity, is no number of a record."""
    record = PageRecord(URL, "k", 0, "", "t", "m", 200, {}, 0, "", 0.5, ())
    assert PageRecord.from_json(record.to_json()) == record
    with pytest.raises(RecordError, match="elapsed"):
        PageRecord.from_json(record.to_json().replace(b"0.5", b"1e999"))


def test_heartbeats_that_nest():
    """A line of a hundred thousand brackets is unreadable as any other torn line is."""
    peer = Peer("b", 0.0)
    peer.take(b"[" * 100_000 + b'\n{"beat":1}\n')
    assert peer.last() == Beat(number=1)
