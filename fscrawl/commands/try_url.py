"""`fscrawl try`: fetch one page by the rules of a crawl, store nothing, and show what would come of it."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fscrawl import store
from fscrawl.commands.common import (
    Program,
    add_allow_env,
    add_command,
    add_root,
    add_settings,
    asked_for,
    assignments,
    no_body,
    open_tree,
)
from fscrawl.commands.program import without_secrets
from fscrawl.commands.site_option import add_site, with_site
from fscrawl.config import settings as all_settings
from fscrawl.config.seeds import read_seed, read_seeds
from fscrawl.config.settings import Settings
from fscrawl.config.watcher import check_lists, parse_file, settings_of
from fscrawl.errors import EXIT_OK, EXIT_UNUSABLE_RESULT, SettingsError, UsageError
from fscrawl.parse.headers import lines
from fscrawl.request import shown
from fscrawl.util.humanize import number_of
from fscrawl.util.progress import ProgressLine
from fscrawl.util.terminal import say, say_json

if TYPE_CHECKING:
    from fscrawl.handlers.reading import Reader
    from fscrawl.handlers.rendering import Render
    from fscrawl.monitor.attempt import Attempt
    from fscrawl.parse.fields import Extracted, Items
    from fscrawl.storage.records import PageRecord
    from fscrawl.store import Tree

_EXAMPLES = """\
fscrawl try https://example.org/list                       with the usual settings
fscrawl try --root /mnt/shared https://example.org/list    by crawl.toml of this crawl
fscrawl try --root /mnt/shared --stored https://example.org/list
fscrawl try 'POST https://example.org/find day=1'          a request
fscrawl try --site site.py https://example.org/list        by a site file that you write
"""
_EXIT_CODES = "exit codes: 0 a crawl would store the page, 1 it would not\n"
_MAX_LINES = 20  # of links, for a person; --json has them all


def add(program: Program) -> None:
    command = add_command(
        program,
        "try",
        run,
        description="Fetch one page by the rules of a crawl, and show what would come of it. Nothing is stored.",
        examples=_EXAMPLES,
        notes=_EXIT_CODES,
    )
    command.add_argument("words", metavar="URL", nargs="+", help="the complete URL, or a request as in seeds.txt")
    add_root(command, has_words=True)
    add_site(command)
    command.add_argument("--stored", action="store_true", help="do not fetch it: read the page that the tree has")
    add_settings(command, "another setting, e.g. crawl.order=depth; repeatable")
    add_allow_env(command)
    command.add_argument("--json", action="store_true", help="print everything as one JSON object")


def run(options: argparse.Namespace) -> int:
    from fscrawl.monitor.attempt import attempt, attempt_stored  # noqa: PLC0415 - a crawl need not load it

    tree = _opened(options.root)
    asked = asked_for(options.words)
    try:
        url = read_seed(asked)
    except ValueError as error:
        raise UsageError(f"{without_secrets(asked)}: {error}") from None
    with _limited() as read, ProgressLine() as line:
        settings, seeds = _crawl_of(tree, options.root, url, assignments(options), line)
        settings = with_site(settings, options.site, options.root)
        if options.stored:
            if tree is None:
                raise UsageError("--stored reads a page of a tree: give --root DIR of a crawl that has begun, too")
            found = attempt_stored(settings, seeds, url, tree, options.allow_env, read)
        else:
            line.begin("asking the host", unit="")
            with _browser(settings, line.print_line) as render:
                found = attempt(settings, seeds, url, tree, options.allow_env, read, render)
    say_json(_as_json(found)) if options.json else say(*_lines(found))
    return EXIT_OK if found.record is not None and found.record.kind == "page" else EXIT_UNUSABLE_RESULT


@contextlib.contextmanager
def _limited() -> Iterator[Reader]:
    """Give what reads a page within the limits of a crawl. It forks, so it comes before whatever starts threads."""
    from fscrawl.engine.parsing import Parsing  # noqa: PLC0415 - a crawl need not load it here
    from fscrawl.engine.side_process import Forker  # noqa: PLC0415

    forker = Forker()
    parsing = Parsing(forker.start)
    try:
        yield parsing.read
    finally:
        parsing.close()
        forker.close()


@contextlib.contextmanager
def _browser(settings: Settings, warn: Callable[[str], None]) -> Iterator[Render | None]:
    """Give what runs the scripts of a page, if the settings want that."""
    if not settings.render.is_on:
        yield None
        return
    from fscrawl.engine.browsers import one_browser  # noqa: PLC0415 - a crawl need not load it
    from fscrawl.render.executable import find, not_found  # noqa: PLC0415 - as above

    if find() is None:
        raise SettingsError(not_found())
    with one_browser(settings.render, warn) as render:
        yield render


def _opened(root: Path | None) -> Tree | None:
    """Open the tree; None if there is none, or none yet: only the settings by which a crawl would make it."""
    if root is None:
        return None
    is_written = store.state_of(root) in ("directory", "seeds") and store.kept_settings(root) is not None
    return None if is_written and not store.remains_of_tree(root) else open_tree(root)


def _crawl_of(
    tree: Tree | None, root: Path | None, url: str, assignments: list[str], line: ProgressLine
) -> tuple[Settings, frozenset[str]]:
    """Give the settings and the seeds of a crawl: without `root` the usual settings, and the URL as the only seed."""
    if root is None:
        return all_settings.apply(Settings(), assignments), frozenset({url})
    if tree is None:
        chosen = parse_file(store.kept_settings(root) or "", f"{root}/{all_settings.FILE}")
        text = store.kept_seeds(root) or ""
    else:
        chosen, text = settings_of(tree), tree.controls.seeds()
    try:
        check_lists(root, chosen)
    except SettingsError as error:
        line.print_line(f"a crawl would not begin: {error}")
    seeds = frozenset(read_seeds(text, f"{root}/{store.SEEDS}", line.print_line))
    if tree is None and not seeds and not any(site.seeds for site in chosen.rules):
        seeds = frozenset({url})  # they will be given when the crawl begins
    return all_settings.apply(chosen, assignments), seeds


# -- what is printed


def _lines(found: Attempt) -> Iterator[str]:
    yield f"url       {shown(found.url)}"
    if found.refused is not None:
        yield f"scope     outside: crawl.{found.refused}; a crawl would not ask for it"
    if found.site:
        yield f"rules     {found.site}"
    yield from (f"session   {line}" for line in found.opened)
    if found.log_in:
        way = ", ".join(map(shown, found.log_in))
        yield f"log-in    it led to {way}, and back with a cookie; what came then:"
    if found.error is not None:
        yield f"failed    {found.error.class_}: {found.error.message}"
        return
    record = found.record
    if record is None:
        yield "failed    no answer came in time"
        return
    yield from _record_lines(record)
    what = "link" if record.requests is None else "request"
    more = "; it has more than are kept" if record.truncated else ""
    yield f"{what + 's':<10}{number_of(len(found.followed), what)} to follow, {len(found.cut)} not{more}"
    yield from (f"  follow  {shown(url)}" for url in found.followed[:_MAX_LINES])
    yield from _more(len(found.followed), "link")
    yield from (f"  cut     {shown(url)}: {rule}" for url, rule in found.cut[:_MAX_LINES])
    yield from _more(len(found.cut), "link")
    yield from _field_lines(found.fields)
    yield from _item_lines(found.items)


def _record_lines(record: PageRecord) -> Iterator[str]:
    kind = ", ".join(lines(record.headers, "content-type")) or "no type"
    yield f"answer    {record.status}, {kind}, {number_of(record.bytes, 'byte')}, {record.elapsed:.2f} s"
    if record.redirect is not None:
        yield f"redirect  to {record.redirect}"
    if record.skipped is not None:
        yield f"no body   {no_body(record)}"
    if record.rendered is not None:
        yield f"rendered  {record.rendered.shown()}"
    if record.encoding is not None:
        yield "encoding  " + ", ".join(filter(None, [record.encoding, record.encoding_source]))
    if record.title:
        yield f"title     {record.title}"
    if record.robots:
        yield f"robots    {', '.join(record.robots)}"


def _more(count: int, what: str) -> Iterator[str]:
    if count > _MAX_LINES:
        yield f"          and {number_of(count - _MAX_LINES, f'more {what}', f'more {what}s')}; --json has them all"


def _field_lines(fields: Extracted | None) -> Iterator[str]:
    if fields is None:
        return
    for name, value in fields.values.items():
        yield f"field     {name}: {_text(value)}"
    for name in fields.missing:
        yield f"field     {name}: nothing" + (f"; not right: {fields.bad[name]}" if name in fields.bad else "")


def _item_lines(items: Items | None) -> Iterator[str]:
    if items is None:
        return
    yield f"items     {number_of(len(items.items), 'item')}" + (f"; then: {items.fault}" if items.fault else "")
    for item in items.items[:_MAX_LINES]:
        missing = f"; nothing for {', '.join(item.missing)}" if item.missing else ""
        yield f"  item    {_text(item.values)}{missing}"
    yield from _more(len(items.items), "item")


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _as_json(found: Attempt) -> dict[str, Any]:
    record, error = found.record, found.error
    return {
        "url": found.url,
        "refused": found.refused,
        "stored": None if record is None else record.kind,
        "status": record.status if record else None,
        "error": None if error is None else {"class": error.class_, "message": error.message},
        "headers": None if record is None else record.headers,
        "bytes": None if record is None else record.bytes,
        "elapsed": None if record is None else record.elapsed,
        "encoding": None if record is None else record.encoding,
        "encoding_source": None if record is None else record.encoding_source,
        "title": None if record is None else record.title,
        "redirect": None if record is None else record.redirect,
        "log_in": list(found.log_in),
        "opened": list(found.opened),
        "skipped": None if record is None else record.skipped,
        "rendered": None if record is None or record.rendered is None else msgspec.to_builtins(record.rendered),
        "follow": list(found.followed),
        "cut": [{"url": url, "rule": rule} for url, rule in found.cut],
        "rules": found.site or None,
        "fields": None if found.fields is None else json.loads(_text(found.fields.values)),
        "bad_fields": None if found.fields is None else found.fields.bad,
        "items": None if found.items is None else [json.loads(_text(item.values)) for item in found.items.items],
    }
