"""The local and the shuffle model: each person adds noise, a server adds up; they take a study and a question."""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.local.client import LocalClient, Survey
    from barrow.local.memory import Memory
    from barrow.local.mixing import MixedBatch, mix, read_batch
    from barrow.local.report import MalformedReportError, Report, message_of, report_from_json
    from barrow.local.server import Server
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".client": "LocalClient Survey",
            ".memory": "Memory",
            ".mixing": "MixedBatch mix read_batch",
            ".report": "MalformedReportError Report message_of report_from_json",
            ".server": "Server",
        },
    )
