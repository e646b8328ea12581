"""What an index of searches takes for a word, and what a user may write to search for words. Pure.

Vocabulary:
  token    what is found: letters, digits and marks in a row, without case, Latin ones without accents
  single   a character that is a token of its own, since its script has no spaces between words (Chinese, Japanese,
           Thai) or joins particles to words (Korean). So a word of these is searched for as a phrase, and is found
           wherever it stands
  term     what a page must have: a word, a beginning of words (`word*`), or a phrase ("…")

SQLite's tokenizer cannot cut between singles, so `separated` puts a separator at each. With its trigram tokenizer, no
Chinese word of two characters would be found, which most are, and the index would be five times as large.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from fscrawl.errors import UsageError
from fscrawl.util.user_text import has_surrogates

TOKENIZER = "unicode61 remove_diacritics 2 categories 'L* M* N* Co'"
SEPARATOR = "\x1f"
HIT_BEGINS, HIT_ENDS = "\x02", "\x03"
_MOST_TERMS = 50
_MOST_CHARACTERS = 1000
_SINGLES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"  # Korean
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303b\u303c\u3040-\u30ff\u3100-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U0001b000-\U0001b16f\U00020000-\U0003ffff"
    "\U0001f000-\U0001faff"  # pictures, which SQLite takes for letters
)
_SINGLE = re.compile(f"[{_SINGLES}]")
_MARKERS = re.compile(f"[\0{HIT_BEGINS}{HIT_ENDS}{SEPARATOR}]")
_TERM = re.compile(r'(?P<minus>-?)(?:"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+))')
_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»", '"'))  # as word processors write them


def separated(text: str) -> str:
    """Return a text as it is put into an index, with separators around singles.

    >>> separated("Rust语言").replace(SEPARATOR, "|")
    'Rust|语||言|'
    """
    if text.isascii() and text.isprintable():
        return text
    text = _MARKERS.sub(" ", text)
    return text if text.isascii() else _SINGLE.sub(rf"{SEPARATOR}\g<0>{SEPARATOR}", text)


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for, in the language of FTS5. `terms`: those that a page must have, which `match` has, too."""

    match: str
    terms: tuple[str, ...]


def parse(text: str) -> Query:
    """Read what a user wrote: a page must have all words; `word*`, `"a phrase"`, `-without`. UsageError if it is wrong.

    >>> parse('rust "hash map" iter* -java')
    Query(match='("rust" AND "hash map" AND "iter"*) NOT ("java")', terms=('"rust"', '"hash map"', '"iter"*'))
    """
    if has_surrogates(text):
        raise UsageError("what is searched for must be UTF-8")
    text = _MARKERS.sub(" ", text).translate(_QUOTES)
    if len(text) > _MOST_CHARACTERS:
        raise UsageError(f"what is searched for has {len(text):,} characters; it may have {_MOST_CHARACTERS:,}")
    if text.count('"') % 2:
        raise UsageError('a phrase has a " at its beginning only; put another one at its end')
    wanted: list[str] = []
    unwanted: list[str] = []
    for found in _TERM.finditer(text):
        (unwanted if found["minus"] else wanted).append(_term(found))
    if len(wanted) + len(unwanted) > _MOST_TERMS:
        raise UsageError(f"these are more than {_MOST_TERMS} words; search for fewer")
    if not wanted:
        raise UsageError("nothing to search for; give a word that pages must have" + " besides -words" * bool(unwanted))
    terms = tuple(dict.fromkeys(wanted))
    match = " AND ".join(terms)
    return Query(f"({match}) NOT ({' OR '.join(unwanted)})" if unwanted else match, terms)


def _term(found: re.Match[str]) -> str:
    """Return a term in the language of FTS5, in which a string that has several tokens is a phrase."""
    word, phrase = found["word"], found["phrase"]
    begins = word is not None and word.endswith("*")
    said = word.removesuffix("*") if word is not None else phrase
    if "*" in said and word is not None:
        raise UsageError(f"{word}: a * can stand at the end of a word only")
    if not any(unicodedata.category(each)[0] in "LMN" or unicodedata.category(each) == "Co" for each in said):
        raise UsageError(f"{found[0]}: there is no letter or digit in it, and only these are searched for")
    return f'"{separated(said)}"{"*" * begins}'
