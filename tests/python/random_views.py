"""Random nests of loops whose arrays are strided, shifted and reversed views, interiors, diagonals and the like,
with elements of outputs that nothing reaches; and what such a nest computes, point by point.

How a nest is written for each front end says view_texts.py.
"""

import dataclasses
import itertools
import random

INTEGERS = ("int32", "int64")
SIZES = (1, 2, 3, 4, 5, 7, 11, 13)
MOST_POINTS = 700
LIMITS = {"int32": 2**31, "int64": 2**63}


@dataclasses.dataclass(frozen=True)
class Loop:
    """A variable, and its values as range() has them. `until`: another loop's variable, by which the end
    grows from iteration to iteration of that loop."""

    name: str
    start: int
    stop: int
    step: int = 1
    until: str = ""

    def values(self, outer):
        return range(self.start, self.stop + (outer[self.until] if self.until else 0), self.step)


@dataclasses.dataclass(frozen=True)
class Index:
    """factors[name] * name + ... + constant."""

    factors: tuple  # (name, factor), distinct names
    constant: int

    def at(self, point):
        return sum(factor * point[name] for name, factor in self.factors) + self.constant

    def text(self):
        parts = [name if factor == 1 else f"{factor}*{name}" for name, factor in self.factors]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts).replace("+ -", "- ")

    def shifted(self, by):
        return Index(self.factors, self.constant + by)


@dataclasses.dataclass
class Array:
    name: str
    type: str
    accesses: list  # of tuples of indices
    extents: list = dataclasses.field(default_factory=list)
    is_given: bool = True  # whether a declaration says the extents
    is_flat: bool = False  # a pointer
    strides: list = None
    keeps: bool = False

    def elements(self):
        if 0 in self.extents:
            return 0
        return 1 + sum((extent - 1) * step for extent, step in zip(self.extents, self.steps()))

    def steps(self):
        if self.strides:
            return self.strides
        steps = [1] * len(self.extents)
        for x in reversed(range(len(steps) - 1)):
            steps[x] = steps[x + 1] * self.extents[x + 1]
        return steps

    def element(self, access, point):
        return sum(step * index.at(point) for step, index in zip(self.steps(), self.accesses[access]))


@dataclasses.dataclass(frozen=True)
class Result:
    """What is stored at an access of an output: the sum of `terms`, (factor, array, access), combined by
    `operator` over the loops that are reduced ("": there is none), and what `behind` adds to it."""

    array: str
    access: int
    operator: str
    terms: tuple
    behind: tuple = ()


@dataclasses.dataclass(frozen=True)
class Options:
    """What a front end can say."""

    has_ranges: bool = True  # starts and steps
    has_negative_steps: bool = False
    has_inner_bounds: bool = False
    has_pointers: bool = False
    has_layouts: bool = False
    has_behind: bool = False
    has_factors: bool = True
    spans: bool = False  # whether most results read an array at the points of the loops as they are
    chains: bool = False  # nests that read what another one writes
    keeps: bool = True
    may_be_empty: bool = True
    accesses: int = 2  # of an output, at most
    types: tuple = (*INTEGERS, "fp64")
    operators: tuple = ("+", "+", "+", "*", "max", "min")


class Nest:
    """Drawn from a seed. `loops`, of which those of `kept` index the outputs; `inputs`, `outputs`, by name;
    `results`, one for each access of an output; `is_behind`: whether the results are local variables
    that statements behind the reduced loops store."""

    def __init__(self, seed, options, given=None):
        """`given`: an array that it reads, among others, and whose extents are those."""
        self.random = random.Random(seed)
        self.options = options
        self.given = given and dataclasses.replace(given, accesses=[])
        self.letters = "wz" if given else "xy"
        self.type = given.type if given else self.random.choice(options.types)
        self.loops = self._loops()
        reduced = [loop.name for loop in self.loops if len(self.loops) > 1 and self.chance(0.3)][:2]
        self.is_behind = options.has_behind and bool(reduced) and self.chance(0.3)
        if self.is_behind:  # the reduced loops are the innermost
            self.loops = sorted(self.loops, key=lambda loop: loop.name in reduced)
        self._bound_inside()
        self.kept = [loop.name for loop in self.loops if loop.name not in reduced]
        self.inputs, self.outputs, self.results = {}, {}, []
        if given:
            self.inputs[given.name] = self.given
        for number in range(self.random.randint(1, 2)):
            self._add_output(f"{self.letters[1]}{number}", bool(reduced))
        for array in [*self.inputs.values(), *self.outputs.values()]:
            if array is not self.given:
                self._finish(array)

    def chance(self, probability):
        return self.random.random() < probability

    # Loops.

    def _loops(self):
        while True:
            loops = [self._loop(name) for name in "ijk"[:self.random.randint(1, 3)]]
            points = 1
            for loop in loops:
                points *= len(loop.values({}))
            if points <= MOST_POINTS:
                return loops

    def _loop(self, name):
        size = self.random.choice(SIZES)
        if self.options.may_be_empty and self.chance(0.03):
            size = 0
        start, step = 0, 1
        if self.options.has_ranges and self.chance(0.6):
            start, step = self.random.randint(0, 3), self.random.choice((1, 1, 2, 3))
        if self.options.has_negative_steps and self.chance(0.2):
            start, step = start + step * max(size - 1, 0), -step
        slack = self.random.randrange(abs(step)) if size else 0
        stop = start + step * size - (slack if step > 0 else -slack)
        return Loop(name, start, stop, step)

    def _bound_inside(self):
        """Now and then an inner loop ends where an outer one is."""
        self.has_inner_bound = False
        if not self.options.has_inner_bounds or len(self.loops) < 2 or not self.chance(0.2):
            return
        inner = self.random.randrange(1, len(self.loops))
        outer, loop = self.loops[inner - 1], self.loops[inner]
        if outer.step != 1 or len(outer.values({})) < 2:
            return
        self.has_inner_bound = True
        first = self.random.randint(0, 2)  # iterations for the first of the outer loop
        self.loops[inner] = Loop(loop.name, loop.start, loop.start + first - outer.start, 1, outer.name)

    def loop(self, name):
        return next(loop for loop in self.loops if loop.name == name)

    def ends(self, name):
        """The first and the last value of a loop, in the iterations of all others; None: it has none."""
        loop = self.loop(name)
        if loop.until:
            outer = self.ends(loop.until)
            return loop.start, loop.stop + max(outer) - 1
        values = loop.values({})
        return (values[0], values[-1]) if values else None

    def points(self, names):
        """All iterations of these loops, in the box around those of all loops."""
        def values(name):
            ends, step = self.ends(name), self.loop(name).step
            return range(ends[0], ends[1] + (1 if step > 0 else -1), step) if ends else ()

        for point in itertools.product(*map(values, names)):
            yield dict(zip(names, point))

    def is_iteration(self, point):
        return all(point[loop.name] in loop.values(point) for loop in self.loops if loop.name in point)

    # Arrays.

    def _range(self, index):
        """The least and the largest value; None if it is of a loop without iterations."""
        least = most = index.constant
        for name, factor in index.factors:
            ends = self.ends(name)
            if ends is None:
                return None
            products = [factor * end for end in ends]
            least, most = least + min(products), most + max(products)
        return least, most

    def _index(self, names):
        """Never negative."""
        count = min(len(names), self.random.choice((0, 1, 1, 1, 1, 1, 1, 2, 2)))
        factors = tuple((name, self.random.choice((1, 1, 1, 1, 2, 3, -1, -2)))
                        for name in self.random.sample(names, count))
        return self._placed(Index(factors, 0))

    def _placed(self, index):
        ends = self._range(index)
        return index.shifted(self.random.choice((0, 0, 1, 2)) - (ends[0] if ends else 0))

    def _add_output(self, name, is_reduction):
        array = Array(name, self.type, self._accesses_of_output(), keeps=self.options.keeps
                      and not self.has_inner_bound and self.chance(0.3))
        self.outputs[name] = array
        operator = self.random.choice(self.options.operators) if is_reduction else ""
        if operator and (self.type == "fp64" or self.has_inner_bound or self.is_behind):
            operator = "+"
        names = [loop.name for loop in self.loops]
        for access in range(len(array.accesses)):
            terms = self._terms(names, self.random.randint(1, 3))
            if self.options.spans and self.chance(0.7):
                terms += ((1, *self._whole(names)),)
            if self.given and not self.given.accesses:
                terms += ((1, *self._read(names, self.given)),)
            behind = self._terms(self.kept, self.random.randint(0, 1)) if self.is_behind else ()
            self.results.append(Result(name, access, operator, terms, behind))

    def _whole(self, names):
        access = tuple(Index(((name, 1),), 0) for name in names)
        array = self.inputs.setdefault("p" + self.letters[0], Array("p" + self.letters[0], self.type, [access]))
        return array.name, 0

    def _accesses_of_output(self):
        """No two points and accesses share an element; every kept loop is in one of the indices."""
        for _ in range(200):
            rank = len(self.kept) if self.chance(0.7) else self.random.randint(0, 3)
            accesses = [tuple(self._index(self.kept) for _ in range(rank))]
            while len(accesses) < self.options.accesses and self.chance(0.2):
                accesses.append(tuple(index.shifted(self.random.randint(0, 3)) for index in accesses[0]))
            if self._is_injective(accesses):
                return accesses
        return [tuple(self._placed(Index(((name, 1),), 0)) for name in self.kept)]

    def _is_injective(self, accesses):
        if any({name for index in access for name, _ in index.factors} != set(self.kept)
               for access in accesses):
            return False
        places = [tuple(index.at(point) for index in access)
                  for access in accesses for point in self.points(self.kept)]
        return len(set(places)) == len(places) and len(set(accesses)) == len(accesses)

    def _terms(self, names, count):
        factors = (1, 1, 2, -3) if self.options.has_factors else (1,)
        return tuple((self.random.choice(factors), *self._read(names)) for _ in range(count))

    def _read(self, names, array=None):
        """A new access to a new array, or to one that is there."""
        array = array or self.random.choice([None, *self.inputs.values()])
        if array is None:
            rank = self.random.choice((0, 1, 1, 1, 2, 2, 2, 3))
            array = Array(f"{self.letters[0]}{len(self.inputs)}", self.type, [])
            self.inputs[array.name] = array
        else:
            rank = len(array.extents if array is self.given else array.accesses[0])
        access = tuple(self._index(names) for _ in range(rank))
        if array.accesses and self.chance(0.6):  # a neighbour, as in stencils
            former = self.random.choice(array.accesses)
            if {name for index in former for name, _ in index.factors} <= set(names):
                access = tuple(index.shifted(self.random.randint(0, 2)) for index in former)
        if array is self.given:
            access = tuple(map(self._inside, access, array.extents))
        if access not in array.accesses:
            array.accesses.append(access)
        return array.name, array.accesses.index(access)

    def _inside(self, index, extent):
        """The index, or one like it, that is less than the extent."""
        ends = self._range(index) or (0, 0)
        if ends[1] < extent:
            return index
        if ends[1] - ends[0] < extent:
            return index.shifted(-ends[0])
        return Index((), self.random.randrange(extent))

    def _finish(self, array):
        """Extents, with room to spare where they are given; layouts; pointers."""
        # Bounds inside let fewer elements be read than the box around all iterations would.
        array.is_given = bool(array.accesses[0]) and (self.has_inner_bound or self.chance(0.7))
        ranges = [[self._range(access[x]) for access in array.accesses]
                  for x in range(len(array.accesses[0]))]
        needed = [max([r[1] + 1 for r in of_index if r], default=0) for of_index in ranges]
        room = [self.random.choice((0, 0, 1, 2)) if array.is_given else 0 for _ in needed]
        array.extents = [extent + more for extent, more in zip(needed, room)]
        if self.options.has_pointers and len(needed) == 2 and 0 not in needed and not (
                self.has_inner_bound) and self.chance(0.3):
            self._flatten(array)
        elif self.options.has_layouts and needed and self.chance(0.25):
            order = self.random.sample(range(len(needed)), len(needed))
            array.strides, step = [1] * len(needed), self.random.randint(1, 2)
            for x in order:
                array.strides[x] = step
                step *= max(array.extents[x] + self.random.randint(0, 1), 1)

    def _flatten(self, array):
        """A pointer, whose extent follows from its accesses."""
        def flat(access):
            factors = {}
            for step, index in zip(steps, access):
                for name, factor in index.factors:
                    factors[name] = factors.get(name, 0) + step * factor
            constant = sum(step * index.constant for step, index in zip(steps, access))
            return (Index(tuple((name, f) for name, f in factors.items() if f), constant),)

        steps = array.steps()
        accesses = [flat(access) for access in array.accesses]
        used = [{name for name, _ in access[0].factors} for access in accesses]
        if array.name in self.outputs and any(names != set(self.kept) for names in used):
            return
        if len(set(accesses)) < len(accesses):
            return
        array.accesses, array.is_flat, array.is_given = accesses, True, False
        array.extents = [max(ends[1] + 1 for access in accesses if (ends := self._range(access[0])))]

    # Meaning.

    def contents(self):
        """Values of the inputs' elements, by name, in the order of memory."""
        return {name: [self.random.randint(-9, 9) for _ in range(array.elements())]
                for name, array in self.inputs.items()}

    def neutral(self, operator):
        limit = LIMITS.get(self.type, float("inf"))
        return {"": 0, "+": 0, "*": 1, "max": -limit, "min": limit - 1}[operator]

    def start(self, written="-"):
        """What outputs hold before the loops run, in the order of memory: the neutral element where a point
        is stored, zero elsewhere, `written` where the loops or the front end leave what is there."""
        outputs = {}
        for name, array in self.outputs.items():
            values = [written] * array.elements()
            if not array.keeps and values:
                for place in itertools.product(*map(range, array.extents)):
                    values[sum(step * at for step, at in zip(array.steps(), place))] = 0
            outputs[name] = values
        for result in self.results:
            array = self.outputs[result.array]
            for point in self.points(self.kept):
                outputs[result.array][array.element(result.access, point)] = self.neutral(result.operator)
        return outputs

    def computed(self, contents):
        """The outputs, point by point, in the order of memory; "-": an element that nobody writes."""
        outputs = self.start()
        names = [loop.name for loop in self.loops]
        for result in self.results:
            values, array = outputs[result.array], self.outputs[result.array]
            for point in filter(self.is_iteration, self.points(names)):
                at, value = array.element(result.access, point), self._sum(result.terms, point, contents)
                values[at] = self._wrapped(_combined(result.operator, values[at], value))
            for point in filter(self.is_iteration, self.points(self.kept if self.is_behind else [])):
                if result.behind:
                    at, value = array.element(result.access, point), self._sum(result.behind, point, contents)
                    values[at] = self._wrapped(values[at] + value)
        return outputs

    def _sum(self, terms, point, contents):
        return sum(factor * contents[name][self.inputs[name].element(access, point)]
                   for factor, name, access in terms)

    def _wrapped(self, value):
        limit = LIMITS.get(self.type)
        return value if limit is None else (value + limit) % (2 * limit) - limit


class Chain:
    """A nest, and one that reads `between`, an output of it; otherwise as a nest."""

    def __init__(self, first, second, between):
        self.nests, self.between = [first, second], between
        self.type, self.random = first.type, second.random
        self.inputs, self.outputs = {**first.inputs, **second.inputs}, {**first.outputs, **second.outputs}
        del self.inputs[between], self.outputs[between]

    contents = Nest.contents

    def start(self, written="-"):
        outputs = {**self.nests[0].start(written), **self.nests[1].start(written)}
        del outputs[self.between]
        return outputs

    def computed(self, contents):
        outputs = self.nests[0].computed(contents)
        read = outputs.pop(self.between)
        return {**outputs, **self.nests[1].computed({**contents, self.between: read})}


def drawn(seed, options):
    """A nest, or now and then a chain."""
    rng = random.Random(f"{seed} chain")
    while options.chains and rng.random() < 0.3:
        first = Nest(f"{seed} {rng.random()}", options)
        array = first.outputs["y0"]
        operators = {result.operator for result in first.results if result.array == "y0"}
        # What lies between is zero where nothing is written, and as an array of C at first.
        if array.extents and 0 not in array.extents and operators <= {"", "+"}:
            array.keeps, array.is_given, array.is_flat, array.strides = False, True, False, None
            return Chain(first, Nest(f"{seed} {rng.random()}", options, array), "y0")
    return Nest(seed, options)


def _combined(operator, left, right):
    return {"": lambda: right, "+": lambda: left + right, "*": lambda: left * right,
            "max": lambda: max(left, right), "min": lambda: min(left, right)}[operator]()
