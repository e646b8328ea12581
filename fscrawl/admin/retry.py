"""`fscrawl retry`: failed URLs are tried again, in a running or a finished crawl.

For each failure the command marks its record, and writes a line into a log of its own: the URL, with the flag
`again=<when it failed>`. The machine that holds the shard tries the URL once more. If it is stored, the record of the
failure is removed; if it fails again, the record is replaced, by one without a mark. Machines that run learn of it from
the line, and the mark says it in all later generations. The command may be killed or repeated: a failure that is newer
than its flag is not tried again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator

import msgspec

from fscrawl import hostnames, urls
from fscrawl.errors import RecordError, TreeError, UsageError, about
from fscrawl.fleet.lines import Found
from fscrawl.fleet.outside import write_command_log
from fscrawl.frontier.flags import Flags, parse_flags
from fscrawl.hostnames import Host
from fscrawl.http.answers import CLASSES
from fscrawl.labels import sound
from fscrawl.storage.flaws import flaw
from fscrawl.storage.layout import ERRS, LINKS
from fscrawl.storage.records import ErrorRecord
from fscrawl.store import Tree
from fscrawl.util.installed import command
from fscrawl.util.parallel import READERS, in_turn_if_slow
from fscrawl.util.progress import SILENT, ProgressLine

NOT_BY_ITSELF = "robots"  # it would fail again as long as robots.txt stays as it is


class Marked(Counter[str]):
    """The number of marked failures by class; `left_out`: failures of the class NOT_BY_ITSELF, which was not named."""

    left_out = 0


def retry(
    tree: Tree,
    classes: Collection[str],
    hosts: Collection[str],
    warn: Callable[[str], None],
    line: ProgressLine = SILENT,
) -> Marked:
    """Mark the failures of these classes and hosts to be tried again. Return their number by class.

    `classes`: if empty, all classes but NOT_BY_ITSELF. `hosts`: in any form of `hostnames`, also globs; if empty, all
    hosts. `tree`: opened under a machine id of its own. `line`: shows how many are read. UsageError if a class or a
    host is none; TreeError if the tree cannot be read or written.
    """
    for name in classes:
        if name not in CLASSES:
            raise UsageError(f"--class {name}: must be one of {', '.join(CLASSES)}")
    wanted = [hostnames.option(host, globs=True) for host in hosts]
    put = Marked()
    line.begin("reading failures", unit="failures")

    def lines() -> Iterator[Found]:
        for record, is_chosen in _failures(tree, wanted, classes, warn):
            line.advance()
            if is_chosen:
                put[record.class_] += 1
                yield _line_of(tree, record)
            elif not classes:
                put.left_out += 1

    write_command_log(tree, lines())
    tree.close()
    return put


def _line_of(tree: Tree, record: ErrorRecord) -> Found:
    shard = tree.record.shard_of(urls.host(record.url), record.key)
    sitemap = parse_flags(record.sitemap or "").sitemap
    flags = Flags(sitemap, retry_of=record.failed_at, label=sound(record.label))
    return Found(shard, record.depth, record.referrer, record.url, flags)


def _failures(
    tree: Tree, hosts: Collection[Host], classes: Collection[str], warn: Callable[[str], None]
) -> Iterator[tuple[ErrorRecord, bool]]:
    """Read the failures of URLs that are not stored, and mark those of the classes. Gives which ones were marked."""

    def named() -> Iterator[tuple[str, str]]:
        for host in sorted(tree.hosts(ERRS)):
            if not hosts or any(each.may_name(host) for each in hosts):
                stored = frozenset(tree.keys(LINKS, host))
                yield from ((host, key) for key in sorted(tree.keys(ERRS, host)) if key not in stored)

    def take(name: tuple[str, str]) -> tuple[ErrorRecord, bool] | None:
        host, key = name
        record = _read(tree, host, key, warn)
        if record is None or (hosts and not any(each.has(record.url) for each in hosts)) or tree.is_done(host, key):
            return None
        is_chosen = record.class_ in classes if classes else record.class_ != NOT_BY_ITSELF
        if is_chosen and not record.again:  # at once: by now a machine may have tried it by itself
            tree.put_error(host, msgspec.structs.replace(record, again=True))
        return record, is_chosen

    return (taken for taken in in_turn_if_slow(take, named(), READERS) if taken is not None)


def _read(tree: Tree, host: str, key: str, warn: Callable[[str], None]) -> ErrorRecord | None:
    try:
        record = tree.error(host, key)
    except RecordError as error:
        repair = f"{command('audit', tree.root)} --repair"
        warn(f"{about(tree.path_of(ERRS, host, key), error)}; to fetch it again:  {repair}")
        return None
    except TreeError as error:
        if error.is_missing:  # stored meanwhile
            return None
        raise
    return None if flaw(record, host, key) else record  # somebody may have edited the file
