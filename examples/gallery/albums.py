"""Put the pictures of a dataset into one directory an album: python albums.py DATASET INTO

The dataset is made by `fscrawl merge --files`, so that it has the bytes of the pictures.
"""

import sys
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow.dataset as ds


def write_albums(dataset: Path, into: Path) -> int:
    """Write INTO/<album>/<number>.<extension>; return how many pictures there are."""
    links = ds.dataset(dataset / "links").to_table(columns=["source", "target_key"]).to_pylist()
    album_page = {link["target_key"]: link["source"] for link in links if "/album/" in link["source"]}
    pictures = ds.dataset(dataset / "pages").scanner(
        columns=["key", "file", "body"], filter=ds.field("file").is_valid()
    )
    written = 0
    for batch in pictures.to_batches():
        for picture in batch.to_pylist():
            album, number = urlsplit(album_page[picture["key"]]).path.split("/")[-2:]
            folder = into / album
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{int(number):04}{Path(picture['file']).suffix}").write_bytes(picture["body"])
            written += 1
    return written


if __name__ == "__main__":
    print(write_albums(Path(sys.argv[1]), Path(sys.argv[2])), "pictures")
