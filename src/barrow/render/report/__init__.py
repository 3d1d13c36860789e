"""The report: one HTML file from plain texts, numbers and figures.

It asks nobody for anything, is complete without scripts, prints well, and has the same bytes whenever its data are the
same. Who makes a :class:`ReportPage` out of a release decides what it says; here is only how it looks.
"""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.render.report.page import Learnt, Picture, ReportPage, ReportTable, Section, report_html
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".page": "Learnt Picture ReportPage ReportTable Section report_html",
        },
    )
