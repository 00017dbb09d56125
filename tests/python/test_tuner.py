"""Tuning against a real daemon: the saxpy example of ATF, functions, commands, resuming, errors."""

import math
import shutil
import threading
import warnings

import pytest

import mdh
from mdh.tuner import (
    TP, AUCBandit, BestFirst, Bool, Cost, CostFunctionError, Duration, Evaluations, Exhaustive,
    Fraction, Interval, NoConfigurationError, Outcome, Permutation, Random, Set, SpaceWarning, Specification,
    Speedup, Tuner, ValidEvaluations, command, opencl,
)
from mdh.tuner.search_techniques import SEARCH_TECHNIQUES

SAXPY = """
__kernel void saxpy(const int N, const float a, const __global float* x, __global float* y)
{
    for (int w = 0; w < WPT; ++w) {
        const int index = w * get_global_size(0) + get_global_id(0);
        y[index] += a * x[index];
    }
}
"""
SQUARE = [TP("A", Interval(1, 12)), TP("B", Interval(1, 12), lambda A, B: A % B == 0)]
SQUARE_COUNT = sum(a % b == 0 for a in range(1, 13) for b in range(1, 13))


def bowl(configuration):
    return (configuration["A"] - 8) ** 2 + (configuration["B"] - 4) ** 2


@pytest.fixture
def tuner(client):
    return Tuner().client(client)


def test_saxpy_as_in_atf(daemon, has_opencl, monkeypatch):
    np = pytest.importorskip("numpy")
    monkeypatch.setenv("MDH_SERVER", daemon.address)
    saxpy_kernel = SAXPY, "saxpy"
    failures = []

    # Input size
    N = 1000

    # Step 1: Generate the Search Space
    WPT = TP("WPT", Interval(1, N), lambda WPT: N % WPT == 0)
    LS = TP("LS", Interval(1, N), lambda WPT, LS: (N / WPT) % LS == 0)

    # Step 2: Implement a Cost Function
    N = np.int32(N)
    a = np.float32(np.random.random())
    x = np.random.rand(N).astype(np.float32)
    y = np.random.rand(N).astype(np.float32)

    cf = opencl.CostFunction(saxpy_kernel) \
        .kernel_args(N, a, x, y) \
        .global_size(lambda WPT: N / WPT) \
        .local_size(lambda LS: LS) \
        .check_result("y", lambda N, a, x, y: a * x + y)

    # Step 3: Explore the Search Space
    config = Tuner().tuning_parameters(WPT, LS) \
        .search_technique(AUCBandit()) \
        .on_progress(lambda status, trial: failures.append(trial.failure)) \
        .tune(cf, Evaluations(50))

    assert 1000 % config["WPT"] == 0 and 1000 // config["WPT"] % config["LS"] == 0
    assert set(config) == {"WPT", "LS"} and len(config.history) == config.evaluations == 50
    # Everything has the right result, whatever was tried.
    assert failures == [""] * 50 and config.valid_evaluations == 50
    assert config.cost == min(trial.cost for trial in config.history) > 0
    divisors = [n for n in range(1, 1001) if 1000 % n == 0]
    assert config.space_count == sum(1000 // w % l == 0 for w in divisors for l in divisors)


def test_a_kernel_with_a_wrong_result_fails(has_opencl):
    np = pytest.importorskip("numpy")
    x = np.arange(8, dtype=np.float32)
    cf = (opencl.CostFunction(SAXPY).kernel_args(np.int32(8), np.float32(2), x, x)
          .global_size(lambda WPT: 8 / WPT).check_result("y", "a * x + y"))
    assert cf({"WPT": 2}) > 0
    with pytest.raises(CostFunctionError) as caught:
        cf.check_result("y", x)({"WPT": 2})
    assert caught.value.kind == "wrong result"
    with pytest.raises(CostFunctionError) as caught:
        opencl.CostFunction(SAXPY.replace("WPT", "TPW")).kernel_args(
            np.int32(8), np.float32(2), x, x).global_size(8)({"WPT": 2})
    assert caught.value.kind == "compile error"


def test_any_function(tuner):
    steps = []
    result = tuner.tuning_parameters(*SQUARE).name("bowl").on_progress(
        lambda *step: steps.append(step)).tune(bowl)
    assert dict(result) == result.configuration == {"A": 8, "B": 4} and result.cost == 0
    assert result.evaluations == result.space_count == SQUARE_COUNT == len(steps)
    assert [t.number for t in result.history] == list(range(1, SQUARE_COUNT + 1))
    assert all(trial.cost == bowl(trial.configuration) for trial in result.history)
    assert steps[-1][0].state == "FINISHED" and result.study.startswith("studies/")
    assert steps[-1][0].best.configuration == {"A": 8, "B": 4}
    assert result.status.proto.spec.display_name == "bowl"


def test_values_of_all_kinds(tuner):
    parameters = [
        TP("I", Interval(2**60, 2**60 + 2)), TP("R", Set(0.5, 1)), TP("S", Set("a", "b c")),
        TP("F", Bool(), lambda F, S: F or S == "a"), TP("P", Permutation("x", "y")),
        TP("G", Interval(1, 3, generator=lambda i: 2**i), lambda G: math.log2(G) > 1)]
    seen = []
    result = tuner.tuning_parameters(*parameters).constraints(
        lambda P, R: P.index("x") == 0 or R > 0.5).tune(lambda c: seen.append(c) or len(seen))
    assert len(seen) == result.space_count == 3 * 3 * 3 * 2
    assert {c["I"] for c in seen} == {2**60, 2**60 + 1, 2**60 + 2}
    assert {(c["S"], c["F"]) for c in seen} == {("a", False), ("a", True), ("b c", True)}
    assert {(c["P"], c["R"]) for c in seen} == {
        (("x", "y"), 0.5), (("x", "y"), 1.0), (("y", "x"), 1.0)}
    assert {c["G"] for c in seen} == {4, 8}
    assert {tuple(map(type, c.values())) for c in seen} == {(int, float, str, bool, tuple, int)}


def test_formulas_and_tables_give_the_same_space(tuner):
    """Python decides for every combination; the daemon must agree."""
    conditions = [
        lambda A, B: 3 <= A * B < 60 and (A % 2 or B % 3 == 0),
        lambda A, B, C: min(A, B) % C == 0 if A > 4 else max(A, B) // C > 1,
        lambda A, B, C: (-A) // B + A % -B + C ** 2 / 7 < abs(A - B) * 1.5,
        lambda A, C: math.gcd(A, C) == 1,
        lambda B, C: math.ceil(B / C) in (1, 2, 5) or not B != C,
        lambda A, B, C: A % (B - C) != 1,
    ]
    values = {"A": range(1, 13), "B": range(1, 11), "C": range(1, 6)}

    def holds(condition, configuration):
        names = condition.__code__.co_varnames[:condition.__code__.co_argcount]
        try:
            return condition(**{name: configuration[name] for name in names})
        except ZeroDivisionError:
            return False

    everything = [{"A": a, "B": b, "C": c} for a in values["A"] for b in values["B"]
                  for c in values["C"]]
    for chosen in (conditions[:2], conditions[2:4], conditions[3:], [conditions[5]]):
        expected = [c for c in everything if all(holds(f, c) for f in chosen)]
        parameters = [TP(n, Interval(v[0], v[-1])) for n, v in values.items()]
        check = Tuner().client(tuner._client).tuning_parameters(*parameters)
        assert check.constraints(*chosen).check().space_count == len(expected)


def test_failures_are_part_of_a_search(tuner):
    def cost(configuration):
        if configuration["A"] == 1:
            raise ValueError("too small")
        if configuration["A"] == 2:
            raise CostFunctionError("took 3 s", "time-out")
        return math.nan if configuration["A"] == 3 else configuration["A"]

    tuner.tuning_parameters(TP("A", Interval(1, 5))).search_technique(Exhaustive)
    result = tuner.tune(cost)
    assert result["A"] == 4 and (result.evaluations, result.valid_evaluations) == (5, 2)
    failures = {t.configuration["A"]: t.failure for t in result.history}
    assert failures[1].startswith("exception: ValueError: too small (test_tuner.py:")
    assert failures[2] == "time-out: took 3 s"
    assert failures[3] == "no cost: the cost function returned nan" and failures[4] == ""


def test_no_valid_configuration(tuner):
    why = "found no valid configuration in 3 evaluations; the first failure: no cost: "
    with pytest.raises(NoConfigurationError, match=why) as failed:
        tuner.tuning_parameters(TP("A", Interval(1, 3))).tune(lambda c: None)
    result = failed.value.result
    assert not result and result.cost is None and result.evaluations == 3
    assert len(result.history) == 3
    with pytest.raises(mdh.FailedPreconditionError, match=why):
        result["A"]


@pytest.mark.parametrize("technique", SEARCH_TECHNIQUES)
def test_techniques(tuner, technique):
    result = tuner.tuning_parameters(*SQUARE).search_technique(technique()).tune(
        bowl, Evaluations(20))
    assert result.evaluations <= 20 and result.cost is not None
    assert result.status.proto.spec.technique == technique.name


def test_the_seed_decides(tuner):
    def trace(seed, threads=1):
        search = Tuner().client(tuner._client).tuning_parameters(*SQUARE).seed(seed)
        search.search_technique(Random()).parallel(threads)
        return [t.configuration for t in search.tune(bowl, Evaluations(12)).history]

    assert trace(3) == trace(3) == trace(3, threads=4)
    assert trace(3) != trace(4)


@pytest.mark.parametrize("abort, evaluations", [
    (Evaluations(7), 7), (ValidEvaluations(3), 6), (Fraction(0.5), math.ceil(SQUARE_COUNT / 2)),
    (Evaluations(9) & Duration(1e-9), 9), (Evaluations(5) | Cost(-1), 5),
    ((Cost(1e9) | Evaluations(9)) & ValidEvaluations(2), 4),
    (Speedup(1.5, 6) | Evaluations(8), 8),
])
def test_abort_conditions(tuner, abort, evaluations):
    count = iter(range(1000))

    def every_second(configuration):
        n = next(count)
        return 2.0 ** -n if n % 2 else (math.inf, 10 ** 400, 10 ** 5000)[n // 2 % 3]

    result = tuner.tuning_parameters(*SQUARE).search_technique("exhaustive").tune(
        every_second, abort)
    assert result.evaluations == evaluations
    assert result.status.state_reason


def test_threads(tuner):
    together = threading.Barrier(6, timeout=60)

    def cost(configuration):
        together.wait()
        return bowl(configuration)

    result = tuner.tuning_parameters(*SQUARE).parallel(6).tune(cost, Evaluations(12))
    assert result.evaluations == 12
    assert result.status.proto.spec.lookahead == 6


def test_decisions(tuner):
    result = tuner.tuning_parameters(*SQUARE).decide(A=[2, 4, 8]).forbid(B=4).tune(
        lambda configuration: configuration["A"] * configuration["B"], Evaluations(20))
    assert {one.configuration["A"] for one in result.history} <= {2, 4, 8}
    assert 4 not in {one.configuration["B"] for one in result.history}


def test_lower_bounds(tuner):
    tuner.tuning_parameters(*SQUARE).search_technique(BestFirst())
    result = tuner.lower_bound("abs(A - 8)").tune(
        lambda configuration: abs(configuration["A"] - 8) + 0.5)
    assert result["A"] == 8 and result.status.left_out + result.evaluations <= result.space_count
    assert result.evaluations < result.space_count / 4
    assert "as the lower bound shows" in result.status.state_reason
    assert not result.status.lower_bound_violation


def test_lower_bounds_that_are_wrong(tuner):
    tuner.tuning_parameters(*SQUARE).lower_bound(3, gap=0.25)
    with pytest.warns(SpaceWarning, match="less than its lower bound of 3"):
        result = tuner.tune(lambda configuration: 2.0, Evaluations(5))
    assert result.status.lower_bound_violation.startswith("trial 1 cost 2, ")
    with pytest.raises(mdh.ExpressionError, match="no parameter or definition 'C'"):
        tuner.lower_bound("C").check()


def test_start(tuner):
    result = tuner.tuning_parameters(*SQUARE).start({"A": 8, "B": 4}, {"A": 9, "B": 2}).tune(
        bowl, Evaluations(2))
    first, second = (t.configuration for t in result.history)
    assert first == {"A": 8, "B": 4}
    assert second["A"] % second["B"] == 0 and second != first  # repaired


def test_definitions(tuner):
    tuner.tuning_parameters(TP("A", Interval(1, 100), "N % A == 0")).constraints("A <= half")
    assert tuner.definitions(N=24, half="N // 2").check().space_count == 7


def test_ask_and_tell(client):
    study = client.create_study(
        Specification(SQUARE, display_name="farm", technique="exhaustive", lookahead=3))
    assert study.state == "ACTIVE" and study.best() is None
    trials = study.ask(5)
    assert [t.number for t in trials] == [1, 2, 3]  # lookahead
    assert study.ask() == []
    study.tell_all([Outcome(t.number, bowl(t.configuration)) for t in trials[1:]])
    status = study.tell(trials[0], failure="crash: signal 11")
    assert (status.evaluations, status.valid_evaluations, status.outstanding) == (3, 2, 0)
    assert study.best().cost == min(bowl(t.configuration) for t in trials[1:])
    assert [t.failure for t in study.trials()] == ["crash: signal 11", "", ""]
    again = client.study(study.name)
    assert [t.number for t in again.ask(2)] == [4, 5]
    with pytest.raises(mdh.AlreadyExistsError):
        again.tell(2, -1.0)
    with pytest.raises(mdh.NotFoundError):
        again.tell(99, 1.0)
    with pytest.raises(mdh.ExpressionError, match="not finite"):
        again.tell(4, math.inf)
    with pytest.raises(mdh.ExpressionError, match="neither a cost nor a failure"):
        again.tell(4)
    listed = next(s for s in client.studies() if s.name == study.name)
    assert listed.evaluations == 3 and listed.best.configuration == study.best().configuration
    assert len(client.studies(1)) == 1
    again.cancel()
    assert again.state == "CANCELLED" and again.ask() == [] and study.status().state == "CANCELLED"
    again.delete()
    with pytest.raises(mdh.NotFoundError):
        study.status()


def test_the_same_request_is_the_same_study(client):
    specification = Specification(SQUARE)
    first = client.create_study(specification, request_id="twice")
    assert client.create_study(specification, request_id="twice").name == first.name
    assert client.create_study(specification).name != first.name


def test_resume(client):
    def search():
        return Tuner().client(client).tuning_parameters(*SQUARE).constraints(
            lambda A: math.gcd(A, 6) > 0)

    names, measured = [], []

    def interrupted(configuration):
        if len(measured) == 5:
            raise KeyboardInterrupt
        measured.append(configuration)
        return bowl(configuration)

    with pytest.raises(KeyboardInterrupt):
        search().lease(0.001).on_progress(lambda status, trial: names.append(status.name)).tune(
            interrupted, Evaluations(20))
    # Neither parameters nor the abort condition are needed, but may be given.
    assert client.study(names[0]).status().evaluations == 5
    result = Tuner().client(client).resume(names[0]).tune(bowl)
    assert result.study == names[0] and result.evaluations == 20
    assert [t.configuration for t in result.history[:5]] == measured
    straight = search().tune(bowl, Evaluations(20))
    assert [t.configuration for t in straight.history] == [
        t.configuration for t in result.history]
    assert dict(search().resume(names[0]).tune(bowl, Evaluations(20))) == dict(result)
    for other, what in ((Tuner().tuning_parameters(SQUARE[0]), "tuning parameters"),
                        (search().constraints(lambda A: A > 1), "constraints")):
        with pytest.raises(mdh.ExpressionError, match=f"was created with other {what}"):
            other.client(client).resume(names[0]).tune(bowl)
    with pytest.raises(mdh.ExpressionError, match="was created with another abort condition"):
        search().resume(names[0]).tune(bowl, Evaluations(21))
    with pytest.raises(mdh.NotFoundError):
        Tuner().client(client).resume("studies/999999").tune(bowl)


def test_commands(tuner, mdh_program, tmp_path):
    source = tmp_path / "sum.sh"
    source.write_text('echo "result ok"; echo "cost: $(( (A - 8) * (A - 8) + 1 ))"\n')
    cf = (command.CostFunction("sh {spec}/sum.sh").folder(tmp_path)
          .compile_command("test {A} != 3 || exit 9")
          .cost_pattern("cost: ([0-9]+)").expected_output("result ok"))
    result = tuner.tuning_parameters(TP("A", Interval(1, 12))).parallel(2).tune(cf)
    assert dict(result) == {"A": 8} and result.cost == 1
    assert result.evaluations == 12 and result.valid_evaluations == 11
    failed = next(t for t in result.history if t.failure)
    assert failed.configuration == {"A": 3} and failed.failure.startswith("compile error")
    assert cf({"A": 10}) == 5
    with pytest.raises(CostFunctionError) as caught:
        cf.expected_output("nothing like that")({"A": 10})
    assert caught.value.kind == "wrong result"


def test_errors_of_the_daemon_name_the_line(tuner):
    line = test_errors_of_the_daemon_name_the_line.__code__.co_firstlineno
    empty = [TP("A", Interval(1, 9), lambda A: A > 3),
             TP("B", Interval(1, 9), lambda A, B: A * B < 4)]
    with pytest.raises(mdh.FailedPreconditionError, match="A . B < 4") as caught:
        tuner.tuning_parameters(*empty).tune(bowl)
    assert str(caught.value).startswith(f"{__file__}:{line + 3}: ")
    wrong_type = TP("S", Set("a", "b"), "S + 1 == 2")
    with pytest.raises(mdh.ExpressionError, match="S") as caught:
        Tuner().client(tuner._client).tuning_parameters(wrong_type).check()
    assert str(caught.value).startswith(f"{__file__}:{line + 7}: ")
    with pytest.raises(mdh.ExpressionError, match="no search technique 'best'"):
        Tuner().client(tuner._client).tuning_parameters(*SQUARE).search_technique("best").check()
    with pytest.raises(mdh.ExpressionError, match=r"study.abort: .* column 13: expected"):
        Tuner().client(tuner._client).tuning_parameters(*SQUARE).check("evaluations(")


def test_an_empty_table_names_the_line(tuner):
    line = test_an_empty_table_names_the_line.__code__.co_firstlineno
    with pytest.raises(mdh.FailedPreconditionError) as caught:
        tuner.tuning_parameters(TP("A", Interval(1, 9), lambda A: math.gcd(A, 7) == 3)).check()
    assert str(caught.value).startswith(f"{__file__}:{line + 3}: ")


def test_division_by_zero_is_told_once(tuner):
    tuner.tuning_parameters(TP("A", Interval(0, 4), lambda A: 12 % A == 0))
    with pytest.warns(SpaceWarning, match="12 % A == 0") as told:
        result = tuner.tune(lambda c: c["A"])
    assert len(told) == 1 and result["A"] == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Tuner().client(tuner._client).tuning_parameters(*SQUARE).tune(bowl, Evaluations(1))


def test_no_daemon():
    tuner = Tuner().address("unix:/nowhere/mdhd.sock").tuning_parameters(*SQUARE)
    with pytest.raises(mdh.UnavailableError, match="cannot connect to unix:/nowhere/mdhd.sock"):
        tuner.tune(bowl)


def test_a_daemon_that_is_restarted(daemon_program, short_folder):
    from conftest import Daemon
    daemon = Daemon(daemon_program, short_folder)
    daemon.wait_until_it_listens()
    seen = []

    def cost(configuration):
        nonlocal daemon
        seen.append(configuration)
        if len(seen) == 4:
            daemon.stop()
            daemon = Daemon(daemon_program, short_folder)
            daemon.wait_until_it_listens()
        return bowl(configuration)

    try:
        result = Tuner().address(daemon.address).tuning_parameters(*SQUARE).tune(
            cost, Evaluations(15))
        assert result.evaluations == 15 == len(seen)
        assert [t.configuration for t in result.history] == seen
    finally:
        daemon.stop()


def readme_block(word):
    from test_package import code_blocks
    return next(block for block in code_blocks() if word in block)


def run_block(block):
    names = {}
    exec(compile(block, "README.md", "exec"), names)
    return names


def test_readme_kernels(daemon, has_opencl, monkeypatch):
    pytest.importorskip("numpy")
    monkeypatch.setenv("MDH_SERVER", daemon.address)
    block = readme_block("opencl.CostFunction").replace("Evaluations(50)", "Evaluations(5)")
    assert run_block(block)["config"].valid_evaluations == 5


def test_readme_commands(daemon, mdh_program, monkeypatch, tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    monkeypatch.setenv("MDH_SERVER", daemon.address)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "matmul.c").write_text("int main(void) { return TILE == 65; }\n")
    block = readme_block("command.CostFunction").replace("Evaluations(100)", "Evaluations(6)")
    assert run_block(block)["config"].valid_evaluations == 6


def test_readme_ask_and_tell(daemon, monkeypatch):
    monkeypatch.setenv("MDH_SERVER", daemon.address)
    assert run_block(readme_block("study.ask"))["best"].configuration == {"A": 20}
