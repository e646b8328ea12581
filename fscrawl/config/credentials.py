"""Secrets in settings: `$NAME` and `${NAME}` stand for environment variables of the machine. Pure.

Vocabulary:
  expand          replace the names of variables by their values
  authorization   the header for one origin (scheme, host, port), made of a user and a password of `fetch.auth`

Promise: the values are returned and kept nowhere else, and no message shows one. `crawl.toml`, records and errors can
be read by everybody who mounts the tree.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

from fscrawl import urls
from fscrawl.errors import SettingsError

_NAMED = re.compile(r"\$(?:(\$)|([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
_RIGHT = 'a table such as {"intranet.example" = "user:$PASSWORD"}, where each name is a host, host:port or https://host'


def expand(text: str, environment: Mapping[str, str], where: str) -> str:
    """Replace the variables in `text` by their values. `$$` is a dollar; a dollar before anything else is itself.

    Raises SettingsError if a variable is not set, or if its value would break the line of a header. `where` names the
    setting in the message.

    >>> expand("me:$PASSWORD", {"PASSWORD": "se$cret"}, "fetch.auth"), expand("$$5 or $5", {}, "fetch.headers")
    ('me:se$cret', '$5 or $5')
    """

    def value(found: re.Match[str]) -> str:
        if found[1]:
            return "$"
        name = found[2] or found[3]
        if name not in environment:
            raise SettingsError(f"{where}: the environment variable {name} is not set on this machine")
        if not environment[name].isprintable():
            raise SettingsError(f"{where}: the environment variable {name} must be one line of printable characters")
        return environment[name]

    return _NAMED.sub(value, text)


def basic(text: str) -> str:
    """Return the value of an Authorization header for "user:password" (RFC 7617, in UTF-8).

    >>> basic("user:password")
    'Basic dXNlcjpwYXNzd29yZA=='
    """
    return "Basic " + base64.b64encode(text.encode()).decode()


def authorizations(auth: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the Authorization header of each origin. A host without a scheme stands for http and https.

    >>> sorted(authorizations({"a.example:8080": "me:$PW"}, {"PW": "x"}))
    ['http://a.example:8080', 'https://a.example:8080']
    """
    found = {}
    for host, login in auth.items():
        header = basic(expand(login, environment, "fetch.auth"))
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
