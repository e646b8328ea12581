"""Secrets stay in the environment: settings name them, and no message shows them."""

import base64

import pytest

from fscrawl.config.credentials import authorizations, check_auth, expand
from fscrawl.errors import SettingsError


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("plain", "plain"),
        ("$A", "one"),
        ("${A}b", "oneb"),
        ("$A$B_2", "onetwo$A"),
        ("$$A", "$A"),
        ("$5 $ ${} ${a b} $", "$5 $ ${} ${a b} $"),
    ],
)
def test_expand(text, expanded):
    """$NAME and ${NAME} are the variable, once; $$ is a dollar; a dollar before anything else is itself."""
    assert expand(text, {"A": "one", "B_2": "two$A"}, "fetch.auth") == expanded


def test_missing_variable():
    """A variable that is not set is one line that names setting and variable."""
    with pytest.raises(SettingsError) as caught:
        expand("me:${SECRET}", {}, "fetch.auth")
    assert str(caught.value) == "fetch.auth: the environment variable SECRET is not set on this machine"


def test_value_of_two_lines():
    """A value that would add a header is refused, and not shown."""
    with pytest.raises(SettingsError) as caught:
        expand("$SECRET", {"SECRET": "hunter2\r\nX: y"}, "fetch.headers")
    assert "SECRET must be one line" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_authorizations():
    """A login belongs to one host and port, of both schemes unless one is named."""
    found = authorizations({"A.example": "me:$PW", "https://b.example:8443": "you:x", "[::1]:81": "é:ü"}, {"PW": "p:w"})
    assert set(found) == {
        *("http://a.example", "https://a.example", "https://b.example:8443", "http://[::1]:81", "https://[::1]:81")
    }
    assert found["http://a.example"] == "Basic " + base64.b64encode(b"me:p:w").decode()
    assert found["http://[::1]:81"] == "Basic " + base64.b64encode("é:ü".encode()).decode()


@pytest.mark.parametrize(
    "place", ["", "a/b", "a/", "*", "*.a", "u@a", "a?b", "a#b", "a b", "a\\b", "ftp://a", "a:b", "http://"]
)
def test_no_host(place):
    """What is no host is refused, with what would be right."""
    assert check_auth({place: "me:x"}).startswith('a table such as {"intranet.example" = "user:$PASSWORD"}')


@pytest.mark.parametrize("login", ["me", "", "me:\n"])
def test_no_login(login):
    """A login is a user and a password on one line."""
    assert check_auth({"a.example": login}) is not None
    assert check_auth({"a.example": "me:"}) is None
