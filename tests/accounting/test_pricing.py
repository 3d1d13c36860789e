"""Events to guarantees."""

from dataclasses import dataclass
from fractions import Fraction

import pytest

from barrow.accounting import adaptive_alpha_upper, best_projection, compose, epsilon_at, price
from barrow.accounting.blanket import ResponseRandomiser, blanket_alpha_upper
from barrow.accounting.flow import flow_alpha_upper
from barrow.accounting.inputs import alpha0_up, least_down, open_delta
from barrow.accounting.pricing import gaussian_alpha_upper
from barrow.accounting.sampling import projection_distance_upper
from barrow.errors import ParameterError
from barrow.promises import (
    EVENTS,
    DiscreteEmd,
    Emd,
    Event,
    GaussianNoise,
    Guarantee,
    KNormNoise,
    Model,
    PersonGaussianNoise,
    PersonKNormNoise,
    PureRelease,
    SampledItems,
    SecureSum,
    ShuffledReports,
    UserLevel,
    UserLevelRelease,
    guarantee_from_json,
)
from barrow.promises.pairs import linear_pair

SHUFFLED = ShuffledReports("4.4", reports=10**8, items=1000, delta="1e-12", model="central")
EXAMPLES = {
    "KNormNoise": KNormNoise(25, model="central", range_ratio="0.1"),
    "GaussianNoise": GaussianNoise(3, delta="1e-12", model="local", range_ratio="0.25"),
    "PersonKNormNoise": PersonKNormNoise(25, model="central", range_ratio="0.1"),
    "PersonGaussianNoise": PersonGaussianNoise(3, delta="1e-12", model="central", range_ratio="0.25"),
    "PureRelease": PureRelease(5, model="central", bounded=True),
    "SecureSum": SecureSum(5, range_ratio="0.5"),
    "ShuffledReports": SHUFFLED,
    "SampledItems": SampledItems(samples=1000, radius="0.008", delta="1e-12", inner=SHUFFLED),
    "UserLevelRelease": UserLevelRelease(1, delta="1e-9", model="central"),
}


def test_every_kind_of_event_has_a_price_and_survives_json():
    assert set(EXAMPLES) == set(EVENTS)
    for event in EXAMPLES.values():
        guarantee = price(event)
        assert guarantee_from_json(guarantee.to_json()) == guarantee


def test_knorm_and_gaussian_carry_their_worst_case():
    knorm = price(EXAMPLES["KNormNoise"])
    assert knorm.definition == Emd(25, 0, model="central")
    assert knorm.worst_case == UserLevel("2.5", 0, model="central")
    gaussian = price(EXAMPLES["GaussianNoise"])
    assert gaussian.definition.alpha == Fraction(gaussian_alpha_upper(3, "1e-12"))
    assert gaussian.worst_case.epsilon == Fraction(gaussian_alpha_upper("0.75", "1e-12"))
    assert gaussian.worst_case.epsilon < gaussian.definition.alpha
    assert price(KNormNoise(25, model="local")).worst_case is None


def test_shuffled_reports_name_the_best_method():
    result = price(SHUFFLED)
    assert result.method == "flow_strong"
    assert result.definition.bounded
    assert float(result.definition.alpha) == flow_alpha_upper("4.4", reports=10**8, items=1000, delta="1e-12") < 25
    assert result.worst_case.epsilon < result.definition.alpha
    pure = price(ShuffledReports("0.025", reports=1000, items=1000, delta=0, model="local"))
    assert (pure.method, pure.definition.alpha) == ("per_report_composition", 25)
    tiny = price(ShuffledReports(1, reports=3, items=3, delta="1e-6", model="local"))
    assert (tiny.method, tiny.definition.alpha) == ("per_report_composition", 3)


def test_sampling_takes_the_better_projection_and_splits_delta():
    pure = price(
        SampledItems(samples=1000, radius="0.1", delta="1e-12", inner=PureRelease(4000, model="local", bounded=True))
    )
    c = projection_distance_upper("0.1", 1000, "1e-12")
    assert pure.definition == DiscreteEmd(4000 * Fraction(c), "1e-12", radius="0.1", model="local")
    assert pure.method == "projection_kl/pure"
    assert pure.worst_case.epsilon == 4000
    inner = GaussianNoise(2, delta="1e-12", model="central")
    mixed = price(SampledItems(samples=1000, radius="0.008", delta="1e-12", inner=inner))
    half = Fraction("1e-12") / 2
    even = gaussian_alpha_upper(2 * Fraction(best_projection("0.008", 1000, half)[0]), half)
    assert float(mixed.definition.epsilon) <= even
    whole = price(SampledItems(samples=2, radius=1, delta="1e-12", inner=inner))
    assert whole.method == "all_distances/gaussian"
    assert whole.definition.epsilon == whole.worst_case.epsilon


def test_sampled_shuffle_is_cheaper_than_its_alpha_times_c():
    result = price(EXAMPLES["SampledItems"])
    assert result.method == "sampling/flow_strong"
    c = Fraction(best_projection("0.008", 1000, Fraction("5e-13"))[0])
    half = ShuffledReports("4.4", reports=10**8, items=1000, delta="5e-13", model="central")
    assert result.definition.epsilon <= price(half).definition.alpha * c * Fraction("1.0001")
    assert result.definition.epsilon > 0


def test_epsilon_grows_with_the_distance_and_with_the_share():
    for event in EXAMPLES.values():
        delta, tenths = Fraction("1e-9"), [Fraction(j, 10) for j in range(1, 11)]
        for values in (
            [epsilon_at(event, Fraction(1), reach, delta) for reach in tenths],
            [epsilon_at(event, share, Fraction(1), delta) for share in tenths],
        ):
            assert values == sorted(values)


@dataclass(frozen=True)
class Novelty(Event):
    model = Model.CENTRAL


@dataclass(frozen=True)
class OwnKind(Event):
    """A kind of event that nobody but itself knows of: what differs by kind are its methods."""

    model = Model.LOCAL
    pure = True
    method = "own"

    def epsilon_at(self, share, reach, delta):
        return 2 * share * reach

    def guarantee(self):
        return Guarantee(Emd(2, model=self.model), self.method, "def:emd-dp")

    def pair(self, tail, projection):
        return linear_pair("pure", Fraction(2))


def test_a_new_kind_of_event_is_one_class():
    own, known = OwnKind(), PureRelease(2, model="local")
    assert price(own).definition == price(known).definition
    assert epsilon_at(own, Fraction(1, 30), Fraction(1, 2), Fraction(0)) == Fraction(1, 30)
    for delta in ("0", "1e-6"):
        assert compose([own] * 20, delta).definition == compose([known] * 20, delta).definition
    assert adaptive_alpha_upper([own] * 20, "1e-6") == adaptive_alpha_upper([known] * 20, "1e-6")
    inside = [SampledItems(samples=10, radius=None, delta="1e-9", inner=inner) for inner in (own, known)]
    assert price(inside[0]).definition == price(inside[1]).definition
    assert compose([inside[0], own], "1e-6").definition == compose([inside[1], known], "1e-6").definition


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (Novelty(), "Novelty has no price"),
        (SampledItems(samples=10, radius="0.1", delta="1e-9", inner=Novelty()), "Novelty has no price"),
        (SampledItems(samples=10, radius="0.1", delta="1e-9", inner=SHUFFLED), "10 items were sampled"),
        (SampledItems(samples=10, radius="0.1", delta="1e-9", inner=EXAMPLES["SampledItems"]), "samples again"),
        (
            SampledItems(samples=10, radius="0.1", delta="1e-12", inner=EXAMPLES["UserLevelRelease"]),
            "more than the 1e-12",
        ),
        (
            SampledItems(samples=10, radius="0.1", delta=0, inner=EXAMPLES["GaussianNoise"]),
            "delta is 0",
        ),
    ],
)
def test_unknown_and_impossible_events_are_refused(event, text):
    with pytest.raises(ParameterError, match=text):
        price(event)


def test_a_named_randomiser_is_priced_by_its_blanket():
    def at(**named):
        return ShuffledReports(4, reports=10**7, items=1000, delta="1e-9", model="central", **named)

    plain, named = price(at()), price(at(randomiser="gkrr:10x10:0.05"))
    assert (plain.method, named.method) == ("flow_strong", "blanket")
    assert named.theorem == "docs/proofs/blanket.md"
    assert named.definition.alpha < plain.definition.alpha * Fraction(6, 10)
    expected = blanket_alpha_upper(ResponseRandomiser(10, 10, "0.05"), 4.0, reports=10**7, items=1000, delta="1e-9")
    assert named.definition.alpha == Fraction(expected)
    # Where composition is the best, the name changes nothing; a randomiser with one cluster is refused.
    tiny = ShuffledReports(1, reports=3, items=3, delta="1e-6", model="local", randomiser="krr:4")
    assert price(tiny).method == "per_report_composition"
    with pytest.raises(ParameterError, match="one cluster"):
        price(at(randomiser="krr:1"))


def test_a_named_randomiser_survives_composition():
    named = ShuffledReports(4, reports=10**7, items=1000, delta="1e-9", model="central", randomiser="krr:100")
    plain = ShuffledReports(4, reports=10**7, items=1000, delta="1e-9", model="central")
    assert compose([named, named], "2e-9").definition.alpha < compose([plain, plain], "2e-9").definition.alpha


def test_the_guarantee_of_knorm_noise():
    assert str(KNormNoise(alpha=25, model="local", range_ratio="1/5").guarantee()) == (
        "(α=25, δ=0)-unbounded EMD-DP (local) by knorm [lemma:lin]; "
        "worst case (ε=5, δ=0)-unbounded user-level DP (local)"
    )


def test_open_delta():
    assert open_delta("1e-12", "flow") <= 1e-12


def test_alpha0_up():
    assert alpha0_up("4.3") >= 4.3


def test_least_down():
    assert least_down(None) == 0.0
    assert least_down("1/4") == 0.25
