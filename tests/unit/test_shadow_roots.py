"""Shadow roots in a stored DOM."""

from __future__ import annotations

import pytest

from fscrawl.parse.shadow_roots import opened

OPEN = '<template shadowrootmode="open">'


@pytest.mark.parametrize(
    ("dom", "seen"),
    [
        ("<p>a<template>b</template>", "<p>a<template>b</template>"),
        (f"<x>{OPEN}a</template></x>", "<x><shadow-root>a</shadow-root></x>"),
        (f"{OPEN}a{OPEN}b</template></template>", "<shadow-root>a<shadow-root>b</shadow-root></shadow-root>"),
        (f"<script>'{OPEN}'</script>{OPEN}a</template>", f"<script>'{OPEN}'</script><shadow-root>a</shadow-root>"),
        (f"<!-- {OPEN} -->", f"<!-- {OPEN} -->"),
        (f"</template>{OPEN}a", "</template><shadow-root>a"),
        (f"{OPEN}a</template><!-- {OPEN}", f"<shadow-root>a</shadow-root><!-- {OPEN}"),
        (
            f"{OPEN}a</template><plaintext>{OPEN}</plaintext>",
            f"<shadow-root>a</shadow-root><plaintext>{OPEN}</plaintext>",
        ),
    ],
)
def test_opened(dom: str, seen: str) -> None:
    """Only shadow roots are opened: no templates, no texts that look like one; a stray end changes nothing."""
    assert opened(dom.encode()) == seen.encode()


@pytest.mark.parametrize("text", ["<!--", "<script", "<template", "<template>", "<plaintext><!--", "</template>"])
def test_a_dom_of_endless_beginnings(text: str) -> None:
    """A megabyte of what looks like the beginning of something takes no time that anybody would notice."""
    dom = f"{OPEN}a</template>".encode() + text.encode() * (1_000_000 // len(text))
    assert opened(dom).startswith(b"<shadow-root>a</shadow-root>")
