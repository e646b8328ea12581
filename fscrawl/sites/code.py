"""Sites that are written in Python (see `fscrawl.site`): a file is run, and its classes become rules of sites.

Vocabulary:
  site file   the file that `--site` names. Machines agree on its digest
  fault       a mistake in the site file that shows when it runs: an exception, or something of a wrong type

Promise: what the user's code does or gives never raises here but as a `SiteFault`, in one line with the file's name and
line. Only what a method gives back is used, and only after it was checked.
"""

from __future__ import annotations

import difflib
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

import msgspec

from fscrawl import urls
from fscrawl.labels import MAX_CHARS, is_label
from fscrawl.parse.fields import Column, Extracted, Mistake, convert
from fscrawl.parse.links import MAX_LINKS
from fscrawl.request import Request, flaw, is_spelling, spelling
from fscrawl.sites.read import KEYS, read_site
from fscrawl.sites.rules import SiteFault, SiteFile, SiteRules, Understood, of_two_types, twice
from fscrawl.sites.seeds import Labelled
from fscrawl.sites.site import Answer, NoAnswer, Seed, Send, Site, Unexpected

_SHOWN_CHARS = 300
_METHODS = ("seeds", "expect", "follow", "fields", "items")  # which may be values, too
_COLUMNS = {"fields": "columns", "items": "item_columns"}


# -- from the file to its sites

_loaded: dict[SiteFile, tuple[tuple[SiteRules, Site], ...]] = {}  # with the object of the user's class


def load(file: SiteFile) -> tuple[SiteRules, ...]:
    """Run a site file, once in each process, and give its sites in their order; SiteFault if it has a mistake."""
    if file not in _loaded:
        found = tuple(_site_of(file, number, kind) for number, kind in enumerate(_classes(file)))
        sites = [site for site, _ in found]
        if problem := twice(sites) or of_two_types(sites):
            raise SiteFault(problem)
        _loaded[file] = found
    return tuple(site for site, _ in _loaded[file])


def _classes(file: SiteFile) -> list[type[Site]]:
    module = ModuleType(f"fscrawl_site_{file.digest}")
    module.__file__ = file.path
    vars(module)["print"] = _print
    sys.modules[module.__name__] = module  # dataclasses and others look a class's module up
    try:
        exec(compile(file.text, file.path, "exec"), module.__dict__)  # noqa: S102 - that is what --site is for
    except BaseException as error:  # noqa: BLE001 - whatever it raises, sys.exit() as well
        raise SiteFault(_line_of(file, error)) from None
    classes = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Site) and each.__module__ == module.__name__
    ]
    if not classes:
        raise SiteFault(f"{file.path}: it has no site; write a class, such as class Shop(Site), with hosts = [...]")
    return classes


def _print(*words: object, **how: Any) -> None:
    """Print for the user's code: on standard error, since a command may write JSON on the other one."""
    print(*words, **{"file": sys.stderr, **how})  # noqa: T201 - that is what it is for


def _site_of(file: SiteFile, number: int, kind: type[Site]) -> tuple[SiteRules, Site]:
    methods = frozenset(key for key in _METHODS if callable(getattr(kind, key)))
    code = Code(file, number, methods, kind.renew_after)
    values = {key: getattr(kind, key) for key in (*KEYS, *_COLUMNS.values()) if key not in methods}
    values = {key: value for key, value in values.items() if value is not getattr(Site, key)}
    try:
        _check(kind, methods, values)
        rules = read_site(f"class {kind.__name__} in {file.path}", values, code=code)
    except Mistake as error:
        raise SiteFault(f"{file.path}: class {kind.__name__}: {error}") from None
    try:
        return rules, kind()
    except BaseException as error:  # noqa: BLE001 - as above
        raise SiteFault(_line_of(file, error, "__init__")) from None


def _check(kind: type[Site], methods: frozenset[str], values: Mapping[str, object]) -> None:
    """Raise Mistake for what only a class can get wrong."""
    ours = [name for name in vars(Site) if not name.startswith("_")]
    for name in vars(kind):
        near = difflib.get_close_matches(name, ours, 1, 0.8)
        if near and name not in ours:
            raise Mistake(f"{name}: did you mean {near[0]}?")
    for method, columns in _COLUMNS.items():
        if method in methods and not values.get(columns):
            right = f'write what it gives, such as {columns} = {{"heading": "string"}}'
            raise Mistake(f"{method}: it has no {columns} to fill; {right}")
        if method in values and columns in values:
            raise Mistake(f"{columns}: it is for a method {method}; here {method} names its columns itself")
    renew: object = kind.renew_after
    if renew is not None and (type(renew) is not int or renew < 1):
        raise Mistake(f"renew_after = {_shown(renew)}: must be a whole number, 1 or more, or None")


def _line_of(file: SiteFile, error: BaseException, method: str = "") -> str:
    """Say in one line what went wrong where in the file."""
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == file.path else None
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == file.path:
            line = frame.lineno
    message = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())[:_SHOWN_CHARS]
    where = f"{file.path}:{line}" if line else file.path
    what = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return f"{where}: {method + ': ' if method else ''}{what}"


class Code(msgspec.Struct, frozen=True):
    """The methods of one class of a site file. It is plain data: the file is run where a method is called.

    number        of the class in the file
    methods       those of `_METHODS` that it has; the others are values, or are not there
    renew_after   as the class says
    """

    file: SiteFile
    number: int
    methods: frozenset[str]
    renew_after: int | None = None

    @property
    def _object(self) -> Site:
        load(self.file)
        return _loaded[self.file][self.number][1]

    def seeds(self) -> Iterator[Labelled]:
        """Give the spellings of the requests to begin with, and their labels; SiteFault if the class gives no such."""
        for each in self._each("seeds", self._run("seeds", self._object.seeds)):
            request, label = each if isinstance(each, Seed) else (each, "")
            if not isinstance(label, str) or (label and not is_label(label)):
                right = f"it must have 1 to {MAX_CHARS} printable characters, without blanks around them"
                raise SiteFault(f"{self.file.path}: seeds: gave the label {_shown(label)}; {right}")
            yield self._spelled("seeds", request, None), label

    def open_session(self, session: str, send: Send) -> None:
        """Open a session; SiteFault if the class has a mistake. Its `Unexpected` and what `send` raises go through."""
        try:
            self._object.open_session(session, send)
        except (NoAnswer, Unexpected):
            raise
        except BaseException as error:  # noqa: BLE001 - whatever the user's code raises
            raise SiteFault(_line_of(self.file, error, "open_session")) from None

    def expect(self, page: Answer) -> Understood:
        """Say whether the page is what was asked for. Raises nothing."""
        try:
            given = self._object.expect(page)
            if given is not None:
                raise SiteFault(f"{self.file.path}: expect: gave {_shown(given)}; it must raise Unexpected, or nothing")
        except SiteFault as fault:  # the file cannot be loaded here
            return Understood(fault=str(fault))
        except Unexpected as error:
            return Understood(unexpected=str(error) or "not what was asked for", renew=error.renew)
        except BaseException as error:  # noqa: BLE001 - of whatever kind, it is this page's
            return Understood(fault=_line_of(self.file, error, "expect"))
        return Understood()

    def follow(self, page: Answer) -> Understood:
        """Say what is fetched because of the page. Raises nothing."""
        try:
            given = self._run("follow", self._object.follow, page)
            if given is None:
                return Understood()
            requests = self._each("follow", given)
            found = dict.fromkeys(self._spelled("follow", each, page) for each in requests)
        except SiteFault as fault:
            return Understood(fault=str(fault))
        found.pop("", None)
        found.pop(spelling(page.request), None)
        return Understood(tuple(found))

    def fields(self, page: Answer, columns: Sequence[Column]) -> Extracted:
        """Give the values of the page for the dataset. Raises nothing: what is wrong is in `bad`."""
        try:
            return self._values("fields", self._run("fields", self._object.fields, page), columns)
        except SiteFault as fault:
            names = tuple(column.name for column in columns)
            return Extracted({}, dict.fromkeys(names, str(fault)), names)

    def items(self, page: Answer, columns: Sequence[Column]) -> Iterator[Extracted]:
        """Give the items of the page. SiteFault if it gives no such."""
        for given in self._each("items", self._run("items", self._object.items, page)):
            yield self._values("items", given, columns)

    def _values(self, method: str, given: object, columns: Sequence[Column]) -> Extracted:
        """Give the values of a dict that a method gave, in the types of their columns."""
        if not isinstance(given, Mapping):
            raise SiteFault(f"{self.file.path}: {method}: gave {_shown(given)}; it must give a dict")
        names = {column.name: column for column in columns}
        values: dict[str, Any] = {}
        bad: dict[str, str] = {}
        for name, value in given.items():
            if name not in names:
                bad.setdefault(next(iter(names), str(name)), f"{_shown(name)} is not in columns"[:80])
                continue
            try:
                typed, wrong = _typed(names[name], value), _shown(value)
            except BaseException as error:  # noqa: BLE001 - a generator of the user's, a number without end
                typed, wrong = None, _line_of(self.file, error, method)
            if typed is not None:
                values[name] = typed
            elif value is not None and not (isinstance(value, str) and not value.strip()):  # an empty cell is none
                bad[name] = wrong[:80]
        return Extracted(values, bad, tuple(name for name in names if name not in values))

    def _run(self, method: str, call: Callable[..., Any], *given: object) -> Any:
        try:
            return call(*given)
        except BaseException as error:  # noqa: BLE001 - whatever the user's code raises
            raise SiteFault(_line_of(self.file, error, method)) from None

    def _each(self, method: str, given: object) -> Iterator[object]:
        """Give the items of what a method gave: a list, a generator, …"""
        if isinstance(given, str | bytes | Mapping | Request | Seed) or not isinstance(given, Iterable):
            what = "dicts" if method == "items" else "requests"
            raise SiteFault(f"{self.file.path}: {method}: gave {_shown(given)}; it must give {what}, as by yield")
        items = self._run(method, iter, given)
        given_so_far = 0
        while (item := self._run(method, next, items, _END)) is not _END:
            if given_so_far == MAX_LINKS and method == "follow":
                raise SiteFault(f"{self.file.path}: {method}: gave more than {MAX_LINKS:,} requests for one page")
            given_so_far += 1
            yield item

    def _spelled(self, method: str, given: object, page: Answer | None) -> str:
        """Give the spelling of a request. `page`: a URL may be relative to it, and one that is not of HTTP gives ""."""
        request = Request(given) if isinstance(given, str) else given
        if not isinstance(request, Request) or not isinstance(request.url, str):
            raise SiteFault(f"{self.file.path}: {method}: gave {_shown(given)}; it must give URLs and Requests")
        url = urls.normalise(request.url) if page is None else next(iter(page.join([request.url])), None)
        if page is not None and url is None and urls.normalise(request.url, page.url) == page.url:
            url = page.url  # the same URL may be asked for in another way
        if url is None:
            if page is None:
                raise SiteFault(f"{self.file.path}: {method}: gave {_shown(request.url)}; it must be a complete URL")
            return ""
        route = page.route(request.url, url) if page is not None else ""
        request = request._replace(url=url, fragment=request.fragment or route)
        try:
            wrong = flaw(request)
            spelled = "" if wrong else spelling(request)
            if "#" in spelled and not is_spelling(spelled):  # such as a body that is an empty text
                wrong = "a part of it is of a wrong type"
        except (TypeError, AttributeError, ValueError) as error:
            wrong = f"a part of it is of a wrong type: {error}"
        if wrong:
            raise SiteFault(f"{self.file.path}: {method}: gave a request for {url[:_SHOWN_CHARS]}: {wrong}")
        return spelled


_END = object()


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except BaseException:  # noqa: BLE001 - the user's class
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:79]}…"


# -- values of fields


def _typed(column: Column, value: object) -> Any:
    """Give a value in its column's type; None if it is not of it, or empty."""
    if not column.many:
        return _one(column.type, value)
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return None
    found = [typed for each in value if (typed := _one(column.type, each)) is not None]
    return found or None


def _one(type_: str, value: object) -> Any:
    if isinstance(value, str):
        text = value if value.isascii() else value.encode("utf-8", "replace").decode()  # half of a surrogate pair
        text = text if type_ == "string" else text.strip()
        return convert(type_, text) if text else None
    if type_ == "timestamp" and isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    fits = {"integer": int, "float": int | float, "boolean": bool}.get(type_)
    if fits is None or not isinstance(value, fits) or (isinstance(value, bool) and type_ != "boolean"):
        return None
    return convert(type_, str(value)) if type_ != "boolean" else value
