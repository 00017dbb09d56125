"""Random loops with statements behind those that are reduced, in Python and in C, and what CPython with numpy
and the system's compiler make of them. All is whole numbers, which wrap: every order of a reduction gives the same."""

import ctypes
import random
import re
import subprocess

import numpy as np
from random_bodies import MEANINGS, Elements

TYPES = ("int32", "int64")
OUTER, INNER = "ij", "kl"


class Nests:
    """Generates a function of loops in Python from a seed: `source`, and by name the arrays that it takes."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.sizes = {name: self.random.randint(1, 5) for name in OUTER + INNER}
        self.outer = OUTER[:self.random.randint(0, 2)]
        self.inner = INNER[:self.random.randint(1, 2)]
        self.inputs = {}  # name: type and index
        self.numbers = np.random.default_rng(seed)
        self.accumulators = {f"c{n}": self.random.choice(TYPES) for n in range(self.random.randint(1, 3))}
        self.sums = {}  # outputs that the loops add up themselves
        self.outputs = {f"y{n}": self.random.choice(TYPES) for n in range(self.random.randint(1, 2))}
        self.source = self._source(self._lines())

    def _source(self, lines):
        return f"def nest({', '.join([*self.outputs, *self.inputs])}):\n" + "\n".join(lines) + "\n"

    def chance(self, probability):
        return self.random.random() < probability

    def _lines(self):
        behind = [self._stored(name, type_) for name, type_ in self.outputs.items()]
        for name in self.accumulators:
            behind[0] += f" + {self._converted(self.outputs['y0'], name)}"
        lines, indent = [], "    "
        for name in self.outer:
            lines.append(indent + self._loop(name))
            indent += "    "
        within = indent + "    " * len(self.inner)
        if self.chance(0.3):  # a value that stands before the loops
            lines.append(indent + self._declared("int64", "t", self._leaf("int64", self.outer)))
            self.hoisted = "t"
            behind[0] += f" + {self._converted(self.outputs['y0'], 't')}"
        body, starts = [], []
        for name, type_ in self.accumulators.items():
            start, line = self._combined(name, type_)
            starts.append(indent + self._declared(type_, name, start))
            body.append(within + line + self.end)
        for name, type_ in self.sums.items():
            value = self._value(type_, self._all(), 2)
            body.append(f"{within}{self._element(name, self.outer)} += {value}{self.end}")
        self.random.shuffle(body)
        lines += starts
        for depth, name in enumerate(self.inner):
            lines.append(f"{indent}{'    ' * depth}{self._loop(name)}")
        return (lines + body + self._closed(len(self.inner)) + [indent + line + self.end for line in behind]
                + self._closed(len(self.outer)))

    hoisted = end = ""

    def _loop(self, name):
        return f"for {name} in range({self.sizes[name]}):"

    def _closed(self, loops):
        return []

    def _declared(self, type_, name, value):
        return f"{name} = {value}"

    def _converted(self, type_, value):
        return f"{type_}({value})"

    def _limits(self, type_):
        limits = np.iinfo(type_)
        return str(limits.min), str(limits.max)

    def _chosen(self, left, condition, right):
        return f"({left} if {condition} else {right})"

    def _extreme(self, operation, type_, left, right):
        return f"{operation}({left}, {right})"

    def _all(self):
        return self.outer + self.inner

    def _combined(self, name, type_):
        value = self._value(type_, self._all(), 2)
        operation = self.random.choice(("+", "+", "*", "|", "^", "&", "max", "min"))
        least, most = self._limits(type_)
        neutral = {"*": "1", "&": "-1", "max": least, "min": most}.get(operation, "0")
        # The conversion copies: arrays of numpy are combined in place.
        start = self._converted(type_, self._value(type_, self.outer, 1)) if self.chance(0.4) else neutral
        if start == neutral and self.chance(0.3):
            start = self._converted(type_, neutral)
        if operation in ("max", "min"):
            return start, f"{name} = {self._extreme(operation, type_, name, value)}"
        return start, f"{name} {operation}= {value}"

    def _stored(self, name, type_):
        place = self._element(name, self.outer)
        if self.chance(0.2):
            self.sums[name] = type_
            return f"{place} += {self._value(type_, self.outer, 1, True)}"
        return f"{place} = {self._value(type_, self.outer, 2, True)}"

    def _element(self, name, dimensions):
        return f"{name}[{', '.join(dimensions)}]" if dimensions else name

    def _value(self, type_, dimensions, depth, is_behind=False):
        """The source of an expression of `type_`."""
        if depth == 0:
            return self._leaf(type_, dimensions, is_behind)
        operation = self.random.choice(("+", "-", "*", "min", "max", "&", "where", "convert"))
        if operation == "convert":
            return self._converted(
                type_, self._value(self.random.choice(TYPES), dimensions, depth - 1, is_behind))
        left, right = (self._value(type_, dimensions, depth - 1, is_behind) for _ in range(2))
        if operation == "where":
            return self._chosen(left, f"{right} > 0", self._leaf(type_, dimensions, is_behind))
        if operation in ("min", "max"):
            return self._extreme(operation, type_, left, right)
        return f"({left} {operation} {right})"

    def _leaf(self, type_, dimensions, is_behind=False):
        known = [name for name, of in self.accumulators.items() if of == type_]
        if is_behind and known and self.chance(0.6):
            return self.random.choice(known)
        if type_ == "int64" and self.hoisted and self.chance(0.2):
            return self.hoisted
        if dimensions and self.chance(0.15):
            return self._converted(type_, self.random.choice(dimensions))
        fitting = [name for name, (of, index) in self.inputs.items()
                   if of == type_ and set(index) <= set(dimensions)]
        if fitting and self.chance(0.5):
            name = self.random.choice(fitting)
            return self._element(name, self.inputs[name][1])
        name = f"x{len(self.inputs)}"
        index = "".join(d for d in dimensions if self.chance(0.8))
        self.inputs[name] = type_, index
        return self._element(name, index)

    def shape(self, dimensions):
        return [self.sizes[name] for name in dimensions]

    def arrays(self):
        """Of the inputs, by name."""
        return {name: self.numbers.integers(-100, 100, self.shape(index)).astype(type_)
                for name, (type_, index) in self.inputs.items()}

    def executed(self, arrays):
        """The outputs as CPython makes them."""
        outputs = {name: np.zeros(self.shape(self.outer), type_) for name, type_ in self.outputs.items()}
        names = dict(MEANINGS)
        # An array without dimensions is assigned as a variable: it has an index here.
        source = self.source
        for name in [*outputs, *arrays]:
            if {**outputs, **arrays}[name].ndim == 0:
                head, body = source.split("\n", 1)
                source = head + "\n" + _with_index(body, name)
        with np.errstate(all="ignore"):
            exec(compile(source, "nest", "exec"), names)
            names["nest"](*map(Elements, outputs.values()), *map(Elements, arrays.values()))
        return list(outputs.values())


class NestsInC(Nests):
    """The same in C: `source` is a file of one annotated function, `kernel`."""

    end = ";"

    def _source(self, lines):
        def parameter(name, type_, dimensions, prefix):
            extents = "".join(f"[{self.sizes[d]}]" for d in dimensions)
            return f"{prefix}{type_}_t {'' if dimensions else '*'}{name}{extents}"

        parameters = [parameter(name, type_, self.outer, "") for name, type_ in self.outputs.items()]
        parameters += [parameter(name, type_, index, "const ")
                       for name, (type_, index) in self.inputs.items()]
        functions = [f"static {t}_t {name}_{t}({t}_t a, {t}_t b) {{ return a {sign} b ? a : b; }}"
                     for name, sign in (("min", "<"), ("max", ">")) for t in TYPES]
        names = ", ".join(self.inputs)
        return "\n".join(["#include <stdint.h>", *functions, f"void kernel({', '.join(parameters)}) {{",
                          f"#pragma mdh out({', '.join(self.outputs)}) inp({names})", "{", *lines, "}}", ""])

    def _loop(self, name):
        return f"for (int {name} = 0; {name} < {self.sizes[name]}; ++{name}) {{"

    def _closed(self, loops):
        return ["}"] * loops

    def _declared(self, type_, name, value):
        return f"{type_}_t {name} = {value};"

    def _converted(self, type_, value):
        return f"({type_}_t)({value})"

    def _limits(self, type_):
        return f"{type_.upper()}_MIN", f"{type_.upper()}_MAX"

    def _chosen(self, left, condition, right):
        return f"({condition} ? {left} : {right})"

    def _extreme(self, operation, type_, left, right):
        return f"{operation}_{type_}({left}, {right})"

    def _element(self, name, dimensions):
        return name + "".join(f"[{d}]" for d in dimensions) if dimensions else f"(*{name})"

    def executed(self, arrays, directory):
        """The outputs as the system's compiler makes them."""
        outputs = [np.zeros(self.shape(self.outer), type_) for type_ in self.outputs.values()]
        file = directory / "nest.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-fwrapv", "-w", "-x", "c", "-", "-o", str(file)],
                       input=self.source, text=True, check=True)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in [*outputs, *arrays.values()]]
        ctypes.CDLL(str(file)).kernel(*pointers)
        return outputs


def _with_index(text, name):
    return re.sub(rf"\b{name}\b", f"{name}[()]", text)
