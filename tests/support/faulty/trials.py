"""A small crawl on the pass-through, with a fault somewhere in it, and what came of it.

Vocabulary:
  trial      one crawl from its beginning to its end, perhaps with a second run that goes on after the fault
  problem    what a trial should not have shown, in words; the numbers of all trials go into a `Tally`

Promise: a trial never raises for what the crawl did: it tells, so that one bad call does not hide the next one. Each
has a web and a tree of its own; the tree is gone afterwards.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType

from fscrawl.errors import EXIT_TREE, RecordError
from tests.support.crawling import Done, check_tree, crawl, errors, pages
from tests.support.faults import Fault
from tests.support.faulty import coherent
from tests.support.fleet import DYING, QUICK
from tests.support.ledger import note
from tests.support.passthrough import Passthrough
from tests.support.web import Request, Response, Web
from tools.reliability import Row

HOSTS = ["127.0.41.1", "127.0.41.2"]
PATIENCE_S = 5.0
SETTINGS = {**QUICK, **DYING, "store.patience": PATIENCE_S}
# A machine that gets no processor for half of `dead_after` fences itself, and may fetch again what was in flight. So it
# is longer where nothing may be fetched twice: other suites run beside these.
_UNFENCED = {"fleet.dead_after": 30}
WORKERS, THREADS = 1, 2
_DEADLINE_S = 40.0
_HTML = {"Content-Type": "text/html; charset=utf-8"}
_STORED = ("/", "/1", "/2", "/3", "/4", "/moved")
_FAILED = ("/gone",)
_numbers = itertools.count()


def serve(request: Request) -> Response:
    """On each host: six pages, one of them a redirect, and one that is gone; the first host links to the second."""
    if request.path == "/moved":
        return Response(301, {"Location": "/4"})
    if request.path not in _STORED:
        return Response(404, {"Content-Type": "text/plain"}, b"no such page\n")
    port = request.headers["host"].rpartition(":")[2]
    links = {"/": ["/1", "/2", "/gone"], "/1": ["/3", f"http://{HOSTS[1]}:{port}/"], "/2": ["/moved"]}
    anchors = "".join(f'<a href="{link}">{link}</a>\n' for link in links.get(request.path, ["/"]))
    return Response(200, _HTML, f"<!DOCTYPE html><title>{request.path}</title>\n{anchors}".encode() + b"." * 3000)


def whole_site(web: Web) -> set[str]:
    """Give the URLs of all pages that should be stored."""
    return {web.url(host, path) for host in HOSTS for path in _STORED}


@dataclass
class Tally(Row):
    """What many trials with one fault came to, and what was wrong in them."""

    file_system: str = field(default="FUSE pass-through", init=False)
    problems: list[str] = field(default_factory=list)

    def conclude(self) -> None:
        """Write the ledger's line; the test fails here if anything was wrong."""
        line = asdict(self)
        del line["problems"]
        print(", ".join(f"{name} {value}" for name, value in line.items()))
        note(Row(**line))
        assert not self.problems, f"{len(self.problems)} problems\n" + "\n".join(self.problems)


class Trials:
    """Trials with one fault on one mount, one after the other."""

    def __init__(
        self,
        mount: Passthrough,
        backing: Path,
        fault: str,
        *,
        settings: Mapping[str, object] = SETTINGS,
        program: Path = Path(coherent.__file__),
        deadline_s: float = _DEADLINE_S,
    ) -> None:
        """`fault`: its name in the ledger; `program`: takes the arguments of crawl.py; `deadline_s`: of one crawl."""
        self._deadline_s = deadline_s
        self._settings = settings
        self._program = program
        self.mount = mount
        self.tally = Tally(fault)
        self._backing = backing

    def passing(self, *faults: Fault, fsync: bool = False) -> None:
        """Faults that pass: the crawl does not stop for them, loses nothing, and fetches nothing twice."""
        with self._trial(faults) as (web, root, problem):
            self.mount.inject(*faults)
            done = self._crawl(root, web, problem, fsync=fsync, settings=_UNFENCED)
            if done is not None and (done.code != 0 or "Traceback" in done.err):
                problem(f"exit code {done.code}\n{done.err}")
            self.mount.heal()
            self._judge(web, root, problem, repeats=0, said="" if done is None else done.err)

    def lasting(self, fault: Fault, advice: str) -> None:
        """A fault that stays: the machine stops with one clear line; once it is mended, a second run completes all.

        One that comes when all is stored, and only the farewell is left to be written, need not be told; nor need one
        that was to come at a call that this crawl did not make.
        """
        with self._trial((fault,)) as (web, root, problem):
            before = self.mount.injected().total()
            self.mount.inject(fault)
            done = self._crawl(root, web, problem)
            if fault.kind == "unmount" and not os.path.ismount(self.mount.path):
                if left := list(self.mount.path.iterdir()):
                    problem(f"made below the mount point: {left}")
                fired = True
                self.mount.remount()
            else:
                fired = self.mount.injected().total() > before
                self.mount.heal()
            if done is not None and not (done.code == 0 and self._is_complete(web, root)):
                _check_stop(done, fired, [str(root.parent), advice], problem)
            again = self._crawl(root, web, problem)
            if again is not None and again.code != 0:
                problem(f"the second run: exit code {again.code}\n{again.err}")
            self._judge(web, root, problem, repeats=2 * THREADS)

    @contextmanager
    def _trial(self, faults: Sequence[Fault]) -> Iterator[tuple[Web, Path, Callable[[str], None]]]:
        name = f"tree-{next(_numbers)}"
        before = self.mount.injected().total()

        def problem(text: str) -> None:
            self.tally.problems.append("\n".join([*(f"-- {fault}" for fault in faults), text]))

        with Web(serve, HOSTS) as web:
            yield web, self.mount.path / name, problem
        self.tally.runs += 1
        after = self.mount.injected().total()
        is_new = any(fault.kind == "unmount" for fault in faults)  # it counts anew when mounted anew
        self.tally.faults += 1 if is_new else after - before
        shutil.rmtree(self._backing / name, ignore_errors=True)

    def _crawl(
        self,
        root: Path,
        web: Web,
        problem: Callable[[str], None],
        *,
        fsync: bool = False,
        settings: Mapping[str, object] = MappingProxyType({}),
    ) -> Done | None:
        try:
            return crawl(
                *(root, "--quiet"),
                seeds=[web.url(HOSTS[0], "/")],
                settings={**self._settings, **settings, "store.fsync": str(fsync).lower()},
                workers=WORKERS,
                threads=THREADS,
                program=self._program,
                timeout_s=self._deadline_s,
            )
        except AssertionError as late:
            problem(str(late))
            return None

    def _is_complete(self, web: Web, root: Path) -> bool:
        there = self._backing / root.name
        return whole_site(web) <= set(pages(there)) and len(errors(there)) == len(HOSTS) * len(_FAILED)

    def _judge(self, web: Web, root: Path, problem: Callable[[str], None], repeats: int, said: str = "") -> None:
        """Look at the tree, not through the mount. `said`: by the crawl."""
        there = self._backing / root.name
        tally = self.tally
        try:
            stored, failed = set(pages(there)), set(errors(there))
            check_tree(there)
        except (AssertionError, OSError, RecordError) as wrong:
            tally.torn += 1
            problem(f"the tree: {wrong!r}")
            return
        lost = whole_site(web) - stored
        lost |= {web.url(host, path) for host in HOSTS for path in _FAILED} - failed
        tally.pages += len(stored)
        tally.lost += len(lost)
        if lost:
            problem(f"lost: {lost}")
        twice = sum(number - 1 for number in web.duplicates().values())
        tally.duplicates += twice
        if twice > repeats:
            problem(f"fetched twice: {web.duplicates()}\n{said}")


def _check_stop(done: Done, fired: bool, words: Sequence[str], problem: Callable[[str], None]) -> None:
    """A machine that met a fault that stays ends with code 75 and one line that says where, and what would be right."""
    if not fired:
        problem(f"no fault, and exit code {done.code}\n{done.err}")
        return
    if done.code != EXIT_TREE:
        problem(f"exit code {done.code}, not {EXIT_TREE}\n{done.out}{done.err}")
    lines = done.err.splitlines()
    if len(lines) != 1 or not all(word in lines[0] for word in words):
        problem(f"not one line with {words}:\n{done.err}")
