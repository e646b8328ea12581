"""What a user can give wrongly: one line that helps, the right exit code, no debris."""

from __future__ import annotations

import json
import resource
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fscrawl.config.settings import END
from tests.support.crawling import Done, check_tree, crawl, fscrawl, lines_of
from tests.support.web import Web, linked_site

HOSTS = ["127.0.7.1", "127.0.7.2", "127.0.7.3"]
SEED = ("--seed", "http://127.0.7.9:8/")
Mount = Callable[[str], Path]


def run(words: Sequence[str]) -> Done:
    return fscrawl("crawl", "--workers", "0", *words)


def complains(done: Done, code: int, *words: str) -> None:
    """Assert the exit code, and exactly one line on standard error, with these words in it."""
    assert done.code == code, done
    assert "Traceback" not in done.err
    (line,) = (line for line in lines_of(done.err) if not line.startswith("politeness.user_agent has no contact"))
    assert line.startswith("fscrawl: "), line
    for word in words:
        assert word in line
    assert done.out == ""


def refused(root: Path, flags: Sequence[str], code: int, *words: str) -> None:
    """Run with these flags; assert that it complains, and that nothing is where nothing was."""
    there = sorted(root.parent.rglob("*"))
    complains(run(["--root", str(root), *flags]), code, *words)
    assert sorted(root.parent.rglob("*")) == there


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a finished tree, for copies."""
    root = tmp_path_factory.mktemp("finished") / "tree"
    with Web(linked_site(3, 2), HOSTS) as web:
        done = crawl(root, seeds=[web.url(HOSTS[0])])
    assert done.code == 0, done
    return root


@pytest.fixture
def tree(root: Path, finished: Path) -> Path:
    """Give a finished tree."""
    return Path(shutil.copytree(finished, root))


# -- no seeds, no tree


def test_nothing_given(root: Path) -> None:
    """A root that is missing, without seeds, is a mistake."""
    refused(root, [], 2, str(root), "give a URL, --seeds FILE or --site FILE")


def test_unmounted(root: Path) -> None:
    """An existing directory without tree and seeds is what an unmounted share looks like."""
    root.mkdir()
    refused(root, [], 75, str(root), "mounted")


def test_a_directory_with_other_files(root: Path) -> None:
    """A crawl in a directory that is in use says so in one line, and leaves what is there alone."""
    root.mkdir()
    (root / "thesis.tex").write_text("x")
    with Web(linked_site(1, 0), HOSTS) as web:
        done = crawl(root, seeds=[web.url(HOSTS[0])])
        again = crawl(root)
    said = (
        "is not empty (1 other name, such as thesis.tex): the crawl is made beside what is there, and leaves it alone"
    )
    assert [line for line in lines_of(done.err) if "not empty" in line] == [f"{root} {said}"], done
    assert (done.code, again.code) == (0, 0)
    assert "not empty" not in again.err
    assert (root / "thesis.tex").read_text() == "x"
    check_tree(root)


@pytest.mark.parametrize("seeds", [(), SEED])
def test_root_is_a_dataset(root: Path, seeds: tuple[str, ...]) -> None:
    """A dataset is no root, though it has a directory `links`; nothing is made in it."""
    (root / ".merge").mkdir(parents=True)
    (root / "links").mkdir()
    (root / "links" / "part-0001-00000.parquet").touch()
    refused(root, seeds, 2, str(root), "this is a dataset, which fscrawl merge has made")


def test_below_a_file(root: Path) -> None:
    """A root below a file is refused."""
    root.write_text("mine")
    complains(run(["--root", str(root / "tree"), *SEED]), 75, str(root))
    assert root.read_text() == "mine"


def test_parent_is_missing(root: Path) -> None:
    """No directory above the root is ever made."""
    refused(root / "a" / "b", SEED, 75, str(root / "a" / "b"))
    assert not root.exists()


def test_seeds_txt_without_seeds(root: Path) -> None:
    """A seeds.txt with nothing but comments is no seed."""
    root.mkdir()
    (root / "seeds.txt").write_text("# nothing\n")
    complains(run(["--root", str(root)]), 2, "seeds.txt", "--seed")


# -- flags


@pytest.mark.parametrize(
    ("flag", "number"),
    [
        *(("--workers", number) for number in ("-3", "\u0663")),
        ("--threads", "0"),
        ("--threads", ""),
    ],
)
def test_bad_number(root: Path, flag: str, number: str) -> None:
    """A number of workers or threads is a whole one, and at least one thread is needed."""
    refused(root, [*SEED, f"{flag}={number}"], 2, flag, "whole number")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--workers=100000"], ["100,000 workers", "use at most"]),
        (["--workers=1" + "0" * 17], ["memory", "use at most"]),
        (["--workers=1" + "0" * 400], ["--workers", "must be a whole number"]),
        (["--threads=1001"], ["--threads 1,001", "at most 1,000", "use more --workers"]),
    ],
)
def test_more_than_fits(root: Path, flags: list[str], words: list[str]) -> None:
    """Workers that memory cannot hold are refused before they make the computer stand still."""
    refused(root, [*SEED, *flags], 2, *words)


def test_more_files_than_allowed(root: Path) -> None:
    """Each worker takes pipes; those that have none would hang, and the machine with them."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, before[1]))
    try:
        refused(root, [*SEED, "--workers=112"], 2, "1,028 open files", "1,024 are allowed", "ulimit -n 1028")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_script_of_a_checkout() -> None:
    """crawl.py tells where its options are described; make refuses a variable that it does not know."""
    script = Path(__file__).parents[2] / "crawl.py"
    done = subprocess.run([sys.executable, str(script), "--worker", "3"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("fscrawl: unknown option --worker: did you mean --workers?; see ")
    assert done.stderr.endswith(" crawl --help\n")
    assert "make crawl: WORKER: unknown; there are ROOT SEED SEEDS WORKERS THREADS SET" in planned("crawl", "WORKER=8")
    assert "make merge: FORMATS: unknown; there are ROOT OUT FORMAT ARGS" in planned("merge", "FORMATS=warc")


def planned(*words: str) -> str:
    """Give what `make` would do."""
    command = ["make", "--dry-run", "--no-print-directory", "-C", str(Path(__file__).parents[2]), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("word", ["SEEDS=s.txt", "SEED=http://a.example/", "ROOT=", "SET=a.b=1"])
def test_make_without_a_tree(word: str) -> None:
    """What is meant for a tree does not make the demo begin without it, and an empty ROOT is no wish for the demo."""
    assert f"make crawl: {word.partition('=')[0]}: name the tree with ROOT=DIR" in planned("crawl", word)
    assert "ROOT=DIR" not in planned("crawl", "WORKERS=2")


def test_make_with_quotes() -> None:
    """Paths and URLs reach the shell as one word each, whatever quotes are in them."""
    said = planned("crawl", """ROOT=it's "my" tree""", "SEED=http://a.example/O'Hara http://b.example/?a=1&b=2")
    line = said[said.index("crawl.py") :].replace("\\\n", " ")
    words = ["--root", """it's "my" tree""", "--seed", "http://a.example/O'Hara", "--seed", "http://b.example/?a=1&b=2"]
    assert shlex.split(line)[1:] == words


@pytest.mark.parametrize("seed", ["nonsense", ""])
def test_bad_seed(root: Path, seed: str) -> None:
    """A --seed that is no URL is refused, with an example of one."""
    refused(root, [f"--seed={seed}"], 2, seed or "''", "https://example.org/")


def test_seeds_file_that_is_missing(root: Path, tmp_path: Path) -> None:
    """A seeds file that cannot be read is named."""
    missing = str(tmp_path / "missing")
    refused(root, ["--seeds", missing], 2, f"--seeds {missing}: cannot be read: no such file or directory")


def test_seeds_file_that_is_a_directory(root: Path, tmp_path: Path) -> None:
    """A directory is no seeds file."""
    refused(root, ["--seeds", str(tmp_path)], 2, f"--seeds {tmp_path}: cannot be read: is a directory")


@pytest.mark.parametrize("content", [b"# no URL\n", b"", b"\xff\xfe\n\0"])
def test_seeds_file_without_seeds(root: Path, tmp_path: Path, content: bytes) -> None:
    """A seeds file with no URL in it is refused."""
    (tmp_path / "seeds").write_bytes(content)
    refused(root, ["--seeds", str(tmp_path / "seeds")], 2, str(tmp_path / "seeds"))


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("politeness.delai=1", ("politeness.delai", "did you mean politeness.delay?")),





        ("crawl.scope=world", ("crawl.scope", '"host", "domain", "any"')),




        ("fleet.dead_after=1", ("fleet.dead_after",)),
    ],
)  # fmt: skip
def test_bad_setting(root: Path, assignment: str, words: Sequence[str]) -> None:
    """A bad --set is refused with the name of the setting and what would be right."""
    refused(root, [*SEED, "--set", assignment], 2, *words)


def test_set_on_an_existing_tree(tree: Path) -> None:
    """--set on a tree that has its settings is refused with the advice to edit them."""
    refused(tree, ["--set", "politeness.delay=9"], 2, "politeness.delay: ", f"{tree}/crawl.toml")


# -- a tree that was tampered with


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[crawl]\ndeny = ['(']\n", ("crawl.deny",)),
        ('[crawl]\npartition = "url"', ("crawl.partition", '"host"', "tree.json")),
        ("\udcff", ("crawl.toml:1:1: not valid TOML: byte 0xff is not UTF-8",)),
    ],
)
def test_bad_crawl_toml(tree: Path, text: str, words: Sequence[str]) -> None:
    """A mistake in crawl.toml is said with file, key and what would be right."""
    (tree / "crawl.toml").write_bytes(f"{text}\n{END}".encode("utf-8", "surrogateescape"))
    refused(tree, [], 2, f"{tree}/crawl.toml", *words)


def test_crawl_toml_is_a_directory(tree: Path) -> None:
    """A directory in place of the settings is named."""
    (tree / "crawl.toml").unlink()
    (tree / "crawl.toml").mkdir()
    refused(tree, [], 75, f"{tree}/crawl.toml: it is a directory, not a file")


def test_a_bad_byte_in_seeds_txt(tree: Path) -> None:
    """A byte that is no text costs one line of the seeds, and the crawl goes on."""
    with (tree / "seeds.txt").open("ab") as seeds:
        seeds.write(b"http://127.0.7.1/\xff\n")
    done = run(["--root", str(tree), "--workers", "1"])
    assert done.code == 0, done
    assert f"{tree}/seeds.txt:3:18: byte 0xff is not UTF-8; save the file as UTF-8, skipped" in done.err


def test_mistake_in_crawl_toml_ends_the_program(tree: Path) -> None:
    """So it is with the whole program."""
    (tree / "crawl.toml").write_text("delay = 1\n")
    refused(tree, [], 2, f"{tree}/crawl.toml", "section")


def test_newer_format(tree: Path) -> None:
    """A tree of a newer format is left alone."""
    path = tree / ".fscrawl" / "tree.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))
    refused(tree, [], 75, "99", "format 3")


@pytest.mark.parametrize("gone", ["crawl.toml", "links", "htmls"])
def test_part_of_the_tree_is_gone(tree: Path, gone: str) -> None:
    """A tree without one of its parts is not crawled into as if it were new: the part is named."""
    (tree / gone).rename(tree.parent / "away")
    with Web(linked_site(3, 2), HOSTS) as web:
        complains(crawl(tree, seeds=[web.url(HOSTS[1])]), 75, f"{tree}/{gone}")
    assert not (tree / gone).exists()


def test_torn_record_is_warned_of(tree: Path) -> None:
    """A damaged record is named when the tree is read again, and costs no other page anything."""
    torn = min((tree / "links").rglob("*.json"))
    torn.write_text('{"url": "http')
    done = run(["--root", str(tree), "--workers", "1", "--reseed"])
    assert done.code == 0, done
    (line,) = lines_of(done.err)
    assert str(torn) in line
