"""`crawl.toml` ↔ frozen dataclasses, one small group per section. Pure: no disk, no socket.

A setting is a field below: its name, type and default stand there, and what it means in its metadata. Reading
checks every key and value; an unknown key or a bad value is a SettingsError that names file, key and what would be
right. Writing gives the file that the first machine puts into the tree, with each setting explained beside it.
"""

from __future__ import annotations

import difflib
import hashlib
import re
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any

from fscrawl import __version__
from fscrawl.config.addresses import check_networks
from fscrawl.config.credentials import check_auth
from fscrawl.config.proxies import check_proxies
from fscrawl.errors import SettingsError

FILE = "crawl.toml"
END = "# end of settings (leave this line: it shows that the file was read to its end)"
USER_AGENT = f"fscrawl/{__version__} (no contact given)"


def _setting(default: Any, help_: str, check: Callable[[Any], str | None] | None = None) -> Any:
    """Declare a setting. `check` gives what would be right when a value of the right type is wrong, else None."""
    return field(default=default, metadata={"help": help_, "check": check})


def _one_of(*values: Any) -> Callable[[Any], str | None]:
    return lambda value: None if value in values else "one of " + ", ".join(_toml(v) for v in values)


def _at_least(least: float) -> Callable[[Any], str | None]:
    return lambda value: None if value is None or value >= least else f"{least} or more"


def _more_than_zero(value: float) -> str | None:
    return None if value > 0 else "more than 0"


def _expressions(values: tuple[str, ...]) -> str | None:
    for value in values:
        try:
            re.compile(value)
        except (re.error, OverflowError, RecursionError) as error:
            return f"regular expressions; {_toml(value)} is not one: {error}"
    return None


def _header_value(value: str) -> str | None:
    printable = value.isascii() and value.isprintable() and value.strip()
    return None if printable else "one line of printable ASCII characters"


def _header_values(values: tuple[str, ...]) -> str | None:
    return "one-line strings of printable ASCII characters" if any(map(_header_value, values)) else None


def _file_name(value: str) -> str | None:
    return None if value.strip() and value.isprintable() else "the path of a file"


def _headers(values: dict[str, str]) -> str | None:
    for name, value in values.items():
        if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name) or _header_value(value):
            return "a table of header names and one-line values"
    return None


@dataclass(frozen=True, slots=True)
class CrawlSettings:
    """What belongs to the crawl."""

    scope: str = _setting(
        "domain",
        'which hosts, relative to the seeds: "host", "domain" (public suffix list) or "any"',
        _one_of("host", "domain", "any"),
    )
    allow: tuple[str, ...] = _setting((), "regular expressions; if any are given, a URL must match one", _expressions)
    deny: tuple[str, ...] = _setting((), "regular expressions; a URL that matches one is left out", _expressions)
    max_depth: int | None = _setting(None, "links followed from a seed", _at_least(0))
    max_pages: int | None = _setting(None, "pages stored in all", _at_least(1))
    max_pages_per_host: int | None = _setting(None, "pages stored of one host", _at_least(1))
    max_hosts_per_domain: int = _setting(
        10_000, "hosts of one registrable domain: a wildcard name has ever more", _at_least(1)
    )
    max_path_depth: int = _setting(32, "segments of a URL's path: a trap has ever more", _at_least(1))
    max_repeats: int = _setting(
        3, "times that up to three segments of a path may repeat in a row, as in /a/b/a/b/a/b", _at_least(1)
    )
    follow_nofollow: bool = _setting(False, "follow links marked rel=nofollow, and those of pages that ask for none")
    sitemaps: bool = _setting(True, "take the sitemaps that robots.txt names for seeds, within the scope")
    order: str = _setting(
        "breadth", 'within a host: "breadth", "depth" or "random"', _one_of("breadth", "depth", "random")
    )
    partition: str = _setting(
        "host",
        'what a shard divides; "url" for one large site that welcomes many machines; fixed when the tree is created',
        _one_of("host", "url"),
    )
    drop_query: bool = _setting(False, "treat /page?a=1 and /page as one page")


@dataclass(frozen=True, slots=True)
class PolitenessSettings:
    """What a site is asked to bear."""

    user_agent: str = _setting(
        USER_AGENT, "who crawls, with an address where you can be reached; please put yours here", _header_value
    )
    user_agents: tuple[str, ...] = _setting(
        (), "for a site of your own: in turn, one for each host; robots.txt is read as user_agent", _header_values
    )
    robots: bool = _setting(True, "honour robots.txt")
    delay: float = _setting(1.0, "seconds between two requests to one host", _at_least(0))
    per_host: int = _setting(1, "requests to one host at the same time", _at_least(1))
    adaptive: bool = _setting(True, "let the delay grow up to max_delay with a host's latency and errors")
    max_delay: float = _setting(60.0, "seconds; a longer Crawl-delay counts as this", _at_least(0))
    max_rest: float = _setting(3600.0, "seconds; a longer Retry-After counts as this", _at_least(0))
    give_up_after: float = _setting(
        60.0, "seconds in which a host answers nothing, asked again and again, until it is given up", _at_least(0)
    )


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """Limits of one HTTP exchange."""

    timeout: float = _setting(30.0, "seconds for the whole exchange, and for each read", _more_than_zero)
    connect_timeout: float = _setting(10.0, "seconds to connect", _more_than_zero)
    max_bytes: int = _setting(10485760, "a body's limit, received and decompressed", _at_least(1))
    accept: tuple[str, ...] = _setting(
        ("text/html", "application/xhtml+xml"), "media types to store; others become a record with no body"
    )
    retries: int = _setting(3, "further attempts after a passing failure", _at_least(0))
    allow_private_addresses: bool = _setting(False, "fetch from private, loopback and link-local addresses")
    allow_addresses: tuple[str, ...] = _setting(
        (), 'private networks to fetch from all the same, e.g. "10.0.0.0/8"', check_networks
    )
    headers: dict[str, str] = field(
        default_factory=dict,
        metadata={
            "help": "further request headers, to every host; $NAME is an environment variable",
            "check": _headers,
        },
    )
    cookies: bool = _setting(True, "keep cookies, in memory, and send them back")
    auth: dict[str, str] = field(
        default_factory=dict,
        metadata={"help": 'who to log in as, by host: {"intranet.example" = "user:$PASSWORD"}', "check": check_auth},
    )
    proxies: tuple[str, ...] = _setting(
        (), 'used in turn: "http://user:$PASSWORD@host:port", "socks5h://host:port" (needs PySocks)', check_proxies
    )
    proxy_uses: int | None = _setting(None, "requests through each proxy, by each worker process", _at_least(1))
    ca_file: str | None = _setting(
        None, "a PEM file: the certificate authorities to trust instead of the usual ones", _file_name
    )


@dataclass(frozen=True, slots=True)
class ParseSettings:
    """How HTML is read."""

    parser: str = _setting(
        "lexbor",
        '"lexbor", or "html5lib": the reference, through Beautiful Soup, some fifty times slower',
        _one_of("lexbor", "html5lib"),
    )


@dataclass(frozen=True, slots=True)
class FleetSettings:
    """How machines share the work."""

    shards: int = _setting(256, "units of ownership; fixed when the tree is created", _at_least(1))
    beat: float = _setting(10.0, "seconds between heartbeats", _more_than_zero)
    dead_after: float = _setting(60.0, "seconds without a heartbeat after which a machine is dead", _more_than_zero)


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """How files are written."""

    fsync: bool = _setting(False, "flush each file to the disk before it is published: survives a power loss")
    patience: float = _setting(
        300.0,
        "seconds for which a fault of the file system that may pass (no server, a stale handle, an I/O error) is waited"
        " out; then the machine stops with exit code 75",
        _at_least(0),
    )
    fanout: int = _setting(
        0, "1: <host>/<ab>/<key>, for hosts of millions of pages; fixed when the tree is created", _one_of(0, 1)
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a crawl, by section."""

    crawl: CrawlSettings = field(default_factory=CrawlSettings)
    politeness: PolitenessSettings = field(default_factory=PolitenessSettings)
    fetch: FetchSettings = field(default_factory=FetchSettings)
    parse: ParseSettings = field(default_factory=ParseSettings)
    fleet: FleetSettings = field(default_factory=FleetSettings)
    store: StoreSettings = field(default_factory=StoreSettings)


_SECTIONS = [section.name for section in fields(Settings)]


def parse(text: str, where: str = FILE) -> Settings:
    """Read the text of a `crawl.toml`; `where` names it in errors.

    >>> parse("[politeness]\\ndelay = 2").politeness.delay
    2.0
    >>> parse("[politeness]\\ndelai = 2")
    Traceback (most recent call last):
    fscrawl.errors.SettingsError: crawl.toml: unknown setting politeness.delai; did you mean politeness.delay?
    """
    try:
        tables = tomllib.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a plain ValueError
        raise SettingsError(f"{where}: not TOML: {error}") from error
    settings = Settings()
    for section, table in tables.items():
        if not isinstance(table, dict):
            raise SettingsError(f"{where}: {section!r} stands outside any section; a setting is below a [section] line")
        if section not in _SECTIONS and not table:
            raise SettingsError(f"{where}: unknown section [{_one_line(section)}]; there are {', '.join(_SECTIONS)}")
        for name, value in table.items():
            settings = _with(settings, section, name, value, where)
    return _consistent(settings, where)


def apply(settings: Settings, assignments: Iterable[str]) -> Settings:
    """Set what `--set` gives: `section.name=value`, the value as in TOML, or bare text for a string.

    >>> apply(Settings(), ["politeness.delay=0", "crawl.scope=any"]).crawl.scope
    'any'
    """
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        section, dot, name = path.strip().partition(".")
        if not equals or not dot:
            raise SettingsError(f"--set {assignment}: write it as section.name=value, e.g. --set politeness.delay=0.5")
        settings = _with(settings, section, name, _value(text.strip()), "--set")
    return _consistent(settings, "--set")


def render(settings: Settings) -> str:
    """Write a `crawl.toml` that `parse` reads back equal, each setting with its meaning."""
    lines = [
        "# Settings of this crawl, the same for all machines. Edit this file while they run: they follow.",
    ]
    for section in fields(settings):
        lines += ["", f"[{section.name}]"]
        group = getattr(settings, section.name)
        for setting in fields(group):
            value = getattr(group, setting.name)
            lines.append(f"# {setting.metadata['help']}")
            lines.append(f"# {setting.name} =" if value is None else f"{setting.name} = {_toml(value)}")
    return "\n".join([*lines, "", END]) + "\n"


def digest_of(text: str) -> str:
    """Name the text of a `crawl.toml`, so that it can be told which one a machine goes by."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def check_fixed(before: Settings, after: Settings, where: str = FILE) -> None:
    """SettingsError if an edit changes what was fixed when the tree was created."""
    for section, name in (("crawl", "partition"), ("fleet", "shards"), ("store", "fanout")):
        old, new = (getattr(getattr(each, section), name) for each in (before, after))
        if old != new:
            raise SettingsError(
                f"{where}: {section}.{name} = {_toml(new)}: it was fixed as {_toml(old)} when the tree was created"
            )


def names() -> list[str]:
    """Give every setting's full name, `section.name`."""
    return [f"{s.name}.{f.name}" for s in fields(Settings) for f in fields(getattr(Settings(), s.name))]


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


def _with(settings: Settings, section: str, name: str, value: Any, where: str) -> Settings:
    group = getattr(settings, section) if section in _SECTIONS else None
    found = None if group is None else {f.name: f for f in fields(group)}.get(name)
    if group is None or found is None:
        near = difflib.get_close_matches(f"{section}.{name}", names(), 1)
        hint = f"did you mean {near[0]}?" if near else "the sections are " + ", ".join(_SECTIONS)
        raise SettingsError(f"{where}: unknown setting {_one_line(section)}.{_one_line(name)}; {hint}")
    full = f"{section}.{name}"
    return replace(settings, **{section: replace(group, **{name: _checked(found, value, f"{where}: {full}")})})


def _is_text(value: Any) -> bool:
    """A string without lone surrogates: they come from an argument that is not UTF-8, and no TOML can hold them."""
    return isinstance(value, str) and not re.search("[\ud800-\udfff]", value)


_TYPES: dict[str, tuple[str, Callable[[Any], bool], Callable[[Any], Any]]] = {
    "bool": ("true or false", lambda v: isinstance(v, bool), bool),
    "int": ("a whole number", lambda v: isinstance(v, int) and not isinstance(v, bool), int),
    "int | None": ("a whole number", lambda v: isinstance(v, int) and not isinstance(v, bool), int),
    "float": (
        "a number below 1e9",
        lambda v: isinstance(v, int | float) and not isinstance(v, bool) and -1e9 < v < 1e9,  # no more fits a float
        float,
    ),
    "str": ("a string", _is_text, str),
    "str | None": ("a string", _is_text, str),
    "tuple[str, ...]": (
        "a list of strings",
        lambda v: isinstance(v, list) and all(_is_text(item) for item in v),
        tuple,
    ),
    "dict[str, str]": (
        "a table of strings",
        lambda v: isinstance(v, dict) and all(_is_text(item) for item in v.values()),
        dict,
    ),
}


def _checked(setting: Field[Any], value: Any, name: str) -> Any:
    wanted, fits, convert = _TYPES[str(setting.type)]
    if not fits(value):
        raise SettingsError(f"{name} = {_toml(value)}: it takes {wanted}")
    value = convert(value)
    check = setting.metadata["check"]
    right = check(value) if check else None
    if right:
        raise SettingsError(f"{name} = {_toml(value)}: it takes {right}")
    return value


def _consistent(settings: Settings, where: str) -> Settings:
    fleet = settings.fleet
    if fleet.dead_after < 3 * fleet.beat:
        raise SettingsError(
            f"{where}: fleet.dead_after = {fleet.dead_after:g}: it takes 3 times fleet.beat ({fleet.beat:g}) or more"
        )
    return settings


def _one_line(name: str) -> str:
    """Give a name as it stands, or as TOML quotes it if it would break the line."""
    return name if name.isprintable() else _toml(name)


_SHOWN_LEVELS = 8  # of tables and lists in each other: TOML may nest deeper than Python calls


def _toml(value: Any, levels: int = _SHOWN_LEVELS) -> str:
    if isinstance(value, list | tuple | dict) and not levels:
        return "…"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + "".join(_ESCAPES.get(c) or (c if c.isprintable() else f"\\U{ord(c):08x}") for c in value) + '"'
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(item, levels - 1) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(name)} = {_toml(item, levels - 1)}" for name, item in value.items()) + "}"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e9:
        return str(int(value))
    return hex(value) if isinstance(value, int) and value.bit_length() > 64 else str(value)


_ESCAPES = {'"': '\\"', "\\": "\\\\"}
