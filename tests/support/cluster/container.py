"""An image of deploy/Dockerfile, built without a registry and without a daemon, and containers of it.

    with Image() as image, image.container("fscrawl-0", tree) as container:
        assert container.run("doctor", "--root", "/tree").returncode == 0

The base image is Debian's own, made by debootstrap. pip finds what it installs in a directory of wheels, which is
filled before, so that a build needs no network. buildah builds; runc runs, as Kubernetes and Docker have it run
containers: another user, no capabilities, a root file system that cannot be written, and a /tmp in memory.

Promise: all of it is in one directory; leaving the `with` ends the containers and removes it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from fscrawl.admin.doctor.this_machine import available_bytes

CHECKOUT = Path(__file__).resolve().parents[3]
PROGRAMS = ("buildah", "debootstrap", "runc")
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
_BASE, _NAME = "localhost/base:test", "localhost/fscrawl:test"
_BUILD_S = 400
_MEMORY_BYTES = 8 << 30
_UNNEEDED = ("usr/share/doc", "usr/share/locale", "usr/share/man", "var/cache/apt", "var/lib/apt/lists")
_PIP = "[global]\nno-index = true\nfind-links = /wheels\n"
_EXTRAS = "dashboard,socks"
_NAMESPACES = ("pid", "mount", "ipc", "uts")  # not of the network: the web is on this computer's loopback


def missing() -> list[str]:
    """Name what is needed and not there; root is one of them."""
    lacking = [name for name in PROGRAMS if shutil.which(name, path=_PATH) is None]
    return lacking + ([] if os.geteuid() == 0 else ["root"])


def _run(words: Sequence[str | Path], timeout_s: float = _BUILD_S) -> str:
    environment = {**os.environ, "PATH": _PATH}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=timeout_s, check=False)
    assert done.returncode == 0, f"{words}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout.strip()


class Image:
    """The target `crawler`, built when the `with` begins."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="fscrawl-image-"))
        self.config: dict[str, Any] = {}  # as the image has it: User, Env, Entrypoint, Cmd, …
        self.root = Path()  # where its files are; containers only read them
        self._driver = "overlay"
        self._is_mounted = False

    def _buildah(self, *words: str | Path) -> str:
        places = [f"--root={self.directory}/storage", f"--runroot={self.directory}/run"]
        return _run(["buildah", *places, f"--storage-driver={self._driver}", *words])

    def __enter__(self) -> Self:
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(AssertionError):
            self._buildah("umount", "--all")
        if self._is_mounted:
            _run(["umount", "--recursive", "--lazy", self.directory])
        shutil.rmtree(self.directory, ignore_errors=True)

    def _prepare(self) -> None:
        """Take memory for a directory, if there is plenty: it is faster, above all where many wait for the disk."""
        if (available_bytes() or 0) > _MEMORY_BYTES:
            _run(["mount", "-t", "tmpfs", "-o", "size=3g,mode=755", "tmpfs", self.directory])
            self._is_mounted = True
        try:
            self._buildah("info")
        except AssertionError:  # overlays upon overlays, as in a container
            shutil.rmtree(self.directory / "storage", ignore_errors=True)
            self._driver = "vfs"

    def _build(self) -> None:
        self._prepare()
        base, wheels = self.directory / "base", self.directory / "wheels"
        # two downloads at the same time
        include = "--include=python3,python3-venv,ca-certificates"
        words = [shutil.which("debootstrap", path=_PATH), "--variant=minbase", include, "bookworm", base]
        with subprocess.Popen(words, env={**os.environ, "PATH": _PATH}, stdout=subprocess.DEVNULL) as strapping:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "-c", CHECKOUT / "constraints.txt"]
            _run([*pip, "--dest", wheels, f"{CHECKOUT}[{_EXTRAS}]", "hatchling"])
            assert strapping.wait(_BUILD_S) == 0
        for name in _UNNEEDED:
            shutil.rmtree(base / name, ignore_errors=True)
        (self.directory / "pip.conf").write_text(_PIP)
        empty = self._buildah("from", "scratch")
        self._buildah("add", "--quiet", empty, base, "/")
        self._buildah("commit", "--quiet", "--rm", empty, _BASE)
        shutil.rmtree(base)
        given = [f"--volume={wheels}:/wheels:ro", f"--volume={self.directory}/pip.conf:/etc/pip.conf:ro"]
        how = ["--isolation=chroot", "--pull-never", "--target=crawler", f"--build-arg=BASE={_BASE}"]
        file = f"--file={CHECKOUT}/deploy/Dockerfile"
        self._buildah("bud", *how, *given, file, f"--tag={_NAME}", CHECKOUT)
        self.config = json.loads(self._buildah("inspect", "--type=image", _NAME))["OCIv1"]["config"]
        self.root = Path(self._buildah("mount", self._buildah("from", "--pull-never", _NAME)))

    @contextlib.contextmanager
    def container(self, name: str, tree: Path) -> Iterator[Container]:
        """Give a container with this host name and with `tree` at /tree; it runs one command at a time."""
        bundle = Path(tempfile.mkdtemp(prefix="bundle-", dir=self.directory))
        found = Container(self, name, tree, bundle)
        try:
            yield found
        finally:
            found.kill()


class Container:
    """One container, as a pod has it."""

    def __init__(self, image: Image, name: str, tree: Path, bundle: Path) -> None:
        self._image, self._name, self._tree, self._bundle = image, name, tree, bundle
        self._id = f"fscrawl-test-{bundle.name}"
        self._runc = ["runc", "--root", f"{image.directory}/runc"]
        self._process: subprocess.Popen[str] | None = None

    def _config(self, words: Sequence[str]) -> dict[str, Any]:
        config = self._image.config
        user, group = map(int, config["User"].split(":"))
        none: dict[str, list[str]] = {each: [] for each in ("bounding", "effective", "inheritable", "permitted")}
        in_memory = {"type": "tmpfs", "source": "tmpfs"}
        return {
            "ociVersion": "1.0.2",
            "hostname": self._name,
            "root": {"path": str(self._image.root), "readonly": True},
            "process": {
                "user": {"uid": user, "gid": group},
                "args": [*config["Entrypoint"], *words],
                "env": config["Env"],
                "cwd": config["WorkingDir"],
                "noNewPrivileges": True,
                "capabilities": none,
            },
            "mounts": [
                {"destination": "/proc", "type": "proc", "source": "proc"},
                {**in_memory, "destination": "/dev", "options": ["nosuid", "mode=755"]},
                {**in_memory, "destination": "/dev/shm", "options": ["nosuid", "nodev", "mode=1777", "size=64m"]},
                {**in_memory, "destination": "/tmp", "options": ["nosuid", "nodev", "mode=1777", "size=64m"]},
                {"destination": "/tree", "type": "bind", "source": str(self._tree), "options": ["rbind", "rw"]},
            ],
            "linux": {"namespaces": [{"type": kind} for kind in _NAMESPACES]},
        }

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start fscrawl with these arguments; its first process has the id 1 in there."""
        (self._bundle / "config.json").write_text(json.dumps(self._config(words)))
        self._process = subprocess.Popen(
            [*self._runc, "run", "--bundle", self._bundle, self._id],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PATH": _PATH},
        )
        return self._process

    def run(self, *words: str, timeout_s: float = 60) -> tuple[int, str]:
        """Run fscrawl with these arguments to its end; give its exit code and what it has said."""
        running = self.start(*words)
        said, _ = running.communicate(timeout=timeout_s)
        return running.returncode, said

    def signal(self, number: int) -> None:
        """Send a signal to the first process in there."""
        _run([*self._runc, "kill", self._id, str(number)], 20)

    def end(self, timeout_s: float = 60) -> tuple[int, str]:
        """End it as a kubelet does, by SIGTERM; give its exit code and what it has said."""
        assert self._process is not None
        self.signal(signal.SIGTERM)
        said, _ = self._process.communicate(timeout=timeout_s)
        return self._process.returncode, said

    def kill(self) -> None:
        """End all its processes at once."""
        process = self._process
        if process is not None and process.stdout is not None and not process.stdout.closed:  # it was not waited for
            if process.poll() is None:
                with contextlib.suppress(AssertionError):
                    self.signal(signal.SIGKILL)
            process.communicate(timeout=30)
        subprocess.run([*self._runc, "delete", "--force", self._id], capture_output=True, timeout=30, check=False)
