"""What people call things, and what barrow calls them: suggestions are made by meaning first, by letters second.

One table for the command line, study files and texts in Python. A word may mean several things; the first of them that
is among the names that fit is suggested.
"""

from __future__ import annotations

from collections.abc import Iterable

_MEANT: dict[str, str] = {
    # questions
    "histogram": "heatmap heat_map map bars bar chart distribution counts tally top topk top_k common mode popular "
    "distinct unique",
    "density": "smooth kde kernel contour hotspot hotspots heat cluster clusters",
    "mean": "average avg expectation expected centre center centroid",
    "quantile": "median quantiles percentile percentiles quartile quartiles deciles iqr cdf ecdf p50 p95 p99 "
    "max maximum min minimum extremes cumulative range",
    "spread": "variance var std stdev stddev sd deviation standard_deviation variability",
    "total": "sum sums amount volume count number",
    "region": "area zone polygon share proportion fraction percentage rate within inside",
    "distance": "near nearness radius far proximity",
    "similarity": "cosine topic topics concept concepts sentiment word words text",
    "projection": "pca component components",
    "frequency": "frequencies heavy_hitters",
    "person": "people individuals homes",
    "workload": "several queries batch multiple",
    # spaces
    "earth": "geo gps location locations place places latlon lat_lon coordinates geography world globe points city "
    "map sphere",
    "hexagons": "h3 hex hexes",
    "embedding": "word words text texts vector vectors glove word2vec sentence language vocabulary",
    "line": "number numbers numeric integer integers float real interval age ages money euros dollars minutes range "
    "date dates datetime timestamp duration",
    "hours": "time clock hour time_of_day daytime",
    "weekdays": "day days weekday dow",
    "months": "month season seasons calendar",
    "circle": "angle angles direction compass cyclic periodic",
    "discrete": "category categories categorical enum nominal label labels codes classes "
    "boolean bool yesno postcode postcodes zip countries country",
    "scale": "ordinal likert rating ratings stars grades",
    "tree": "hierarchy taxonomy nested icd",
    "graph": "roads road streets network edges friends",
    "euclidean": "plane space2d xy grid",
    # keys, options, columns
    "users": "people n persons population individuals clients patients",
    "user": "id uid person user_id userid customer patient",
    "items": "item column columns field fields value values records rows sample samples",
    "item": "record records value values column field lat lon what",
    "out": "html output to folder directory",
    "within": "near around area polygon inside",
    "source": "file path data table input csv",
    "epsilon": "eps privacy budget",
    "cell": "step resolution width size grid",
    "bandwidth": "smoothing sigma radius width",
    "of": "levels level q p probs probabilities quantiles percentiles shares",
    "ledger": "budget log",
    "promise": "promises guarantee policy",
    "question": "query queries questions ask",
    "dataset": "name database data_set",
    # commands
    "release": "run publish export answer",
    "init": "start new create setup configure",
    "plan": "preview estimate predict cost dry-run simulate",
    "design": "serve gui web ui page dashboard",
    "explain": "describe why how help about",
    "audit": "test attack",
    "verify": "validate proof",
    "check": "inspect lint",
    "compare": "baseline benchmark versus",
    "choose": "alpha calibrate",
    "demo": "example tutorial quickstart",
    "report": "html pdf print plot draw",
}
"""What barrow has, and the words that people use for it."""


def meant(word: str, names: Iterable[str]) -> str | None:
    """The one of ``names`` that people mean by ``word``; None where the table does not know it.

    >>> meant("heatmap", ["mean", "histogram"]), meant("variance", ["distance", "spread"]), meant("lime", ["line"])
    ('histogram', 'spread', None)
    """
    wanted = word.strip().lower().replace(" ", "_")
    known = {name.lower(): name for name in reversed(list(names))}
    for name, words in _MEANT.items():
        if name in known and wanted in words.split():
            return known[name]
    return None
