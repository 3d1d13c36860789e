"""A card in words for a member of the public: what leaves the phone, and what anyone can learn from it."""

from __future__ import annotations

from datetime import UTC, datetime

from barrow.collect.card import Card
from barrow.numerics import float_up
from barrow.promises import odds_upper, percent_up


def card_text(card: Card) -> str:
    r"""What a card asks, what leaves the phone, what can be learnt, and what is only claimed."""
    built, space = card.survey.channel, card.survey.study.space
    unit = f", up to {space.diameter:,.4g} {space.unit} apart" if space.unit else ""
    shown = ", ".join(str(space.label(i)) for i in range(min(space.items, 6)))
    lines = [
        f"This card asks for: {card.description}.",
        f"It is about {space.items:,} public items{unit}: {shown}{', …' if space.items > 6 else ''}.",
        *_leaves(card),
        _proved(card),
    ]
    if card.claimed is not None and not card.summed:
        better = built.guarantee.epsilon_at(1)
        lines.append(
            f"What the card claims, and your phone cannot check: if the messages of at least "
            f"{card.claimed['hiding']:,} honest people are mixed, and the mixer does not work together with the "
            f"analyser, a 50 % guess becomes "
            f"{_at_most(better, float(built.guarantee.definition.delta_at(1)))} ({card.claimed['definition']})."
        )
    lines.append(
        "You take part with an invitation, once: it is exchanged for blind signatures, so that nobody can tell which "
        "of them are yours."
        if card.counted == "tokens"
        else "The operator admits you and can see when you send. That each person is admitted once rests on the "
        "operator's word."
    )
    if card.promises:
        words = built.terms.records.words
        lines.append("Promised: " + "; ".join(card.promises) + "." + (f" {words}." if words else ""))
    hosts = sorted({address.split("/")[2] for address in card.send.values()})
    lines.append(
        "Not hidden: that you answer, when, and from which network address. Your phone contacts "
        f"{' and '.join(hosts)} and nobody else."
    )
    if not card.everywhere:
        lines.append("It can be answered by the Python client only; browsers refuse it.")
    until = datetime.fromtimestamp(card.expires, UTC).strftime("%Y-%m-%d")
    lines.append(f"Valid until {until}. Signed by {card.signer}. Card {card.digest}.")
    return "\n".join(lines)


def answered_by(card: Card) -> str:
    """Which clients can answer a card, and what to do if phones should."""
    if card.everywhere:
        return "Python, browsers and Node"
    return (
        "Python only: the best plan for this question draws in a way that the JavaScript client cannot prove, and it "
        f"refuses such cards. What phones can answer: {card.survey.channel.fallback_hint}"
    )


def _proved(card: Card) -> str:
    """What the phone can prove, and against whom."""
    counted = "This adds up over all cards that you answer; your phone counts it."
    alone = float_up(card.epsilon)
    if card.summed:
        m, kept = card.claimed["aggregators"], card.claimed["aggregators"] - card.claimed["dishonest"]
        return (
            f"Who must be trusted: at least {kept} of the {m} aggregators must keep to the rules and not work together "
            "with the others. All of them together see your answer: then nothing protects you, so your phone answers "
            f"only if you opted in to them (as {card.aggregators}). If enough keep to the rules, a 50 % guess about "
            f"everything you hold can become {_at_most(alone, 0.0)} (ε = {alone:.4g}, {card.claimed['definition']}), "
            f"and your phone can prove that. {counted}"
        )
    slack = card.survey.channel.alone.definition.delta_at(1)
    return (
        "What your phone can prove about it: whoever sees it, even if everybody else works together and knows "
        f"everything else, a 50 % guess about everything you hold can become {_at_most(alone, slack)} "
        f"(ε = {alone:.4g}, {card.local['definition']}). {counted}"
    )


def _at_most(epsilon: float, delta: float) -> str:
    most = percent_up(odds_upper(epsilon, delta))
    return most if most.startswith("more") else f"at most {most}"


def _leaves(card: Card) -> list[str]:
    """What leaves the phone."""
    built = card.survey.channel
    sentence = (
        "It is drawn once and saved: if asked again, your phone sends the same answer, because a second draw would "
        "reveal more."
    )
    if card.shuffled:
        return [
            f"What leaves your phone: {card.messages:,} messages of {card.sealing['bytes']} bytes, one by one. Each "
            "holds one item that was replaced by a random one, encrypted so that only the analyser can open it, and "
            f"nothing links two of them to you. {sentence}"
        ]
    if card.summed:
        return [f"What leaves your phone: {built.report_description}. {sentence}"]
    what = f"{built.report_description}, and a random number so that a copy is not counted twice"
    return [f"What leaves your phone: {what}. {sentence}"]
