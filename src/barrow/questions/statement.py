"""The statement that goes with a release, as typed data: what was released, what is protected, and what is not.

It stands here because every kind of question says in words what its own statements hold.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from barrow.display import Displayed
from barrow.errors import ParameterError
from barrow.promises import Model, RecordMap

Fact = TypeVar("Fact")
Outside = Literal["error", "default", "nearest", "elsewhere"]
Json = dict[str, object]
"""Plain data of somebody else's form: an event, a guarantee, a space, parameters."""


class StatementPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What every part of a statement is: frozen, without fields that nobody knows or that were left as they are."""


class NoiseFacts(StatementPart, frozen=True, kw_only=True):
    """What was drawn: additive noise has a scale and a grid, a randomiser of items its parameter and its method."""

    distribution: str
    scale: float | None = None
    grid: str | None = None
    alpha0: float | None = None
    method: str | None = None


class ReadFrom(StatementPart, frozen=True, kw_only=True):
    """The mechanism of a histogram, and what its noise is on."""

    mechanism: str
    words: str
    unbiased_outputs: str = ""


class HistogramFacts(ReadFrom, frozen=True, kw_only=True):
    """How accurate a decoded histogram is, as earth mover's distances in the space's unit."""

    emd_predicted: float
    emd_most: float
    emd_decoded: float | None = None
    emd_snapping_typical: float = 0.0
    emd_snapping_upper: float = 0.0
    emd_undecoded: float | None = None
    emd_upper_nearest: float | None = None
    decode: str = "auto"
    determined: bool = True
    gap: float | None = None


class FrequencyFacts(StatementPart, frozen=True, kw_only=True):
    """How accurate an estimate from randomised items is."""

    decode: str
    condition: float
    uniform_guess: float
    emd_predicted: float
    emd_most: float
    predicted_error: float
    error_upper: float
    users: int
    warning: str | None = None


class DensityFacts(StatementPart, frozen=True, kw_only=True):
    """What to expect of a density at the public reference."""

    values: float
    decoded: float
    snapping: float


class SoFar(StatementPart, frozen=True, kw_only=True, rename={"changed": "if"}):
    """What all releases so far cost together at a change that may be in every period."""

    changed: Annotated[str, Meta(description="The change, in words.")]
    epsilon: float
    odds: Annotated[float, Meta(description="What a 50 % guess about such a change can become at most.")]


class AboutFacts(StatementPart, frozen=True, kw_only=True):
    """Which periods a release reads, and which groups of people it tells apart."""

    unit: Annotated[str, Meta(description="What a period is: day, week, month, quarter or year.")] = ""
    zone: Annotated[str, Meta(description="The time zone in which days begin.")] = ""
    reads: Annotated[str, Meta(description="The periods that were read; all records if empty.")] = ""
    pool: Annotated[str, Meta(description="What counts alike in several periods: records or periods.")] = ""
    periods_so_far: Annotated[int, Meta(description="How many periods the ledger had released, this one included.")] = 0
    so_far: Annotated[list[SoFar], Meta(description="What all releases so far cost together.")] = []
    grouping: Annotated[str, Meta(description="The public attribute that puts each person into one group.")] = ""
    groups: Annotated[list[GroupFacts], Meta(description="The groups; no person is in two of them.")] = []


class GroupFacts(StatementPart, frozen=True, kw_only=True):
    """One group of people and how accurate its values are."""

    group: str
    people: int
    error: float | None = None
    answer: AnswerFacts


class HiddenGroups(StatementPart, frozen=True, kw_only=True):
    """Hidden groups of records within which values are given."""

    name: Annotated[str, Meta(description="What the grouping is called.")]
    labels: Annotated[list[str], Meta(description="The public list of groups.")]
    distance: Annotated[float, Meta(description="How far another group counts, in the unit of the space.")]
    unit: Annotated[str, Meta(description="The unit of the space.")] = ""
    error_at_equal_shares: Annotated[float, Meta(description="The predicted error if all groups are alike.")]
    share_half_width_95: Annotated[float, Meta(description="Of the shares of all groups at once.")]


class AnswerFacts(StatementPart, frozen=True, kw_only=True):
    """What a kind of question says about its values."""

    outputs: int = 1
    unit: Annotated[str, Meta(description="The unit of the values.")] = ""
    shares: Annotated[bool, Meta(description="Whether the values are shares of people, from 0 to 1.")] = False
    noise: NoiseFacts | None = None
    half_width_95: Annotated[float | None, Meta(description="Each value is within this of the true one (95 %).")] = None
    half_width_95_all: Annotated[float | None, Meta(description="All values at once are (95 %).")] = None
    snapping: Annotated[float, Meta(description="How far snapping may move a value.")] = 0.0
    snapping_included: Annotated[bool, Meta(description="Whether the half widths allow for it.")] = True
    snapping_typical: float | None = None
    expected_error: DensityFacts | None = None
    radius_95: float | None = None
    share_half_width_95: Annotated[float | None, Meta(description="Of the share of people with records.")] = None
    holders: Annotated[bool, Meta(description="Whether people with records alone count.")] = False
    quantiles: list[str] = []
    read_from: ReadFrom | None = None
    histogram: HistogramFacts | None = None
    frequency: FrequencyFacts | None = None
    items_per_person: int | None = None
    sampled: Annotated[bool, Meta(description="Whether these were drawn from each person's items.")] = False
    distortion: Annotated[float | None, Meta(description="How far a report is from its item on average.")] = None
    uniform_guess: float | None = None
    warning: str | None = None
    hidden_groups: Annotated[HiddenGroups | None, Meta(description="The hidden groups, where there are any.")] = None
    about: Annotated[AboutFacts | None, Meta(description="The periods and groups, where it is not about all.")] = None


class ReleaseApproval(StatementPart, frozen=True, kw_only=True):
    """One approver who let the ledger pay for the release."""

    by: Annotated[str, Meta(description="The approver's name in the ledger.")]
    key: Annotated[str, Meta(description="The fingerprint of the key that signed.")]
    proposal: Annotated[str, Meta(description="The digest of the proposal that was signed.")]
    expires: Annotated[str, Meta(description="Until when it could be paid for.")]


class LedgerEntry(StatementPart, frozen=True, kw_only=True):
    """Where the ledger remembers the release."""

    entry: Annotated[int, Meta(description="The number of its reservation in the ledger.")]
    key: Annotated[str, Meta(description="One key, one release: it is never paid or drawn twice.")]
    ledger: Annotated[str | None, Meta(description="The ledger's file name, or its address.")] = None
    approved: Annotated[list[ReleaseApproval], Meta(description="Who approved it, where the ledger asks for it.")] = []


class ReleaseFile(StatementPart, frozen=True, kw_only=True):
    """One file of the release."""

    name: str
    sha256: str


class Publication(StatementPart, frozen=True, kw_only=True):
    """Who publishes the release and what for, as the study's ``[publication]`` says; a catalogue of data asks for it.

    >>> Publication(curator="City of Example", purpose="planning of buses").region
    ''
    """

    title: Annotated[str, Meta(description="What the release is called, where not by its question.")] = ""
    curator: Annotated[str, Meta(description="Who holds the records and publishes the release.")] = ""
    purpose: Annotated[str, Meta(description="What the release is for.")] = ""
    region: Annotated[str, Meta(description="Which part of the world it is about.")] = ""
    contact: Annotated[str, Meta(description="Whom to ask: an address of mail or of a page.")] = ""
    license: Annotated[str, Meta(description="Under which licence it may be used, e.g. CC-BY-4.0.")] = ""
    url: Annotated[str, Meta(description="Where it is published.")] = ""
    date: Annotated[str, Meta(description="When it was published, e.g. 2026-11-18.")] = ""


class Claim(StatementPart, frozen=True, kw_only=True, omit_defaults=False):
    """What whoever evaluates a claim of differential privacy asks for (NIST SP 800-226), beside the numbers."""

    unit: Annotated[str, Meta(description="The unit of privacy: whose data may change between neighbours.")]
    parameters: Annotated[list[str], Meta(description="The parameters of the guarantee, in words.")]
    trust: Annotated[str, Meta(description="The trust model.")]
    actors: Annotated[list[str], Meta(description="Who takes part, and what they are trusted with.")]
    side_channels: Annotated[list[str], Meta(description="What else could tell something, and what was done.")]
    preprocessing: Annotated[list[str], Meta(description="What was done to records before noise was added.")]
    bias: Annotated[list[str], Meta(description="How values differ from the truth apart from noise.")]


class WorstCase(StatementPart, frozen=True, kw_only=True, omit_defaults=False):
    """What holds if all data of one person were different."""

    epsilon: float
    odds: Annotated[float, Meta(description="What a 50 % guess can become at most.")]
    delta: float


class PromiseFacts(StatementPart, frozen=True, kw_only=True, rename={"changed": "if"}):
    """What one promise gets from this release."""

    changed: Annotated[str, Meta(description="The change, in words.")]
    share: Annotated[float, Meta(description="The share of the person's data that changes.")]
    distance: Annotated[float, Meta(description="How far, in the statement's unit.")]
    epsilon_promised: float
    epsilon: Annotated[float, Meta(description="What the release costs at this promise.")]
    odds: Annotated[float, Meta(description="What a 50 % guess about such a change can become at most.")]


class OwnFacts(StatementPart, frozen=True, kw_only=True, omit_defaults=False):
    """How far off a release is, worked out from what was released."""

    about: float
    between: Annotated[tuple[float, float] | None, Meta(description="Where records may lie between nodes.")] = None


class Statement(StatementPart, Displayed, frozen=True, kw_only=True, omit_defaults=False):
    """What goes with every release."""

    statement: Annotated[int, Meta(description="The version of this format.")]
    library: Annotated[str, Meta(description="What wrote it.")]
    kind: Annotated[str, Meta(description="The kind of question.")]
    name: Annotated[str, Meta(description="The question's name, and its folder's.")]
    title: Annotated[str | UnsetType, Meta(description="The heading of the report, if the study gives one.")] = UNSET
    description: Annotated[str | UnsetType, Meta(description="What stands below the heading.")] = UNSET
    released: Annotated[str, Meta(description="What was released, in words.")]
    answer: Annotated[AnswerFacts, Meta(description="What the kind of question says about its values.")]
    error: Annotated[float | None, Meta(description="How far off the release is: by itself, or as predicted.")]
    error_after: Annotated[OwnFacts | None, Meta(description="Worked out from the released values.")] = None
    error_unit: str
    summary: Annotated[list[str], Meta(description="The released values in a few lines.")]
    dataset: str | None
    people: Annotated[int, Meta(description="About how many people: public, declared.")]
    model: Annotated[Model, Meta(description="Who added the noise: local, shuffle or central.")]
    alpha: Annotated[float | None, Meta(description="Privacy loss per largest distance; None for user-level DP.")]
    price: Annotated[str, Meta(description="What it cost of the ledger's budget, in words.")]
    delta: float
    unit: Annotated[str, Meta(description="The unit of distances.")]
    diameter: Annotated[float, Meta(description="The largest distance of the space, in its unit.")]
    snapping: Annotated[float, Meta(description="How far a record is moved to the grid at most, in the unit.")]
    protected: Annotated[list[PromiseFacts], Meta(description="The promises; none for a study that gives alpha.")]
    worst_case: WorstCase
    conditions: Annotated[list[str], Meta(description="What the guarantee rests on beside mathematics.")] = []
    not_hidden: list[str]
    not_covered: list[str]
    records: Annotated[RecordMap, Meta(description="How records became items: contraction, jumps or filter.")]
    missing_people: Annotated[str, Meta(description="What people without records count as.")]
    outside: Annotated[Outside, Meta(description="What became of records outside the space.")]
    definition: Annotated[str, Meta(description="The definition of privacy that holds, in words.")]
    theorem: Annotated[str, Meta(description="The label of the theorem behind it.")]
    guarantee: Annotated[Json, Meta(description="The same as data, in exact numbers.")]
    event: Annotated[Json, Meta(description="What the mechanism did.")]
    ledger: Annotated[LedgerEntry | None, Meta(description="Where the ledger remembers it.")]
    parameters: Annotated[Json, Meta(description="The public parameters that the guarantee depends on.")]
    space_digest: str
    space: Annotated[Json | None, Meta(description="What makes the space again, where that is short.")]
    claim: Annotated[Claim | None, Meta(description="What NIST SP 800-226 asks of a claim; since version 2.")] = None
    publication: Annotated[Publication | None, Meta(description="Who publishes it; since version 2.")] = None
    files: Annotated[list[ReleaseFile], Meta(description="All other files of the release, with their digests.")] = []
    digest: Annotated[str, Meta(description="The digest of everything else in the statement.")] = ""


def needed(fact: Fact | None) -> Fact:
    """What a statement of this kind says; an error where a forged one does not.

    >>> needed(0.5)
    0.5
    """
    if fact is None:
        raise not_whole()
    return fact


def not_whole() -> ParameterError:
    """That a statement lacks what its kind says."""
    return ParameterError(
        "The statement is not whole: it lacks what its kind of question says.",
        allowed="a statement as barrow release wrote it",
        fix="give the folder that barrow release wrote",
    )
