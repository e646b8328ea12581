"""Pages that would hang a parser do not, whichever way they come in. Processor time is measured, not the wall's."""

import gzip
import subprocess
import sys
import time

import pytest

from fscrawl.parse import links, sitemaps, soup, text
from fscrawl.parse.fields import parse
from fscrawl.urls import Joiner

URL = "http://a.example/"
BOUND_S = 4.0  # three attempts of a quarter of a second, and the exact look; without a guard they take up to hours


def numbered(form, count):
    return b"".join(form % number for number in range(count))


# Each of them takes the parser more than four seconds, most of them minutes or all memory.
BOMBS = {
    "nesting": b"<DIV>" * 60_000,
    "stray end tags": b"<div></td>" * 60_000,
    "foreign elements": b"<svg>" + b"<g></q>" * 60_000,
    "foreign cells": b"<SVG>" + b"<TD>" * 60_000 + b"</q>" * 60_000,
    "hidden end tags": b"<div><object></div></object>" * 20_000,
    "end tags in quotes": b"<div title='</div>'>" * 30_000,
    "formatting": b"<p>" + numbered(b"<B x%d></i>", 9000) + b"<P>x" * 9000,
    "formatting with links": b"<a><b>" * 60_000,
    "foster parents": b"<table>" + numbered(b"<b x%d>", 9000) + b"x<tr>" * 9000,
    "misnesting": b"<b>" * 30_000 + b"<div>" * 30_000 + b"</b>" * 60_000,
    "attributes": b"<p " + numbered(b"x%d ", 60_000) + b">",
    "attributes with brackets": b"<p " + numbered(b"x%d<a ", 60_000) + b">",
    "attributes of the root": numbered(b"<HTML x%d>", 40_000),
    "options": b"<select>" + b"<option>x</option>" * 40_000,
    "selected content": b"<select><button><selectedcontent></selectedcontent></button>"
    + b"<option selected>x" * 40_000,
    "templates": b"<template>" * 60_000,
    "text in a select": b"<select><option>" + b"xx &amp; " * 200_000,
    "entities": b"&amp;</q>" * 100_000,
}
WAYS = {
    "links": lambda page: links.extract(page, URL, Joiner()),
    "html5lib": lambda page: links.extract(page, URL, Joiner(), parser="html5lib"),
    "text": lambda page: text.read(links.readable(page, "utf-8", None)),
    "main text": lambda page: text.read(links.readable(page, "utf-8", None), "main"),
    "css": lambda page: parse('[hosts."*"]\nn = { css = "h1" }').extract(URL, page),
    "xpath": lambda page: parse('[hosts."*"]\nn = { xpath = "//h1" }').extract(URL, page),
    "sitemaps": lambda page: (sitemaps.read(page, URL), sitemaps.read(gzip.compress(page, 1), URL)),
}


def spent(way, page):
    began = time.thread_time()
    way(page)
    return time.thread_time() - began


@pytest.mark.gate
@pytest.mark.parametrize("bomb", BOMBS)
def test_links_of_a_bomb(bomb):
    """The crawl reads a page that would hang the parser in a bounded time."""
    assert spent(WAYS["links"], BOMBS[bomb]) < BOUND_S


@pytest.mark.gate
@pytest.mark.parametrize("bomb", ["foreign cells", "hidden end tags", "end tags in quotes", "attributes of the root"])
def test_html5lib_is_stopped(bomb, monkeypatch):
    """What looks harmless and is not, html5lib does not read to its end: the other parser finds the links."""
    monkeypatch.setattr(soup, "_SLOW_S", 1e-6)
    page = b"<a href=1>" + BOMBS[bomb] + b"<a href=2>x</a>"
    began = time.thread_time()
    found = links.extract(page, URL, Joiner(), parser="html5lib")
    assert time.thread_time() - began < BOUND_S
    assert found.links[:1] == (URL + "1",)


@pytest.mark.gate
@pytest.mark.parametrize("way", [way for way in WAYS if way != "links"])
@pytest.mark.parametrize("bomb", ["nesting", "foreign elements", "formatting", "attributes", "options"])
def test_all_ways(way, bomb):
    """So does everything else that parses pages."""
    assert spent(WAYS[way], BOMBS[bomb]) < 4 * BOUND_S  # where coverage is measured, html5lib takes 8 s


def test_links_of_a_bomb_are_found():
    """A page that is limited keeps its links and its title."""
    page = b"<title>t</title><a href=1>" + BOMBS["stray end tags"] + b"<a href=2>x</a>"
    found = links.extract(page, URL, Joiner())
    assert (found.title, found.links) == ("t", (URL + "1", URL + "2"))


def test_ancestors_are_climbed_once():
    """The namespaces of ten thousand elements that are thousands deep take no product of both."""
    page = b"<svg>" + b"<g>" * 3000 + b"<link href=x>" * 10_000
    assert spent(WAYS["links"], page) < 1


# Formatting that is opened again with each paragraph or row: a gigabyte and more for 25 KB, if they are parsed at once.
MEMORY_BOMBS = {
    "paragraphs": numbered(b"<p><b %d>", 2_000),
    "rows": b"<table>" + numbered(b"<b %d>", 1_600) + b"x<tr>" * 2_400,
    "rows at the end": b"<table>" + numbered(b"<b %d>", 4_000) + b"x<tr>" * 1_200,
}
MEMORY_BYTES = 300_000_000
PARSE = """
import resource, sys
from fscrawl.parse.trees import tree
page = sys.stdin.buffer.read()
tree(b"<p>" * 5000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
tree(page)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


@pytest.mark.gate
@pytest.mark.parametrize("bomb", MEMORY_BOMBS)
def test_memory_of_a_bomb(bomb):
    """A small page does not fill the memory before it is stopped."""
    words = [sys.executable, "-c", PARSE]
    done = subprocess.run(words, input=MEMORY_BOMBS[bomb], capture_output=True, check=True, timeout=60)
    assert int(done.stdout) < MEMORY_BYTES
