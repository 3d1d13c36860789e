"""How values are shown to people: figures, and the report of releases. Each is dispatched by type of what is drawn."""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.render.plots import bundle, plot
    from barrow.render.report.release import release_files
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".plots": "bundle plot",
            ".report.release": "release_files",
        },
    )
