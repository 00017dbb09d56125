"""Random bodies of loops and scalar functions, as Python's source, and what CPython and numpy make of them.

Elements are arrays of numpy with one element, so that literals take their type and they wrap as the
language says; loop variables are Python's own integers.
"""

import math
import random
import types

import numpy as np

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
REALS = ("fp32", "fp64")
DTYPES = {**{name: np.dtype(name) for name in INTEGERS}, "fp32": np.dtype("f4"), "fp64": np.dtype("f8"),
          "bool_": np.dtype("?")}
ROWS, COLUMNS, FIRST = 12, 3, -6  # `i` runs from FIRST, `j` from 0


def _converts(name):
    """The conversion to a type, as core/text/grammar.md says: from real numbers it saturates."""
    dtype = DTYPES[name]

    def convert(value):
        array = np.asarray(value).reshape(1)
        if dtype.kind not in "iu" or array.dtype.kind != "f":
            return array.astype(dtype)
        limits, number = np.iinfo(dtype), float(array[0])
        if math.isnan(number):
            return np.zeros(1, dtype)
        whole = int(max(min(number, 2.0**64), -2.0**64))
        return np.array([max(min(whole, limits.max), limits.min)], dtype)

    return convert


def _of_reals(function):
    """math's, which leave integers what they are: numpy before 2.1 makes real numbers of them."""
    return lambda array: function(array) if array.dtype.kind == "f" else array


# What the names of a body mean to CPython.
MEANINGS = {
    **{name: _converts(name) for name in DTYPES}, "np": np, "where": np.where, "round": np.rint,
    "math": types.SimpleNamespace(fmod=np.fmod, floor=_of_reals(np.floor), ceil=_of_reals(np.ceil),
                                  trunc=_of_reals(np.trunc)),
    "N": 5, "THREE": -3}


class Elements:
    """A buffer of numpy: what is read is an array of one element."""

    def __init__(self, array):
        self.array = array

    def __getitem__(self, index):
        return self.array[index].reshape(1)

    def __setitem__(self, index, value):
        self.array[index] = np.asarray(value).reshape(())


class Bodies:
    """Generates bodies from a seed."""

    def __init__(self, seed, in_loops):
        self.random = random.Random(seed)
        self.in_loops = in_loops  # else in a scalar function, which has no and, or, not, if

    def chance(self, probability):
        return self.random.random() < probability

    def expression(self, type_, depth):
        """The source of an element of `type_`."""
        if depth <= 0:
            return self._leaf(type_)
        kind = "bool_" if type_ == "bool_" else "real" if type_ in REALS else "integer"
        return getattr(self, f"_{kind.strip('_')}")(type_, depth - 1)

    def _leaf(self, type_):
        if type_ == "int64" and self.chance(0.3):
            return f"int64({self._loop_integer(1)})"
        name = f"{self.random.choice('ab')}_{type_.strip('_')}"
        return f"{name}[i + {-FIRST}, j]" if self.in_loops else f"inp['{name}']"

    def literal(self, type_):
        if type_ in REALS:
            return self.random.choice(("2.5", "-0.5", "3", "-7", "0.1", "(1 / 3)", "(-7 // 2)", "(2**N)"))
        choices = ["1", "2", "3", "7", "(7 // 2)", "(-7 % 3)", "N", "(N * 3 % 7)"]
        if not type_.startswith("u"):
            choices += ["-1", "-2", "-3", "-100", "THREE", "(-7 // 2)"]
        return self.random.choice(choices)

    def _loop_integer(self, depth):
        """Of loop variables alone: a whole number of Python."""
        if depth <= 0 or self.chance(0.3):
            return self.random.choice("ij")
        operation = self.random.choice(("//", "%", "+", "-", "*", "&", "|", "^", ">>", "<<", "~", "-u", "**"))
        inner = self._loop_integer(depth - 1)
        if operation in ("~", "-u"):
            return f"({operation[0]}{inner})"
        if operation in (">>", "<<", "**"):
            return f"({inner} {operation} {self.random.randrange(3)})"
        if operation in ("+", "-", "*", "&", "|", "^") and self.chance(0.5):
            return f"({inner} {operation} {self._loop_integer(depth - 1)})"
        return f"({inner} {operation} {self.random.choice(('3', '-3', '2', '5', '-4'))})"

    def _operands(self, type_, depth):
        """Two, at least one of which is an element."""
        left, right = self.expression(type_, depth), self.expression(type_, depth)
        if self.chance(0.3):
            right = self.literal(type_)
            if type_ == "int64" and self.chance(0.5):
                right = self._loop_integer(2)
            if self.chance(0.3):
                left, right = right, left
        return left, right

    def _common(self, type_, depth):
        """What all types have; None: something else."""
        if self.in_loops and self.chance(0.15):
            word = self.random.choice(("and", "or"))
            return f"({self.expression(type_, depth)} {word} {self.expression(type_, depth)})"
        if self.chance(0.12):
            sides = self.expression(type_, depth), self.expression(type_, depth)
            test = self.expression("bool_", depth)
            if not self.in_loops:
                return f"where({test}, {sides[0]}, {sides[1]})"
            if self.chance(0.3):
                test = self.expression(self.random.choice(INTEGERS + REALS), 0)
            return f"({sides[0]} if {test} else {sides[1]})"
        if self.chance(0.12):
            return f"{type_}({self.expression(self.random.choice(list(DTYPES)), depth)})"
        return None

    def _integer(self, type_, depth):
        common = self._common(type_, depth)
        if common:
            return common
        operation = self.random.choice((
            "//", "//", "%", "%", "%", "+", "-", "*", "&", "|", "^", "<<", ">>", ">>", "**", "-u", "~",
            "abs", "np.remainder", "np.fmod", "np.floor_divide", "math.fmod", "math.floor", "minmax"))
        if operation in ("-u", "~"):
            return f"({operation[0]}{self.expression(type_, depth)})"
        if operation in ("<<", ">>"):
            return f"({self.expression(type_, depth)} {operation} {self.random.choice((0, 1, 2, 3, 7, 9))})"
        if operation == "**":
            return f"({self.expression(type_, depth)} ** {self.random.choice((0, 1, 2, 3, 9))})"
        if operation == "abs":
            return f"abs({self.expression(type_, depth)})"
        if operation == "math.floor":
            function = self.random.choice(("floor", "ceil", "trunc"))
            return f"{type_}(math.{function}({self.expression(type_, depth)}))"
        if operation == "minmax" and self.in_loops:
            sides = self.expression(type_, depth), self.expression(type_, depth)
            return f"{self.random.choice(('min', 'max'))}({sides[0]}, {sides[1]})"
        left, right = self._operands(type_, depth)
        if "." in operation and not (operation == "math.fmod" and not self.in_loops):
            return f"{operation}({left}, {right})"
        if operation.startswith("m"):
            operation = "%"
        return f"({left} {operation} {right})"

    def _real(self, type_, depth):
        common = self._common(type_, depth)
        if common:
            return common
        operation = self.random.choice((
            "//", "//", "%", "%", "/", "/", "+", "-", "*", "-u", "abs", "round", "math.f", "np.remainder",
            "np.fmod", "np.floor_divide", "np.true_divide", "np.rint", "math.fmod", "** 2"))
        if type_ == "fp64" and self.chance(0.25):
            if self.chance(0.3):
                return f"fp64({self._loop_integer(1)} / {self.random.choice(('3', '-4'))})"
            of = self.random.choice(INTEGERS)
            left, right = self._operands(of, depth)
            return f"({left} / {right})"
        if operation in ("-u", "** 2", "abs", "round", "np.rint"):
            inner = self.expression(type_, depth)
            name = {"-u": "-", "** 2": ""}.get(operation, operation)
            if name == "round" and not self.in_loops:
                name = "np.rint"
            return f"({inner} ** 2)" if not name else f"({name}({inner}))"
        if operation == "math.f":
            function = self.random.choice(("floor", "ceil", "trunc"))
            module = "math" if self.in_loops else "np"
            return f"{module}.{function}({self.expression(type_, depth)})"
        left, right = self._operands(type_, depth)
        if "." in operation:
            module = operation if self.in_loops else operation.replace("math", "np")
            return f"{module}({left}, {right})"
        return f"({left} {operation} {right})"

    def _bool(self, type_, depth):
        common = self._common(type_, depth)
        if common:
            return common
        if self.chance(0.3):
            left, right = self.expression(type_, depth), self.expression(type_, depth)
            return f"({left} {self.random.choice(('&', '|', '^', '==', '!='))} {right})"
        if self.chance(0.15):
            return f"(~{self.expression(type_, depth)})"
        of = self.random.choice(INTEGERS + REALS)
        if self.in_loops and self.chance(0.2):
            return f"bool_(not {self.expression(of, depth)})"
        compare = self.random.choice(("<", "<=", ">", ">=", "==", "!="))
        left, right = self._operands(of, depth)
        if self.in_loops and self.chance(0.3):
            return f"bool_({left} {compare} {right} < {self.expression(of, depth)})"
        return f"({left} {compare} {right})"

    def source(self, count, depth):
        """A function of `count` bodies, which are its outputs, and their types."""
        results = [self.random.choice(list(DTYPES)) for _ in range(count)]
        inputs = [f"{letter}_{type_.strip('_')}" for letter in "ab" for type_ in DTYPES]
        lines = []
        for number, type_ in enumerate(results):
            value, place = self.expression(type_, depth), f"y{number}[i + {-FIRST}, j]"
            if self.in_loops and type_ != "bool_" and self.chance(0.2):
                operator = self.random.choice(("//=", "%=", "+=", "*="))
                lines += [f"t{number} = {self.expression(type_, 1)}", f"t{number} {operator} {value}"]
                value = f"t{number}"
            lines.append(f"{place} = {value}" if self.in_loops else f"out['y{number}'] = {value}")
        if self.in_loops:
            names = ", ".join([f"y{number}" for number in range(count)] + inputs)
            head = [f"def bodies({names}):", f"    for i in range({FIRST}, {FIRST + ROWS}):",
                    f"        for j in range({COLUMNS}):"]
            return "\n".join(head + ["            " + line for line in lines]) + "\n", results
        head = ["def bodies(out, inp, index):", f"    i, j = index.i + {FIRST}, index.j"]
        return "\n".join(head + ["    " + line for line in lines]) + "\n", results


def values(seed):
    """Inputs by name: whole ranges, small numbers, limits, infinities and nan."""
    numbers = np.random.default_rng(seed)
    inputs = {}
    for letter in "ab":
        for name, dtype in DTYPES.items():
            shape = (ROWS, COLUMNS)
            if name == "bool_":
                array = numbers.integers(0, 2, shape).astype(dtype)
            elif name in REALS:
                array = numbers.integers(-12, 12, shape) / numbers.choice([1, 2, 3], shape)
                special = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e30, -1e-30, 5e-324, 1e5 / 3]
                array = np.where(numbers.random(shape) < 0.2, numbers.choice(special, shape), array)
                array = array.astype(dtype)
            else:
                limits = np.iinfo(dtype)
                array = numbers.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
                small = numbers.integers(-9 if limits.min < 0 else 0, 9, shape).astype(dtype)
                array = np.where(numbers.random(shape) < 0.7, small, array)
                edges = numbers.choice(np.array([limits.min, limits.max, 0, 1], dtype), shape)
                array = np.where(numbers.random(shape) < 0.1, edges, array)
            inputs[f"{letter}_{name.strip('_')}"] = np.ascontiguousarray(array)
    return inputs


def executed(source, results, inputs, in_loops):
    """What CPython makes of it."""
    names = dict(MEANINGS)
    outputs = [np.zeros((ROWS, COLUMNS), DTYPES[type_]) for type_ in results]
    with np.errstate(all="ignore"):
        exec(compile(source, "bodies", "exec"), names)
        if in_loops:
            names["bodies"](*map(Elements, outputs), *map(Elements, inputs.values()))
            return outputs
        for i in range(ROWS):
            for j in range(COLUMNS):
                found = {}
                names["bodies"](found, {name: array[i, j].reshape(1) for name, array in inputs.items()},
                                types.SimpleNamespace(i=i, j=j))
                for number, output in enumerate(outputs):
                    output[i, j] = np.asarray(found[f"y{number}"]).reshape(())
    return outputs


def differences(found, expected):
    """The places where two arrays differ; nan equals nan, and -0.0 is not 0.0."""
    same = (found == expected) | ((found != found) & (expected != expected))
    if found.dtype.kind == "f":
        same &= (np.signbit(found) == np.signbit(expected)) | (found != found)
    return np.argwhere(~same)
