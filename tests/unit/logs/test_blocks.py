"""The layout of logs: the heads of blocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fscrawl.fleet.lines import encode_block, parse_head

by_shard = st.dictionaries(
    st.integers(0, 10_000), st.lists(st.just(b"s\n") | st.just(b"t x\n"), min_size=1, max_size=3), max_size=5
)


@given(by_shard, by_shard, st.sampled_from([lambda shard: "", lambda shard: f"m{shard % 3}"]))
def test_round_trip(foreign, own, holder_of):
    """The head of a block tells where the lines of each shard are, and where the block ends."""
    block = encode_block(foreign, own, holder_of)
    head = parse_head(block[: block.index(b"\n") + 1])
    assert head.bytes == len(block)
    assert {part.shard: block[part.begin : part.end] for part in head.foreign} == {
        shard: b"".join(lines) for shard, lines in foreign.items()
    }
    assert {part.shard: block[part.begin : part.end] for part in head.own} == {
        shard: b"".join(lines) for shard, lines in own.items()
    }


def test_one_holder_together():
    """Lines for one machine stand together, and own lines behind all others."""
    lines = {shard: [b"s\n"] for shard in range(6)}
    block = encode_block(lines, {8: [b"s\n"]}, lambda shard: "bac"[shard % 3])
    head = parse_head(block[: block.index(b"\n") + 1])
    assert [part.shard for part in head.foreign] == [1, 4, 0, 3, 2, 5]
    assert head.parts({8, 0, 9}) == [head.foreign[2], *head.own]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"B\n",
        b"B 4\n",
        b"B 4 0 1:4",
        b"B 4 0 1:4 \n",
        b"B 4 0 1:5\n",
        b"B 0 4 1:4\n",
        b"B 4 0 1:0 2:4\n",
        b"B 0 0 |\n",
        b"B 4 0 -1:4\n",
        b"b 4 0 1:4\n",
        b"B 4 0 1:4\nB 4 0 1:4\n",
        b"B " + b"9" * 5000 + b" 0\n",
        b"\0" * 20 + b"\n",
    ],
)
def test_no_head(line):
    with pytest.raises(ValueError):  # noqa: PT011 - it has the line as its text
        parse_head(line)
