"""Edits of `crawl.toml` and `seeds.txt`, on a real tree, with a clock in its hand."""

import os

import pytest
from hypothesis import given
from hypothesis import settings as tuned
from hypothesis import strategies as st

from fscrawl.config import seeds as seeds_module
from fscrawl.config import settings
from fscrawl.config import watcher as module
from fscrawl.config.seeds import wait_for_seeds
from fscrawl.config.settings import Settings, apply, parse, render
from fscrawl.config.watcher import EditWatcher, read_settings
from fscrawl.errors import NoBrowserError, SettingsError, TreeBusyError
from fscrawl.storage import controls
from fscrawl.storage.mounts import CACHES_LIVE_S
from fscrawl.storage.records import TreeRecord
from fscrawl.store import Controls, Tree, create
from tests.support import effort
from tests.support.effort import tries

RECORD = TreeRecord(format=3, machinery="0" * 32, crawl="c1", created_at="t", shards=512, partition="host")
A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"


class Desk:
    """A tree, somebody who edits its files, and a machine that watches."""

    def __init__(self, root):
        self.root = root
        create(root, RECORD, render(Settings()), f"{A}\n")
        self.warnings = []
        self.watch = EditWatcher(Tree(root, "m"), Settings(), frozenset([A]), self.warnings.append)

    def edit(self, *assignments):
        self.write(render(apply(Settings(), assignments)))

    def write(self, text, name=settings.FILE):
        (self.root / name).write_text(text, "utf-8")

    def seeds(self, text):
        self.write(text, "seeds.txt")
        return self.watch.new_seeds()

    @property
    def delay(self):
        return self.watch.settings.politeness.delay


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path / "root")


def test_edit(desk):
    """An edit that ends as the file ends counts at once, and once."""
    assert not desk.watch.settings_edited(0)
    desk.edit("politeness.delay=7")
    assert desk.watch.settings_edited(1)
    assert desk.delay == 7
    assert not desk.watch.settings_edited(2)


def test_edit_without_the_end_marker(desk):
    """Without its last line a text may have been cut: it counts when it has been the same for a minute."""
    desk.write("[politeness]\ndelay = 7\n")
    assert [desk.watch.settings_edited(now) for now in (10, 12)] == [False, False]
    assert desk.warnings == []  # somebody may be writing it
    assert [desk.watch.settings_edited(now) for now in (14, 40, 70)] == [False, False, False]
    (said,) = desk.warnings
    assert said.endswith(f"is not {settings.END!r}, so the edit counts only when it has been the same for 60 s")
    assert desk.watch.settings_edited(70.1)
    assert desk.delay == 7


def test_edit_that_goes_on(desk):
    """The minute begins anew with each change, and when the old text was seen between."""
    desk.write("[politeness]\ndelay = 7\n")
    assert not desk.watch.settings_edited(0)
    desk.write("[politeness]\ndelay = 8\n")
    assert not desk.watch.settings_edited(50)
    assert not desk.watch.settings_edited(100)
    desk.edit()
    assert not desk.watch.settings_edited(101)
    desk.write("[politeness]\ndelay = 8\n")
    assert not desk.watch.settings_edited(200)
    assert desk.watch.settings_edited(261)
    assert desk.delay == 8


def test_comment_only(desk):
    """An edit that changes no setting changes nothing."""
    desk.write("# hello\n" + render(Settings()))
    assert not desk.watch.settings_edited(0)
    assert desk.warnings == []


def test_broken_edit(desk):
    """A bad edit is reported once, the good settings stay, and the next good one counts."""
    desk.edit("politeness.delay=7")
    assert desk.watch.settings_edited(0)
    desk.write("[politeness]\ndelai = 1\n" + settings.END)
    assert not any(desk.watch.settings_edited(now) for now in range(5))
    assert len(desk.warnings) == 1
    assert "delai" in desk.warnings[0]
    assert desk.warnings[0].endswith("; the last good settings stay in force")
    assert desk.delay == 7
    desk.edit("politeness.delay=8")
    assert desk.watch.settings_edited(9)
    assert desk.delay == 8


@pytest.mark.parametrize("fixed", ["fleet.shards=7", "crawl.partition=url"])
def test_fixed_settings(desk, fixed):
    """What was fixed with the tree is refused, and the whole edit with it."""
    desk.edit(fixed, "politeness.delay=7")
    assert not desk.watch.settings_edited(0)
    assert "fixed" in desk.warnings[0]
    assert desk.watch.settings == Settings()


def test_gone_for_a_moment(desk, monkeypatch):
    """A file that an editor is replacing is no edit; nor is one of which the file system says that it went stale."""
    (desk.root / settings.FILE).rename(desk.root / "aside")
    assert not desk.watch.settings_edited(0)
    (desk.root / "seeds.txt").rename(desk.root / "aside2")
    assert desk.watch.new_seeds() == []
    (desk.root / "aside").rename(desk.root / settings.FILE)
    (desk.root / "aside2").rename(desk.root / "seeds.txt")
    assert not desk.watch.settings_edited(1)
    assert desk.watch.new_seeds() == []

    def stale(*_):
        raise TreeBusyError("stale file handle")

    monkeypatch.setattr(Controls, "settings_if_there", stale)
    monkeypatch.setattr(Controls, "seeds", stale)
    assert not desk.watch.settings_edited(2)
    assert desk.watch.new_seeds() == []


values = st.sampled_from(["politeness.delay=7", "crawl.scope=any", 'crawl.deny=["x", "é"]', "fleet.beat=2"])


def test_cut_settings(tmp_path):
    """Of an edited file no proper prefix, however long, is an edit: only all that it says is."""
    desk = Desk(tmp_path / "root")

    @given(st.lists(values, min_size=1, max_size=4, unique=True), st.data())
    @tuned(max_examples=tries(100), deadline=None)
    def check(assignments, data):
        edited = apply(Settings(), assignments)
        whole = render(edited).encode()
        cut = data.draw(st.integers(0, len(whole) - 2), "cut")  # the newline after the last line says nothing
        watch = EditWatcher(Tree(desk.root, "m"), Settings(), frozenset(), desk.warnings.append)
        (desk.root / settings.FILE).write_bytes(whole[:cut])
        assert not watch.settings_edited(0)
        assert not watch.settings_edited(3)
        assert desk.warnings == []
        assert not watch.settings_edited(59)
        desk.warnings.clear()  # it was said why it does not count yet
        (desk.root / settings.FILE).write_bytes(whole)
        assert watch.settings_edited(60)
        assert watch.settings == edited
        assert desk.warnings == []
        desk.edit()

    check()


def test_every_cut(desk):
    """The same of one file, at every byte (in a quick run, at every fifth)."""
    whole = render(apply(Settings(), ["politeness.delay=7"])).encode()
    for cut in range(0, len(whole) - 1, 1 if effort.FULL else 5):
        (desk.root / settings.FILE).write_bytes(whole[:cut])
        assert not desk.watch.settings_edited(0), cut
    assert desk.warnings == []


# -- seeds


def test_new_seeds(desk):
    """A line that is added is a seed, once."""
    assert desk.watch.new_seeds() == []
    assert desk.seeds(f"{A}\n# more\n\n{B}\n{B}\n") == [B]
    assert desk.watch.new_seeds() == []
    assert desk.seeds(f"{C}\n") == [C]
    assert desk.watch.seeds == {A, B, C}


def test_half_a_line(desk):
    """A line counts once its newline is there."""
    assert desk.seeds(f"{A}\n{B}") == []
    assert desk.seeds(f"{A}\n{B}deeper") == []
    assert desk.seeds(f"{A}\n{B}deeper\n") == [B + "deeper"]


def test_a_last_line_without_newline(desk, clock):
    """A last line that nobody ends counts when the file has been the same for a minute; what it becomes counts, too."""
    assert desk.seeds(f"{A}\n{B}") == []
    clock.now += 60
    assert desk.watch.new_seeds() == []
    clock.now += 1
    assert desk.watch.new_seeds() == [B]
    assert desk.watch.new_seeds() == []
    assert desk.seeds(f"{A}\n{B}deeper\n") == [f"{B}deeper"]
    assert desk.watch.seeds == {A, B, f"{B}deeper"}


def test_a_seed_that_was_added_while_the_machine_started(tree):
    """A line that came after the machine had read its seeds, and before it began to watch, is found."""
    (tree.root / "seeds.txt").write_text(f"{A}\n{B}\n")
    watch = EditWatcher(tree, Settings(), frozenset([A]), print)
    assert watch.new_seeds() == [B]


def test_seeds_cut_anywhere(desk):
    """However a read is cut, it gives no seed that is not in the file, and the whole file gives all."""
    whole = f"{A}\n{B}long/path?x=1\n  {C}é\r\n"
    found = []
    for cut in range(len(whole.encode()) + 1):
        (desk.root / "seeds.txt").write_bytes(whole.encode()[:cut])
        found += desk.watch.new_seeds()
    assert found == [f"{B}long/path?x=1", f"{C}%C3%A9"]


class Clock:
    """Time that passes by sleeping only; `then`: what happens at a time."""

    def __init__(self):
        self.now, self.then = 0.0, {}

    def monotonic(self):
        return self.now

    def time(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        for at in [at for at in self.then if at <= self.now]:
            self.then.pop(at)()


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(seeds_module, "time", clock)
    return clock


def let_caches_live(monkeypatch, seconds):
    for place in (module, controls):
        monkeypatch.setattr(place, "caches_live_s", lambda root: seconds)


@pytest.fixture
def tree(tmp_path):
    create(tmp_path / "root", RECORD, render(Settings()), f"{A}\n")
    return Tree(tmp_path / "root", "m")


def test_start_in_the_middle_of_an_edit(tree, clock):
    """Half of a settings file may be good TOML: a machine that begins waits for the rest, and says so once."""
    path, told = tree.root / "crawl.toml", []
    whole = render(apply(Settings(), ["politeness.delay=7"]))
    path.write_text(whole[:300])
    clock.then[10] = lambda: path.write_text(whole)
    assert read_settings(tree, told.append).politeness.delay == 7
    assert (len(told), clock.now) == (1, pytest.approx(10, abs=1))


SHORT = "[politeness]\ndelay = 7\n"  # settings without their last line


@pytest.mark.parametrize(("caches_s", "waits_s"), [(CACHES_LIVE_S, 60), (0.0, 15)])
def test_settings_without_their_last_line(tree, clock, monkeypatch, caches_s, waits_s):
    """They count when they have been the same for as long as caches live; on a local disk there are none."""
    let_caches_live(monkeypatch, caches_s)
    (tree.root / "crawl.toml").write_text(SHORT)
    told = []
    assert read_settings(tree, told.append).politeness.delay == 7
    assert waits_s <= clock.now < waits_s + 2
    (said,) = told
    assert f"waiting for {waits_s} s" in said
    assert repr(settings.END) in said


@pytest.mark.parametrize(("age_s", "waits_s"), [(16, 0), (5, 10), (-3600, 15)])
def test_old_settings_without_their_last_line(tree, clock, monkeypatch, age_s, waits_s):
    """On a local disk, nobody writes a file any more that is old; a clock that was set back proves nothing."""
    let_caches_live(monkeypatch, 0.0)
    path = tree.root / "crawl.toml"
    path.write_text(SHORT)
    began = clock.now = 1e9
    os.utime(path, (began - age_s, began - age_s))
    assert read_settings(tree, print).politeness.delay == 7
    assert waits_s <= clock.now - began < waits_s + 1


@pytest.mark.parametrize("later", [False, True])
def test_settings_that_were_used_before(tree, clock, monkeypatch, later):
    """What machines have used once need not be waited for, also if they took it over while they ran."""
    let_caches_live(monkeypatch, CACHES_LIVE_S)
    path = tree.root / "crawl.toml"
    if later:
        watch = EditWatcher(tree, Settings(), frozenset(), print)
        path.write_text(SHORT)
        assert [watch.settings_edited(now) for now in (0, 61)] == [False, True]
        path.write_text(f"{SHORT}# a comment\n")
        assert [watch.settings_edited(now) for now in (70, 131)] == [False, False]
    else:
        path.write_text(SHORT)
        EditWatcher(tree, parse(SHORT, record=RECORD), frozenset(), print)
    assert read_settings(tree, print).politeness.delay == 7
    assert clock.now == 0
    path.write_text("[politeness]\ndelay = 8\n")
    assert read_settings(tree, print).politeness.delay == 8
    assert clock.now >= 60


def test_start_while_a_seed_is_written(tree, clock):
    """A last line without newline is waited for; when nobody goes on writing it, it counts."""
    path, told = tree.root / "seeds.txt", []
    path.write_text("http://a.example/\nhttp://b.exa")
    clock.then[2] = lambda: path.write_text("http://a.example/\nhttp://b.example/\n")
    assert list(wait_for_seeds(tree, told.append)) == ["http://a.example/", "http://b.example/"]
    assert len(told) == 1
    path.write_text("http://a.example/")
    assert list(wait_for_seeds(tree, told.append)) == ["http://a.example/"]


def test_an_edit_before_the_watch(tree):
    """An edit between the reading of the settings and the beginning of the watch is taken up by its first look."""
    before = Settings()
    (tree.root / "crawl.toml").write_text(render(apply(before, ["politeness.delay=7"])))
    watch = EditWatcher(tree, before, frozenset(), print)
    assert watch.settings_edited(0)
    assert watch.settings.politeness.delay == 7


def test_an_edit_that_this_machine_cannot_use_yet(tmp_path):
    """It is refused once, and taken in when what it lacks is there, though its text is the same."""
    desk = Desk(tmp_path / "root")
    there = []

    def check(_):
        if not there:
            raise SettingsError("a file is missing")

    watch = EditWatcher(Tree(desk.root, "m"), Settings(), frozenset(), desk.warnings.append, check)
    (desk.root / settings.FILE).write_text(render(apply(Settings(), ["fetch.retries=7"])))
    assert not watch.settings_edited(0)
    assert not watch.settings_edited(1)
    assert desk.warnings == ["a file is missing; the last good settings stay in force"]
    there.append(True)
    assert watch.settings_edited(2)
    assert watch.settings.fetch.retries == 7


def test_an_edit_that_needs_a_browser(tmp_path):
    """Settings that were good before would let pages be stored as they are sent: the machine must leave."""
    desk = Desk(tmp_path / "root")

    def check(_):
        raise NoBrowserError("render: there is no Chromium")

    watch = EditWatcher(Tree(desk.root, "m"), Settings(), frozenset(), desk.warnings.append, check)
    assert watch.must_leave is None
    (desk.root / settings.FILE).write_text(render(apply(Settings(), ["render.when=always"])))
    assert not watch.settings_edited(0)
    assert str(watch.must_leave) == "render: there is no Chromium"
    assert desk.warnings == []
