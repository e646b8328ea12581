"""The bundled demo: what `make crawl` does with no words."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from demo.server import Server
from demo.site import HOSTS, ODD, Site

CHECKOUT = Path(__file__).parent.parent.parent


def free_port() -> int:
    """Give a port that is free on all the demo's hosts."""
    with Server(Site(), HOSTS, deadline_s=10) as server:
        return server.port


def demo(root: Path, port: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "demo.run", "--root", str(root), "--port", str(port), "--workers", "2"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def name(url: str) -> str:
    """Give "12/keeper" for "http://127.0.0.12:8713/keeper"."""
    _, _, authority, path = url.split("/", 3)
    return f"{authority.partition(':')[0].rpartition('.')[2]}/{path}"


def records(root: Path, directory: str) -> dict[str, dict]:
    """Give the records of a directory by the short names of their URLs."""
    found = [json.loads(file.read_text(encoding="utf-8")) for file in (root / directory).rglob("*.json")]
    return {name(record["url"]): record for record in found}


def test_the_demo_is_crawled_whole_and_a_second_run_adds_nothing(tmp_path: Path) -> None:
    """Every page that may be fetched is stored and decoded, the two that may not are errors; then there is no work."""
    root, port = tmp_path / "a tree", free_port()
    first = demo(root, port)
    assert first.returncode == 0, first.stderr
    assert "make crawl ROOT=" in first.stdout
    done, failed = records(root, "links"), records(root, "errs")
    assert len(done) == 90
    assert {short: record["class"] for short, record in failed.items()} == {
        "12/private/lamp-room": "robots",
        "16/missing": "http-4xx",
    }
    assert done["14/matcha"]["title"] == "抹茶"
    assert done["14/lying"]["encoding"] == "utf-8"  # a header is believed, as browsers do
    assert (done["15/longjing"]["title"], done["15/longjing"]["encoding"]) == ("龙井", "gbk")
    assert done["12/keeper"]["title"] == "A keeper's day"
    assert done["13/?order=age"]["canonical"] == f"http://127.0.0.13:{port}/"
    assert "13/spans/forth" in done
    assert "11/index/8" in done
    assert done["16/leaflet.pdf"]["skipped"]
    assert done["16/unwell"]["status"] == 200
    assert done["16/loop/2"]["redirect"] == f"http://{ODD}:{port}/loop"
    assert "16/refreshed" in done
    assert set(done["16/anchors"]["links"]) <= {f"http://{ODD}:{port}/anchors"}
    assert done["16/"]["nofollow"] == [f"http://{ODD}:{port}/unendorsed"]
    assert "16/unendorsed" not in done

    second = demo(root, port)
    assert second.returncode == 0, second.stderr
    assert "this machine  0 pages" in second.stdout
    assert records(root, "links") == done


def test_the_readme_shows_what_the_demo_prints(tmp_path: Path) -> None:
    """The demo prints the lines of the README in their order, whatever the bytes, seconds and pages per second."""
    port = free_port()
    done = demo(tmp_path / "shared-tree", port)
    first, _, rest = done.stdout.partition("\n")
    on_terminal = f"{first}\n{done.stderr}{rest}"  # where standard error stands between
    printed = on_terminal.replace(f"{tmp_path}/", "").replace(f":{port}/", ":8713/")
    text = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    shown = text.partition("<!-- output -->\n```\n")[2].partition("```\n<!-- /output -->")[0]
    lines = iter(measured_out(printed).splitlines())
    assert [line for line in measured_out(shown).splitlines() if line not in lines] == []


def measured_out(text: str) -> str:
    """Replace what differs from run to run.

    >>> measured_out("82 pages (78 kB), 7 redirects in 3.3 s, 24.7 pages/s")
    '82 pages (# kB), 7 redirects in # s, # pages/s'
    """
    return re.sub(r"[0-9.]+ (kB|s|pages/s)\b", r"# \1", text)


def test_a_taken_port_is_said_in_one_line(tmp_path: Path) -> None:
    """With the port in use the demo ends with one line that says so, and makes no tree."""
    with Server(Site(), HOSTS, deadline_s=60) as server:
        run = demo(tmp_path / "tree", server.port)
    assert run.returncode == 1
    assert run.stderr == f"demo: port {server.port} of {HOSTS[0]} to {HOSTS[-1]} is taken; is another demo running?\n"
    assert not (tmp_path / "tree").exists()
