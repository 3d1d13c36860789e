"""Public tables from files: one table in every format, errors with file and row, digests in specs and ledgers."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import barrow as bw
from barrow.engines import with_tables
from barrow.spaces import space_from_spec

WORDS = [f"w{i}" for i in range(30)]
VECTORS = np.random.default_rng(3).normal(size=(30, 4))


def write(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    with (folder / "words.csv").open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["word", "a", "b", "c", "d"])
        rows.writerows([w, *map(float, v)] for w, v in zip(WORDS, VECTORS, strict=True))
    lines = [f"{w} " + " ".join(repr(float(x)) for x in v) for w, v in zip(WORDS, VECTORS, strict=True)]
    (folder / "words.vec").write_text("30 4\n" + "\n".join(lines))
    (folder / "glove.txt").write_text("\n".join(lines) + "\n")
    np.savez(folder / "words.npz", labels=np.array(WORDS), vectors=VECTORS)
    np.save(folder / "words.npy", VECTORS)
    (folder / "names.txt").write_text("\n".join(WORDS))
    columns = {f"x{j}": VECTORS[:, j] for j in range(4)}
    pq.write_table(pa.table({"word": WORDS, **columns}), folder / "wide.parquet")
    pq.write_table(pa.table({"word": WORDS, "v": [v.tolist() for v in VECTORS]}), folder / "lists.parquet")


def made(folder, **spec):
    return space_from_spec(with_tables({"kind": "embedding", **spec}, folder))


@pytest.mark.parametrize("name", ["words.csv", "words.vec", "glove.txt", "words.npz", "wide.parquet", "lists.parquet"])
def test_one_table_in_every_format(tmp_path, name):
    write(tmp_path)
    space = made(tmp_path, vectors=name)
    assert list(space.labels) == WORDS
    assert (space.vectors == VECTORS).all()
    assert space.digest == made(tmp_path, vectors="words.npz").digest
    assert space.to_spec()["vectors"] == name


def test_names_may_stand_beside_numbers(tmp_path):
    write(tmp_path)
    space = made(tmp_path, vectors="words.npy", labels="names.txt")
    assert list(space.labels) == WORDS
    with pytest.raises(bw.ParameterError, match="no names"):
        made(tmp_path, vectors="words.npy")


def test_inline_tables_are_as_before():
    spec = {"kind": "embedding", "labels": ["a", "b"], "vectors": [[0.0], [1.0]]}
    assert with_tables(spec) == spec


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("x.csv", "word,a,b\ncat,1,2\ndog,1,x\n", "row 3, column 3: 'x' is no number"),
        ("x.csv", "word,a,b\ncat,1,2\ncat,1,3\n", "row 3: 'cat' stands in row 2 already"),
        ("x.csv", "word,a,b\ncat,1,2\ndog,1\n", "row 3: 2 columns"),
        ("x.vec", "cat 1 2\nnew york 1 2\n", "row 2: 4 columns"),
        ("x.csv", "word,a\ncat,1\ndog,nan\n", "row 3 \\('dog'\\): a number is missing"),
        ("x.csv", "", "is empty"),
        ("x.doc", "a", "ends in '.doc'"),
    ],
)
def test_errors_name_file_and_row(tmp_path, name, text, says):
    (tmp_path / name).write_text(text)
    with pytest.raises(bw.ParameterError, match=says) as caught:
        made(tmp_path, vectors=name)
    assert name in str(caught.value)
    assert "fix:" in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(bw.ParameterError, match=r"There is no public table .*nowhere\.csv"):
        made(tmp_path, vectors="nowhere.csv")


def test_objects_are_never_unpickled(tmp_path):
    np.save(tmp_path / "x.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(bw.ParameterError, match="cannot be read"):
        made(tmp_path, vectors="x.npy")


def test_studies_write_names_and_digests_and_notice_changes(tmp_path, monkeypatch):
    write(tmp_path)
    monkeypatch.chdir(tmp_path)
    study = bw.Study("embedding(vectors='wide.parquet')", alpha=5, users=10, dataset="words")
    study.write("study.toml")
    text = (tmp_path / "study.toml").read_text()
    assert 'vectors = "wide.parquet"' in text
    assert study.space.to_spec()["digests"]["vectors"] in text
    monkeypatch.chdir("/")
    again = bw.Study.read(tmp_path / "study.toml")  # names start beside the study file
    assert again.space == study.space
    (tmp_path / "renamed.vec").write_bytes((tmp_path / "words.vec").read_bytes())
    renamed = text.replace("wide.parquet", "renamed.vec")
    (tmp_path / "other.toml").write_text(renamed)
    assert bw.Study.read(tmp_path / "other.toml").space == study.space
    np.savez(tmp_path / "changed.npz", labels=np.array(WORDS), vectors=VECTORS + 1)
    (tmp_path / "changed.toml").write_text(text.replace("wide.parquet", "changed.npz"))
    with pytest.raises(bw.ParameterError, match="does not hold what the study was made with"):
        bw.Study.read(tmp_path / "changed.toml")


def test_the_ledger_knows_the_table_by_its_digest(tmp_path, monkeypatch):
    write(tmp_path)
    monkeypatch.chdir(tmp_path)

    def study(name):
        space = {"kind": "embedding", "vectors": name}
        return bw.Study(space, ["all, 0.5, 1"], users=10, dataset="words", delta="1e-9")

    ledger = bw.Ledger.create("words.ledger", study("words.csv"))
    assert study("words.csv").space.digest in (tmp_path / "words.ledger").read_bytes().decode("latin-1")
    assert ledger.budget == study("wide.parquet").budget
    np.savez("other.npz", labels=np.array(WORDS), vectors=VECTORS * 2)
    assert ledger.budget != study("other.npz").budget


def test_a_study_in_another_folder_finds_tables_where_it_finds_records(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.csv").write_text("word,x,y\ncat,0,1\ndog,0,2\n")
    (tmp_path / "studies").mkdir()
    study = bw.Study({"kind": "embedding", "vectors": "words.csv"}, alpha=5, users=10)
    study.write("studies/study.toml")
    assert bw.Study.read("studies/study.toml").space == study.space
    (tmp_path / "studies" / "words.csv").write_text("word,x,y\ncat,0,1\ndog,0,3\n")  # beside the study comes first
    with pytest.raises(bw.ParameterError, match="does not hold what the study was made with"):
        bw.Study.read("studies/study.toml")


def test_a_plain_table_cannot_claim_a_digest(tmp_path):
    spec = {"kind": "discrete", "labels": ["a", "b"], "digests": {"labels": "sha256:00"}}
    with pytest.raises(bw.ParameterError, match="names no files"):
        with_tables(spec, tmp_path)


def test_paths_distances_and_edges(tmp_path):
    (tmp_path / "paths.txt").write_text("US/NY\nUS/LA\nFR/Paris\n")
    (tmp_path / "names.csv").write_text("label\na\nb\nc\n")
    np.save(tmp_path / "matrix.npy", np.array([[0, 5, 2], [5, 0, 4], [2, 4, 0.0]]))
    (tmp_path / "roads.csv").write_text("from,to,km\na,b,2\nb,c,3\n")
    tree = space_from_spec(with_tables({"kind": "tree", "paths": "paths.txt", "distances": [1, 0.25]}, tmp_path))
    assert list(tree.labels) == ["US/NY", "US/LA", "FR/Paris"]
    finite = {"kind": "finite", "labels": "names.csv", "distances": "matrix.npy", "unit": "km"}
    assert space_from_spec(with_tables(finite, tmp_path)).diameter == 5.0
    graph = space_from_spec(with_tables({"kind": "graph", "edges": "roads.csv"}, tmp_path))
    assert list(graph.labels) == ["a", "b", "c"]
    inner = {"kind": "elsewhere", "inner": {"kind": "discrete", "labels": "names.csv"}}
    with pytest.raises(bw.ParameterError):
        space_from_spec(with_tables(inner, tmp_path))  # a discrete space has no edge to be beyond


def test_flags_name_files_too(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from barrow.cli.main import cli

    write(tmp_path)
    monkeypatch.chdir(tmp_path)
    flags = ["--space", "embedding(vectors='words.csv')", "--users", "1000", "--alpha", "50", "--question", "histogram"]
    shown = CliRunner().invoke(cli, ["plan", *flags])
    assert shown.exit_code == 0, shown.output
    assert "histogram" in shown.output
