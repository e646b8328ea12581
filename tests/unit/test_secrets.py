"""No message shows a password, and no setting reads what is not meant for the crawl."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from fscrawl import urls
from fscrawl.cli import main
from fscrawl.config.seeds import read_seeds
from fscrawl.config.settings import FILE, Settings, apply, parse, render
from fscrawl.config.watcher import EditWatcher
from fscrawl.engine.usable import check_usable
from fscrawl.errors import SettingsError
from fscrawl.storage.records import TreeRecord
from fscrawl.store import Tree, create

RECORD = TreeRecord(format=3, machinery="0" * 32, crawl="c1", created_at="t", shards=512, partition="host")


@pytest.mark.parametrize(
    "line",
    [
        'auth = {"a.example/x" = "me:hunter2"}',
        'auth = {"a.example" = "hunter2"}',
        'auth = "me:hunter2"',
        'headers = {"X Y" = "hunter2"}',
        'headers = {X = "hunter2\\n"}',
        'headers = ["X: hunter2"]',
        'proxies = ["https://me:hunter2@p.example:1"]',
        'proxies = "http://me:hunter2@p.example:1"',
        'auth = {"a.example" = "me:hunter2"',
    ],
)
def test_settings(line: str) -> None:
    """A bad setting that may hold a password is named, and not shown."""
    name, _, value = line.partition(" = ")
    for read in (lambda: parse(f"[fetch]\n{line}"), lambda: apply(Settings(), [f"fetch.{name}={value}"])):
        with pytest.raises(SettingsError) as caught:
            read()
        assert "hunter2" not in str(caught.value)
        assert name in str(caught.value) or "TOML" in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "https://me:hunter2@a.example/",
        "https://hunter2@a.example/",
        "HTTPS://me:hunter2@a.example:25/",
        "https:me:hunter2@a.example",
        "htp://me:hun/hunter2@a.example/{1..3}",
        "https://me:{hunter2}@a.example/",
        "https://me:hunter2@a.example/{1..}",
        "https://me:hunter 2hunter2@a.example/",
        "//me:hunter2@a.example/",
        "me:hunter2@a.example",
    ],
)
@pytest.mark.parametrize("where", ["hosts", "seeds", "one seed", "a mistake beside it", "render", "argument"])
def test_logins_in_urls(where: str, url: str) -> None:
    """A URL of the settings with a login is refused, so that it is not kept, and no message shows the login."""
    texts = {
        "hosts": f'[[site]]\nhosts = ["{url}"]\nseeds = ["https://a.example/"]',
        "seeds": f'[[site]]\nhosts = ["a.example"]\nseeds = ["https://a.example/", "{url}"]',
        "one seed": f'[[site]]\nhosts = ["a.example"]\nseeds = "{url}"',
        "a mistake beside it": f'[[site]]\nhosts = ["{url}"]\nfolow = []',
        "render": f'[render]\nhosts = ["{url}"]',
    }
    with pytest.raises(SettingsError) as caught:
        parse(texts[where]) if where in texts else apply(Settings(), [f"render.hosts=['{url}']"])
    assert "hunter2" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("seed", ["https://a.example/@me/{1..3}", "https://a.example/?m=a:b@c"])
def test_urls_with_an_at_sign(seed: str) -> None:
    """An @ behind the host is a part of the path or the query."""
    [site] = parse(f'[[site]]\nhosts = ["*.example"]\nseeds = ["{seed}"]').sites
    assert [each.text for each in site.seeds] == [seed]


ROOT = ("crawl", "--root", "/nonexistent/tree")


@pytest.mark.parametrize(
    "arguments",
    [
        (*ROOT, "--set", "fetch.auth:{'a.example'='me:hunter2'}"),
        (*ROOT, "--sett", "fetch.auth={'a.example'='me:hunter2'}"),
        (*ROOT, "--seed", "htp://me:hunter2@a.example/"),
        (*ROOT, "--seed", "http://me:hun/ter2@a.example/"),
        (*ROOT, "--sed", "http://me:hunter2@a.example/"),
    ],
)
def test_arguments(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bad argument that may hold a password is not shown."""
    monkeypatch.setattr("fscrawl.commands.crawl.start_server", lambda modules: None)
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith("fscrawl: ")
    assert "ter2" not in said


@pytest.mark.parametrize(
    "words",
    [
        ("try", "http://me:hunter2@a.example:99999/"),
        ("try", "POST", "http://me:hunter2@a.example:99999/", "day=1"),
        ("try", "http://a.example/", "http://me:hunter2@a.example/"),
        ("show", "--root", "/nonexistent", "http://a.example/", "http://me:hunter2@a.example/"),
    ],
)
def test_urls_that_are_asked_for(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """A URL that is none, or is one too many, is named without its login."""
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "http://…@a.example" in said
    assert "hunter2" not in said


def test_seeds() -> None:
    """A line of seeds that is no URL is shown without its login."""
    said: list[str] = []
    assert list(read_seeds("htp://me:hunter2@a.example/x\n", "seeds.txt", said.append)) == []
    assert said == ["seeds.txt:1:1: not an http or https URL, skipped: htp://…@a.example/x"]


@pytest.mark.parametrize("text", ["http://a.example/@b", "a.example", "http://a.example/x?mail=me@b.example", ""])
def test_urls_without_login(text: str) -> None:
    """What has no login is shown as it is."""
    assert urls.without_login(text) == text


def test_an_edit_cannot_read_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit that names another variable than FSCRAWL_… is refused in one line; the last good settings stay."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    root = tmp_path / "root"
    create(root, RECORD, render(Settings()), "http://a.example/\n")
    said: list[str] = []
    edited = render(apply(Settings(), ['fetch.headers={X = "$AWS_SECRET_ACCESS_KEY"}']))

    def watcher(*allowed: str) -> EditWatcher:
        check = partial(check_usable, allow_env=allowed)
        return EditWatcher(Tree(root, "m"), Settings(), frozenset(), said.append, check)

    strict, lenient = watcher(), watcher("AWS_SECRET_ACCESS_KEY")
    (root / FILE).write_text(edited, encoding="utf-8")
    assert not strict.settings_edited(1)
    assert strict.settings.fetch.headers == {}
    [line] = said
    assert "AWS_SECRET_ACCESS_KEY may not be used in settings" in line
    assert "the last good settings stay in force" in line
    assert "hunter2" not in line
    assert lenient.settings_edited(1)


@pytest.mark.parametrize("name", ["", "A B", "A=hunter2", "A=hunt er hunter2", "$A=hunter2", "hunter2 ", "ä"])
def test_allow_env(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--allow-env takes a name, and no value."""
    assert main((*ROOT, "--allow-env", name)) == 2
    said = capsys.readouterr().err
    assert "must be the name of an environment variable" in said
    assert "hunter2" not in said
