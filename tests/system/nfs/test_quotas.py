"""What `fscrawl doctor` says of real quotas: of ext4 on the server, and of the same by NFS on a client.

The guests' kernel has quotas; not every kernel that runs tests has. What is said is compared with what a user can make.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterator

import pytest

from tests.support.guests.guest import Guest
from tests.support.guests.lab import Lab

pytest_plugins = ["tests.support.guests.fixtures"]
pytestmark = pytest.mark.timeout(600)

USER, GROUP, PROJECT = 1007, 2007, 7
PAGES = 400  # 800 files
SETTINGS = f"[crawl]\nmax_pages = {PAGES}\n"
UNBOUND = "--bounding-set -sys_resource --inh-caps -sys_resource"  # root, as a container has it
PATIENCE_S = 5.0


@pytest.fixture
def name(lab: Lab) -> Iterator[str]:
    """The name of a directory of the user on /srv/quota; its files have the group, and no quota is set."""
    made = lab.server.run("mktemp -d /srv/quota/doctor.XXXXXX").out.strip()
    lab.server.run(f"chown {USER}:{GROUP} {made} && chmod 2770 {made}")
    lab.server.run(f"printf %s {shlex.quote(SETTINGS)} >{made}/crawl.toml")
    yield made.rpartition("/")[2]
    lab.server.run(f"rm -r {made}")
    for option, owner in (("-u", USER), ("-g", GROUP), ("-P", PROJECT)):
        lab.server.run(f"setquota {option} {owner} 0 0 0 0 /srv/quota")


def doctor(guest: Guest, root: str, who: str = f"--reuid {USER} --regid {USER} --groups {GROUP}") -> list[str]:
    """Run the command as a user, and give what it says of quotas."""
    words = f"setpriv {who} python3 -B -m fscrawl doctor --root {root} --workers 1 --threads 1 --json"
    done = guest.run(f"cd /opt/checkout && HOME=/tmp exec {words}", check=False)
    assert done.code in (0, 1), done
    said = [json.loads(line) for line in done.out.splitlines()]
    assert any("the file system does what a tree needs" in each["what"] for each in said), done
    lines = [f"{each['level']}: {each['what']}" for each in said]
    return [line for line in lines if "the quota of" in line or "a quota for" in line]


def both(lab: Lab, name: str) -> list[str]:
    """Give what is said on the server, which the client must say, too."""
    here = doctor(lab.server, f"/srv/quota/{name}")
    assert doctor(lab.clients[0], f"/mnt/quota/{name}") == here
    return here


def made(guest: Guest, directory: str, files: int) -> int:
    """Let the user make files, and give how many it could make."""
    script = f"import os\nfor n in range({files}): os.close(os.open(f'{directory}/x{{n}}', os.O_CREAT | os.O_WRONLY))"
    guest.run(f"setpriv --reuid {USER} --regid {USER} --groups {GROUP} python3 -c {shlex.quote(script)}", check=False)
    return int(guest.run(f"ls {directory} | grep -c x").out)


@pytest.mark.parametrize("lab", ["4.2", "3"], indirect=True)
def test_user_and_group(lab: Lab, name: str) -> None:
    """The quotas of user and group are compared with the files of the pages; what is said to be left can be made."""
    told = f"crawl.max_pages = {PAGES} allows {PAGES} more pages"
    assert doctor(lab.clients[0], f"/mnt/quota/{name}") == []
    lab.server.run(f"setquota -u {USER} 0 0 0 300 /srv/quota && setquota -g {GROUP} 0 0 0 900 /srv/quota")
    left = 300 - 1  # the directory; crawl.toml is root's
    assert both(lab, name) == [
        f"warning: {told}, which need 800 files; the quota of user {USER} leaves {left} files",
        f"ok: {told}; the quota of group {GROUP} has room for their 800 files",
    ]
    assert made(lab.clients[0], f"/mnt/quota/{name}", 400) == left
    lab.server.run(f"rm /srv/quota/{name}/x* && setquota -u {USER} 0 100 0 900 /srv/quota")
    [user_files, user_bytes, group_files] = both(lab, name)
    assert user_files == f"ok: {told}; the quota of user {USER} has room for their 800 files"
    assert user_bytes.startswith(f"warning: the quota of user {USER} leaves ")
    assert group_files.startswith("ok: ")


@pytest.mark.parametrize("lab", ["4.2"], indirect=True)
def test_grace(lab: Lab, name: str) -> None:
    """Past the soft limit it is said when the grace time is over; after it nothing can be made, and it is a problem."""
    lab.server.run(f"setquota -u {USER} 0 0 10 900 /srv/quota")
    assert f"the quota of user {USER} leaves 9 files up to its soft limit" in both(lab, name)[0]
    assert made(lab.server, f"/srv/quota/{name}", 20) == 20
    [said] = both(lab, name)
    assert said.startswith(f"warning: the quota of user {USER} is over its soft limit: 21 files, and the limit is 10 ")
    assert "nothing can be made after 20" in said
    lab.server.run(f"setquota -T -u {USER} 1 1 /srv/quota; sleep 2")
    words = f"cd /opt/checkout && setpriv --reuid {USER} --regid {USER} --groups {GROUP} python3 -B -c "
    script = (
        "import time; from pathlib import Path; from fscrawl.admin.doctor import directory, quotas; import sys;"
        " where = Path(sys.argv[1]); print(*quotas.compare(where, directory.mount_at(where), None, time.time()))"
    )
    lab.server.run(f"chmod 330 /srv/quota/{name}")  # it need not be readable
    for guest, root in ((lab.server, "/srv"), (lab.clients[0], "/mnt")):
        told = guest.run(f"{words} {shlex.quote(script)} {root}/quota/{name}").out
        assert told.startswith(f"problem: the quota of user {USER} is used up: 21 files, and the limit is 10 files now")
    assert made(lab.server, f"/srv/quota/{name}", 30) == 20


@pytest.mark.parametrize("lab", ["4.2"], indirect=True)
def test_project_and_an_older_call(lab: Lab, name: str) -> None:
    """A project is asked for by those who may; without quotactl_fd the kernel is asked by the device."""
    root = f"/srv/quota/{name}"
    lab.server.run(f"chattr +P -p {PROJECT} {root} && setquota -P {PROJECT} 0 0 0 50 /srv/quota")
    assert doctor(lab.server, root) == []  # the user may not ask; statvfs has it
    assert doctor(lab.server, root, "") == []  # root is bound by none
    [said] = doctor(lab.server, root, UNBOUND)
    assert said.endswith(f"which need 800 files; the quota of project {PROJECT} leaves 49 files")
    script = (
        "from pathlib import Path; from fscrawl.admin.doctor import quotactl as q; q._QUOTACTL_FD = 9999;"
        f" print(q.ask(Path('{root}'), '/dev/vde', q.PROJECT, {PROJECT})[0].hard)"
    )
    assert lab.server.run(f"cd /opt/checkout && python3 -B -c {shlex.quote(script)}").out == "50\n"


@pytest.mark.parametrize("lab", ["4.2"], indirect=True)
def test_a_server_that_does_not_tell(lab: Lab, name: str) -> None:
    """Where the server has no quota service, or one that hangs, that is said, soon, and the other checks are done."""
    client, root = lab.clients[0], f"/mnt/quota/{name}"
    unknown = "ok: whether the server has a quota for this user is not known: "
    lab.server.run("kill -STOP $(pidof rpc.rquotad)")
    began = time.monotonic()
    try:
        assert doctor(client, root) == [f"{unknown}no answer within {PATIENCE_S:g} s"]
    finally:
        lab.server.run("kill -CONT $(pidof rpc.rquotad)")
    assert time.monotonic() - began < PATIENCE_S + 60
    assert client.run("pidof quota", check=False).out == ""
    lab.server.run("kill $(pidof rpc.rquotad); while pidof rpc.rquotad; do sleep 0.1; done")
    try:
        assert doctor(client, root) == [f"{unknown}Cannot connect to RPC quota service"]
    finally:
        lab.server.run("rpc.rquotad")
    assert doctor(client, "/mnt/tree") == []  # ext4 without quotas
