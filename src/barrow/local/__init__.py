"""The local model: each person's client adds noise, and a server adds up reports."""

from barrow.local.client import LocalClient
from barrow.local.memory import Memory
from barrow.local.report import MalformedReportError, Report, report_from_json
from barrow.local.server import LocalResult, LocalServer, noise_half_width
from barrow.local.study import LocalStudy, study_from_json

__all__ = [
    "LocalClient",
    "LocalResult",
    "LocalServer",
    "LocalStudy",
    "MalformedReportError",
    "Memory",
    "Report",
    "noise_half_width",
    "report_from_json",
    "study_from_json",
]
