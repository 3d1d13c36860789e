"""The local and the shuffle model: each person adds noise, a server adds up; they take a study and a question."""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.local.client import Client, Survey
    from barrow.local.memory import Memory
    from barrow.local.mixing import Batch, mix, read_batch
    from barrow.local.report import MalformedReportError, Report, message_of, report_from_json
    from barrow.local.server import Server
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".client": "Client Survey",
            ".memory": "Memory",
            ".mixing": "Batch mix read_batch",
            ".report": "MalformedReportError Report message_of report_from_json",
            ".server": "Server",
        },
    )
