"""How long a file system may show what is no longer so."""

from pathlib import Path

import pytest

from fscrawl.storage import mounts
from fscrawl.storage.mounts import CACHES_LIVE_S, caches_live_s

MOUNTS = """\
21 1 254:0 / / rw,relatime - ext4 /dev/vda1 rw
31 21 0:40 / /mnt/share rw,relatime shared:1 - nfs4 server:/export rw,vers=4.2
32 21 0:41 / /mnt/my\\040share rw - fuse.sshfs me@server:/ rw
33 31 0:42 / /mnt/share/scratch rw - tmpfs tmpfs rw
"""


@pytest.mark.parametrize(
    ("path", "seconds"),
    [
        ("/home/me/crawl", 0.0),
        ("/mnt/share", CACHES_LIVE_S),
        ("/mnt/share/crawl", CACHES_LIVE_S),
        ("/mnt/shared", 0.0),
        ("/mnt/my share/crawl", CACHES_LIVE_S),
        ("/mnt/share/scratch/crawl", 0.0),
    ],
)
def test_by_mount(path, seconds, tmp_path, monkeypatch):
    """The innermost mount counts; a local disk shows nothing old."""
    (tmp_path / "mountinfo").write_text(MOUNTS)
    monkeypatch.setattr(mounts, "TABLE", tmp_path / "mountinfo")
    assert caches_live_s(Path(path)) == seconds


def test_no_list_of_mounts(tmp_path, monkeypatch):
    """What cannot be told may be a share."""
    monkeypatch.setattr(mounts, "TABLE", tmp_path / "missing")
    assert caches_live_s(tmp_path) == CACHES_LIVE_S
