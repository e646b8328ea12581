"""What settings say of secrets: `$NAME` and `${NAME}` are environment variables of the machine. Pure.

Vocabulary:
  expand          put the variables' values in
  authorization   the header for one origin (scheme, host, port), from the user and password of `fetch.auth`

Promise: what is expanded is given back and nowhere kept, and no message shows a value: `crawl.toml`, records and
errors lie where everybody who mounts the tree can read them.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

from fscrawl import urls
from fscrawl.errors import SettingsError

_NAMED = re.compile(r"\$(?:(\$)|([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
_RIGHT = 'a table such as {"intranet.example" = "user:$PASSWORD"}, each name a host, host:port or https://host'


def expand(text: str, environment: Mapping[str, str], where: str) -> str:
    """Put in the variables that `text` names; `$$` is a dollar, and a dollar before anything else is itself.

    SettingsError if a variable is missing, or its value would break a header's line; `where` names the setting.

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
            raise SettingsError(f"{where}: the environment variable {name} is not one line of printable characters")
        return environment[name]

    return _NAMED.sub(value, text)


def basic(text: str) -> str:
    """Give the header value for "user:password" (RFC 7617, in UTF-8).

    >>> basic("user:password")
    'Basic dXNlcjpwYXNzd29yZA=='
    """
    return "Basic " + base64.b64encode(text.encode()).decode()


def authorizations(auth: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Give the Authorization header of each origin; a host without a scheme stands for http and https.

    >>> sorted(authorizations({"a.example:8080": "me:$PW"}, {"PW": "x"}))
    ['http://a.example:8080', 'https://a.example:8080']
    """
    found = {}
    for place, login in auth.items():
        header = basic(expand(login, environment, "fetch.auth"))
        found.update(dict.fromkeys(_origins(place), header))
    return found


def _origins(place: str) -> list[str]:
    """Give the origins that a name in `fetch.auth` stands for; none if it is no host."""
    if re.search(r"[*@?#\\\s]", place):
        return []
    spelled = [place] if "://" in place else [f"http://{place}", f"https://{place}"]
    normal = [urls.normalise(each + "/") or "" for each in spelled]
    return [urls.origin(each) for each in normal if each.count("/") == 3]


def check_auth(values: Mapping[str, str]) -> str | None:
    """Give what would be right where an entry of `fetch.auth` is none, else None.

    >>> check_auth({"https://a.example": "me:$PW"}) is None, check_auth({"a.example/x": "me:$PW"}) == _RIGHT
    (True, True)
    """
    good = all(_origins(place) and ":" in login and login.isprintable() for place, login in values.items())
    return None if good else _RIGHT
