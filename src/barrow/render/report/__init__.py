"""The report: one HTML file from plain texts, numbers and figures.

It asks nobody for anything, is complete without scripts, prints well, and has the same bytes whenever its data are the
same. Who makes a :class:`ReportPage` out of a release decides what it says; here is only how it looks.
"""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.render.report.page import Learnt, Picture, ReportPage, ReportTable, Section, report_html
    from barrow.render.report.plans import (
        comparison_report,
        ledger_parts,
        ledger_report,
        plan_report,
        proposal_report,
    )
    from barrow.render.report.release import Released, collected_report, ledger_of, release_report
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".page": "Learnt Picture ReportPage ReportTable Section report_html",
            ".plans": "comparison_report ledger_parts ledger_report plan_report proposal_report",
            ".release": "Released collected_report ledger_of release_report",
        },
    )
