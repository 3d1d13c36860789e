"""Builds the data that ``barrow demo`` ships with, from the raw files: see src/barrow/demo/data/README.md.

Usage: python scripts/build_demo_data.py RAW [OUT]

RAW holds nycflights13/plane_destinations.parquet, shakespeare/shakespeare.zip and
word_vectors/glove_wink_100d_20newsvocab.npz. OUT is src/barrow/demo/data by default.
"""

from __future__ import annotations

import re
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import duckdb
import numpy as np

WORDS = 3000
"""The vocabulary: the first words of the vectors' own file, ordered by frequency in newsgroup posts."""
COMMON_DIRECTIONS = 2
DIMENSIONS = 50
LARGEST = 127


def parquet(connection: duckdb.DuckDBPyConnection, query: str, file: Path) -> None:
    """Write the result of ``query``, sorted, so that columns fall into long runs."""
    connection.execute(
        f"COPY ({query}) TO '{file}' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 19, ROW_GROUP_SIZE 500000)"
    )


def flights(raw: Path, out: Path) -> None:
    """One row for each flight: the aircraft's tail number, the airport it flew to, and where that is."""
    source = raw / "nycflights13" / "plane_destinations.parquet"
    query = f"SELECT user, dest, lat, lon FROM '{source}' ORDER BY user, dest"  # noqa: S608
    with duckdb.connect() as connection:
        parquet(connection, query, out / "flights.parquet")


def spoken(raw: Path) -> list[tuple[str, str]]:
    """Every word of every line with its speaker; a line that several speak together counts for each of them."""
    rows = []
    with zipfile.ZipFile(raw / "shakespeare" / "shakespeare.zip") as archive:
        for name in sorted(x for x in archive.namelist() if x.endswith(".xml")):
            play = ElementTree.fromstring(archive.read(name))  # noqa: S314  (a local file that the builder chose)
            for speech in play.iter("SPEECH"):
                speakers = [s.text.strip() for s in speech.findall("SPEAKER") if s.text]
                for line in speech.findall("LINE"):
                    # A stage direction within a line is not spoken, but what follows it is.
                    text = (line.text or "") + "".join(part.tail or "" for part in line)
                    words = re.findall(r"[a-z]+(?:'[a-z]+)?", text.lower())
                    rows += [(f"{play.findtext('TITLE')}: {who}", word) for who in speakers for word in words]
    return rows


def shakespeare(raw: Path, out: Path) -> None:
    """One row for each spoken word: play and speaker, and the word in lower case."""
    users, words = (list(column) for column in zip(*sorted(spoken(raw)), strict=True))
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE spoken AS SELECT unnest(?::VARCHAR[]) AS user, unnest(?::VARCHAR[]) AS word", [users, words]
        )
        parquet(connection, "SELECT user, word FROM spoken ORDER BY user, word", out / "shakespeare.parquet")


def vectors(raw: Path, out: Path) -> None:
    """The vocabulary with its vectors, made comparable and small; nothing here looks at the plays.

    All vectors share a large common part, which says nothing about meaning: the mean and the first principal
    directions are taken away, the next ones are kept, and each vector is scaled and rounded to whole numbers.
    """
    with np.load(raw / "word_vectors" / "glove_wink_100d_20newsvocab.npz") as file:
        words, x = file["words"][:WORDS], file["vectors"][:WORDS].astype(np.float64)
    x -= x.mean(axis=0)
    _, _, directions = np.linalg.svd(x, full_matrices=False)
    # The sign of a principal direction is arbitrary; this one does not depend on the linear algebra library.
    signs = np.sign(directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)])
    x = x @ (directions * signs[:, None])[COMMON_DIRECTIONS : COMMON_DIRECTIONS + DIMENSIONS].T
    x *= LARGEST / np.abs(x).max(axis=1, keepdims=True)
    np.savez_compressed(out / "words.npz", words=words, vectors=np.rint(x).astype(np.int8))


def main() -> None:
    """Build all three files and say how large they are."""
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    raw = Path(sys.argv[1])
    out = Path(sys.argv[2]) if len(sys.argv) == 3 else Path(__file__).parent.parent / "src" / "barrow" / "demo" / "data"
    out.mkdir(parents=True, exist_ok=True)
    for build in (flights, shakespeare, vectors):
        build(raw, out)
    for file in ("flights.parquet", "shakespeare.parquet", "words.npz"):
        print(f"{file}: {(out / file).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
