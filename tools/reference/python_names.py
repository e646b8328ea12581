"""A module's public names, from `__all__`, signatures and docstrings.

What has no docstring is not described, nor is a method or an attribute whose docstring begins with "For the crawler".
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from types import ModuleType
from typing import Any, ForwardRef

from tools.reference.docstrings import as_markdown

INTERNAL = "For the crawler"
_PATHS = re.compile(r"\b(?:[a-z_]+\.)+(?=[A-Z]\w*\b)")  # of a type: collections.abc.Callable
_WIDTH = 100
_MARKS = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def reference(module: ModuleType, level: int) -> str:
    """Describe each public name of a module under a heading. `level`: of the headings."""
    names = [name for name in module.__all__ if not name.startswith("_")]
    return "\n".join(_described(name, getattr(module, name), "#" * level) for name in names)


def _described(name: str, what: Any, mark: str) -> str:
    if inspect.isclass(what):
        return "\n".join([f"{mark} {name}\n", *_class(name, what)])
    if inspect.isroutine(what):
        return "\n".join([f"{mark} {name}\n", signature(name, what), as_markdown(what.__doc__ or "")])
    if isinstance(what, ModuleType):
        return f"{mark} {name}\n\nThe module `{what.__name__}`.\n"
    return f"{mark} {name}\n\n```py\n{name} = {_type(what)}\n```\n"


def _class(name: str, what: type) -> Iterator[str]:
    made = vars(what).get("__init__") or getattr(vars(what).get("__new__"), "__func__", None)
    if made is not None:  # a class without is to be inherited from
        yield signature(name, what)
    yield as_markdown(what.__doc__ or "")
    if made is not None and made.__doc__ and not made.__doc__.startswith("Create new instance"):
        yield as_markdown(made.__doc__, ("argument", "meaning"))
    for each, member in vars(what).items():
        doc = getattr(member, "__doc__", None) or ""
        if each.startswith("_") or not doc or doc.startswith(INTERNAL):
            continue
        if isinstance(member, property | cached_property):
            yield f"`{each}`: {as_markdown(doc)}"
        elif isinstance(member, classmethod | staticmethod):
            yield from (signature(f"{name}.{each}", getattr(what, each)), as_markdown(doc))
        elif inspect.isfunction(member):
            yield from (signature(each, member, of_a_class=made is None), as_markdown(doc))


def signature(name: str, what: Any, *, of_a_class: bool | None = None) -> str:
    """Write how something is called. `of_a_class`: it is a method; True: one to be overridden, as users write it."""
    found = inspect.signature(what)
    parameters = list(found.parameters.values())
    if of_a_class is False:
        parameters = parameters[1:]
    words = list(_parameters(parameters))
    gives = "" if inspect.isclass(what) or found.return_annotation is found.empty else _type(found.return_annotation)
    begins, ends = f"{'def ' if of_a_class else ''}{name}(", f"){f' -> {gives}' if gives else ''}"
    line = f"{begins}{', '.join(words)}{ends}"
    if len(line) > _WIDTH:
        line = "\n".join([begins, *(f"    {word}," for word in words), ends])
    return f"```py\n{line}\n```\n"  # not "python": what is so called can be run


def _parameters(parameters: list[inspect.Parameter]) -> Iterator[str]:
    star = False
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and not star:
            star = True
            yield "*"
        star = star or each.kind is each.VAR_POSITIONAL
        said = "" if each.annotation is each.empty else f": {_type(each.annotation)}"
        equals = " = " if said else "="
        default = "" if each.default is each.empty else f"{equals}{each.default!r}"
        yield f"{_MARKS.get(each.kind, '')}{each.name}{said}{default}"


def _type(hint: Any) -> str:
    """Write a type with short names."""
    if isinstance(hint, ForwardRef):
        hint = hint.__forward_arg__
    text = hint if isinstance(hint, str) else hint.__name__ if isinstance(hint, type) else str(hint)
    return _PATHS.sub("", text)
