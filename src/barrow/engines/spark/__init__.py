"""Records on a Spark cluster (extra ``spark``): counted and sampled where they are."""

from barrow.engines.spark.engine import SparkEngine
