"""Secrets stay in the environment: settings name them, and no message shows them."""

import base64

import pytest

from fscrawl.config.credentials import Variables, authorizations, check_auth, expand
from fscrawl.errors import SettingsError


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("plain", "plain"),
        ("$FSCRAWL_A", "one"),
        ("${FSCRAWL_A}b", "oneb"),
        ("$FSCRAWL_A$B_2", "onetwo$FSCRAWL_A"),
        ("$$A", "$A"),
        ("$5 $ ${} ${a b} $", "$5 $ ${} ${a b} $"),
    ],
)
def test_expand(text, expanded):
    """$NAME and ${NAME} are the variable, once; $$ is a dollar; a dollar before anything else is itself."""
    variables = Variables({"FSCRAWL_A": "one", "B_2": "two$FSCRAWL_A"}, {"B_2"})
    assert expand(text, variables, "fetch.auth") == expanded


@pytest.mark.parametrize("name", ["AWS_SECRET_ACCESS_KEY", "HOME", "fscrawl_a", "XFSCRAWL_A", "MISSING"])
def test_other_variables(name):
    """A variable that is not meant for the crawl is refused in one line, and nobody learns whether it is set."""
    environment = {"AWS_SECRET_ACCESS_KEY": "hunter2", "HOME": "hunter2", "fscrawl_a": "hunter2", "XFSCRAWL_A": "x"}
    with pytest.raises(SettingsError) as caught:
        expand(f"${name}", Variables(environment, {"OTHER"}), "fetch.headers")
    assert str(caught.value) == (
        f"fetch.headers: the environment variable {name} may not be used in settings; rename it to FSCRAWL_{name},"
        f" or allow it on this machine with --allow-env {name}"
    )


def test_missing_variable():
    """A variable that is not set is one line that names setting and variable."""
    with pytest.raises(SettingsError) as caught:
        expand("me:${FSCRAWL_SECRET}", Variables({}), "fetch.auth")
    assert str(caught.value) == "fetch.auth: the environment variable FSCRAWL_SECRET is not set on this machine"


def test_value_of_two_lines():
    """A value that would add a header is refused, and not shown."""
    with pytest.raises(SettingsError) as caught:
        expand("$SECRET", Variables({"SECRET": "hunter2\r\nX: y"}, {"SECRET"}), "fetch.headers")
    assert "SECRET must be one line" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_authorizations():
    """A login belongs to one host and port, of both schemes unless one is named."""
    auth = {"A.example": "me:$PW", "https://b.example:8443": "you:x", "[::1]:81": "é:ü"}
    found = authorizations(auth, Variables({"PW": "p:w"}, ["PW"]))
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
    assert check_auth({place: "me:x"}).startswith('a table such as {"intranet.example" = "user:$FSCRAWL_PASSWORD"}')


@pytest.mark.parametrize("login", ["me", "", "me:\n"])
def test_no_login(login):
    """A login is a user and a password on one line."""
    assert check_auth({"a.example": login}) is not None
    assert check_auth({"a.example": "me:"}) is None
