"""The notebook of the examples runs as it stands, in a kernel."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import nbclient
import nbformat
import pytest

from tests.support.crawling import CHECKOUT, check_tree
from tests.support.web import Web, linked_site

NOTEBOOK = CHECKOUT / "examples/notebook.ipynb"

# those of Jupyter's packages are no matter of ours
pytestmark = [pytest.mark.proof, pytest.mark.filterwarnings("default")]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jupyter and IPython keep their files in the test's directory."""
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR", "TMPDIR"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT))
    # A command that an earlier test has run in this process may have set it. A kernel that begins in the checkout would
    # drop the checkout from its path then, for it takes the first entry for the working directory.
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)


def said(cell: nbformat.NotebookNode) -> str:
    """Give the text of a cell's outputs."""
    return "".join(output.get("text") or str(output.get("data", "")) for output in cell.outputs)


def test_the_notebook() -> None:
    """Every cell of the notebook runs, and shows what it is to show."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    shown = [said(cell) for cell in notebook.cells if cell.cell_type == "code"]
    assert shown[1].startswith("finished 82 pages {")
    assert "200 A keeper's day" in shown[2]
    assert "polish the brass" in shown[3]
    assert "<svg" in shown[6]
    assert "shift_jis" in shown[6]
    assert "robots" in shown[7]
    assert shown[7].endswith("finished\n")


def test_the_notebook_has_no_outputs() -> None:
    """What is committed has no outputs: they would name paths of somebody's computer."""
    cells = [cell for cell in nbformat.read(NOTEBOOK, as_version=4).cells if cell.cell_type == "code"]
    assert [cell.outputs or cell.execution_count for cell in cells] == [None] * len(cells)


def test_interrupting_a_cell(tmp_path: Path) -> None:
    """*Interrupt* stops a crawl cleanly, with its progress line shown, and the kernel goes on."""
    root = tmp_path / "tree"
    with Web(linked_site(100_000, 3)) as web:
        settings = '{"delay": 0.0}, fetch={"allow_addresses": ["127.0.0.0/8"]}'
        code = f'fscrawl.crawl({str(root)!r}, "http://127.0.0.1:{web.port}/", workers=1, politeness={settings})'
        cells = [
            nbformat.v4.new_code_cell("import os, fscrawl; print(os.getpid())"),
            nbformat.v4.new_code_cell(f"try:\n    {code}\nexcept KeyboardInterrupt:\n    print('interrupted')"),
            nbformat.v4.new_code_cell(f"print(fscrawl.open({str(root)!r}).status().state)"),
        ]
        notebook = nbformat.v4.new_notebook(cells=cells)

        def interrupt() -> None:
            deadline = time.monotonic() + 60
            while len(list(root.glob("links/*/*.json"))) < 20 and time.monotonic() < deadline:
                time.sleep(0.05)
            os.killpg(os.getpgid(int(said(cells[0]))), signal.SIGINT)  # as Jupyter does

        interrupting = threading.Thread(target=interrupt)
        interrupting.start()
        nbclient.NotebookClient(notebook, timeout=90).execute()
        interrupting.join()
    assert "interrupted" in said(notebook.cells[1])
    assert "in the tree" in said(notebook.cells[1])
    assert said(notebook.cells[2]) == "stopped\n"
    check_tree(root)
