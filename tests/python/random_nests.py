"""Random loops with statements behind those that are reduced, as Python's source, and what CPython and
numpy make of them. All is whole numbers, which wrap: every order of a reduction gives the same."""

import random

import numpy as np
from random_bodies import MEANINGS, Elements

TYPES = ("int32", "int64")
OUTER, INNER = "ij", "kl"


class Nests:
    """Generates a function of loops from a seed: `source`, and by name the arrays that it takes."""

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
        lines = self._lines()
        names = ", ".join([*self.outputs, *self.inputs])
        self.source = f"def nest({names}):\n" + "\n".join(lines) + "\n"

    def chance(self, probability):
        return self.random.random() < probability

    def _lines(self):
        behind = [self._stored(name, type_) for name, type_ in self.outputs.items()]
        behind[0] += f" + {self.outputs['y0']}(c0)"
        lines, indent = [], "    "
        for name in self.outer:
            lines.append(f"{indent}for {name} in range({self.sizes[name]}):")
            indent += "    "
        within = indent + "    " * len(self.inner)
        if self.chance(0.3):  # a value that stands before the loops
            lines.append(f"{indent}t = {self._leaf('int64', self.outer)}")
            self.hoisted = "t"
            behind[0] += f" + {self.outputs['y0']}(t)"
        body, starts = [], []
        for name, type_ in self.accumulators.items():
            start, line = self._combined(name, type_)
            starts.append(f"{indent}{name} = {start}")
            body.append(within + line)
        for name, type_ in self.sums.items():
            body.append(f"{within}{self._element(name, self.outer)} += {self._value(type_, self._all(), 2)}")
        self.random.shuffle(body)
        lines += starts
        for depth, name in enumerate(self.inner):
            lines.append(f"{indent}{'    ' * depth}for {name} in range({self.sizes[name]}):")
        return lines + body + [indent + line for line in behind]

    hoisted = ""

    def _all(self):
        return self.outer + self.inner

    def _combined(self, name, type_):
        value = self._value(type_, self._all(), 2)
        operation = self.random.choice(("+", "+", "*", "|", "^", "&", "max", "min"))
        limits = np.iinfo(type_)
        neutral = {"*": "1", "&": "-1", "max": str(limits.min), "min": str(limits.max)}.get(operation, "0")
        start = self._value(type_, self.outer, 1) if self.chance(0.4) else neutral
        if start == neutral and self.chance(0.3):
            start = f"{type_}({neutral})"
        if operation in ("max", "min"):
            return start, f"{name} = {operation}({name}, {value})"
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
            return f"{type_}({self._value(self.random.choice(TYPES), dimensions, depth - 1, is_behind)})"
        left, right = (self._value(type_, dimensions, depth - 1, is_behind) for _ in range(2))
        if operation == "where":
            return f"({left} if {right} > 0 else {self._leaf(type_, dimensions, is_behind)})"
        if operation in ("min", "max"):
            return f"{operation}({left}, {right})"
        return f"({left} {operation} {right})"

    def _leaf(self, type_, dimensions, is_behind=False):
        known = [name for name, of in self.accumulators.items() if of == type_]
        if is_behind and known and self.chance(0.6):
            return self.random.choice(known)
        if type_ == "int64" and self.hoisted and self.chance(0.2):
            return self.hoisted
        if dimensions and self.chance(0.15):
            return f"{type_}({self.random.choice(dimensions)})"
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


def _with_index(text, name):
    import re

    return re.sub(rf"\b{name}\b", f"{name}[()]", text)
