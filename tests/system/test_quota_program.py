"""quota(1), which asks NFS servers: programs of its name that answer as it does, or do not."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from fscrawl.admin.doctor import quota_program
from fscrawl.admin.doctor.limits import Limits, Quota

pytestmark = pytest.mark.proof

HEADING = "     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace"
# as version 4.06 prints it
ANSWER = f"""\
Disk quotas for user #1000 (uid 1000): 
{HEADING}
10.77.0.1:/srv/a b       9*      0       8    1764590400       1     800    1000       0
Disk quotas for group my group (gid 2000): 
{HEADING}
10.77.0.1:/srv/a b       0       0       0       0       0       0    5000       0
Disk quotas for group other (gid 2001): 
{HEADING}
10.77.0.1:/srv/a b       0       0       0       0       0       0    5000       0
"""  # noqa: W291
OF_USER = Quota("the quota of user 1000", Limits(1, 800, 1000), Limits(9 * 1024, 0, 8 * 1024, 1764590400))
OF_GROUP = Quota("the quota of group 2000", Limits(0, 0, 5000), Limits(0))


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script in place of quota(1)."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path / "quota"


def written(program: Path, script: str) -> None:
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)


def answer(text: str) -> str:
    return f"cat <<'END'\n{text}END"


def test_the_answer_is_read(program: Path) -> None:
    """The quotas of the user and of the one group are given; `*` for a limit that is met, and spaces, do no harm."""
    written(program, f'[ "$LC_ALL $*" = "C -u -g -v -w -p -f /mnt/a b" ] || exit 9\n{answer(ANSWER)}')
    assert quota_program.of("/mnt/a b", 1000, 2000) == [OF_USER, OF_GROUP]
    assert quota_program.of("/mnt/a b", 1001, 2002) == []


def test_a_part_of_the_answer_is_read(program: Path) -> None:
    """If the server knows quotas of users only, these are given; what is over quota makes the exit code 1."""
    error = "quota: error while getting quota from s:/x for #2000 (id 2000): Quota not enabled"
    written(program, f"{answer(ANSWER)}\necho '{error}' >&2\nexit 1")
    assert quota_program.of("/mnt/x", 1000, 2002) == [OF_USER]


def test_a_server_without_quotas_has_none(program: Path) -> None:
    """That quotas are off on the server is an answer; that there is no service for them is none."""
    error = "quota: error while getting quota from s:/x for #1000 (id 1000): "
    written(program, f"echo '{error}Quota not enabled' >&2; exit 1")
    assert quota_program.of("/mnt/x", 1000, 1000) == []
    written(program, f"echo '{error}Cannot connect to RPC quota service' >&2; exit 1")
    with pytest.raises(quota_program.NoAnswerError, match=r"^Cannot connect to RPC quota service$"):
        quota_program.of("/mnt/x", 1000, 1000)


def test_a_program_that_cannot_be_started_is_no_answer(program: Path) -> None:
    """A program that is not there, or none that the system can run, is told and no error."""
    program.write_bytes(b"\x7fELF no program")
    program.chmod(0o755)
    with pytest.raises(quota_program.NoAnswerError, match="cannot be started"):
        quota_program.of("/mnt/x", 1000, 1000)


@pytest.mark.parametrize(
    "script", ["echo $$ >&3; exec sleep 60", "sleep 60 & echo $! >&3; wait"], ids=["itself", "its child"]
)
def test_a_program_that_hangs_is_ended(program: Path, script: str) -> None:
    """A server that does not answer is waited for so long and no longer, even if a child keeps the pipe open."""
    ids = Path(f"{program}.ids")
    written(program, f"exec 3>{ids}; echo $$ >&3\n{script}")
    began = time.monotonic()
    with pytest.raises(quota_program.NoAnswerError, match="no answer within 2 s"):
        quota_program.of("/mnt/x", 1000, 1000, patience_s=2.0)
    took = time.monotonic() - began
    itself, sleeper = ids.read_text(encoding="ascii").split()
    if sleeper != itself:  # it has kept the pipe open
        os.kill(int(sleeper), signal.SIGKILL)
    assert took < 30
    assert not Path(f"/proc/{itself}").exists()
