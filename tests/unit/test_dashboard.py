"""What the dashboard makes of a view: curves, the state of the page, metrics; and whom it answers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from fscrawl.fleet.beat import Beat, Goodbye, Hello
from fscrawl.frontier.host_figures import HostFigure
from fscrawl.monitor.dashboard.guard import Names, headers_for, names_for, refusal
from fscrawl.monitor.dashboard.hosts import PAGE_ROWS, HostNow, Query, arrange
from fscrawl.monitor.dashboard.metrics import metrics
from fscrawl.monitor.dashboard.summary import POINTS, grid, levels, rates, summary, summed
from fscrawl.monitor.snapshot import MachineStatus, Snapshot
from tests.support.beats import Logs

NOW = 1_790_000_600.0


def machine(name: str, state: str = "alive", every_s: float = 10.0, beats: int = 30, **facts: object) -> MachineStatus:
    """A machine that stores 20 pages a beat, and whose last beat was just now."""
    made = MachineStatus(name, state=state, goodbye=Goodbye(Beat()) if state == "left" else None)
    for number in range(beats):
        grown = {"pages": number * 20, "bytes": number * 2000, "pending": 50, "errors": {"dns": number}, "needed": 0}
        grown |= {"stored": facts.get("pages", number * 20)}
        made.history.append(Beat(**{**grown, **facts}, at=NOW - every_s * (beats - 1 - number)))
    return made


def view(*machines: MachineStatus, signs: tuple[str, ...] = (), trouble: str = "") -> Snapshot:
    return Snapshot(NOW, "c1", machines, signs, 10**9, "digest", trouble)


# -- curves


def test_levels_between_beats() -> None:
    """A level lies on the line between two beats, and is None where a machine was not there yet or any more."""
    beats = [(10.0, 0.0), (20.0, 10.0), (20.0, 12.0), (30.0, 12.0)]
    assert levels(beats, [5, 10, 12.5, 20, 25, 30, 31]) == [None, 0.0, 2.5, 10.0, 12.0, 12.0, None]
    assert levels([], [1.0]) == [None]


def test_levels_of_a_clock_that_was_set_back() -> None:
    """Beats out of order give levels, and no division by zero."""
    assert levels([(10.0, 1.0), (5.0, 2.0), (5.0, 3.0), (20.0, 4.0)], [0.0, 5.0, 12.5, 20.0])[3] == 4.0


def test_rates_never_fall_below_zero() -> None:
    """A counter that begins anew is no negative rate; before and after all beats there is none."""
    beats = [(10.0, 0.0), (15.0, 10.0), (20.0, 4.0), (25.0, 5.0)]
    assert rates(beats, [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0], 5.0, 60.0) == [None, None, 120.0, 0.0, 12.0, None]
    assert rates([], [0.0, 5.0], 5.0) == [None]
    assert rates([(2.0, 7.0)], [0.0, 5.0], 5.0) == [0.0]


def test_rates_have_all_that_was_done() -> None:
    """What was done within a step counts, however short: the steps add up to all pages."""
    beats = [(3.0, 0.0), (4.0, 40.0), (13.0, 100.0)]
    found = rates(beats, [-5.0, 0.0, 5.0, 10.0, 15.0, 20.0], 5.0)
    assert sum(value * 5.0 for value in found if value is not None) == pytest.approx(100)
    assert (found[0], found[-1]) == (None, None)


def test_grid_stands_still_within_a_step() -> None:
    """Two looks within one step have the same moments, the last not after the look."""
    assert grid(1000.0, 5.0, 4) == grid(1004.9, 5.0, 4) != grid(1005.0, 5.0, 4)
    assert grid(1004.9, 5.0, 4).moments() == [985.0, 990.0, 995.0, 1000.0]


def test_sum_of_nothing() -> None:
    """Where no curve has a value their sum has none."""
    assert summed([]) == []


# -- the state


def test_curves_of_a_summary() -> None:
    """Each machine has a rate of two pages a second, six errors a minute, and what is pending as it was."""
    curves = summary(view(machine("a"), machine("b")), "10min")["curves"]
    assert [series["name"] for series in curves["series"]] == ["a", "b"]
    series = curves["series"][0]
    assert {value for value in series["pages"] if value is not None} == {2.0}
    assert {value for value in series["errors"] if value is not None} == {6.0}
    assert {value for value in series["pending"] if value is not None} == {50}
    assert series["bytes"][-1] == 200.0
    assert {len(values) for name, values in series.items() if name != "name"} == {curves["count"]}


@pytest.mark.parametrize("window", ["10min", "1h"])
def test_short_runs_are_in_the_curves(tmp_path: Path, window: str) -> None:
    """A run of two seconds, which said hello and goodbye and had no beat, has its pages in the curve."""
    logs = Logs(tmp_path / "t")
    logs.write("m-1-aa", [logs.hello("m-1-aa", 101), logs.bye(103, pages=82, bytes=1000, finished=True)], hello=False)
    logs.write("m-2-bb", [logs.hello("m-2-bb", 201), logs.bye(202.5, pages=7, finished=True)], hello=False)
    curves = summary(logs.observer().look(logs.at(290)), window)["curves"]
    found = {
        series["name"]: sum(value for value in series["pages"] if value is not None) * curves["step_s"]
        for series in curves["series"]
    }
    assert found == pytest.approx({"m-1-aa": 82, "m-2-bb": 7}, abs=0.5)


def test_what_was_done_before_the_history_is_no_growth() -> None:
    """Of a long log only the end is known: what lies between the hello and that is not drawn."""
    made = machine("a")
    made.hello = Hello("a", at=NOW - 9000)
    made.history[0] = replace(made.history[0], number=870, pages=10**6)
    assert max(value for value in summary(view(made), "1h")["curves"]["series"][0]["pages"] if value) < 10


def test_curves_have_a_bounded_number_of_points() -> None:
    """An hour of beats and a few seconds of them give 120 points at most, and 24 at least."""
    assert summary(view(machine("a", beats=400)), "10min")["curves"]["count"] == POINTS
    assert summary(view(machine("a", beats=400)), "1h")["curves"]["count"] == POINTS
    assert summary(view(machine("a", beats=2)), "10min")["curves"]["count"] == 24
    assert summary(view(), "10min")["curves"]["series"] == []


def test_curves_end_where_all_have_spoken() -> None:
    """A machine whose beat is still to come does not make the sum fall at its end."""
    late = machine("b")
    late.history.pop()
    curves = summary(view(machine("a"), late), "10min")["curves"]
    assert all(series["pages"][-1] is not None for series in curves["series"])


def test_many_machines_share_a_curve() -> None:
    """The eight with most pages have curves and colours of their own, the others one together."""
    machines = [machine(f"m{n:02}", beats=10 + n) for n in range(11)]
    facts = summary(view(*machines), "10min")
    assert [series["name"] for series in facts["curves"]["series"]][-1] == "3 others"
    assert facts["curves"]["series"][-1]["pages"][-1] == 6.0
    assert sum(row["colour"] is not None for row in facts["machines"]) == 8


def test_a_machine_keeps_its_colour() -> None:
    """A machine that joins later comes after those that were there, whatever its name."""
    first, later = machine("z", beats=30), machine("a", beats=10)
    rows = summary(view(later, first), "10min")["machines"]
    assert {row["name"]: row["colour"] for row in rows} == {"z": 0, "a": 1}


def test_machines_that_are_over_are_listed_up_to_a_bound() -> None:
    """Of a hundred and fifty machines that are over a hundred are listed, and the rest counted."""
    facts = summary(view(machine("a"), *(machine(f"o{n}", "left", beats=1) for n in range(150))), "10min")
    assert (len(facts["machines"]), facts["unlisted"]) == (101, 50)
    assert [machine["pages_per_s"] for machine in facts["machines"][:2]] == [2.0, 0.0]


def test_totals() -> None:
    """Totals are of all machines that were; what is pending of those that are alive, else of the last ones."""
    facts = summary(view(machine("a"), machine("b", "left")), "10min")
    assert facts["pages"] == 2 * 29 * 20
    assert facts["pending"] == 50
    assert facts["ends_in_s"] == 25
    assert facts["errors"] == {"dns": 58}
    moving = summary(view(machine("a", ready=1, needed=2)), "10min")
    assert (moving["pending"], moving["ends_in_s"]) == (None, None)  # hosts are being taken over
    assert summary(view(machine("b", "left")), "10min")["pending"] == 50


# -- metrics


def test_metrics_are_well_formed() -> None:
    """Each metric has its help and type before its samples, and is a gauge."""
    text = metrics(view(machine('q"\\'), machine("b", "left"), signs=("PAUSE",)))
    kinds: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            kinds[name] = kind
        elif not line.startswith("#"):
            sample = re.fullmatch(r'(fscrawl_[a-z_]+)(\{(?:[a-z]+="(?:[^"\\]|\\.)*",?)+\})? (-?[0-9.e+]+)', line)
            assert sample, line
            assert sample[1] in kinds
    assert text.endswith("\n")
    assert set(kinds.values()) == {"gauge"}  # each of them may fall
    assert 'fscrawl_pages{machine="b"} 580' in text
    assert 'fscrawl_pending{machine="b"}' not in text
    assert 'fscrawl_pages{machine="q\\"\\\\"} 580' in text
    assert 'fscrawl_errors{machine="b",class="dns"} 29' in text
    assert 'fscrawl_sign{sign="PAUSE"} 1' in text
    assert 'fscrawl_machine_up{machine="b"} 0' in text


def test_metrics_of_fractions() -> None:
    """A time with a fraction keeps it."""
    odd = machine("a", beats=0)
    odd.history.append(Beat(at=1.5))
    assert 'fscrawl_last_beat_timestamp_seconds{machine="a"} 1.5\n' in metrics(view(odd))


# -- whom it answers

OURS = names_for("127.0.0.1", "box")


@pytest.mark.parametrize(
    ("listens_on", "host", "allowed"),
    [
        ("127.0.0.1", "localhost:1", True),
        ("127.0.0.1", "[::1]:8712", True),
        ("127.0.0.1", "LOCALHOST", True),
        ("127.0.0.1", "evil.example", False),
        ("127.0.0.1", "localhost.evil.example", False),
        ("127.0.0.1", "192.0.2.1", False),
        ("127.0.0.1", "box", False),
        ("127.0.0.1", "", False),
        ("127.0.0.1", "localhost:123456", False),
        ("127.0.0.1", "user@localhost", False),
        ("Dash.Example", "dash.example:80", True),
        ("::1", "[::1]", True),
        ("2001:db8::1", "[2001:DB8::1]:80", True),
        ("0.0.0.0", "192.0.2.1:8712", True),
        ("::", "[2001:db8::1]", True),
        ("0.0.0.0", "box", True),
        ("0.0.0.0", "evil.example", False),
        ("::", "[::::]", False),
    ],
)
def test_host_header(listens_on: str, host: str, *, allowed: bool) -> None:
    """Only names that lead here on purpose are answered; listening everywhere adds addresses, not names."""
    assert names_for(listens_on, "box").allow(host) is allowed


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/", {}, None),
        ("HEAD", "/api/state", {"sec-fetch-site": "same-origin"}, None),
        ("GET", "/", {"sec-fetch-site": "cross-site"}, None),
        ("GET", "/api/state", {"sec-fetch-site": "cross-site"}, 403),
        ("GET", "/body/a/b", {"sec-fetch-site": "same-site"}, 403),
        ("GET", "/", {"host": "evil.example"}, 400),
        ("GET", "/body/../x", {}, 404),
        ("GET", "/body/a\\b", {}, 404),
        ("GET", "/body/\0", {}, 404),
        ("PUT", "/", {}, 405),
        ("OPTIONS", "/control/pause", {}, 405),
        ("DELETE", "/control/pause", {}, 405),
        ("POST", "/api/state", {}, 405),
    ],
)
def test_refusals(method: str, path: str, headers: dict[str, str], status: int | None) -> None:
    """What is asked for by others, by another name, by another path or by another method is refused."""
    refused = refusal(method, path, {"host": "localhost", **headers}, OURS, "token")
    assert (refused and refused[0]) == status


@pytest.mark.parametrize(("token", "status"), [("tok", None), (None, 403), ("tok2", 403), ("t\xf6k", 403), ("", 403)])
def test_control_takes_the_token(token: str | None, status: int | None) -> None:
    """A change takes the token, in a header that pages of other origins cannot send."""
    headers = {"host": "localhost:8712", **({} if token is None else {"x-fscrawl-token": token})}
    refused = refusal("POST", "/control/pause", headers, OURS, "tok")
    assert (refused and refused[0]) == status


def test_no_control_without_the_option() -> None:
    """Without a token there is none that would do, not even an empty one."""
    assert refusal("POST", "/control/pause", {"host": "localhost", "x-fscrawl-token": ""}, OURS, None) == (
        403,
        "this dashboard is read-only; start it with --control to change that",
    )


def test_policies() -> None:
    """The page runs its own script only and is framed by nobody; a body runs none, and is framed by the page alone."""
    page, body = (
        headers_for("/api/page")["content-security-policy"],
        headers_for("/body/a/b")["content-security-policy"],
    )
    assert "default-src 'none'; script-src 'self'" in page
    assert "frame-ancestors 'none'" in page
    assert "unsafe" not in page
    assert body.startswith("sandbox; default-src 'none'; style-src 'unsafe-inline'")
    assert "allow-" not in body
    assert "script-src" not in body
    assert "frame-ancestors 'self'" in body


def test_names_without_addresses() -> None:
    """Names alone do not allow an address that is none of them."""
    assert not Names(frozenset({"a"})).allow("127.0.0.1")


# -- the table of hosts

HOSTS = {
    name: HostNow("m", HostFigure(pending=pending), until, "")
    for name, pending, until in (("a.example", 3, 0.0), ("b.example_8080", 1, 9.0), ("c.example", 2, 4.0))
}
NAMES = sorted([*HOSTS, "d.example"])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (Query(), "acbd"),
        (Query(descending=False), "bcad"),
        (Query(sort="until"), "bcad"),
        (Query(sort="host", descending=False), "abcd"),
        (Query(sort="host"), "dcba"),
        (Query(" EXAMPLE:80", "host"), "b"),
        (Query("nowhere"), ""),
        (Query(page=1), ""),
    ],
)
def test_arranged_hosts(query: Query, expected: str) -> None:
    """Hosts are searched by what people call them; those of which no machine says anything come last."""
    assert "".join(name[0] for name in arrange(NAMES, query, HOSTS)[1]) == expected


def test_pages_of_hosts() -> None:
    """A page has fifty rows, and the number found is of all pages."""
    names = [f"h{n:03}" for n in range(120)]
    found, page = arrange(names, Query(sort="host", descending=False, page=2))
    assert (found, page) == (120, names[2 * PAGE_ROWS :])
