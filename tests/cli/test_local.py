"""``barrow local`` from the outside: many people, one server, every wrong report."""

from __future__ import annotations

import io
import json

import pytest

STUDY = """
alpha = 100
[space]
kind = "line"
low = 0
high = 10
unit = "km"
step = 0.1
[[question]]
kind = "distance"
to = 3
"""


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path / "study.toml"


def test_many_people_report_and_the_server_finds_the_mean(barrow, study, tmp_path):
    (tmp_path / "reports").mkdir()
    for person in range(30):
        (tmp_path / "items.jsonl").write_text("8.05\n8.05\n" if person % 2 else "3.05\n")
        code, out, err = barrow("local", "randomise", "items.jsonl", "--study", study, "--memory", f"m{person}.json")
        assert (code, err) == (0, "")
        (tmp_path / "reports" / f"{person}.json").write_text(out)
    code, out, _ = barrow("local", "aggregate", "reports", "--study", study, "--json")
    data = json.loads(out)
    assert code == 0
    assert data["n"] == 30
    # Half are 0.05 km from the point and half 5.05; the noise of one report has scale 0.1 km.
    assert abs(data["means"][0] - 2.55) < 0.3
    code, out, _ = barrow("local", "aggregate", "reports", "--study", study)
    assert "From 30 reports" in out
    assert "EMD-DP (local)" in out
    code, out, _ = barrow("local", "aggregate", "reports", "--study", study, "--json", "--html", "page.html")
    assert (code, json.loads(out)["report"]) == (0, "page.html")
    assert "What anyone can learn about one person" in (tmp_path / "page.html").read_text()
    code, _, err = barrow("local", "aggregate", "reports", "--study", study, "--html", "page.html")
    assert (code, "cannot be written" in err) == (1, True)


def test_asking_twice_gives_the_same_report(barrow, study, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("1.0\n"))
    first = barrow("local", "randomise", "--study", study, "--memory", "me.json")[1]
    monkeypatch.setattr("sys.stdin", io.StringIO("9.0\n"))
    assert barrow("local", "randomise", "--study", study, "--memory", "me.json")[1] == first


def test_wrong_reports_are_refused_and_counted(barrow, study, tmp_path, monkeypatch):
    (tmp_path / "items.jsonl").write_text("1.0\n")
    good = barrow("local", "randomise", "items.jsonl", "--study", study, "--memory", "me.json")[1]
    foreign = json.loads(good)
    foreign["study"] = "sha256:" + "0" * 64
    lines = [good.strip(), good.strip(), "not json", json.dumps(foreign)]
    (tmp_path / "all.jsonl").write_text("\n".join(lines) + "\n")
    code, out, _ = barrow("local", "aggregate", "all.jsonl", "--study", study, "--json")
    data = json.loads(out)
    assert code == 0
    assert data["n"] == 1
    assert sum(data["refused"].values()) == 3
    assert "Refused: " in barrow("local", "aggregate", "all.jsonl", "--study", study)[1]


def test_private_items_never_show(barrow, study, tmp_path):
    for text in ('"secret"\n', "secret\n", "[1, 2]\n", "99\n", "4 99\n", "NaN\n", "[" * 10**5):
        (tmp_path / "items.jsonl").write_text(text)
        code, out, err = barrow("local", "randomise", "items.jsonl", "--study", study, "--memory", "new.json")
        assert (code, out) == (1, "")
        assert "secret" not in err
        assert "99" not in err
    assert not (tmp_path / "new.json").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["randomise", "nowhere", "--memory", "m"], "no file"),
        (["aggregate", "nowhere"], "no reports"),
    ],
)
def test_errors_teach(barrow, study, arguments, words):
    code, out, err = barrow("local", *arguments, "--study", study)
    assert (code, out) == (1, "")
    assert words in err
    code, out, err = barrow("local", *arguments, "--study", study, "--json")
    assert words in json.loads(out)["problem"]
    assert barrow("local", "randomise")[0] == 2
    assert "Example" in barrow("local", "aggregate", "--help")[1]


def test_products_are_read_by_rows(barrow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(
        "alpha=5\n[space]\nkind='product'\nweights=['1/2','1/2']\n"
        "[[space.parts]]\nkind='line'\nlow=0\nhigh=10\nstep=1\ncells=true\n[[space.parts]]\nkind='circle'\nperiod=24\nstep=1\n"
        "[[question]]\nkind='histogram'\nmechanism='edges'\nspacing='items'\n"
    )
    (tmp_path / "i").write_text("[1.5, 3]\n[2.5, 23]\n")
    code, out, _ = barrow("local", "randomise", "i", "--study", "s.toml", "--memory", "m")
    assert code == 0
    assert len(json.loads(out)["values"]) == 240
    (tmp_path / "i").write_text("[1.5]\n")
    assert "one part for each" in barrow("local", "randomise", "i", "--study", "s.toml", "--memory", "m2")[2]


HISTOGRAM = """
alpha = 100
[space]
kind = "clustered"
shape = [3, 4]
r = 0.1
[[question]]
kind = "histogram"
"""


def test_a_local_histogram_is_asked_along_the_tree_and_decoded(barrow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(HISTOGRAM)
    (tmp_path / "reports").mkdir()
    for person in range(40):
        (tmp_path / "items.jsonl").write_text('"0/1"\n"0/2"\n' if person % 4 else '"2/3"\n')
        code, out, _ = barrow(
            "local", "randomise", "items.jsonl", "--study", "study.toml", "--memory", f"m{person}.json"
        )
        assert code == 0
        (tmp_path / "reports" / f"{person}.json").write_text(out)
    code, out, _ = barrow("local", "aggregate", "reports", "--study", "study.toml", "--json")
    data = json.loads(out)
    assert (code, len(data["means"]), len(data["histogram"])) == (0, 15, 12)
    assert sum(data["histogram"].values()) == pytest.approx(1.0)
    assert min(data["histogram"].values()) >= 0.0
    # 30 of 40 people are in cluster 0; edge noise of scale 0.01 on length 0.45, a mean of 40: about 0.005.
    assert abs(sum(v for k, v in data["histogram"].items() if k.startswith("0/")) - 0.75) < 0.05
    assert "decoded" in barrow("local", "aggregate", "reports", "--study", "study.toml")[1]


def test_records_outside_are_priced_or_refused(barrow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    promised = STUDY.replace("alpha = 100\n", "") + '[[promise]]\nshare = "all"\ndistance = "1 km"\nepsilon = 1\n'
    (tmp_path / "study.toml").write_text(promised)
    (tmp_path / "items.jsonl").write_text("8.05\n12\n")
    words = ("local", "randomise", "items.jsonl", "--memory", "me.json", "--unknown")
    code, out, err = barrow(*words, "default")
    assert (code, out) == (1, "")
    assert "priced for records that stay near" in err
    assert "outside = 'default' in its [data]" in err
    assert not (tmp_path / "me.json").exists()
    (tmp_path / "study.toml").write_text(promised + '[data]\noutside = "default"\n')
    code, out, _ = barrow(*words, "default")
    assert code == 0
    assert json.loads(out)["values"]
