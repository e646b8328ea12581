"""What encoding a page is in: each step of the WHATWG order, and what is done where nobody said."""

import sys

import pytest
import webencodings
from hypothesis import given
from hypothesis import strategies as st

from fscrawl.parse.encoding import decode, sniff, sniff_encoding, sniff_xml

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
        b"<?xml version='1.0'?>",
        b"",
    ],
)
def test_prescan_finds_none(head):
    """What is no declaration leaves a page of ASCII at UTF-8."""
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


@pytest.mark.parametrize(
    ("text", "codec", "host", "expected"),
    [
        (RUSSIAN, "cp1251", "a.example", "windows-1251"),
        (RUSSIAN, "koi8-r", "a.example", "koi8-u"),
        (RUSSIAN, "iso8859-5", "a.example", "iso-8859-5"),
        (FRENCH, "cp1252", "a.example", "windows-1252"),
        ("<title>Voilà</title><p>Voilà la page.</p>", "cp1252", "a.example", "windows-1252"),
        ("<p>Příliš žluťoučký kůň úpěl ďábelské ódy.", "cp1250", "a.cz", "windows-1250"),
        ("<p>Bu sayfada şehirler ve güzel günler için bilgiler var.", "cp1254", "a.example.com.tr", "windows-1254"),
        ("<p>Αυτή είναι μια σελίδα για τον καιρό.", "cp1253", "a.example", "windows-1253"),
        ("<p>זה דף על מזג האוויר ועל הטבע", "cp1255", "a.example", "windows-1255"),
        ("<p>هذه صفحة عن الطقس والطبيعة", "cp1256", "a.example", "windows-1256"),
        ("<p>นี่คือหน้าเกี่ยวกับสภาพอากาศ", "cp874", "a.example", "windows-874"),
        ("<p>こんにちは世界。これは日本語のページです。", "shift_jis", "a.example", "shift_jis"),
        ("<p>こんにちは世界。これは日本語のページです。", "euc_jp", "a.example", "euc-jp"),
        ("<p>こんにちは世界。これは日本語のページです。", "iso2022_jp", "a.example", "iso-2022-jp"),
        ("<p>这是一个关于天气的网页，内容很多。", "gbk", "a.example", "gbk"),
        ("<p>这是一个关于天气的网页㐀㐁，内容很多。", "gb18030", "a.example", "gbk"),
        ("<p>這是一個關於天氣的網頁，內容很多。", "big5", "a.example", "big5"),
        ("<p>이것은 날씨에 관한 페이지입니다.", "cp949", "a.example", "euc-kr"),
        ("a" * 300_000 + RUSSIAN * 2000, "cp1251", "a.example", "windows-1251"),
        ("a" * 64_000 + "这是一个关于天气的网页" * 100, "gbk", "a.example", "gbk"),
    ],
)
def test_guesses(text, codec, host, expected):
    """Without a declaration, the bytes are looked at as Firefox does it, from the first that are not ASCII on."""
    assert sniff(text.encode(codec), "text/html", f"http://{host}/") == (expected, "guessed")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.example.jp/?b=c.kr", "euc-jp"),
        ("https://u.kr:p@A.JP.:8080", "euc-jp"),
        ("http://a.kr/x.jp", "euc-kr"),
        ("http://a.xn--p1ai/", "windows-1251"),
        ("http://127.0.0.1/", "windows-1252"),
        ("http://[::1]:80/", "windows-1252"),
        ("http://localhost/", "windows-1252"),
        ("http://a.É/", "windows-1252"),
        ("", "windows-1252"),
    ],
)
def test_country(url, expected):
    """The last name of a page's host decides where the bytes do not: so little text may be of any language."""
    assert sniff_encoding(b"<p>\xc4\xe3", None, url) == expected


def test_late_declaration():
    """A declaration beyond the first 1024 bytes is better than a guess, but not one in a script or a text."""
    late = b"<!--" + b"x" * 2000 + b"--><meta charset=iso-8859-2>"
    assert sniff(late + b"\xb1") == sniff(late) == sniff(late + "é".encode()) == ("iso-8859-2", "declared")
    kanji = "漢字".encode("iso2022_jp")
    assert (
        sniff_encoding(b" " * 2000 + b"<META http-equiv=content-type content='a; charset=iso-2022-jp'>" + kanji)
        == "iso-2022-jp"
    )
    assert sniff_encoding(b" " * 2000 + b"<script>'<meta charset=koi8-r>'</SCRIPT ><meta charset=big5>") == "big5"
    for name in (b"script", b"title", b"textarea", b"style"):
        hidden = b" " * 2000 + b"<" + name + b"><meta charset=koi8-r>"
        assert sniff(hidden + b"</" + name + b">") == sniff(hidden) == ("utf-8", "guessed")
    assert sniff_encoding(b" " * 70_000 + b"<meta charset=koi8-r>") == "utf-8"


@pytest.mark.parametrize(
    ("body", "header"),
    [
        (b"\xef\xbb\xbfa", None),
        (b"a", "text/html; charset=koi8-r"),
        (b"<meta charset=utf-8>", None),
        (b"<?xml version='1.0' encoding='utf-8'?>", None),
    ],
)
def test_declared(body, header):
    """A byte order mark, the header, a meta element and an XML declaration declare an encoding."""
    assert sniff(body, header).source == "declared"


@pytest.mark.parametrize(
    ("head", "header", "expected"),
    [
        (b"<rss>", "text/xml; charset=ISO-8859-1", "windows-1252"),
        (b"<?xml version='1.0' encoding='koi8-r'?>", "application/rss+xml;charset='utf-8'", "koi8-r"),
        (b"<?xml version='1.0' encoding='koi8-r'?>", 'application/rss+xml; charset="utf-8"', "utf-8"),
        (b"\n <?xml version='1.0' encoding='koi8-r'?>", "text/xml", "koi8-r"),
        (b"\xef\xbb\xbf<?xml version='1.0' encoding='koi8-r'?>", "text/xml; charset=big5", "utf-8"),
        (b"\xfe\xff\0<", "text/xml; charset=utf-8", "utf-16be"),
        ("<?xml version='1.0'?>".encode("utf-16-le"), "text/xml", "utf-16le"),
        (b"<rss>\xe9<meta charset=koi8-r>", "text/xml; charset=nonsense", "utf-8"),
    ],
)
def test_xml(head, header, expected):
    """XML is in what its byte order mark, the header, or its declaration says, in this order; else it is UTF-8."""
    assert sniff_xml(head, header) == expected


def test_no_detector(monkeypatch):
    """Where there is no detector, what is not UTF-8 is windows-1252, the browsers' fallback."""
    monkeypatch.setitem(sys.modules, "chardetng_py", None)
    assert sniff(RUSSIAN.encode("cp1251")) == ("windows-1252", "guessed")


def test_binary():
    """Bytes that no encoding explains have one, too."""
    assert sniff(bytes(range(256)) * 100).source == "guessed"


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
