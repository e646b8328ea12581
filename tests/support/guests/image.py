"""What a guest boots from: Debian 12's kernel, an initramfs, a root file system with Python and fscrawl's dependencies.

Vocabulary:
  cache     a directory outside the checkout: $XDG_CACHE_HOME/fscrawl/guests, ~/.cache if that is not set
  image     a directory in it, named by what went into it; made once (3 minutes, 1 GB), whole or not at all
  code disk the checkout's own files, compiled by the image's Python: made for each lab, so that code may change

Promise: what `image()` gives is whole and is never written to; two that ask at once build it once. Packages come from
the mirror that apt uses here, and Python's from where pip looks. Old images stay until somebody removes the cache.
"""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[2]
PROGRAMS = ("qemu-system-x86_64", "debootstrap", "busybox", "mke2fs", "ssh", "ssh-keygen", "dpkg-deb", "setpriv")
PACKAGES = ("python3", "nfs-common", "nfs-kernel-server", "rpcbind", "iproute2", "netbase", "kmod", "openssh-server")
TOOLS = ("quota", "procps", "e2fsprogs", "util-linux")
TEST_PACKAGES = ("pytest",)  # the store's contract suite runs in a guest
MODULES = ("virtio_pci", "virtio_net", "virtio_blk")
_BUILD_S = 1200.0
_CODE = ("fscrawl", "tests", "crawl.py")  # what a guest needs of the checkout


@dataclass(frozen=True, slots=True)
class Image:
    """An image in the cache."""

    directory: Path

    @property
    def kernel(self) -> Path:
        return self.directory / "vmlinuz"

    @property
    def initramfs(self) -> Path:
        return self.directory / "initramfs.gz"

    @property
    def root(self) -> Path:
        return self.directory / "root.img"

    @property
    def rootfs(self) -> Path:
        """What is in `root`, as files."""
        return self.directory / "rootfs"

    @property
    def key(self) -> Path:
        """The private key that opens every guest; guests are reachable from 127.0.0.1 only."""
        return self.directory / "id"


def missing() -> list[str]:
    """Name what building and booting needs and that is not there."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    return [name for name in PROGRAMS if shutil.which(name, path=path) is None] + (
        [] if os.geteuid() == 0 else ["root"]
    )


def image() -> Image:
    """Give the image for this checkout's dependencies; build it if nobody has yet."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fscrawl" / "guests"
    cache.mkdir(parents=True, exist_ok=True)
    found = cache / _fingerprint()
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not found.exists():
            building = cache / f"{found.name}.new"
            shutil.rmtree(building, ignore_errors=True)
            building.mkdir()
            _build(Image(building))
            building.rename(found)
    return Image(found)


def code_disk(image: Image, target: Path) -> None:
    """Make a disk of the checkout's code, with bytecode by the image's Python, for which a guest takes a minute."""
    with tempfile.TemporaryDirectory(prefix="code-", dir=image.rootfs / "opt") as name:
        staged = Path(name)
        for part in _CODE:
            if (CHECKOUT / part).is_dir():
                shutil.copytree(CHECKOUT / part, staged / part, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(CHECKOUT / part, staged / part)
        inside = f"/opt/{staged.name}"
        words = ["python3", "-m", "compileall", "-q", "-s", inside, "-p", "/opt/checkout", inside]
        _run(["chroot", str(image.rootfs), *words])
        _disk(target, staged, "64M")


def empty_disk(target: Path, size: str, *options: str) -> None:
    """Make a disk with an empty ext4."""
    _disk(target, None, size, *options)


def _disk(target: Path, files: Path | None, size: str, *options: str) -> None:
    _run(["truncate", "-s", size, str(target)])
    _run(["mke2fs", "-q", "-F", "-t", "ext4", *options, *(["-d", str(files)] if files else []), str(target)])


def _dependencies() -> list[str]:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *TEST_PACKAGES]


def _fingerprint() -> str:
    parts = [Path(__file__).read_text(encoding="utf-8"), (HERE / "initramfs-init").read_text(encoding="utf-8")]
    parts += [*_dependencies(), (CHECKOUT / "constraints.txt").read_text(encoding="utf-8")]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _build(image: Image) -> None:
    rootfs = image.rootfs
    words = [
        "debootstrap",
        "--variant=minbase",
        f"--include={','.join((*PACKAGES, *TOOLS))}",
        "bookworm",
        str(rootfs),
        _mirror(),
    ]
    _run(words)
    version = _kernel(image)
    _python(rootfs)
    _run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "fscrawl", "-f", str(image.key)])
    (rootfs / "root/.ssh").mkdir(mode=0o700)
    shutil.copy(image.key.with_suffix(".pub"), rootfs / "root/.ssh/authorized_keys")
    _run(["chroot", str(rootfs), "ssh-keygen", "-A"])
    for directory in ("opt/checkout", "mnt/tree", "mnt/small", "mnt/quota", "srv"):
        (rootfs / directory).mkdir(parents=True, exist_ok=True)
    for archive in (rootfs / "var/cache/apt/archives").glob("*.deb"):
        archive.unlink()
    (rootfs / "etc/resolv.conf").write_text("", encoding="utf-8")  # a guest has no names to ask for
    _initramfs(image, version)
    _disk(image.root, rootfs, "3G", "-O", "^has_journal")


def _mirror() -> str:
    """Give the mirror that apt uses here."""
    told = _run(["apt-get", "indextargets", "--format", "$(SITE)"]).split()
    return next(site for site in told if "security" not in site)


def _kernel(image: Image) -> str:
    """Unpack Debian's kernel for virtual machines and give its version."""
    told = _run(["apt-cache", "depends", "linux-image-cloud-amd64"])
    package = next(line.split()[1] for line in told.splitlines() if "Depends:" in line)
    with tempfile.TemporaryDirectory(prefix="fscrawl-kernel-") as name:
        unpacked = Path(name)
        unpacked.chmod(0o755)  # apt downloads as a user of its own
        _run(["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", package], cwd=unpacked)
        _run(["dpkg-deb", "-x", str(next(unpacked.glob("*.deb"))), str(unpacked)])
        shutil.copy(next(unpacked.glob("boot/vmlinuz-*")), image.kernel)
        modules = next(unpacked.glob("lib/modules/*"))
        shutil.copytree(modules, image.rootfs / "usr/lib/modules" / modules.name, symlinks=True)
        version = modules.name
    _run(["chroot", str(image.rootfs), "depmod", version])
    return version


def _python(rootfs: Path) -> None:
    """Install fscrawl's dependencies, in the versions that are tested together, and compile all that is Python."""
    target = rootfs / "usr/lib/python3/dist-packages"
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(target), "--python-version", "3.11"]
    words += ["--only-binary=:all:", "--no-compile", "--root-user-action", "ignore"]
    _run([*words, "-c", str(CHECKOUT / "constraints.txt"), *_dependencies()])
    for library in ("/usr/lib/python3.11", "/usr/lib/python3/dist-packages"):
        _run(["chroot", str(rootfs), "python3", "-m", "compileall", "-q", library], may_fail=True)


def _initramfs(image: Image, version: str) -> None:
    """Pack busybox, the modules that the disks and the network need, and the first script."""
    with tempfile.TemporaryDirectory(prefix="fscrawl-initramfs-") as name:
        files = Path(name)
        (files / "bin").mkdir()
        (files / "modules").mkdir()
        shutil.copy(shutil.which("busybox") or "busybox", files / "bin/busybox")
        shutil.copy(HERE / "initramfs-init", files / "init")
        (files / "init").chmod(0o755)
        told = _run(["chroot", str(image.rootfs), "modprobe", "-S", version, "-a", "-D", *MODULES])
        order: list[str] = []
        for line in told.splitlines():
            source = Path(f"{image.rootfs}{line.split()[1]}") if line.startswith("insmod") else None
            if source is not None and source.name not in order:
                shutil.copy(source, files / "modules")
                order.append(source.name)
        (files / "modules/order").write_text("\n".join(order) + "\n", encoding="utf-8")
        listed = _run(["find", "."], cwd=files)
        packed = subprocess.run(
            ["busybox", "cpio", "-o", "-H", "newc"], input=listed.encode(), cwd=files, check=True, capture_output=True
        )
    image.initramfs.write_bytes(gzip.compress(packed.stdout, 1))


def _run(words: list[str], *, cwd: Path | None = None, may_fail: bool = False) -> str:
    """Run a program to its end and give its output; what it said is in the error if it fails."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    done = subprocess.run(
        words, cwd=cwd, env={**os.environ, "PATH": path, "LC_ALL": "C"}, capture_output=True, text=True,
        stdin=subprocess.DEVNULL, timeout=_BUILD_S, check=False,
    )  # fmt: skip
    if done.returncode and not may_fail:
        raise RuntimeError(f"{' '.join(words)}: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout
