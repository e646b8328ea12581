"""Both parsers, one answer: over the inputs of html5lib-tests. Over real pages: tests/system/corpus.

The corpora lie in `$FSCRAWL_CORPORA`, else in `../shared/data` beside the repository. `differences.toml` lists where
the answers differ, by reason; a difference that is not listed fails, and so does a listed one that is gone.
"""

import os
import re
import tomllib
from pathlib import Path

import pytest

from fscrawl.parse.encoding import sniff_encoding
from tests.support.parsers import differing

ROOT = Path(__file__).parents[3]
CORPUS = Path(os.environ.get("FSCRAWL_CORPORA") or ROOT / ".." / "shared" / "data") / "html5lib-tests"
DIFFERENCES = tomllib.loads(Path(__file__).with_name("differences.toml").read_text("utf-8"))
# What a parser makes of these tells in which state the input before them has left it.
TAIL = (
    b"<a href=/tail1>x</a><area href=/tail2><a rel=nofollow href=/tail3><base href=/b/><link rel=next href=tail4>"
    b"<meta name=robots content=noindex><title>end</title><p><a href=tail5>"
)
needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no html5lib-tests: {CORPUS} is missing")


def cases(folder: str, pattern: bytes) -> list[tuple[str, re.Match[bytes]]]:
    files = sorted((CORPUS / folder).glob("*.dat"))
    assert files
    return [(file.name, case) for file in files for case in re.finditer(pattern, file.read_bytes(), re.DOTALL)]


def listed(table: str) -> set[bytes]:
    return {text.encode() for reason in DIFFERENCES[table] for text in reason["inputs"]}


@pytest.mark.gate
@needs_corpus
@pytest.mark.parametrize("tail", [b"", TAIL], ids=["bare", "with-tail"])
def test_parsers_agree(tail):
    """Both parsers give the same page for every input, but for the listed ones."""
    inputs = {case[1] for _, case in cases("tree-construction", rb"(?:\A|\n)#data\n(.*?)\n#errors")}
    assert len(inputs) > 1500
    found = {body.removesuffix(tail) for body in differing([body + tail for body in inputs])}
    assert found == listed("with_tail" if tail else "bare")


@needs_corpus
def test_encodings():
    """Every encoding case gives the encoding it expects, but for the listed ones."""
    found: dict[str, dict[str, list[int]]] = {}
    for file in ("tests1.dat", "tests2.dat", "test-yahoo-jp.dat"):
        pattern = rb"#data\n(.*?)\n#encoding\n([^\n]+)"
        for number, case in enumerate((c for name, c in cases("encoding", pattern) if name == file), 1):
            got, expected = sniff_encoding(case[1]), case[2].decode().lower()
            if got != expected:
                found.setdefault(f"{expected} -> {got}", {}).setdefault(file, []).append(number)
    assert found == {reason["difference"]: reason["cases"] for reason in DIFFERENCES["encoding"]}
