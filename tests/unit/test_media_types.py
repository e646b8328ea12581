"""Whether a body is what its Content-Type says."""

import time

import pytest

from fscrawl.parse.media_types import NO_MEANING, Ranges, is_range, type_of

MAGIC = {
    b"%PDF-1.7\n": "application/pdf",
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR": "image/png",
    b"GIF87a\1\0": "image/gif",
    b"GIF89a\1\0": "image/gif",
    b"\xff\xd8\xff\xe0\0\x10JFIF": "image/jpeg",
    b"PK\3\4\x14\0": "application/zip",
    b"\x1f\x8b\x08\0": "application/gzip",
    b"BZh91AY": "application/x-bzip2",
    b"\xfd7zXZ\0\0\4": "application/x-xz",
    b"\x28\xb5\x2f\xfd\4": "application/zstd",
    b"7z\xbc\xaf\x27\x1c\0\4": "application/x-7z-compressed",
    b"Rar!\x1a\x07\1\0": "application/x-rar-compressed",
    b"\x7fELF\2\1\1": "application/x-executable",
    b"wOFF\0\1\0\0": "font/woff",
    b"wOF2\0\1\0\0": "font/woff2",
    b"OggS\0\2": "application/ogg",
    b"ID3\4\0": "audio/mpeg",
    b"\x1a\x45\xdf\xa3\x9f": "video/webm",
    b"\0\0\1\0\1\0": "image/x-icon",
    b"\0\0\0\x18ftypmp42": "video/mp4",
    b"RIFF\x24\0\0\0WEBPVP8 ": "image/webp",
    b"RIFF\x24\0\0\0WAVEfmt ": "audio/wave",
    b"RIFF\x24\0\0\0AVI LIST": "video/avi",
}


@pytest.mark.parametrize("media_type", ["text/html", "", "application/octet-stream", "text/plain"])
@pytest.mark.parametrize("body", MAGIC)
def test_binary_formats(body, media_type):
    """A body that begins as a binary format does is of that format, whatever the header says."""
    assert type_of(body, media_type) == MAGIC[body]


@pytest.mark.parametrize("body", [magic[:-1] for magic in (b"%PDF-", b"GIF89a", b"PK\3\4", b"ID3")])
def test_part_of_a_beginning_is_none(body):
    """Half of a format's beginning is not that format."""
    assert type_of(body, "text/html") == "text/html"


@pytest.mark.parametrize("body", [b"RIFF", b"RIFF\0\0\0\0CDXA", b"\0\0\0\x18fty", b" %PDF-1.7", b"<p>%PDF-1.7", b""])
def test_page_by_its_header(body):
    """What begins as no known format is what a header that says something calls it."""
    assert type_of(body, "text/html") == "text/html"


@pytest.mark.parametrize(
    "beginning",
    [
        "<!DOCTYPE html>",
        "<!doctype\n html >",
        "<HTML lang=de>",
        "<head>",
        "<body/>",
        "<title>",
        "<script >",
        "<iframe\n",
        "<h1>",
        "<div ",
        "<font\t",
        "<table>",
        "<a href=x>",
        "<style>",
        "<b>",
        "<br>",
        "<br/>",
        "<p>",
        "<meta charset=utf-8>",
        "<!-- x -->",
        "<!---->",
        "<!-->",
        "\n\t <p>",
        "\r\n\f<p>",
        "\ufeff \n<p>",
    ],
)
def test_page_by_its_beginning(beginning):
    """Under a type that says nothing a body is a page if, after white space, it begins with a tag of pages."""
    assert {type_of(beginning.encode(), media_type) for media_type in NO_MEANING} == {"text/html"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" \n",
        b"a,b\n1,2",
        b"x<html>",
        b"<",
        b"<p",
        b"<htmlx>",
        b"<heading>",
        b"<section>",
        b"<!DOCTYPE svg>",
        b"<!doctypehtml>",
        b"<?xml version='1.0'?><html>",
        b"\xfe\xff\0<\0p\0>",
        b"\xef\xbb\xbf\xef\xbb\xbf<p>",
        b"{}",
    ],
)
def test_no_page_by_its_beginning(body):
    """Under a type that says nothing anything else stays of that type, or of an unknown one."""
    for media_type in NO_MEANING:
        assert type_of(body, media_type) == (media_type or "unknown/unknown")


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/xhtml+xml", "text/html", "text/xml", "image/svg+xml"]
)
def test_text_stays_text(media_type):
    """A type that says something is believed of text: markup sent as text/plain is not looked for."""
    assert type_of(b"a,b", media_type) == media_type
    assert type_of(b"<html>", media_type) == media_type


@pytest.mark.parametrize(
    "media_type",
    ["application/pdf", "application/json", "image/png", "video/mp4", "application/problem+json", "font/woff"],
)
def test_page_in_place_of_a_file(media_type):
    """What never begins like HTML, and does, is a page: a server sends a login page in place of a file."""
    assert type_of(b"<!DOCTYPE html><p>", media_type) == "text/html"
    assert type_of(b"{}", media_type) == media_type


@pytest.mark.parametrize(
    ("body", "named", "type_"),
    [
        (b"PK\3\4", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", None),
        (b"PK\3\4", "application/epub+zip", None),
        (b"PK\3\4", "application/pdf", "application/zip"),
        (b"PK\3\4", "text/csv", "application/zip"),
        (b"OggS\0", "audio/ogg", None),
        (b"\0\0\0\x18ftypavif", "image/avif", None),
        (b"\x1f\x8b\x08", "image/svg+xml", "application/gzip"),
        (b"\x89PNG\r\n\x1a\n", "image/jpeg", "image/png"),
        (b"%PDF-1.4", "application/x-download", "application/pdf"),
    ],
)
def test_containers(body, named, type_):
    """A format that others are built on leaves a type that may be one of them; any other decides."""
    assert type_of(body, named) == (type_ or named)


def test_ranges():
    """A range stands for a type, all types of a kind, or all."""
    some = Ranges(["text/html", "image/*"])
    assert [each in some for each in ("text/html", "image/png", "text/plain", "")] == [True, True, False, False]
    assert "" in Ranges(["*/*"])
    assert some.may_be_unnamed
    assert not Ranges(["text/plain"]).may_be_unnamed


@pytest.mark.parametrize("text", ["", "pdf", "*", "*/pdf", "text/html;q=1", "Text/HTML", "text/", "text/*x", "a/b/c"])
def test_no_range(text):
    """Anything else than a type in lower case, or a range, is none."""
    assert not is_range(text)


@pytest.mark.parametrize("body", [b" " * 5_000_000, b"<" * 5_000_000, b"<!doctype" + b" " * 5_000_000 + b"x"])
def test_time_is_linear(body):
    """A body of blanks costs one look at each."""
    before = time.process_time()
    assert type_of(body, "") == "unknown/unknown"
    assert time.process_time() - before < 2
