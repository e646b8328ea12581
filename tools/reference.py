"""`make docs-write`: writes the parts of docs/ that are made from the code, and the manual page.

A part stands between two comments in its Markdown file, so that the file can be read where it is:

    <!-- made from the code, by make docs-write: settings crawl -->
    …
    <!-- end of what is made -->

A fact of such a part is changed where the code states it: in the help of an option, the text of a setting, a docstring.
tests/component/test_docs.py fails if a part or the manual page is old.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, ForwardRef, Union, get_args, get_origin, get_type_hints

from argparse_manpage.manpage import Manpage

import fscrawl
from fscrawl import cli, site
from fscrawl.commands import COMMANDS
from fscrawl.commands.program import Program
from fscrawl.config import settings
from fscrawl.dataset import schema
from fscrawl.http.answers import CLASSES, HELP
from fscrawl.parse.extensions import EXTENSIONS
from fscrawl.storage.records import ErrorRecord, PageRecord, RenderRecord, RobotsRecord, TreeRecord

CHECKOUT = Path(__file__).resolve().parents[1]
MANUAL = CHECKOUT / "docs/man/fscrawl.1"
BEGIN = "<!-- made from the code, by make docs-write: {} -->"
END = "<!-- end of what is made -->"
TABLES = {
    **schema.TABLES,
    "items": schema.ITEMS,
    "changes": schema.CHANGES,
    "language": schema.LANGUAGE,
    "warc-index": schema.WARC_INDEX,
}
RECORDS = {
    "links": PageRecord,
    "rendered": RenderRecord,
    "errs": ErrorRecord,
    "tree": TreeRecord,
    "robots": RobotsRecord,
}
_TOGETHER = ("pause", "resume", "stop")  # commands of one section
_HEAD, _TAIL = map(re.escape, BEGIN.split("{}"))
_PART = re.compile(rf"^{_HEAD}(.*?){_TAIL}\n(.*?)^{re.escape(END)}$", re.MULTILINE | re.DOTALL)
_WIDTH = "100"


def main() -> int:
    """Write the documents that are not as they should be; return 1 if one has no place for its parts."""
    try:
        changed = updated()
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    for path, text in changed.items():
        path.write_text(text, encoding="utf-8")
        print(f"written: {path.relative_to(CHECKOUT)}")
    return 0


def updated() -> dict[Path, str]:
    """Give the documents that must be written again, with their new text; ValueError if a part has no place."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted((CHECKOUT / "docs").rglob("*.md"))}
    new = {path: _with_parts(text, path.relative_to(CHECKOUT), parts()) for path, text in texts.items()}
    texts[MANUAL], new[MANUAL] = MANUAL.read_text(encoding="utf-8") if MANUAL.exists() else "", manual_page()
    there = [name for text in texts.values() for name, _ in _PART.findall(text)]
    for name in parts():
        if there.count(name) != 1:
            lines = f"{BEGIN.format(name)}\n{END}"
            raise ValueError(f"these two lines must stand once in docs/reference, where the part belongs:\n{lines}")
    return {path: text for path, text in new.items() if text != texts[path]}


def _with_parts(text: str, document: Path, makers: Mapping[str, Callable[[], str]]) -> str:
    def made(match: re.Match[str]) -> str:
        if match[1] not in makers:
            raise ValueError(f"{document}: nothing makes the part {match[1]!r}; is it still in the code?")
        # with blank lines, or some programs take the comment for a part of what follows
        return f"{BEGIN.format(match[1])}\n\n{makers[match[1]]().strip()}\n\n{END}"

    return _PART.sub(made, text)


def parts() -> dict[str, Callable[[], str]]:
    """Give what makes each part, by its name."""
    found: dict[str, Callable[[], str]] = {"commands": partial(help_of, [])}
    for command in COMMANDS:
        section = _TOGETHER if command in _TOGETHER else (command,)
        found[f"options {', '.join(section)}"] = partial(help_of, section)
    found |= {f"settings {name}": partial(setting_rows, name) for name in settings.SECTIONS}
    found |= {f"columns {name}": partial(column_rows, name) for name in TABLES}
    found |= {f"record {name}": partial(record_rows, record) for name, record in RECORDS.items()}
    found |= {"extensions": extension_rows, "failures": failure_rows}
    return found | {f"python {module.__name__}": partial(python_names, module) for module in (fscrawl, site)}


# -- the command line


def help_of(commands: Sequence[str]) -> str:
    """Give what `--help` of the commands prints, in a block of code; that of fscrawl itself for no command."""
    pages = []
    for words in [[command, "--help"] for command in commands] or [["--help"]]:
        out = io.StringIO()
        with _width(), contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
            cli.main(words)
        pages.append(out.getvalue().strip())
    return "```text\n" + "\n\n".join(pages) + "\n```"


@contextlib.contextmanager
def _width() -> Iterator[None]:
    """Let argparse break lines at the same column wherever this runs."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = _WIDTH
    try:
        yield
    finally:
        del os.environ["COLUMNS"]
        if before is not None:
            os.environ["COLUMNS"] = before


def manual_page() -> str:
    """Give the text of fscrawl(1)."""
    with _width():
        page = Manpage(Program().parser)
        page.date, page.source, page.manual = "", f"fscrawl {fscrawl.__version__}", "User Commands"
        page.description = "a web crawler for machines that share a directory"
        more = (Path(__file__).parent / "manual_sections.man").read_text(encoding="utf-8")
        return f"{page}{more}"


# -- settings, columns, records, failures


def setting_rows(section: str) -> str:
    """Give the table of a section's settings, with the defaults as `crawl.toml` writes them."""
    written = _defaults()
    return table(
        ["setting", "default", "meaning"],
        (
            [code(name), code(written[f"{section}.{name}"]), cell(setting.help)]
            for name, setting in settings.SECTIONS[section].items()
        ),
    )


def _defaults() -> dict[str, str]:
    """Give each setting's default; "absent" where `crawl.toml` writes none."""
    section, found = "", {}
    for line in settings.render(settings.Settings()).splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif match := re.fullmatch(r"(# )?([a-z_]+) =(?: (.*))?", line):
            found[f"{section}.{match[2]}"] = "absent" if match[1] else match[3]
    return found


def column_rows(name: str) -> str:
    """Give the table of a table's columns, with type and meaning as the files have them."""
    return table(
        ["column", "type", "meaning"],
        ([code(each.name), cell(str(each.type)), cell(each.metadata[b"comment"].decode())] for each in TABLES[name]),
    )


def record_rows(record: type) -> str:
    """Give the table of a record's fields in the order of its docstring; LookupError if one has no meaning there."""
    hints, known = get_type_hints(record), dict(inspect.signature(record).parameters)
    rows = []
    for names, meaning in _meanings(record.__doc__ or "").items():
        together = [known.pop(each if each in known else f"{each}_") for each in names.split(", ")]
        types = dict.fromkeys(_type_in_json(hints[each.name], each) for each in together)
        rows.append([", ".join(map(code, names.split(", "))), ", ".join(types), cell(meaning)])
    if known:
        raise LookupError(f"the docstring of {record.__name__} does not say what {', '.join(known)} means")
    return table(["field", "type", "meaning"], rows)


_TYPES = {str: "string", int: "integer", float: "number", bool: "true", dict: "object", tuple: "array", list: "array"}


def _type_in_json(hint: Any, parameter: inspect.Parameter) -> str:
    is_union = get_origin(hint) in (Union, UnionType)
    kind = next(each for each in get_args(hint) if each is not type(None)) if is_union else hint
    name = _TYPES.get(get_origin(kind) or kind, "object")
    if get_args(kind):
        name += f" of {_TYPES.get(get_args(kind)[-1 if name == 'object' else 0], 'object')}s"
    return name if parameter.default is parameter.empty else f"{name}, optional"


def failure_rows() -> str:
    """Give the classes of failures, with what a person can do about each."""
    return table(
        ["class", "meaning", "what to do"],
        ([code(name), cell(meaning), _advice(HELP[name])] for name, meaning in CLASSES.items()),
    )


def _advice(text: str) -> str:
    """Give an advice without the place of one tree, its command as code."""
    words, _, command = text.replace("{fscrawl}", "fscrawl").replace(" --root {root}", "").rpartition(":  ")
    if words:
        return f"{cell(words)}: {code(command)}"
    return code(command) if command.startswith("fscrawl ") else cell(command)


def extension_rows() -> str:
    """Give the extensions of files by media type."""
    rows = ([code(name), ", ".join(map(code, types))] for name, types in EXTENSIONS.items())
    return table(["extension", "media types"], rows)


# -- Python: names of a module, by their signatures and docstrings


def python_names(module: ModuleType) -> str:
    """Describe each name of `__all__` below a heading of its own, and the methods that have a docstring."""
    found = []
    for name in module.__all__:
        what = getattr(module, name)
        if name.startswith("_"):
            continue
        found.append(f"### {name}\n")
        if isinstance(what, ModuleType):
            found.append(f"The module `{what.__name__}`.\n")
        elif inspect.isclass(what) or inspect.isroutine(what):
            found += _described(name, what)
        else:
            found.append(f"```py\n{name} = {_type(what)}\n```\n")
    return "\n".join(found)


def _described(name: str, what: Any) -> Iterator[str]:
    made = vars(what).get("__init__") or getattr(vars(what).get("__new__"), "__func__", None)
    is_class = inspect.isclass(what)
    if made is not None or not is_class:  # a class without is to be inherited from
        yield _signature(name, what)
    yield _as_markdown(what.__doc__ or "")
    if is_class and made is not None and made.__doc__ and not made.__doc__.startswith("Create new instance"):
        yield _as_markdown(made.__doc__)
    for each, member in vars(what).items() if is_class else ():
        doc = getattr(member, "__doc__", None) or ""
        if each.startswith("_") or not doc or doc.startswith("For the crawler"):
            continue
        if isinstance(member, property | cached_property):
            yield f"`{each}`: {_as_markdown(doc)}"
        elif isinstance(member, classmethod | staticmethod):
            yield from (_signature(f"{name}.{each}", getattr(what, each)), _as_markdown(doc))
        elif inspect.isfunction(member):
            yield from (_signature(each, member, of_a_class=True, defined=made is None), _as_markdown(doc))


def _signature(name: str, what: Any, *, of_a_class: bool = False, defined: bool = False) -> str:
    """Write how something is called. `defined`: a method that users write."""
    found = inspect.signature(what)
    words = [_parameter(each) for each in found.parameters.values()]
    kinds = [each.kind for each in found.parameters.values()]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        words.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    if of_a_class and not defined:
        del words[0]
    gives = "" if inspect.isclass(what) or found.return_annotation is found.empty else _type(found.return_annotation)
    begins, ends = f"{'def ' if defined else ''}{name}(", f"){f' -> {gives}' if gives else ''}"
    line = f"{begins}{', '.join(words)}{ends}"
    if len(line) > int(_WIDTH):
        line = "\n".join([begins, *(f"    {word}," for word in words), ends])
    return f"```py\n{line}\n```\n"  # not "python": what is so called can be run


def _parameter(each: inspect.Parameter) -> str:
    mark = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
    kind = "" if each.annotation is each.empty else f": {_type(each.annotation)}"
    equals = " = " if kind else "="
    return f"{mark}{each.name}{kind}{'' if each.default is each.empty else f'{equals}{each.default!r}'}"


def _type(hint: Any) -> str:
    """Write a type with short names."""
    if isinstance(hint, ForwardRef):
        hint = hint.__forward_arg__
    text = hint if isinstance(hint, str) else hint.__name__ if isinstance(hint, type) else str(hint)
    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z]\w*\b)", "", text)


# -- docstrings: paragraphs, doctests, indented code, and lists of lines `name    meaning`


_NAME = re.compile(r"([\w.]+(?:, [\w.]+)*) {2,}(\S.*)")


def _paragraphs(doc: str) -> list[list[str]]:
    return [each.splitlines() for each in re.split(r"\n{2,}", inspect.cleandoc(doc)) if each.strip()]


def _meanings(doc: str) -> dict[str, str]:
    return {name: meaning for lines in _paragraphs(doc) if _is_list(lines) for name, meaning in _listed(lines).items()}


def _is_list(lines: list[str]) -> bool:
    return _NAME.fullmatch(lines[0]) is not None and all(
        _NAME.fullmatch(line) or line.startswith("    ") for line in lines
    )


def _listed(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines:
        if match := _NAME.fullmatch(line):
            found[match[1]] = match[2]
        else:
            found[next(reversed(found))] += f" {line.strip()}"
    return found


def _as_markdown(doc: str) -> str:
    found = []
    for lines in _paragraphs(doc):
        text = "\n".join(lines) + "\n"
        if text.startswith(">>> "):
            text = f"```pycon\n{text}```\n"
        elif _is_list(lines):
            rows = _listed(lines).items()
            text = table(("name", "meaning"), ([", ".join(map(code, n.split(", "))), cell(each)] for n, each in rows))
        elif not text.startswith("    "):
            text = _prose(text)
        found.append(text)
    return "\n".join(found)


# -- Markdown


def _prose(text: str) -> str:
    """Give a text whose signs mean themselves, but for `code`."""
    pieces = re.split(r"(`[^`]+`)", text)
    pieces[::2] = [each.replace("<", "&lt;").replace("*", r"\*") for each in pieces[::2]]
    return "".join(pieces)


def cell(text: str) -> str:
    return _prose(text).replace("|", r"\|")


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["|" + "".join(f" {each} |" if each else " |" for each in line) for line in (heads, *rows)]
    lines.insert(1, "|" + "---|" * len(heads))
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
