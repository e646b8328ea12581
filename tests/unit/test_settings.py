"""What a `crawl.toml` may say, and what is said of one that may not."""

import pickle
import tomllib

import pytest

from fscrawl.config import settings
from fscrawl.config.settings import Settings, apply, check_fixed, check_same, names, parse, render
from fscrawl.errors import SettingsError
from fscrawl.storage.records import TreeRecord

RECORD = TreeRecord(format=3, machinery="0" * 32, crawl="c1", created_at="t", shards=512, partition="host")
INT_RIGHT = "must be a whole number"
FLOAT_RIGHT = "must be a number of seconds"


def error_of(text):
    with pytest.raises(SettingsError) as caught:
        parse(text)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_documents():
    """Types, ranges and elements are taken as they are."""
    text = """[fetch]
accept = ["text/html", "image/*", "*/*"]
accept_links = ["application/pdf"]
[crawl]
follow = ["a", "img"]
"""
    found = parse(text)
    assert found.fetch.accept == ("text/html", "image/*", "*/*")
    assert found.crawl.follow == ("a", "img")
    assert parse(render(found)) == found


def test_empty_file():
    """A file that sets nothing leaves every default."""
    assert parse("") == parse("[crawl]\n[fleet]\n") == Settings()


def test_rendered_defaults():
    """The file of the first machine names and explains every setting, and reads back as the defaults."""
    text = render(Settings())
    assert parse(text) == Settings()
    lines = text.splitlines()
    for full in names():
        at = next(i for i, line in enumerate(lines) if line.lstrip("# ").startswith(full.partition(".")[2] + " ="))
        assert lines[at - 1].startswith("# ")


def test_absent_limits():
    """A limit that is not set stands there as a comment, ready to be set."""
    text = render(Settings())
    assert "\n# max_pages =\n" in text
    assert parse(text.replace("# max_pages =", "max_pages = 5")).crawl.max_pages == 5


def test_names():
    """Names are `section.name`, each once, of every section."""
    assert len(set(names())) == len(names())
    assert {name.partition(".")[0] for name in names()} == set(Settings.__struct_fields__) - {
        "sites",
        "code",
    }
    assert {"politeness.delay", "crawl.max_depth", "fetch.headers"} <= set(names())


def test_whole_number_for_a_float():
    """A whole number is a number, and comes back as a float."""
    delay = parse("[politeness]\ndelay = 2").politeness.delay
    assert (delay, type(delay)) == (2.0, float)


@pytest.mark.parametrize("value", [1234567.0, 999999999.0, 0.1, 1e-9, 123456.789])
def test_numbers_are_rendered_exactly(value):
    """A number loses no digit by being written."""
    assert parse(render(apply(Settings(), [f"politeness.max_delay={value!r}"]))).politeness.max_delay == value


@pytest.mark.parametrize(
    ("section", "line", "right"),
    [
        ("crawl", 'scope = "page"', '"host", "domain", "any"'),
        ("crawl", "scope = 1979-05-27", "a string"),
        ("crawl", 'allow = "x"', "a list of strings"),
        ("crawl", "allow = [1]", "a list of strings"),
        ("crawl", 'deny = ["("]', '"(" is not one'),
        ("crawl", 'deny = ["a{1001}"]', "regular expressions"),
        ("crawl", 'deny = ["a(?=b)"]', "regular expressions"),
        ("crawl", "max_depth = -1", "0 or more"),
        ("crawl", "max_depth = 1.5", INT_RIGHT),
        ("crawl", "max_depth = true", INT_RIGHT),
        ("crawl", "max_depth = inf", INT_RIGHT),
        ("crawl", "drop_query = 1", "true or false"),
        ("crawl", "drop_query = {a = [1, {b = nan}]}", "true or false"),
        ("politeness", 'user_agent = ""', "one line"),
        ("politeness", 'user_agent = "a\\nb"', "one line"),
        ("politeness", 'user_agent = "é"', "ASCII"),
        ("politeness", "delay = -0.5", "0 or more"),
        ("politeness", "delay = -inf", FLOAT_RIGHT),
        ("politeness", "delay = nan", FLOAT_RIGHT),
        ("politeness", "delay = 1e9", FLOAT_RIGHT),
        ("politeness", "delay = true", FLOAT_RIGHT),
        ("politeness", 'delay = "1"', FLOAT_RIGHT),
        ("fetch", "timeout = 0", "more than 0"),
        ("fetch", "headers = 1", "a table of strings"),
        ("fetch", "headers = {a = 1}", "a table of strings"),
        ("fetch", 'headers = {"a b" = "c"}', "header names"),
        ("fetch", 'headers = {a = "b\\r\\nc: d"}', "header names"),
        ("fetch", 'headers = {Host = "a.example"}', "Host cannot be set"),
        ("politeness", 'user_agents = ["a", "b\\nc"]', "one line"),
        ("fetch", 'allow_addresses = ["10.1.2.3/8"]', "10.1.2.3/8 has host bits set"),
        ("fetch", 'allow_addresses = ["intranet"]', "networks"),
        ("fetch", 'auth = {"a.example/x" = "me:x"}', "a table such as"),
        ("fetch", 'auth = {"a.example" = "me"}', "a table such as"),
        ("fetch", 'proxies = ["p.example:8080"]', "a list of proxies"),
        ("fetch", 'ca_file = ""', "path of a file"),
        ("crawl", 'follow = ["a", "imgs"]', 'did you mean "img"?'),
        ("crawl", 'follow = ["qqqq"]', "they are a, area, link"),
        ("fetch", 'accept = ["pdf"]', 'such as "application/pdf"'),
        ("fetch", 'accept = ["text/html; charset=utf-8"]', '"text/html; charset=utf-8" is none'),
        ("fetch", 'accept_links = ["application/json"]', "searched for links"),
    ],
)
def test_bad_value(section, line, right):
    """A bad value is one line: file, name, the value unless it may be secret, and what would be right."""
    message = error_of(f"[{section}]\n{line}\n")
    name = line.partition(" = ")[0]
    assert message.startswith(f"crawl.toml: {section}.{name}: ")
    assert message.startswith(f"crawl.toml: {section}.{name}: must be ") == (name in ("headers", "auth", "proxies"))
    assert right in message


@pytest.mark.parametrize(
    ("section", "line", "end"),
    [
        ("crawl", "max_pages = 1e3", "crawl.max_pages: 1000.0: must be a whole number, for example 10"),
        ("crawl", "max_pages = '50'", 'crawl.max_pages: "50": must be a whole number, for example 10'),
        ("crawl", "max_pages = 1e300", "crawl.max_pages: 1e+300: "),
        ("fetch", "max_bytes = '10MB'", 'fetch.max_bytes: "10MB": must be a whole number, for example 10'),
        ("fetch", "max_bytes = '64 KiB'", "must be a whole number"),
        ("politeness", 'robots = "Yes"', "must be true or false"),
        ("politeness", "robots = 0", "must be true or false"),
        ("crawl", "allow = 'x'", 'for example ["a", "b"]'),
        ("crawl", "scope = ['any']", 'for example "text"'),
        ("fetch", "allow_addresses = '10.1.0.0/16'", 'for example ["a", "b"]'),
        ("crawl", "allow = [" + "1, " * 99 + "]", "allow: [" + "1, " * 19 + "1,…: "),
        ("crawl", 'order = "a\u2028b"', 'crawl.order: "a\\U00002028b": '),
        ("crawl", r'deny = ["\bprint\b"]', r"'\bprint\b'"),
        ("fetch", 'proxies = ["http://p.example:80", "http://me:hunter2@p.example"]', "number 2 is not one"),
    ],
)
def test_value_is_shown(section, line, end):
    """The value stands there, shortened, and the example is what was probably meant."""
    message = error_of(f"[{section}]\n{line}\n")
    assert end in message
    assert "hunter2" not in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[politeness]\ndelai = 1", "politeness.delai: unknown setting; did you mean politeness.delay?"),
        ("[politenes]\ndelay = 1", "politenes.delay: unknown setting; did you mean politeness.delay?"),
        ("[crawl]\ndelay = 1", "crawl.delay: unknown setting; did you mean politeness.delay?"),
        ("[crawl]\ninclude = ['a']", "crawl.include: unknown setting; did you mean crawl.allow?"),
        ("[render]\ntimeot = 1", "render.timeot: unknown setting; did you mean render.timeout?"),
        ("[x]\ny = 1", "the sections are crawl, politeness, fetch, parse, render, fleet, store"),
        ("[__class__]\ncrawl = 1", "__class__.crawl: "),
        ("[crawl]\n__class__ = 1", "crawl.__class__: "),
        ("[quite]\n", "[quite]; the sections are crawl, "),
        ("\n[Crawl]\n", "did you mean [crawl]?"),
        ('[crawl]\n"a\\nb" = 1', 'crawl."a\\U0000000ab"'),
        ("delay = 1", "did you mean politeness.delay?"),
        ("delai = 1", "did you mean politeness.delay?"),
        ("xyz = 1", '"xyz" is not in a section'),
        ("[[crawl]]\nscope = 'any'", "[crawl]"),
    ],
)
def test_bad_file(text, said):
    """What is no setting is named in one line, with the file and with what may have been meant."""
    message = error_of(text)
    assert message.startswith("crawl.toml: ")
    assert said in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[crawl]\nscope = any", "crawl.toml: not valid TOML: Invalid value (at line 2, column 9)"),
        ("\ufeff[crawl]\r\n[crawl]", "(at line 2, column 7)"),
        ("a = " + "[" * 5000, "crawl.toml: not valid TOML: "),
        ("a = " + "1" * 5000, "crawl.toml: not valid TOML: "),
        ("a = 1\n# \udcff", "crawl.toml:2:3: not valid TOML: byte 0xff is not UTF-8"),
    ],
)
def test_no_toml(text, said):
    """What is no TOML is told as Python's parser has it, with line and column."""
    assert said in error_of(text)


def test_where():
    """The error names the file that was read."""
    with pytest.raises(SettingsError, match=r"^other[.]toml: crawl[.]x: unknown setting"):
        parse("[crawl]\nx = 1", "other.toml")


def test_dead_after():
    """A machine is not dead before it has missed three beats."""
    right = "dead_after: 60: must be at least 3 times fleet.beat, which is 30"
    assert error_of("[fleet]\nbeat = 30\n") == f"crawl.toml: fleet.{right}"
    assert parse("[fleet]\nbeat = 30\ndead_after = 90\n").fleet.beat == 30


@pytest.mark.parametrize(
    ("assignment", "path", "value"),
    [
        ("crawl.scope=any", "crawl.scope", "any"),
        ('crawl.scope="any"', "crawl.scope", "any"),
        (" crawl.scope = any ", "crawl.scope", "any"),
        ("crawl.deny=['[?]a=b', 'c']", "crawl.deny", ("[?]a=b", "c")),
        ("crawl.max_pages=7", "crawl.max_pages", 7),
        ("politeness.robots=false", "politeness.robots", False),
        ("politeness.user_agent=me/1.0 (a=b)", "politeness.user_agent", "me/1.0 (a=b)"),
        ("fetch.headers={cookie = 'a'}", "fetch.headers", {"cookie": "a"}),
        ("fetch.allow_addresses=['10.0.0.0/8', '::1']", "fetch.allow_addresses", ("10.0.0.0/8", "::1")),
        ("fetch.ca_file=/etc/ca.pem", "fetch.ca_file", "/etc/ca.pem"),
    ],
)
def test_set(assignment, path, value):
    """--set takes a value as in TOML, or bare text for a string."""
    section, _, name = path.partition(".")
    assert getattr(getattr(apply(Settings(), [assignment]), section), name) == value


@pytest.mark.parametrize("assignment", ["", "crawl.scope", "scope=any", "=1"])
def test_set_malformed(assignment):
    """A --set that is no assignment is answered with how to write one."""
    with pytest.raises(SettingsError, match=r"must be section[.]name=value"):
        apply(Settings(), [assignment])


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("crawl.x=1", "crawl.x"),
        ("crawl.max_pages=1e3", "crawl.max_pages: 1000.0: "),
        ("crawl.max_pages=", 'crawl.max_pages: "": '),
        ("crawl.allow=.*", 'for example ["a", "b"]'),
        ("delai=0.5", "did you mean politeness.delay=…?"),
        ("fleet.beat=50", "fleet.dead_after: 60"),
        ("politeness.delay=" + "1" * 5000, FLOAT_RIGHT),
        ("crawl.max_pages=0x" + "f" * 5000, "…: " + INT_RIGHT),
        ("crawl.max_pages=" + "[" * 5000, INT_RIGHT),
        ("crawl.allow=['\udcff']", "a list of strings"),
    ],
)
def test_set_bad(assignment, message):
    """A bad --set is refused as a bad file is."""
    with pytest.raises(SettingsError) as caught:
        apply(Settings(), [assignment])
    assert caught.value.where == ""
    assert message in str(caught.value)


def test_set_several():
    """The last of several assignments holds, and what must fit together is checked when all are done."""
    changed = apply(Settings(), ["fleet.beat=50", "fleet.dead_after=150", "crawl.scope=host", "crawl.scope=any"])
    assert (changed.fleet.beat, changed.crawl.scope) == (50, "any")


def test_user_agent():
    """The default user agent says who crawls."""
    assert settings.USER_AGENT.startswith("fscrawl/")
    assert tomllib.loads(render(Settings()))["politeness"]["user_agent"] == settings.USER_AGENT


def test_end_marker():
    """The file ends with a line by which a reader knows that it saw all of it."""
    assert render(Settings()).endswith(f"\n{settings.END}\n")


@pytest.mark.parametrize("assignment", ["crawl.partition=url", "fleet.shards=7"])
def test_fixed_settings(assignment):
    """What was fixed when the tree was created cannot be edited, and the error names both values."""
    changed = apply(Settings(), [assignment])
    name, _, value = assignment.partition("=")
    with pytest.raises(
        SettingsError, match=f'^crawl[.]toml: {name}: "?{value}"?: cannot be changed; it was fixed as '
    ) as caught:
        check_fixed(RECORD, changed)
    assert "\n" not in str(caught.value)


def test_free_settings():
    """Whatever else is edited may be."""
    check_fixed(RECORD, apply(Settings(), ["politeness.delay=9", "crawl.scope=any"]))


GIVEN = ["politeness.delay=0.5", 'crawl.allow=["a+"]', "crawl.max_pages=20", "fetch.auth={'a.example' = 'me:first'}"]
TREE = apply(Settings(), GIVEN)


@pytest.mark.parametrize("again", [[], GIVEN, GIVEN[:1], ["politeness.delay=5e-1"], ["fleet.shards=512"]])
def test_set_again(again):
    """On a tree that is there, values that it has already are accepted, however they are written."""
    check_same(TREE, again, "crawl.toml")


def test_set_others():
    """All differing values are named, with what the tree has and the file to edit; secrets are not shown."""
    with pytest.raises(SettingsError) as caught:
        check_same(
            apply(Settings(), GIVEN), ["crawl.max_pages=3", "crawl.max_depth=3", "fleet.shards=7"], "/t/crawl.toml"
        )
    assert str(caught.value).split("; ") == [
        *("crawl.max_depth: the tree has none", "edit /t/crawl.toml"),
        *("crawl.max_pages: the tree has 20", "edit /t/crawl.toml"),
        *("fleet.shards: the tree has 512, fixed when it was created", "start a new tree elsewhere"),
    ]
    with pytest.raises(
        SettingsError, match=r"^fetch\.auth: the tree has another value; edit /t/crawl\.toml$"
    ) as caught:
        check_same(apply(Settings(), GIVEN), ["fetch.auth={'a.example' = 'me:second'}"], "/t/crawl.toml")
    assert caught.value.name == "fetch.auth"


def test_errors_of_settings_pass_between_processes():
    """An error of a setting keeps its parts when it comes from another process."""
    error = pickle.loads(pickle.dumps(SettingsError("must be 0 or more", "politeness.delay", "crawl.toml")))
    assert (error.problem, error.name, error.where) == ("must be 0 or more", "politeness.delay", "crawl.toml")


def test_table_as_a_section():
    """A table of a setting may be written as a section of its own."""
    assert parse('[fetch.auth]\n"https://a.example" = "me:$PW"\n').fetch.auth == {"https://a.example": "me:$PW"}


def test_secrets_stay_names(monkeypatch):
    """What is written to the tree is the variable's name, whatever the environment holds."""
    monkeypatch.setenv("PW", "hunter2")
    text = render(apply(Settings(), ["fetch.auth={'a.example' = 'me:$PW'}", "fetch.proxies=['http://me:$PW@p:1']"]))
    assert "hunter2" not in text
    assert "me:$PW" in text
