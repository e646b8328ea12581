"""What a look at heartbeat logs gives: machines, sums, settings, faults and curves."""

from __future__ import annotations

import pytest

from fscrawl.errors import NotATreeError, TreeBusyError, TreeError
from fscrawl.fleet.beat import parse_lines
from fscrawl.fleet.machinery import Machinery
from fscrawl.monitor.snapshot import WINDOWS_S, Observer
from fscrawl.storage.records import timestamp
from tests.support.beats import Logs
from tests.support.snapshots import encoded, names

# -- lines


@pytest.mark.parametrize(
    "line",
    [
        *[b"\0\0\0", b'rn"}', b"[1]", b"7", b'"at"', b"null", b'["at"]', b"\xff"],
        *[b'{"at":7}', b'{"at":"noon"}', b'{"at":null}', b'{"at":"0001-01-01T00:00:00"}' * 2],
    ],
)
def test_what_is_no_beat_is_skipped(line: bytes) -> None:
    """A torn line, NULs of a crashed server, or JSON that is no beat, is as if it were not there."""
    good = b'{"beat":1,"at":"1970-01-01T00:00:01Z","pages":3}'
    found = list(parse_lines(b"\n".join([line, good, line, b""])))
    assert [(beat.at, beat.pages) for beat in found] == [(1.0, 3)]


# -- who is there


def test_alive_left_and_dead(logs: Logs) -> None:
    """A machine that beat lately is alive, one that said goodbye has left, one that fell silent is dead."""
    logs.write("beats", [logs.beat(95)])
    logs.write("left", [logs.bye(90, pages=1, finished=True)])
    logs.write("silent", [logs.beat(10)])
    view = logs.observer().look(logs.at(100))
    assert {m.name: (m.state, m.finished) for m in view.machines} == {
        "beats": ("alive", False),
        "left": ("left", True),
        "silent": ("dead", False),
    }
    assert names(view.alive()) == ["beats"]
    assert names(view.machines)[0] == "beats"


def test_a_machine_is_there_from_its_hello_on(logs: Logs) -> None:
    """A machine that has said hello and not beaten yet is alive; an empty log is nobody's."""
    logs.write("new", [])
    logs.path("empty").touch()
    view = logs.observer().look(logs.at(5))
    assert [(m.name, m.state, m.seen_at) for m in view.machines] == [("new", "alive", logs.at(0))]


def test_a_process_that_is_over_is_dead_at_once(logs: Logs) -> None:
    """Whose process is known to be over is dead, however lately it beat."""
    logs.write("m", [logs.beat(99)])
    assert logs.observer(gone=lambda hello: hello.machine == "m").look(logs.at(100)).alive() == []


def test_a_command_is_no_machine(logs: Logs) -> None:
    """The log of a command that wrote URLs into a log is none of a machine."""
    logs.write("retry", [{"bye": True, "log": 90}])
    assert logs.observer().look(logs.at(1)).machines == ()


def test_a_clock_that_is_wrong_matters_at_the_first_look_only(logs: Logs) -> None:
    """A machine whose clock is hours behind is taken for dead until its log is seen to grow."""
    logs.write("behind", [logs.beat(0)])
    observer = logs.observer()
    assert observer.look(logs.at(7200)).alive() == []
    logs.write("behind", [logs.beat(10)])
    assert names(observer.look(logs.at(7210)).alive()) == ["behind"]


def test_a_clock_that_is_ahead_does_not_keep_a_machine_alive(logs: Logs) -> None:
    """A machine whose clock is hours ahead is dead once its log has not grown for dead_after seconds."""
    logs.write("ahead", [logs.beat(7200)])
    observer = logs.observer()
    assert names(observer.look(logs.at(0)).alive()) == ["ahead"]
    logs.clock.now = 61.0
    assert observer.look(logs.at(61)).alive() == []


def test_a_machine_with_longer_settings_than_now(logs: Logs) -> None:
    """A machine that runs by a longer dead_after than crawl.toml has now is not dead before it, for others wait."""
    logs.write("patient", [logs.beat(0, dead_after=200.0)])
    observer = logs.observer()
    assert names(observer.look(logs.at(199)).alive()) == ["patient"]
    logs.clock.now = 201.0
    assert observer.look(logs.at(201)).alive() == []


def test_others_are_not_judged_by_a_clock_that_is_ahead(logs: Logs) -> None:
    """A machine whose clock is hours ahead makes none of the others look dead."""
    logs.write("ahead", [logs.beat(7200)])
    logs.write("right", [logs.beat(5)])
    assert names(logs.observer().look(logs.at(6)).alive()) == ["ahead", "right"]


def test_a_machine_that_joins_between_two_looks_is_alive(logs: Logs) -> None:
    """A log that was not there at the look before is one that grows, whatever its clock says."""
    observer = logs.observer()
    observer.look(logs.at(0))
    logs.write("late", [logs.beat(-9000)])
    assert names(observer.look(logs.at(2)).alive()) == ["late"]


def test_the_time_is_now_unless_somebody_says_otherwise(logs: Logs) -> None:
    """Without a time a look is of now, so a log of long ago is a dead machine's."""
    logs.write("m", [logs.beat(0)])
    logs.tree.controls.put_sign("STOP")
    view = logs.observer().look()
    assert (view.alive(), view.crawl, view.signs) == ([], "c1", ("STOP",))
    assert view.free_bytes > 0


def test_what_a_machine_does(logs: Logs) -> None:
    """A machine says what keeps it from fetching; one that is idle and says nothing is idle."""
    logs.write("a", [logs.beat(1, state="paused", idle=True)])
    logs.write("b", [logs.beat(1, state="", idle=True)])
    logs.write("c", [logs.beat(1, state="", idle=False)])
    assert [m.doing for m in logs.observer().look(logs.at(2)).machines] == ["paused", "idle", ""]


# -- sums


def test_totals_are_of_all_machines_and_work_of_those_alive(logs: Logs) -> None:
    """Pages and errors are summed over every machine that ever was, what is pending over those alive."""
    logs.write("a", [logs.beat(9, pages=10, pending=5, errors={"timeout": 1, "robots": 2})])
    logs.write("b", [logs.bye(9, pages=7, pending=100, errors={"timeout": 3})])
    view = logs.observer().look(logs.at(10))
    assert (view.total("pages"), view.at_work("pending")) == (17, 5)
    assert view.errors() == {"timeout": 4, "robots": 2}


def test_rates_are_of_the_last_minutes(logs: Logs) -> None:
    """A rate is of the beats of its window, and of all there is where that is shorter."""
    slow = [logs.beat(at, pages=at) for at in range(0, 600, 10)]
    fast = [logs.beat(600 + at, pages=600 + 5 * at) for at in range(0, 70, 10)]
    logs.write("a", [*slow, *fast])
    view = logs.observer().look(logs.at(661))
    assert [round(view.rate(s), 2) for s in WINDOWS_S.values()] == [5.0, 1.8, 1.36]


def test_rates_add_up(logs: Logs) -> None:
    """Rates are summed; a machine with a single beat, or whose clock went back, or that is gone, adds nothing."""
    logs.write("a", [logs.beat(0, pages=0), logs.beat(10, pages=20)])
    logs.write("b", [logs.beat(0, pages=0, bytes=0), logs.beat(10, pages=30, bytes=500)])
    logs.write("back", [logs.beat(30, pages=0), logs.beat(8, pages=1000)])
    logs.write("gone", [logs.beat(0, pages=0), logs.bye(9, pages=1000)])
    logs.write("one", [logs.beat(9, pages=1000)])
    view = logs.observer().look(logs.at(11))
    assert (view.rate(60), view.rate(60, "bytes")) == (5.0, 50.0)


def test_the_end_is_estimated_by_the_last_minutes(logs: Logs) -> None:
    """What is pending, at the rate of the last five minutes; without either there is no telling."""
    observer = logs.observer()
    assert observer.look(logs.at(0)).ends_in_s() is None
    logs.write("m", [logs.beat(0, pages=0, pending=100)])
    assert observer.look(logs.at(1)).ends_in_s() is None
    logs.write("m", [logs.beat(10, pages=20, pending=80)])
    assert observer.look(logs.at(11)).ends_in_s() == 40.0
    logs.write("m", [logs.beat(20, pages=40, pending=0)])
    assert observer.look(logs.at(21)).ends_in_s() is None


def test_the_worst_hosts_of_all_machines(logs: Logs) -> None:
    """The worst hosts are those of the highest numbers, of whichever machine, the dead left out."""
    for name, at, seconds in (("a", 99, {"x": 3, "y": 1}), ("b", 99, {"x": 2, "z": 3}), ("dead", 0, {"w": 9})):
        logs.write(name, [logs.beat(at)])
        logs.say(name, hosts={host: {"latency_s": each} for host, each in seconds.items()})
    view = logs.observer().look(logs.at(100))
    assert view.slow() == {"x": 3.0, "z": 3.0, "y": 1.0}
    assert view.slow(1) == {"x": 3.0}
    assert view.failing() == {}


# -- settings


def test_whose_settings_are_others(logs: Logs) -> None:
    """A machine that is alive and goes by another text than crawl.toml's is told; one that says nothing is not."""
    digest = logs.observer().look(logs.at(0)).settings_digest
    logs.write("new", [logs.beat(9, settings=digest)])
    logs.write("old", [logs.beat(9, settings="0" * 8)])
    logs.write("mute", [logs.beat(9)])
    logs.write("left", [logs.bye(9, pages=1, settings="0" * 8)])
    view = logs.observer().look(logs.at(10))
    assert [m.name for m in view.machines if view.uses_other_settings(m)] == ["old"]


def test_settings_that_are_wrong_are_told_and_the_last_good_ones_count(logs: Logs) -> None:
    """A crawl.toml that is wrong is said in one line, and a machine is dead by the dead_after of the last good one."""
    logs.write("m", [logs.beat(0)])
    observer = logs.observer()
    path = logs.root / "crawl.toml"
    path.write_text("[fleet]\nbeat = 100\ndead_after = 1000\n")
    assert observer.look(logs.at(500)).settings_trouble == ""
    path.write_text("[fleet]\nbeats = 1\n")
    view = observer.look(logs.at(900))
    assert "beats" in view.settings_trouble
    assert "\n" not in view.settings_trouble
    assert names(view.alive()) == ["m"]


def test_settings_that_an_editor_is_replacing(logs: Logs) -> None:
    """In the moment in which crawl.toml is not there, the digest of the one before stays."""
    observer = logs.observer()
    before = observer.look(logs.at(0)).settings_digest
    (logs.root / "crawl.toml").unlink()
    view = observer.look(logs.at(1))
    assert view.settings_digest == before
    assert "crawl.toml" in view.settings_trouble


def test_settings_that_may_not_be_read(logs: Logs) -> None:
    """A crawl.toml that is no file, or another user's, is a trouble of the settings: all else is shown as before."""
    logs.write("m", [logs.beat(0, pages=3)])
    observer = logs.observer()
    before = observer.look(logs.at(0)).settings_digest
    path = logs.root / "crawl.toml"
    path.unlink()
    path.mkdir()
    view = observer.look(logs.at(1))
    assert view.settings_trouble == f"{path}: it is a directory, not a file; remove it"
    assert (view.settings_digest, view.total("pages")) == (before, 3)


# -- faults


def two_of_which_one_fails(logs: Logs, patch: pytest.MonkeyPatch, error: TreeError) -> Observer:
    """Give an observer of two machines; as long as the patch holds, the log of one cannot be read."""
    logs.write("a", [logs.beat(1, pages=1)])
    logs.write("b", [logs.beat(1, pages=2)])
    read = Machinery.read_newest_heartbeats

    def fails(self, machine: str, offset: int, most: int) -> tuple[bytes, int]:
        if machine == "a":
            raise error
        return read(self, machine, offset, most)

    patch.setattr(Machinery, "read_newest_heartbeats", fails)
    return logs.observer()


def test_a_log_that_cannot_be_read_now_is_read_later(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A passing fault of one log keeps nobody from the others, and the next look reads it."""
    with monkeypatch.context() as patch:
        observer = two_of_which_one_fails(logs, patch, TreeBusyError("stale"))
        assert observer.look(logs.at(2)).total("pages") == 2
    assert observer.look(logs.at(2)).total("pages") == 3


def test_a_log_that_may_not_be_read_is_a_tree_error(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    """No figures are shown without it; a look after that has them all, each once."""
    with monkeypatch.context() as patch:
        observer = two_of_which_one_fails(logs, patch, TreeError("permission denied"))
        with pytest.raises(TreeError, match="permission denied"):
            observer.look(logs.at(2))
    assert observer.look(logs.at(2)).total("pages") == 3


def test_a_tree_that_is_gone_is_a_tree_error(logs: Logs) -> None:
    """A root that is not there any more is said so, not shown as a crawl without machines."""
    observer = logs.observer()
    logs.root.rename(logs.root.with_name("away"))
    with pytest.raises(TreeError):
        observer.look(logs.at(0))


def test_an_unmounted_share_is_a_tree_error(logs: Logs) -> None:
    """An empty directory in place of the share is no new crawl, and no crawl whose machines are silent."""
    logs.write("m", [logs.beat(0, pages=3)])
    watching, new = logs.observer(), logs.observer()
    assert watching.look(logs.at(1)).total("pages") == 3
    logs.root.rename(logs.root.with_name("away"))
    logs.root.mkdir()
    for observer in (watching, new):
        with pytest.raises(NotATreeError, match="is the share mounted"):
            observer.look(logs.at(2))


def test_times_are_read_as_they_are_written(logs: Logs) -> None:
    """A beat's time is the one that was written, to the millisecond."""
    assert next(iter(parse_lines(encoded({"at": timestamp(1234.567)})))).at == 1234.567


def test_pages_that_are_fetched_again_count_for_the_pace(logs: Logs) -> None:
    """The rate is of all pages that were stored; the sum is of those that the tree has. Older logs say one number."""
    logs.write("m", [logs.beat(0, pages=9, stored=9), logs.beat(10, pages=9, stored=29)])
    logs.write("old", [logs.beat(0, pages=1), logs.beat(10, pages=11)])
    view = logs.observer().look(logs.at(11))
    assert (view.total("pages"), view.rate(60)) == (20, 3.0)
