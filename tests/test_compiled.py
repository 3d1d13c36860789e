"""Compiled parts of other libraries, without what is around them: the same functions, and nothing is left broken."""

import gc
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import optimize

from barrow import heavy
from barrow.cli.main import _quick_start


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_the_packages_around_do_not_load_and_load_later_as_ever():
    code = (
        "import sys\nfrom barrow import heavy\n"
        "first = heavy.special.gammaln\nheavy.pava(__import__('numpy').array([2.0, 1.0]))\n"
        "print('scipy.special' in sys.modules, 'scipy.optimize' in sys.modules)\n"
        "import scipy.special, scipy.optimize\n"
        "print(scipy.special.gammaln is first, scipy.special.logsumexp([0.0]))\n"
        "print(scipy.optimize.brentq(lambda x: x, -1, 2))"
    )
    assert run(code).split("\n") == ["False False", "True 0.0", "0.0"]


def test_parts_of_numpy_that_were_left_out_load_later_as_ever():
    code = (
        "import sys\nimport numpy as np\nfrom barrow import heavy\n"
        "late = [f'numpy.{name}' for name in ('ma', 'char', 'polynomial')]\n"
        "print(heavy.sparse.csr_array(np.eye(2)).sum(), [name for name in late if name in sys.modules])\n"
        "print(np.ma.array([1, 2], mask=[0, 1]).sum(), np.char.add('a', 'b'), np.polynomial.legendre.leggauss(1)[1])\n"
        "import scipy.stats\nprint(float(scipy.stats.mstats.mode(np.ma.array([1.0, 1.0, 2.0])).mode[0]))"
    )
    assert run(code).split("\n") == ["2.0 []", "1 ab [2.]", "1.0"]


def test_other_threads_never_see_a_package_half_loaded():
    code = (
        "import threading\nfrom barrow import heavy\nseen = []\ngo = threading.Barrier(5)\n"
        "def other():\n    go.wait()\n    import scipy.special\n"
        "    seen.append(float(scipy.special.logsumexp([0.0])))\n"
        "def own():\n    go.wait()\n    seen.append(float(heavy.special.expit(0.0)))\n"
        "threads = [threading.Thread(target=f) for f in (other, other, own, own)]\n"
        "[t.start() for t in threads]\ngo.wait()\n[t.join() for t in threads]\nprint(sorted(seen))"
    )
    assert run(code) == "[0.0, 0.0, 0.5, 0.5]"


def test_the_network_simplex_loads_alone():
    pytest.importorskip("ot")
    code = (
        "import sys\nimport numpy as np\nfrom barrow.transport.solver import pot\n"
        "plan = pot().dense(np.array([0.5, 0.5]), np.array([0.25, 0.75]), np.array([[0.0, 1.0], [1.0, 0.0]]))\n"
        "print(plan.tolist(), 'ot' in sys.modules, 'scipy.spatial' in sys.modules)\n"
        "import ot\nprint(round(float(ot.emd2_1d([0.0, 1.0], [2.0, 3.0], metric='cityblock')), 9))"
    )
    assert run(code).split("\n") == ["[[0.25, 0.25], [0.0, 0.5]] False False", "2.0"]


@pytest.mark.parametrize("columns", [None, 3, 7])
def test_a_diagonal_is_that_of_scipy(columns):
    values = np.array([0.5, 0.0, -2.0])
    expected = heavy.sparse.diags_array(values, shape=(3, columns or 3)).toarray()
    assert heavy.diagonal(values, columns).toarray().tolist() == expected.tolist()


def test_a_release_loads_nothing_that_it_does_not_need(tmp_path):
    """What it cost before it was left out: masked arrays and logging a twentieth of a release's time, maps another."""
    (tmp_path / "ages.csv").write_text("uid,age\n" + "".join(f"{k},{20 + k}\n" for k in range(9)))
    space = ["--space", "line(low=0, high=100, step=1)", "--question", "mean", "--promise", "all, 0.05, 0.5"]
    whole = ["init", "ages.csv", "--user", "uid", "--item", "age", "--users", "9", "--dataset", "ages", *space]
    late = ("numpy.ma", "logging", "concurrent.futures", "barrow.render.figures.map")
    code = (
        "import sys\nfrom barrow.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit as done:\n    assert not done.code, done.code\n"
        f"print([name for name in {late} if name in sys.modules])"
    )
    for command in (whole, ["plan"], ["release"]):
        ran = subprocess.run(
            [sys.executable, "-c", code, *command], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert ran.stdout.splitlines()[-1] == "[]", command


@pytest.mark.parametrize("threads", [False, True])
def test_a_command_ends_at_once_and_does_what_is_to_be_done_at_the_end(threads):
    """Its output is whole, its code is kept, what waits for the end is done; nothing is freed one by one."""
    code = (
        "import atexit, os, sys, threading, weakref\nfrom barrow.cli import main as module\n"
        "class Held: pass\nheld = Held()\nweakref.finalize(held, print, 'finalised', flush=False)\n"
        "atexit.register(print, 'registered')\n"
        "class Freed:\n    def __del__(self, write=os.write): write(1, b'freed ')\nsys.freed = Freed()\n"
        f"if {threads}:\n    threading.Thread(target=threading.Event().wait, args=(0.1,)).start()\n"
        "sys.argv = ['barrow', 'nonsense']\nmodule.main()"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 2
    assert "There is no command 'nonsense'" in ran.stderr
    assert sorted(ran.stdout.replace("freed", "").split()) == ["finalised", "registered"]
    assert ("freed" in ran.stdout) is threads


def test_a_command_whose_output_nobody_reads_ends_as_ever():
    code = "import sys\nfrom barrow.cli.main import main\nsys.argv = ['barrow', '--help']\nmain()"
    ran = subprocess.run(f'"{sys.executable}" -c "{code}" | true', shell=True, capture_output=True, text=True)
    assert "Traceback" not in ran.stderr


def test_isotonic_regression_is_that_of_scipy():
    rng = np.random.default_rng(1)
    for size in (0, 1, 2, 50):
        values, weights = rng.normal(size=size), rng.uniform(0.1, 3.0, size)
        given = values.copy()
        expected = optimize.isotonic_regression(values, weights=weights).x if size else values
        assert heavy.pava(values, weights) == pytest.approx(expected)
        assert (values == given).all()


def test_products_by_the_shorter_way_are_those_of_scipy():
    numbers = np.random.default_rng(20261118)
    table = numbers.random((7, 5)) * (numbers.random((7, 5)) < 0.5)
    for matrix in (
        heavy.sparse.csr_array(table),
        heavy.sparse.csc_array(table),
        heavy.sparse.csr_array(table > 0),
        table,
    ):
        for vector in (numbers.random(5), numbers.random(10)[::2], np.arange(5)):
            np.testing.assert_array_equal(heavy.times(matrix)(vector), matrix @ vector)
    with pytest.raises(ValueError, match="mismatch"):
        heavy.times(heavy.sparse.csr_array(table))(np.zeros(6))


def test_a_command_leaves_the_number_of_threads_to_whoever_says_it(monkeypatch):
    before = gc.get_threshold()
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    _quick_start()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "4")
    _quick_start()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "4"
    gc.set_threshold(*before)
