"""``barrow demo``: real releases from bundled data, offline and in seconds."""

from barrow.demo.examples import EXAMPLES, Example
from barrow.demo.picture import heat_map
from barrow.demo.run import DemoResult, run_demo

__all__ = ["EXAMPLES", "DemoResult", "Example", "heat_map", "run_demo"]
