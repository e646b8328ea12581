"""What `crawl` and the process that does its work tell each other: JSON, one object a line. Pure.

    the task, on standard input     the arguments of `fscrawl crawl`
    on standard output              {"event": "progress" | "warning" | "result" | "error", …}

The process keeps its standard input open: when that ends, whoever has asked for the crawl is gone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fscrawl.errors import UsageError
from fscrawl.util.toml_text import to_toml

_OF_PYTHON = (
    (re.compile(r"\A--set:? "), ""),
    (re.compile(r"\A--(seeds?|refresh|site)\b"), r"\1"),
    (re.compile(r"did you mean --seeds (.+)\?\Z"), r'did you mean pathlib.Path("\1")?'),
    (re.compile(r"give --seed URL, --seeds FILE or --site FILE"), "give seeds, or site=FILE"),
    (re.compile(r"with --allow-env (\w+)"), r'with allow_env=["\1"]'),
    (re.compile(r"by --site FILE"), "by site=FILE"),
    (re.compile(r"leave --site out"), "leave site out"),
    (re.compile(r"; for example --set politeness\.delay=0\.5"), '; for example politeness={"delay": 0.5}'),
)
_VALUES = (str, bool, int, float)


def in_python(message: str) -> str:
    """Say an error of the command line to somebody who has called a function.

    >>> in_python("--set: politeness.delay = fast: must be a number")
    'politeness.delay = fast: must be a number'
    >>> in_python("fetch.auth: …; or allow it on this machine with --allow-env TOKEN")
    'fetch.auth: …; or allow it on this machine with allow_env=["TOKEN"]'
    >>> in_python("--seed list.txt: it is a file, not a URL; did you mean --seeds list.txt?")
    'seed list.txt: it is a file, not a URL; did you mean pathlib.Path("list.txt")?'
    """
    for pattern, instead in _OF_PYTHON:
        message = pattern.sub(instead, message)
    return message


def assignments(settings: Mapping[str, Any]) -> list[str]:
    """Give settings as the values of `--set`. `settings`: section → name → value. UsageError if it is not of this form.

    >>> assignments({"politeness": {"delay": 0.5}, "crawl": {"scope": "any"}})
    ['politeness.delay=0.5', 'crawl.scope="any"']
    """
    found = []
    for section, group in settings.items():
        if not isinstance(group, Mapping):
            raise UsageError(f'{section}={group!r}: must be settings of a section, like politeness={{"delay": 0.5}}')
        found += [f"{section}.{name}={_toml(f'{section}.{name}', value)}" for name, value in group.items()]
    return found


def _toml(name: str, value: Any) -> str:
    return to_toml(_plain(name, value))


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(name, each) for key, each in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [_plain(name, each) for each in value]
    if not isinstance(value, _VALUES):
        raise UsageError(f"{name} = {value!r}: must be a text, a number, True or False, or a list or dict of these")
    return value
