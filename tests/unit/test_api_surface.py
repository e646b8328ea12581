"""The supported surface of `import fscrawl`: its names and signatures stay as they are, and importing costs nothing.

Who changes something here breaks somebody's program: add, and do not change.
"""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fscrawl
import fscrawl.site
from fscrawl.api.tables import ALL

REFERENCE = (Path(__file__).parents[2] / "docs/reference/python.md").read_text(encoding="utf-8")
HOST_SINCE = "host: 'Hosts | None' = None, since: 'Since | None' = None"
NAMES = {
    "Crawl": "(root: 'str | os.PathLike[str]') -> 'None'",
    "CrawlResult": "(root: 'Path', reason: \"Literal['finished', 'stopped', 'max_pages', 'interrupted']\","
    " pages: 'int', redirects: 'int', others: 'int', unchanged: 'int', bytes: 'int', errors: 'dict[str, int]',"
    " kept: 'dict[str, int]', left_out: 'dict[str, int]', seconds: 'float', pending: 'int', fault: 'str' = '',"
    " warnings: 'tuple[str, ...]' = ()) -> None",
    "Failure": "(url: 'str', url_host_name: 'str', url_host_registered_domain: 'str', key: 'str', method: 'str',"
    " request_body: 'str | None', depth: 'int', referrer: 'str | None', fetch_time: 'datetime', machine: 'str',"
    " class_: 'str', message: 'str', label: 'str | None', attempts: 'int', fetch_status: 'int | None',"
    " headers: 'dict[str, str]') -> None",
    "Link": "(source: 'str', target: 'str', nofollow: 'bool' = False, redirect: 'bool' = False)",
    "Status": "(state: \"Literal['new', 'running', 'pausing', 'paused', 'stopping', 'finished', 'stopped']\","
    " exact: 'bool', pages: 'int', bytes: 'int', errors: 'dict[str, int]', other_types: 'dict[str, int]',"
    " left_out: 'dict[str, int]', pending: 'int | None', pages_per_s: 'float',"
    " machines: 'int', free_bytes: 'int') -> None",
    "crawl": "(root: 'str | os.PathLike[str]', seeds: 'Seeds' = (), *, workers: 'int' = 4, threads: 'int' = 16,"
    " site: 'str | os.PathLike[str] | None' = None, refresh: 'str | None' = None, reseed: 'bool' = False,"
    " allow_env: 'Iterable[str]' = (), progress: 'bool' = True, **settings: 'Mapping[str, Any]') -> 'CrawlResult'",
    "open": "(root: 'str | os.PathLike[str]') -> 'Crawl'",
}
OF_ROWS = (
    f"self, columns: 'Iterable[str] | None' = None, *, {HOST_SINCE}, where: 'Where | None' = None,"
    " shard: 'Shard' = (0, 1)"
)
OF_CRAWL = {
    "failures": f"(self, {HOST_SINCE}) -> 'Iterator[Failure]'",
    "links": f"(self, {HOST_SINCE}) -> 'Iterator[Link]'",
    "page": "(self, url: 'str') -> 'Page | None'",
    "pages": f"(self, {HOST_SINCE}, where: 'Where | None' = None, *, shard: 'Shard' = (0, 1),"
    " bodies: 'bool' = False) -> 'Pages'",
    "record": "(self, url: 'str') -> 'Page | None'",
    "records": f"(self, {HOST_SINCE}, where: 'Where | None' = None, *, shard: 'Shard' = (0, 1)) -> 'Pages'",
    "rows": f"({OF_ROWS}) -> 'Iterator[dict[str, Any]]'",
    "status": "(self) -> 'Status'",
    "to_arrow": f"({OF_ROWS}) -> 'pa.Table'",
    "to_pandas": f"({OF_ROWS}) -> 'pd.DataFrame'",
}
OF_PAGE = {
    *ALL,
    *("kind", "versions", "links", "nofollow", "markup", "tree", "fields", "answer", "css", "xpath", "json"),
}
OF_SITES = ["Answer", "NoAnswer", "Request", "Seed", "Send", "Site", "Unexpected", "dates"]


def public(kind):
    return {name for name in dir(kind) if not name.startswith("_")}


def test_names():
    """These names are supported, and each of them is there."""
    others = {"FscrawlError", "Page", "Pages", "Site", "__version__", "site"}
    assert set(fscrawl.__all__) == {*NAMES, *others}
    assert fscrawl.site.__all__ == OF_SITES
    assert all(getattr(fscrawl, name) is not None for name in fscrawl.__all__)
    assert set(fscrawl.__all__) <= set(dir(fscrawl))
    assert fscrawl.Site is fscrawl.site.Site
    with pytest.raises(AttributeError, match="module 'fscrawl' has no attribute 'opne'"):
        _ = fscrawl.opne


@pytest.mark.parametrize("name", NAMES)
def test_signatures(name):
    """What can be called takes these arguments, with these defaults."""
    found = str(inspect.signature(getattr(fscrawl, name)))
    assert re.sub(r"ForwardRef\(('[^']*')[^)]*\)", r"\1", found) == NAMES[name]


def test_the_methods_of_a_crawl():
    """A crawl has these methods."""
    found = {name: str(inspect.signature(getattr(fscrawl.Crawl, name))) for name in public(fscrawl.Crawl) - {"root"}}
    assert found == OF_CRAWL


def test_the_attributes_of_a_page():
    """A page has these attributes; Pages have these."""
    assert public(fscrawl.Page) == OF_PAGE
    assert public(fscrawl.Pages) == {"close"}  # and `skipped` and `problems`, which are no part of the class


@pytest.mark.parametrize("kind", ["Crawl", "CrawlResult", "Failure", "Link", "Page", "Pages", "Status"])
def test_all_of_it_is_documented(kind):
    """The reference names every attribute and method, and each has a docstring."""
    words = set(re.findall(r"\w+", REFERENCE))
    names = public(getattr(fscrawl, kind)) - {"count", "index"}  # a tuple has them
    assert names <= words
    assert {name for name in words if name == kind}
    plain = inspect.isclass(getattr(fscrawl, kind)) and kind not in ("Crawl", "Page", "Pages")
    for name in () if plain else names:
        assert inspect.getdoc(getattr(getattr(fscrawl, kind), name)), name


def loaded(code):
    """Give the modules that some code has loaded."""
    words = [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"]
    return set(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split())


def test_importing_loads_nothing():
    """`import fscrawl` loads no other module, of fscrawl or of Python."""
    assert loaded("import fscrawl") - loaded("") == {"fscrawl"}


def test_a_reader_loads_what_it_needs(tmp_path):
    """To open a tree loads no parser, no HTTP library, nothing of pyarrow and nothing of the machine."""
    code = f"import fscrawl\ntry: fscrawl.open({str(tmp_path)!r}).pages()\nexcept fscrawl.FscrawlError: pass"
    found = loaded(code)
    heavy = {"selectolax", "lxml", "requests", "urllib3", "pyarrow", "pandas", "numpy", "torch", "tqdm", "rich"}
    assert found & heavy == set()
    packages = {name.split(".")[1] for name in found if name.startswith("fscrawl.")}
    assert packages & {"engine", "frontier", "handlers", "http", "fleet", "commands", "config", "politeness"} == set()
    assert "fscrawl.api.running" not in found


@pytest.mark.gate
def test_the_commands_load_nothing_of_it():
    """`fscrawl --help` is as quick as without a library."""
    code = "from fscrawl.commands.program import Program; Program()"
    assert {name for name in loaded(code) if name.startswith("fscrawl.api")} == set()


def test_it_is_typed():
    """Type checkers use the annotations (PEP 561)."""
    assert (Path(fscrawl.__file__).parent / "py.typed").is_file()
