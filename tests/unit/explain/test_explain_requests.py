"""A URL that stands in the tree only as part of requests, such as those with sessions."""

from fscrawl.config.seeds import written_request
from fscrawl.util.installed import command
from tests.support.explained import MISSING, SEED, ask, line_of, names, say


def spelled(text):
    """Give the spelling of a request."""
    spelling = written_request(text)
    assert spelling is not None
    return spelling


def notes(found):
    return [note for note in found.notes if "request" in note]


def test_a_page_of_a_session_is_found_by_its_url(tree):
    """The URL of a page that was stored with a session leads to the request, whoever asked for it."""
    requests = [spelled(f"GET {MISSING} (session {n})") for n in (7, 8)]
    tree.page(requests[1], b"<p>of session 8")
    say(tree, line_of(tree, requests[0]))
    found = ask(tree, MISSING, seeds=(SEED, requests[1]))
    assert notes(found) == [
        f"a request for this URL is stored; to see it:  {command('show', tree.root)} 'GET {MISSING} (session 8)'",
        f"a request for this URL is known; to see it:  {command('show', tree.root)} 'GET {MISSING} (session 7)'",
    ]
    assert names(found) == ["not-discovered"]
    assert ask(tree, f"GET {MISSING} (session 8)").stored


def test_a_few_of_many_requests_are_named(tree):
    """Of a URL that is part of hundreds of requests, five are named, and it is said that there are more."""
    say(tree, *(line_of(tree, spelled(f"POST {MISSING} q={n}")) for n in range(300)))
    *named, last = notes(ask(tree, MISSING))
    assert len(named) == 5
    assert last == "there are more requests for this URL"


def test_no_request_is_named_where_it_is_no_answer(tree):
    """A URL that has a page itself, a request, and a URL that only begins alike get no such note."""
    request = spelled(f"GET {SEED} (session 7)")
    say(tree, line_of(tree, request))
    tree.fail(MISSING)
    assert not notes(ask(tree, SEED))
    assert not notes(ask(tree, request))
    assert not notes(ask(tree, "http://a.example/other"))
    assert not notes(ask(tree, MISSING, seeds=(SEED, spelled(f"GET {MISSING} (session 7)"))))
