"""Who touches files, opens sockets, starts processes, reads the environment and runs code: these modules, and why.

import-linter sees imports only (`[tool.importlinter]` in pyproject.toml). Here the calls are looked for in the source.
An entry names a module, or a package with all its modules. An entry that is not needed any more must go.
"""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

TREE = {
    "fscrawl.storage": "the files of the tree; `store` is its door, and all others ask that",
    "fscrawl.admin.doctor": "looks at the directory in which there may be no tree yet, and at /proc and /sys",
    "fscrawl.dataset.crew": "sees whether a worker elsewhere has mounted tree and dataset",
}
FILES = {
    **TREE,
    "fscrawl.__main__": "/dev/null, for standard descriptors that are closed",
    "fscrawl.admin.importing": "the archives that it reads",
    "fscrawl.admin.audit.scanner": "a scratch file on the local disk",
    "fscrawl.cli": "/proc: whether it is mounted",
    "fscrawl.commands.crawling": "the file of --seeds",
    "fscrawl.commands.dashboard": "the file of --out",
    "fscrawl.commands.program": "the file of --site",
    "fscrawl.dataset": "the files of the dataset, and those that its options name",
    "fscrawl.engine.frames": "the pipe between a machine and its worker",
    "fscrawl.engine.watchdog": "a pipe within the process",
    "fscrawl.fleet.heartbeat": "/proc: which boot and which process this is",
    "fscrawl.frontier.queue": "scratch files on the local disk",
    "fscrawl.http.tls": "whether the file of certificate authorities is a file, and whether it has changed",
    "fscrawl.interrupts": "standard error, in the middle of anything that may be printed",
    "fscrawl.monitor.dashboard.app": "the dashboard's own files, which are part of the package",
    "fscrawl.monitor.report": "the same files",
    "fscrawl.render": "the browser's directory on the local disk; /proc: the memory of its processes",
    "fscrawl.util.processes": "/proc: how much memory there is; removes the directory of multiprocessing at a signal",
    "fscrawl.util.installed": "whether the command lies beside the interpreter",
    "fscrawl.util.own_code": "who may write to the program, and to the file of --site",
    "fscrawl.util.safe_path": "the directory of the program that was started, which a link may have named",
    "fscrawl.util.terminal": "standard output, in the middle of anything; /dev/null for what cannot be printed",
}
SOCKETS = {
    "fscrawl.http": "the requests of the crawl",
    "fscrawl.admin.doctor": "asks whether the hosts' names resolve",
    "fscrawl.dataset.crew": "asks whether a Dask scheduler is there",
    "fscrawl.monitor.dashboard.serve": "listens for browsers",
    "fscrawl.render": "the socket at which a machine's own processes meet, and a port that refuses a browser all",
}
PROCESSES = {
    "fscrawl.api.child": "ends the crawl with the process that has asked for it",
    "fscrawl.api.running": "starts the process of a crawl, and ends it",
    "fscrawl.engine": "starts the workers and ends them; ends a machine that hangs",
    "fscrawl.dataset.crew": "starts the processes of a merge",
    "fscrawl.dataset.pdf_text": "starts the process that reads PDFs for a merge, which they may hang",
    "fscrawl.fleet.heartbeat": "a number that machine and workers share; whether a process of this host runs",
    "fscrawl.interrupts": "ends the process when a signal comes",
    "fscrawl.monitor.dashboard.serve": "ends without waiting for threads that wait for a share",
    "fscrawl.render": "starts the browser, and ends it",
    "fscrawl.util.processes": "starts the server of forks; ends children at a signal, and a child without a parent",
    "fscrawl.util.safe_path": "starts the program again with more flags, if Python ignores the environment",
}
ENVIRONMENT = {
    "fscrawl.api.running": "tells the process of a crawl where this copy of fscrawl is",
    "fscrawl.admin.doctor.this_machine": "the variables that proxies name",
    "fscrawl.http": "the variables that credentials, headers and proxies name",
    "fscrawl.commands.program": "FSCRAWL_ROOT, which names the tree",
    "fscrawl.render.executable": "FSCRAWL_BROWSER, which names the browser of this machine",
    "fscrawl.engine.usable": "SSLKEYLOGFILE, which is tried before workers begin",
    "fscrawl.render.chromium": "the few variables that a browser may see",
    "fscrawl.util.processes": "keeps a helper of multiprocessing from printing a warning; the allocator of pyarrow",
    "fscrawl.util.safe_path": "tells Python's child processes to keep the working directory off their path",
}
CODE = {
    "fscrawl.api": "loads the module of a name of fscrawl.__all__, of a table",
    "fscrawl.commands": "loads the module of the command that is asked for, of a table",
    "fscrawl.engine.frames": "what a machine and its worker processes send each other",
    "fscrawl.engine.side_process": "asks the kernel to end it with its worker",
    "fscrawl.engine.preload": "loads modules of a list of its own",
    "fscrawl.sites.code": "runs the file that the user names by --site",
    "fscrawl.parse.trees": "calls the library of the HTML parser, which is part of selectolax",
    "fscrawl.render": "what processes of one machine and one user send each other over a socket of theirs",
    "fscrawl.util.processes": "calls the C library that Python runs on",
}

_OPEN_MODES = set("rwaxbt+")
_PATH_METHODS = {
    *("exists", "is_file", "is_dir", "is_symlink", "iterdir", "glob", "rglob", "stat", "lstat", "readlink"),
    *("read_text", "read_bytes", "write_text", "write_bytes", "mkdir", "rmdir", "unlink", "touch", "chmod"),
    *("symlink_to", "hardlink_to"),
}
_OS_FILES = {
    *("open", "close", "read", "write", "pread", "pwrite", "truncate", "ftruncate", "fsync", "stat", "lstat", "fstat"),
    *("listdir", "scandir", "walk", "mkdir", "makedirs", "rmdir", "unlink", "remove", "rename", "replace", "link"),
    *("symlink", "readlink", "statvfs", "chmod", "chown", "fchown", "utime", "access"),
}
_OS_PROCESSES = {"_exit", "abort", "fork", "forkpty", "kill", "killpg", "popen", "system", "wait", "waitpid"}
_ONLY_WHOLE = {"os", "socket", "subprocess", "shutil", "tempfile", "importlib", "runpy", "pickle", "marshal", "ctypes"}
_RUNS_CODE = {"eval", "exec", "compile", "__import__"}
_OWN = ("self.files", "self._files", "tree.files", "entry")  # `TreeFiles`, and what a listing has told already


def calls(source: str) -> Iterator[tuple[str, int, str]]:
    """Give (kind, line, what) of everything in a module's source that leaves the process."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            kind = _kind_of_call(node)
            if kind:
                yield kind, node.lineno, _dotted(node.func)
        elif isinstance(node, ast.Attribute) and _dotted(node) in {"os.environ", "os.environb"}:
            yield "environment", node.lineno, _dotted(node)
        elif isinstance(node, ast.ImportFrom) and node.module in _ONLY_WHOLE:
            yield "hidden", node.lineno, f"from {node.module} import …"


def _dotted(node: ast.expr) -> str:
    """Give the name that is called; "…" for what has none."""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "…"


def _kind_of_call(node: ast.Call) -> str:
    if isinstance(node.func, ast.Name):
        return "files" if node.func.id == "open" else "code" if node.func.id in _RUNS_CODE else ""
    if not isinstance(node.func, ast.Attribute):
        return ""
    of, name = _dotted(node.func.value), node.func.attr
    kinds = {"shutil": "files", "tempfile": "files", "socket": "sockets", "subprocess": "processes"}
    kinds |= dict.fromkeys(("importlib", "runpy", "pickle", "marshal", "shelve"), "code")
    if of == "os":
        return _kind_of_os(name)
    if of == "os.path":
        return {"expandvars": "environment", "join": "", "dirname": "", "split": ""}.get(name, "files")
    if of == "ctypes" and name.endswith("DLL"):
        return "code"
    if of in kinds or of == "multiprocessing":
        return kinds.get(of, "processes")
    if name in {"home", "expanduser"}:
        return "environment"
    mode = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
    opens = name == "open" and (set(str(mode)) <= _OPEN_MODES or of.lower().endswith("path"))
    return "files" if opens or (name in _PATH_METHODS and not of.endswith(_OWN)) else ""


def _kind_of_os(name: str) -> str:
    if name == "getenv":
        return "environment"
    if name in _OS_PROCESSES or name.startswith(("exec", "spawn", "posix_spawn")):
        return "processes"
    return "files" if name in _OS_FILES else ""


_WORTH_PARSING = re.compile(
    r"\b(?:open|home|expanduser)\(|\b(?:os|shutil|tempfile|socket|subprocess|multiprocessing)\b"
    r"|\b(?:eval|exec|compile|__import__)\(|\b(?:importlib|runpy|pickle|marshal|shelve|ctypes)\b"
    rf"|\.(?:{'|'.join(sorted(_PATH_METHODS))})\("
)


@functools.cache
def everything() -> list[tuple[str, str, str]]:
    """Give (kind, module, where and what) of every such call in fscrawl."""
    seen = []
    for path in sorted((ROOT / "fscrawl").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        source = path.read_text(encoding="utf-8")
        for each, line, what in calls(source) if _WORTH_PARSING.search(source) else ():
            seen.append((each, module, f"{path.relative_to(ROOT)}:{line}: {what}"))
    return seen


def found(kind: str) -> list[tuple[str, str]]:
    return [(module, where) for each, module, where in everything() if each == kind]


def entry_of(module: str, allowed: dict[str, str]) -> str | None:
    return next((name for name in allowed if module == name or module.startswith(f"{name}.")), None)


@pytest.fixture(scope="module", autouse=True)
def _source_is_read():
    everything()


@pytest.mark.parametrize(
    ("kind", "allowed"),
    [
        *[("files", FILES), ("sockets", SOCKETS), ("processes", PROCESSES), ("environment", ENVIRONMENT)],
        *[("code", CODE), ("hidden", {})],
    ],
)
def test_only_listed_modules(kind, allowed):
    """Each of the five is done by listed modules only, and through the module's name, so that a reader sees it."""
    strangers = [where for module, where in found(kind) if entry_of(module, allowed) is None]
    assert not strangers, f"not listed under {kind} in {Path(__file__).name}, with a reason: {strangers}"


@pytest.mark.parametrize(
    ("kind", "allowed"),
    [("files", FILES), ("sockets", SOCKETS), ("processes", PROCESSES), ("environment", ENVIRONMENT), ("code", CODE)],
)
def test_no_needless_entries(kind, allowed):
    """A module that stopped doing it is taken off the list."""
    used = {entry_of(module, allowed) for module, _ in found(kind)}
    imports = {"fscrawl.dataset.crew"} if kind == "sockets" else set()  # Dask opens it
    assert set(allowed) - used - imports == set()


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("path.open('rb')", "files"),
        ("frontier.open(host)", None),
        ("os.path.realpath(path)", "files"),
        ("self._files.exists(path)", None),
        ("socket.create_connection(address)", "sockets"),
        ("subprocess.run(words)", "processes"),
        ("os.environ['HOME']", "environment"),
        ("Path.home()", "environment"),
        ("from os import open", "hidden"),
        ("pickle.loads(data)", "code"),
        ("re.compile(text)", None),
    ],
)
def test_what_is_found(source, kind):
    """Calls are found under their usual names, and others are left alone."""
    assert next(iter(each for each, _, _ in calls(source)), None) == kind
