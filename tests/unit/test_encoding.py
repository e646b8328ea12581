"""What encoding a page is in: each step of the WHATWG order, and what is done where nobody said."""

import pytest
import webencodings
from hypothesis import given
from hypothesis import strategies as st

from fscrawl.parse.encoding import decode, sniff_encoding

FRENCH = "<p>Cet été, la façade du théâtre où j'ai été élève a été refaite à la chaux."
RUSSIAN = "<p>Привет, мир: это страница о погоде и о природе, и написано здесь о многом."


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"\xef\xbb\xbf<meta charset=big5>", "utf-8"),
        (b"\xfe\xff\0a", "utf-16be"),
        (b"\xff\xfea\0", "utf-16le"),
    ],
)
def test_byte_order_mark_wins(body, expected):
    """A byte order mark beats the HTTP header and the page's own declaration."""
    assert sniff_encoding(body, "text/html; charset=koi8-r") == expected


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("text/html; charset=Shift-JIS", "shift_jis"),
        ('text/html;charset="latin1"', "windows-1252"),
        ("text/html; charset=utf-16", "utf-16le"),
        ("text/html; charset=martian", "big5"),
        ("text/html; charset=", "big5"),
        ('text/html; charset=""', "big5"),
        ("text/html", "big5"),
        ("", "big5"),
        (None, "big5"),
    ],
)
def test_http_header_beats_meta(header, expected):
    """The header's charset counts if it is a known label, else the page's declaration does."""
    assert sniff_encoding(b"<meta charset=big5>", header) == expected


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"<meta charset='koi8-r'>", "koi8-r"),
        (b'<META\nCharSet = "KOI8-R" />', "koi8-r"),
        (b"<meta/charset=koi8-r>", "koi8-r"),
        (b'<meta http-equiv=Content-Type content="text/html; charset=koi8-r">', "koi8-r"),
        (b"<meta content='text/html; charset=\"koi8-r\"' http-equiv=content-type>", "koi8-r"),
        (b"<meta content=\"charset='koi8-r'\" http-equiv=content-type>", "koi8-r"),
        (b"<meta charset=utf-16>", "utf-8"),
        (b"<meta charset=x-user-defined>", "windows-1252"),
        (b"<!-- <meta charset=big5> --><meta charset=koi8-r>", "koi8-r"),
        (b"<!--><meta charset=koi8-r>", "koi8-r"),
        (b"<!DOCTYPE html><?x?></1><p title='<meta charset=big5>'><meta charset=koi8-r>", "koi8-r"),
        (b"<meta charset=martian><meta charset=koi8-r>", "koi8-r"),
        (b"<meta charset=koi8-r charset=big5>", "koi8-r"),
        (b"<meta name=x =y charset=koi8-r>", "koi8-r"),
    ],
)
def test_prescan_finds_declaration(head, expected):
    """The prescan reads meta elements as a tokeniser would: quotes, comments, the first of repeated attributes."""
    assert sniff_encoding(head) == expected


@pytest.mark.parametrize(
    "head",
    [
        b'<meta content="text/html; charset=koi8-r">',
        b"<meta http-equiv=content-type content=text/html>",
        b"<metacharset=koi8-r>",
        b"<!-- <meta charset=koi8-r>",
        b"<!x <meta charset=koi8-r",
        b"<meta charset=koi8-r",
        b"<meta charset='koi8-r>",
        b"<" + b"p" * 1024 + b"><meta charset=koi8-r>",
        b"<?xml version='1.0'?>",
        b"",
    ],
)
def test_prescan_finds_none(head):
    """What is no declaration, or not within the first 1024 bytes, leaves a page of ASCII at UTF-8."""
    assert sniff_encoding(head) == "utf-8"


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ('<!DOCTYPE html>\n<html lang="a>b">\n<head>\n<!-- x --><meta charset="UTF-8" />', "utf-8"),
        ('<html><head><meta charset="utf-8">', "utf-8"),
        ('<html><head><meta charset="utf-8/"><meta charset=latin1>', "windows-1252"),
        ('<html a=">\n<head><meta charset="utf-8"><meta charset=latin1>', "windows-1252"),
        ('<html><head><!-- <meta charset="utf-8"> --><meta charset=latin1>', "windows-1252"),
    ],
)
def test_usual_beginning(head, expected):
    """What looks like the usual beginning of a page is read as any other."""
    assert sniff_encoding(head.encode() + b"\xe9 ") == expected


def test_xml_declaration():
    """An XML declaration counts where no meta does; one in UTF-16 is recognised by its bytes."""
    xml = '<?xml version="1.0" encoding="koi8-r"?>'
    assert sniff_encoding(xml.encode()) == "koi8-r"
    assert sniff_encoding(xml.encode() + b"<meta charset=big5>") == "big5"
    assert sniff_encoding(xml.encode("utf-16-le")) == "utf-16le"
    assert sniff_encoding(xml.encode("utf-16-be")) == "utf-16be"


def test_undeclared_utf8():
    """Valid UTF-8 is UTF-8, also where a size limit cut its last character in two."""
    assert sniff_encoding("<p>é".encode()) == "utf-8"
    assert sniff_encoding("<p>é".encode()[:-1]) == "utf-8"


def test_undeclared_and_not_utf8():
    """Otherwise the text is looked at: Cyrillic is told by its letters, French is windows-1252."""
    assert sniff_encoding(RUSSIAN.encode("cp1251")) == "windows-1251"
    assert sniff_encoding(RUSSIAN.encode("koi8-r")) == "koi8-r"
    assert sniff_encoding(FRENCH.encode("cp1252")) == "windows-1252"
    assert sniff_encoding("こんにちは世界。これは日本語のページです。".encode("shift_jis")) == "shift_jis"


def test_late_declaration():
    """A declaration beyond the first 1024 bytes is better than a guess."""
    assert sniff_encoding(b"<!--" + b"x" * 2000 + b"--><meta charset=iso-8859-2>\xb1") == "iso-8859-2"


def test_binary_is_windows_1252():
    """Bytes that no encoding explains are windows-1252, the browsers' fallback."""
    assert sniff_encoding(bytes(range(256)) * 100) == "windows-1252"


def test_lying_declaration():
    """A declaration that lies is followed, and what does not fit becomes U+FFFD."""
    body = b"<meta charset=utf-8>" + "é".encode("latin-1")
    assert decode(body, sniff_encoding(body)).endswith("\ufffd")
    assert sniff_encoding("<meta charset=latin1>é".encode()) == "windows-1252"


def test_byte_order_mark_is_no_text():
    """The byte order mark is left out of the text, and stays where it is of another encoding."""
    assert decode(b"\xff\xfea\0", "utf-16le") == "a"
    assert decode(b"\xef\xbb\xbfa", "utf-8") == "a"
    assert decode(b"\xff\xfea\0", "windows-1252") == "ÿþa\0"


@given(st.binary(), st.one_of(st.none(), st.text()))
def test_any_bytes(body, header):
    """Any bytes and any header have an encoding, and are text in it."""
    encoding = sniff_encoding(body, header)
    found = webencodings.lookup(encoding)
    assert found is not None
    assert found.name == encoding
    assert isinstance(decode(body, encoding), str)


@given(st.binary(), st.sampled_from(sorted(set(webencodings.LABELS.values()))))
def test_any_encoding(body, encoding):
    """Every encoding decodes any bytes."""
    assert isinstance(decode(body, encoding), str)
