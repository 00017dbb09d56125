"""Tuning of any program, as in ATF; mdhd searches, this process measures.

    from mdh.tuner import TP, AUCBandit, Evaluations, Interval, Tuner

    A = TP("A", Interval(1, 100))
    B = TP("B", Interval(1, 100), lambda A, B: A % B == 0)
    config = Tuner().tuning_parameters(A, B).search_technique(AUCBandit()) \
                    .tune(lambda config: measure(**config), Evaluations(50))
"""

from . import command, cuda, opencl
from .abort_conditions import (
    AbortCondition, Cost, Duration, Evaluations, Fraction, Speedup, ValidEvaluations,
)
from .constraints import Constraint
from .cost_function import CostFunctionError
from .functions import ceil_div, divides, max, min, where
from .parameters import TP
from .ranges import Bool, Interval, Permutation, Range, Set
from .result import NoConfigurationError, TuningResult
from .search_techniques import (
    AUCBandit, Bayesian, BestFirst, Descent, DifferentialEvolution, Exhaustive, NelderMead, ParticleSwarm,
    PatternSearch, Random, RoundRobin, SearchTechnique, SimulatedAnnealing,
    ThresholdAscent, Torczon, UpperConfidenceTree,
)
from .specification import Specification
from .study import Outcome, Study, StudyStatus, Trial
from .tuner import SpaceWarning, Tuner

__all__ = [
    "AUCBandit", "AbortCondition", "Bayesian", "BestFirst", "Bool", "Constraint", "Cost",
    "CostFunctionError", "Descent", "DifferentialEvolution", "Duration", "Evaluations",
    "Exhaustive", "Fraction", "Interval", "NelderMead", "NoConfigurationError", "Outcome",
    "ParticleSwarm", "PatternSearch", "Permutation", "Random", "Range", "RoundRobin",
    "SearchTechnique", "Set",
    "SimulatedAnnealing", "SpaceWarning", "Specification", "Speedup", "Study", "StudyStatus",
    "TP", "ThresholdAscent", "Torczon", "Trial", "Tuner", "TuningResult", "UpperConfidenceTree",
    "ValidEvaluations", "ceil_div",
    "command", "cuda", "divides", "max", "min", "opencl", "where",
]
