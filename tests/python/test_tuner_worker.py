"""The loop that asks, evaluates and tells, against a study in this process; failures of costs."""

import threading
import time

import pytest

import mdh
from mdh.tuner import CostFunctionError, Trial
from mdh.tuner.cost_function import evaluate
from mdh.tuner.worker import Worker


class FakeStudy:
    """Gives out `count` trials, at most `ahead` beyond the first that was not told."""

    def __init__(self, count, ahead=4):
        self.count, self.ahead = count, ahead
        self.asked, self.told = 0, {}
        self.state = "ACTIVE"
        self.lost = []  # numbers to give out again
        self.failing_calls = []  # errors to raise first

    def ask(self, count, lease_seconds):
        if self.failing_calls:
            raise self.failing_calls.pop()
        numbers, self.lost = self.lost, []
        while len(numbers) < count and self.asked < min(self.count, len(self.told) + self.ahead):
            self.asked += 1
            numbers.append(self.asked)
        return [Trial(n, {"n": n}) for n in numbers]

    def tell_all(self, outcomes):
        for outcome in outcomes:
            if outcome.number in self.told:
                raise mdh.AlreadyExistsError("told")
            self.told[outcome.number] = outcome.failure or outcome.cost
        if len(self.told) == self.count:
            self.state = "FINISHED"
        return len(self.told)


def test_one_after_another_in_this_thread():
    study, steps = FakeStudy(5), []

    def cost(configuration):
        assert threading.current_thread() is threading.main_thread()
        return configuration["n"] * 2

    Worker(study, cost, on_progress=lambda *step: steps.append(step)).run()
    assert study.told == {n: 2.0 * n for n in range(1, 6)}
    assert [told for told, _ in steps] == [1, 2, 3, 4, 5]
    assert steps[2][1] == Trial(3, {"n": 3}, 6.0, "")


def test_several_threads_evaluate_at_once():
    study = FakeStudy(12, ahead=3)
    together = threading.Barrier(3, timeout=60)

    def cost(configuration):
        together.wait()
        return configuration["n"]

    Worker(study, cost, threads=3).run()
    assert study.told == {n: float(n) for n in range(1, 13)}


def test_a_configuration_that_comes_twice_is_evaluated_once():
    study = FakeStudy(3, ahead=3)
    evaluated, slow = [], threading.Event()

    def cost(configuration):
        evaluated.append(configuration["n"])
        if configuration["n"] == 1:
            assert slow.wait(60)
        if configuration["n"] == 2:
            study.lost = [1]  # its lease is over
        if configuration["n"] == 3:
            slow.set()
        return 1

    Worker(study, cost, threads=2).run()
    assert sorted(evaluated) == [1, 2, 3] and len(study.told) == 3


def test_what_others_told_meanwhile_is_left_to_them():
    study, steps = FakeStudy(2), []

    def cost(configuration):
        if configuration["n"] == 1:
            study.told[1] = 7
        return 1

    Worker(study, cost, on_progress=lambda *step: steps.append(step)).run()
    assert study.told == {1: 7, 2: 1.0} and len(steps) == 1


def test_it_waits_for_a_daemon_that_is_restarted(monkeypatch):
    monkeypatch.setattr("mdh.tuner.worker._RETRY_SECONDS", 0.001)
    study = FakeStudy(1)
    study.failing_calls = [mdh.UnavailableError("away")] * 3
    Worker(study, lambda c: 1, reconnect_seconds=3600).run()
    assert study.told == {1: 1.0} and not study.failing_calls
    study = FakeStudy(1)
    study.failing_calls = [mdh.UnavailableError("away")] * 3
    with pytest.raises(mdh.UnavailableError):
        Worker(study, lambda c: 1, reconnect_seconds=0).run()


def test_it_waits_while_other_clients_have_all(monkeypatch):
    waits = []

    def sleep(seconds):
        waits.append(seconds)
        study.ahead = len(waits) - 3

    study = FakeStudy(1, ahead=0)
    monkeypatch.setattr(time, "sleep", sleep)
    Worker(study, lambda c: 1).run()
    assert waits == [0.25, 0.5, 1.0, 2.0] and study.told == {1: 1.0}


@pytest.mark.parametrize("threads", [1, 2])
def test_errors_end_the_work(threads):
    def interrupted(configuration):
        raise KeyboardInterrupt

    def nothing_runs(configuration):
        raise mdh.NotFoundError("there is no mdh")

    for cost, error in ((interrupted, KeyboardInterrupt), (nothing_runs, mdh.NotFoundError)):
        study = FakeStudy(5)
        with pytest.raises(error):
            Worker(study, cost, threads=threads).run()
        assert not study.told


@pytest.mark.parametrize("result, failure", [
    (float("nan"), "no cost: the cost function returned nan"),
    (float("-inf"), "no cost: the cost function returned -inf"),
    (None, "no cost: the cost function returned None"),
    ("fast", "no cost: the cost function returned 'fast'"),
    (True, "no cost: the cost function returned True"),
])
def test_results_that_are_no_costs(result, failure):
    assert evaluate(lambda c: result, {}) == (None, failure)


def test_costs_and_exceptions():
    assert evaluate(lambda c: c["a"], {"a": 3}) == (3.0, "")
    assert evaluate(lambda c: "2.5", {}) == (2.5, "")

    def fails(c):
        raise ValueError("no such tile")

    line = fails.__code__.co_firstlineno + 1
    assert evaluate(fails, {}) == (
        None, f"exception: ValueError: no such tile (test_tuner_worker.py:{line})")

    def declines(c):
        raise CostFunctionError("3 errors", "compile error")

    assert evaluate(declines, {}) == (None, "compile error: 3 errors")
    error = CostFunctionError("time-out: 60 s")
    assert error.kind == "time-out" and str(error) == "time-out: 60 s"

    assert evaluate(lambda c: "\udcff", {}) == (None, "no cost: the cost function returned '\\udcff'")

    def surrogates(c):
        raise CostFunctionError("\udcff", "crash")

    assert evaluate(surrogates, {}) == (None, "crash: ?")

    def fails_at_length(c):
        raise ValueError("x" * 9000)

    cost, failure = evaluate(fails_at_length, {})
    assert cost is None and len(failure) == 2000 and failure.endswith("...")


def test_numbers_of_numpy_are_costs():
    numpy = pytest.importorskip("numpy")
    assert evaluate(lambda c: numpy.float32(0.5), {}) == (0.5, "")
    assert evaluate(lambda c: numpy.array(3), {}) == (3.0, "")
