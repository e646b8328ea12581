"""Cookies reach whom they are for, and no site can spoil another's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fscrawl.http.cookies import MAX_PER_SITE, MAX_SITE_BYTES, MAX_SITES, Jar, read

SHOP = "http://www.shop.example/a/b"
SAFE = "https://www.shop.example/"
NOW = 1000.0


def jar(*lines, url=SHOP):
    made = Jar()
    made.learn(url, lines, NOW)
    return made


def test_empty():
    """A jar without cookies gives none."""
    assert Jar().header(SHOP, NOW) is None


@pytest.mark.parametrize(
    ("line", "sent"),
    [
        ("a=1", "a=1"),
        (" a = 1 ; HttpOnly; SameSite=Lax", "a=1"),
        ("a=b=c", "a=b=c"),
        ("a=", "a="),
        ("=1", "1"),
        ("1", "1"),
        ('a="q;q"', 'a="q'),
        ("", None),
        ("=", None),
        (";a=1", None),
        ("a=\x00", None),
        ("a=1\r\n x", None),
        ("a=" + "x" * 4096, None),
    ],
)
def test_pair(line, sent):
    """A cookie goes back as name=value; what is no cookie, or has a control character, does not."""
    assert jar(line).header(SHOP, NOW) == sent


@pytest.mark.parametrize(
    ("domain", "hosts"),
    [
        ("", {"www.shop.example"}),
        ("www.shop.example", {"www.shop.example", "x.www.shop.example"}),
        (".Shop.Example", {"www.shop.example", "shop.example", "x.www.shop.example", "api.shop.example"}),
        ("example", set()),
        ("other.example", set()),
        ("api.shop.example", set()),
        ("p.example", set()),
        ("op.example", set()),
    ],
)
def test_domain(domain, hosts):
    """Domain opens a cookie to its subdomains; another's domain, or a public suffix, refuses it."""
    made = jar(f"a=1; Domain={domain}")
    every = ["www.shop.example", "shop.example", "x.www.shop.example", "api.shop.example", "other.example", "example"]
    assert {host for host in every if made.header(f"http://{host}/a/", NOW)} == hosts


@pytest.mark.parametrize("suffix", ["co.uk", "github.io", "com"])
def test_public_suffix(suffix):
    """No host sets a cookie for a public suffix, and a suffix that is a host itself only for itself."""
    assert jar(f"a=1; Domain={suffix}", url=f"http://evil.{suffix}/").header(f"http://bank.{suffix}/", NOW) is None
    own = jar(f"a=1; Domain={suffix}", url=f"http://{suffix}/")
    assert own.header(f"http://bank.{suffix}/", NOW) is None


@pytest.mark.parametrize(("host", "domain"), [("127.0.0.1", "0.0.1"), ("10.0.0.1", "1"), ("[::1]", "1]")])
def test_addresses_have_no_subdomains(host, domain):
    """An address takes cookies for itself, never for a part of it."""
    assert read(f"a=1; Domain={domain}", f"http://{host}/", NOW) is None
    assert jar("a=1", url=f"http://{host}/").header(f"http://{host}/x", NOW) == "a=1"
    assert jar(f"a=1; Domain={host}", url=f"http://{host}/").header(f"http://{host}/x", NOW) == "a=1"


@pytest.mark.parametrize(
    ("path", "asked", "goes"),
    [
        ("/", "/x", True),
        ("/a", "/a", True),
        ("/a", "/a/x?q", True),
        ("/a", "/ab", False),
        ("/a/", "/a", False),
        ("/a/", "/a/x", True),
        ("", "/a/x", True),
        ("", "/b", False),
        ("relative", "/a/x", True),
        ("/" + "x" * 2000, "/a/x", True),
    ],
)
def test_path(path, asked, goes):
    """A cookie goes where its path leads, by default to the directory of the page that set it."""
    assert (jar(f"a=1; Path={path}").header(f"http://www.shop.example{asked}", NOW) is not None) == goes


def test_default_path_of_a_top_page():
    """A page at the top sets cookies for all of the host."""
    assert jar("a=1", url="http://shop.example/x").header("http://shop.example/y/z", NOW) == "a=1"


def test_order():
    """Longer paths come first, the older one among equals; a replaced cookie keeps its place."""
    made = jar("a=1; Path=/", "b=2; Path=/a/b", "c=3; Path=/", "a=4; Path=/")
    assert made.header(SHOP, NOW) == "b=2; a=4; c=3"


@pytest.mark.parametrize(
    ("attributes", "lives_s"),
    [
        ("Max-Age=60", 60),
        ("Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:01 GMT", 60),
        ("Expires=Thu, 01 Jan 1970 00:17:40 GMT", 60),
        ("Max-Age=x; Expires=Thu, 01 Jan 1970 00:17:40 GMT", 60),
        ("Max-Age=0", 0),
        ("Max-Age=-1", 0),
        ("Expires=Thu, 01 Jan 1970 00:00:01 GMT", 0),
        ("Expires=never", None),
        ("", None),
    ],
)
def test_age(attributes, lives_s):
    """A cookie lives as long as Max-Age says, else until Expires, else with the process."""
    made = jar(f"a=1; {attributes}")
    assert (made.header(SHOP, NOW) is None) == (lives_s == 0)
    if lives_s:
        assert made.header(SHOP, NOW + lives_s - 1) == "a=1"
    assert (made.header(SHOP, NOW + 1e8) is None) == (lives_s is not None)


def test_deleting():
    """A cookie set anew with an age of nothing is gone; deleting what is not there changes nothing."""
    made = jar("a=1", "b=2", "a=; Max-Age=0", "z=; Max-Age=0")
    assert made.header(SHOP, NOW) == "b=2"
    made.learn(SHOP, ["b=; Max-Age=0"], NOW)
    assert made.header(SHOP, NOW) is None
    assert not made._sites


def test_secure():
    """A Secure cookie comes and goes over TLS only, and plain HTTP cannot replace it."""
    assert jar("a=1; Secure").header(SAFE, NOW) is None
    made = jar("a=1; Secure; Path=/", url=SAFE)
    made.learn(SHOP, ["a=evil; Path=/"], NOW)
    assert (made.header(SHOP, NOW), made.header(SAFE, NOW)) == (None, "a=1")
    made.learn(SAFE, ["a=2; Secure; Path=/"], NOW)
    assert made.header(SAFE, NOW) == "a=2"


@pytest.mark.parametrize(
    ("line", "taken"),
    [
        ("__Host-a=1; Secure; Path=/", True),
        ("__Host-a=1; Secure", False),
        ("__Host-a=1; Secure; Path=/; Domain=shop.example", False),
        ("__Host-a=1; Path=/", False),
        ("__Secure-a=1; Secure", True),
        ("__Secure-a=1", False),
        ("=__Host-a=1; Secure; Path=/", False),  # without a name, it would go back as __Host-a=1
        ("__SECURE-a; Secure", False),
        ("=a__Host-a=1; Path=/", True),
    ],
)
def test_promises(line, taken):
    """A name that promises to be safe is kept only if it is."""
    assert (read(line, SAFE, NOW) is not None) == taken


@pytest.mark.parametrize(
    ("secure", "plain", "sent"),
    [
        ("s=good; Path=/", "s=evil; Path=/a", "s=good"),
        ("s=good; Path=/a", "s=evil; Path=/a/b", "s=good"),
        ("s=good; Path=/; Domain=shop.example", "s=evil; Path=/a", "s=good"),
        ("s=good; Path=/", "s=evil; Path=/; Domain=shop.example", "s=good"),
        ("s=good; Path=/", "s=; Path=/a; Max-Age=0", "s=good"),
        ("s=good; Path=/a/b", "s=other; Path=/a", "s=good; s=other"),  # what comes first counts
        ("s=good; Path=/ab", "s=other; Path=/a", "s=other"),
        ("s=good; Path=/", "t=other; Path=/a", "t=other; s=good"),
        ("s=good; Path=/; Domain=www.shop.example", "s=other; Path=/a", "s=good"),
        ("s=old; Path=/; Max-Age=1", "s=new; Path=/a", "s=new"),
    ],
)
def test_plain_http_lays_nothing_over_a_secure_cookie(secure, plain, sent):
    """What plain http sets never comes before a Secure cookie of the same name, whatever its path and domain."""
    made = jar(f"{secure}; Secure", url=SAFE)
    made.learn(SHOP, [plain], NOW + 2)
    assert made.header("https://www.shop.example/a/b", NOW + 2) == sent


def test_plain_http_drives_out_no_secure_cookie():
    """Of a site with too many cookies, Secure ones are dropped last."""
    made = jar("s=good; Secure; Path=/", "old=1; Path=/", url=SAFE)
    made.learn(SHOP, [f"c{n}=1; Path=/" for n in range(MAX_PER_SITE)], NOW)
    names = [pair.partition("=")[0] for pair in made.header(SAFE, NOW).split("; ")]
    assert names == ["s", *(f"c{n}" for n in range(1, MAX_PER_SITE))]
    made = jar(*(f"s{n}=1; Secure; Path=/" for n in range(MAX_PER_SITE + 1)), url=SAFE)
    made.learn(SHOP, ["c=1; Path=/"], NOW)
    assert made.header(SAFE, NOW) == "; ".join(f"s{n}=1" for n in range(1, MAX_PER_SITE + 1))


def test_limit_of_a_site():
    """A site that sets cookies without end keeps the last ones only, whatever its subdomains; others keep theirs."""
    made = jar("a=1", url="http://good.example/")
    for number in range(1000):
        made.learn(f"http://h{number}.evil.example/", [f"c{number}=x; Domain=evil.example"], NOW)
    sent = made.header("http://evil.example/", NOW)
    assert sent.count("=") == MAX_PER_SITE
    assert "c999=x" in sent
    assert made.header("http://good.example/", NOW) == "a=1"


def test_limit_of_bytes():
    """Large cookies push out the oldest, those past their time first."""
    made = jar("old=1; Max-Age=5", "keep=2; Max-Age=500")
    made.learn(SHOP, [f"c={'x' * 3000}"], NOW)
    made.learn(SHOP, [f"d={'x' * 4000}"], NOW)
    made.learn(SHOP, [f"e={'x' * 1200}"], NOW + 10)
    sent = made.header(SHOP, NOW + 10)
    assert len(sent) <= MAX_SITE_BYTES
    assert "old" not in sent
    assert "e=" in sent


def test_limit_of_sites():
    """Of more sites than the jar holds, the ones used for longest ago go."""
    made = jar("a=1", url="http://first.example/")
    for number in range(MAX_SITES + 10):
        made.learn(f"http://s{number}.example/", ["b=2"], NOW)
        assert made.header("http://first.example/", NOW) == "a=1"
    assert len(made._sites) == MAX_SITES
    assert made.header("http://s0.example/", NOW) is None


@given(st.text(), st.sampled_from([SHOP, SAFE, "http://[::1]/", "http://127.0.0.1:8/"]))
def test_any_line(line, url):
    """Any line is a cookie or none, and what goes back is one line."""
    sent = jar(line, url=url).header(url, NOW)
    assert sent is None or "\n" not in sent
