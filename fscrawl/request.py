"""What is asked of a server: a URL to GET, or a request with a method, a body, headers or a session. Pure.

Nearly all requests are plain: their *spelling* is the URL. The spelling of any other one is the URL and, behind a `#`,
its fields, percent-encoded and in the order below. A normal form has no fragment, so nothing else looks like that:

    http://a.example/search#method=POST&type=application/x-www-form-urlencoded&body=day%3D1%26class%3DQ1&session=1

Spellings stand wherever URLs stand: in logs, queues, tasks, records and their links. The key of a request is made of
its spelling (`urls.key`), so a plain GET has the key of its URL.

Vocabulary:
  spelling   the one text that stands for a request: ASCII, without blanks
  plain      a GET without body, headers of its own, session and fragment
  session    the name of a session (see `fscrawl.site`); requests of one name share its cookies
  fragment   what stands behind the # of a page's address: servers do not see it, but scripts do (`parse.resolving`)

Promise: `read(spelling(request)) == request`, and only what `spelling` writes is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from json import dumps as to_json
from typing import Any, NamedTuple, Self
from urllib.parse import quote, quote_from_bytes, unquote, unquote_to_bytes, urlencode

from fscrawl import urls

Headers = Mapping[str, str] | Iterable[tuple[str, str]]
Form = Mapping[str, Any] | Sequence[tuple[str, Any]]

MAX_SPELLING_CHARS = 65_536  # above the longest that the limits below allow; what is longer is not even looked at
MAX_BODY_BYTES = 8192
MAX_TYPE_CHARS = 255  # RFC 6838 4.2: type and subtype have at most 127 characters each
MAX_HEADERS_CHARS = 2048  # of all names and values
MAX_SESSION_CHARS = 200
MAX_FRAGMENT_CHARS = 2000
MOST_SHOWN = 200  # characters of a body, and of a header, in a message
METHODS = ("GET", "POST", "PUT", "PATCH")
ONCE = frozenset({"POST", "PATCH"})  # they may do something each time (RFC 9110 9.2.2)
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
# They say how the message is sent, or hold a login: these go by `fetch.auth`, `fetch.cookies` and a session.
FORBIDDEN_HEADERS = frozenset(
    {
        *("authorization", "connection", "content-length", "content-type", "cookie", "expect", "host", "keep-alive"),
        *("proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"),
    }
)
_SAFE = "/:;,=?@!$()*~"  # need not be encoded in a value
_NAME = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+\Z")  # of a header (RFC 9110 5.6.2), in lower case
_FRAGMENT = re.compile(r"""[!#-;=?-_a-~]*\Z""")  # what WHATWG's fragment percent-encode set leaves
_STARTS = ("/", "!", "!/")  # of an application: what its URL shows without a fragment
_SPACE = " \t\n\f\r"
_LEFT_OUT = "\t\n\r"  # inside a URL (WHATWG)
_NOT_QUOTED = "".join(c for c in map(chr, range(0x21, 0x7F)) if c not in '"<>`')  # the fragment percent-encode set
_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+(?:; ?[a-z0-9_-]+=[A-Za-z0-9\"_.-]+)*\Z")


class _Fields(NamedTuple):
    url: str
    method: str
    type_: str
    body: bytes
    headers: tuple[tuple[str, str], ...]
    session: str
    fragment: str


class Request(_Fields):
    """One request. Two requests are the same if all of this is the same.

    url       where it goes; in the crawler always a normal form
    method    GET, POST, PUT or PATCH; without it POST if there is a body, else GET
    type_     media type of the body, "" without one
    body      as it is sent: at most 8,192 bytes
    headers   of this request only: pairs of name in lower case and value; a mapping is accepted, too
    session   the name of its session, "" for none; requests of one name share their cookies
    fragment  what stands behind `#`, percent-encoded, for pages behind `#/`: the server does not see it, but scripts do

    In place of a body: `form`, fields of a form, as a mapping or as pairs, in their order; or `json`, any value that
    JSON can hold, but null. Then the method is POST if none is named, even if the form is empty. More than one of
    `body`, `form` and `json` is a ValueError. Nothing else is checked here; the crawler says what is wrong with a
    request when it gets it.

    >>> Request("http://a.example/s", form={"q": "a b", "page": 2}).body
    b'q=a+b&page=2'
    >>> Request("http://a.example/s", json={"q": ["a"]})[1:4]
    ('POST', 'application/json', b'{"q":["a"]}')
    """

    __slots__ = ()

    def __new__(
        cls,
        url: str,
        method: str = "",
        type_: str = "",
        body: bytes = b"",
        headers: Headers = (),
        session: str = "",
        fragment: str = "",
        *,
        form: Form | None = None,
        json: Any = None,
    ) -> Self:
        if form is not None or json is not None:
            _check_one_of(body=body or None, form=form, json=json)
            method = method or "POST"  # an empty form, too, is sent
        if form is not None:
            type_, body = type_ or FORM, urlencode(form, doseq=True).encode()
        elif json is not None:
            type_, body = type_ or JSON, to_json(json, ensure_ascii=False, separators=(",", ":")).encode()
        pairs = headers.items() if isinstance(headers, Mapping) else headers
        lower = tuple((name.lower(), value) for name, value in pairs)
        return super().__new__(cls, url, method or ("POST" if body else "GET"), type_, body, lower, session, fragment)

    @property
    def is_plain(self) -> bool:
        return self[1:] == _PLAIN

    @property
    def address(self) -> str:
        """The URL as a browser shows it, with the fragment if there is one."""
        return f"{self.url}#{self.fragment}" if self.fragment else self.url


_PLAIN = Request("")[1:]


def _check_one_of(**bodies: object) -> None:
    given = [name for name, value in bodies.items() if value is not None]
    if len(given) > 1:
        raise ValueError(f"a request has one body; it was given {' and '.join(given)}, so leave all but one out")


def url_of(spelling: str) -> str:
    """Give the URL of a request.

    >>> url_of("http://a.example/s#method=POST"), url_of("http://a.example/")
    ('http://a.example/s', 'http://a.example/')
    """
    return spelling.partition("#")[0]


def spelling(request: Request) -> str:
    """Give the text that stands for a request.

    >>> spelling(Request("http://a.example/s", "POST", FORM, b"q=a b"))
    'http://a.example/s#method=POST&type=application/x-www-form-urlencoded&body=q=a%20b'
    >>> spelling(Request("http://a.example/"))
    'http://a.example/'
    """
    if request.is_plain:
        return request.url
    fields = [f"method={request.method}"]
    if request.type_:
        fields.append(f"type={quote(request.type_, _SAFE)}")
    if request.body:
        fields.append(f"body={quote_from_bytes(request.body, _SAFE)}")
    fields += [f"header={quote(f'{name}:{value}', _SAFE)}" for name, value in request.headers]
    if request.session:
        fields.append(f"session={quote(request.session, _SAFE)}")
    if request.fragment:
        fields.append(f"fragment={quote(request.fragment, _SAFE)}")
    return f"{request.url}#{'&'.join(fields)}"


def read(text: str) -> Request:
    """Read a spelling; ValueError if it is none.

    >>> read("http://a.example/s#method=POST&body=a%26b").body
    b'a&b'
    """
    url, mark, written = text.partition("#")
    if not mark:
        return Request(url)
    if len(text) > MAX_SPELLING_CHARS:
        raise ValueError(f"not the spelling of a request: it has {len(text):,} characters")
    parts = [field.partition("=") for field in written.split("&")]
    values = {name: value for name, _, value in parts}
    request = Request(
        url,
        values.get("method", ""),
        unquote(values.get("type", "")),
        unquote_to_bytes(values.get("body", "")),
        [(name, value) for name, _, value in (unquote(v).partition(":") for n, _, v in parts if n == "header")],
        unquote(values.get("session", "")),
        unquote(values.get("fragment", "")),
    )
    if request.is_plain or flaw(request) or spelling(request) != text:
        raise ValueError(f"not the spelling of a request: {text[:200]!r}")
    return request


def names_session(spelling: str) -> bool:
    """Tell whether a request is one of a session.

    >>> names_session("http://a.example/s#method=GET&session=7"), names_session("http://a.example/s?a&session=7")
    (True, False)
    """
    return "&session=" in spelling.partition("#")[2]  # the method comes first, and no value has a bare "&"


def route_of(href: str) -> str:
    """Give the route that a URL or a reference leads to, percent-encoded; "" if it has none, or one that is too long.

    >>> route_of("http://a.example/app#/größe"), route_of("#top"), route_of("#!")
    ('/gr%C3%B6%C3%9Fe', '', '')
    """
    written = href.partition("#")[2].strip(_SPACE)
    if not written.startswith(("/", "!")) or written in _STARTS:
        return ""
    fragment = quote("".join(c for c in written if c not in _LEFT_OUT), _NOT_QUOTED, errors="replace")
    return fragment if len(fragment) <= MAX_FRAGMENT_CHARS else ""


def is_spelling(text: str) -> bool:
    """Tell whether a text is the spelling of some request. Its URL is not looked at.

    >>> is_spelling("http://a.example/s#method=POST"), is_spelling("http://a.example/s#top")
    (True, False)
    """
    if "#" not in text:
        return True
    try:
        read(text)
    except ValueError:
        return False
    return True


def is_normal(text: str) -> bool:
    """Tell whether a text is the spelling of a request whose URL is a normal form.

    >>> is_normal("http://a.example/s#method=POST"), is_normal("HTTP://a.example/s"), is_normal("http://a.example/#top")
    (True, False, False)
    """
    url = url_of(text)
    return urls.normalise(url) == url and is_spelling(text)


def shown(text: str) -> str:
    """Give a request as people read it, on one line.

    >>> shown("http://a.example/s#method=POST&type=application/json&body=%7B%22q%22:%0A1%7D&session=7")
    'POST http://a.example/s {"q":%0A1} (session 7)'
    >>> shown("http://a.example/")
    'http://a.example/'
    >>> shown("http://a.example/#method=GET&fragment=/item/3")
    'http://a.example/#/item/3'
    """
    if "#" not in text:
        return text
    try:
        request = read(text)
    except ValueError:
        return text
    if request._replace(fragment="").is_plain:
        return request.address
    words = [request.method, request.address, _cut(body_text(request))]
    words += [f"({_cut(f'{name}: {value}')})" for name, value in request.headers]
    words.append(f"(session {request.session})" if request.session else "")
    return " ".join(word for word in words if word)


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "…"


def body_text(request: Request) -> str:
    r"""Give a body as text on one line; what cannot be printed is percent-encoded.

    >>> body_text(Request("http://a.example/", "POST", FORM, b"q=\xc3\xa9\xff\x00"))
    'q=é%FF%00'
    """
    text = request.body.decode("utf-8", "surrogateescape")
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else quote(c, errors="surrogateescape") for c in text)


def parts_of(text: str) -> tuple[str, str, str | None]:
    """Give the address of a request, its method, and its body as `text_of` does.

    What is no spelling counts as a plain GET.

    >>> parts_of("http://a.example/s#method=POST&body=q"), parts_of("http://a.example/#method=GET&fragment=/item/3")
    (('http://a.example/s', 'POST', 'q'), ('http://a.example/#/item/3', 'GET', None))
    """
    try:
        request = read(text)
    except ValueError:  # the target of a link in a record that somebody has edited
        return url_of(text), "GET", None
    return request.address, request.method, text_of(request)


def text_of(request: Request) -> str | None:
    r"""Give the body of a request as text, None without one. Bytes that are no UTF-8 are percent-encoded.

    >>> text_of(Request("http://a.example/", "POST", "", b"q=\xc3\xa9&r=\xff"))
    'q=é&r=%FF'
    """
    if not request.body:
        return None
    text = request.body.decode("utf-8", "surrogateescape")
    if text.isascii():
        return text
    return "".join(quote_from_bytes(bytes([ord(c) - 0xDC00])) if "\udc80" <= c <= "\udcff" else c for c in text)


def flaw(request: Request) -> str:
    """Say what is wrong with a request apart from its URL; "" if nothing is.

    >>> flaw(Request("http://a.example/", "POST", FORM, b"a" * 8193))
    'its body has 8,193 bytes; at most 8,192 are allowed'
    """
    if request.method not in METHODS:
        return f"its method is {request.method[:20]!r}; it must be one of {', '.join(METHODS)}"
    if len(request.body) > MAX_BODY_BYTES:
        return f"its body has {len(request.body):,} bytes; at most {MAX_BODY_BYTES:,} are allowed"
    if request.body and request.method == "GET":
        return "a GET has no body; use POST, or write the values into the URL"
    if request.type_ and not (len(request.type_) <= MAX_TYPE_CHARS and _TYPE.match(request.type_)):
        return f"the type of its body is {request.type_[:60]!r}; it must be a media type such as {JSON}"
    if len(request.session) > MAX_SESSION_CHARS or not request.session.isprintable():
        return f"its session must have at most {MAX_SESSION_CHARS} printable characters"
    if len(request.fragment) > MAX_FRAGMENT_CHARS or not _FRAGMENT.match(request.fragment):
        return f"its fragment must have at most {MAX_FRAGMENT_CHARS:,} characters that URLs may have there"
    return _flaw_of_headers(request.headers)


def _flaw_of_headers(headers: tuple[tuple[str, str], ...]) -> str:
    for name, value in headers:
        if not _NAME.match(name):
            return f"it has a header {name[:60]!r}; a name consists of letters, digits and -, all in lower case"
        if name in FORBIDDEN_HEADERS:
            return f"it has a header {name}; such a header cannot be set for one request"
        if value != value.strip() or not value.isprintable():
            return f"the value of its header {name} must be one line of printable characters, without blanks around it"
    if sum(len(name) + len(value) for name, value in headers) > MAX_HEADERS_CHARS:
        return f"its headers have more than {MAX_HEADERS_CHARS:,} characters"
    return ""
