"""Keys of URLs, by which web archives find them, and the index that has them."""

from __future__ import annotations

import io
import json

import pytest
import surt as reference
from cdxj_indexer.main import CDXJIndexer

from fscrawl.dataset.surt import surt
from fscrawl.request import Request, spelling
from tests.support.trees import Grown

A = "http://a.example/"


def test_as_cdxj_indexer(tmp_path):
    """The indexer of the field finds the same records at the same places; the key of a GET is the same."""
    tree = Grown(tmp_path / "tree")
    tree.many(3, 20)
    tree.page(f"{A}twin", tree.bodies["http://h0.example/1"])
    tree.redirect(f"{A}old", A)
    tree.page(spelling(Request(f"{A}search", form={"q": "a b", "é": "50% + 1#"})), b"<p>found")
    tree.page(spelling(Request(f"{A}api", "PUT", json=["a", {"b": ["&", "="]}])), b"<p>put")
    made = tree.merge(tmp_path / "out", formats=("warc",))
    (path,) = made.files("warc/*.warc.gz")
    out = io.StringIO()
    CDXJIndexer(out, [str(path)], sort=True, post_append=True, records="response,revisit").process_all()
    theirs = {}
    for line in out.getvalue().splitlines():
        key, moment, rest = line.split(" ", 2)
        values = json.loads(rest)
        place = int(values["offset"]), int(values["length"])
        theirs[place] = (values.get("method", "GET"), key, moment, values["url"], values["status"])
    ours = {
        (row["warc_record_offset"], row["warc_record_length"]): (
            *(row["method"], row["url_surtkey"], f"{row['fetch_time']:%Y%m%d%H%M%S}"),
            *(row["url"], str(row["fetch_status"])),
        )
        for row in made.rows("warc-index")
    }
    assert len(ours) == 64
    assert theirs.keys() == ours.keys()
    assert {place: each for place, each in theirs.items() if each[0] == "GET"} == {
        place: each for place, each in ours.items() if each[0] == "GET"
    }
    assert sorted(each[0] for each in theirs.values())[-2:] == ["POST", "PUT"]


# What `canonicalize` of pywb 2.10.0 gives (pywb/utils/canonicalize.py, by the package surt 0.3.1).
KEYS = [
    ("http://a.example/", "example,a)/"),
    ("http://a.example/?", "example,a)/"),
    ("https://a.example:8443/x", "example,a:8443)/x"),
    ("http://WWW.a.example/", "example,a)/"),
    ("http://www2.a.example/a/", "example,a)/a"),
    ("http://www.www.example/", "example,www)/"),
    ("http://127.0.0.1:8080/x", "1,0,0,127:8080)/x"),
    ("http://[2001:db8::1]:81/", "2001:db8::1:81)/"),
    ("http://a_b.example/", "example,a_b)/"),
    ("http://xn--caf-dma.example/", "example,xn--caf-dma)/"),
    ("http://a.example/A/B/?b=2&a=1", "example,a)/a/b?a=1&b=2"),
    ("http://a.example//x///Y//", "example,a)/x/y"),
    ("http://a.example/?b&a=1&a", "example,a)/?a&a=1&b"),
    ("http://a.example/?b&&a", "example,a)/?&a&b"),
    ("http://a.example/?&", "example,a)/?&"),
    ("http://a.example/??x=/a//b/", "example,a)/??x=/a//b/"),
    ("http://a.example/?k=%C4%E3", "example,a)/?k=%c4%e3"),
    ("http://a.example/?k=%c4%e3", "example,a)/?k=%c4%e3"),
    ("http://a.example/?%C4%E3=1&k", "example,a)/?%c4%e3=1&k"),
    ("http://a.example/?k=%E4%BD%A0", "example,a)/?k=%e4%bd%a0"),
    ("http://a.example/caf%E9", "example,a)/caf%e9"),
    ("http://a.example/caf%e9", "example,a)/caf%e9"),
    ("http://a.example/caf%C3%A9", "example,a)/caf%c3%a9"),
    ("http://a.example/%C3%A9%E9", "example,a)/%c3%a9%e9"),
    ("http://a.example/%E9%C3", "example,a)/%e9%c3"),
    ("http://a.example/%25E9", "example,a)/%e9"),
    ("http://a.example/%2525E9", "example,a)/%e9"),
    ("http://a.example/%25", "example,a)/%25"),
    ("http://a.example/%", "example,a)/%25"),
    ("http://a.example/100%", "example,a)/100%25"),
    ("http://a.example/%zz%4", "example,a)/%25zz%254"),
    ("http://a.example/%E", "example,a)/%25e"),
    ("http://a.example/%00%0A%7F%80", "example,a)/%00%0a%7f%80"),
    ("http://a.example/%20/", "example,a)/%20"),
    ("http://a.example/?a=%20b+c%2B", "example,a)/?a=%20b+c+"),
    ("http://a.example/?a=%7C%7C&x=%20%22", 'example,a)/?a=||&x=%20"'),
    ("http://a.example/Foo_%28bar%29?url=https%3A%2F%2Fx.org%2Fa", "example,a)/foo_(bar)?url=https://x.org/a"),
    ("http://a.example/a%2Cb?c=1,2&b=%5B0%5D", "example,a)/a,b?b=[0]&c=1,2"),
    ("http://a.example/%23x?y=%23", "example,a)/%23x?y=%23"),
    ("http://a.example/a%3Fb", "example,a)/a?b"),
    ("http://a.example/a?b%26c=1", "example,a)/a?b&c=1"),
    ("http://a.example/a%2F%2Fb%2F", "example,a)/a/b"),
    ("http://a.example/%7Eu/~u", "example,a)/~u/~u"),
    ("http://a.example/a/%252E%252E/x%2F.%2F", "example,a)/x"),
    ("http://a.example/%2F..%2F..%2Fx", "example,a)/../x"),
    ("http://a.example/?PHPSESSID=0123456789ABCDEF0123456789ABCDEF&x=1", "example,a)/?x=1"),
    ("http://a.example/?x=1&sid=0123456789abcdef0123456789abcdef", "example,a)/?&x=1"),
    ("http://a.example/?ASPSESSIONIDABCDEFGH=ABCDEFGHIJKLMNOPQRSTUVWX&y", "example,a)/?y"),
    ("http://a.example/?cfid=12&cftoken=34&z=1", "example,a)/?z=1"),
    (
        "http://a.example/;jsessionid=0123456789ABCDEF0123456789ABCDEF?x=1",
        "example,a)/;jsessionid=0123456789abcdef0123456789abcdef?x=1",
    ),
    ("http://a.example/(S(4hqa0555fwsecu455xqckv45))/Mileg.aspx", "example,a)/mileg.aspx"),
    ("http://a.example/(4hqa0555fwsecu455xqckv45)/mileg.aspx?x", "example,a)/mileg.aspx?x"),
]


@pytest.mark.parametrize(("url", "key"), KEYS)
def test_keys_are_those_that_readers_look_up(url, key):
    """Readers decode a URL byte by byte and encode it again, whatever its spelling is."""
    assert surt(url) == key == reference.surt(url)
