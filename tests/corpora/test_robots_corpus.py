"""robots.txt in the wild, and the cases by which others judge a parser.

The corpora lie in `$FSCRAWL_CORPORA`, else in `../shared/data` beside the repository: 500 files as found on the web,
and the 142 cases of google/robotstxt. `DIFFERENCES` lists the cases that are answered otherwise; a difference that is
not listed fails, and so does a listed one that is gone.
"""

import json
import os
import time
from collections import Counter
from pathlib import Path

import pytest

from fscrawl.robots import Rules
from fscrawl.urls import normalise

ROOT = Path(__file__).parents[2]
CORPUS = Path(os.environ.get("FSCRAWL_CORPORA") or ROOT / ".." / "shared" / "data")
CASES = CORPUS / "robots-cases.json"
REAL = CORPUS / "robots-real"
AGENT = "fscrawl/1.0 (+http://a.example/)"
MAX_CPU_S = 0.05  # the longest takes 0.005 on a slow machine

UNKNOWN_LINE = "an unknown line between two user-agent lines begins a new group"
FIRST_WORD = "a user-agent line of two words is compared whole, not by its first word"
RAW_URL = "the URL is encoded before it is compared; what is asked here is a normal form, which is encoded already"
ESCAPED_LETTERS = "letters that were %-escaped match themselves, as RFC 9309 2.2.2 has it and Google does not"
DIFFERENCES = {  # name/number of a case within its test → why Protego 0.7 answers otherwise
    "ID_LineSyntax_Groups_OtherRules/3": UNKNOWN_LINE,
    **{f"ID_UserAgentValueCaseInsensitive/{number}": FIRST_WORD for number in (4, 5, 6, 10, 11, 12)},
    "GoogleOnly_AcceptUserAgentUpToFirstSpace/1": FIRST_WORD,
    "ID_Encoding/3": RAW_URL,
    "ID_Encoding/5": RAW_URL,
    "ID_Encoding/6": ESCAPED_LETTERS,
}

needs_corpus = pytest.mark.skipif(not CASES.is_file(), reason=f"no robots.txt corpus: {CASES} is missing")


@needs_corpus
def test_cases():
    """Every case is answered as expected, but for the listed ones."""
    cases = json.loads(CASES.read_text("utf-8"))
    assert len(cases) == 142
    numbers: Counter[str] = Counter()
    found = set()
    for case in cases:
        numbers[case["test"]] += 1
        if Rules(case["robots"], case["agent"]).allows(case["url"]) != case["allowed"]:
            found.add(f"{case['test']}/{numbers[case['test']]}")
    assert found == set(DIFFERENCES)


@needs_corpus
def test_real_files():
    """Every real file is read and asked without an exception, in little time."""
    files = sorted(REAL.iterdir())
    assert len(files) == 500
    slow = {}
    for file in files:
        text = file.read_bytes().decode("utf-8", "replace")
        url = normalise(f"http://{file.name}/a/page.html?q=1")
        began = time.process_time()
        rules = Rules(text, AGENT)
        assert rules.allows(url) in {True, False}
        assert 0 <= rules.delay_s < 86400
        assert all(rules.sitemaps)
        took = time.process_time() - began
        if took > MAX_CPU_S:
            slow[file.name] = took
    assert slow == {}
