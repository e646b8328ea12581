"""The classes of failures: what each one means, and what a person can do about it. Pure, and quick to load."""

import re

CLASSES = {
    "dns": "the host name cannot be resolved",
    "connect": "the connection was refused, reset or cut off",
    "tls": "the certificate is not valid, or the TLS handshake failed",
    "timeout": "the exchange took longer than fetch.timeout or fetch.connect_timeout",
    "protocol": "the answer is not valid HTTP, does not say clearly where it ends or leads, or is a part of the page",
    "too-large": "the body is larger than fetch.max_bytes, or its chunks are too small,"
    " or a head or a redirect is too large",
    "redirects": "more than 20 redirects in a row, so the chain may have no end; browsers give up there, too",
    "decode": "the body cannot be decoded as its Content-Encoding says",
    "blocked-address": "a private or local address (fetch.allow_addresses permits it), or a port of another protocol",
    "proxy": "no proxy can be used now: all of them fail, rest, are used up or were dropped",
    "http-4xx": "the server refuses the request (status 400 to 499; 429: there are too many requests)",
    "http-5xx": "the server says that it failed (status 500 to 599)",
    "parse": "reading the page takes too much processor time or memory",
    "render": "the browser could not render the page: its scripts never end, it took too much, or the browser failed",
    "unexpected": "the page is not what the rules of its site expect (`expect` in a [[site]], `check` in a site file),"
    " or its session cannot be opened",
    "site": "the site file has a mistake; the message names the line",
    "robots": "robots.txt does not allow it",
    "internal": "a defect of fscrawl or of a library; the message names it",
    "planted": "a link, a directory or the like stands where its files should be; `fscrawl audit` names it",
    "worker-died": "the worker process died again and again while it worked on this page",
}
_RETRY = "{fscrawl} retry --root {root} --class "
HELP = {
    "dns": "check the host name, and the resolver of this machine; then:  " + _RETRY + "dns",
    "connect": "the host may be back later:  " + _RETRY + "connect",
    "tls": "certificate of your own authority: fetch.ca_file; wrong scheme: use http://; else:  " + _RETRY + "tls",
    "timeout": "the host may be faster later:  " + _RETRY + "timeout",
    "protocol": "the server must be mended; if it was:  " + _RETRY + "protocol",
    "too-large": "raise fetch.max_bytes, if the message names it; if not, the server must be"
    " mended; then:  " + _RETRY + "too-large",
    "redirects": "nothing: the site is made so; if that was mended:  " + _RETRY + "redirects",
    "decode": "the server must be mended; if it was:  " + _RETRY + "decode",
    "blocked-address": "a private address needs fetch.allow_addresses; then:  " + _RETRY + "blocked-address",
    "proxy": "check fetch.proxies, fetch.proxy_uses and fetch.proxy_failures; then:  " + _RETRY + "proxy",
    "http-4xx": "a dead link, a login (fetch.auth), or too fast (politeness.delay); if that was mended:  "
    + _RETRY
    + "http-4xx",
    "http-5xx": "the server may work later:  " + _RETRY + "http-5xx",
    "parse": "nothing: the page is made so; if the rules of its site are at fault:  " + _RETRY + "parse",
    "render": "{fscrawl} doctor says whether the browser works; then:  " + _RETRY + "render",
    "site": "mend the site file, start the machines with it; then:  " + _RETRY + "site",
    "unexpected": "look at the page, and at `expect` in crawl.toml or at the site file; then:  "
    + _RETRY
    + "unexpected",
    "robots": "nothing: robots.txt forbids it; on a site of your own, set politeness.robots = false",
    "internal": "report it; the record in errs/ has the message",
    "planted": "{fscrawl} audit --root {root}",
    "worker-died": "if the machine had too little memory:  " + _RETRY + "worker-died",
}

_ALLOW = re.compile(r'write (allow_addresses = \["[^"]+"\])')


def private(host: str, address: str) -> str:
    """Say that a host has an address to which no connection is made, and the line that allows it.

    >>> private("a.example", "10.0.0.1")
    'a.example has the private address 10.0.0.1; if it is yours, write allow_addresses = ["10.0.0.1"] below [fetch]'
    """
    what = f"{address} is a private address" if host == address else f"{host} has the private address {address}"
    return f'{what}; if it is yours, write allow_addresses = ["{address}"] below [fetch]'


def line_to_allow(message: str) -> str:
    """Give the line for `crawl.toml` that a message of `private` names; "" if it is another message.

    >>> line_to_allow(private("a.example", "10.0.0.1"))
    'allow_addresses = ["10.0.0.1"]'
    """
    found = _ALLOW.search(message)
    return found[1] if found else ""
