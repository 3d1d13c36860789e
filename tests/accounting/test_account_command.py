"""The command ``barrow account``."""

import json

import pytest

from barrow.cli.main import main


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(["account", *arguments])
    out = capsys.readouterr()
    return stop.value.code, out.out, out.err


def test_json_of_the_central_example(capsys):
    code, out, _ = run(
        capsys,
        "--alpha",
        "25",
        "--delta",
        "1e-12",
        "--users",
        "100000",
        "--items",
        "1000",
        "--model",
        "central",
        "--json",
    )
    result = json.loads(out)
    assert code == 0
    assert set(result) >= {"alpha0", "method", "methods", "limit_black_box"}
    assert set(result["methods"]) == {"per_report_composition", "theorem", "flow_standard", "flow_strong", "flow"}
    assert 4.35 < result["alpha0"] < 4.410 < result["limit_black_box"] < 4.412
    assert result["methods"]["per_report_composition"] == 0.025
    assert result["alpha0"] == result["methods"]["flow"] == result["methods"]["flow_strong"]
    assert result["method"] == "flow_strong"
    assert any("supports only" in text for text in result["paper"]["warnings"])


def test_local_model_takes_items_only(capsys):
    code, out, _ = run(capsys, "--alpha", "25", "--delta", "1e-12", "--items", "1000", "--model", "local", "--json")
    assert code == 0
    assert 0.0915 < json.loads(out)["alpha0"] < 0.0951
    code, _, err = run(capsys, "--alpha", "25", "--delta", "1e-12", "--items", "10", "--users", "5", "--model", "local")
    assert code == 1
    assert "--users says nothing" in err


def test_table_names_the_winner_and_warns(capsys):
    code, out, _ = run(capsys, "--alpha", "25", "--delta", "1e-12", "--users", "100000", "--items", "1000")
    assert code == 0
    winner = next(line for line in out.splitlines() if "use this" in line)
    assert "stronger clones" in winner
    assert "4.4010" in winner
    assert "Warning: Theorem 4.4 read at w = 1 only gives 2.99887" in out


def test_pure_and_hopeless_targets_say_what_remains(capsys):
    code, out, _ = run(capsys, "--alpha", "25", "--delta", "0", "--items", "1000", "--model", "local", "--json")
    result = json.loads(out)
    assert code == 0
    assert (result["alpha0"], result["method"], result["limit_black_box"]) == (0.025, "per_report_composition", 0.025)
    assert result["methods"]["flow"] is None
    code, out, _ = run(capsys, "--alpha", "1", "--delta", "1e-6", "--items", "3", "--model", "local")
    assert "Nothing better than composition" in out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--alpha", "25", "--delta", "1e-12", "--items", "1000"], "number of users"),
        (["--alpha", "x", "--delta", "1e-12", "--items", "10", "--model", "local"], "alpha is 'x'"),
        (["--alpha", "25", "--delta", "2", "--items", "10", "--model", "local"], "delta is 2"),
        (["--alpha", "25", "--delta", "1e-12", "--items", "0", "--model", "local"], "items is 0"),
        (
            ["--alpha", "25", "--delta", "1e-12", "--items", "10", "--model", "local", "--least-distance", "3"],
            "least_distance",
        ),
    ],
)
def test_errors_teach(capsys, arguments, text):
    code, _, err = run(capsys, *arguments)
    assert code == 1
    assert text in err
    code, out, _ = run(capsys, *arguments, "--json")
    assert text in json.loads(out)["problem"]


def test_named_randomiser_adds_its_blanket(capsys):
    arguments = ["--alpha", "25", "--delta", "1e-9", "--items", "1000", "--model", "local"]
    code, out, _ = run(capsys, *arguments, "--randomiser", "gkrr:10x10:0.05", "--json")
    result = json.loads(out)
    assert code == 0
    assert result["method"] == "blanket"
    assert result["alpha0"] == result["methods"]["blanket"] > 2 * result["methods"]["flow"]
    code, out, _ = run(capsys, *arguments, "--randomiser", "krr:10")
    assert "own blanket" in out
    code, _, err = run(capsys, *arguments, "--randomiser", "laplace:3")
    assert code == 1
    assert "krr:K" in err


def test_help_shows_an_example(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert "barrow account --alpha 25" in out
