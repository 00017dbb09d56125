"""Search techniques, by the names that the daemon has for them."""

from __future__ import annotations

from typing import Tuple, Type, Union

from ..errors import wrong


class SearchTechnique:
    """How a space is searched."""

    name = ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Exhaustive(SearchTechnique):
    """Every configuration, in the order of the space."""

    name = "exhaustive"


class Random(SearchTechnique):
    """Configurations at random, none twice."""

    name = "random"


class SimulatedAnnealing(SearchTechnique):
    """Neighbours, worse ones with a probability that falls."""

    name = "annealing"


class Descent(SearchTechnique):
    """The best neighbours of the best configurations."""

    name = "descent"


class Bayesian(SearchTechnique):
    """What a model of the costs known so far promises most of."""

    name = "bayesian"


class DifferentialEvolution(SearchTechnique):
    """A population whose members are combined by their differences."""

    name = "differential_evolution"


class ParticleSwarm(SearchTechnique):
    """Particles drawn to the best that they and the others found."""

    name = "particle_swarm"


class PatternSearch(SearchTechnique):
    """Steps along each parameter, shortened where none is better."""

    name = "pattern_search"


class Torczon(SearchTechnique):
    """Torczon's multi-directional search: a simplex that is reflected as a whole."""

    name = "torczon"


class NelderMead(SearchTechnique):
    """The simplex of Nelder and Mead."""

    name = "nelder_mead"


class BestFirst(SearchTechnique):
    """Decisions in a tree, those of the least bound first, until nothing that is left can be better."""

    name = "best_first"


class ThresholdAscent(SearchTechnique):
    """A tree of decisions, along those that gave most of the best costs."""

    name = "tag"


class UpperConfidenceTree(SearchTechnique):
    """A tree of decisions, along those that gave the best cost, and those that were tried little."""

    name = "uct"


class RoundRobin(SearchTechnique):
    """The other techniques in turns."""

    name = "round_robin"


class AUCBandit(SearchTechnique):
    """A model of costs at first, then several techniques, the more often the better they were lately. The default."""

    name = "auc_bandit"


Technique = Union[str, SearchTechnique, Type[SearchTechnique]]
SEARCH_TECHNIQUES: Tuple[Type[SearchTechnique], ...] = (
    Exhaustive, Random, SimulatedAnnealing, Descent, Bayesian, DifferentialEvolution, ParticleSwarm,
    PatternSearch, Torczon, NelderMead, BestFirst, ThresholdAscent, UpperConfidenceTree, RoundRobin, AUCBandit)


def technique_name(technique: Technique) -> str:
    """The daemon's name of a technique, which may be given by it. Errors: ExpressionError."""
    if isinstance(technique, type) and issubclass(technique, SearchTechnique):
        technique = technique()
    if isinstance(technique, SearchTechnique):
        return technique.name
    if not isinstance(technique, str):
        raise wrong(f"{technique!r} is no search technique, as AUCBandit() is one")
    return technique
