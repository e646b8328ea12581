"""The words that stand for request flags in feeds and queues; they are part of format 1."""

import copy
import pickle

import pytest

from fscrawl.frontier.flags import NO_FLAGS, REFRESH, SITEMAP, SITEMAP_PART, Flags, format_flags, parse_flags

WORDS = {
    "": NO_FLAGS,
    "sitemap": Flags(SITEMAP),
    "sitemap-part": Flags(SITEMAP_PART),
    "again=2026-01-02T03:04:05.678Z": Flags(retry_of="2026-01-02T03:04:05.678Z"),
    "again=t,sitemap": Flags(SITEMAP, retry_of="t"),
    "refresh": REFRESH,
    "gave-up=http-5xx": Flags(given_up="http-5xx"),
    "gave-up=dns,sitemap-part": Flags(SITEMAP_PART, given_up="dns"),
    "gave-up=dns,again=t": Flags(retry_of="t", given_up="dns"),
    "label=day%201%2C%20%C3%BC": Flags(label="day 1, ü"),
    "again=t,label=a": Flags(retry_of="t", label="a"),
    "refresh,label=a": Flags(refresh=True, label="a"),
    "label=a,sitemap-part": Flags(SITEMAP_PART, label="a"),
    "gave-up=dns,again=t,label=a": Flags(retry_of="t", given_up="dns", label="a"),
    "redirects=3": Flags(redirects=3),
    "label=a,redirects=12,sitemap": Flags(SITEMAP, label="a", redirects=12),
    "again=t,redirects=1": Flags(retry_of="t", redirects=1),
    "refresh,redirects=1": Flags(refresh=True, redirects=1),
    "gave-up=dns,again=t,sitemap": Flags(SITEMAP, "t", given_up="dns"),
}


@pytest.mark.parametrize("word", WORDS)
def test_there_and_back(word):
    """Each word stands for its flags, and the flags are written as that word."""
    assert parse_flags(word) == WORDS[word]
    assert format_flags(WORDS[word]) == word


@pytest.mark.parametrize(
    "word",
    [
        *("", "nonsense", "again=", "gave-up=", "refresh=1", "a,b", ",", "label=", "label=%0a", "label=%20x"),
        *("redirects=", "redirects=0", "redirects=x", "redirects=-1", f"redirects={'9' * 5000}"),
    ],
)
def test_nothing_known(word):
    """A word that this version does not know stands for no flags: the URL is fetched as any other."""
    assert parse_flags(word) is NO_FLAGS


@pytest.mark.parametrize("word", ["nonsense,sitemap", "again=,sitemap", "refresh,sitemap"])
def test_half_known(word):
    """What is known of a word counts."""
    assert parse_flags(word) == Flags(SITEMAP)


@pytest.mark.parametrize("flags", WORDS.values(), ids=format_flags)
def test_pickle(flags):
    """Flags cross a pipe as they are, and no flags are the same object on its other side."""
    back = pickle.loads(pickle.dumps(flags))
    assert back == flags == copy.copy(flags)
    assert (back is NO_FLAGS) == (flags is NO_FLAGS)


@pytest.mark.parametrize("word", WORDS)
def test_wanted_again(word):
    """Only a retry and a refresh are fetched although they were seen."""
    assert parse_flags(word).wanted_again == ("again" in word or word.startswith("refresh"))
    assert parse_flags(word).led_back == word.startswith("refresh,redirects=")


def test_host_given_up():
    """Of a host that was given up, a failed sitemap is still a sitemap; and what was asked for is still a retry."""
    assert NO_FLAGS.with_host_given_up("dns") == Flags(given_up="dns")
    assert Flags(SITEMAP, retry_of="t").with_host_given_up("dns") == Flags(SITEMAP, "t", given_up="dns")
