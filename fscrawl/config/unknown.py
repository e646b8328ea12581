"""What is wrong with a name that is no setting: where it belongs, or which setting was probably meant. Pure.

`known`: the full names of all settings, `section.name`.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from fscrawl.util.user_text import one_line, to_toml

_SYNONYMS = {  # the words of other tools
    "include": "crawl.allow",
    "exclude": "crawl.deny",
    "reject": "crawl.deny",
    "depth": "crawl.max_depth",
    "level": "crawl.max_depth",
    "limit": "crawl.max_pages",
    "domains": "crawl.scope",
    "wait": "politeness.delay",
    "download_delay": "politeness.delay",
    "obey_robots": "politeness.robots",
    "robotstxt_obey": "politeness.robots",
    "javascript": "render.hosts",
}
_PAGE = "docs/reference/settings.md"


def nearest(text: str, known: Sequence[str]) -> str | None:
    """Return the full name that is most like a name with or without a section, or that means the same.

    >>> nearest("delai", ["crawl.scope", "politeness.delay"])
    'politeness.delay'
    """
    meant = _SYNONYMS.get(_bare(text) or text)
    if meant in known:
        return meant
    whole = difflib.get_close_matches(text, known, 1)
    if whole:
        return whole[0]
    bare = difflib.get_close_matches(text.rpartition(".")[2], [_bare(each) for each in known], 1, 0.7)
    return next((each for each in known if bare and _bare(each) == bare[0]), None)


def setting(section: str, name: str, known: Sequence[str]) -> str:
    """Say what is wrong with `section.name`.

    >>> setting("crawl", "delay", ["crawl.scope", "politeness.delay"])
    'unknown setting; delay belongs to [politeness]'
    """
    owner = _owner(name, known)
    if owner and section in _sections(known):
        return f"unknown setting; {name} belongs to [{owner}]"
    near = nearest(f"{section}.{name}", known)
    if near:
        return f"unknown setting; did you mean {near}?"
    return f"unknown setting; the sections are {', '.join(_sections(known))}; {_PAGE} lists all settings"


def full_name(section: str, name: str) -> str:
    return f"{one_line(section)}.{one_line(name)}"


def section(name: str, known: Sequence[str]) -> str:
    """Say what is wrong with an empty section."""
    near = difflib.get_close_matches(name, _sections(known), 1)
    hint = f"did you mean [{near[0]}]?" if near else f"the sections are {', '.join(_sections(known))}"
    return f"unknown section [{one_line(name)}]; {hint}"


def no_section(name: str, value: Any, known: Sequence[str]) -> str:
    """Say what is wrong with a name that stands outside of all sections.

    >>> no_section("delay", 1, ["politeness.delay"])
    '"delay" is not in a section; write it below a line [politeness]'
    """
    if isinstance(value, list) and name.lower() in ("site", "sites"):
        return f"{to_toml(name)} is not in a section; did you mean [[site]]?"
    if isinstance(value, list) and name in _sections(known):
        return f"{to_toml(name)} is a list here; write the section with single brackets: [{name}]"
    near = nearest(name, known)
    owner = near.partition(".")[0] if near else None
    where = f"write it below a line [{owner}]" if owner else "write settings below a line such as [crawl]"
    if near and _bare(near) != name:
        where = f"did you mean {_bare(near)}, below a line [{owner}]?"
    return f"{to_toml(name)} is not in a section; {where}"


def _bare(full: str) -> str:
    return full.partition(".")[2]


def _sections(known: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(each.partition(".")[0] for each in known))


def _owner(name: str, known: Sequence[str]) -> str | None:
    return next((each.partition(".")[0] for each in known if _bare(each) == name), None)
