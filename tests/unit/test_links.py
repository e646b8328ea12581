"""What a page says of itself and of others; every fact holds for both parsers."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fscrawl.parse import links
from fscrawl.parse.links import ParsedPage, extract
from fscrawl.urls import MAX_URL_CHARS, Joiner
from tests.support.effort import tries

URL = "http://a.example/dir/page.html?q"


@pytest.fixture(params=["lexbor", "html5lib"])
def read(request):
    def read(html: str | bytes, **options) -> ParsedPage:
        body = html if isinstance(html, bytes) else html.encode()
        return extract(body, URL, Joiner(), parser=request.param, **options)

    return read


def under(*names):
    return tuple("http://a.example/dir/" + name for name in names)


def test_empty_body(read):
    """A page of no bytes is a page with nothing in it."""
    assert read(b"") == ParsedPage("utf-8", "guessed", None, (), (), None, (), truncated=False)


def test_page_order(read):
    """Links stand in document order, whichever element they come from, each once."""
    html = "<link rel=next href=1><a href=2>x</a><map><area href=3></map><a href=1>x</a><link rel=canonical href=4>"
    assert read(html).links == under("1", "2", "3", "4")


def test_fragments_and_own_url(read):
    """Fragments are dropped, and the page itself is no link of its own."""
    assert read("<a href='#x'></a><a href></a><a href='page.html?q#y'></a><a href='b#z'></a>").links == under("b")


@pytest.mark.parametrize("follow", [None, frozenset({"a", "img"})])
def test_links_of_drawings(read, follow):
    """An `<a>` of SVG links by `xlink:href` if it has no `href`; in HTML, that attribute has no meaning."""
    html = """<svg><a xlink:href=1></a><g><A XLINK:HREF=2 target=_top></a></g><a href=3 xlink:href=x></a>
        <a href xlink:href=x></a><a></a><a rel=nofollow xlink:href=4></a><use xlink:href=x></use>
        <foreignObject><a xlink:href=x>x</a><a href=5></a></foreignObject></svg><a xlink:href=x>x</a>"""
    page = read(html, follow=follow)
    assert (page.links, page.nofollow) == (under("1", "2", "3", "5"), under("4"))


def test_white_space_in_href(read):
    """White space around a reference is stripped, tabs and newlines within it are removed."""
    assert read("<a href='\n b\t\nc '></a>").links == under("bc")


def test_only_web_links(read):
    """What is no http(s) URL, or too long to be one, is no link."""
    long = "x" * (MAX_URL_CHARS + 1)
    assert read(f"<a href=mailto:a@b></a><a href='http://['></a><a href=data:{long}></a><a name=x></a>").links == ()


def test_fragments_cost_no_join(monkeypatch):
    """A thousand anchors in one other page are joined once."""
    joiner, asked = Joiner(), []
    monkeypatch.setattr(joiner, "joined", lambda base, reference: asked.append(reference) or base + reference)
    append = joiner.append
    monkeypatch.setattr(joiner, "append", lambda base, references: asked.extend(references) or append(base, references))
    extract(b"".join(b"<a href=b#%d>x</a><a href=%%62#%d>" % (n, n) for n in range(1000)), URL, joiner)
    assert asked == ["b", "%62", "%62"], "what cannot be appended is joined"


@pytest.mark.parametrize(
    ("bases", "expected"),
    [
        ("<base href=/other/>", ("http://a.example/other/b", "http://a.example/other/")),
        (
            "<base target=x><base href=/other/><base href=/third/>",
            ("http://a.example/other/b", "http://a.example/other/"),
        ),
        ("<base href='javascript:1'>", under("b")),
        ("<base href>", under("b")),
        ("<svg><base href=/other/></base></svg>", under("b")),
        ("<math><desc><base href=/other/></desc></math>", under("b")),
        ("<svg><mi><base href=/other/></mi></svg>", under("b")),
    ],
)
def test_base(read, bases, expected):
    """The first <base> of HTML with an href is what links are relative to, an empty one too; unless it is no page."""
    assert read(bases + "<a href=b></a><a href='#x'></a>").links == expected


@pytest.mark.parametrize("around", ["<svg>{}</svg>", "<math>{}</math>", "<svg></svg>" * 60 + "<svg>{}</svg>"])
def test_fragment_and_link_in_a_drawing(read, around):
    """An element of a drawing or formula may have a fragment and a link: the link counts."""
    assert read(around.format("<a xlink:href='#x' href=b></a>") + "<a href='#y'></a>").links == under("b")


def test_many_canonical_links(read):
    """The first few are tried until one is a URL."""
    none = "<link rel=canonical href=x:y>"
    assert read(none * 9 + "<link rel=canonical href=/c>").canonical == "http://a.example/c"
    assert read(none * 10 + "<link rel=canonical href=/c>").canonical is None


def test_endless_directives(read):
    """Of a text without end, a thousand parts are looked at, and so many words of each."""
    assert read("<meta name=robots content='" + "," * 500 + "noindex'>").robots == ("noindex",)
    assert read("<meta name=robots content='" + "," * 1000 + "noindex'>").robots == ()
    meta = "<meta name=robots content='a,b'>"
    assert read(meta * 499 + "<meta name=robots content='a,c,d'>").robots == ("a", "b", "c")
    assert read("<meta name=robots content='" + "a " * 1000 + "b, c'>").robots == ("a", "c")


def test_references_of_other_elements(read):
    """Other elements may have a href, too; it is no link."""
    assert read("<svg><use href=x></use></svg><img href=c><a href=b></a>").links == under("b")


def test_fragment_on_a_page_of_a_form(read):
    """A page of another request than a plain GET is not what its URL alone names: a fragment leads there."""
    assert read("<a href='#x'></a><a href=b></a>", is_plain=False).links == (URL, *under("b"))


def test_short_references_to_long_urls(read):
    """What is left out since its URL is too long is counted, however short the reference is that means it."""
    page = read(
        f"<base href=/{'x' * (MAX_URL_CHARS - 30)}/><a href=short></a><a href=too-long-here></a><a href=ääääää></a>"
    )
    assert (len(page.links), page.too_long) == (1, 2)
    page = read(f"<base href=/{'ä' * 400}/><a href=b></a>")
    assert (page.links, page.too_long) == (under("b"), 1)


@pytest.mark.gate
def test_thousands_of_links(read):
    """Of many references, those that are none are left out as of few."""
    html = "".join(f"<a href=' {n}#x '></a><a href='#{n}'></a>" for n in range(2500))
    page = read(html + "<a href=mailto:a></a><a href></a>" + f"<a href={'x' * (MAX_URL_CHARS + 1)}></a>" * 2)
    assert page.links == under(*map(str, range(2500)))
    assert (page.truncated, page.too_long) == (False, 1)


def test_nofollow(read):
    """rel=nofollow is a word among others, in any case; a link that is followed elsewhere is followed."""
    page = read("<a rel='x NoFollow' href=1></a><a rel=nofollowing href=2></a><area rel=nofollow href=2>")
    assert (page.links, page.nofollow) == (under("2"), under("1"))


@pytest.mark.parametrize("directive", ["NoFollow", "noindex, none", "nofollow noindex"])
def test_robots_meta(read, directive):
    """A page whose robots directives contain nofollow or none has no links to follow."""
    page = read(f"<meta name=' ROBOTS ' content='{directive}'><a href=1></a><a rel=nofollow href=2></a>")
    assert (page.links, page.nofollow) == ((), under("1", "2"))


def test_robots_header(read):
    """X-Robots-Tag adds to the page's directives; what it says to another robot is not for us."""
    page = read("<meta name=robots content='NOARCHIVE'><a href=1>", robots_tag="noindex, googlebot: nofollow")
    assert (page.robots, page.links) == (("noarchive", "noindex"), under("1"))
    assert read("", robots_tag="max-snippet:  20, none").robots == ("max-snippet: 20", "none")


def test_canonical(read):
    """The first canonical link is kept, also if it is the page itself, and followed if it is not."""
    page = read("<link rel='x CANONICAL' href=c><link rel=canonical href=d><link rel=stylesheet href=e><link href=f>")
    assert (page.canonical, page.links) == (under("c")[0], under("c", "d"))
    assert read("<link rel=canonical href=page.html?q>").canonical == URL
    assert read("<svg><link rel=canonical href=c></link></svg>").canonical is None


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("5; url=n", "n"),
        ("0;URL = 'n'", "n"),
        ('1.5,url="n"x', "n"),
        (".5 n", "n"),
        ("5", None),
        ("5;", None),
        ("5; url=", None),
        ("5x; url=n", None),
        ("url=n", None),
        ("", None),
    ],
)
def test_refresh(read, content, expected):
    """A refresh to another page is a link, one without a URL is none."""
    meta = "<meta http-equiv=Refresh content='{}'>".format(content.replace("'", "&#39;"))
    assert read(meta).links == (under(expected) if expected else ())


def test_title(read):
    """The first title is the page's, its white space folded and its length bounded."""
    assert read("<title>\n A &amp;\u00a0 B </title><title>C</title>").title == "A & B"
    assert read("<title>" + "x" * 2000 + "</title>").title == "x" * 1000
    assert read("<title> </title>").title is None


def test_title_of_a_drawing(read):
    """The title of an SVG drawing is not the page's."""
    svg = "<body><svg><title>icon</title></svg>"
    assert read(svg).title is None
    assert read(svg + "<title>page</title>").title == "page"


@pytest.mark.parametrize(
    ("inside", "is_html"),
    [
        ("<svg><foreignObject>{}", True),
        ("<math><annotation-xml encoding='Text/HTML'>{}", True),
        ("<math><mtext>{}", True),
        ("<svg>{}", False),
        ("<math><desc>{}", False),
        ("<math><foreignObject>{}", False),
        ("<svg><mi>{}", False),
        ("<svg><annotation-xml encoding=text/html>{}", False),
        ("<math><annotation-xml>{}", False),
        ("<math><annotation-xml><desc>{}", False),
        ("<math><annotation-xml><svg><desc>{}", True),
        ("<math><svg><desc>{}", False),
        ("<svg><math><mi>{}", False),
        ("<math><mi><svg><desc>{}", True),
        ("<math><mi><svg>{}", False),
        ("<math><mi><mglyph>{}", False),
        ("<math><mi><b><mglyph>{}", True),
        ("<svg><desc><math><desc>{}", False),
        ("<svg><desc><math><mo>{}", True),
        ("<desc><mi><mglyph>{}", True),
    ],
)
def test_html_within_drawings_and_formulas(read, inside, is_html):
    """Where SVG and MathML may contain HTML, a title is the page's, and a link to its canonical URL counts."""
    page = inside.format("<title>page</title><link rel=canonical href=c>")
    found = read(page)
    assert found.title == ("page" if is_html else None)
    assert (found.canonical is not None) is is_html


def test_noscript_and_template(read):
    """Scripting is off: the content of noscript is markup. The content of a template is no part of the page."""
    html = "<noscript><a href=1></a></noscript><template><title>t</title><a href=2></a><template></template></template>"
    page = read(html + "<svg><template><a href=3></a></template></svg>")
    assert (page.links, page.title) == (under("1", "3"), None)


def test_comments_and_scripts(read):
    """What stands in comments, scripts and text areas is no link."""
    assert read("<!--<a href=1>--><script>'<a href=2>'</script><textarea><a href=3></textarea>").links == ()


def test_encoded_page(read):
    """A page is read in its encoding, and its queries are sent in it; its paths are UTF-8."""
    page = read(
        "<meta charset=shift_jis><title>表</title><a href='表?q=表é#f'>".encode("shift_jis", "xmlcharrefreplace")
    )
    assert (page.encoding, page.title) == ("shift_jis", "表")
    assert page.links == under("%E8%A1%A8?q=%95\\%26%23233%3B")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16le"])
def test_query_of_unicode_page(read, encoding):
    """The query of a page in UTF-8 or UTF-16 is UTF-8."""
    assert read("<a href='?é'><a href='é'>".encode(encoding), content_type=f"text/html;charset={encoding}").links == (
        "http://a.example/dir/page.html?%C3%A9",
        "http://a.example/dir/%C3%A9",
    )


def test_path_of_encoded_page(read):
    """A reference without a query does not depend on the encoding."""
    assert read("<meta charset=latin1><a href='é'>".encode("latin-1")).links == under("%C3%A9")


def test_invalid_utf8(read):
    """Bytes that are not UTF-8 become U+FFFD, and a byte order mark nothing."""
    page = read(b"\xef\xbb\xbf<title>a\xff\xe2\x82z</title><a href='\xf0\x9f'>")
    assert (page.title, page.links) == ("a\ufffd\ufffdz", under("%EF%BF%BD"))


def test_null_bytes(read):
    """A NUL in a reference is U+FFFD, as the standard has it."""
    assert read(b"<meta charset=utf-8><a href='a\0b'>").links == under("a%EF%BF%BDb")


def test_max_links(read, monkeypatch):
    """Links beyond the limit are cut, and the page says so; as many as the limit are whole."""
    html = "<a href=1></a><a href=2></a><a href=2></a>"
    monkeypatch.setattr(links, "MAX_LINKS", 2)
    assert not read(html).truncated
    monkeypatch.setattr(links, "MAX_LINKS", 1)
    assert read(html).links == under("1")
    assert read(html).truncated
    assert read("<a rel=nofollow href=1></a><a rel=nofollow href=2></a>").truncated


@pytest.mark.gate
@pytest.mark.parametrize("unit", ["<div>", "<b x{}>", "<svg>", "<table><b>", "<span></x>"])
def test_deep_nesting(read, unit):
    """A page of nothing but nesting takes seconds at most, and its links are found."""
    html = "<a href=1></a>" + "".join(unit.format(n) for n in range(20_000)) + "<p>x" * 1000 + "<a href=2>"
    began = time.monotonic()
    assert read(html).links == under("1", "2")
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("unit", ["<x ", "<x \"'", "<!--", "<x '", "</x", "<a"])
def test_unfinished_tags(unit):
    """Tags that never end take time in proportion to the page."""
    began = time.monotonic()
    extract(unit.encode() * 200_000, URL, Joiner())
    assert time.monotonic() - began < 10


def test_many_unclosed_paragraphs():
    """Elements that close one another do not nest, however many: such a page is read as it is."""
    html = b"<a href=1><!-- </a> -->" + b"<p title='<a href=2>'>x<br></i>" * 2000
    assert extract(html, URL, Joiner()).links == under("1")


@pytest.mark.gate
def test_recursion_of_html5lib():
    """Where html5lib gives up by recursion, the links are those of lexbor."""
    html = b"<div>" + b"<rt x='</rt>'>" * 1500 + b"</div><a href=1>"
    assert extract(html, URL, Joiner(), parser="html5lib").links == under("1")


def test_input_that_resembles_something_else(read):
    """A body that looks like a path, a URL or XML warns nobody."""
    for body in ("page.html", "http://a.example/", "<?xml version='1.0'?><rss>"):
        assert read(body).links == ()


FRAGMENTS = st.sampled_from(
    [
        "<a href=x>",
        "<a/href='y\x00'>",
        "</a>",
        "<b>",
        "<table>",
        "<td>",
        "<svg>",
        "<title>",
        "</title>",
        "<math>",
        "<p>",
        "</p>",
        "<base/href=//[>",
        "<!--",
        "-->",
        "<script>",
        "</script>",
        "<template>",
        "</template>",
        "<select>",
        "<frameset>",
        "<meta/charset=utf-16>",
        "<meta/charset=big5>",
        "<meta/http-equiv=refresh/content=1;url=z?é>",
        "<link/rel=canonical/href=c>",
        "&#0;",
        "&#xD800;",
        "\x1b",
        "\x85",
        "é",
        "<rt>",
        "<ruby>",
    ]
)
BODIES = st.one_of(
    st.binary(), st.lists(FRAGMENTS).map(lambda parts: "".join(parts).encode()), st.lists(FRAGMENTS).map("".join)
)


ELEMENTS = st.sampled_from(
    [
        *("<a href='#x'>", "<a href=b>", "<a xlink:href='#x' href=c>", "<a href='#y' rel=nofollow>", "<a href>"),
        *("<a href=d rel=nofollow>", "<area href=e>", "<area href='#z'>", "<link rel=next href=f>", "<a href=' #'>"),
        *("<svg>", "</svg>", "<math>", "</math>", "<template>", "</template>", "<meta name=robots content=none>"),
        *("<link rel=canonical href='#'>", "<foreignObject>", "<base href='#x'>", "<p>", "<title>t</title>", "</p>"),
    ]
)


@given(BODIES, st.sampled_from(["lexbor", "html5lib"]), st.sampled_from([None, "utf-16", "iso-2022-jp", "replacement"]))
@settings(deadline=None)
def test_any_bytes(body, parser, charset):
    """Any bytes give a page, whose links are normal forms."""
    body = body if isinstance(body, bytes) else body.encode("utf-16")
    header = charset and f"text/html; charset={charset}"
    joiner = Joiner()
    page = extract(body, URL, joiner, content_type=header, parser=parser)
    assert all(joiner.join(URL, link) == link for link in page.links + page.nofollow)


@given(st.lists(ELEMENTS | FRAGMENTS), st.booleans())
@settings(deadline=None, max_examples=tries(200))
def test_usual_elements(parts, with_base):
    """Without a look at the elements that no link comes from, the same links are found."""
    body = ("<base href=/other/>" * with_base + "".join(parts)).encode()
    quickly = extract(body, URL, Joiner())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(links, "_USUAL", links._CHOSEN)
        patch.setattr(links, "_collect_nodes", lambda nodes, known: links._collect(links._elements(nodes, known), None))
        assert extract(body, URL, Joiner()) == quickly
