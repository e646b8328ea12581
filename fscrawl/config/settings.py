"""The settings of a crawl: `crawl.toml` ↔ frozen structs, one class for each section. Pure: no disk, no socket.

A setting is a field of one of the classes below. The field has its name, type and default. Its annotation has the help
text, which is also the comment in `crawl.toml`, and a check of the value (see `checks`). They are read as they are, so
this module has no `from __future__ import annotations`.

A tree has settings already: what was fixed when it was created, and the others in its `crawl.toml`. The same command
goes on with its crawl, so `--set` may give the values again that the tree has. Any other value would change what other
machines do, so it must be edited where all of them see it.

Promise: reading checks every name and value. An unknown name or a bad value is a SettingsError that says where it is
and what would be right. `parse` reads what `render` writes.
"""

import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec.structs import replace

from fscrawl import __version__
from fscrawl.config import checks
from fscrawl.config.addresses import check_networks
from fscrawl.config.checks import SECRET, checked, settings_of, written
from fscrawl.config.credentials import check_auth
from fscrawl.config.proxies import check_proxies
from fscrawl.errors import SettingsError
from fscrawl.parse.follow import ELEMENTS, USUAL
from fscrawl.parse.media_types import PDF, WITH_LINKS
from fscrawl.storage.layout import SETTINGS, TREE_RECORD
from fscrawl.storage.records import TreeRecord
from fscrawl.urls import Spelling
from fscrawl.util.user_text import one_line, read_toml, to_toml

if TYPE_CHECKING:
    from fscrawl.sites.rules import SiteRules

FILE = SETTINGS
END = "# end of settings (leave this line: it shows that the file was read to its end)"
NO_CONTACT = "(no contact given)"
USER_AGENT = f"fscrawl/{__version__} {NO_CONTACT}"
NOT_KEPT = "(it had a value, which may be secret, and so was not kept: write it again)"
BLOCKED = ("image", "font", "media", "stylesheet", "frame")
TABLE = "site"


class CrawlSettings(msgspec.Struct, frozen=True):
    """Which pages to crawl, and in which order."""

    scope: Annotated[
        str,
        'which hosts to crawl: "host" (those of the seeds), "domain" (all hosts of their registrable domains, by the'
        ' public suffix list) or "any"',
        checks.one_of("host", "domain", "any"),
    ] = "domain"
    allow: Annotated[
        tuple[str, ...], "regular expressions; if there are any, a URL must match at least one", checks.expressions
    ] = ()
    deny: Annotated[
        tuple[str, ...], "regular expressions; a URL that matches one of them is not crawled", checks.expressions
    ] = ()
    max_depth: Annotated[
        int | None, "how many links to follow from a seed: 0 fetches the seeds only", checks.at_least(0)
    ] = None
    max_pages: Annotated[int | None, "how many pages to store in all", checks.at_least(1)] = None
    max_pages_per_host: Annotated[int | None, "how many pages to store of each host", checks.at_least(1)] = None
    max_hosts_per_domain: Annotated[
        int,
        "how many hosts of one registrable domain to crawl; some domains make up host names without end",
        checks.at_least(1),
    ] = 10_000
    follow_nofollow: Annotated[
        bool, "follow links marked rel=nofollow, and the links of pages that ask robots not to follow them"
    ] = False
    sitemaps: Annotated[
        bool, "read the sitemaps that robots.txt names; their URLs count as seeds if they are in the scope"
    ] = True
    stopped_labels: Annotated[
        tuple[str, ...], "labels of tasks to hold back; their URLs stay pending", checks.labels
    ] = ()
    order: Annotated[
        str,
        'the order of a host\'s pages: "breadth" (first found first), "depth" (last found first) or "random"',
        checks.one_of("breadth", "depth", "random"),
    ] = "breadth"
    partition: Annotated[
        str,
        'what is divided among the machines: "host", or "site" if hosts of a site share a log-in, or "url" for one'
        " large host that welcomes many machines; fixed when the tree is created",
        checks.one_of("host", "site", "url"),
    ] = "host"
    drop_query: Annotated[bool, "ignore the query of URLs: /page?a=1 and /page are the same page"] = False
    follow: Annotated[
        tuple[str, ...],
        "the elements of a page whose references are links; more of them: " + ", ".join(ELEMENTS[len(USUAL) :]),
        checks.names_of("elements", ELEMENTS),
    ] = USUAL


class PolitenessSettings(msgspec.Struct, frozen=True):
    """How fast a site is asked, and by whom."""

    user_agent: Annotated[
        str, "the User-Agent header; write an address here where site owners can reach you", checks.header_value
    ] = USER_AGENT
    user_agents: Annotated[
        tuple[str, ...],
        "only to test a site of your own: other User-Agent headers, one for each host in turn; the rules of robots.txt"
        " are still those for user_agent",
        checks.header_values,
    ] = ()
    robots: Annotated[bool, "obey robots.txt"] = True
    delay: Annotated[float, "seconds between two requests to one host", checks.at_least(0)] = 1.0
    per_host: Annotated[int, "how many requests to one host may run at the same time", checks.at_least(1)] = 1
    adaptive: Annotated[bool, "increase the delay of a host that is slow or fails, up to max_delay"] = True
    max_delay: Annotated[
        float, "the longest delay in seconds, even if robots.txt asks for a longer Crawl-delay", checks.at_least(0)
    ] = 60.0
    max_rest: Annotated[
        float, "the longest pause of a host in seconds, even if its Retry-After asks for more", checks.at_least(0)
    ] = 3600.0
    give_up_after: Annotated[float, "give up a host that has been failing for so many seconds", checks.at_least(0)] = (
        60.0
    )


class FetchSettings(msgspec.Struct, frozen=True):
    """Limits of one HTTP exchange."""

    timeout: Annotated[float, "seconds that one exchange may take, from request to end", checks.more_than_zero] = 30.0
    connect_timeout: Annotated[
        float,
        "seconds that a connection may take to open, and the first request for a robots.txt in all",
        checks.more_than_zero,
    ] = 10.0
    max_bytes: Annotated[int, "the largest body in bytes, as received and decompressed", checks.at_least(1)] = 10485760
    accept: Annotated[
        tuple[str, ...],
        'media types to store, also "image/*" and "*/*"; any other type gets a record without a body',
        checks.media_ranges,
    ] = ("text/html", "application/xhtml+xml")
    accept_links: Annotated[
        tuple[str, ...],
        "media types that are searched for links, if they are stored; application/pdf can be added (needs pypdf)",
        checks.names_of("media types that can be searched for links", WITH_LINKS),
    ] = tuple(each for each in WITH_LINKS if each != PDF)
    retries: Annotated[int, "how often to try again after a failure that may pass", checks.at_least(0)] = 3
    retry_posts: Annotated[bool, "try a POST or PATCH again, too, that the server may have done: for searches"] = False
    allow_addresses: Annotated[
        tuple[str, ...],
        'networks to fetch from although they are private, or this computer: ["10.0.0.0/8", "127.0.0.0/8"]',
        check_networks,
    ] = ()
    headers: Annotated[
        dict[str, str],
        "additional request headers, sent to every host; $FSCRAWL_NAME stands for an environment variable",
        checks.headers,
        SECRET,
    ] = {}
    cookies: Annotated[bool, "keep cookies in memory and send them back"] = True
    auth: Annotated[
        dict[str, str],
        'user and password, by host: {"intranet.example" = "user:$FSCRAWL_PASSWORD"}',
        check_auth,
        SECRET,
    ] = {}
    proxies: Annotated[
        tuple[str, ...],
        'proxies, used in turn: "http://user:$FSCRAWL_PASSWORD@host:port" or "socks5h://host:port" (needs PySocks)',
        check_proxies,
        SECRET,
    ] = ()
    proxy_uses: Annotated[
        int | None, "how many requests each worker process may send through each proxy", checks.at_least(1)
    ] = None
    proxy_failures: Annotated[
        int | None,
        "how often a proxy may fail in a row until each worker process drops it for good; absent: it only rests",
        checks.at_least(1),
    ] = None
    ca_file: Annotated[
        str | None, "a PEM file of certificate authorities to trust instead of the usual ones", checks.file_name
    ] = None


class ParseSettings(msgspec.Struct, frozen=True):
    """How HTML is read."""

    parser: Annotated[
        str,
        '"lexbor"; or "html5lib", the reference parser, through Beautiful Soup: some fifty times slower',
        checks.one_of("lexbor", "html5lib"),
    ] = "lexbor"


class RenderSettings(msgspec.Struct, frozen=True):
    """Pages that scripts make: which ones are opened in a browser, and how long."""

    hosts: Annotated[
        tuple[str, ...],
        'hosts whose pages are rendered: a browser runs their scripts; "*.a.example": all below',
        checks.hosts,
    ] = ()
    when: Annotated[
        str,
        'which pages of other hosts are rendered: "never", "empty" (those with scripts and hardly any text), "always"',
        checks.one_of("never", "empty", "always"),
    ] = "never"
    wait: Annotated[
        str,
        'when a page is complete: "load"; "idle": nothing is being loaded, and five seconds have passed on the page\'s'
        ' clock, which jumps from timer to timer; "8s" on that clock; or "css:" and a selector that matches',
        checks.wait,
    ] = "idle"
    timeout: Annotated[float, "seconds that a page may take in the browser", checks.more_than_zero] = 30.0
    browsers: Annotated[
        int, "how many browsers run on each machine, one page at a time in each", checks.at_least(1)
    ] = 4
    block: Annotated[
        tuple[str, ...], "what is not loaded: " + ", ".join(BLOCKED), checks.names_of("kinds of requests", BLOCKED)
    ] = ("image", "font", "media", "frame")
    scroll: Annotated[
        int, "how often to scroll to the end of the page, for pages that then grow", checks.at_least(0)
    ] = 0
    screenshot: Annotated[bool, "store a picture of the page, too"] = False

    @property
    def is_on(self) -> bool:
        """Some pages may have to be rendered."""
        return bool(self.hosts) or self.when != "never"


class FleetSettings(msgspec.Struct, frozen=True):
    """How machines share the work."""

    shards: Annotated[
        int, "how many parts the work is divided into; fixed when the tree is created", checks.between(1, 1_000_000)
    ] = 512
    beat: Annotated[float, "seconds between two heartbeats of a machine", checks.more_than_zero] = 10.0
    dead_after: Annotated[
        float, "seconds without a heartbeat after which a machine counts as dead", checks.more_than_zero
    ] = 60.0


class StoreSettings(msgspec.Struct, frozen=True):
    """How pages are stored."""

    layout: Annotated[
        str,
        '"files": each page has its own files; "packs": each process appends to a few files, and keeps every version;'
        " fixed when the tree is created",
        checks.one_of("files", "packs"),
    ] = "files"
    versions: Annotated[
        int | None,
        'how many versions of each page fscrawl compact keeps, with layout = "packs"; absent: all',
        checks.at_least(1),
    ] = None
    fsync: Annotated[bool, "flush each file to the disk before it is published; then it survives a power loss"] = False
    patience: Annotated[
        float,
        "seconds to wait while the file system has a fault that may pass (no server, a stale handle, an I/O error);"
        " then the machine stops with exit code 75",
        checks.at_least(0),
    ] = 300.0


class Settings(msgspec.Struct, frozen=True):
    """All settings of a crawl, by section."""

    crawl: CrawlSettings = msgspec.field(default_factory=CrawlSettings)
    politeness: PolitenessSettings = msgspec.field(default_factory=PolitenessSettings)
    fetch: FetchSettings = msgspec.field(default_factory=FetchSettings)
    parse: ParseSettings = msgspec.field(default_factory=ParseSettings)
    render: RenderSettings = msgspec.field(default_factory=RenderSettings)
    fleet: FleetSettings = msgspec.field(default_factory=FleetSettings)
    store: StoreSettings = msgspec.field(default_factory=StoreSettings)
    sites: "tuple[SiteRules, ...]" = ()  # the [[site]] tables, which are no section
    code: "tuple[SiteRules, ...]" = ()  # the classes of the site file, which `crawl.toml` does not have

    @property
    def rules(self) -> "tuple[SiteRules, ...]":
        """All sites. For each URL the first one counts that has its host."""
        return (*self.code, *self.sites)

    @property
    def spelling(self) -> Spelling:
        """How URLs are spelled."""
        return Spelling(self.crawl.drop_query)

    def with_code(self, code: "tuple[SiteRules, ...]") -> "Settings":
        """Give the same settings with the classes of another site file."""
        return replace(self, code=code)

    @property
    def reads_sitemaps(self) -> bool:
        """Whether sitemaps are read; they are found through robots.txt."""
        return self.crawl.sitemaps and self.politeness.robots


SECTIONS = {  # the settings of each
    name: settings_of(section) for name, section in Settings.__annotations__.items() if name not in ("sites", "code")
}
_OTHERWISE = {"layout": "let fscrawl pack or unpack change it"}
FIXED = (("crawl", "partition"), ("fleet", "shards"), ("store", "layout"))  # when the tree is created


def parse(text: str, where: str = FILE, record: TreeRecord | None = None) -> Settings:
    """Read the text of a `crawl.toml`; `where` names it in errors.

    `record`: of the tree; what was fixed when it was created is the default there.

    >>> parse("[politeness]\\ndelay = 2").politeness.delay
    2.0
    >>> parse("[politeness]\\ndelai = 2")
    Traceback (most recent call last):
    fscrawl.errors.SettingsError: crawl.toml: politeness.delai: unknown setting; did you mean politeness.delay?
    """
    settings = Settings() if record is None else fixed_by(record)
    for section, table in read_toml(text, where).items():
        if section == TABLE:
            from fscrawl.sites.read import read_sites  # noqa: PLC0415 - most crawls have none

            settings = replace(settings, sites=read_sites(table, where))
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
    for section, known in SECTIONS.items():
        lines += ["", f"[{section}]"]
        group = getattr(settings, section)
        for name, setting in known.items():
            value = getattr(group, name)
            lines.append(f"# {setting.help}")
            if value and setting.secret and not secrets:
                lines.append(f"# {name} =  {NOT_KEPT}")
            else:
                lines.append(f"# {name} =" if value is None else f"{name} = {to_toml(value)}")
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
    return [f"{section}.{name}" for section, known in SECTIONS.items() for name in known]


def _with(settings: Settings, section: str, name: str, value: Any, where: str = "") -> Settings:
    found = SECTIONS.get(section, {}).get(name)
    if found is None:
        near = _nearest(f"{section}.{name}")
        others = "" if section in SECTIONS else f"{_sections(section)}; "
        hint = f"did you mean {near}?" if near else f"{others}{_PAGE} lists all settings"
        raise SettingsError(f"unknown setting; {hint}", f"{one_line(section)}.{one_line(name)}", where)
    try:
        new = checked(found, value)
    except ValueError as error:
        is_secret = found.secret or _may_have_login(value)
        shown = "" if is_secret else f"{written(value)}: "
        raise SettingsError(f"{shown}must be {error}", f"{section}.{name}", where) from None
    return replace(settings, **{section: replace(getattr(settings, section), **{name: new})})


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
    section, _, bare = text.rpartition(".")
    if bare in _SYNONYMS:
        return _SYNONYMS[bare]
    by_name = {full.partition(".")[2]: full for full in reversed(names())}
    by_name |= {name: f"{section}.{name}" for name in SECTIONS.get(section, ())}
    near = difflib.get_close_matches(bare, by_name, 1)
    return by_name[near[0]] if near else None


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
                f" ({TREE_RECORD}); write that value, or {_OTHERWISE.get(name, 'start a new tree elsewhere')}",
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
    for section, known in SECTIONS.items():
        there, given = getattr(current, section), getattr(wanted, section)
        for name, setting in known.items():
            value = getattr(there, name)
            if value == getattr(given, name):
                continue
            has = "another value" if setting.secret else "none" if value is None else to_toml(value)
            is_fixed = (section, name) in FIXED
            then = ", fixed when it was created; start a new tree elsewhere" if is_fixed else f"; edit {where}"
            differing.append(SettingsError(f"the tree has {has}{then}", f"{section}.{name}"))
    if len(differing) == 1:
        raise differing[0]
    if differing:
        raise SettingsError("; ".join(map(str, differing)))
