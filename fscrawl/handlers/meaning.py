"""What an answer means: for its page, for its host, and for another attempt. Pure."""

from __future__ import annotations

from fscrawl import urls
from fscrawl.handlers.outcome import Health
from fscrawl.http.answers import Failed, Fetched
from fscrawl.parse.headers import REDIRECTS, locations
from fscrawl.request import ONCE, read, spelling

MOST_REDIRECTS = 20  # in a row: browsers give up there, too (https://fetch.spec.whatwg.org/#http-redirect-fetch)
OF_LOG_INS = frozenset({401, 403})  # by which a server says that it does not take who asks for somebody who may
_PASSING_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
_REFUSALS = frozenset({408, 425, 429})  # by which a server says that it has not begun with a request
_SILENT = frozenset({"dns", "connect", "timeout", "proxy"})  # classes of failures without an answer
_OF_OPENING = frozenset({"unexpected", "site"})  # and unsent: a session could not be opened, by what its site file says


def is_redirect(answer: Fetched) -> bool:
    """Tell whether an answer redirects to another URL. One that is too long for a URL is none, nor are two."""
    places = locations(answer.headers) if answer.status in REDIRECTS else []
    return len(places) == 1 and len(places[0]) <= urls.MAX_URL_CHARS


def one_too_many(redirects: int, answer: Fetched, target: str) -> Failed | None:
    """Give the failure of an answer that redirects to `target`, if too many `redirects` in a row have led to it.

    Each redirect is a task and a record of its own, and limits of pages do not count it.
    """
    if redirects < MOST_REDIRECTS:
        return None
    message = f"more than {MOST_REDIRECTS} redirects in a row: {redirects} have led here, and it redirects to {target}"
    return Failed("redirects", message, False, answer.status, answer.headers)


def bad_status(answer: Fetched) -> Failed:
    """Give the failure that a status means, if the answer is neither a page nor a redirect."""
    places = locations(answer.headers) if answer.status in REDIRECTS else []
    if len(places) > 1:
        message = f"the server answered {answer.status}, a redirect, with {len(places)} different values of Location"
        return Failed("protocol", message, False, answer.status, answer.headers)
    if places and len(places[0]) > urls.MAX_URL_CHARS:
        message = f"the target of the redirect has {len(places[0])} characters, more than {urls.MAX_URL_CHARS}"
        return Failed("too-large", message, False, answer.status, answer.headers)
    class_ = "http-5xx" if answer.status >= 500 else "http-4xx" if answer.status >= 400 else "protocol"
    message, retry = f"the server answered {answer.status}", answer.status in _PASSING_STATUSES
    if answer.status in REDIRECTS and not places:
        message += ", a redirect, without a Location header that says where to, and without a page"
    return Failed(class_, message, retry, answer.status, answer.headers)


def is_once(url: str) -> bool:
    """Tell whether a request may do something each time that a server gets it. `url`: its spelling.

    >>> [is_once(f"http://a.example/{each}") for each in ("", "#method=PUT", "#method=POST")]
    [False, False, True]
    """
    return "#" in url and read(url).method in ONCE


def may_be_done(failure: Failed) -> bool:
    """Tell whether a server may have done what it was asked for, although there is no page to show for it.

    A page that its site's rules do not expect is none to them: whoever writes such rules wants another one.
    """
    if failure.unsent or failure.class_ == "unexpected" or failure.status in _REFUSALS:
        return False
    return not (failure.status == 503 and "retry-after" in (failure.headers or {}))


def is_silence(failure: Failed) -> bool:
    """Tell whether the host sent no answer at all."""
    return failure.class_ in _SILENT


def health_of(failure: Failed) -> Health:
    """Tell whether a failure concerns the whole host, and not only one page.

    A log-in that is refused does, or each page would send it again: accounts are locked for that.
    """
    if failure.class_ in _SILENT:
        return "silent"
    if failure.of_session or (failure.unsent and failure.class_ in _OF_OPENING):
        return "failing"
    if failure.class_ == "tls" and failure.retry:  # it hung up in the handshake: there was no answer
        return "failing"
    return "failing" if failure.status in _PASSING_STATUSES or failure.class_ == "parse" else "answered"


# -- where a redirect of a request leads


_OF_CONTENT = ("content-", "digest", "last-modified", "repr-digest")  # beginnings of names (RFC 9110 15.4, RFC 9530)


def redirected(asked: str, status: int, target: str) -> str | None:
    """Give the spelling of the request that follows, by RFC 9110 15.4; None if it must not be sent.

        301, 302    a POST becomes a GET, as in all browsers; any other method stays
        303         any method becomes a GET
        307, 308    method and body stay, also on another host, as in all browsers

    A GET has no body, and no headers that describe one. Headers of the request's own stay on one origin, its session on
    one host: another one must not learn them. The fragment goes along, as in all browsers. A body that was sent by
    https is never sent by http: it may be a log-in, and everybody on the way could read it.

    `asked`: the spelling of the first; `target`: a normal form.

    >>> redirected("http://a.example/s#method=POST&body=q", 303, "http://a.example/found")
    'http://a.example/found'
    >>> redirected("http://a.example/s#method=POST&body=q", 307, "http://a.example/t")
    'http://a.example/t#method=POST&body=q'
    >>> redirected("https://a.example/s#method=POST&body=q", 307, "http://a.example/t") is None
    True
    """
    request = read(asked)
    if status == 303 or (status in (301, 302) and request.method == "POST"):
        kept = tuple(pair for pair in request.headers if not pair[0].startswith(_OF_CONTENT))
        request = request._replace(method="GET", type_="", body=b"", headers=kept)
    if request.body and asked.startswith("https:") and target.startswith("http:"):
        return None
    if urls.origin(target) != urls.origin(asked):
        request = request._replace(headers=())
    if urls.host(target) != urls.host(asked):
        request = request._replace(session="")
    return spelling(request._replace(url=target))
