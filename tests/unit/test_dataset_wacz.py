"""The ZIP of a WACZ: times that no ZIP knows, members beyond 2 GiB, and what an error leaves."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime

import pytest

from fscrawl.dataset.wacz import Package

MOMENT = datetime(2026, 11, 21, 12, 0, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("year", "created", "zipped"),
    [(2026, "2026-11-21T12:00:01Z", 2026), (1970, "1970-11-21T12:00:01Z", 1980), (9000, "9000-11-21T12:00:01Z", 1980)],
)
def test_times(tmp_path, year, created, zipped):
    """Members have the time of the last page, or the first one of a ZIP if it cannot say that."""
    with Package(tmp_path / "a.wacz", "title", MOMENT.replace(year=year)) as package:
        package.add("a", [b"x"])
    with zipfile.ZipFile(tmp_path / "a.wacz") as found:
        assert {each.date_time[0] for each in found.infolist()} == {zipped}
        assert json.loads(found.read("datapackage.json"))["created"] == created


def test_a_large_member(tmp_path):
    """A member that may have gigabytes gets room for its size in its head."""
    with Package(tmp_path / "a.wacz", "title", MOMENT) as package:
        package.add("archive/large", [b"x"] * 3, 3 << 30, stored=True)
    with zipfile.ZipFile(tmp_path / "a.wacz") as found:
        assert found.testzip() is None
        assert found.read("archive/large") == b"xxx"
        assert found.getinfo("archive/large").extract_version == 45, "ZIP64"


def test_an_error(tmp_path):
    """An error in the middle comes through, and no member is described."""

    def failing():
        yield b"x"
        raise OSError("gone")

    def write():
        with Package(tmp_path / "a.wacz", "title", MOMENT) as package:
            package.add("a", failing())

    with pytest.raises(OSError, match="gone"):
        write()
    with zipfile.ZipFile(tmp_path / "a.wacz") as found:
        assert found.namelist() == ["a"]
