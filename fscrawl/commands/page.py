"""`fscrawl show` and `fscrawl try`: what a tree knows about a URL; and what a crawl would make of it now.

`try` fetches one page by the rules of a crawl, and stores nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fscrawl import store
from fscrawl.commands.program import (
    Program,
    add_allow_env,
    add_root,
    add_settings,
    add_site,
    assignments,
    open_tree,
    positive,
    with_site,
    without_secrets,
)
from fscrawl.config import settings as all_settings
from fscrawl.config.seeds import read_seed, read_seeds
from fscrawl.config.settings import Settings
from fscrawl.config.watcher import check_lists, parse_file, settings_of
from fscrawl.errors import EXIT_OK, EXIT_UNUSABLE_RESULT, SettingsError, UsageError
from fscrawl.frontier.flags import format_flags, parse_flags
from fscrawl.parse.headers import lines
from fscrawl.request import METHODS, Request, body_text, shown
from fscrawl.util.humanize import number_of
from fscrawl.util.progress import ProgressLine
from fscrawl.util.terminal import say, say_json
from fscrawl.util.user_text import parted

if TYPE_CHECKING:
    from fscrawl.handlers.reading import Reader
    from fscrawl.handlers.rendering import Render
    from fscrawl.monitor.attempt import Attempt
    from fscrawl.monitor.explain import Explanation, Line, Look
    from fscrawl.parse.fields import Extracted, Items
    from fscrawl.storage.records import PageRecord
    from fscrawl.store import Tree

_SHOW_EXAMPLES = """\
fscrawl show --root /mnt/shared https://example.org/faq      why is this page missing?
fscrawl show --root /mnt/shared 599370d5687c3fd078c314ad     which URL has this key?
fscrawl show --root /mnt/shared https://example.org/faq --inlinks
fscrawl show --root /mnt/shared https://example.org/faq --versions
fscrawl show --root /mnt/shared 'POST https://example.org/search q=faq'
"""
_TRY_EXAMPLES = """\
fscrawl try https://example.org/list                       with the usual settings
fscrawl try --root /mnt/shared https://example.org/list    by crawl.toml of this crawl
fscrawl try --root /mnt/shared --stored https://example.org/list
fscrawl try 'POST https://example.org/find day=1'          a request
fscrawl try --site site.py https://example.org/list        by a site file that you write
"""
_MOST_FOUND = 10  # lines about who discovered a URL, for a person; --json has them all
_MOST_LINKS = 20  # and links


def add(program: Program) -> None:
    show = program.add(
        "show",
        _show,
        description="Print what the tree knows about a URL: its files and its record. If it is not stored, say why.",
        examples=_SHOW_EXAMPLES,
        notes="exit codes: 0 the page is stored, 1 it is not\n",
    )
    show.add_argument(
        "words", metavar="URL", nargs="+", help="the complete URL, a request as in seeds.txt, or the 24 digits of a key"
    )
    add_root(show, has_words=True)
    add_site(show)
    show.add_argument("--inlinks", action="store_true", help="list all pages that link to it (reads every link file)")
    show.add_argument("--versions", action="store_true", help="list all its versions, if the tree keeps them")
    show.add_argument("--version", type=positive, metavar="N", help="show the page as it was in this version")
    show.add_argument("--json", action="store_true", help="print everything as one JSON object")

    attempt = program.add(
        "try",
        _try,
        description="Fetch one page by the rules of a crawl, and show what would come of it. Nothing is stored.",
        examples=_TRY_EXAMPLES,
        notes="exit codes: 0 a crawl would store the page, 1 it would not\n",
    )
    attempt.add_argument("words", metavar="URL", nargs="+", help="the complete URL, or a request as in seeds.txt")
    add_root(attempt, has_words=True)
    add_site(attempt)
    attempt.add_argument("--stored", action="store_true", help="do not fetch it: read the page that the tree has")
    add_settings(attempt, "another setting, e.g. crawl.order=depth; repeatable")
    add_allow_env(attempt)
    attempt.add_argument("--json", action="store_true", help="print everything as one JSON object")


def asked_for(words: list[str]) -> str:
    """Give what was asked for: a request need not be quoted, if the shell leaves its words alone. A line of `seeds.txt`
    may be given with its comment.
    """
    if not words:
        raise UsageError("which URL? give one, or a request like POST https://example.org/ a=1")
    if len(words) > 1 and words[0].upper() not in METHODS:
        second = without_secrets(words[1])
        raise UsageError(f"{second}: there must be one URL, or a request like POST https://example.org/ a=1")
    return parted(" ".join(words))[0]


def _no_body(record: PageRecord) -> str:
    """Say why a record has no body, which setting decided that, and what would change it."""
    skipped = record.skipped or ""
    if not skipped.startswith("type "):
        return skipped
    but = ", but it begins like HTML" if record.like_html else ""
    adds = f'add "{skipped.removeprefix("type ")}" to fetch.accept, then crawl with --refresh 0s'
    return f"{skipped}, which fetch.accept does not name{but}; to store it, {adds}"


def _content(record: PageRecord) -> Iterator[str]:
    if record.skipped:
        yield f"no body   {_no_body(record)}"
    if record.encoding:
        yield "encoding  " + ", ".join(filter(None, [record.encoding, record.encoding_source]))
    if record.title:
        yield f"title     {record.title}"
    if record.robots:
        yield f"robots    {', '.join(record.robots)}"


# -- show


def _show(options: argparse.Namespace) -> int:
    from fscrawl.monitor.explain import explain  # noqa: PLC0415 - a crawl need not load it

    asked = asked_for(options.words)
    tree = open_tree(options.root)
    with ProgressLine() as line:
        seeds = read_seeds(tree.controls.seeds(), f"{tree.root}/{store.SEEDS}", line.print_line)
        chosen = with_site(settings_of(tree), options.site, options.root)
        found = explain(
            tree,
            chosen,
            seeds,
            asked,
            all_inlinks=options.inlinks,
            versions=options.versions,
            version=options.version,
            line=line,
        )
    if options.json:
        say_json(found.as_json())
    else:
        say(*_explained(found))
    return EXIT_OK if found.stored else EXIT_UNUSABLE_RESULT


def _explained(found: Explanation) -> Iterator[str]:
    yield from _names(found)
    yield from _record(found)
    for path, size in found.files.items():
        yield f"file      {path}, {number_of(size, 'byte')}"
    yield from _found_on(found)
    yield from _versions(found.versions)
    for note in found.notes:
        yield f"note      {note}"
    if found.stored:
        return
    yield "not stored:"
    for reason in found.reasons:
        yield f"  {reason.text}"
        if reason.advice:
            yield f"      {reason.advice}"


def _versions(looks: list[Look] | None) -> Iterator[str]:
    if looks is None:
        return
    yield f"versions  {'number':>6}  {'when':24}  {'what':7}  {'status':>6}  {'bytes':>11}  {'sha256':8}  by, title"
    for look in looks:
        at, status, size = look.at or "", "" if look.status is None else look.status, f"{look.bytes:,}"
        end = "  ".join(filter(None, [look.machine, look.title, look.message]))
        yield f"{look.number:>16}  {at:24}  {look.what:7}  {status:>6}  {size:>11}  {look.sha256[:8]:8}  {end}"


def _names(found: Explanation) -> Iterator[str]:
    if found.url is None:
        yield f"url       none: {found.asked}"
    elif found.request is not None:
        yield from _request(found.request)
    elif found.url != found.asked:
        yield f"url       {found.url}, the normal form of {found.asked}"
    else:
        yield f"url       {found.url}"
    if found.host:
        yield f"key       {found.key}, host directory {found.host}, shard {found.shard}"


def _request(request: Request) -> Iterator[str]:
    yield f"url       {request.address}"
    yield f"request   {request.method}" + (f", {request.type_}" if request.type_ else "")
    if request.body:
        yield f"body      {body_text(request)}"
    for name, value in request.headers:
        yield f"header    {name}: {value}"
    if request.session:
        yield f"session   {request.session}"


def _record(found: Explanation) -> Iterator[str]:
    page, error = found.page, found.error
    if page is not None:
        yield from _page(page)
    for hop in found.redirects:
        yield f"redirect  to {shown(hop.url)}: {hop.status or 'not stored'}"
    if error is not None:
        yield f"failed    {error.class_}: {error.message}"
        yield f"          {error.failed_at} by {error.machine}, attempt {error.attempts}, depth {error.depth}"
    if page and page.rendered:
        yield f"rendered  {page.rendered.shown()}"
    if label := (page and page.label) or (error and error.label):
        yield f"label     {label}"


def _page(page: PageRecord) -> Iterator[str]:
    kind = ", ".join(lines(page.headers, "content-type")) or "no type"
    yield f"stored    {page.status}, {kind}, {number_of(page.bytes, 'byte')}, depth {page.depth}"
    yield f"fetched   {page.fetched_at} by {page.machine}{f' from {page.ip}' if page.ip else ''}"
    if page.checked_at:
        yield f"checked   {page.checked_at}: {page.checked_status or 'no answer'}; the stored page was kept"
    yield from _content(page)
    of_rules = "" if page.requests is None else f"; by the rules of its site {len(page.requests)} instead"
    yield f"links     {len(page.links)} to follow, {len(page.nofollow or ())} not{of_rules}"


def _found_on(found: Explanation) -> Iterator[str]:
    record = found.page or found.error
    if record is not None:
        where = shown(found.found_on or record.referrer) or "no page: it is a seed or from a sitemap"
        yield f"found on  {where}"
    for line in found.lines[:_MOST_FOUND]:
        yield f"line      {_line(line)}"
    if len(found.lines) > _MOST_FOUND:
        yield f"          and {len(found.lines) - _MOST_FOUND} more"
    for link in found.inlinks or ():
        yield f"inlink    {shown(link.url)}" + ("" if link.how == "link" else f" ({link.how})")
    if found.inlinks is not None:
        yield f"inlinks   {number_of(len(found.inlinks), 'page')}"


def _line(line: Line) -> str:
    flags = parse_flags(line.mark)
    mark = f", {without}" if (without := format_flags(flags.with_label(""))) else ""
    mark += f", label {flags.label}" if flags.label else ""
    if line.source == "seeds":
        return f"in seeds.txt{mark}"
    who = f"discovered by {line.machine}"
    source = f", on {shown(line.found_on or line.referrer)}" if line.referrer else ""
    return f"{who}, depth {line.depth}{source}{mark}"


# -- try


def _try(options: argparse.Namespace) -> int:
    from fscrawl.monitor.attempt import attempt, attempt_stored  # noqa: PLC0415 - a crawl need not load it

    tree = _opened(options.root)
    asked = asked_for(options.words)
    try:
        url = read_seed(asked)
    except ValueError as error:
        raise UsageError(f"{without_secrets(asked)}: {error}") from None
    with limited() as read, ProgressLine() as line:
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
    say_json(_as_json(found)) if options.json else say(*_tried(found))
    return EXIT_OK if found.record is not None and found.record.kind == "page" else EXIT_UNUSABLE_RESULT


@contextlib.contextmanager
def limited() -> Iterator[Reader]:
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
    is_written = store.state_of(root) in ("directory", "seeds") and store.text_if_there(root) is not None
    return None if is_written and not store.remains_of_tree(root) else open_tree(root)


def _crawl_of(
    tree: Tree | None, root: Path | None, url: str, assignments: list[str], line: ProgressLine
) -> tuple[Settings, frozenset[str]]:
    """Give the settings and the seeds of a crawl: without `root` the usual settings, and the URL as the only seed."""
    if root is None:
        return all_settings.apply(Settings(), assignments), frozenset({url})
    if tree is None:
        chosen = parse_file(store.text_if_there(root) or "", f"{root}/{all_settings.FILE}")
        text = store.text_if_there(root, store.SEEDS) or ""
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


def _tried(found: Attempt) -> Iterator[str]:
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
    yield from (f"  follow  {shown(url)}" for url in found.followed[:_MOST_LINKS])
    yield from _more(len(found.followed), "link")
    yield from (f"  cut     {shown(url)}: {rule}" for url, rule in found.cut[:_MOST_LINKS])
    yield from _more(len(found.cut), "link")
    yield from _field_lines(found.fields)
    yield from _item_lines(found.items)


def _record_lines(record: PageRecord) -> Iterator[str]:
    kind = ", ".join(lines(record.headers, "content-type")) or "no type"
    yield f"answer    {record.status}, {kind}, {number_of(record.bytes, 'byte')}, {record.elapsed:.2f} s"
    if record.redirect is not None:
        yield f"redirect  to {record.redirect}"
    if record.rendered is not None:
        yield f"rendered  {record.rendered.shown()}"
    yield from _content(record)


def _more(count: int, what: str) -> Iterator[str]:
    if count > _MOST_LINKS:
        yield f"          and {number_of(count - _MOST_LINKS, f'more {what}', f'more {what}s')}; --json has them all"


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
    for item in items.items[:_MOST_LINKS]:
        missing = f"; nothing for {', '.join(item.missing)}" if item.missing else ""
        yield f"  item    {_text(item.values)}{missing}"
    yield from _more(len(items.items), "item")


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _as_json(found: Attempt) -> dict[str, Any]:
    record, error, fields = found.record, found.error, found.fields
    names = ("status", "headers", "bytes", "elapsed", "encoding", "encoding_source", "title", "redirect", "skipped")
    return {
        "url": found.url,
        "refused": found.refused,
        "stored": record and record.kind,
        "error": None if error is None else {"class": error.class_, "message": error.message},
        **{name: getattr(record, name, None) for name in names},
        "log_in": list(found.log_in),
        "opened": list(found.opened),
        "rendered": record and msgspec.to_builtins(record.rendered),
        "follow": list(found.followed),
        "cut": [{"url": url, "rule": rule} for url, rule in found.cut],
        "rules": found.site or None,
        "fields": None if fields is None else json.loads(_text(fields.values)),
        "bad_fields": None if fields is None else fields.bad,
        "items": None if found.items is None else [json.loads(_text(item.values)) for item in found.items.items],
    }
