"""Settings survive being written, and no file makes reading fail in an unforeseen way."""

import re

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as tuned
from hypothesis import strategies as st
from msgspec.structs import replace

from fscrawl.config.settings import BLOCKED, SECTIONS, Settings, names, parse, render
from fscrawl.errors import SettingsError
from fscrawl.labels import is_label
from fscrawl.parse.follow import ELEMENTS
from fscrawl.parse.media_types import WITH_LINKS
from tests.support.effort import tries

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
expressions = texts.filter(lambda text: "\b" not in text).map(re.escape)  # a backspace is refused
lines = st.text("abc XYZ/.;=\"'#[]{}\\~", min_size=1, max_size=20).filter(str.strip)
positive = st.floats(min_value=1e-6, max_value=1e9, exclude_max=True)
ranges = st.from_regex(r"\A([a-z0-9+.-]{1,9}/(\*|[a-z0-9+.-]{1,9})|\*/\*)\Z")


def whole(least):
    return st.integers(least, 10**18 - 1)


VALUES = {
    "crawl.scope": st.sampled_from(["host", "domain", "any"]),
    "crawl.allow": st.lists(expressions, max_size=3).map(tuple),
    "crawl.deny": st.lists(expressions, max_size=3).map(tuple),
    "crawl.max_depth": st.none() | whole(0),
    "crawl.max_pages": st.none() | whole(1),
    "crawl.max_pages_per_host": st.none() | whole(1),
    "crawl.max_hosts_per_domain": whole(1),
    "crawl.order": st.sampled_from(["breadth", "depth", "random"]),
    "crawl.follow": st.lists(st.sampled_from(ELEMENTS), max_size=3).map(tuple),
    "crawl.stopped_labels": st.lists(st.text(max_size=9).filter(is_label), max_size=3).map(tuple),
    "crawl.partition": st.sampled_from(["host", "site", "url"]),
    "store.layout": st.sampled_from(["files", "packs"]),
    "politeness.user_agent": lines,
    "politeness.user_agents": st.lists(lines, max_size=3).map(tuple),
    "politeness.delay": st.just(0.0) | positive,
    "politeness.per_host": whole(1),
    "politeness.max_delay": positive,
    "politeness.max_rest": positive,
    "politeness.give_up_after": positive,
    "fetch.timeout": positive,
    "fetch.connect_timeout": positive,
    "fetch.max_bytes": whole(1),
    "fetch.accept": st.lists(ranges, max_size=3).map(tuple),
    "fetch.accept_links": st.lists(st.sampled_from(WITH_LINKS), max_size=3).map(tuple),
    "fetch.retries": st.integers(0, 9),
    "fetch.headers": st.dictionaries(st.text("aZ0-_!~", min_size=1, max_size=8), lines, max_size=3),
    "fetch.allow_addresses": st.lists(st.ip_addresses().map(str), max_size=3).map(tuple),
    "fetch.auth": st.dictionaries(st.sampled_from(["a.example", "b:8", "https://c"]), lines.map("u:".__add__)),
    "fetch.proxies": st.lists(st.sampled_from(["http://u:$PW@p:1", "socks5h://[::1]:9"]), max_size=3).map(tuple),
    "fetch.proxy_uses": st.none() | whole(1),
    "fetch.proxy_failures": st.none() | whole(1),
    "fetch.ca_file": st.none() | lines,
    "parse.parser": st.sampled_from(["lexbor", "html5lib"]),
    "render.hosts": st.lists(st.sampled_from(["a.example", "*.b.example", "c.example:8080"]), max_size=3).map(tuple),
    "render.when": st.sampled_from(["never", "empty", "always"]),
    "render.wait": st.sampled_from(["load", "idle", "8s", "2.5s", "css:#items li, a[href='x']"]),
    "render.timeout": positive,
    "render.browsers": whole(1),
    "render.block": st.lists(st.sampled_from(BLOCKED), max_size=3).map(tuple),
    "render.scroll": whole(0),
    "fleet.shards": st.integers(1, 4096),
    "fleet.beat": st.floats(0.01, 1000),
    "fleet.dead_after": st.floats(3000.0, 99999.0),
    "store.versions": st.none() | whole(1),
    "store.patience": st.floats(0.0, 1e6),
}
fast = tuned(deadline=None, max_examples=tries(200), suppress_health_check=[HealthCheck.too_slow])


@st.composite
def all_settings(draw):
    groups = {}
    for section in SECTIONS:
        group = getattr(Settings(), section)
        drawn = {name: draw(VALUES.get(f"{section}.{name}", st.booleans())) for name in group.__struct_fields__}
        groups[section] = replace(group, **drawn)
    return Settings(**groups)


@pytest.mark.gate
@given(all_settings())
@fast
def test_round_trip(settings):
    """Any settings are read back equal from the file they render to."""
    assert parse(render(settings)) == settings


TOML = st.sampled_from(
    [
        *("1", "-1", "0", "1.5", "1e308", "inf", "-inf", "nan", "true", '""', '"x"', "[]", '["("]', "[1]", "{}"),
        *('{a="b"}', "1979-05-27T07:32:00Z", "07:32:00", '"\\u0000"', "0xfffffffffffffffffffff", "'''\nx'''"),
        *('["\\n["]', "x", ""),
    ]
)


@pytest.mark.gate
@pytest.mark.parametrize("name", names())
@given(value=TOML)
@tuned(deadline=None, max_examples=tries(30))
def test_any_value(name, value):
    """Any value of any setting is taken, and survives being written, or is refused in one line that names the key."""
    section, _, key = name.partition(".")
    try:
        settings = parse(f"[{section}]\n{key} = {value}\n")
    except SettingsError as error:
        assert "\n" not in str(error)  # noqa: PT017 - one of two ways
        assert name in str(error) or "not valid TOML" in str(error) or "dead_after" in str(error)  # noqa: PT017
    else:
        assert parse(render(settings)) == settings


@given(texts | st.text("[]crawl.=\"' \n#\\{}1", max_size=30))
@fast
def test_any_text(text):
    """Any text is settings or a SettingsError of one line."""
    try:
        parse(text)
    except SettingsError as error:
        assert "\n" not in str(error)  # noqa: PT017 - one of two ways
