"""What shuffled reports cost: the best of composition, theorem, flows and blankets, each of which is a proof."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from barrow.accounting.blanket import blanket_profile, blanket_tail_profile, parse_randomiser
from barrow.accounting.calibrate import THEOREMS, price_shuffle
from barrow.accounting.flow import FlowProfile, flow_profile, tail_profile
from barrow.accounting.inputs import SMALLEST_DELTA, alpha0_up
from barrow.accounting.matrix_blanket import channel_profile, channel_within
from barrow.accounting.theorem import theorem_alpha_upper
from barrow.numerics import float_down, float_up
from barrow.numerics.gdp import gdp_epsilon_upper
from barrow.promises import Emd, Guarantee, ShuffledReports, UserLevel
from barrow.promises.events import LEAST_EPSILON
from barrow.promises.pairs import Pair, linear_pair


@dataclass(frozen=True)
class ShuffledAccountant:
    """Says of shuffled reports what an event with a closed form says of itself.

    >>> reports = ShuffledReports("4.4", reports=10**6, items=100, delta="1e-9", model="central")
    >>> ShuffledAccountant(reports).within(Fraction(1, 30), reports.delta)[1]
    'flow_strong'
    """

    event: ShuffledReports

    def epsilon_at(self, share: Fraction, reach: Fraction, delta: Fraction) -> Fraction:
        """As :meth:`barrow.promises.Event.epsilon_at` says."""
        return self.within(share * reach, delta)[0]

    def within(self, w: Fraction, delta: Fraction) -> tuple[Fraction, str]:
        """The smallest certified epsilon at every distance up to ``w``, and its method."""
        event = self.event
        best, method = event.alpha0 * event.items * w, "per_report_composition"
        if delta == 0:
            return best, method
        n, m = event.reports, event.items
        alpha = theorem_alpha_upper(event.alpha0, reports=n, items=m, delta=delta)
        if alpha is not None and Fraction(alpha) * w < best:
            best, method = Fraction(alpha) * w, "theorem"
        profiles: dict[str, FlowProfile | None] = {
            f"flow_{clones}": flow_profile(
                event.alpha0, reports=n, items=m, delta=delta, clones=clones, least_distance=event.least_distance
            )
            for clones in ("standard", "strong")
        }
        profiles["blanket"] = self._blanket(delta)
        for name, profile in profiles.items():
            if profile is None:
                continue
            room = float_down(delta) - profile.floor_upper
            if room <= 0.0 or profile.head_upper > room:
                continue
            value = Fraction(gdp_epsilon_upper(profile.mu_upper(float_up(w)), room))
            if value < best:
                best, method = value, name
        return best, method

    def guarantee(self) -> Guarantee:
        """Bounded EMD-DP at the event's delta."""
        event = self.event
        known = None if event.randomiser is None else parse_randomiser(event.randomiser)
        alpha, method = price_shuffle(
            event.alpha0,
            event.delta,
            reports=event.reports,
            items=event.items,
            least_distance=event.least_distance,
            randomiser=known,
            channel=event.channel,
        )
        farthest, _ = self.within(Fraction(1), event.delta)
        worst = UserLevel(farthest, event.delta, model=event.model, bounded=True) if 0 < farthest < alpha else None
        definition = Emd(max(alpha, LEAST_EPSILON), event.delta, model=event.model, bounded=True)
        return Guarantee(definition, method, THEOREMS[method], worst)

    def pair(self, tail: Fraction, projection: Fraction) -> Pair:
        """Normal distributions, by all profiles that fit into ``tail``; else randomised response."""
        profiles = self._tails(float_down(tail)) if tail > 0 else []
        if not profiles:
            return linear_pair("pure", self.event.alpha0 * self.event.items)
        # Each profile is about the same release: at each distance the smallest mu holds, with the largest of the tails.
        return Pair(
            "gaussian",
            lambda w: min(profile.mu_upper(w) for profile in profiles),
            Fraction(max(profile.head_upper for profile in profiles)),
            min(profile.slope_upper for profile in profiles),
        )

    def _blanket(self, delta: Fraction) -> FlowProfile | None:
        """The blanket's profile for use at ``delta``, if the randomiser is named, or its channel known at that delta.

        It is made for the event's own delta or for a power of 1/4 below ``delta``, for which it holds as well: many
        deltas then share few profiles, each of which takes a moment.
        """
        event = self.event
        if event.channel is not None and delta == event.delta:
            return channel_within(event.channel, reports=event.reports, items=event.items, delta=delta)
        if event.randomiser is None:
            return None
        made_for = delta
        if delta != event.delta:
            made_for = Fraction(1)
            while made_for > delta:
                made_for /= 4
            if made_for < SMALLEST_DELTA:
                return None
        known = parse_randomiser(event.randomiser)
        return blanket_profile(known, alpha0_up(event.alpha0), reports=event.reports, items=event.items, delta=made_for)

    def _tails(self, tail: float) -> list[FlowProfile]:
        """The better flow, and the blanket where the randomiser is named and it is better somewhere."""
        event, results = self.event, []
        n, m = event.reports, event.items
        for clones in ("strong", "standard"):
            profile = tail_profile(
                event.alpha0, reports=n, items=m, tail=tail, clones=clones, least_distance=event.least_distance
            )
            if profile is not None:
                results.append(profile)
                break
        if event.randomiser is not None:
            known = parse_randomiser(event.randomiser)
            profile = blanket_tail_profile(known, alpha0_up(event.alpha0), reports=n, items=m, tail=tail)
            if profile is not None:
                results.append(profile)
        if event.channel is not None:
            head = tail * (1.0 - 1e-6)
            profile = channel_profile(event.channel, reports=n, items=m, head=head, floor=head)
            if profile is not None:
                results.append(profile)
        return results
