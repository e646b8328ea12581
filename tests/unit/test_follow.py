"""Which elements refer to what is followed."""

import pytest

from fscrawl.parse.follow import ELEMENTS, USUAL, largest, references, selector
from fscrawl.parse.links import extract
from fscrawl.urls import Joiner

URL = "http://a.example/d/"
PAGE = b"""<base href=/b/><title>T</title><meta name=robots content=noarchive>
<link rel=canonical href=c><link rel=next href=n><meta http-equiv=refresh content="1; url=m">
<a href=a></a><a rel=nofollow href=nf></a><area href=ar>
<iframe src=if></iframe><img src=i1 srcset="i2 1x, i3 2x"><video src=v poster=p><source src=s srcset=s2></video>
<object data=o></object><script src=js></script><img src=" "><img><a></a>"""


def followed(*follow, parser="lexbor", body=PAGE):
    page = extract(body, URL, Joiner(), follow=frozenset(follow), parser=parser)
    return [url.removeprefix("http://a.example/b/") for url in page.links]


@pytest.mark.parametrize("parser", ["lexbor", "html5lib"])
def test_usual(parser):
    """The usual elements give the same page whether they are named or not."""
    named = extract(PAGE, URL, Joiner(), follow=frozenset(USUAL), parser=parser)
    assert named == extract(PAGE, URL, Joiner(), parser=parser)


@pytest.mark.parametrize("parser", ["lexbor", "html5lib"])
@pytest.mark.parametrize(
    ("element", "found"),
    [
        ("a", ["a"]),
        ("area", ["ar"]),
        ("link", ["c", "n"]),
        ("meta", ["m"]),
        ("iframe", ["if"]),
        ("img", ["i1", "i3"]),
        ("video", ["v", "p"]),
        ("source", ["s", "s2"]),
        ("object", ["o"]),
        ("script", ["js"]),
        ("track", []),
    ],
)
def test_one(element, found, parser):
    """An element that is named gives its references, and no other does."""
    assert followed(element, parser=parser) == found


def test_what_a_page_says_of_itself_does_not_depend_on_it():
    """Title, base, canonical and directives are read whatever is followed; nofollow links are of `a` and `area`."""
    page = extract(PAGE, URL, Joiner(), follow=frozenset({"img"}))
    assert (page.title, page.canonical, page.robots) == ("T", "http://a.example/b/c", ("noarchive",))
    assert page.nofollow == ()
    page = extract(PAGE, URL, Joiner(), follow=frozenset({"a"}))
    assert page.nofollow == ("http://a.example/b/nf",)


@pytest.mark.parametrize("parser", ["lexbor", "html5lib"])
def test_elements_of_pictures_do_not_count(parser):
    """What is called base or link in SVG is none."""
    body = b"<svg><base href=/other/></base><link rel=canonical href=c></link></svg><a href=a></a>"
    page = extract(body, URL, Joiner(), follow=frozenset({"a", "link"}), parser=parser)
    assert (page.links, page.canonical) == (("http://a.example/d/a",), None)


def test_the_first_base_counts():
    """A later base is ignored, as in the usual way."""
    assert followed("img", body=b"<base href=/b/><base href=/c/><base><img src=x>") == ["x"]


@pytest.mark.parametrize(
    ("srcset", "found"),
    [
        ("", ""),
        (" , ", ""),
        ("a 1x", "a"),
        ("a 1x, b 2x", "b"),
        ("a 2x, b", "a"),
        ("a 100w, b 50w", "a"),
        ("a 100w 50h, b 200w", "b"),
        ("a 1.5x,b 2.5x", "b"),
        ("data:image/png;base64,AA 1x, b 2x", "b"),
        ("a 0x", ""),
        (f"a {'9' * 500}w, b 2w", "b"),
        ("a 1e999x, b 2x", "b"),
        ("a (b, c 9x ), d 2x", "d"),
        ("a  (b c), d, e (", "d"),
        ("a 1x 3x, b", "b"),
        ("a 9w 1x, b", "b"),
        ("a 1e1x, b 9x", "a"),
        ("a .5E+1x, b 4.9x", "a"),
        ("a 9.x, b +9x, c 1 5x, d", "d"),
        ("a 9h, b 2w", "b"),
        ("a 9w 9w, b 9W, c 0w 2h, d 1w 0h, e 3h 1w", "e"),
        ("a, b 2x,,, c 3x ,", "c"),
        ("a,b 1x, c", "a,b"),
        ("a\u00a09x, b 2x", "b"),
        ("\ta\n2x\f,\rb\t3x\t", "b"),
    ],
)
def test_largest(srcset, found):
    """Of the candidates that are valid by the standard, the one with the largest descriptor counts, or the first."""
    assert largest(srcset) == found


def test_selector_names_each_attribute():
    """A selector finds each element by each of its attributes."""
    assert selector("a[href]", USUAL) == "a[href]"
    assert selector("a[href]", ELEMENTS).count(",") == len(ELEMENTS) - len(USUAL) + 3
    assert references("p", {"src": "x"}) == []
    assert references("a", {"href": ""}) == []
