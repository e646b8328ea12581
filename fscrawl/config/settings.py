"""The settings of a crawl: `crawl.toml` ↔ frozen dataclasses, one class for each section. Pure: no disk, no socket.

A setting is a field of one of the classes below. The field has its name, type and default; its metadata has the help
text, which is also the comment in `crawl.toml`, and a check of the value (see `checks`).

A tree has settings already: what was fixed when it was created, and the others in its `crawl.toml`. The same command
goes on with its crawl, so `--set` may give the values again that the tree has. Any other value would change what other
machines do, so it must be edited where all of them see it.

Promise: reading checks every name and value. An unknown name or a bad value is a SettingsError that says where it is
and what would be right. `parse` reads what `render` writes.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from fscrawl import __version__
from fscrawl.config import checks
from fscrawl.config.addresses import check_networks
from fscrawl.config.checks import checked, setting, written
from fscrawl.config.credentials import check_auth
from fscrawl.config.proxies import check_proxies
from fscrawl.errors import SettingsError
from fscrawl.parse.follow import ELEMENTS, USUAL
from fscrawl.parse.media_types import PDF, WITH_LINKS
from fscrawl.storage.layout import SETTINGS, TREE_RECORD
from fscrawl.storage.records import TreeRecord
from fscrawl.util.toml_file import TomlFile
from fscrawl.util.toml_text import one_line, to_toml

if TYPE_CHECKING:
    from fscrawl.sites.rules import SiteRules

FILE = SETTINGS
END = "# end of settings (leave this line: it shows that the file was read to its end)"
NO_CONTACT = "(no contact given)"
USER_AGENT = f"fscrawl/{__version__} {NO_CONTACT}"
NOT_KEPT = "(it had a value, which may be secret, and so was not kept: write it again)"
BLOCKED = ("image", "font", "media", "stylesheet", "frame")
TABLE = "site"


@dataclass(frozen=True, slots=True)
class CrawlSettings:
    """Which pages to crawl, and in which order."""

    scope: str = setting(
        "domain",
        'which hosts to crawl: "host" (those of the seeds), "domain" (all hosts of their registrable domains, by the'
        ' public suffix list) or "any"',
        checks.one_of("host", "domain", "any"),
    )
    allow: tuple[str, ...] = setting(
        (), "regular expressions; if there are any, a URL must match at least one", checks.expressions
    )
    deny: tuple[str, ...] = setting(
        (), "regular expressions; a URL that matches one of them is not crawled", checks.expressions
    )
    max_depth: int | None = setting(
        None, "how many links to follow from a seed: 0 fetches the seeds only", checks.at_least(0)
    )
    max_pages: int | None = setting(None, "how many pages to store in all", checks.at_least(1))
    max_pages_per_host: int | None = setting(None, "how many pages to store of each host", checks.at_least(1))
    max_hosts_per_domain: int = setting(
        10_000,
        "how many hosts of one registrable domain to crawl; some domains make up host names without end",
        checks.at_least(1),
    )
    follow_nofollow: bool = setting(
        False, "follow links marked rel=nofollow, and the links of pages that ask robots not to follow them"
    )
    sitemaps: bool = setting(
        True, "read the sitemaps that robots.txt names; their URLs count as seeds if they are in the scope"
    )
    stopped_labels: tuple[str, ...] = setting(
        (),
        "labels of tasks to hold back; their URLs stay pending",
        checks.labels,
    )
    order: str = setting(
        "breadth",
        'the order of a host\'s pages: "breadth" (first found first), "depth" (last found first) or "random"',
        checks.one_of("breadth", "depth", "random"),
    )
    partition: str = setting(
        "host",
        'what is divided among the machines: "host", or "site" if hosts of a site share a log-in, or "url" for one'
        " large host that welcomes many machines; fixed when the tree is created",
        checks.one_of("host", "site", "url"),
    )
    drop_query: bool = setting(False, "ignore the query of URLs: /page?a=1 and /page are the same page")
    follow: tuple[str, ...] = setting(
        USUAL,
        "the elements of a page whose references are links; more of them: " + ", ".join(ELEMENTS[len(USUAL) :]),
        checks.names_of("elements", ELEMENTS),
    )


@dataclass(frozen=True, slots=True)
class PolitenessSettings:
    """How fast a site is asked, and by whom."""

    user_agent: str = setting(
        USER_AGENT,
        "the User-Agent header; write an address here where site owners can reach you",
        checks.header_value,
    )
    user_agents: tuple[str, ...] = setting(
        (),
        "only to test a site of your own: other User-Agent headers, one for each host in turn; the rules of robots.txt"
        " are still those for user_agent",
        checks.header_values,
    )
    robots: bool = setting(True, "obey robots.txt")
    delay: float = setting(1.0, "seconds between two requests to one host", checks.at_least(0))
    per_host: int = setting(1, "how many requests to one host may run at the same time", checks.at_least(1))
    adaptive: bool = setting(True, "increase the delay of a host that is slow or fails, up to max_delay")
    max_delay: float = setting(
        60.0, "the longest delay in seconds, even if robots.txt asks for a longer Crawl-delay", checks.at_least(0)
    )
    max_rest: float = setting(
        3600.0, "the longest pause of a host in seconds, even if its Retry-After asks for more", checks.at_least(0)
    )
    give_up_after: float = setting(60.0, "give up a host that has been failing for so many seconds", checks.at_least(0))


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """Limits of one HTTP exchange."""

    timeout: float = setting(30.0, "seconds that one exchange may take, from request to end", checks.more_than_zero)
    connect_timeout: float = setting(
        10.0,
        "seconds that a connection may take to open, and the first request for a robots.txt in all",
        checks.more_than_zero,
    )
    max_bytes: int = setting(10485760, "the largest body in bytes, as received and decompressed", checks.at_least(1))
    accept: tuple[str, ...] = setting(
        ("text/html", "application/xhtml+xml"),
        'media types to store, also "image/*" and "*/*"; any other type gets a record without a body',
        checks.media_ranges,
    )
    accept_links: tuple[str, ...] = setting(
        tuple(each for each in WITH_LINKS if each != PDF),
        "media types that are searched for links, if they are stored; application/pdf can be added (needs pypdf)",
        checks.names_of("media types that can be searched for links", WITH_LINKS),
    )
    retries: int = setting(3, "how often to try again after a failure that may pass", checks.at_least(0))
    retry_posts: bool = setting(False, "try a POST or PATCH again, too, that the server may have done: for searches")
    allow_addresses: tuple[str, ...] = setting(
        (),
        'networks to fetch from although they are private, or this computer: ["10.0.0.0/8", "127.0.0.0/8"]',
        check_networks,
    )
    headers: dict[str, str] = setting(  # noqa: RUF009 - a dict is copied
        {},
        "additional request headers, sent to every host; $FSCRAWL_NAME stands for an environment variable",
        checks.headers,
        secret=True,
    )
    cookies: bool = setting(True, "keep cookies in memory and send them back")
    auth: dict[str, str] = setting(  # noqa: RUF009
        {}, 'user and password, by host: {"intranet.example" = "user:$FSCRAWL_PASSWORD"}', check_auth, secret=True
    )
    proxies: tuple[str, ...] = setting(
        (),
        'proxies, used in turn: "http://user:$FSCRAWL_PASSWORD@host:port" or "socks5h://host:port" (needs PySocks)',
        check_proxies,
        secret=True,
    )
    proxy_uses: int | None = setting(
        None, "how many requests each worker process may send through each proxy", checks.at_least(1)
    )
    proxy_failures: int | None = setting(
        None,
        "how often a proxy may fail in a row until each worker process drops it for good; absent: it only rests",
        checks.at_least(1),
    )
    ca_file: str | None = setting(
        None, "a PEM file of certificate authorities to trust instead of the usual ones", checks.file_name
    )


@dataclass(frozen=True, slots=True)
class ParseSettings:
    """How HTML is read."""

    parser: str = setting(
        "lexbor",
        '"lexbor"; or "html5lib", the reference parser, through Beautiful Soup: some fifty times slower',
        checks.one_of("lexbor", "html5lib"),
    )


@dataclass(frozen=True, slots=True)
class RenderSettings:
    """Pages that scripts make: which ones are opened in a browser, and how long."""

    hosts: tuple[str, ...] = setting(
        (), 'hosts whose pages are rendered: a browser runs their scripts; "*.a.example": all below', checks.hosts
    )
    when: str = setting(
        "never",
        'which pages of other hosts are rendered: "never", "empty" (those with scripts and hardly any text), "always"',
        checks.one_of("never", "empty", "always"),
    )
    wait: str = setting(
        "idle",
        'when a page is complete: "load"; "idle": nothing is being loaded, and five seconds have passed on the page\'s'
        ' clock, which jumps from timer to timer; "8s" on that clock; or "css:" and a selector that matches',
        checks.wait,
    )
    timeout: float = setting(30.0, "seconds that a page may take in the browser", checks.more_than_zero)
    browsers: int = setting(4, "how many browsers run on each machine, one page at a time in each", checks.at_least(1))
    block: tuple[str, ...] = setting(
        ("image", "font", "media", "frame"),
        "what is not loaded: " + ", ".join(BLOCKED),
        checks.names_of("kinds of requests", BLOCKED),
    )
    scroll: int = setting(0, "how often to scroll to the end of the page, for pages that then grow", checks.at_least(0))
    screenshot: bool = setting(False, "store a picture of the page, too")

    @property
    def is_on(self) -> bool:
        """Some pages may have to be rendered."""
        return bool(self.hosts) or self.when != "never"


@dataclass(frozen=True, slots=True)
class FleetSettings:
    """How machines share the work."""

    shards: int = setting(
        512, "how many parts the work is divided into; fixed when the tree is created", checks.between(1, 1_000_000)
    )
    beat: float = setting(10.0, "seconds between two heartbeats of a machine", checks.more_than_zero)
    dead_after: float = setting(
        60.0, "seconds without a heartbeat after which a machine counts as dead", checks.more_than_zero
    )


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """How files are written."""

    fsync: bool = setting(False, "flush each file to the disk before it is published; then it survives a power loss")
    patience: float = setting(
        300.0,
        "seconds to wait while the file system has a fault that may pass (no server, a stale handle, an I/O error);"
        " then the machine stops with exit code 75",
        checks.at_least(0),
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a crawl, by section."""

    crawl: CrawlSettings = field(default_factory=CrawlSettings)
    politeness: PolitenessSettings = field(default_factory=PolitenessSettings)
    fetch: FetchSettings = field(default_factory=FetchSettings)
    parse: ParseSettings = field(default_factory=ParseSettings)
    render: RenderSettings = field(default_factory=RenderSettings)
    fleet: FleetSettings = field(default_factory=FleetSettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    sites: tuple[SiteRules, ...] = ()  # the [[site]] tables, which are no section
    code: tuple[SiteRules, ...] = ()  # the classes of the site file, which `crawl.toml` does not have

    @property
    def rules(self) -> tuple[SiteRules, ...]:
        """All sites. For each URL the first one counts that has its host."""
        return (*self.code, *self.sites)

    @property
    def reads_sitemaps(self) -> bool:
        """Whether sitemaps are read; they are found through robots.txt."""
        return self.crawl.sitemaps and self.politeness.robots


SECTIONS = tuple(section.name for section in fields(Settings) if section.name not in ("sites", "code"))
FIXED = (("crawl", "partition"), ("fleet", "shards"))  # when the tree is created


def parse(text: str, where: str = FILE, record: TreeRecord | None = None) -> Settings:
    """Read the text of a `crawl.toml`; `where` names it in errors.

    `record`: of the tree; what was fixed when it was created is the default there.

    >>> parse("[politeness]\\ndelay = 2").politeness.delay
    2.0
    >>> parse("[politeness]\\ndelai = 2")
    Traceback (most recent call last):
    fscrawl.errors.SettingsError: crawl.toml: politeness.delai: unknown setting; did you mean politeness.delay?
    """
    file = TomlFile(text, where)
    settings = Settings() if record is None else fixed_by(record)
    for section, table in file.tables().items():
        if section == TABLE:
            from fscrawl.sites.read import read_sites  # noqa: PLC0415 - most crawls have none

            settings = replace(settings, sites=read_sites(table, file))
            continue
        if not isinstance(table, dict):
            raise SettingsError(_no_section(section, table), where=where)
        if section not in SECTIONS and not table:
            raise SettingsError(f"unknown section [{one_line(section)}]; {_sections(section)}", where=where)
        for name, value in table.items():
            settings = _with(settings, section, name, value, where)
    return _consistent(settings, where)


def apply(settings: Settings, assignments: Iterable[str]) -> Settings:
    """Apply the arguments of `--set`: `section.name=value`. The value is TOML; a string needs no quotes.

    >>> apply(Settings(), ["politeness.delay=0", "crawl.scope=any"]).crawl.scope
    'any'
    """
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        section, dot, name = path.strip().partition(".")
        named = re.split(r"[^\w.\[\]]", path.strip())[0]  # behind it there may be a password
        if re.match(rf"\[*{TABLE}s?\b", named):
            raise SettingsError(f"[[{TABLE}]] tables must be written into {FILE}", named)
        if not equals or not dot:
            near = _nearest(named)
            hint = f"did you mean {near}=…?" if near else "for example politeness.delay=0.5"
            raise SettingsError(f"must be section.name=value; {hint}", named)
        settings = _with(settings, section, name, _assigned(text.strip()))
    return _consistent(settings)


def render(settings: Settings, *, secrets: bool = True) -> str:
    """Write a `crawl.toml`: each setting with its help text. `parse` reads the same settings from it.

    `secrets`: also write the values that may hold passwords; without them a comment says that there was one.
    """
    lines = ["# The settings of this crawl, for all machines. You can edit this file while they run."]
    for section in SECTIONS:
        lines += ["", f"[{section}]"]
        group = getattr(settings, section)
        for each in fields(group):
            value = getattr(group, each.name)
            lines.append(f"# {each.metadata['help']}")
            if value and each.metadata["secret"] and not secrets:
                lines.append(f"# {each.name} =  {NOT_KEPT}")
            else:
                lines.append(f"# {each.name} =" if value is None else f"{each.name} = {to_toml(value)}")
    for site in settings.sites:
        lines += ["", *_rendered_site(site.table, secrets=secrets)]
    return "\n".join([*lines, "", END]) + "\n"


def _rendered_site(table: Mapping[str, Any], *, secrets: bool) -> Iterator[str]:
    yield f"[[{TABLE}]]"
    for name, value in table.items():
        if name == "headers" and not secrets:
            yield f"# {name} =  {NOT_KEPT}"
        elif name != "fields":
            yield f"{name} = {to_toml(value)}"
    if "fields" in table:
        yield f"[{TABLE}.fields]"
        yield from (f"{to_toml(name)} = {to_toml(value)}" for name, value in table["fields"].items())


def fixed_by(record: TreeRecord) -> Settings:
    """Give the defaults, with what was fixed when the tree was created."""
    settings = Settings()
    for section, name in FIXED:
        group = replace(getattr(settings, section), **{name: getattr(record, name)})
        settings = replace(settings, **{section: group})
    return settings


def names() -> list[str]:
    """Return the full names of all settings, `section.name`."""
    return [f"{section}.{f.name}" for section in SECTIONS for f in fields(getattr(Settings(), section))]


def _with(settings: Settings, section: str, name: str, value: Any, where: str = "") -> Settings:
    group = getattr(settings, section) if section in SECTIONS else None
    found = None if group is None else {f.name: f for f in fields(group)}.get(name)
    if group is None or found is None:
        near = _nearest(f"{section}.{name}")
        hint = f"did you mean {near}?" if near else f"{_sections(section)}; {_PAGE} lists all settings"
        raise SettingsError(f"unknown setting; {hint}", f"{one_line(section)}.{one_line(name)}", where)
    try:
        new = checked(found, value)
    except ValueError as error:
        is_secret = found.metadata["secret"] or _may_have_login(value)
        shown = "" if is_secret else f"{written(value)}: "
        raise SettingsError(f"{shown}must be {error}", f"{section}.{name}", where) from None
    return replace(settings, **{section: replace(group, **{name: new})})


def _assigned(text: str) -> Any:
    """Read a value of `--set` as TOML; what is none is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


def _may_have_login(value: Any) -> bool:
    """Tell whether there is an @ in a value: it may be a URL with a password."""
    if isinstance(value, dict):
        return any(_may_have_login(each) for pair in value.items() for each in pair)
    return "@" in value if isinstance(value, str) else isinstance(value, list) and any(map(_may_have_login, value))


def _consistent(settings: Settings, where: str = "") -> Settings:
    fleet = settings.fleet
    if fleet.dead_after < 3 * fleet.beat:
        raise SettingsError(
            f"{fleet.dead_after:g}: must be at least 3 times fleet.beat, which is {fleet.beat:g}",
            "fleet.dead_after",
            where,
        )
    return settings


# -- names that are no settings

_SYNONYMS = {  # the words of other tools
    "include": "crawl.allow",
    "exclude": "crawl.deny",
    "reject": "crawl.deny",
    "depth": "crawl.max_depth",
    "level": "crawl.max_depth",
    "limit": "crawl.max_pages",
    "domains": "crawl.scope",
    "wait": "politeness.delay",
    "download_delay": "politeness.delay",
    "obey_robots": "politeness.robots",
    "robotstxt_obey": "politeness.robots",
    "javascript": "render.hosts",
}
_PAGE = "docs/reference/settings.md"


def _nearest(text: str) -> str | None:
    """Return the full name that is most like a name with or without a section, or that means the same.

    >>> _nearest("delai"), _nearest("crawl.delay"), _nearest("depth")
    ('politeness.delay', 'politeness.delay', 'crawl.max_depth')
    """
    bare = text.rpartition(".")[2]
    if bare in _SYNONYMS:
        return _SYNONYMS[bare]
    by_name = {full.partition(".")[2]: full for full in reversed(names())}
    return by_name.get(bare) or next(
        iter(difflib.get_close_matches(text, names(), 1)),
        next((by_name[each] for each in difflib.get_close_matches(bare, by_name, 1, 0.7)), None),
    )


def _sections(name: str) -> str:
    near = difflib.get_close_matches(name, SECTIONS, 1)
    return f"did you mean [{near[0]}]?" if near else f"the sections are {', '.join(SECTIONS)}"


def _no_section(name: str, value: Any) -> str:
    """Say what is wrong with a name that stands outside of all sections.

    >>> _no_section("delay", 1)
    '"delay" is not in a section; did you mean politeness.delay?'
    """
    if isinstance(value, list) and (name in SECTIONS or name.lower() in ("site", "sites")):
        return f"{to_toml(name)}: did you mean {f'[{name}]' if name in SECTIONS else '[[site]]'}?"
    near = _nearest(name)
    hint = f"did you mean {near}?" if near else "write settings below a line such as [crawl]"
    return f"{to_toml(name)} is not in a section; {hint}"


# -- the settings that a tree has already


def check_fixed(record: TreeRecord, chosen: Settings, where: str = FILE) -> None:
    """Raise SettingsError if a setting differs from what was fixed when the tree was created."""
    for section, name in FIXED:
        fixed, value = getattr(record, name), getattr(getattr(chosen, section), name)
        if value != fixed:
            raise SettingsError(
                f"{to_toml(value)}: cannot be changed; it was fixed as {to_toml(fixed)} when the tree was created"
                f" ({TREE_RECORD}); write that value, or start a new tree elsewhere",
                f"{section}.{name}",
                where,
            )


def check_same(current: Settings, assignments: Iterable[str], where: str) -> None:
    """Raise SettingsError if an argument of `--set` would change a setting of the tree. It names all of them.

    `current`: of the tree; `where`: its `crawl.toml`.

    >>> check_same(apply(Settings(), ["politeness.delay=2"]), ["politeness.delay=2.0"], "crawl.toml")
    >>> check_same(Settings(), ["politeness.delay=2"], "crawl.toml")
    Traceback (most recent call last):
    fscrawl.errors.SettingsError: politeness.delay: the tree has 1; edit crawl.toml
    """
    wanted = apply(current, assignments)
    differing = []
    for section in SECTIONS:
        there, given = getattr(current, section), getattr(wanted, section)
        for each in fields(there):
            value = getattr(there, each.name)
            if value == getattr(given, each.name):
                continue
            has = "another value" if each.metadata["secret"] else "none" if value is None else to_toml(value)
            is_fixed = (section, each.name) in FIXED
            then = ", fixed when it was created; start a new tree elsewhere" if is_fixed else f"; edit {where}"
            differing.append(SettingsError(f"the tree has {has}{then}", f"{section}.{each.name}"))
    if len(differing) == 1:
        raise differing[0]
    if differing:
        raise SettingsError("; ".join(map(str, differing)))
