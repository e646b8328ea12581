"""Show the entries of the list as a DataFrame: python dataframe.py DATASET"""

import sys
from pathlib import Path

import pandas as pd


def entries(dataset: Path) -> pd.DataFrame:
    frame = pd.read_parquet(dataset / "items")
    return frame.sort_values("id", ignore_index=True)


if __name__ == "__main__":
    frame = entries(Path(sys.argv[1]))
    print(frame[["id", "name", "score"]])
    print(frame["score"].describe())
