"""What is promised: definitions, events and guarantees; promises in plain words to alpha, and back to odds.

Frozen values; no noise, no data.
"""

from barrow.promises.aggregation import Aggregation
from barrow.promises.channels import ItemChannel
from barrow.promises.definitions import (
    Definition,
    DiscreteEmd,
    Emd,
    ItemMetric,
    Model,
    UserLevel,
    group_delta_upper,
)
from barrow.promises.events import (
    EVENTS,
    Event,
    GaussianNoise,
    KNormNoise,
    PersonGaussianNoise,
    PersonKNormNoise,
    PureRelease,
    SampledItems,
    SecureSum,
    ShuffledReports,
    UserLevelRelease,
    event_from_json,
)
from barrow.promises.groups import Grouping
from barrow.promises.guarantees import (
    Guarantee,
    definition_from_json,
    emd_rate_from,
    guarantee_from_json,
    item_to_emd,
    to_bounded,
    to_discrete,
    to_emd,
    to_model_of,
    to_user_level,
)
from barrow.promises.periods import Calendar, Window
from barrow.promises.policy import (
    Policy,
    Satisfied,
    describe_change,
    describe_distance,
    describe_move,
    describe_share,
)
from barrow.promises.promise import (
    CAP,
    Promise,
    alarm,
    cap,
    odds_epsilon,
    odds_sentence,
    odds_upper,
    parse_epsilon,
    percent_up,
)
from barrow.promises.records import RecordMap
from barrow.promises.scopes import Exposure, Scope, exposure, implies
from barrow.promises.shares import parse_share
