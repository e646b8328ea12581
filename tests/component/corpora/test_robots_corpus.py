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

from fscrawl.politeness.robots import Rules
from fscrawl.urls import normalise

ROOT = Path(__file__).parents[3]
CORPUS = Path(os.environ.get("FSCRAWL_CORPORA") or ROOT / ".." / "shared" / "data")
CASES = CORPUS / "robots-cases.json"
REAL = CORPUS / "robots-real"
AGENT = "fscrawl/1.0 (+http://a.example/)"
MAX_CPU_S = 0.05  # the longest takes 0.005 on a slow machine

DIFFERENCES = {  # name/number of a case within its test → why it is answered otherwise
    # The RFC against the case: its table in 2.2.2 has a rule of %62%61%7A match "baz". Both cannot be had, since the
    # next case wants the same rule to match a URL of %62%61%7A, which the RFC has unescaped before it is compared.
    "ID_Encoding/6": "RFC 9309 2.2.2 has escaped letters match themselves, and Google does not",
    "GoogleOnly_AcceptUserAgentUpToFirstSpace/2": "a crawler is known by its header's product token, here Foo",
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
def test_differences():
    """The RFC's own cases are answered as expected, but for the one that contradicts it."""
    assert {name for name in DIFFERENCES if not name.startswith("GoogleOnly_")} == {"ID_Encoding/6"}


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
        assert rules.forbidding_line(url) is None or rules.forbidding_line(url) in text
        took = time.process_time() - began
        if took > MAX_CPU_S:
            slow[file.name] = took
    assert slow == {}
