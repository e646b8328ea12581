"""Secrets in settings: `$NAME` and `${NAME}` stand for environment variables of the machine. Pure.

Vocabulary:
  variables       those that settings may name: `FSCRAWL_…`, and those that `--allow-env` names on this machine. Whoever
                  may edit `crawl.toml` must not be able to read all others
  expand          replace the names of variables by their values
  authorization   the header for one origin (scheme, host, port), made of a user and a password of `fetch.auth`

Promise: the values are returned and kept nowhere else, and no message shows one. `crawl.toml`, records and errors can
be read by everybody who mounts the tree.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Mapping

from fscrawl import urls
from fscrawl.errors import SettingsError

_NAMED = re.compile(r"\$(?:(\$)|([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
_RIGHT = (
    'a table such as {"intranet.example" = "user:$FSCRAWL_PASSWORD"}, where each name is a host, host:port or'
    " https://host"
)
PREFIX = "FSCRAWL_"  # of variables that every setting may name


class Variables:
    """The environment variables that settings may name on this machine."""

    def __init__(self, environment: Mapping[str, str], allowed: Collection[str] = ()) -> None:
        """`allowed`: names without the prefix that settings may name, too."""
        self._environment = environment
        self._allowed = allowed

    def value(self, name: str, where: str) -> str:
        """Give the value of a variable. `where` names the setting in messages.

        Raises SettingsError if settings may not name it, if it is not set, or if it would break the line of a header.
        """
        if not name.startswith(PREFIX) and name not in self._allowed:
            raise SettingsError(
                f"the environment variable {name} may not be used in settings; rename it to {PREFIX}{name},"
                f" or allow it on this machine with --allow-env {name}",
                where,
            )
        if name not in self._environment:
            raise SettingsError(f"the environment variable {name} is not set on this machine", where)
        if not self._environment[name].isprintable():
            raise SettingsError(f"the environment variable {name} must be one line of printable characters", where)
        return self._environment[name]


def expand(text: str, variables: Variables, where: str) -> str:
    """Replace the variables in `text` by their values. `$$` is a dollar; a dollar before anything else is itself.

    Raises SettingsError as `Variables.value` does.

    >>> expand("me:$FSCRAWL_PASSWORD", Variables({"FSCRAWL_PASSWORD": "se$cret"}), "fetch.auth")
    'me:se$cret'
    >>> expand("$$5 or $5", Variables({}), "fetch.headers")
    '$5 or $5'
    """

    def value(found: re.Match[str]) -> str:
        return "$" if found[1] else variables.value(found[2] or found[3], where)

    return _NAMED.sub(value, text)


def names_variable(text: str) -> bool:
    """Tell whether `expand` would put the value of a variable into a text.

    >>> names_variable("key $FSCRAWL_KEY"), names_variable("$$5")
    (True, False)
    """
    return any(found[1] is None for found in _NAMED.finditer(text))


def basic(text: str) -> str:
    """Return the value of an Authorization header for "user:password" (RFC 7617, in UTF-8).

    >>> basic("user:password")
    'Basic dXNlcjpwYXNzd29yZA=='
    """
    return "Basic " + base64.b64encode(text.encode()).decode()


def authorizations(auth: Mapping[str, str], variables: Variables) -> dict[str, str]:
    """Return the Authorization header of each origin. A host without a scheme stands for http and https.

    >>> sorted(authorizations({"a.example:8080": "me:x"}, Variables({})))
    ['http://a.example:8080', 'https://a.example:8080']
    """
    found = {}
    for host, login in auth.items():
        header = basic(expand(login, variables, "fetch.auth"))
        found.update(dict.fromkeys(_origins(host), header))
    return found


def _origins(host: str) -> list[str]:
    """Return the origins that a name in `fetch.auth` stands for; none if it is not a host."""
    if re.search(r"[*@?#\\\s]", host):
        return []
    spelled = [host] if "://" in host else [f"http://{host}", f"https://{host}"]
    normal = [urls.normalise(each + "/") or "" for each in spelled]
    return [urls.origin(each) for each in normal if each.count("/") == 3]


def check_auth(values: Mapping[str, str]) -> str | None:
    """Return None if all entries of `fetch.auth` are good, else what they must be.

    >>> check_auth({"https://a.example": "me:$PW"}) is None, check_auth({"a.example/x": "me:$PW"}) == _RIGHT
    (True, True)
    """
    good = all(_origins(host) and ":" in login and login.isprintable() for host, login in values.items())
    return None if good else _RIGHT
