"""Functions over tuning parameters: the formulas or tables that they become."""

import itertools
import math
import pathlib

import pytest

import mdh
from mdh.tuner import (
    TP, Bool, Interval, Permutation, Set, Specification, ceil_div, divides, max as largest,
    min as smallest, where,
)

A = TP("A", Interval(1, 100))
B = TP("B", Interval(1, 100))
X = TP("X", Set(0.5, 1.0, 2.0))
S = TP("S", Set("row", "column"))
F = TP("F", Bool())
ORDER = TP("ORDER", Permutation("i", "j", "k"))
PARAMETERS = (A, B, X, S, F, ORDER)
N = 1000


def spec(function):
    return Specification(PARAMETERS, [function]).proto


def formula(function):
    written = spec(function)
    assert len(written.tables) == 0
    return written.constraints[0]


def holds(function):
    """The value tuples that satisfy the table of a function."""
    written = spec(function)
    assert len(written.constraints) == 0
    table = written.tables[0]
    ranges = {p.name: p.range for p in PARAMETERS}
    values = [[ranges[n].at(i) for i in range(ranges[n].size)] for n in table.parameters]
    bits = table.satisfied
    return {t for i, t in enumerate(itertools.product(*values)) if bits[i // 8] >> i % 8 & 1}


@pytest.mark.parametrize("function, text", [
    (lambda A: N % A == 0, "1000 % A == 0"),
    (lambda A, B: (N / A) % B == 0, "1000 / A % B == 0"),
    (lambda A, B: N / (A % B) == 0, "1000 / (A % B) == 0"),
    (lambda A, B: A - (B - 1) > -3, "A - (B - 1) > -3"),
    (lambda A, B: (A - B) - 1 > +A, "A - B - 1 > A"),
    (lambda A, B: A // B * 2 <= 7, "A // B * 2 <= 7"),
    (lambda A, B: (-A) ** 2 >= -(B ** 2), "(-A) ** 2 >= -B ** 2"),
    (lambda A: 2 ** -A < 0.5, "2 ** -A < 0.5"),
    (lambda A, B: (A ** B) ** 2 != 1e20, "(A ** B) ** 2 != 1e+20"),
    (lambda A, B: A ** B ** 2 != 1, "A ** B ** 2 != 1"),
    (lambda A, B: abs(A - B) < 4, "abs(A - B) < 4"),
    (lambda A, B: divmod(A, B)[1] == divmod(7, A)[0], "A % B == 7 // A"),
    (lambda A, B: math.floor(A / B) == math.ceil(B / A), "A // B == ceil_div(B, A)"),
    (lambda A, B: (A < B) == (B < 7), "(A < B) == (B < 7)"),
    (lambda A, B: (A < B) ^ (B < 7), "(A < B) != (B < 7)"),
    (lambda X: X * 3 != 1.5, "X * 3 != 1.5"),
    (lambda S: S == "row", 'S == "row"'),
    (lambda S: S != 'a "b\\', r'S != "a \"b\\"'),
    (lambda F: F, "F"),
    (lambda F, A: F | (A > 1) & ~F, "F or A > 1 and not F"),
    (lambda F, A: (F | (A > 1)) & True, "(F or A > 1) and True"),
    (lambda ORDER: ORDER.index("k") < ORDER.index("i"),
     'position(ORDER, "k") < position(ORDER, "i")'),
    (lambda A, B: divides(A, B), "divides(A, B)"),
    (lambda A, B: ceil_div(A, B) == ceil_div(A, 8), "ceil_div(A, B) == ceil_div(A, 8)"),
    (lambda A, B: smallest(A, B, 3) < largest(A, 2.5), "min(A, B, 3) < max(A, 2.5)"),
    (lambda A, B: where(A > B, A, B * 2) > 3, "(A if A > B else B * 2) > 3"),
])
def test_operators(function, text):
    assert formula(function) == text


@pytest.mark.parametrize("function, text", [
    (lambda A, B: A > 1 and B > 1, "A > 1 and B > 1"),
    (lambda A, B: A > 1 or B > 1 or A == B, "A > 1 or B > 1 or A == B"),
    (lambda A, B: (A > 1 or B > 1) and A < 9, "(A > 1 or B > 1) and A < 9"),
    (lambda A, B: A > 1 and B > 1 or A == B, "A > 1 and B > 1 or A == B"),
    (lambda A, B: A > 1 and (B > 2 or A < 9 and B < 7) and B < 9 and A < 50,
     "A > 1 and (B > 2 or A < 9 and B < 7) and B < 9 and A < 50"),
    (lambda A, B: (A > 1 or B > 1) and (A > 2 or B > 2) or not (A % 2 == B % 2),
     "(A > 1 or B > 1) and (A > 2 or B > 2) or A % 2 != B % 2"),
    (lambda A, B: not (A > 2 and B > 3) and A != B, "(A <= 2 or B <= 3) and A != B"),
    (lambda A, B: not (A == 3 or B >= 2), "A != 3 and B < 2"),
    (lambda F: not F, "not F"),
    (lambda A, B: 32 <= A * B <= 1024, "A * B >= 32 and A * B <= 1024"),
    (lambda A: A % 2, "A % 2 != 0"),
    (lambda A, B: A % 2 or B == 3, "A % 2 != 0 or B == 3"),
    (lambda A, B: A > 9 and B - A, "A > 9 and B - A != 0"),
    (lambda A: A in (1, 2, 4), "A == 1 or A == 2 or A == 4"),
    (lambda A: A not in [1, 2], "A != 1 and A != 2"),
    (lambda A, B: min(A, B) < max(A, B, 3) - 1, None),
    (lambda A, B: min(A, B) < 4, "B < 4 if B < A else A < 4"),
    (lambda A, B: min(A, B) == 4 or max(A, B) == 9, None),
    (lambda A, B: A % B == 0 if B > 1 else A < 5, "A % B == 0 if B > 1 else A < 5"),
    (lambda A, B: (A if A > 7 else B) < 20, "A < 20 if A > 7 else B < 20"),
    (lambda A: all(A % p for p in (2, 3)), "A % 2 != 0 and A % 3 != 0"),
    (lambda A, B: bool(A - B), "A - B != 0"),
    (lambda S, A: A < 5 if S else A < 6, 'A < 5 if S != "" else A < 6'),
    (lambda A: True if A > 2 else True, "True"),
    (lambda A: [p for p in range(3) if 2**p == A] != [], "A == 1 or A == 2 or A == 4"),
])
def test_conditions(function, text):
    written = formula(function)
    assert text is None or written == text
    names = function.__code__.co_varnames[:function.__code__.co_argcount]
    for a, b, f in itertools.product((1, 2, 3, 8, 30, 100), (1, 2, 9, 64), (False, True)):
        values = {"A": a, "B": b, "S": "row", "F": f}
        arguments = {name: values[name] for name in names}
        assert eval(written, {}, values) == bool(function(**arguments)), arguments


def test_statements():
    def constraint(A, B, limit=50):
        total = 0
        for factor in (1, 2, 3):
            total += factor * A
        if total > limit:
            return B == 1
        return total % B == 0

    assert formula(constraint) == (
        "B == 1 if 0 + 1 * A + 2 * A + 3 * A > 50 else (0 + 1 * A + 2 * A + 3 * A) % B == 0")


def test_numbers_of_numpy():
    numpy = pytest.importorskip("numpy")
    n, x = numpy.int32(1000), numpy.float32(0.5)
    assert formula(lambda A: n % A == 0) == "1000 % A == 0"
    assert formula(lambda A, B: n / A % B <= numpy.uint64(3)) == "1000 / A % B <= 3"
    assert formula(lambda A: x * A > numpy.int8(-2)) == "0.5 * A > -2"
    assert formula(lambda A: (A < n) & numpy.bool_(True)) == "A < 1000 and True"


@pytest.mark.parametrize("function", [
    lambda A: math.log2(A).is_integer(),
    lambda A: A & (A - 1) == 0,
    lambda A: int(A) in {1, 2, 4, 8, 16, 32, 64},
    lambda A: bin(A).count("1") == 1,
    lambda A: f"{A}" in "1 2 4 8 16 32 64".split(),
    lambda A: A in {1, 2, 4, 8, 16, 32, 64},
    lambda A: isinstance(A, int) and math.log2(A).is_integer(),
    lambda A: A == 2 ** A.bit_length() // 2,
    lambda A: not math.log2(A) % 1 and 3,
])
def test_what_is_no_formula_is_tabulated(function):
    assert holds(function) == {(1,), (2,), (4,), (8,), (16,), (32,), (64,)}


def test_tables():
    # The last parameter changes fastest.
    assert holds(lambda A, X: math.gcd(A, 6) == 3 and X > 1) == {
        (a, 2.0) for a in range(1, 101) if math.gcd(a, 6) == 3}
    assert holds(lambda ORDER: ORDER[0] == "j") == {(("j", "i", "k"),), (("j", "k", "i"),)}
    assert holds(lambda S, F: hash(S) == hash("row") and F) == {("row", True)}
    # Undefined is not satisfied, as in formulas.
    assert holds(lambda A, F: 7 // (int(A) - 1) > 5) == {(2, False), (2, True)}
    # Arguments with a default and such that have to be named.
    assert holds(lambda limit=3, *, A, F: math.log2(A) < limit and F) == {
        (a, True) for a in range(1, 8)}
    table = spec(lambda A: math.log2(A) > 3).tables[0]
    line = test_tables.__code__.co_firstlineno + 11
    assert table.text == f"function at {__file__}:{line}"


def test_a_function_that_looks_at_types_is_not_believed():
    assert holds(lambda A: A > 50 if isinstance(A, int) else A > 60) == {
        (a,) for a in range(51, 101)}


def test_many_ways_through_conditions():
    assert len(holds(lambda A: sum(bool(A % p == 0) for p in range(2, 20)) == 3)) > 5
    wide = TP("W", Interval(1, 10**8))
    with pytest.raises(mdh.ExpressionError, match="more than 256 (ways|decisions)"):
        Specification([wide], [lambda W: sum(bool(W % p == 0) for p in range(2, 20)) == 3])


def test_generators():
    def generated(*arguments, **named):
        return TP("G", Interval(*arguments, **named)).to_proto()

    powers = generated(0, 10, generator=lambda i: 2**i)
    assert powers.interval.generator == "2 ** G" and powers.interval.last == 10
    assert generated(1, 9, 2, lambda i: 3 * i + 1).interval.generator == "3 * G + 1"
    odd = generated(1, 4, generator=lambda i: math.factorial(i))
    assert [v.number_value for v in odd.set.values] == [1, 2, 6, 24]
    halves = generated(1, 3, generator=lambda i: i / 2)
    assert halves.set.real and [v.number_value for v in halves.set.values] == [0.5, 1, 1.5]
    words = generated(1, 3, generator=lambda i: "-O" + str(i))
    assert [v.string_value for v in words.set.values] == ["-O1", "-O2", "-O3"]
    # 0 ** 0 is 1: formulas say the same, and they are asked.
    assert generated(0, 3, generator=lambda i: i ** 2 if i else 5).interval.generator == (
        "G ** 2 if G != 0 else 5")


def error(*arguments, **named):
    with pytest.raises(mdh.ExpressionError) as caught:
        Specification(*arguments, **named)
    return caught.value


def test_errors_name_file_and_line():
    line = test_errors_name_file_and_line.__code__.co_firstlineno

    unknown = error([A, TP("C", Interval(1, 4), lambda C, a: C % a == 0)])  # line + 3
    assert unknown.message == "there is no tuning parameter 'a', but 'A', 'C'"
    number = error(PARAMETERS, [lambda S: S])
    assert number.message == "a constraint is true or false, but this one is a string, S"
    inverted = error(PARAMETERS, [lambda A: ~(math.gcd(A, 2) == 1)])
    assert inverted.message == (
        "a constraint is true or false, but this one is -2 for A = 1; use 'not' instead of '~'")
    raises = error(PARAMETERS, [lambda A: undefined(A)])  # noqa: F821
    assert raises.message == (
        "this constraint fails for A = 1: NameError: name 'undefined' is not defined")
    large = error([TP("W", Interval(1, 2**25))], [lambda W: math.log2(W) == 3])
    assert large.message == (
        "this constraint cannot be written as a formula (the value of W is needed as a number or "
        "text of Python), and its parameters W have 33554432 combinations, more than the 16777216 "
        "that can be tabulated")
    for offset, caught in ((3, unknown), (5, number), (7, inverted), (10, raises), (13, large)):
        assert str(caught).startswith(f"{__file__}:{line + offset}: {caught.message}\n")
    assert error(PARAMETERS, [lambda *a: True]).message == (
        "a function of tuning parameters names each of them as an argument, but '*a' is no such "
        "name")
    assert "does not say what its arguments are" in error(PARAMETERS, [dict]).message
    assert error(PARAMETERS, [lambda: True]).message == (
        "a constraint needs a tuning parameter as its argument")
    assert "is no constraint" in error(PARAMETERS, [7]).message
    assert pathlib.Path(raises.location.file).name == "test_tuner_formulas.py"
