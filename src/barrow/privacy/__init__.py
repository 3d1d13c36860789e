"""What is promised: definitions, events, guarantees and conversions. Frozen values; no noise, no data."""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.privacy.channels import ItemChannel
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
    from barrow.privacy.guarantees import (
        Conversion,
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
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".channels": "ItemChannel",
            ".definitions": "Definition DiscreteEmd Emd ItemMetric Model UserLevel group_delta_upper",
            ".events": "EVENT_VERSION EVENTS Event GaussianNoise KNormNoise PureRelease SampledItems ShuffledReports "
            "UserLevelRelease event_from_json",
            ".guarantees": "Conversion Guarantee definition_from_json emd_rate_from guarantee_from_json item_to_emd "
            "to_bounded to_discrete to_emd to_model_of to_user_level",
        },
    )
