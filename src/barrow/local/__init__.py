"""The local model: each person's client adds noise, and a server adds up reports."""

from barrow.local.client import LocalClient
from barrow.local.frequency import FrequencyResult, FrequencyServer, FrequencyStudy, aggregate_frequency
from barrow.local.items import (
    ItemClient,
    ItemResult,
    ItemServer,
    ItemStudy,
    aggregate_items,
    item_study_from_json,
    randomise_items,
)
from barrow.local.memory import Memory
from barrow.local.report import MalformedReportError, Report, report_from_json
from barrow.local.sampled import SampledStudy, sampled_study_from_json
from barrow.local.server import LocalResult, LocalServer, noise_half_width
from barrow.local.study import LocalStudy, study_from_json

__all__ = [
    "FrequencyResult",
    "FrequencyServer",
    "FrequencyStudy",
    "ItemClient",
    "ItemResult",
    "ItemServer",
    "ItemStudy",
    "LocalClient",
    "LocalResult",
    "LocalServer",
    "LocalStudy",
    "MalformedReportError",
    "Memory",
    "Report",
    "SampledStudy",
    "aggregate_frequency",
    "aggregate_items",
    "item_study_from_json",
    "noise_half_width",
    "randomise_items",
    "report_from_json",
    "sampled_study_from_json",
    "study_from_json",
]
