"""Many hosts with names, over TLS or without: one nginx worker on addresses of 127.0.0.0/8, and a resolver that counts.

Promise: inside `with serve()` the hosts answer, and nothing is left running after it. Certificates come from an
authority of the benchmark's own. nginx writes down each request: on which connection, and how that began.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.corpus import PACKAGES, START_S

_CONFIG = """\
daemon off;
worker_processes 1;
worker_rlimit_nofile {descriptors};
pid {directory}/nginx.pid;
error_log {directory}/error.log;
events {{ worker_connections {descriptors}; }}
http {{
    include /etc/nginx/mime.types;
    log_format connections '$host $connection_requests $ssl_session_reused';
    access_log {directory}/access.log connections;
    sendfile on;
    tcp_nopush on;
    keepalive_timeout {keep_alive_s}s;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    root {directory}/pages;
{servers}
}}
"""
_TLS = """\
    ssl_certificate_key {directory}/key.pem;
    ssl_session_cache shared:sessions:20m;
    ssl_session_timeout 1h;
"""
# Put into sitecustomize.py. Each look-up of a name adds a line to a file; addresses are no names. The file is opened
# each time: workers come from a copy of the first process, which keeps no descriptors.
_RESOLVER = """\
import os, re, socket
_asked = socket.getaddrinfo
def _answer(host, *args, **more):
    name = host.decode() if isinstance(host, bytes) else host
    found = re.fullmatch(r"h([0-9]+)\\.test", name or "")
    if found:
        log = os.open({log!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(log, f"{{name}}\\n".encode())
        os.close(log)
        number = int(found[1])
        host = f"127.20.{{number // 250}}.{{number % 250 + 1}}"
    return _asked(host, *args, **more)
socket.getaddrinfo = _answer
"""
_HOSTS_OF_CERTIFICATE = 20
_LINKS = 20  # of each page; all lead to pages of its host


@dataclass(frozen=True, slots=True)
class Counts:
    """`requests` that were answered, and how many connections began with a `full` handshake, a `resumed` one, none."""

    requests: int
    full: int
    resumed: int
    plain: int


@dataclass(frozen=True, slots=True)
class Broad:
    """The hosts while they are served. `authority`: a PEM file; `resolver`: a directory for PYTHONPATH."""

    hosts: int
    port: int
    tls: bool
    directory: Path

    @property
    def authority(self) -> Path:
        return self.directory / "authority.pem"

    @property
    def resolver(self) -> Path:
        return self.directory / "resolver"

    def urls(self) -> list[str]:
        scheme = "https" if self.tls else "http"
        return [f"{scheme}://h{number}.test:{self.port}/" for number in range(self.hosts)]

    def look_ups(self) -> int:
        return len((self.directory / "names.log").read_bytes().splitlines())

    def counts(self) -> Counts:
        """Count what nginx has written down so far."""
        first: Counter[str] = Counter()
        requests = 0
        for line in (self.directory / "access.log").read_text(encoding="ascii").splitlines():
            requests += 1
            _, number, how = line.split(" ")
            if number == "1":
                first[how] += 1
        return Counts(requests, first["."], first["r"], first["-"])


def address(number: int) -> str:
    """Give the address of a host, as the resolver does.

    >>> address(0), address(1999)
    ('127.20.0.1', '127.20.7.250')
    """
    return f"127.20.{number // 250}.{number % 250 + 1}"


@contextlib.contextmanager
def serve(hosts: int, pages: int, page_bytes: int, keep_alive_s: int, *, tls: bool) -> Iterator[Broad]:
    """Serve so many hosts with the same pages. `keep_alive_s`: how long a connection may be idle."""
    with tempfile.TemporaryDirectory(prefix="fscrawl-broad-") as name:
        web = Broad(hosts, _free_port(), tls, Path(name))
        Path(name).chmod(0o755)  # nginx's worker is another user
        _write_pages(web.directory / "pages", pages, page_bytes)
        web.resolver.mkdir()
        log = web.directory / "names.log"
        log.touch()
        (web.resolver / "sitecustomize.py").write_text(_RESOLVER.format(log=str(log)), encoding="ascii")
        if tls:
            _certify(web.directory, hosts)
        config = web.directory / "nginx.conf"
        config.write_text(_config(web, keep_alive_s), encoding="utf-8")
        nginx = subprocess.Popen([PACKAGES["nginx-light"], "-e", web.directory / "error.log", "-c", config])
        try:
            _await(web, nginx)
            yield web
        finally:
            nginx.terminate()
            nginx.wait()


def _config(web: Broad, keep_alive_s: int) -> str:
    servers = _TLS.format(directory=web.directory) if web.tls else ""
    for group, hosts in enumerate(_groups(web.hosts)):
        servers += "    server {\n"
        for number in hosts:
            servers += f"        listen {address(number)}:{web.port}{' ssl' if web.tls else ''};\n"
        servers += f"        ssl_certificate {web.directory}/{group}.pem;\n" if web.tls else ""
        servers += "    }\n"
    descriptors = 2 * web.hosts + 4000
    return _CONFIG.format(directory=web.directory, descriptors=descriptors, keep_alive_s=keep_alive_s, servers=servers)


def _groups(hosts: int) -> Iterator[range]:
    """Give the hosts that share a certificate."""
    for first in range(0, hosts, _HOSTS_OF_CERTIFICATE):
        yield range(first, min(hosts, first + _HOSTS_OF_CERTIFICATE))


def _write_pages(root: Path, pages: int, page_bytes: int) -> None:
    """Write /, /1.html … : words that are the same each time, and links between the pages."""
    root.mkdir()
    chance = random.Random(8)
    words = ["".join(chance.choices("aeinorstlu", k=chance.randrange(2, 9))) for _ in range(2000)]
    for number in range(pages):
        html = f"<!doctype html><html lang=en><head><meta charset=utf-8><title>Page {number}</title></head><body>\n"
        for target in range(_LINKS):
            html += f'<li><a href="/{(number + target) % pages or ""}{".html" if (number + target) % pages else ""}">'
            html += f"{' '.join(chance.choices(words, k=3))}</a></li>\n"
        while len(html) < page_bytes:
            html += f"<p>{' '.join(chance.choices(words, k=60))}</p>\n"
        (root / (f"{number}.html" if number else "index.html")).write_text(html, encoding="ascii")


def _certify(directory: Path, hosts: int) -> None:
    """Make an authority, and certificates of it for all hosts, with one key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        sys.exit("the benchmark needs the openssl command; on Debian: apt-get install openssl")

    def run(words: str) -> None:
        subprocess.run([openssl, *words.split()], check=True, cwd=directory, capture_output=True, timeout=60)

    key = "-newkey rsa:2048 -nodes"
    run(f"req -x509 {key} -days 2 -subj /CN=authority -keyout authority.key -out authority.pem")
    run(f"req {key} -subj /CN=broad -keyout key.pem -out request.pem")
    for group, numbers in enumerate(_groups(hosts)):
        names = ",".join(f"DNS:h{number}.test" for number in numbers)
        (directory / "names.cnf").write_text(f"subjectAltName={names}\n", encoding="ascii")
        run(
            f"x509 -req -in request.pem -CA authority.pem -CAkey authority.key -set_serial {group + 1} -days 2"
            f" -extfile names.cnf -out {group}.pem"
        )
        certificate = directory / f"{group}.pem"
        certificate.write_bytes(certificate.read_bytes() + (directory / "authority.pem").read_bytes())


def _free_port() -> int:
    with socket.socket() as one:
        one.bind((address(0), 0))
        return int(one.getsockname()[1])


def _await(web: Broad, nginx: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while True:
        if nginx.poll() is not None:
            sys.exit(f"nginx ended at once: {(web.directory / 'error.log').read_text(encoding='utf-8').strip()[:2000]}")
        with contextlib.suppress(OSError, ssl.SSLError):
            socket.create_connection((address(web.hosts - 1), web.port), 1).close()
            return
        if time.monotonic() > deadline:
            sys.exit(f"nginx does not answer at {address(web.hosts - 1)}:{web.port}")
        time.sleep(0.05)
