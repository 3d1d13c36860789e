"""``barrow demo``: real releases from bundled data, offline and in seconds."""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.demo.examples import EXAMPLES, Example
    from barrow.demo.picture import heat_map
    from barrow.demo.run import DemoResult, run_demo
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".examples": "EXAMPLES Example",
            ".picture": "heat_map",
            ".run": "DemoResult run_demo",
        },
    )
