"""The files of deploy/ are what the tools that read them take: each tool, or its published schema, judges them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from fscrawl.commands.program import parse
from tests.support.crawling import CHECKOUT

DEPLOY = CHECKOUT / "deploy"
VERSIONS = ("1.28", "1.32", "1.37")  # of Kubernetes
MOST_EXPOSED = 20  # tenths, of ten points; systemd calls up to 4.9 "OK"


def judged(*words: str | Path) -> str:
    """Run a tool that must find no fault; give what it says."""
    name = shutil.which(words[0])
    if name is None:
        pytest.skip(f"{words[0]} is not installed")
    done = subprocess.run([name, *words[1:]], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def of_python(name: str) -> Path:
    """Give a program that is installed beside this Python."""
    return Path(sys.executable).with_name(name)


def loaded(name: str) -> list[Any]:
    return list(yaml.safe_load_all((DEPLOY / name).read_text(encoding="utf-8")))


def crawl_of(words: list[str]) -> Any:
    """Parse the arguments of a crawl as fscrawl does."""
    return parse(words)


@pytest.mark.parametrize("version", VERSIONS)
def test_kubernetes_takes_its_files(version: str) -> None:
    """They fit the published schema, strictly: a field that does not exist is a fault."""
    files = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    assert len(files) == 3
    judged(of_python("kubernetes-validate"), "--strict", "--kubernetes-version", version, *files)


def test_a_wrong_field_is_found(tmp_path: Path) -> None:
    """The validation finds a misspelt field."""
    text = (DEPLOY / "kubernetes/machines.yaml").read_text(encoding="utf-8")
    (tmp_path / "wrong.yaml").write_text(text.replace("podManagementPolicy", "podManagmentPolicy"))
    words = [of_python("kubernetes-validate"), "--strict", tmp_path / "wrong.yaml"]
    assert subprocess.run(words, capture_output=True, timeout=60, check=False).returncode != 0


def test_the_parts_of_kubernetes_fit_together() -> None:
    """Names that files give each other exist; the user is the image's; the grace is longer than a fetch may take."""
    [claim], [settings], [service, machines] = (
        loaded(f"kubernetes/{name}.yaml") for name in ("claim", "settings", "machines")
    )
    pod = machines["spec"]["template"]["spec"]
    volumes = {each["name"]: each for each in pod["volumes"]}
    assert volumes["tree"]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    assert volumes["settings"]["configMap"]["name"] == settings["metadata"]["name"]
    assert machines["spec"]["serviceName"] == service["metadata"]["name"]
    assert pod["securityContext"]["runAsUser"] == 10001
    assert pod["terminationGracePeriodSeconds"] >= 60
    [container] = pod["containers"]
    assert {each["name"] for each in container["volumeMounts"]} <= set(volumes)
    assert crawl_of(container["args"]).wait
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]


def test_many_pods_may_begin_a_tree_at_the_same_time(tmp_path: Path) -> None:
    """What the pods do first leaves one whole file of each name, and changes nothing in a tree that is there."""
    [_, machines] = loaded("kubernetes/machines.yaml")
    [settings] = loaded("kubernetes/settings.yaml")
    [first] = machines["spec"]["template"]["spec"]["initContainers"]
    for name in ("tree", "settings"):
        (tmp_path / name).mkdir()
    for name, text in settings["data"].items():
        (tmp_path / "settings" / name).write_text(text)
    script = first["command"][-1].replace("/tree", f"{tmp_path}/tree").replace("/settings", f"{tmp_path}/settings")

    def start(pod: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([*first["command"][:-1], script], env={"HOSTNAME": pod}, stderr=subprocess.DEVNULL)

    assert [each.wait(30) for each in [start(f"fscrawl-{number}") for number in range(12)]] == [0] * 12
    assert {path.name: path.read_text() for path in (tmp_path / "tree").iterdir()} == settings["data"]
    (tmp_path / "tree/crawl.toml").unlink()
    (tmp_path / "tree/.fscrawl").mkdir()
    assert start("fscrawl-0").wait(30) == 0
    assert not (tmp_path / "tree/crawl.toml").exists()


def test_the_edit_that_the_settings_of_kubernetes_name(tmp_path: Path) -> None:
    """The command in its comment changes the delay: `sed` does not say that a line is not there."""
    path = DEPLOY / "kubernetes/settings.yaml"
    [command] = re.findall(r"^# +kubectl exec -it fscrawl-0 -- sh -c '(.*)'$", path.read_text(), re.MULTILINE)
    (tmp_path / "crawl.toml").write_text(loaded("kubernetes/settings.yaml")[0]["data"]["crawl.toml"])
    subprocess.run(["sh", "-c", command.replace("/tree", str(tmp_path))], check=True, timeout=30)
    assert tomllib.loads((tmp_path / "crawl.toml").read_text())["politeness"]["delay"] == 2


def test_compose_takes_its_file() -> None:
    """It fits the schema of the Compose specification, and its command is one of fscrawl's."""
    path = DEPLOY / "compose/compose.yaml"
    judged(of_python("check-jsonschema"), "--builtin-schema", "vendor.compose-spec", path)
    [crawler] = loaded("compose/compose.yaml")[0]["services"].values()
    words = [re.sub(r"\$\{\w+:-(\w+)\}", r"\1", word) for word in crawler["command"]]
    assert crawl_of(words).workers == 4
    assert "hostname" not in crawler
    dockerfile = CHECKOUT / crawler["build"]["dockerfile"]
    assert f" AS {crawler['build']['target']}\n" in dockerfile.read_text(encoding="utf-8")


def test_the_dockerfile_has_no_fault() -> None:
    """Hadolint finds nothing, also no hint."""
    judged(of_python("hadolint"), "--failure-threshold", "style", DEPLOY / "Dockerfile")


def test_the_script_for_slurm_has_no_fault() -> None:
    """Shellcheck finds nothing, and what it runs is a crawl."""
    script = DEPLOY / "slurm/fscrawl.sbatch"
    judged(of_python("shellcheck"), script)
    judged("bash", "-n", script)


@pytest.mark.parametrize("given", ["", "env A=b fake"])
def test_the_script_for_slurm_calls_fscrawl(tmp_path: Path, given: str) -> None:
    """It runs the file in the home directory, spaces or not, or what FSCRAWL says, and passes on its exit code."""
    for name in ("python3", "fake"):
        (tmp_path / name).write_text('#!/bin/sh\nfor word; do echo "$word"; done\nexit 3\n')
        (tmp_path / name).chmod(0o755)
    root = tmp_path / "my share" / "crawl"
    home = str(tmp_path / "my home")
    environment = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "HOME": home,
        "ROOT": str(root),
        "FSCRAWL": given,
        "WORKERS": "2",
    }
    words = ["bash", DEPLOY / "slurm/fscrawl.sbatch"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)
    file = [] if given else [f"{home}/fscrawl.pyz"]
    assert done.stdout.splitlines() == [*file, "crawl", "--root", str(root), "--workers", "2", "--log-json"], done
    assert done.returncode == 3


def test_after_exit_code_75_the_command_is_started_again(tmp_path: Path) -> None:
    """Whatever started it starts it once more: the share is back, or `.fscrawl` was deleted and nothing is lost."""
    unit = (DEPLOY / "systemd/fscrawl.service").read_text(encoding="utf-8")
    of_unit = dict(re.findall(r"^(Restart\w*|StartLimit\w+|SuccessExitStatus)=(.*)$", unit, re.MULTILINE))
    assert (of_unit["Restart"], of_unit["StartLimitIntervalSec"]) == ("on-failure", "0")
    assert "75" not in f"{of_unit['RestartPreventExitStatus']} {of_unit['SuccessExitStatus']}".split()
    [crawler] = loaded("compose/compose.yaml")[0]["services"].values()
    assert crawler["restart"] == "on-failure"
    [pods] = [each for each in loaded("kubernetes/machines.yaml") if each["kind"] == "StatefulSet"]
    assert pods["spec"]["template"]["spec"].get("restartPolicy", "Always") == "Always"
    for name, text in (("scontrol", f'echo "$@" > {tmp_path}/asked'), ("crawl", "exit 75")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "ROOT": "/tree", "FSCRAWL": "crawl", "SLURM_JOB_ID": "7"}
    subprocess.run(["bash", DEPLOY / "slurm/fscrawl.sbatch"], env=environment, check=True, timeout=60)
    assert (tmp_path / "asked").read_text() == "requeue 7\n"


def test_systemd_finds_no_fault() -> None:
    """The unit is one, and exposes the computer little."""
    path = DEPLOY / "systemd/fscrawl.service"
    said = judged("systemd-analyze", "verify", "--man=no", path)
    assert [line for line in said.splitlines() if "fscrawl.service" in line] == []
    judged("systemd-analyze", "security", "--offline=true", f"--threshold={MOST_EXPOSED}", path)


def test_the_unit_permits_what_a_crawl_calls(tmp_path: Path) -> None:
    """No system call of a crawl is one that the unit's filter refuses."""
    unit = (DEPLOY / "systemd/fscrawl.service").read_text(encoding="utf-8")
    permitted: set[str] = set()
    for refused, group in re.findall(r"^SystemCallFilter=(~?)(@[\w-]+)$", unit, re.MULTILINE):
        permitted = permitted - calls_of(group) if refused else permitted | calls_of(group)
    trace = tmp_path / "trace"
    crawl = [sys.executable, "-m", "demo.run", "--root", str(tmp_path / "tree"), "--port", "8733"]
    judged("strace", "--follow-forks", "--summary-only", "--summary-columns=name", f"--output={trace}", *crawl)
    called = set(re.findall(r"^\s*([a-z]\w+)\s*$", trace.read_text(), re.MULTILINE)) - {"syscall", "total"}
    assert {"openat", "linkat", "clone"} & called
    assert called - permitted == set()


def calls_of(group: str) -> set[str]:
    """Give the system calls of a group, those of its groups included."""
    lines = [line.strip() for line in judged("systemd-analyze", "syscall-filter", group).splitlines()[1:]]
    found = {line for line in lines if re.fullmatch(r"\w+", line)}
    return found.union(*(calls_of(line) for line in lines if line.startswith("@")))


def test_cloud_init_takes_its_file() -> None:
    """It fits the schema, and writes the unit of deploy/systemd, without its comments."""
    said = judged("cloud-init", "schema", "--config-file", DEPLOY / "cloud-init/user-data.yaml")
    assert "Valid" in said
    [config] = loaded("cloud-init/user-data.yaml")
    [written] = [each["content"] for each in config["write_files"] if each["path"].endswith(".service")]
    unit = (DEPLOY / "systemd/fscrawl.service").read_text(encoding="utf-8")
    assert written.splitlines() == [line for line in unit.splitlines() if line and not line.startswith("#")]
