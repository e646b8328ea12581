"""One vocabulary of hosts: each form, in each command that takes a host."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from fscrawl import cli, hostnames, urls
from fscrawl.admin import control
from fscrawl.admin.retry import retry
from fscrawl.config.settings import Settings, apply, render
from fscrawl.dataset.options import Filters, Options
from fscrawl.errors import TreeError, UsageError
from fscrawl.monitor.dashboard.hosts import Query, arrange
from fscrawl.storage.layout import LINKS
from fscrawl.storage.records import FORMAT, ErrorRecord, PageRecord, TreeRecord, new_machinery
from fscrawl.store import Tree, create

RECORD = TreeRecord(FORMAT, "c", "2026-11-01T00:00:00.000Z", 8, "host", new_machinery())

LONG = "x" * 60 + "." + "y" * 60 + "." + "z" * 60 + ".example.org"
URLS = {
    "org": "http://example.org/",
    "8080": "http://example.org:8080/",
    "www": "https://www.example.org/",
    "dot": "http://example.org./",
    "idn": "http://xn--bcher-kva.example/",
    "ip": "http://127.0.14.1:8614/",
    "v6": "http://[::1]/",
    "v6-8080": "http://[::1]:8080/",
    "_": "http://a_8080.test/",
    "long": f"http://{LONG}:8080/",
}
# form → the hosts that it means; of globs, "pause" and "resume" take none
FORMS = [
    ("example.org", {"org", "8080", "dot"}),
    ("EXAMPLE.org", {"org", "8080", "dot"}),
    ("example.org.", {"org", "8080", "dot"}),
    ("example.org:80", {"org", "8080", "dot"}),
    (" example.org ", {"org", "8080", "dot"}),
    ("http://example.org", {"org", "8080", "dot"}),
    ("HTTPS://me:pw@Example.org/x?y#z", {"org", "8080", "dot"}),
    ("example.org:8080", {"8080"}),
    ("example.org.:8080", {"8080"}),
    ("example.org_8080", {"8080"}),
    ("https://example.org:8080/x", {"8080"}),
    ("bücher.example", {"idn"}),
    ("BÜCHER.example", {"idn"}),
    ("xn--bcher-kva.example", {"idn"}),
    ("127.0.14.1", {"ip"}),
    ("127.0.14.1:8614", {"ip"}),
    ("127.0.14.1:1", set()),
    ("[::1]:8080", {"v6-8080"}),
    ("a_8080.test", {"_"}),
    (LONG, {"long"}),
    (f"{LONG}:8080", {"long"}),
    ("org", set()),
]
GLOBS = [
    ("*.example.org", {"www", "long"}),
    ("*.EXAMPLE.org.", {"www", "long"}),
    ("https://*.example.org/", {"www", "long"}),
    ("*example.org", {"org", "8080", "dot", "www", "long"}),
    ("example.or?", {"org", "8080", "dot"}),
    ("example.org:80*", {"8080"}),
    ("*:8080", {"8080", "v6-8080", "long"}),
    ("*_8080", {"8080", "v6-8080", "long"}),
    ("*.org:8080", {"8080", "long"}),
    ("bücher.*", {"idn"}),
    ("[ew]*.org", {"org", "8080", "dot", "www"}),
    ("[::1]", {"v6", "v6-8080"}),
]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Give a tree with a page and a failure of each host."""
    create(tmp_path / "tree", RECORD, render(apply(Settings(), ["fleet.shards=8"])), "")
    made = Tree(tmp_path / "tree", "m-1-aaaa")
    for url in URLS.values():
        page, failed = url + "page", url + "gone"
        record = PageRecord(page, urls.key(page), 0, "", "t", "m", 200, {}, 0, "", 0.1, (), skipped="x")
        made.put_page(urls.host(url), record, None)
        made.put_error(
            urls.host(url), ErrorRecord(failed, urls.key(failed), 0, "", "2026-01-01T00:00:00Z", "m", "dns", "", 1)
        )
    return made


@pytest.mark.parametrize(("form", "means"), FORMS + GLOBS)
def test_filters_of_a_dataset(form: str, means: set[str]) -> None:
    """`merge --host` takes each form."""
    filters = Filters(Options(hosts=(form,)))
    page = PageRecord("", "k", 0, "", "t", "m", 200, {}, 0, "", 0.0, ())
    taken = {name for name, url in URLS.items() if not filters.reason(replace(page, url=url))}
    assert taken == means
    assert all(filters.may_include_host(urls.host(URLS[name])) for name in means)


@pytest.mark.gate
@pytest.mark.parametrize(("form", "means"), FORMS + GLOBS)
def test_retries(tree: Tree, form: str, means: set[str]) -> None:
    """`retry --host` takes each form."""
    assert retry(tree, [], [form], lambda _: None).total() == len(means)


@pytest.mark.parametrize(("form", "means"), FORMS)
def test_pauses(tree: Tree, form: str, means: set[str]) -> None:
    """`pause --host` takes each form, and `resume --host` the same ones; the sign pauses what is meant."""
    [sign] = control.pause(tree, [form])
    paused = sign.removeprefix("PAUSE.")
    stopped = {name for name, url in URLS.items() if paused in (urls.host(url), urls.without_port(urls.host(url)))}
    assert means - {"dot"} <= stopped | {"v6", "long"}
    assert stopped <= means
    assert control.resume(tree, [form]) == [sign]


@pytest.mark.parametrize("form", [form for form, means in FORMS if "8080" in means])
def test_resume_of_any_port(tree: Tree, form: str) -> None:
    """A host without a port resumes it with any port, as the sign of such a host pauses any port."""
    control.pause(tree, ["example.org:8080", "www.example.org"])
    assert control.resume(tree, [form]) == ["PAUSE.example.org_8080"]


@pytest.mark.parametrize(("form", "means"), FORMS + GLOBS)
def test_search_of_the_dashboard(form: str, means: set[str]) -> None:
    """The table of hosts is searched by each form; a part of a name finds more."""
    hosts = {urls.host(url): name for name, url in URLS.items()}
    found = {hosts[each] for each in arrange(sorted(hosts), Query(form, "host"))[1]}
    assert found >= {name for name in means if not urls.host(URLS[name]).startswith("h-")}


@pytest.mark.parametrize(
    "text",
    ["", " ", "a b", "example.org/x", "ftp://example.org", "../x", "a:b", ".", ".a", "*", "a?", "a@b"],
)
def test_no_host(text: str) -> None:
    """What is no host is refused; so are globs where they cannot be."""
    with pytest.raises(ValueError, match=r"must be a host, like example[.]org"):
        hostnames.read(text)


@pytest.mark.parametrize("text", ["", "a b", "*/x", "bü*.example", "ftp://*", "[", "a@*"])
def test_no_glob(text: str) -> None:
    """What is neither a host nor a pattern is refused, without its login."""
    if text == "[":
        assert hostnames.read(text, globs=True).glob is not None
        return
    with pytest.raises(UsageError, match=r"--host .*: must be a host or a pattern, like"):
        hostnames.option(text, globs=True)


@pytest.mark.parametrize(
    ("form", "line"),
    [
        ("127.0.14.1:8615", "no host here is 127.0.14.1:8615; nearest: 127.0.14.1:8614"),
        ("exmple.org", "no host here is exmple.org; nearest: example.org"),
        ("http://me:pw@ww.example.org/", "no host here is http://…@ww.example.org/; nearest: www.example.org, "),
        ("example.org:81", "no host here is example.org:81; nearest: example.org, www.example.org, example.org:8080"),
        ("nothing-like-it-at-all.test", "no host here is nothing-like-it-at-all.test"),
    ],
)
def test_nearest_hosts(form: str, line: str) -> None:
    """Where no host matches, those that are most like it are named."""
    directories = [urls.host(url) for name, url in URLS.items() if name != "dot"]
    [said] = hostnames.unmatched([hostnames.read(form)], directories)
    assert said.startswith(line)
    assert hostnames.unmatched([hostnames.read("example.org"), hostnames.read("[::2]")], directories) == []
    assert hostnames.unmatched([hostnames.read("*.nowhere", globs=True)], ["a.example"]) == [
        "no host here is *.nowhere"
    ]


def test_hints_are_not_worth_an_error(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the share goes away behind the sign, the sign is there all the same."""

    def gone(*_: object) -> list[str]:
        raise TreeError("gone")

    monkeypatch.setattr(Tree, "hosts", gone)
    assert cli.main(["pause", "--root", str(tree.root), "--host", "nowhere"]) == 0
    assert tree.controls.signs() == {"PAUSE.nowhere"}


def test_the_commands_name_the_nearest(tree: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    """Commands that find no such host say which there are."""
    near = "no host here is exmple.org; nearest: example.org"
    root = ["--root", str(tree.root), "--host", "exmple.org"]
    for words in (["retry"], ["resume"], ["pause"]):
        assert cli.main([*words, *root]) == 0
        assert near in capsys.readouterr().out
    assert cli.main(["resume", *root]) == 0
    assert near not in capsys.readouterr().out
    assert len(tree.hosts(LINKS)) == len(URLS)


def test_candidates_of_a_request() -> None:
    """The spelling of a request means this request; any other fragment is dropped."""
    asked = "http://example.org/s#method=POST&body=q"
    assert hostnames.candidates(f" {asked} ") == [asked]
    assert hostnames.candidates("http://example.org/s#top") == ["http://example.org/s"]
