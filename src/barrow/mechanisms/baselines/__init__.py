"""Baselines: the same queries under ordinary user-level differential privacy."""

from barrow.mechanisms.baselines.channels import LocalChannel, RandomisedResponse, SetChannel
from barrow.mechanisms.baselines.duchi import DuchiNoise, duchi_release
from barrow.mechanisms.baselines.edges import Edges
from barrow.mechanisms.baselines.hadamard import HadamardResponse, walsh_hadamard
from barrow.mechanisms.baselines.histograms import (
    CentralHistogram,
    HistogramAnswer,
    HistogramBaseline,
    LocalHistogram,
    LocalNoiseHistogram,
    gaussian_histogram,
    laplace_histogram,
    local_gaussian_histogram,
)
from barrow.mechanisms.baselines.levels import (
    LevelledHistogram,
    LevelledLocalHistogram,
    levelled_histogram,
    levelled_local_histogram,
)
from barrow.mechanisms.baselines.projective import ProjectiveResponse
from barrow.mechanisms.baselines.subsets import SubsetSelection, UnaryEncoding
from barrow.mechanisms.baselines.user_level import user_level_candidates, user_level_noise, user_level_release

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
    "user_level_candidates",
    "user_level_noise",
    "user_level_release",
    "walsh_hadamard",
]
