"""What an NFS server says of quotas. The program quota(1) asks it: by RPC of a service beside NFS, rpc.rquotad.

It is there if somebody has installed it (on Debian: the package quota). Promise: it is not waited for longer than
`_PATIENCE_S`; a server may be dead, or a firewall may let NFS through only.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
from collections.abc import Iterator

from fscrawl.admin.doctor.limits import Limits, Quota

_PATIENCE_S = 5.0
_BURIAL_S = 1.0
_BLOCK_BYTES = 1024
_OWNER = re.compile(r"Disk quotas for (?:user|group) .*\((uid|gid) (\d+)\):")
_KINDS = {"uid": "user", "gid": "group"}
_NONE = "Quota not enabled"  # as the program says in English that the server has none
_NUMBERS = 8  # of a line: used, soft, hard and end of grace, of blocks and of files


class NoAnswerError(Exception):
    """It is not known whether there is a quota; the text says why."""


def of(point: str, user: int, group: int, patience_s: float = _PATIENCE_S) -> list[Quota]:
    """Give the quotas of a user and of a group that it is a member of, where an NFS is mounted; NoAnswerError."""
    program = shutil.which("quota")
    if program is None:
        raise NoAnswerError("the program quota, which asks the server, is not installed")
    # -v: also where nothing is stored yet; -w: each file system on one line; -p: grace times as numbers
    command = [program, "-u", "-g", "-v", "-w", "-p", "-f", point]
    out, error = _run(command, patience_s)
    told = list(parse(out))
    if not told and error and _NONE not in error:
        raise NoAnswerError(error)
    wanted = {"uid": user, "gid": group}
    return [
        Quota(f"the quota of {_KINDS[kind]} {number}", files, room)
        for kind, number, files, room in told
        if number == wanted[kind]
    ]


def _run(command: list[str], patience_s: float) -> tuple[str, str]:
    """Give what a program prints, and why it is not whole ("": it is)."""
    try:
        process = subprocess.Popen(  # noqa: S603 - nothing in it comes from others
            command, env={"LC_ALL": "C"}, cwd="/",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
    except OSError as error:
        return "", f"{command[0]} cannot be started: {error.strerror}"
    try:
        out, err = process.communicate(timeout=patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):  # a call on a dead share may not end
            process.wait(_BURIAL_S)
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()
        return "", f"no answer within {patience_s:g} s"
    errors = err.decode(errors="replace").strip().splitlines()
    return out.decode(errors="surrogateescape"), errors[-1].rpartition(": ")[2] if errors else ""


def parse(out: str) -> Iterator[tuple[str, int, Limits, Limits]]:
    """Read what `quota -w -p` prints: "uid" or "gid", its number, the limits of files and of bytes.

    >>> out = "Disk quotas for user me (uid 7): \\n Filesystem blocks quota limit grace files quota limit grace\\n"
    >>> [(kind, number, files, room)] = parse(out + "s:/my x 12* 10 20 1700000000 3 0 9 0\\n")
    >>> kind, number, files
    ('uid', 7, Limits(used=3, soft=0, hard=9, until=0))
    >>> room
    Limits(used=12288, soft=10240, hard=20480, until=1700000000)
    """
    owner = None
    for line in out.splitlines():
        owner = _OWNER.match(line) or owner
        words = [word.removesuffix("*") for word in line.split()[-_NUMBERS:]]
        if owner is not None and len(words) == _NUMBERS and all(map(str.isdecimal, words)):
            blocks, files = map(int, words[:4]), map(int, words[4:])
            used, soft, hard, until = blocks
            room = Limits(used * _BLOCK_BYTES, soft * _BLOCK_BYTES, hard * _BLOCK_BYTES, until)
            yield owner[1], int(owner[2]), Limits(*files), room
