"""Crawls of sites whose pages scripts make: every item is found, whatever way it comes into the page."""

from __future__ import annotations

import contextlib
import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from fscrawl import cli, urls
from fscrawl.storage.records import PageRecord
from tests.support.crawling import Running, check_tree, command, crawl, errors, pages
from tests.support.web import HTML, Request, Response, Web

HOST = "127.0.62.1"
ITEMS = 30
SHELL = '<!doctype html><meta charset=utf-8><title>Shop</title><div id=app></div><script src="/app.js"></script>'
# Each item comes in another way: late, after scrolling, in a shadow root, by the history API, by a request with a body,
# behind #.
APP = """
const app = document.getElementById("app"), page = location.pathname;
const link = number => `<a href="/item/${number}">item ${number}</a> `;
class Shy extends HTMLElement {
  connectedCallback() { this.attachShadow({mode: "closed"}).innerHTML = link(this.dataset.n) + "<slot></slot>"; }
}
customElements.define("shy-link", Shy);
async function start() {
  if (page === "/catalog") {
    const show = async () => {
      const part = location.hash;
      const found = part.startsWith("#") ? await (await fetch("/api/part?" + encodeURIComponent(part))).json() : [];
      app.innerHTML = `<h1>Part ${part}</h1>` + found.map(link).join("");
    };
    addEventListener("hashchange", show);
    return show();
  }
  if (page !== "/") {
    const item = await (await fetch("/api" + page)).json();
    document.title = item.title;
    app.innerHTML = `<h1>${item.title}</h1><p>${item.text}</p><a href="/">back</a>`;
    return;
  }
  history.pushState({}, "", "/?shown=1");
  app.innerHTML = link(0) + "<shy-link data-n=1>light</shy-link>"
    + '<a href="/catalog#/first">first</a> <a href="/catalog#!second">second</a>';
  setTimeout(async () => {
    for (const n of await (await fetch("/api/list?late")).json()) app.innerHTML += link(n);
  }, 3000);
  const found = await fetch("/api/search", {method: "POST", body: JSON.stringify({q: "x"}),
    headers: {"Content-Type": "application/json"}});
  for (const n of await found.json()) app.insertAdjacentHTML("beforeend", link(n));
  let shown = 12;
  const end = document.createElement("p");
  end.style.marginTop = "5000px";
  document.body.append(end);
  new IntersectionObserver(async seen => {
    if (!seen[0].isIntersecting || shown >= 24) return;
    for (const n of await (await fetch("/api/more?from=" + shown)).json()) app.insertAdjacentHTML("beforeend", link(n));
    shown += 4;
    end.style.marginTop = 5000 + shown * 1000 + "px";
  }).observe(end);
}
start();
"""


def _answer(request: Request) -> Response:
    path, _, query = request.path.partition("?")
    if path == "/app.js":
        return Response(200, {"Content-Type": "text/javascript", "Cache-Control": "max-age=600"}, APP.encode())
    if path == "/api/list":
        return _json([2, 3, 4, 5, 6, 7])
    if path == "/api/search":
        return _json([8, 9, 10, 11]) if request.method == "POST" and request.body == b'{"q":"x"}' else Response(400, {})
    if path == "/api/part":
        return _json({"%23%2Ffirst": [24, 25, 26], "%23!second": [27, 28, 29]}.get(query, []))
    if path == "/api/more":
        first = int(query.partition("=")[2])
        return _json(list(range(first, first + 4)))
    if found := re.fullmatch(r"/api/item/(\d+)", path):
        return _json({"title": f"Item {found[1]}", "text": "It is made of words, which only a script can show. " * 9})
    return (
        Response(200, HTML, SHELL.encode())
        if path in ("/", "/catalog") or path.startswith("/item/")
        else Response(404, {})
    )


def _json(value: object) -> Response:
    return Response(200, {"Content-Type": "application/json"}, json.dumps(value).encode())


@pytest.fixture
def web() -> Iterator[Web]:
    with Web(_answer, [HOST]) as web:
        yield web


def _settings(web: Web, more: dict[str, str] | None = None) -> dict[str, str]:
    hosts = json.dumps([f"{HOST}:{web.port}"])
    return {"render.hosts": hosts, "render.scroll": "4", "politeness.per_host": "4", **(more or {})}


def _items(web: Web, host: str = HOST) -> set[str]:
    return {web.url(host, f"/item/{number}") for number in range(ITEMS)}


def _catalog(web: Web, host: str = HOST) -> set[str]:
    """Give one page and its two routes, which are pages of their own."""
    page = web.url(host, "/catalog")
    return {page, f"{page}#method=GET&fragment=/first", f"{page}#method=GET&fragment=!second"}


@pytest.mark.gate
def test_every_item_is_found(root: Path, tmp_path: Path, web: Web, capsys: pytest.CaptureFixture[str]) -> None:
    """Late JSON, shadow roots, POST, the history API, endless scrolling; each worker fetches the script once."""
    done = crawl(root, seeds=[web.url(HOST)], settings=_settings(web), timeout_s=90)
    assert done.code == 0, done
    assert errors(root) == {}
    found = pages(root)
    assert set(found) == {web.url(HOST), *_catalog(web), *_items(web)}
    assert {record.title for url, record in found.items() if url in _items(web)} == {f"Item {n}" for n in range(ITEMS)}
    rendered = found[web.url(HOST)].rendered
    assert rendered is not None
    assert (rendered.why, rendered.ended, rendered.errors) == ("host", "done", None)
    assert rendered.requests == {f"{HOST}:{web.port}": 6}
    assert web.count(path="/app.js") <= 2
    assert web.count(path="/") == 1
    check_tree(root)
    assert cli.main(["audit", "--root", str(root)]) == 0, capsys.readouterr()
    out = tmp_path / "dataset"
    assert cli.main(["merge", "--root", str(root), "--out", str(out), "--processes", "1"]) == 0
    rows = {row["url"]: row for row in ds.dataset(out / "pages").to_table().to_pylist()}
    assert rows[web.url(HOST, "/item/5")]["text"].startswith("Item 5\nIt is made of words")
    assert "item 1" in rows[web.url(HOST)]["text"]
    assert rows[web.url(HOST, "/catalog#/first")]["text"].startswith("Part #/first")
    assert rows[web.url(HOST)]["html"].decode() == SHELL


def _stored_by(root: Path, machine: Running) -> int:
    """Count the pages of a machine, whose name has its process id."""
    return sum(f"-{machine.process.pid}-" in record.machine for record in pages(root).values())


def _kill(machine: Running) -> None:
    machine.signal(signal.SIGKILL, group=True)
    machine.wait()


@pytest.mark.timeout(240)
def test_three_machines_after_kills(root: Path) -> None:
    """Machines are killed while their browsers are at work: the others find every item, and each page has its DOM."""
    hosts = [f"127.0.62.{number}" for number in range(1, 7)]
    with Web(_answer, hosts) as web, contextlib.ExitStack() as stack:
        of_hosts = json.dumps([f"{host}:{web.port}" for host in hosts])
        settings = _settings(web, {"render.hosts": of_hosts, "fleet.beat": "1", "fleet.dead_after": "3"})
        seeds = [web.url(host) for host in hosts]
        first = stack.enter_context(Running(command(root, seeds=seeds, settings=settings)))
        first.until(lambda: pages(root), "the first page is stored")
        others = [stack.enter_context(Running(command(root))) for _ in range(2)]
        first.until(lambda: _stored_by(root, first) >= 10, "ten pages are its own", 90)
        _kill(first)

        def busy() -> list[Running]:
            """Give those that have work: on a busy computer one of them may be there before the other, and get all."""
            return [machine for machine in others if _stored_by(root, machine) >= 10]

        others[0].until(busy, "ten pages are of one of both", 90)
        second = busy()[0]
        others.remove(second)
        _kill(second)
        others.append(stack.enter_context(Running(command(root))))
        done = [machine.wait(120) for machine in others]
        wanted = {each for host in hosts for each in {web.url(host), *_catalog(web, host), *_items(web, host)}}
    assert [each.code for each in done] == [0, 0], done
    found = pages(root)
    assert set(found) == wanted
    assert errors(root) == {}
    assert all(record.is_rendered for record in found.values())
    assert len({record.machine for record in found.values()}) >= 3
    assert cli.main(["audit", "--root", str(root)]) == 0


def test_files_of_a_rendered_page(root: Path, web: Web, capsys: pytest.CaptureFixture[str]) -> None:
    """The response and the DOM stand side by side; a DOM that is lost or torn is found, and made again by a repair."""
    settings = _settings(web, {"render.screenshot": "true", "render.scroll": "0", "crawl.max_depth": "0"})
    url = web.url(HOST, "/item/3")
    assert crawl(root, seeds=[url], settings=settings).code == 0
    stem = root / "htmls" / urls.host(url) / urls.key(url)
    dom, picture = stem.with_suffix(".dom.html"), root / "files" / urls.host(url) / f"{urls.key(url)}.png"
    assert stem.with_suffix(".html").read_text() == SHELL
    assert b"<h1>Item 3</h1>" in dom.read_bytes()
    assert picture.read_bytes().startswith(b"\x89PNG")
    dom.write_bytes(b"<p>torn")
    assert cli.main(["audit", "--root", str(root)]) == 1
    assert "7 bytes, but the record says" in capsys.readouterr().out
    assert cli.main(["audit", "--root", str(root), "--repair"]) == 0
    assert crawl(root).code == 0
    assert b"<h1>Item 3</h1>" in dom.read_bytes()
    text = (root / "crawl.toml").read_text()
    (root / "crawl.toml").write_text(re.sub(r"(?m)^hosts = .*", "hosts = []", text, count=1))
    assert crawl(root, "--refresh", "0s").code == 0
    assert not dom.exists()
    assert not picture.exists()
    check_tree(root)


def test_a_host_that_is_added(root: Path) -> None:
    """Pages that were stored without scripts are rendered when they are refreshed, though they have not changed."""
    tag = {"etag": '"1"'}

    def answer(request: Request) -> Response:
        found = _answer(request)
        if request.headers.get("if-none-match"):
            return Response(304, tag)
        return Response(found.status, {**found.headers, **tag}, found.body)

    with Web(answer, [HOST]) as web:
        url = web.url(HOST, "/item/3")
        assert crawl(root, seeds=[url], settings={"crawl.max_depth": "0"}).code == 0
        assert pages(root)[url].title == "Shop"
        path = root / "crawl.toml"
        hosts = json.dumps([f"{HOST}:{web.port}"])
        path.write_text(re.sub(r"(?m)^(# )?hosts = .*", f"hosts = {hosts}", path.read_text(), count=1))
        assert crawl(root, "--refresh", "0s").code == 0
        assert pages(root)[url].title == "Item 3"


def test_a_host_that_is_added_while_machines_run(root: Path) -> None:
    """An edit starts the browsers, and another one ends them; no page waits for a machine to be started again."""
    with Web(_answer, [HOST]) as web:
        seeds = [web.url(HOST, f"/item/{number}") for number in range(100)]
        settings = {"crawl.max_depth": "0", "fleet.beat": "1", "politeness.delay": "0.2"}
        with Running(command(root, seeds=seeds, settings=settings)) as running:
            running.until(lambda: pages(root), "a page is stored as it is")
            path, before = root / "crawl.toml", (root / "crawl.toml").read_text()
            hosts = json.dumps([f"{HOST}:{web.port}"])
            path.write_text(re.sub(r"(?m)^(# )?hosts = .*", f"hosts = {hosts}", before, count=1))
            running.until(lambda: any(each.is_rendered for each in pages(root).values()), "a page is rendered", 30)
            path.write_text(before)
            running.until(lambda: not any(each.is_rendered for each in _newest(root, 3)), "none is rendered", 30)
            running.process.send_signal(signal.SIGTERM)
            running.wait(30)
    assert errors(root) == {}
    check_tree(root)


def _newest(root: Path, count: int) -> list[PageRecord]:
    return sorted(pages(root).values(), key=lambda record: record.fetched_at)[-count:]


def test_empty_pages(root: Path) -> None:
    """With when = "empty", what has text is stored as it is, and a host whose empty pages stay empty is left alone."""
    plain = "<p>" + "A page that a person wrote has text, and perhaps a script that counts its readers. " * 5
    vain = "<script>document.title = 'still empty'</script>"

    def answer(request: Request) -> Response:
        if request.path == "/":
            links = "".join(f'<a href="/vain/{n}"></a>' for n in range(12))
            return Response(200, HTML, (plain + "<script src=/app.js></script><a href=/item/1>" + links).encode())
        return Response(200, HTML, vain.encode()) if request.path.startswith("/vain/") else _answer(request)

    with Web(answer, [HOST]) as web:
        settings = {"render.when": "empty", "politeness.per_host": "1"}
        done = crawl(root, seeds=[web.url(HOST)], settings=settings, workers=1, timeout_s=90)
    assert done.code == 0, done
    found = {url.partition(f":{web.port}")[2]: record for url, record in pages(root).items()}
    assert found["/"].rendered is None
    assert found["/item/1"].title == "Item 1"
    assert found["/item/1"].rendered is not None
    assert found["/item/1"].rendered.why == "empty"
    assert sum(record.rendered is not None for path, record in found.items() if path.startswith("/vain/")) in (5, 6)


def test_no_browser(root: Path, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no browser, a crawl that needs one says so in one line and does not begin."""
    monkeypatch.setenv("FSCRAWL_BROWSER", "/nowhere/chromium")
    done = crawl(root, seeds=[web.url(HOST)], settings=_settings(web))
    assert done.code == 2, done
    assert done.err.startswith("fscrawl: render: FSCRAWL_BROWSER=/nowhere/chromium: there is no such program")
    assert "Traceback" not in done.err
    assert web.count() == 0
