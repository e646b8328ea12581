"""Both parsers give the same answer for real manuals."""

from pathlib import Path

import pytest

from tests.support.parsers import differing

MANUALS = {"python3-doc": "/usr/share/doc/python3*-doc/html", "rust-doc": "/usr/share/doc/rust-doc/html"}
SAMPLE = 30  # pages of each manual
MAX_SAMPLE_BYTES = 60_000  # html5lib reads some 300 KB/s


@pytest.mark.parametrize("package", MANUALS)
def test_real_pages(package):
    """Both parsers give the same page for every page of a sample of a real manual."""
    where = Path("/").glob(MANUALS[package].lstrip("/"))
    pages = sorted(page for folder in where for page in folder.rglob("*.html"))
    if not pages:
        pytest.skip(f"Debian's {package} is not installed")
    small = [page for page in pages[:: max(1, len(pages) // (4 * SAMPLE))] if page.stat().st_size < MAX_SAMPLE_BYTES]
    bodies = [page.read_bytes() for page in small[:: max(1, len(small) // SAMPLE)][:SAMPLE]]
    assert len(bodies) == SAMPLE
    assert differing(bodies) == set()
