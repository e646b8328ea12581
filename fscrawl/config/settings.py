"""The settings of a crawl: `crawl.toml` ↔ frozen dataclasses, one class for each section. Pure: no disk, no socket.

A setting is a field of one of the classes below. The field has its name, type and default; its metadata has the help
text, which is also the comment in `crawl.toml`, and a check of the value (see `checks`).

Promise: reading checks every name and value. An unknown name or a bad value is a SettingsError that says where it is
and what would be right. `parse` reads what `render` writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from fscrawl import __version__
from fscrawl.config import checks, unknown
from fscrawl.config.addresses import check_networks
from fscrawl.config.arguments import assigned, name_in
from fscrawl.config.credentials import check_auth
from fscrawl.config.proxies import check_proxies
from fscrawl.config.render_settings import RenderSettings
from fscrawl.config.site_text import NOT_KEPT, TABLE, render_site
from fscrawl.config.value_types import checked, written
from fscrawl.config.value_types import setting as _setting
from fscrawl.errors import SettingsError
from fscrawl.parse.follow import ELEMENTS, USUAL
from fscrawl.parse.media_types import PDF, WITH_LINKS
from fscrawl.storage.layout import SETTINGS
from fscrawl.storage.records import TreeRecord
from fscrawl.util.user_text import TomlFile, to_toml

if TYPE_CHECKING:
    from fscrawl.sites.rules import SiteRules

FILE = SETTINGS
END = "# end of settings (leave this line: it shows that the file was read to its end)"
NO_CONTACT = "(no contact given)"
USER_AGENT = f"fscrawl/{__version__} {NO_CONTACT}"


@dataclass(frozen=True, slots=True)
class CrawlSettings:
    """Which pages to crawl, and in which order."""

    scope: str = _setting(
        "domain",
        'which hosts to crawl: "host" (those of the seeds), "domain" (all hosts of their registrable domains, by the'
        ' public suffix list) or "any"',
        checks.one_of("host", "domain", "any"),
    )
    allow: tuple[str, ...] = _setting(
        (), "regular expressions; if there are any, a URL must match at least one", checks.expressions
    )
    deny: tuple[str, ...] = _setting(
        (), "regular expressions; a URL that matches one of them is not crawled", checks.expressions
    )
    max_depth: int | None = _setting(
        None, "how many links to follow from a seed: 0 fetches the seeds only", checks.at_least(0)
    )
    max_pages: int | None = _setting(None, "how many pages to store in all", checks.at_least(1))
    max_pages_per_host: int | None = _setting(None, "how many pages to store of each host", checks.at_least(1))
    max_hosts_per_domain: int = _setting(
        10_000,
        "how many hosts of one registrable domain to crawl; some domains make up host names without end",
        checks.at_least(1),
    )
    follow_nofollow: bool = _setting(
        False, "follow links marked rel=nofollow, and the links of pages that ask robots not to follow them"
    )
    sitemaps: bool = _setting(
        True, "read the sitemaps that robots.txt names; their URLs count as seeds if they are in the scope"
    )
    stopped_labels: tuple[str, ...] = _setting(
        (),
        "labels of tasks to hold back; their URLs stay pending",
        checks.labels,
    )
    order: str = _setting(
        "breadth",
        'the order of a host\'s pages: "breadth" (first found first), "depth" (last found first) or "random"',
        checks.one_of("breadth", "depth", "random"),
    )
    partition: str = _setting(
        "host",
        'what is divided among the machines: "host", or "site" if hosts of a site share a log-in, or "url" for one'
        " large host that welcomes many machines; fixed when the tree is created",
        checks.one_of("host", "site", "url"),
    )
    drop_query: bool = _setting(False, "ignore the query of URLs: /page?a=1 and /page are the same page")
    follow: tuple[str, ...] = _setting(
        USUAL,
        "the elements of a page whose references are links; more of them: " + ", ".join(ELEMENTS[len(USUAL) :]),
        checks.names_of("elements", ELEMENTS),
    )


@dataclass(frozen=True, slots=True)
class PolitenessSettings:
    """How fast a site is asked, and by whom."""

    user_agent: str = _setting(
        USER_AGENT,
        "the User-Agent header; write an address here where site owners can reach you",
        checks.header_value,
    )
    user_agents: tuple[str, ...] = _setting(
        (),
        "only to test a site of your own: other User-Agent headers, one for each host in turn; the rules of robots.txt"
        " are still those for user_agent",
        checks.header_values,
    )
    robots: bool = _setting(True, "obey robots.txt")
    delay: float = _setting(1.0, "seconds between two requests to one host", checks.at_least(0))
    per_host: int = _setting(1, "how many requests to one host may run at the same time", checks.at_least(1))
    adaptive: bool = _setting(True, "increase the delay of a host that is slow or fails, up to max_delay")
    max_delay: float = _setting(
        60.0, "the longest delay in seconds, even if robots.txt asks for a longer Crawl-delay", checks.at_least(0)
    )
    max_rest: float = _setting(
        3600.0, "the longest pause of a host in seconds, even if its Retry-After asks for more", checks.at_least(0)
    )
    give_up_after: float = _setting(
        60.0, "give up a host that has been failing for so many seconds", checks.at_least(0)
    )


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """Limits of one HTTP exchange."""

    timeout: float = _setting(30.0, "seconds that one exchange may take, from request to end", checks.more_than_zero)
    connect_timeout: float = _setting(
        10.0,
        "seconds that a connection may take to open, and the first request for a robots.txt in all",
        checks.more_than_zero,
    )
    max_bytes: int = _setting(10485760, "the largest body in bytes, as received and decompressed", checks.at_least(1))
    accept: tuple[str, ...] = _setting(
        ("text/html", "application/xhtml+xml"),
        'media types to store, also "image/*" and "*/*"; any other type gets a record without a body',
        checks.media_ranges,
    )
    accept_links: tuple[str, ...] = _setting(
        tuple(each for each in WITH_LINKS if each != PDF),
        "media types that are searched for links, if they are stored; application/pdf can be added (needs pypdf)",
        checks.names_of("media types that can be searched for links", WITH_LINKS),
    )
    retries: int = _setting(3, "how often to try again after a failure that may pass", checks.at_least(0))
    retry_posts: bool = _setting(False, "try a POST or PATCH again, too, that the server may have done: for searches")
    allow_addresses: tuple[str, ...] = _setting(
        (),
        'networks to fetch from although they are private, or this computer: ["10.0.0.0/8", "127.0.0.0/8"]',
        check_networks,
    )
    headers: dict[str, str] = field(
        default_factory=dict,
        metadata={
            "help": "additional request headers, sent to every host; $FSCRAWL_NAME stands for an environment variable",
            "check": checks.headers,
            "secret": True,
        },
    )
    cookies: bool = _setting(True, "keep cookies in memory and send them back")
    auth: dict[str, str] = field(
        default_factory=dict,
        metadata={
            "help": 'user and password, by host: {"intranet.example" = "user:$FSCRAWL_PASSWORD"}',
            "check": check_auth,
            "secret": True,
        },
    )
    proxies: tuple[str, ...] = _setting(
        (),
        'proxies, used in turn: "http://user:$FSCRAWL_PASSWORD@host:port" or "socks5h://host:port" (needs PySocks)',
        check_proxies,
        secret=True,
    )
    proxy_uses: int | None = _setting(
        None, "how many requests each worker process may send through each proxy", checks.at_least(1)
    )
    proxy_failures: int | None = _setting(
        None,
        "how often a proxy may fail in a row until each worker process drops it for good; absent: it only rests",
        checks.at_least(1),
    )
    ca_file: str | None = _setting(
        None, "a PEM file of certificate authorities to trust instead of the usual ones", checks.file_name
    )


@dataclass(frozen=True, slots=True)
class ParseSettings:
    """How HTML is read."""

    parser: str = _setting(
        "lexbor",
        '"lexbor"; or "html5lib", the reference parser, through Beautiful Soup: some fifty times slower',
        checks.one_of("lexbor", "html5lib"),
    )


@dataclass(frozen=True, slots=True)
class FleetSettings:
    """How machines share the work."""

    shards: int = _setting(
        512, "how many parts the work is divided into; fixed when the tree is created", checks.between(1, 1_000_000)
    )
    beat: float = _setting(10.0, "seconds between two heartbeats of a machine", checks.more_than_zero)
    dead_after: float = _setting(
        60.0, "seconds without a heartbeat after which a machine counts as dead", checks.more_than_zero
    )


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """How files are written."""

    fsync: bool = _setting(False, "flush each file to the disk before it is published; then it survives a power loss")
    patience: float = _setting(
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
            raise SettingsError(unknown.no_section(section, table, names()), where=where)
        if section not in SECTIONS and not table:
            raise SettingsError(unknown.section(section, names()), where=where)
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
        if re.match(rf"\[*{TABLE}s?\b", path.strip()):
            raise SettingsError(f"[[{TABLE}]] tables must be written into {FILE}", name_in(assignment))
        if not equals or not dot:
            name = name_in(assignment)
            near = unknown.nearest(name.rstrip("…"), names())
            hint = f"did you mean {near}=…?" if near else "for example politeness.delay=0.5"
            raise SettingsError(f"must be section.name=value; {hint}", name)
        settings = _with(settings, section, name, assigned(text.strip()))
    return _consistent(settings)


def render(settings: Settings, *, secrets: bool = True) -> str:
    """Write a `crawl.toml`: each setting with its help text. `parse` reads the same settings from it.

    `secrets`: also write the values that may hold passwords; without them a comment says that there was one.
    """
    lines = ["# The settings of this crawl, for all machines. You can edit this file while they run."]
    for section in SECTIONS:
        lines += ["", f"[{section}]"]
        group = getattr(settings, section)
        for setting in fields(group):
            value = getattr(group, setting.name)
            lines.append(f"# {setting.metadata['help']}")
            if value and setting.metadata["secret"] and not secrets:
                lines.append(f"# {setting.name} =  {NOT_KEPT}")
            else:
                lines.append(f"# {setting.name} =" if value is None else f"{setting.name} = {to_toml(value)}")
    for site in settings.sites:
        lines += ["", *render_site(site.table, secrets=secrets)]
    return "\n".join([*lines, "", END]) + "\n"


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
        raise SettingsError(unknown.setting(section, name, names()), unknown.full_name(section, name), where)
    try:
        new = checked(found, value)
    except ValueError as error:
        is_secret = found.metadata["secret"] or _may_have_login(value)
        shown = "" if is_secret else f"{written(value)}: "
        raise SettingsError(f"{shown}must be {error}", f"{section}.{name}", where) from None
    return replace(settings, **{section: replace(group, **{name: new})})


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
