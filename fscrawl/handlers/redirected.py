"""Where a redirect of a request leads: its method, body, headers and session, by RFC 9110 15.4. Pure.

    301, 302          a POST becomes a GET, as in all browsers; any other method stays
    303               any method becomes a GET
    307, 308          method and body stay, also on another host, as in all browsers

A GET has no body, and no headers that describe one. Headers of the request's own stay on one origin, its session on one
host: another one must not learn them. The fragment goes along, as in all browsers. A body that was sent by https is
never sent by http: it may be a log-in, and everybody on the way could read it. Then the redirect leads nowhere.
"""

from __future__ import annotations

from fscrawl import urls
from fscrawl.request import read, spelling

_OF_CONTENT = ("content-", "digest", "last-modified", "repr-digest")  # beginnings of names (RFC 9110 15.4, RFC 9530)


def redirected(asked: str, status: int, target: str) -> str | None:
    """Give the spelling of the request that follows; None if it must not be sent.

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
