"""The local and the shuffle model: each person adds noise, a server adds up; they take a study and a question."""

from barrow.local.client import Client, Survey
from barrow.local.memory import Memory
from barrow.local.mixing import Batch, mix, read_batch
from barrow.local.report import MalformedReportError, Report, message_of, report_from_json
from barrow.local.server import Server

__all__ = [
    "Batch",
    "Client",
    "MalformedReportError",
    "Memory",
    "Report",
    "Server",
    "Survey",
    "message_of",
    "mix",
    "read_batch",
    "report_from_json",
]
