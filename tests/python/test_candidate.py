"""Candidates: decisions as values, and what the daemon says of them."""

import pytest

import examples
import mdh


def test_decisions_are_values():
    open_ = mdh.Candidate("matmul")
    decided = open_.decide(a=[1, 2], b="x").forbid(a={3})
    assert open_.restrictions == ()
    assert decided.restrictions == (("a", ("1", "2"), False), ("b", ("x",), False), ("a", ("3",), True))
    assert decided.undo() == open_.decide(a=[1, 2], b="x")
    assert decided.undo("a") == open_.decide(b="x")
    with pytest.raises(mdh.ExpressionError, match="names no value"):
        open_.decide(a=[])


def test_the_daemon_describes_and_finishes(client):
    matmul = examples.matmul_loops(64, 64, 64)
    open_ = mdh.Candidate(matmul)
    described = client.describe(open_)
    parts = described.decisions["parts_L2_k"]
    assert described.count == described.space_count == sum(parts.remaining.values())
    assert parts.meaning == "into how many parts layer L2 cuts dimension k" and parts.layer == "L2"
    candidate = open_.decide(parts_L2_k=4).forbid(stage_B="never")
    left = client.describe(candidate)
    assert 0 < left.count <= parts.remaining["4"] and left.decisions["parts_L2_k"].is_restricted
    assert "L2: parts k=4" in left.schedule and "configurations" in repr(left)
    bounds = client.describe(candidate, compared=mdh.ComparedBounds(time_ns=1, most_configurations=50)).bounds
    assert (bounds.configurations, bounds.left, bounds.counts) == (50, 0, (0, 0, 0, 0, 0, 50))
    assert bounds.left_share[0] == 0 and not bounds.is_exact
    assert left.bounds is None
    for by in ("rules", "sample"):
        finished = client.finish(candidate, by, seed=3)
        assert "tile=" in finished.parameters and finished.configuration["parts_L2_k"] == "4"
        assert finished.kernel.source and finished.kernel.name == ""
    with pytest.raises(mdh.ExpressionError, match="no way to finish a candidate, but rules"):
        client.finish(candidate, "soon")
    with pytest.raises(mdh.MdhError, match="no parameter is named 'nonsense'; there are"):
        client.describe(open_.decide(nonsense=1))
    with pytest.raises(mdh.FailedPreconditionError, match="no configuration remains after restricting"):
        client.describe(candidate.decide(stage_B="never"))


def test_searches_keep_to_a_candidate(client):
    matmul = examples.matmul_loops(32, 32, 32)
    candidate = mdh.Candidate(matmul).forbid(stage_B="never")
    tuned = client.tune(matmul, candidate=candidate, max_trials=3)
    assert tuned.time_ns > 0
