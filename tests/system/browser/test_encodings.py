"""The encodings of browsers, asked of a browser: every pair of bytes, and every character of two planes."""

import pytest

from fscrawl.parse.legacy_encodings import decode, encode_query
from tests.unit.test_legacy_encodings import MULTIBYTE

DECODE = """name => {
    const texts = [];
    const add = bytes => texts.push(new TextDecoder(name, {ignoreBOM: true}).decode(new Uint8Array(bytes)));
    for (let lead = 128; lead < 256; lead++) for (let trail = 0; trail < 256; trail++) add([lead, trail]);
    return texts;
}"""
ENCODE = """characters => {
    const link = document.createElement("a");
    return characters.map(each => { link.setAttribute("href", "http://a.example/?" + each); return link.search; });
}"""
NOT_IN_CHROMIUM = {b"\x88\x62", b"\x88\x64", b"\x88\xa3", b"\x88\xa5"}  # each is two characters, of which it has one


@pytest.mark.parametrize("encoding", MULTIBYTE)
def test_pairs(open_page, encoding):
    """Every pair of bytes is decoded, and every character is encoded in a query, as Chromium does it."""
    page = open_page()
    page.goto(f"data:text/html;charset={encoding},<p>")
    pairs = [bytes([lead, trail]) for lead in range(0x80, 0x100) for trail in range(0x100)]
    found = dict(zip(pairs, page.evaluate(DECODE, encoding), strict=True))
    assert {pair for pair, text in found.items() if decode(pair, encoding) != text} <= NOT_IN_CHROMIUM
    characters = [chr(code) for code in (*range(0x80, 0xD800), *range(0xE000, 0x10000), *range(0x20000, 0x2A6E0))]
    queries = page.evaluate(ENCODE, characters)
    wrong = [each for each, it in zip(characters, queries, strict=True) if f"?{encode_query(each, encoding)}" != it]
    assert wrong == []
