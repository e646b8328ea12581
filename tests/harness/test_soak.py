"""The soak's judges see what is wrong, and nothing else: a soak that cannot fail would prove nothing."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.crawling import Running
from tests.support.soak import leaks
from tests.support.soak.leaks import Sample
from tests.support.soak.machines import LANES, End, Fault, Slots
from tests.support.soak.shares import Share
from tests.support.soak.site import Closure, Hit, Web, read_log
from tests.support.soak.verdict import (
    Verdict,
    judge_delays,
    judge_ends,
    judge_fencing,
    judge_repeats,
    judge_temporaries,
    judge_tree,
)

SETTINGS = {"fetch.headers": '{"X-Machine" = "$FSCRAWL_MACHINE"}'}


def hit(machine: str, at: float, path: str = "/p1", host: str = "127.0.60.1") -> Hit:
    return Hit(host, path, machine, at, at + 0.01, 200)


def fault(machine: str, began: float, ended: float | None = None, **more: object) -> Fault:
    values: dict[str, object] = {"target": "machine", "file_system": "local disk", **more}
    return Fault("a fault", machine=machine, began=began, ended=began if ended is None else ended, **values)  # type: ignore[arg-type]


# -- the tree


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Closure, list[Hit]]:
    """Give a tree of a site that grew for a while, what it must hold, and what was asked for."""
    folder = tmp_path_factory.mktemp("soak")
    with Web(8, folder, deadline_s=60) as web:
        web_is_closed = False
        root = folder / "tree"
        words = [sys.executable, "crawl.py", "--root", str(root), "--quiet", "--workers", "1", "--threads", "4"]
        for host in range(3):
            words += ["--seed", web.seed(host)]
        for name, value in {
            "politeness.delay": 0.02,
            "fetch.allow_addresses": '["127.0.0.0/8"]',
            "crawl.scope": "any",
            **SETTINGS,
        }.items():
            words += ["--set", f"{name}={value}"]
        with Running(words, env={**os.environ, "FSCRAWL_MACHINE": "0.1"}, stdout=subprocess.DEVNULL) as running:
            deadline = time.monotonic() + 40
            while running.process.poll() is None and time.monotonic() < deadline:
                if not web_is_closed and web.log.read_bytes().count(b"\n") > 200:
                    web.close()
                    web_is_closed = True
                time.sleep(0.05)
            assert running.process.poll() == 0
        web.end()
        return root, web.closure([0, 1, 2]), list(read_log(web.log))


def judged(root: Path, site: Closure) -> Verdict:
    verdict = Verdict()
    judge_tree(verdict, root, site)
    return verdict


def test_a_whole_tree_is_whole(crawled: tuple[Path, Closure, list[Hit]]) -> None:
    """A tree that nobody disturbed holds the site's pages, redirects and failures, and the judges find nothing."""
    root, site, hits = crawled
    verdict = judged(root, site)
    judge_repeats(verdict, hits, [])
    judge_delays(verdict, hits, [], 0.02)
    assert verdict.ok, verdict
    assert verdict.pages == len(site.pages) + len(site.redirects) > 200
    assert site.redirects
    assert site.failures
    assert {each.machine for each in hits} == {"0.1"}


@pytest.mark.parametrize("directory", ["links", "htmls", "errs"])
def test_a_file_that_is_gone_is_a_loss(crawled: tuple[Path, Closure, list[Hit]], directory: str) -> None:
    """A record, a body or a failure that is missing is found, by its URL or its file."""
    root, site, _ = crawled
    path = next(each for each in sorted((root / directory).rglob("*.*")) if each.is_file())
    with _changed(path, None):
        verdict = judged(root, site)
    assert not verdict.ok
    assert verdict.lost if directory != "htmls" else verdict.torn


def test_a_torn_record_is_found(crawled: tuple[Path, Closure, list[Hit]]) -> None:
    """A record that cannot be read is torn, and its page is lost."""
    root, site, _ = crawled
    path = next((root / "links").rglob("*.json"))
    with _changed(path, path.read_bytes()[:-9]):
        verdict = judged(root, site)
    assert verdict.torn
    assert verdict.lost


def test_a_torn_body_is_found(crawled: tuple[Path, Closure, list[Hit]]) -> None:
    """A body that is shorter than its record says is torn."""
    root, site, _ = crawled
    path = next((root / "htmls").rglob("*.html"))
    with _changed(path, path.read_bytes()[:-1]):
        assert len(judged(root, site).torn) == 1


def test_a_page_that_failed_is_lost(crawled: tuple[Path, Closure, list[Hit]]) -> None:
    """A page of the site in place of which there is a failure is lost, and so is what it alone leads to."""
    root, site, _ = crawled
    url = min(site.pages)
    smaller = dataclasses.replace(site, failures=site.failures | {url + "x"})
    assert judged(root, smaller).lost == [url + "x"]
    larger = dataclasses.replace(site, pages=site.pages - {url})
    assert judged(root, larger).wrong == [f"stored, and not of the site: {url}"]


class _changed:  # noqa: N801 - a context manager that reads like a word
    """A file with other contents, or gone, inside the `with`."""

    def __init__(self, path: Path, data: bytes | None) -> None:
        self._path, self._before, self._data = path, path.read_bytes(), data

    def __enter__(self) -> None:
        if self._data is None:
            self._path.unlink()
        else:
            self._path.write_bytes(self._data)

    def __exit__(self, *_: object) -> None:
        self._path.write_bytes(self._before)


# -- the web's log


def test_a_repeat_without_a_fault_is_found() -> None:
    """A page fetched twice, with no fault of either machine at the time, is unexplained."""
    verdict = Verdict()
    others = [fault("3.1", 10.0), fault("1.1", 30.0), fault("2.1", 1.0)]
    judge_repeats(verdict, [hit("1.1", 10.0), hit("2.1", 20.0)], others)
    assert len(verdict.unexplained) == 1
    assert not verdict.ok


@pytest.mark.parametrize("at", [9.0, 10.0, 13.0])
def test_a_repeat_of_what_was_in_flight_is_excused(at: float) -> None:
    """A page that was in flight, or just answered, when its machine was killed may be fetched again."""
    verdict = Verdict()
    judge_repeats(verdict, [hit("1.1", 10.0), hit("2.1", 20.0)], [fault("1.1", at)])
    assert (verdict.repeats, verdict.unexplained, verdict.excused.total()) == (1, [], 1)


def test_what_a_stopped_machine_sends_late_is_excused() -> None:
    """A request that was on its way when its machine was stopped is sent when that goes on."""
    verdict = Verdict()
    judge_repeats(verdict, [hit("2.1", 10.0), hit("1.1", 30.0)], [fault("1.1", 5.0, 29.5)])
    assert verdict.ok


def test_a_share_has_faults_for_all_its_machines() -> None:
    """What a slot's share does concerns the machine that was there, and the next one."""
    verdict = Verdict()
    trouble = fault("1.1", 5.0, 29.5, target="share")
    judge_repeats(verdict, [hit("1.2", 10.0), hit("2.1", 20.0)], [trouble])
    assert verdict.ok


def test_a_fault_excuses_what_fits_its_machine() -> None:
    """No more repeats than a machine has lanes are excused by one fault."""
    verdict = Verdict()
    hits = [hit(machine, at, f"/p{n}") for n in range(LANES + 1) for machine, at in (("1.1", 10.0), ("2.1", 20.0))]
    judge_repeats(verdict, hits, [fault("1.1", 10.5)])
    assert (len(verdict.unexplained), verdict.excused[0]) == (1, LANES)


def test_a_request_too_soon_is_found() -> None:
    """Two requests to one host, of whatever machines, closer together than its delay are a violation."""
    verdict = Verdict()
    hits = [hit("1.1", 10.0), hit("2.1", 13.9, "/p2"), hit("2.1", 13.9, host="127.0.60.2")]
    judge_delays(verdict, hits, [], 4.0)
    assert len(verdict.rushed) == 1
    judge_delays(excused := Verdict(), hits, [fault("1.1", 10.0)], 4.0)
    assert (excused.ok, excused.rushed_excused) == (True, 1)


def test_a_machine_has_no_excuse_for_what_it_does_alone() -> None:
    """One machine that is too soon after itself is not excused by what was done to it, but for a dead worker's page."""
    hits = [hit("1.1", 10.0), hit("1.1", 11.0, "/p2")]
    judge_delays(verdict := Verdict(), hits, [fault("1.1", 10.0)], 4.0)
    assert not verdict.ok
    judge_delays(verdict := Verdict(), hits, [fault("1.1", 10.0, target="worker")], 4.0)
    assert not verdict.ok
    again = [hit("1.1", 10.0), hit("1.1", 11.0)]
    judge_delays(verdict := Verdict(), again, [fault("1.1", 10.0, target="worker")], 4.0)
    assert verdict.ok


def test_a_machine_that_is_cut_off_stops() -> None:
    """A request later than half of dead_after into a hang is a violation; one before, or after it, is not."""
    hang = fault("1.1", 10.0, 30.0, target="share", fences=True)
    hits = [hit("1.1", 14.0), hit("2.1", 20.0), hit("1.1", 30.5), hit("11.1", 20.0)]
    judge_fencing(verdict := Verdict(), hits, [hang], 8.0)
    assert verdict.ok
    judge_fencing(verdict, [*hits, hit("1.1", 20.0)], [hang], 8.0)
    assert len(verdict.unfenced) == 1


# -- machines


@pytest.mark.parametrize(
    ("end", "is_right"),
    [
        (End("1.1", -9, 10.0, "kill"), True),
        (End("1.1", 130, 10.0, "leave"), True),
        (End("1.1", 0, 110.0, ""), True),
        (End("1.1", 75, 10.0, ""), True),  # its share was in trouble
        (End("2.1", 75, 10.0, ""), False),
        (End("1.1", 75, 99.0, ""), False),
        (End("1.1", 130, 10.0, ""), False),
        (End("1.1", 0, 10.0, ""), False),
        (End("1.1", 1, 110.0, ""), False),
        (End("1.1", -9, 10.0, ""), False),
        (End("1.1", -11, 10.0, "leave"), False),
    ],
)
def test_machines_end_as_they_were_told(end: End, *, is_right: bool) -> None:
    """A machine that ends by itself before all is over, or with an error that nothing permits, is found."""
    verdict = Verdict()
    judge_ends(verdict, [end], [fault("1.1", 5.0, 6.0, permit=True, target="share")], 100.0)
    assert verdict.ok is is_right


def test_temporaries_of_a_machine_that_left_are_a_leak(tmp_path: Path) -> None:
    """What a machine that left by itself leaves is wrong; not what the killed leave, and a killed worker."""
    slots = Slots([Share(tmp_path)], tmp_path, tmp_path)
    slots.all[0].machines = {100: "0.1", 200: "0.2"}
    slots.all[0].killed_pids = {222}
    slots.ends = [End("0.1", -9, 1.0, "kill"), End("0.2", 0, 2.0, "")]
    (tmp_path / ".a.json.host-100-abc.101-1.tmp").touch()
    (tmp_path / ".a.json.host-200-abc.222-1.tmp").touch()
    verdict = Verdict()
    assert judge_temporaries(verdict, tmp_path, slots) == 2
    assert verdict.ok
    (tmp_path / ".a.json.host-200-abc.201-1.tmp").touch()
    judge_temporaries(verdict, tmp_path, slots)
    assert len(verdict.wrong) == 1


def test_growth_is_a_leak_and_fluctuation_is_not() -> None:
    """Handles, threads and memory that grow beyond what is right are found, a peak is not."""
    calm = [Sample(float(n), 3, 80 + 30 * (n == 5), 20, 100 << 20) for n in range(20)]
    assert leaks.leaks(calm) == []
    for name, step in (("handles", 5), ("threads", 1), ("memory_bytes", 10 << 20)):
        grown = [dataclasses.replace(each, **{name: getattr(each, name) + n * step}) for n, each in enumerate(calm)]
        assert [text.split()[-1] for text in leaks.leaks(grown)] == [name]
        assert bool(leaks.leaks(grown, in_packs=True)) == (name != "handles")  # so few may be packs of others
