"""Arrow without pandas. A merge has no use for it, and Arrow loads it with its first array: 0.2 s in each process."""

from __future__ import annotations

import sys

import pyarrow as pa

_PANDAS = "pandas"


def keep_pandas_out() -> None:
    """Let Arrow look for pandas now, and not find it: it does not look again.

    Afterwards pandas can be imported, but Arrow does not take its objects. So not where the code of users runs.
    """
    if _PANDAS in sys.modules:
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([None])
    finally:
        sys.meta_path.remove(finder)


class _NoPandas:
    """Finds everything where it was found before, but not pandas."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == _PANDAS:
            raise ModuleNotFoundError(name, name=name)
