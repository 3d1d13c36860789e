"""What is promised: definitions, events, guarantees and conversions. Frozen values; no noise, no data."""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.privacy.channels import ItemChannel
    from barrow.privacy.conversions import (
        Conversion,
        emd_rate_from,
        item_to_emd,
        to_bounded,
        to_discrete,
        to_emd,
        to_model_of,
        to_user_level,
    )
    from barrow.privacy.definitions import (
        Definition,
        DiscreteEmd,
        Emd,
        ItemMetric,
        Model,
        UserLevel,
        group_delta_upper,
    )
    from barrow.privacy.events import (
        EVENT_VERSION,
        EVENTS,
        Event,
        GaussianNoise,
        KNormNoise,
        PureRelease,
        SampledItems,
        ShuffledReports,
        UserLevelRelease,
        event_from_json,
    )
    from barrow.privacy.guarantees import Guarantee, definition_from_json, guarantee_from_json
else:
    __getattr__, __dir__ = lazily(__name__)
