"""Competitors that the package does not carry: other local channels, reports of several items, the hypercube."""

from benchmarks.baselines.channels import LocalChannel, RandomisedResponse, SetChannel
from benchmarks.baselines.duchi import DuchiNoise, duchi_release
from benchmarks.baselines.edges import Edges
from benchmarks.baselines.hadamard import HadamardResponse, walsh_hadamard
from benchmarks.baselines.histograms import (
    CentralHistogram,
    HistogramAnswer,
    HistogramBaseline,
    LocalHistogram,
    LocalNoiseHistogram,
    gaussian_histogram,
    laplace_histogram,
    local_gaussian_histogram,
)
from benchmarks.baselines.levels import (
    LevelledHistogram,
    LevelledLocalHistogram,
    levelled_histogram,
    levelled_local_histogram,
)
from benchmarks.baselines.projective import ProjectiveResponse
from benchmarks.baselines.unary import SubsetSelection, UnaryEncoding

__all__ = [
    "CentralHistogram",
    "DuchiNoise",
    "Edges",
    "HadamardResponse",
    "HistogramAnswer",
    "HistogramBaseline",
    "LevelledHistogram",
    "LevelledLocalHistogram",
    "LocalChannel",
    "LocalHistogram",
    "LocalNoiseHistogram",
    "ProjectiveResponse",
    "RandomisedResponse",
    "SetChannel",
    "SubsetSelection",
    "UnaryEncoding",
    "duchi_release",
    "gaussian_histogram",
    "laplace_histogram",
    "levelled_histogram",
    "levelled_local_histogram",
    "local_gaussian_histogram",
    "walsh_hadamard",
]
