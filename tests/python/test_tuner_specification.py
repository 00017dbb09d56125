"""Parameters, conditions and techniques as messages; configurations both ways."""

import datetime

import pytest

import mdh
from mdh.tuner import (
    TP, AUCBandit, Bool, Cost, Duration, Evaluations, Exhaustive, Fraction, Interval, Permutation,
    Random, Set, Specification, Speedup, Tuner, ValidEvaluations, opencl, tuner,
)
from mdh.tuner.search_techniques import SEARCH_TECHNIQUES
from mdh.tuner.specification import named_configuration, plain_configuration


def values(range_):
    return [range_.at(i) for i in range(range_.size)]


@pytest.mark.parametrize("range_, expected, kind", [
    (Interval(3, 9, 2), [3, 5, 7, 9], "integer"),
    (Interval(-2, 3, 2), [-2, 0, 2], "integer"),
    (Interval(0.0, 0.3, 0.1), [0, 0.1, 0.2, pytest.approx(0.3)], "real"),
    (Interval(0, 3, generator=lambda i: 2**i), [1, 2, 4, 8], "integer"),
    (Set(4, 1, 2), [4, 1, 2], "integer"),
    (Set([4, 1]), [4, 1], "integer"),
    (Set(range(2)), [0, 1], "integer"),
    (Set(1, 0.5), [1.0, 0.5], "real"),
    (Set("a"), ["a"], "string"),
    (Set(True), [True], "bool"),
    (Bool(), [False, True], "bool"),
    (Permutation("a", "b"), [("a", "b"), ("b", "a")], "permutation"),
])
def test_ranges(range_, expected, kind):
    assert values(range_) == expected
    assert range_.kind == kind and all(type(v) is type(values(range_)[0]) for v in values(range_))


def test_permutations_are_in_lexicographic_order_of_their_items():
    import itertools
    assert values(Permutation("c", "a", "b", "d")) == list(itertools.permutations("cabd"))


def test_ranges_of_numpy():
    numpy = pytest.importorskip("numpy")
    assert values(Set(numpy.arange(3))) == [0, 1, 2]
    assert values(Set(numpy.float32(0.5), numpy.float64(2))) == [0.5, 2.0]
    assert values(Interval(numpy.int64(1), numpy.int32(2))) == [1, 2]


@pytest.mark.parametrize("make, message", [
    (lambda: Set(), "a set needs at least one value"),
    (lambda: Set(1, "a"), r"the values 1 \(integer\) and 'a' \(string\) are of different types"),
    (lambda: Set(1, True), r"the values 1 \(integer\) and True \(bool\) are of different types"),
    (lambda: Set(1, 2, 1), "the value 1 is given twice"),
    (lambda: Set(float("nan")), "the value nan is not finite"),
    (lambda: Set(None), "None is no value of a tuning parameter"),
    (lambda: Set(1, None), "None is no value of a tuning parameter"),
    (lambda: Set(2**60), r"beyond 2\^53; use an Interval"),
    (lambda: Interval(3, 1), "the interval 3..1 is empty"),
    (lambda: Interval(1, 3, 0), "the step is 0, but must be positive"),
    (lambda: Interval(1, 2**40), "has more than 4294967295 values"),
    (lambda: Interval(1, 2**70), "has more than 64 bits"),
    (lambda: Interval("a", 3), "'a' is no bound of an interval"),
    (lambda: Interval(1, True), "True is no bound of an interval"),
    (lambda: Interval(1, float("inf")), "inf is no bound of an interval"),
    (lambda: Interval(0.0, 1e9, 0.5), "real values has at most 1048576 values"),
    (lambda: Interval(0, 2**21, generator=lambda i: i), "a generator has at most 1048576 values"),
    (lambda: Interval(0, 3, generator=lambda i: i // 2), "the value 0 is given twice"),
    (lambda: Interval(0, 3, generator=lambda i: 1 // i), "the generator fails for 0: ZeroDiv"),
    (lambda: Permutation(), "a permutation has 1 to 12 items, but 0 items are given"),
    (lambda: Permutation("a", "a"), "the item 'a' is given twice"),
    (lambda: Permutation("a", 1), "items of permutations are strings, but 1 is none"),
    (lambda: TP("a b", Bool()), "'a b' is no name of a tuning parameter"),
    (lambda: TP("if", Bool()), "'if' is a word of Python"),
    (lambda: TP("A", [1, 2]), r"the range of 'A' is an Interval, a Set, .* not \[1, 2\]"),
    (lambda: TP("A", Bool(), 7), "7 is no constraint"),
    (lambda: Specification([]), "at least one tuning parameter"),
    (lambda: Specification(["A"]), "'A' is no tuning parameter"),
    (lambda: Specification([TP("A", Bool()), TP("A", Bool())]), "two tuning parameters 'A'"),
    (lambda: Specification([TP("A", Bool())], seed=-1), "a seed is a whole number, not -1"),
    (lambda: Specification([TP("A", Bool())], lower_bound=None), "text of a formula, not None"),
    (lambda: Specification([TP("A", Bool())], lower_bound="1", gap=1), "less than 1, not 1"),
    (lambda: Specification([TP("A", Bool())], definitions={"N": None}), "not None"),
    (lambda: Specification([TP("A", Bool())], start=[{"B": True}]), "parameter 'B', but 'A'"),
    (lambda: Specification([TP("A", Bool())], start=[{}]), "no value of 'A'"),
    (lambda: Specification([TP("A", Bool())], start=[{"A": None}]), "None is no value of"),
    (lambda: Specification([TP("A", Bool())], technique=7), "7 is no search technique"),
    (lambda: Specification([TP("A", Bool())], abort=50), "50 is no abort condition"),
    (lambda: Evaluations(0), "a positive whole number, not 0"),
    (lambda: Evaluations(1.5), "a positive whole number, not 1.5"),
    (lambda: Duration(0), "a positive number of seconds, not 0"),
    (lambda: Fraction(2), "between 0 and 1, not 2"),
    (lambda: Cost(float("nan")), "is not finite"),
    (lambda: Speedup(1, 5), "larger than 1, not 1"),
    (lambda: Speedup(1.5), "over a number of evaluations or over a time"),
    (lambda: Speedup(1.5, 3, seconds=1), "over a number of evaluations or over a time"),
    (lambda: Evaluations(1) and Duration(1), "joined by & and |"),
    (lambda: Evaluations(1) & 5, "5 is no abort condition"),
    (lambda: Tuner().parallel(0), "1 to 1024, not 0"),
    (lambda: Tuner().tune("fast"), "'fast' is no cost function"),
])
def test_what_is_wrong(make, message):
    with pytest.raises(mdh.ExpressionError, match=message) as caught:
        make()
    assert caught.value.location.file == __file__


@pytest.mark.parametrize("condition, text", [
    (Duration(90), "duration(90s)"),
    (Duration(0.25), "duration(250000000ns)"),
    (Duration(datetime.timedelta(minutes=2)), "duration(120s)"),
    (Evaluations(50), "evaluations(50)"),
    (ValidEvaluations(50), "valid_evaluations(50)"),
    (Fraction(0.5), "fraction(0.5)"),
    (Cost(1), "cost(1.0)"),
    (Speedup(1.05, 200), "speedup(1.05, 200)"),
    (Speedup(2, seconds=30), "speedup(2.0, 30s)"),
    (Speedup(2, datetime.timedelta(seconds=1)), "speedup(2.0, 1s)"),
    (Evaluations(1) & Cost(2) | Fraction(1), "evaluations(1) and cost(2.0) or fraction(1.0)"),
    ((Evaluations(1) | Cost(2)) & Fraction(1), "(evaluations(1) or cost(2.0)) and fraction(1.0)"),
])
def test_abort_conditions(condition, text):
    assert condition.text == text
    assert Specification([TP("A", Bool())], abort=condition).proto.abort == text


def test_options():
    spec = Specification(
        [TP("A", Interval(1, 4))], ["N % A == 0"], definitions={"N": 12, "M": "N // 2"},
        technique=Random, seed=7, lookahead=9, start=[{"A": 3}], display_name="twelve").proto
    assert (spec.technique, spec.seed, spec.lookahead) == ("random", 7, 9)
    assert dict(spec.definitions) == {"N": "12", "M": "N // 2"}
    assert list(spec.constraints) == ["N % A == 0"] and spec.display_name == "twelve"
    assert spec.start[0].values.fields["A"].number_value == 3
    for technique in (AUCBandit(), AUCBandit, "auc_bandit"):
        assert Specification([TP("A", Bool())], technique=technique).proto.technique == "auc_bandit"
    assert len({t.name for t in SEARCH_TECHNIQUES}) == 15 and repr(Exhaustive()) == "Exhaustive()"


def test_configurations_both_ways():
    parameters = [
        TP("I", Interval(1, 2**62 + 1, 2**60)), TP("J", Set(1, 2)), TP("R", Set(1.0, 0.5)),
        TP("S", Set("a", "b")), TP("B", Bool()), TP("P", Permutation("x", "y"))]
    protos = [p.to_proto() for p in parameters]
    configuration = {"I": 2**60 + 1, "J": 2, "R": 1.0, "S": "b", "B": True, "P": ("y", "x")}
    message = named_configuration(configuration, protos)
    assert message.values.fields["I"].string_value == str(2**60 + 1)
    back = plain_configuration(message, protos)
    assert back == configuration
    assert [type(v) for v in back.values()] == [int, int, float, str, bool, tuple]
    del message.values.fields["I"]
    rest = {name: configuration[name] for name in "JRSBP"}
    assert plain_configuration(message, protos) == rest
    # Without their parameters, numbers are integers if they are whole.
    guessed = plain_configuration(message, [])
    assert guessed == rest and type(guessed["R"]) is int


def test_names_of_the_package():
    names = {}
    exec("from mdh.tuner import *", names)
    assert {"TP", "Interval", "Tuner", "Evaluations", "opencl", "cuda", "command"} <= set(names)
    assert opencl.CostFunction and tuner.Tuner is Tuner


def test_decisions():
    spec = Specification([TP("A", Interval(1, 8)), TP("B", Bool())], decide={"A": [2, 4]},
                         forbid={"B": True}).proto
    assert [(one.parameter, list(one.values), one.is_forbidden) for one in spec.restrictions] == [
        ("A", ["2", "4"], False), ("B", ["true"], True)]
