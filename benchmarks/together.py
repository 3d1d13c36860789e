"""Questions of one study that are released together by themselves: ``scripts/bench together``.

Twelve regions, as ``barrow release`` takes them: the noise of one that is released by itself, with a twelfth of every
promise, over that of all of them in one release. The last line is one JSON object.
"""

from __future__ import annotations

from barrow.questions import Region
from barrow.questions.estimates import estimate
from barrow.spaces import Euclidean, Line, Space
from barrow.study import Study
from barrow.study.jointly import jointly
from benchmarks._timing import finish


def main() -> None:
    """Each space, with people without records apart or not, in both ways of adding up."""
    figures: dict[str, float] = {}
    line, plane = Line(0, 60, step=1, unit="km"), Euclidean([0, 0], [30, 30], step=1, unit="km")
    spaces: dict[str, Space] = {"line": line, "plane": plane}
    print(f"\n{'12 regions of a study on':>24} {'people':>13} {'sum':>11} {'alone':>8} {'together':>9} {'ratio':>6}")
    for name, space in spaces.items():
        centers = [3 + 54 * i // 11 if name == "line" else [3 + 8 * (i % 4), 4 + 10 * (i // 4)] for i in range(12)]
        regions = [Region(name=f"r{i}", center=c, radius="2 km", ramp="3 km") for i, c in enumerate(centers)]
        for missing in ("no records", "default item"):
            for composition, delta in (("additive", "0"), ("quadrature", "1e-9")):
                study = Study(
                    space, ["all, 6 km, 0.5"], users=2000, delta=delta, composition=composition, missing=missing,
                    questions=regions,
                )  # fmt: skip
                (joint,) = jointly(study, study.questions, study.abouts).questions
                alone, both = (study.plan(one) for one in (regions[0], joint))
                one, all_of_them = (estimate(each).noise for each in (alone, both))
                print(f"{name:>24} {missing:>13} {composition:>11} {one:>8.4f} {all_of_them:>9.4f} "
                      f"{one / all_of_them:>6.2f}", flush=True)  # fmt: skip
                figures[f"{name}_{missing}_{composition}".replace(" ", "_")] = round(one / all_of_them, 3)
    finish({**figures, "least": min(figures.values())})


if __name__ == "__main__":
    main()
