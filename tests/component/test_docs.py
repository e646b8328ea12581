"""The documents are true to the code: what is made from it is not old, and what they name is there.

What they tell to type is typed by tests/system/test_quickstart.py and test_recipes.py.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import shlex
import shutil
import subprocess
import textwrap
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from fscrawl import site
from fscrawl.admin.audit.report import Report as AuditReport
from fscrawl.commands.page import _as_json
from fscrawl.commands.program import parse
from fscrawl.config import settings
from fscrawl.engine.progress import Counts
from fscrawl.monitor.attempt import Attempt
from fscrawl.monitor.explain import Explanation
from fscrawl.parse import selectors
from fscrawl.parse.fields import _KEYS as FIELD_KEYS
from fscrawl.parse.fields import TYPES
from fscrawl.site import Answer
from fscrawl.sites import seeds
from fscrawl.sites.code import load
from fscrawl.sites.read import KEYS, read_expected
from fscrawl.sites.site_file import SiteFile
from tests.support.crawling import CHECKOUT
from tests.support.recipes import files, recipes
from tests.support.web import Request, Response, Web
from tools import reference, reliability

TEXTS = {
    path: path.read_text(encoding="utf-8")
    for below in ("", "docs/**/", "examples/**/", "benchmarks/")
    for path in sorted(CHECKOUT.glob(f"{below}*.md"))
}
DOCS = CHECKOUT / "docs"
SITE_RULES = TEXTS[DOCS / "reference/site-rules.md"]
FIND = "https://search.example/find"
each_document = pytest.mark.parametrize("document", TEXTS, ids=lambda path: path.relative_to(CHECKOUT).as_posix())


def blocks(document: Path, language: str) -> list[str]:
    """Give a document's code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", TEXTS[document], re.MULTILINE | re.DOTALL)


# -- what is made from the code


def test_the_reference_is_what_the_code_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """No document has a part that is missing or old, nor is the manual page old. If this fails: make docs-write."""
    monkeypatch.setenv("COLUMNS", "40")
    assert [str(path.relative_to(CHECKOUT)) for path in reference.updated()] == []


@pytest.mark.shells
def test_mandoc_has_nothing_to_say() -> None:
    """Mandoc finds no error in the manual page; it may not like its style."""
    if shutil.which("mandoc") is None:
        pytest.skip("there is no mandoc")
    words = ["mandoc", "-Tlint", "-Werror", reference.MANUAL]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_table_of_reliability_is_what_was_found() -> None:
    """Nobody has typed in the table; no row has a page lost, a torn file or a delay that was not kept."""
    rows, page = reliability.load(reliability.SUMS), TEXTS[reliability.PAGE]
    assert reliability.replaced(page, reliability.render(rows)) == page
    assert [row for row in rows if row.lost or row.torn or row.violations] == []


# -- what documents name


def slug(heading: str) -> str:
    """Give the anchor of a heading, as GitHub makes it, and as the site is told to.

    >>> slug("The directory `files`"), slug("Pages behind `#/`")
    ('the-directory-files', 'pages-behind-')
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@each_document
def test_links_lead_somewhere(document: Path) -> None:
    """Every relative link leads to a file, and to a heading of it if it names one."""
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]+))?\)", TEXTS[document]):
        path = (document.parent / target).resolve() if target else document
        assert path.exists(), target
        if anchor:
            assert anchor in map(slug, re.findall(r"^#+ (.*)$", TEXTS[path], re.MULTILINE)), (target, anchor)


@each_document
def test_modules_and_constants_are_there(document: Path) -> None:
    """Every module that is named exists, from the checkout, from `fscrawl/` or beside the document; so do constants."""
    tops = (CHECKOUT, CHECKOUT / "fscrawl", document.parent)
    named = re.findall(r"`([a-z_]+(?:/[a-z_]+)*\.py)`", TEXTS[document])
    assert [name for name in named if not any((top / name).is_file() for top in tops)] == []
    for module, name in re.findall(r"`((?:[a-z_]+\.)+)(_?[A-Z][A-Z_]+)`", TEXTS[document]):
        pattern = f"**/{module.replace('.', '/').removesuffix('/')}.py"
        found = [path.read_text(encoding="utf-8") for path in (CHECKOUT / "fscrawl").glob(pattern)]
        assert any(re.search(rf"^{name}\b|^\w.*, {name}\b.* = ", text, re.MULTILINE) for text in found), name


def test_each_promise_has_its_test() -> None:
    """Every test that a document names exists, in the file that it names; each row of promises names one."""
    defined = re.compile(r"^ *(?:def |class )?(\w+)(?=\(|:| = )", re.MULTILINE)
    tests: dict[str, set[str]] = {}
    for path in (CHECKOUT / "tests").rglob("test_*.py"):
        tests.setdefault(path.name, {""}).update(defined.findall(path.read_text(encoding="utf-8")))
    anywhere = set().union(*tests.values())
    for document, text in TEXTS.items():
        for file, name in re.findall(r"`(?:[\w/]+/)?(test_\w+\.py)?(?:::)?((?:test_)?\w+)?`", text):
            if file or name.startswith("test_"):
                assert name in (tests.get(file, ()) if file else anywhere), (document.name, file, name)
    table = TEXTS[DOCS / "design/failures.md"].partition("\n## Promises and their tests\n")[2].strip().splitlines()[2:]
    assert len(table) >= 20
    assert [row for row in table if "::" not in row] == []


def test_the_package_map_has_every_package_in_its_layer() -> None:
    """The design's map of packages has all that lies in `fscrawl/`, from top to bottom as imports may run."""
    text = TEXTS[DOCS / "design.md"].partition("\n## Packages\n")[2]
    rows = re.findall(r"^\| ((?:`\w+(?:/|\.py)`(?:, )?)+) \|", text, re.MULTILINE)
    mapped = [re.findall(r"`(\w+)", row) for row in rows]
    config = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    [contract] = [each for each in config["tool"]["importlinter"]["contracts"] if each["type"] == "layers"]
    floor = {name: number for number, layer in enumerate(contract["layers"]) for name in layer.split(" | ")}
    assert {name for row in mapped for name in row} == set(floor) - {"__main__"}
    floors = [[floor[name] for name in row] for row in mapped]
    assert [(above, below) for above, below in pairwise(floors) if min(above) > min(below)] == []


@pytest.mark.parametrize(
    ("path", "heading", "printed"),
    [
        ("reference/cli.md", "### JSON lines", Counts.__struct_fields__),
        ("reference/cli.md", "## fscrawl show", Explanation("http://a.example/").as_json()),
        ("reference/cli.md", "## fscrawl try", _as_json(Attempt("u", None, None, None, (), ()))),
        ("how-to/audit.md", "# How to audit a tree", AuditReport("r").as_json()),
    ],
)
def test_every_field_of_json_is_described(path: str, heading: str, printed: dict[str, object]) -> None:
    """Programs that read what --json and --log-json print find each field in the reference."""
    level = heading.partition(" ")[0]
    part = f"\n{TEXTS[DOCS / path]}".split(f"\n{heading}\n", 1)[1]
    assert set(printed) - set(re.findall(r"`(\w+)`", re.split(rf"\n#{{1,{len(level)}}} ", part)[0])) == set()


def test_every_reason_of_show_is_described() -> None:
    """So do people and programs that ask why a page is missing."""
    code = (CHECKOUT / "fscrawl/monitor/explain.py").read_text(encoding="utf-8")
    names = set(re.findall(r"(?:Reason|_reached)\(\s*\"([a-z_-]+)\"", code))
    assert len(names) > 20
    table = TEXTS[DOCS / "reference/cli.md"].split("\n| reason | meaning |\n", 1)[1].split("\n\n", 1)[0]
    assert names - set(re.findall(r"`([a-z_-]+)`", table)) == set()


# -- examples


def commands(text: str) -> Iterator[str]:
    """Give the commands of fscrawl in the code of a document, without the words beside them.

    >>> list(commands("fscrawl needs\\n\\n    fscrawl status --root x    # all\\n"))
    ['fscrawl status --root x']
    """
    fenced = re.findall(r"^```(?:sh|console)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    code = "\n".join([*fenced, *re.findall(r"^    (.*)$", text, re.MULTILINE)])
    for line in re.findall(r"^(?:\$ )?(fscrawl [a-z].*)$", code.replace("\\\n", ""), re.MULTILINE):
        yield re.split(r" {3,}(?=[^ -])| [|>&]|;", re.sub(r" +(?=-)", " ", line))[0]


@each_document
def test_commands_can_be_read(document: Path) -> None:
    """Each command of fscrawl is one that the parser takes, with settings that it knows."""
    if document.name != "cli.md":  # whose synopses are made from the parsers
        for command in commands(TEXTS[document]):
            options = parse(shlex.split(command, comments=True)[1:])
            settings.apply(settings.Settings(), getattr(options, "set", None) or [])


@each_document
def test_python_is_python(document: Path) -> None:
    """Every Python snippet compiles; those of the export are run by test_merge_readers."""
    for snippet in blocks(document, "python"):
        compile(snippet, document.name, "exec")


def test_files_of_recipes_can_be_read() -> None:
    """Each `crawl.toml` and each site file that a recipe writes is one."""
    for name, text in (each for recipe in recipes() for block in recipe.blocks for each in files(block)):
        if name.endswith("crawl.toml"):
            settings.parse(text)
        elif name.endswith(".py"):
            assert load(SiteFile(name, text))


@pytest.mark.parametrize(
    "name",
    [
        "reference/site-rules",
        "how-to/fields",
        "how-to/json-interface",
        "how-to/check-pages",
        "how-to/search-form",
    ],
)
def test_rules_of_sites_can_be_read(name: str) -> None:
    """Each example of a `crawl.toml` is one, and its [[site]] tables are rules."""
    examples = blocks(DOCS / f"{name}.md", "toml")
    assert [len(settings.parse(text).sites) for text in examples] == [
        len(tomllib.loads(text).get("site", [])) for text in examples
    ]
    assert any(settings.parse(text).sites for text in examples)


def rows(heading: str) -> list[str]:
    """Give what stands in code marks in the first column of the first table below a heading of the rules of sites."""
    below = f"\n{SITE_RULES}".partition(f"\n{heading}\n")[2]
    table = re.search(r"(?:^\|.*\n)+", below, re.MULTILINE)
    assert table is not None
    return [code for line in table[0].splitlines()[2:] for code in re.findall(r"`([^`]+)`", line.split(" | ")[0])]


def test_keys_and_entries_of_rules_are_as_documented() -> None:
    """The reference has a row for each key and none too many; what it writes in braces and as selectors is read so."""
    assert sorted(rows("# Sites")) == sorted(KEYS)
    assert {*rows("## Fields"), "type"} >= {*FIELD_KEYS}
    assert [name for name in TYPES if f"| `{name}` |" not in SITE_RULES] == []
    assert [text for text in rows("## Seeds") if seeds.read(f"http://a.example/{text}").values is None] == []
    assert len([selectors.read(text) for text in rows("## Selectors")]) == 4
    assert read_expected("!redirect:/login")


def test_a_table_and_a_class_say_the_same() -> None:
    """The table and the class at the head of the reference understand pages in the same way."""
    [table] = settings.parse(blocks(DOCS / "reference/site-rules.md", "toml")[0]).sites
    [code] = load(SiteFile("site.py", blocks(DOCS / "reference/site-rules.md", "python")[0]))
    for page in (
        Answer(
            "https://api.example/1",
            b"<table class=result></table><h1>T</h1><i class=price>3.5</i><a class=next href=2>",
        ),
        Answer("https://api.example/1", b"captcha"),
    ):
        assert table.understand(page) == code.understand(page)
        assert table.values_of(page) == code.values_of(page)
    assert (table.seeds, table.headers, table.columns) == (code.seeds, code.headers, code.columns)


def test_the_example_of_site_files_is_one() -> None:
    """The complete example of the reference is a site file; so is the one in the module's own words."""
    own = site.__doc__ or ""
    own = own[own.index("    from fscrawl.site") : own.index("What a [[site]] table")]
    for text in (blocks(DOCS / "reference/site-files.md", "python")[0], textwrap.dedent(own)):
        [found] = load(SiteFile("site.py", text))
        assert found.hosts == ("search.example",)
        first, _ = next(found.code.seeds())
        assert "2024-01-01" in first
        page = Answer(first, b"<h1>T</h1><i class=author>A</i><a class=hit href=/1>x</a>")
        assert found.understand(page).requests == ("https://search.example/1",)
        assert found.values_of(page).values == {"heading": "T", "authors": ["A"]}


def test_the_site_files_of_the_form() -> None:
    """The examples of the how-to are site files that understand such pages."""
    plain, of_session = (
        load(SiteFile("site.py", source))[0] for source in blocks(DOCS / "how-to/search-form.md", "python")
    )
    table = b"<table class=results></table><a class=hit href=/1>x</a>"
    found = plain.understand(Answer(FIND, table + b"<input name=day value=d><a class=next data-page=2>n</a>"))
    assert [each.partition("body=")[2] for each in found.requests or ()] == ["", "day=d%26page=2"]
    assert plain.understand(Answer(FIND, b"please wait")).unexpected.endswith("it was not found")
    assert plain.values_of(Answer(FIND, b"<h1 class=article>T</h1>")).values == {"heading": "T"}
    for each in (plain, of_session):
        spelled, label = next(each.code.seeds())
        assert label == "2024-01-01"
        assert ("&session=2024-01-01" in spelled) == (each is of_session)
    moved = of_session.understand(Answer(FIND, b"", status=302, headers={"location": "/login"}))
    assert (moved.unexpected, moved.renew) == ("sent to the log-in", True)


def answer(request: Request) -> Response:
    if request.path in ("/", "/b"):
        html = b"<title>T</title><h1>One</h1><p>some words <a href=/b>b</a> <a href=/gone>gone</a>"
        return Response(200, {"Content-Type": "text/html"}, html)
    return Response(404, {}, b"")


def test_the_guide_for_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block runs after those before it; all that the guide uses is real, but the name of the site."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "guide"}
    printed = io.StringIO()
    guide = blocks(DOCS / "how-to/python.md", "python")
    with Web(answer) as web, contextlib.redirect_stdout(printed):
        for block in guide:
            wants = re.search(r"^from (torch|datasets)", block, re.MULTILINE)
            if wants is not None and importlib.util.find_spec(wants[1]) is None:
                continue
            here = block.replace("https://example.org/", f"http://127.0.0.1:{web.port}/").replace(
                'host="example.org"', 'host="127.0.0.1"'
            )
            here = here.replace('{"delay": 0.5}', '{"delay": 0.0}, fetch={"allow_addresses": ["127.0.0.0/8"]}')
            exec(compile(here, "docs/how-to/python.md", "exec"), names)
    said = printed.getvalue()
    assert "did you mean politeness.delay?" in said
    assert said.startswith("finished 2 {'http-4xx': 1} ")
    assert "{'heading': ['One']}" in said
    assert len(guide) >= 11
