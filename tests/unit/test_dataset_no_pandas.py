"""Arrow's arrays are made without pandas, which would take a fifth of a second in each process."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("pandas")


@pytest.mark.gate
@pytest.mark.parametrize("kept_out", [True, False])
def test_pandas(*, kept_out: bool) -> None:
    """Arrow does not load pandas, which can be imported all the same. Without the call Arrow loads it."""
    code = f"""
        import sys
        import pyarrow as pa
        from fscrawl.dataset.no_pandas import keep_pandas_out

        if {kept_out}:
            keep_pandas_out()
        assert pa.array(["a", "b"]).to_pylist() == ["a", "b"]
        assert ("pandas" in sys.modules) is not {kept_out}
        import pandas
        assert pandas.Series([1]).sum() == 1
        keep_pandas_out()
        assert len(sys.meta_path) == len(set(map(id, sys.meta_path)))
        """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0
