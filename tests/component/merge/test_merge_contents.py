"""What is in a dataset, whatever is in the tree."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import fscrawl
from fscrawl import cli, urls
from fscrawl.api import tables
from fscrawl.request import FORM, Request, spelling
from tests.support.merging import EVERY, A, B, C, archived
from tests.support.trees import ALL, Grown, Made, check, inline


def test_counts(tree: Grown, out: Path) -> None:
    """A dataset has a row for each record and each failure of the tree, and says how many."""
    made = tree.merge(out, formats=ALL)
    check(made)
    assert made.keys() == tree.keys()
    assert made.manifest["counts"] == {
        "records": 5,
        "pages": 3,
        "redirects": 1,
        "others": 1,
        "duplicates": 0,
        "near_duplicates": 0,
        "errors": 1,
    }
    assert [row["url"] for row in made.rows("errors")] == ["http://a.example/gone"]
    assert {row["key"] for row in made.json_lines()} == tree.keys()


def test_bodies(tree: Grown, out: Path) -> None:
    """Bodies are the tree's byte for byte, in tables and archives, whatever is in them."""
    tree.page("http://a.example/wild", bytes(range(256)) * 3)
    tree.page("http://a.example/empty", b"")
    tree.page("http://a.example/http", b"HTTP/1.1 200 OK\r\n\r\nWARC/1.1\r\n\r\n")
    made = tree.merge(out, formats=ALL)
    assert {row["url"]: row["html"] for row in made.rows() if row["html"] is not None} == tree.bodies
    assert archived(made) == tree.bodies


def test_columns(tree: Grown, out: Path) -> None:
    """A row says what the record says, and what follows from it."""
    tree.page(
        "https://www.a.co.uk:8443/x?b&a",
        b"<title> T </title><link rel=canonical href=/y><meta name=robots content='nofollow,noarchive'><a href=z>z</a>",
        headers={"content-type": "Text/HTML; charset=utf-8", "content-language": "De"},
        status=203,
        elapsed=1.5,
    )
    row = tree.merge(out).by_url()["https://www.a.co.uk:8443/x?b&a"]
    assert (row["url_surtkey"], row["url_host_name"]) == ("uk,co,a:8443)/x?a&b", "www.a.co.uk")
    assert row["url_host_registered_domain"] == "a.co.uk"
    assert (row["fetch_status"], row["elapsed"], row["machine"], row["depth"]) == (203, 1.5, "m-1-aa", 1)
    assert (row["title"], row["canonical"], row["outlinks"]) == ("T", "https://www.a.co.uk:8443/y", 2)
    assert (row["robots"], row["noindex"], row["text"]) == (["noarchive", "nofollow"], False, "z")
    assert (row["content_mime_type"], row["content_charset"], row["content_languages"]) == ("text/html", "utf-8", "de")
    assert row["bytes"] == len(row["html"])
    assert row["sha256"] == hashlib.sha256(row["html"]).hexdigest()
    assert json.loads(row["headers"])["content-language"] == "De"
    assert row["fetch_time"].isoformat(timespec="milliseconds")[:-6] + "Z" == tree.records[row["url"]].fetched_at


def test_bodiless_rows(tree: Grown, out: Path) -> None:
    """A redirect and an unwanted type are rows that say so, with no body, no text and no digest."""
    rows = tree.merge(out).by_url()
    old, pdf = rows["http://a.example/old"], rows["http://a.example/pdf"]
    assert (old["fetch_redirect"], old["fetch_status"], old["skipped"]) == (B, 301, None)
    assert (pdf["skipped"], pdf["fetch_redirect"]) == ("type application/pdf", None)
    for row in (old, pdf):
        assert [row[name] for name in ("html", "text", "title", "sha256", "content_digest")] == [None] * 5
        assert row["bytes"] == 0


def test_referrer_of_a_seed(tree: Grown, out: Path) -> None:
    """A seed has no referrer, any other page the key of one."""
    rows = tree.merge(out).by_url()
    assert (rows[A]["referrer"], rows[B]["referrer"]) == (None, "f" * 24)


def test_edges(tree: Grown, out: Path) -> None:
    """Every outlink is an edge from key to key; nofollow links and redirects are marked."""
    edges = tree.merge(out).rows("links")
    assert {(edge["source"], edge["target"], edge["nofollow"], edge["redirect"]) for edge in edges} == {
        (A, B, False, False),
        (B, A, False, False),
        (B, "http://c.example/", True, False),
        ("http://a.example/old", B, False, True),
    }
    for edge in edges:
        assert (edge["source_key"], edge["target_key"]) == (urls.key(edge["source"]), urls.key(edge["target"]))
    assert len(edges) == 4


def test_failures(tree: Grown, out: Path) -> None:
    """A failure is a row with its class, its status where there was an answer, and its number of attempts."""
    tree.fail("http://nowhere.example:81/", "dns", None, referrer="e" * 24)
    rows = {row["url"]: row for row in tree.merge(out).rows("errors")}
    gone, dns = rows["http://a.example/gone"], rows["http://nowhere.example:81/"]
    assert (gone["class"], gone["fetch_status"], gone["attempts"], gone["referrer"]) == ("http-4xx", 404, 3, None)
    assert (dns["class"], dns["fetch_status"], dns["url_host_name"]) == ("dns", None, "nowhere.example")
    assert dns["referrer"] == "e" * 24


def test_stale_failure(tree: Grown, out: Path) -> None:
    """A URL that has a record and an old failure is a page, not a failure."""
    tree.fail(A)
    assert [row["url"] for row in tree.merge(out).rows("errors")] == ["http://a.example/gone"]


def test_hosts(tmp_path: Path, out: Path) -> None:
    """Pages of any host are exported: with ports, underscores, IPv6 addresses, and names too long for a directory."""
    tree = Grown(tmp_path / "tree")
    long = ".".join(["x" * 60] * 4)
    addresses = ["http://[::1]/a", "http://[2001:db8::1]:8080/a", "http://a.example:81/a", "http://a_b.example/a"]
    addresses += ["https://a.example/a", f"http://{long}/a", "http://127.0.0.1/a", "http://xn--bcher-kva.example/a"]
    for url in addresses:
        tree.page(url, url.encode())
        tree.fail(f"{url}/gone")
    made = tree.merge(out, formats=ALL)
    assert {row["url"]: row["html"] for row in made.rows()} == tree.bodies
    assert {row["url"] for row in made.rows("errors")} == set(tree.failures)
    assert {row["url_host_name"] for row in made.rows()} >= {"[::1]", "[2001:db8::1]", "a.example", "a_b.example", long}
    check(made)


@pytest.mark.parametrize(
    ("encoding", "text"), [("windows-1252", "é€ “x”"), ("shift_jis", "日本語"), ("utf-16le", "naïve 日本")]
)
def test_encodings(tree: Grown, out: Path, encoding: str, text: str) -> None:
    """A page in any encoding has its text right, in tables and in JSON lines, and its bytes as they were."""
    url = f"http://a.example/{encoding}"
    label = encoding.removesuffix("le")
    body = f"<title>{text}</title><p>{text}</p>".encode({"windows-1252": "cp1252"}.get(encoding, label))
    tree.page(url, body, headers={"content-type": f"text/html; charset={label}"})
    made = tree.merge(out, formats=("parquet", "jsonl"))
    row = made.by_url()[url]
    assert (row["title"], row["text"], row["html"]) == (text, text, body)
    assert row["content_charset"] == encoding
    (line,) = (line for line in made.json_lines() if line["url"] == url)
    assert (line["text"], line["html"]) == (text, f"<title>{text}</title><p>{text}</p>")


def test_invalid_bytes(tree: Grown, out: Path) -> None:
    """Bytes that are not valid in the page's encoding become U+FFFD in text, and stay in the body."""
    tree.page("http://a.example/bad", b"<meta charset=utf-8><p>a\xff\xed\xa0\x80b")
    tree.page("http://a.example/bad16", b"\xff\xfe<\x00p\x00>\x00\x00\xd8a\x00\x00")
    made = tree.merge(out, formats=ALL)
    rows = made.by_url()
    assert rows["http://a.example/bad"]["html"] == b"<meta charset=utf-8><p>a\xff\xed\xa0\x80b"
    assert rows["http://a.example/bad"]["text"].startswith("a\ufffd")
    assert "\ufffd" in rows["http://a.example/bad16"]["text"]
    assert len(made.json_lines()) == len(rows)


def test_unknown_encoding(tree: Grown, out: Path) -> None:
    """A record that names an encoding that nobody knows is read as UTF-8."""
    tree.page("http://a.example/x", "<p>ü".encode(), encoding="klingon")
    made = tree.merge(out, formats=("parquet", "jsonl"))
    assert made.by_url()["http://a.example/x"]["text"] == "ü"


HOSTILE = "\x00\x1b[31m\x07\r\n\t\u202e\u2028日本\U0001f600=1+1"


def test_hostile_text(tree: Grown, out: Path) -> None:
    """Titles and headers with control characters and beyond ASCII come through as they are, and break no file."""
    headers = {"content-type": "text/html", "x-evil": HOSTILE, "x-é\r\ninjected": "b", "x-latin": "caf\xe9"}
    tree.page("http://a.example/evil", b"<p>x", title=HOSTILE, headers=headers)
    made = tree.merge(out, formats=ALL)
    row = made.by_url()["http://a.example/evil"]
    assert row["title"] == HOSTILE
    assert json.loads(row["headers"]) == headers
    (line,) = (line for line in made.json_lines() if line["url"] == row["url"])
    assert line["title"] == HOSTILE
    assert set(archived(made)) == set(tree.bodies)


@pytest.mark.parametrize("form", [rb"\ud800", b"\xed\xa0\x80"])
def test_lone_surrogates(tree: Grown, out: Path, form: bytes) -> None:
    """A record with half a surrogate pair, by somebody's hand, is torn: it is left out, and stops no merge."""
    tree.page(B + "2", b"<p>x", title="half")
    tree.rewrite(B + "2", b"half", b"<" + form + b">")
    made = tree.merge(out, formats=ALL)
    assert {B, B + "2"} & set(made.by_url()) == {B}


def test_huge_url(tree: Grown, out: Path) -> None:
    """A URL of the greatest length is exported, and a link to one is an edge."""
    long = "http://a.example/" + "x" * (urls.MAX_URL_CHARS - 17)
    tree.page(long, b"<p>x", links=(long,))
    made = tree.merge(out, formats=ALL)
    assert long in made.by_url()
    assert urls.key(long) in [edge["target_key"] for edge in made.rows("links")]


def test_no_pages(tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A tree without pages is a dataset that says so, with exit code 1; pages that come later are exported."""
    tree = Grown(tmp_path / "tree")
    with inline():
        assert cli.main(["merge", "--root", str(tree.root), "--out", str(out), *EVERY]) == 1
    assert capsys.readouterr().out.startswith("records: 0 pages, 0 redirects, 0 of other types; failures: 0, in ")
    made = Made(out)
    check(made)
    assert made.rows("errors") == []
    assert "links" not in [path.name for path in out.iterdir()]
    tree.page(A)
    assert tree.merge(out).keys() == tree.keys()


def test_card(tree: Grown, out: Path) -> None:
    """The card names the tables' files and explains every column."""
    made = tree.merge(out)
    card = (out / "README.md").read_text(encoding="utf-8")
    assert card.startswith(
        "---\npretty_name: crawl c1\nconfigs:\n- config_name: pages\n  data_files: pages/*.parquet\n"
    )
    for table in ("pages", "links", "errors"):
        for name in made.table(table).column_names:
            assert f"| `{name}` |" in card
    assert "| a field of a site" not in card


def test_fields(tree: Grown, out: Path, fscrawl: Callable[..., tuple[int, str, str]]) -> None:
    """Fields are columns of their types after the others, null where a page has no value, and are counted."""
    tree.sites(
        "[[site]]\nhosts = ['a.example']\n[site.fields]\nprice = { css = 'b', type = 'integer' }\n"
        "seen = { css = 'time', type = 'timestamp' }\ntags = { css = 'i', type = 'string[]' }\n"
    )
    tree.page("http://a.example/p", b"<b>7</b><i>x</i><i>=y</i><time>2026-01-02</time>")
    tree.page("http://a.example/q", b"<b>seven</b>")
    code, printed, err = fscrawl(*EVERY)
    assert (code, err) == (0, "field price: the first value that is not of its type: seven\n")
    rows = Made(out).by_url()
    assert (rows["http://a.example/p"]["price"], rows["http://a.example/p"]["tags"]) == (7, ["x", "=y"])
    assert rows["http://a.example/p"]["seen"].isoformat() == "2026-01-02T00:00:00+00:00"
    assert (rows["http://a.example/q"]["price"], rows[C]["price"]) == (None, None)
    assert Made(out).manifest["fields"]["price"] == {"found": 1, "missing": 3, "bad": 1}
    assert "field price: found on 1 of 4 pages, 1 with a value of the wrong type" in printed
    assert "field tags: found on 1 of 4 pages\n" in printed
    tree.page("http://a.example/r", b"<b>8</b>")
    assert fscrawl()[0] == 0
    assert Made(out).manifest["fields"]["price"] == {"found": 2, "missing": 3, "bad": 1}


def test_the_same_table_from_python(tree: Grown, out: Path) -> None:
    """`Crawl.to_arrow` gives the values that a dataset has in the columns that it shares with it."""
    post = spelling(Request("http://a.example/s", "POST", FORM, b"q=\xc3\xa9&r=\xff"))
    tree.page(post, b"<p>found", robots=("noindex",), nofollow=("http://c.example/",))
    tree.page(
        "http://a.example/j", b'{"n": 1}', headers={"content-type": "application/json"}, file="json", encoding=None
    )
    tree.rendered(spelling(Request("http://a.example/", fragment="/item")), b"<p>before", b"<p>after")
    tree.merge(out, files=True, noindex=True)
    dataset = pq.read_table(out / "pages")
    made = fscrawl.open(tree.root).to_arrow(tables.ALL)
    pages = {row["key"]: row for row in dataset.select(tables.ALL).to_pylist()}
    assert {row["key"] for row in made.to_pylist()} == {
        row["key"] for row in pages.values() if row["skipped"] is None and row["fetch_redirect"] is None
    }
    for row in made.to_pylist():
        assert row == pages[row["key"]]
