"""The text of any page at all."""

import html
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from fscrawl.parse.text import read, visible
from tests.support.effort import tries

TAGS = [
    *(
        "p",
        "div",
        "li",
        "ul",
        "table",
        "tr",
        "td",
        "th",
        "br",
        "b",
        "i",
        "span",
        "a",
        "pre",
        "textarea",
        "xmp",
        "script",
    ),
    *("style", "svg", "math", "template", "select", "option", "h1", "body", "html", "title", "frameset", "dialog"),
    *("object", "noscript", "plaintext", "button", "ruby", "rp", "caption", "form"),
]
ATTRIBUTES = ["", " hidden", " style=display:none", " lang=x", " class='<p>'", "/"]
CHARACTERS = st.characters(exclude_categories=["Cs"])

tags = st.builds("<{}{}{}>".format, st.sampled_from(["", "", "/"]), st.sampled_from(TAGS), st.sampled_from(ATTRIBUTES))
pieces = (
    tags
    | st.text(CHARACTERS, max_size=5)
    | st.sampled_from(["<!--", "-->", "&#0;", "\0(", "&#12;", " \n\t", "&#xfdd0;"])
)
soup = st.lists(pieces, max_size=30).map(lambda found: "".join(found).encode())
pages = st.binary() | soup
# Words that no parser and no folding changes.
words = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1)
lines = st.lists(words, min_size=1, max_size=5).map(" ".join)

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@given(pages)
@settings(max_examples=tries(500))
def test_clean(page):
    """Any bytes give a text that can be written, with no control characters but newline and tab."""
    got = read(page)
    assert got.text.encode().decode() == got.text
    assert not CONTROL.search(got.text)
    assert got.language is None or got.language == got.language.strip().lower() != ""
    assert visible(page) == got.text


@given(
    st.lists(
        tags.filter(lambda tag: not re.search("pre|textarea|xmp|plaintext", tag)) | st.text(CHARACTERS), max_size=30
    )
)
def test_folded(found):
    """Without preformatted text no line is empty, and folding it once more changes nothing."""
    text = visible("".join(found).encode())
    assert text.split("\n") == [" ".join(line.split()) for line in text.split("\n")]
    assert text == "" or "" not in text.split("\n")


@given(st.lists(lines, max_size=5))
def test_idempotent(paragraphs):
    """The text of paragraphs that hold a text's lines is that text."""
    page = "".join(f"<p>{html.escape(line)}" for line in paragraphs).encode()
    assert visible(page) == "\n".join(paragraphs)


@given(st.lists(st.tuples(st.sampled_from(["b", "i", "span", "code", "em", "q-x"]), words), max_size=20))
def test_inline(nested):
    """The text of inline elements in each other is their texts, joined."""
    page = "".join(f"<{name}>{html.escape(word)}" for name, word in nested)
    page += "".join(f"</{name}>" for name, _ in reversed(nested))
    assert visible(page.encode()) == "".join(word for _, word in nested)


@given(st.sampled_from(["pre", "textarea", "listing"]), st.text("ab <&\t\n\u00e9\ufdd0"))
def test_preformatted(name, text):
    """A preformatted text comes back as it is, but for blanks at the ends of lines and blank lines around it."""
    wanted = "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")
    assert visible(f"<{name}>\n{html.escape(text)}</{name}>".encode()) == wanted


@given(soup, st.randoms(use_true_random=False))
def test_case_of_tags(page, random):
    """The case of the names of elements does not matter, but where tags are text."""

    def mixed(tag):
        return bytes(random.choice([b, b ^ 32]) if chr(b).isalpha() and b < 128 else b for b in tag[0])

    assert visible(re.sub(rb"</?[a-z1]+(?=[ />])", mixed, page)).lower() == visible(page).lower()


@given(pages, st.sampled_from(["main", "fast"]))
@settings(max_examples=tries(200), deadline=None)
def test_main_content(page, how):
    """Any bytes have a main content that can be written, without control characters but newline and tab."""
    text = read(page, how).text
    assert text.encode().decode() == text
    assert not CONTROL.search(text)
