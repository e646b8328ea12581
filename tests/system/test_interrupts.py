"""Every command gets SIGINT, SIGTERM and SIGHUP, alone and with its whole process group, at random moments of its life.

Each time it must end at once (a crawl: when its pages are stored) with one line, the right exit code, and no process,
no temporary file, no traceback and no torn file left; and the same command must then do what an undisturbed one does.

FSCRAWL_INTERRUPTS in the environment says how many moments each command and signal gets (3 without it),
FSCRAWL_SEED chooses them.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.crawling import CHECKOUT, Done, Running, check_tree, command, pages
from tests.support.dashboards import write_log
from tests.support.interrupted import Ran, Signal, interrupt, scratch
from tests.support.sessions import await_end
from tests.support.trees import Grown, Made, check, lasting, stamps
from tests.support.web import Web, linked_site

pytestmark = pytest.mark.proof

_FREE = re.compile(r"[0-9.,]+ [kMGT]?B free *|, in [0-9.]+ s$", re.MULTILINE)
MOMENTS = int(os.environ.get("FSCRAWL_INTERRUPTS", "3"))
ROUND = 3  # so many runs of one command are interrupted before one that is not
ENDLESS_S = 1.0  # of the life of a command that does not end by itself
HOSTS, PAGES = ["127.0.31.1", "127.0.31.2"], 30
STORED = "what is stored is kept; the same command goes on"
PARTS = "finished parts are kept; the same command goes on"
# Cut small, so that a merge of few pages has many batches and some groups.
_SMALL = """\
from fscrawl import interrupts
interrupts.catch()
import sys
from fscrawl.dataset import plan, write
plan.BATCH_PAGES, write._GROUP_ROWS = 30, 90
from fscrawl.__main__ import main
sys.exit(main())
"""


def nothing(*_: object) -> None:
    pass


@dataclass(frozen=True)
class Case:
    """A command, in a place of its own.

    words      its command line there
    kept       what it may say is kept
    prepare    makes what it needs there
    sound      asserts what must be so there at any time, also after an interrupt
    result     gives what a run to the end makes there: the same, interrupted before or not
    endless    it ends only by a signal; usual_end: Ctrl-C is how people end it
    """

    words: Callable[[Path], list[str]]
    kept: Sequence[str] = ()
    prepare: Callable[[Path], object] = nothing
    sound: Callable[[Path], object] = nothing
    result: Callable[[Path, Done], object] = nothing
    endless: bool = False


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Grown:
    """A tree that commands read."""
    tree = Grown(tmp_path_factory.mktemp("grown") / "tree")
    tree.many(3, 40)
    for number in range(20):
        tree.fail(f"http://h0.example/gone{number}", "timeout", None)
        tree.page(f"http://h1.example/copy{number}", tree.bodies[f"http://h0.example/{number}"])
    return tree


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with Web(linked_site(PAGES, 6, body_bytes=2_000), HOSTS, deadline_s=3600) as web:
        yield web


def fscrawl(verb: str, root: Path, *flags: str) -> list[str]:
    return [sys.executable, "-m", "fscrawl", verb, "--root", str(root), *flags]


def whole_run(words: list[str]) -> Done:
    """Run a command to its end."""
    with scratch() as (temporary, env), Running(words, cwd=CHECKOUT, env=env) as running:
        done = running.wait()
        await_end(running.process.pid)
        assert list(temporary.iterdir()) == []
    return done


# -- the commands


def crawling(web: Web, *, twice: bool = False) -> Case:
    """A crawl. `twice`: it gets a second signal, which leaves what a kill leaves: the next run removes it."""
    seeds = [web.url(host) for host in HOSTS]
    settings = {"fleet.beat": 2, "fleet.dead_after": 8, "politeness.per_host": 4}

    def sound(place: Path) -> None:
        if (place / "tree/.fscrawl/tree.json").exists():
            check_tree(place / "tree", whole=not twice)

    def result(place: Path, _: Done) -> object:
        check_tree(place / "tree")
        return set(pages(place / "tree"))

    words = lambda place: command(place / "tree", seeds=seeds, settings=settings)  # noqa: E731
    return Case(words, [STORED], sound=sound, result=result)


def merging(tree: Grown, *flags: str, small: bool = False) -> Case:
    def words(place: Path) -> list[str]:
        whole = tree.command(place / "out", *flags)
        return [sys.executable, "-c", _SMALL, *whole[whole.index("merge") :]] if small else whole

    def result(place: Path, _: Done) -> object:
        check(Made(place / "out"))
        return lasting(place / "out")

    return Case(words, [PARTS], result=result)


def importing(tree: Grown) -> Case:
    out = tree.root.parent / "archived"
    tree.merge(out, formats=("warc",))

    def sound(place: Path) -> None:
        if (place / "tree/.fscrawl/tree.json").exists():
            check_tree(place / "tree", whole=False)

    def result(place: Path, _: Done) -> object:
        assert list((place / "tree").rglob("*.tmp")) == []
        return {url: (record.fetched_at, record.sha256) for url, record in pages(place / "tree").items()}

    words = lambda place: fscrawl("import", place / "tree", str(out / "warc"))  # noqa: E731
    kept = [STORED, "what is imported is kept; the same command does the rest"]
    return Case(words, kept, sound=sound, result=result)


def searching(tree: Grown) -> Case:
    out = tree.root.parent / "searched"
    tree.merge(out, index=True)
    words = [sys.executable, "-m", "fscrawl", "search", "h0", "--dataset", str(out), "--json"]
    return Case(lambda _: words, result=lambda _, done: done.out)


def reporting(tree: Grown) -> Case:
    def sound(place: Path) -> None:
        out = place / "report.html"
        assert {path.name for path in place.iterdir()} <= {out.name}
        assert not out.exists() or out.read_text().rstrip().endswith("</html>")

    def result(place: Path, done: Done) -> object:
        assert (place / "report.html").exists()
        sound(place)
        return _FREE.sub("free", done.out.partition("report.html")[2])

    return Case(
        lambda place: fscrawl("report", tree.root, "--out", str(place / "report.html")),
        ["the report is written"],
        sound=sound,
        result=result,
    )


def reading(tree: Grown, verb: str, *flags: str) -> Case:
    """A command that changes nothing."""
    before = stamps(tree.root)

    def sound(_: Path) -> None:
        assert stamps(tree.root) == before

    result = nothing if verb == "doctor" else lambda _, done: _FREE.sub("free", done.out)  # of the disk, which changes
    return Case(lambda _: fscrawl(verb, tree.root, *flags), sound=sound, result=result)


def repairing(tree: Grown) -> Case:
    def prepare(place: Path) -> None:
        shutil.copytree(tree.root, place / "tree")
        for number in range(1, 40, 2):  # a page that leads to each is left, so the URL can be found
            name = tree.file("links", f"http://h0.example/{number}").relative_to(tree.root)
            (place / "tree" / name).write_bytes(b"{")

    def result(place: Path, _: Done) -> object:
        found = json.loads(whole_run(fscrawl("audit", place / "tree", "--json")).out)["found"]
        assert found["torn_records"]["count"] == 0
        return {kind: told["count"] for kind, told in found.items()}

    return Case(
        lambda place: fscrawl("audit", place / "tree", "--repair"),
        ["what has been repaired stays so; the same command does the rest"],
        prepare,
        result=result,
    )


def retrying(tree: Grown) -> Case:
    def result(place: Path, done: Done) -> object:
        assert list((place / "tree").rglob("*.tmp")) == []
        return _FREE.sub("", done.out.partition(";")[0])

    return Case(
        lambda place: fscrawl("retry", place / "tree"),
        ["some failures may be on the to-do list already; the same command does the rest"],
        lambda place: shutil.copytree(tree.root, place / "tree"),
        result=result,
    )


def steering(tree: Grown, verb: str, *flags: str) -> Case:
    def prepare(place: Path) -> None:
        shutil.copytree(tree.root, place / "tree")
        if verb == "resume":
            (place / "tree" / "PAUSE").touch()

    def result(place: Path, _: Done) -> object:
        return sorted(path.name for path in (place / "tree").iterdir() if path.name.isupper() or "PAUSE" in path.name)

    return Case(
        lambda place: fscrawl(verb, place / "tree", *flags),
        [f"the machines will {verb}"],
        prepare,
        result=result,
    )


def staying(tree: Grown, verb: str, *flags: str, kept: Sequence[str] = ()) -> Case:
    def prepare(place: Path) -> None:
        shutil.copytree(tree.root, place / "tree")
        write_log(place / "tree", "m-1-aa", *({"beat": n, "pages": n} for n in range(5)), every_s=1.0, alive=True)

    return Case(lambda place: fscrawl(verb, place / "tree", *flags), kept, prepare, endless=True)


CASES: dict[str, Callable[[Grown, Web], Case]] = {
    "crawl": lambda _, web: crawling(web),
    "merge": lambda tree, _: merging(tree, small=True),
    "merge-index": lambda tree, _: merging(tree, "--index", small=True),
    "merge-main": lambda tree, _: merging(tree, "--text", "main"),
    "merge-dedupe": lambda tree, _: merging(tree, "--dedupe"),
    "merge-warc": lambda tree, _: merging(tree, "--format", "warc", small=True),
    "import": lambda tree, _: importing(tree),
    "report": lambda tree, _: reporting(tree),
    "status": lambda tree, _: reading(tree, "status"),
    "watch": lambda tree, _: staying(tree, "status", "--watch"),
    "dashboard": lambda tree, _: staying(
        tree, "dashboard", "--port", "0", "--control", kept=["the dashboard has ended, the crawl has not"]
    ),
    "show": lambda tree, _: reading(tree, "show", "http://h1.example/3", "--inlinks"),
    "search": lambda tree, _: searching(tree),
    "audit": lambda tree, _: reading(tree, "audit"),
    "repair": lambda tree, _: repairing(tree),
    "doctor": lambda tree, _: reading(tree, "doctor"),
    "retry": lambda tree, _: retrying(tree),
    "pause": lambda tree, _: steering(tree, "pause", "--host", "a.example", "--host", "b.example"),
    "resume": lambda tree, _: steering(tree, "resume"),
    "stop": lambda tree, _: steering(tree, "stop"),
    "completion": lambda *_: Case(
        lambda _: [sys.executable, "-m", "fscrawl", "completion", "bash"], result=lambda _, done: done.out
    ),
}


# -- the runs


class Trial:
    """One command, an undisturbed run of it, and runs that are not."""

    def __init__(self, case: Case, tmp_path: Path, name: str) -> None:
        self._case = case
        self._tmp_path = tmp_path
        self._name = name
        self._places = 0
        self.rng = random.Random(f"{os.environ.get('FSCRAWL_SEED', '1')} {name}")
        self.runs: list[Ran] = []
        place = self.place()
        if case.endless:
            self.undisturbed, self.wanted = Done(0, "", "", ENDLESS_S), None
        else:
            self.undisturbed = whole_run(case.words(place))
            assert "Traceback" not in self.undisturbed.err
            self.wanted = case.result(place, self.undisturbed)

    def place(self) -> Path:
        self._places += 1
        place = self._tmp_path / str(self._places)
        place.mkdir()
        self._case.prepare(place)
        return place

    def moment(self, number: signal.Signals, *, twice: bool = False) -> Signal:
        at_s = self.rng.uniform(0.0, self.undisturbed.elapsed_s)
        again_s = self.rng.choice([0.0, self.rng.uniform(0.0, 0.3)]) if twice else None
        return Signal(at_s, number, self.rng.random() < 0.5, again_s)

    def interrupt(self, place: Path, sent: Signal) -> Ran:
        ran = interrupt(self._case.words(place), sent)
        usual_end = self._case.endless and sent.number == signal.SIGINT
        problem = ran.problem(self._case.kept, self.undisturbed, usual_end=usual_end)
        assert not problem, f"{self._name}, {problem}: {ran}"
        if self._case.endless:
            assert ran.state or ran.done.code in (0, 128 + sent.number), ran
        self._case.sound(place)
        self.runs.append(ran)
        return ran

    def complete(self, place: Path) -> None:
        """Run the same command to its end: it makes what an undisturbed one makes."""
        if self._case.endless:
            return
        done = whole_run(self._case.words(place))
        assert done.code == self.undisturbed.code, done
        assert self._case.result(place, done) == self.wanted
        shutil.rmtree(place)

    def note(self) -> None:
        states = [ran.state or "caught" for ran in self.runs]
        counts = ", ".join(f"{states.count(state)} {state}" for state in sorted({*states}))
        lasting_s = self.undisturbed.elapsed_s
        tracebacks = sum("Traceback" in ran.done.err for ran in self.runs)
        print(
            f"{self._name}: {len(self.runs)} signals within {lasting_s:.2f} s: {counts};"
            f" {tracebacks} tracebacks of Python's start"
        )


@pytest.mark.timeout(120 + 20 * MOMENTS)
@pytest.mark.parametrize("name", CASES)
def test_interrupts(name: str, grown: Grown, web: Web, tmp_path: Path) -> None:
    """Whenever a signal comes, the command ends with one line, leaves nothing behind, and goes on when repeated."""
    trial = Trial(CASES[name](grown, web), tmp_path, name)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        left = moments_of(name)
        while left:
            place = trial.place()
            for _ in range(min(ROUND, left)):
                left -= 1
                if trial.interrupt(place, trial.moment(number)).state == "over":
                    break
            trial.complete(place)
    trial.note()


def moments_of(name: str) -> int:
    """Give how many moments a command gets: one, if it is slow and like another, and few are asked for."""
    return 1 if name.startswith("merge-") and MOMENTS <= ROUND else MOMENTS


@pytest.mark.timeout(120 + 20 * MOMENTS)
@pytest.mark.parametrize("name", ["crawl", "merge"])
def test_a_second_signal(name: str, grown: Grown, web: Web, tmp_path: Path) -> None:
    """A second signal, at once or a moment after the first, does no more harm."""
    case = crawling(web, twice=True) if name == "crawl" else merging(grown, small=True)
    trial = Trial(case, tmp_path, name)
    for _ in range(0, MOMENTS, ROUND):
        place = trial.place()
        for number in (signal.SIGINT, signal.SIGTERM):
            trial.interrupt(place, trial.moment(number, twice=True))
        trial.complete(place)
    trial.note()
