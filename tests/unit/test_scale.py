"""The simulation of `make bench NAME=scale`: a small fleet stores everything and ends; calls and bytes are counted."""

import os

import pytest

from benchmarks.scale.memory_os import MemoryOs
from benchmarks.scale.tally import HEADS, LINES, PAGES, Tally
from benchmarks.scale.web import SmallWeb, ZipfWeb
from benchmarks.scale.world import World
from fscrawl.storage import atomic


def _reachable(web, seeds):
    found, pending = set(seeds), list(seeds)
    while pending:
        new = set(web.links(pending.pop())) - found
        found |= new
        pending += new
    return found


def test_small_fleet():
    """Three machines store each page once, and agree on the end."""
    web = SmallWeb(hosts=25, pages=12, links=4)
    world = World(web, 16, seeds=1)
    with world.open():
        for _ in range(3):
            world.join(20.0)
        world.run(600, lambda: not world.live())
    assert not world.live(), "all have ended"
    assert set(world.fetched.values()) == {1}
    assert len(world.fetched) == len(_reachable(web, world.seeds))
    assert min(machine.pages for machine in world.machines) > 0
    assert world.warnings == []


def test_real_os_again():
    """After a world the storage uses the real files again."""
    with World(SmallWeb(), 16).open():
        assert atomic.os is not os
    assert atomic.os is os


def test_nothing_is_real():
    """What the files in memory do not have is an error: no call goes to the real directory by mistake."""
    with pytest.raises(AttributeError):
        _ = MemoryOs("/nowhere").truncate


def test_heads_and_lines():
    """What is read of a log counts as heads or as lines, byte by byte."""
    memory = MemoryOs("/r")
    for directory in ("/r/.fscrawl", "/r/.fscrawl/generations", "/r/.fscrawl/generations/1"):
        memory.mkdir(directory)
    memory.mkdir("/r/.fscrawl/generations/1/log")
    descriptor = memory.open("/r/.fscrawl/generations/1/log/m.log", os.O_WRONLY | os.O_CREAT)
    memory.pwrite(descriptor, b"B 4 0 7:4\ns\ns\n", 0)
    memory.pwrite(descriptor, b"B 4 0 7:4\ns\ns\n", 14)
    assert (memory.tally.written[HEADS], memory.tally.written[LINES]) == (20, 8)
    memory.tally = Tally()
    reader = memory.open("/r/.fscrawl/generations/1/log/m.log", os.O_RDONLY)
    assert memory.pread(reader, 10, 8) == b"4\ns\ns\nB 4 "
    assert (memory.tally.read[HEADS], memory.tally.read[LINES]) == (6, 4)


def test_a_page_costs_ten_calls():
    """Two files, each of which is opened, written, closed, looked at and renamed."""
    memory = MemoryOs("/r")
    memory.mkdir("/r/htmls")
    memory.mkdir("/r/links")
    memory.tally = Tally()
    with memory.installed():
        for path in ("/r/htmls/a", "/r/links/a"):
            atomic.publish(path, b"data", "m")
    assert dict(memory.tally.calls) == {PAGES: 10}
    assert memory.tally.written == {PAGES: 8}


def test_web():
    """A web is the same for the same seed, and half of a page's links go to its own host."""
    web = ZipfWeb(hosts=100)
    links = web.links(web.url(3, 0))
    assert links == ZipfWeb(hosts=100).links(web.url(3, 0)) != ZipfWeb(hosts=100, seed=1).links(web.url(3, 0))
    assert sum("site-3." in link for link in links) >= len(links) / 3
