"""What is written is read back equal, and what is torn is never taken for a record."""

import json
from typing import get_type_hints

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fscrawl.errors import RecordError
from fscrawl.storage.records import Change, ErrorRecord, PageRecord, RenderRecord, RobotsRecord, TreeRecord
from tests.support.effort import tries

KINDS = [PageRecord, ErrorRecord, TreeRecord, RobotsRecord]
strings = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
any_strings = st.text(st.characters(), max_size=20)
floats = st.floats(-1e299, 1e299)
VALUES = {
    str: strings,
    int: st.integers(),
    bool: st.booleans(),
    float: floats,
    tuple[str, ...]: st.lists(strings, max_size=4).map(tuple),
    dict[str, str]: st.dictionaries(strings, strings, max_size=4),
    RenderRecord: st.builds(
        RenderRecord,
        why=strings,
        ended=strings,
        seconds=st.floats(0, 1e9),
        bytes=st.integers(0, 10**9),
        sha256=strings,
        loaded=st.integers(0, 10**9),
        requests=st.none() | st.dictionaries(strings, st.integers(0, 999), min_size=1, max_size=3),
        blocked=st.none() | st.dictionaries(strings, st.integers(0, 999), min_size=1, max_size=3),
        errors=st.none() | st.lists(strings, min_size=1, max_size=3).map(tuple),
        screenshot=st.integers(0, 10**9),
    ),
    Change: st.builds(
        Change,
        command=st.sampled_from(["pack", "unpack", "compact"]),
        by=strings,
        name=st.from_regex(r"\A[a-z0-9-]{1,99}\Z"),
        copied=st.booleans(),
    ),
}
VALUES |= {kind | None: st.none() | values for kind, values in VALUES.items()}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | floats | strings,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(strings, inner, max_size=3),
    max_leaves=6,
)
fast = settings(deadline=None, max_examples=tries(100), suppress_health_check=[HealthCheck.too_slow])


numbers = st.integers(0, 2**31 - 1)
words = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1).filter(lambda word: word != "-")


def records(kind):
    values = {name: VALUES[hint] for name, hint in get_type_hints(kind).items()}
    if kind is TreeRecord:
        values["shards"] = st.integers(1)
        values["partition"] = st.sampled_from(["host", "site", "url"])
        values["layout"] = st.sampled_from(["files", "packs"])
        values["changes"] = st.integers(0, 10**9)
        values["machinery"] = st.binary(min_size=16, max_size=16).map(bytes.hex)
    if kind in (PageRecord, ErrorRecord):
        values |= {"depth": numbers, "referrer": st.just("") | words}
    if kind is PageRecord:
        values |= {"status": numbers, "checked_status": st.none() | numbers, "bytes": st.integers(0, 10**15 - 1)}
        values["elapsed"] = st.floats(0, 2**31, exclude_max=True)
        values["file"] = st.none() | st.from_regex(r"\A[a-z0-9]{1,8}\Z")  # it becomes part of a path
    if kind is ErrorRecord:
        values |= {"status": st.none() | numbers, "attempts": numbers, "failed_at": words}
    return st.builds(kind, **values)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@fast
def test_round_trip(kind, data):
    """Every record is read back equal from its file, which is one line."""
    record = data.draw(records(kind))
    written = record.to_json()
    assert kind.from_json(written) == record
    assert written.endswith(b"}\n")
    assert written.count(b"\n") == 1


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(deadline=None, max_examples=tries(25), suppress_health_check=[HealthCheck.too_slow])
def test_torn(kind, data):
    """Every beginning of a file that lacks more than the newline is a RecordError, and so is one padded with zeros."""
    written = data.draw(records(kind)).to_json()
    for size in range(len(written) - 1):
        with pytest.raises(RecordError):
            kind.from_json(written[:size])
    with pytest.raises(RecordError):
        kind.from_json(written[: len(written) // 2].ljust(len(written), b"\0"))


@pytest.mark.gate
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@fast
def test_any_object(kind, data):
    """An object of any values in any of the fields is a record or a RecordError."""
    fields = [field.encode_name for field in msgspec.structs.fields(kind)]
    values = data.draw(st.dictionaries(st.sampled_from(fields) | strings, json_values, max_size=len(fields)))
    whole = json.loads(data.draw(records(kind)).to_json())
    try:
        record = kind.from_json(json.dumps(whole | values).encode())
    except RecordError:
        return
    assert kind.from_json(record.to_json()) == record


@given(st.binary(max_size=60))
@fast
def test_any_bytes(data):
    """Bytes of any kind are a record or a RecordError."""
    with pytest.raises(RecordError):
        PageRecord.from_json(data)


@given(any_strings)
@fast
def test_surrogates(text):
    """A text with lone surrogates is written with question marks in their place."""
    written = RobotsRecord("", "", 200, text).to_json()
    assert RobotsRecord.from_json(written).text == "".join("?" if "\ud800" <= c <= "\udfff" else c for c in text)
