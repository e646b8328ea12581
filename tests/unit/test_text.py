"""The text of a page: lines, blanks, what is shown, preformatted text, language, main content."""

import logging
import socket
import subprocess
import sys
import time

import pytest
from selectolax.lexbor import LexborHTMLParser

from fscrawl.parse.text import Text, main_content, read, visible
from tests.support import effort

ARTICLE = b"<html lang=en><title>T</title><nav><a href=/>Home</a></nav><article><h1>Head</h1>%s</article></html>" % (
    b"<p>A paragraph that is long enough to be taken for the content of this page, or so it is hoped.</p>" * 5
)


def text(html: str) -> str:
    return visible(html.encode())


# Lines


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<h1>a</h1>b<p>c<p>d", "a\nb\nc\nd"),
        ("<ul><li>a<li>b<ul><li>c</ul>d</ul>e", "a\nb\nc\nd\ne"),
        ("<ol><li>a</ol><dl><dt>b<dd>c</dl>", "a\nb\nc"),
        ("a<hr>b<br>c<br/>d</br>e", "a\nb\nc\nd\ne"),
        ("a<div\tclass=x>b</div\n>c<DIV>d</Div>e<dIV>f", "a\nb\nc\nd\ne\nf"),
        ("<details><summary>a</summary>b</details>", "a\nb"),
        ("<form>a<fieldset><legend>b</legend><label>c</label><input value=x></fieldset></form>", "a\nb\nc"),
        ("<select><option>a<option>b</select>", "a\nb"),
        ("<figure>a<figcaption>b</figcaption></figure>", "a\nb"),
    ],
)
def test_blocks_are_lines(html, expected):
    """Where a block begins or ends, or `<br>` stands, a line ends; tags are read in either case."""
    assert text(html) == expected


@pytest.mark.parametrize("name", ["a", "b", "span", "code", "button", "label", "custom-element", "pretty", "d", "divx"])
def test_inline_markup_joins(name):
    """Inline elements, unknown ones among them, part neither words nor lines."""
    assert text(f"x<{name}>y</{name}>z") == "xyz"


def test_table():
    """A row is a line, its cells are parted by a blank, and a caption is a line of its own."""
    rows = "<thead><tr><th>a</th><TH>b</th><tbody><tr><td>c<td class=x>d</table>"
    assert text(f"<table><caption>t</caption>{rows}after") == "t\na b\nc d\nafter"


def test_breaks_move_nothing():
    """The marks of lines change no tree: a table keeps its rows, and the head what stands before the body."""
    html = (
        "<!doctype html><html><head><title>t</title></head><body><table><tr><td>a</tr><tr><td>b</table></body></html>"
    )
    assert text(html) == "a\nb"


def test_tags_elsewhere_are_no_tags():
    """A tag in an attribute or a comment breaks no line."""
    assert text("a<i title='<p>'>b</i><!-- <p> -->c") == "abc"


# White space and characters


def test_white_space_is_folded():
    """White space is folded to one blank, no-break space and form feed too, and stripped at the ends of a line."""
    assert text(" a \n\tb\f c&nbsp;\u3000d\x1ce <p> </p>") == "a b c d e"


def test_entities():
    """Character references are decoded once."""
    assert text("&lt;p&gt; &amp;amp; &eacute; &#x1F600;") == "<p> &amp; é \U0001f600"


def test_control_characters_are_dropped():
    """Control characters are dropped, as bytes and as references; U+0080 to U+009F mean Windows-1252 as references."""
    assert text("a\x01b&#1;\x7f\x1b\x84c&#x84;") == "abc„"


def test_noncharacters_stay():
    """Noncharacters and invisible format characters are text like any other."""
    assert text("a\ufdd0\u00ad<pre>\ufdd0 b</pre>") == "a\ufdd0\u00ad\n\ufdd0 b"


@pytest.mark.parametrize("html", [b"a\xff\xed\xa0\x80", b"a&#xD800;&#0;&#x110000;"])
def test_what_is_no_character(html):
    """Invalid UTF-8, surrogates and NUL become U+FFFD: the text can be written."""
    got = visible(html)
    assert got.rstrip("\ufffd") == "a"
    assert got.encode()


# What is shown


@pytest.mark.parametrize(
    "html",
    [
        "<script>x</script>",
        "<style>x</style>",
        "<noscript>x<p>y</noscript>",
        "<template>x<pre>y</pre></template>",
        "<svg><title>x</title><text>y</text></svg>",
        "<svg/>",
        "<iframe>x</iframe>",
        "<object>x<pre>y</pre></object>",
        "<video>x</video><audio>x</audio><canvas>x</canvas><progress>x</progress>",
        "<datalist><option>x</datalist>",
        "<dialog>x</dialog>",
        "<math><annotation>x</annotation></math>",
        "<b hidden>x</b>",
        "<p hidden=until-found>x<i>y</i></p>",
        "<b style='color: red; Display: None'>x</b><b style=display:none>x</b>",
        "<i hidden>x<script>y</script><i hidden>z</i></i>",
        "<i hidden><pre>x</pre><textarea>y</textarea></i>",
        "<pre hidden>x</pre>",
        "<pre style='display: none'>x</pre><textarea hidden style=display:none>x</textarea>",
        "<img alt=x><input value=x><!-- x -->",
    ],
)
def test_not_shown(html):
    """What a browser does not show as text is no text."""
    assert text(f"a {html} b").split() == ["a", "b"]


@pytest.mark.parametrize(
    "html", ["<dialog open>x</dialog>", "<details>x</details>", "<math><mi>x</mi></math>", "<button>x</button>"]
)
def test_shown(html):
    """An open dialog, formulas, buttons and what a click unfolds are text."""
    assert text(html) == "x"


@pytest.mark.parametrize(
    ("style", "is_shown"),
    [
        ("color:red", True),
        ("display : none", False),
        ("color:red;;\tDISPLAY:\nNone", False),
        ("--w-display:none", True),
        ("content-display:none", True),
        ("display:none;display:block", True),
        ("display:none;display:inline flow-root;", True),
        ("display:none;display:", False),
        ("display:none;display:revert", True),
        ("display:none !important;display:block", False),
        ("display:none ! IMPORTANT ;display:block!important", True),
        ("*display:none", True),
        ("display:contents", True),
        ("background:url(a;b);display:none", False),
        ("visibility:hidden", False),
        ("visibility:collapse", False),
        ("visibility:hidden;visibility:inherit", True),
    ],
)
def test_style(style, is_shown):
    """The last declaration in a style decides whether it hides an element, or the last important one."""
    assert text(f'<b style="{style}">x</b>') == "x" * is_shown


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        ("a<i style='visibility:hidden'>b<u style='visibility:visible'>c</u>d</i>e", "ace"),
        ("<i style='visibility:hidden'>b<u style='visibility:visible'>c<s style='visibility:hidden'>d</u></i>", "c"),
        ("<i style='visibility:hidden'><u style='visibility:unset'>c</u><u style='visibility:initial'>d</i>", "d"),
        ("<i style='visibility:hidden'><u style='visibility:visible;display:none'>c</u></i>", ""),
        ("<p>a<p style='visibility:hidden'>b<p>c", "a\nc"),
        (
            "<table style='visibility:hidden'><td style='visibility:visible'>a<td>b<td style='visibility:visible'>c",
            "a c",
        ),
        ("a<pre style='visibility:hidden'>b<i style='visibility:visible'>\n  c\n d</i>e</pre>", "a\n  c\n d"),
        ("<b hidden style='display:inline'>a</b>", "a"),
        ("<dialog style='display:block'>a</dialog>", "a"),
    ],
)
def test_parts_of_an_element_are_shown(html, shown):
    """What is invisible may contain what is visible, and a style counts more than the attribute `hidden`."""
    assert text(html) == shown


def test_ruby_parentheses():
    """The parentheses around ruby are for browsers that know no ruby."""
    assert text("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>") == "漢kan"


@pytest.mark.parametrize(
    "html", ["<body hidden>x", "<html hidden><body style='display:none'>x", "<html style=display:none>x"]
)
def test_hidden_page(html):
    """A page that hides itself as a whole is shown by its scripts, and has its text."""
    assert text(html) == "x"


@pytest.mark.parametrize("html", ["", " ", "<title>x</title>", "<frameset><frame><noframes>x</noframes></frameset>"])
def test_no_text(html):
    """A page without a body, or with nothing in it, has the empty text."""
    assert text(html) == ""


# Preformatted text


def test_pre_keeps_lines_and_indentation():
    """In `<pre>` line breaks, blanks, tabs and blank lines count, but not at the end of a line or around the whole."""
    assert text("a<pre>\n\nif  x: \n\n\t<b>y</b> = 1\n    z\n\n</pre>b") == "a\nif  x:\n\n\ty = 1\n    z\nb"


def test_pre_with_blocks():
    """Blocks and `<br>` in `<pre>` are lines; empty ones between tags are none."""
    assert text("<pre><div> a</div><div> b\n</div> c<br> d</pre>") == " a\n b\n c\n d"


def test_pre_normalises_spaces():
    """Other white space and control characters are the same in `<pre>` as elsewhere: a blank, or nothing."""
    assert text("<pre>a&nbsp;&nbsp;b\x01&#13;c\u2028d</pre>") == "a  b c d"


def test_nested_pre():
    """A preformatted text in another is a part of it."""
    assert text("<pre>  a<script>x</script><pre>  b</pre>  c<textarea>  d</textarea>  e</pre>  f") == (
        "  a\n  b\n  c\n  d\n  e\nf"
    )


def test_textarea_is_literal():
    """Tags in `<textarea>` and `<xmp>` are text and break no line."""
    assert (
        text("a<textarea>\n <p>x<br>\n  y</p></textarea>b<xmp><b> <p>&lt;</xmp>")
        == "a\n <p>x<br>\n  y</p>\nb\n<b> <p>&lt;"
    )


def test_old_preformatted():
    """`<listing>` and `<plaintext>` are preformatted, too."""
    assert text("<listing>\n a</listing><plaintext> b\n  <p>c") == " a\n b\n  <p>c"


@pytest.mark.parametrize("html", [b"a\0(b\0)c\0[", b"a&#0;(b&#0;)<svg>\0(</svg>", b"<textarea>\0)\0)</textarea>\0(\0"])
def test_marks_cannot_be_forged(html):
    """NUL characters in a page do not disturb what is marked by them."""
    assert visible(html + b"<p>x<pre>  y\n z</pre>  x").endswith("x\n  y\n z\nx")


# Language


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<html lang=en>", "en"),
        ("<HTML LANG=' zh-Hant-TW\n'>", "zh-hant-tw"),
        ("<html lang=en_US>", "en_us"),
        (f"<html lang={'x' * 35}>", "x" * 35),
        (f"<html lang={'x' * 36}>", None),
        ("<html lang>", None),
        ("<html lang=' '>", None),
        ("<html lang='{{ lang }}'>", None),
        ("<html lang='e\x01n'>", None),
        ("<html xml:lang=en>", None),
        ("<p lang=en>", None),
        ("", None),
    ],
)
def test_language(html, expected):
    """The language is what `<html lang>` says, in lower case, if it can be a language tag."""
    assert read(html.encode()).language == expected


def test_language_without_root(monkeypatch):
    """A document without an element, should the parser ever give one, declares no language."""
    monkeypatch.setattr("fscrawl.parse.text.tree", lambda *_, **__: LexborHTMLParser("", is_fragment=True))
    assert read(b"x") == Text("", None)


# Main content


def test_main_content():
    """The main content is the article without navigation; the language is the page's."""
    page = read(ARTICLE, "main")
    assert page.text.startswith("Head\nA paragraph")
    assert "Home" not in page.text
    assert page.language == "en"


def test_no_comments():
    """Readers' comments are no main content."""
    html = ARTICLE.replace(b"</article>", b"</article><div id=comments><p>Nice page, I say.</p></div>")
    assert "Nice" not in main_content(html)


def test_lines_of_main_content():
    """A paragraph is a line, wherever its source is broken; code keeps its lines; signs for links are left out."""
    broken = b"""<h2>Part<a class=headerlink href="#part">\xc2\xb6</a></h2>
<p>One <code>call()
of it</code>
and <a href=/x>a
link</a>,\r\n   which
goes on.</p>
<pre>if x:
    return</pre>
<p>Behind the code.</p>"""
    assert main_content(ARTICLE.replace(b"</h1>", b"</h1>" + broken, 1)).split("\n")[:6] == [
        "Head",
        "Part",
        "One call() of it and a link, which goes on.",
        "if x:",
        "    return",
        "Behind the code.",
    ]


def test_main_content_is_clean():
    """Control characters and odd white space do not get into the main content."""
    html = ARTICLE.replace(b"A par", "\x01\x0bA&#1;&#x85;\u2028\xa0par\x1c\x7f\x84".encode())
    assert all(c in "\n\t" or (ord(c) >= 32 and not 127 <= ord(c) < 160) for c in main_content(html))


GARBAGE = [
    *(b"", b" ", b"x", b"<", b"\0", b"\xff\xfe" * 9, b"<html>", b"<html/>", b"\x1f\x8b\x08x", bytes(range(256)) * 20),
    b"<?xml version='1.0' encoding='x'?><p>",
]


@pytest.mark.parametrize("html", GARBAGE)
def test_garbage_has_no_main_content(html, caplog, capfd):
    """Where there is nothing to find the main content is empty, and nothing is said of it."""
    assert main_content(html) == ""
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


def test_errors_are_no_main_content(monkeypatch):
    """A page that trafilatura stumbles over has no main content."""

    def stumble(*args, **options):
        raise RecursionError

    monkeypatch.setattr("fscrawl.parse.text._extractor", lambda: stumble)
    assert main_content(ARTICLE) == ""


def test_trafilatura_is_needed(monkeypatch):
    """Where trafilatura is missing, main content is an error and not an empty text."""

    def missing():
        raise ImportError

    monkeypatch.setattr("fscrawl.parse.text._extractor", missing)
    with pytest.raises(ImportError):
        main_content(ARTICLE)


def test_no_network(monkeypatch):
    """Nothing that a page refers to is fetched."""
    asked = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **options: asked.append(args))
    monkeypatch.setattr(socket.socket, "connect", lambda *args: asked.append(args))
    refers = b"<base href=//a.invalid><link rel=stylesheet href=b><img src=//c.invalid><iframe src=d></iframe>"
    assert "A paragraph" in main_content(ARTICLE.replace(b"<nav>", refers + b"<nav>"))
    assert asked == []


def test_trafilatura_is_lazy():
    """Who reads visible text does not pay for trafilatura."""
    code = "import sys, fscrawl.parse.text; fscrawl.parse.text.visible(b'x'); sys.exit('trafilatura' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_silence_is_narrow():
    """Only trafilatura's log is silenced."""
    main_content(b"")
    assert logging.getLogger().isEnabledFor(logging.CRITICAL)
    assert not logging.getLogger("trafilatura.utils").isEnabledFor(logging.CRITICAL)


# Time

UNITS = [
    *(
        "<",
        "</",
        "<pre",
        "<pre></pre>",
        "<pre>\t\n</pre>",
        "<div ",
        "<p>",
        "<p hidden>x",
        "<p style='visibility:hidden'>x",
        "<i style='visibility:hidden'><i style='visibility:visible'>x",
        "<br>",
        "<Div",
        "<aaaaa",
        "<td>",
    ),
    *(
        "<script></script>",
        "<a style='",
        "&#12;",
        "<textarea></textarea>",
        " ",
        "\x01",
        "<title>",
        "<svg></svg>",
        "<!--",
    ),
    *("<table><tr><td>x</table>", "<noscript>"),
]


@pytest.mark.gate
@pytest.mark.parametrize("unit", UNITS)
def test_time_is_linear(unit):
    """A megabyte of anything takes no more than seconds; what nests too deeply does not come here."""
    size = 1_000_000 if effort.FULL else 500_000
    html = unit.encode() * (size // len(unit))
    start = time.process_time()
    visible(html)
    assert time.process_time() - start < size * 5e-6


def test_a_page_of_a_thousand_tables_has_no_main_content():
    """Its time grows with the square of the number of tables: it is not asked."""
    assert main_content(b"<article><p>word word word</p>" + b"<table><tr><td>x</table>" * 1001) == ""
