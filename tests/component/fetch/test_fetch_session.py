"""What a fetcher sends besides the request: cookies, logins, headers, user agents; and whom it trusts."""

from __future__ import annotations

import base64
import os
import shutil
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path

import certifi
import pytest

from fscrawl.config.settings import FetchSettings, PolitenessSettings
from fscrawl.errors import SettingsError
from fscrawl.http.answers import Limits
from fscrawl.http.fetch import Fetcher
from tests.support.raw import HOST, Make, Raw, answering, failed, fetched, nothing, ok
from tests.support.web import Request, Response, Web

OTHER = "127.0.2.2"


def sent(web: Web, name: str) -> list[str | None]:
    """Give a header of every request, in order."""
    return [exchange.headers.get(name) for exchange in web.requests()]


# -- cookies


def _setting(request: Request) -> Response:
    return Response(
        200, {"Set-Cookie": f"id={request.path[1:]}; Path=/; Expires=Wed, 01 Jan 2200 00:00:00 GMT"}, b"<p>"
    )


def test_cookies(make: Make) -> None:
    """A cookie goes back to the host that set it, and to no other."""
    with Web(_setting, [HOST, OTHER]) as web:
        fetcher = make()
        for host, path in [(HOST, "/1"), (OTHER, "/2"), (HOST, "/3"), (OTHER, "/4"), (HOST, "/5")]:
            fetched(fetcher.get(web.url(host, path)))
    assert sent(web, "cookie") == [None, None, "id=1", "id=2", "id=3"]


def test_cookies_of_several_lines(make: Make) -> None:
    """Each Set-Cookie line is a cookie, whatever commas it has; those of unwanted bodies count too."""
    lines = ["Set-Cookie: a=1, 2; Path=/", "Set-Cookie: b=3; Path=/", "Set-Cookie: c=4; Domain=2.1"]
    with Raw(answering(ok(b"<p>", *lines))) as server:
        fetcher = make()
        fetched(fetcher.get(server.url(), limits=Limits(5.0, 1000, wants=nothing)))
        assert fetcher.jar is not None
        assert fetcher.jar.header(server.url("/x"), 0.0) == "a=1, 2; b=3"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({"cookies": False}, [None, None]), ({"headers": {"cookie": "own=1"}}, ["own=1", "own=1"])],
)
def test_no_cookies(make: Make, settings: dict[str, object], expected: list[str | None]) -> None:
    """With cookies off none are kept, and a configured one takes their place."""
    with Web(_setting, [HOST]) as web:
        fetcher = make(**settings)
        for path in ("/1", "/2"):
            fetcher.get(web.url(HOST, path))
    assert sent(web, "cookie") == expected


# -- logins and headers


def test_auth(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A login, its password from the environment, goes to its host and port and to no other."""
    monkeypatch.setenv("FSCRAWL_TEST_PW", "s:é")
    with Web(lambda _: Response(), [HOST, OTHER]) as web, Web(lambda _: Response(), [HOST]) as other_port:
        fetcher = make(auth={f"{HOST}:{web.port}": "me:$FSCRAWL_TEST_PW"})
        for url in (web.url(HOST), web.url(OTHER), web.url(HOST, "/robots.txt"), other_port.url(HOST)):
            fetched(fetcher.get(url))
    login = "Basic " + base64.b64encode("me:s:é".encode()).decode()
    assert sent(web, "authorization") == [login, None, login]
    assert sent(other_port, "authorization") == [None]


def test_auth_of_one_scheme(make: Make) -> None:
    """A login for https is not sent over http."""
    with Web(lambda _: Response(), [HOST]) as web:
        fetched(make(auth={f"https://{HOST}:{web.port}": "me:x"}).get(web.url(HOST)))
    assert sent(web, "authorization") == [None]


def test_variables_in_headers(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Headers may name environment variables, which are read when the fetcher is made."""
    monkeypatch.setenv("FSCRAWL_TEST_KEY", "ké")
    with Web(lambda _: Response(), [HOST]) as web:
        fetcher = make(headers={"X-Key": "${FSCRAWL_TEST_KEY}!", "X-Price": "$$5 or $5"})
        monkeypatch.delenv("FSCRAWL_TEST_KEY")
        fetched(fetcher.get(web.url(HOST)))
    assert [value.encode("latin-1").decode() for value in sent(web, "x-key") if value] == ["ké!"]
    assert sent(web, "x-price") == ["$5 or $5"]


@pytest.mark.parametrize("name", ["headers", "auth", "proxies"])
def test_variables_that_are_not_meant_for_the_crawl(make: Make, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Settings read no other variables than FSCRAWL_…, unless this machine allows one."""
    monkeypatch.setenv("AWS_SECRET", "hunter2")
    value = {
        "headers": {"X": "$AWS_SECRET"},
        "auth": {"a.example": "$AWS_SECRET:x"},
        "proxies": ("http://$AWS_SECRET:x@p:1",),
    }
    with pytest.raises(SettingsError, match=rf"^fetch[.]{name}: the environment variable AWS_SECRET may not be used"):
        make(**{name: value[name]})
    Fetcher(FetchSettings(**{name: value[name]}), PolitenessSettings(), 1, {"AWS_SECRET"}).close()  # type: ignore[arg-type]


def test_conditional(make: Make) -> None:
    """Headers of one request go with that one only; a 304 comes back without a body, on a kept connection."""

    def page(request: Request) -> Response:
        if request.headers.get("if-none-match") == '"é"'.encode().decode("latin-1"):
            return Response(304, {"ETag": '"é"'.encode().decode("latin-1")})
        return Response(200, {"Content-Type": "text/html"}, b"<p>")

    with Web(page, [HOST]) as web:
        fetcher = make()
        when = "Sun, 06 Nov 1994 08:49:37 GMT"
        answers = [
            fetched(fetcher.get(web.url(HOST), {"If-None-Match": '"é"', "If-Modified-Since": f"{when}\r\n  x"})),
            fetched(fetcher.get(web.url(HOST))),
        ]
    assert [(a.status, a.body) for a in answers] == [(304, None), (200, b"<p>")]
    assert answers[0].headers["etag"] == '"é"'
    assert sent(web, "if-modified-since") == [f"{when} x", None]


def test_user_agents(make: Make) -> None:
    """Hosts see different user agents, each host always the same one, in every process."""
    hosts = [f"127.0.2.{n}" for n in range(1, 9)]
    agents = ("a/1", "b/2", "c/3")
    with Web(lambda _: Response(), hosts) as web:
        for fetcher in (make(PolitenessSettings(user_agents=agents)), make(PolitenessSettings(user_agents=agents))):
            for host in hosts:
                fetched(fetcher.get(web.url(host)))
    seen = {host: {e.headers["user-agent"] for e in web.requests(host)} for host in hosts}
    assert all(len(each) == 1 for each in seen.values())
    assert len(set().union(*seen.values())) > 1
    assert set().union(*seen.values()) <= set(agents)


# -- addresses and authorities


def test_allowed_addresses(make: Make) -> None:
    """An address inside a permitted network is fetched from, one beside it is not."""
    with Web(lambda _: Response(), [HOST, OTHER]) as web:
        fetcher = make(allow_addresses=(f"{HOST}/32",))
        assert fetched(fetcher.get(web.url(HOST))).status == 200
        assert failed(fetcher.get(web.url(OTHER))).class_ == "blocked-address"


def test_ca_file(make: Make, tmp_path: Path) -> None:
    """The authorities of ca_file are trusted, and without it a certificate of theirs is not."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl command to make a certificate with")
    words = f"{openssl} req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN={HOST}"
    words += f" -addext subjectAltName=IP:{HOST} -keyout {tmp_path}/key -out {tmp_path}/crt"
    subprocess.run(words.split(), check=True, capture_output=True, timeout=20)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    with Raw(answering(ok(b"<p>")), context) as server:
        assert fetched(make(ca_file=f"{tmp_path}/crt").get(server.url(scheme="https"))).body == b"<p>"
        assert failed(make().get(server.url(scheme="https"))).class_ == "tls"


@pytest.mark.parametrize("content", [None, b"", b"no certificate"])
def test_unusable_ca_file(make: Make, tmp_path: Path, content: bytes | None) -> None:
    """A ca_file that is missing, or holds no certificate, is an error of one line."""
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(
        SettingsError, match=r"^fetch[.]ca_file: no certificates can be read from .*ca[.]pem'"
    ) as caught:
        make(ca_file=str(path))
    assert "\n" not in str(caught.value)


def test_ca_file_that_is_edited(make: Make, tmp_path: Path) -> None:
    """A ca_file that has changed is read again, by what is made after that."""
    path = tmp_path / "ca.pem"
    path.write_bytes(Path(certifi.where()).read_bytes())
    make(ca_file=str(path))
    path.write_bytes(b"no certificate")
    with pytest.raises(SettingsError):
        make(ca_file=str(path))


@pytest.mark.parametrize("place", [os.mkfifo, os.mkdir])
def test_ca_file_that_is_none(make: Make, tmp_path: Path, place: Callable[[Path], None]) -> None:
    """A pipe in the place of the ca_file is not waited for."""
    place(tmp_path / "ca.pem")
    with pytest.raises(SettingsError, match=r"ca[.]pem': there is no regular file$"):
        make(ca_file=f"{tmp_path}/ca.pem")
