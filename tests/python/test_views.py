"""Random views of outputs that leave elements out: strided, reversed, shifted, interior, diagonal ones,
with empty dimensions, too, some of which keep what is there. Text, C loops and both forms of Python are
one expression, and its kernel writes what a loop in Python writes. MDH_VIEWS=1000 runs so many."""

import array
import importlib.util
import itertools
import os
import random
import subprocess

import pytest

import mdh

CASES = int(os.environ.get("MDH_VIEWS", "16"))
NAMES = "ijk"
FORMER = 77


class View:
    """An output index per entry of `indices`, (dimension, factor, constant); the last dimension may be
    added up."""

    def __init__(self, rng):
        self.sizes = [rng.choice([0, 1, 2, 3, 4, 5, 7] if rng.random() < 0.2 else [1, 2, 3, 4, 5, 7])
                      for _ in range(rng.randint(1, 3))]
        rank = len(self.sizes)
        self.adds_up = rank > 1 and rng.random() < 0.3
        kept = list(range(rank - self.adds_up))
        rng.shuffle(kept)
        if rng.random() < 0.2:
            kept.append(kept[0])  # a diagonal
        self.indices, self.extents = [], []
        for d in kept:
            factor, constant = rng.choice([1, 1, 1, 2, 3, -1, -2]), rng.randint(0, 2)
            last = max(self.sizes[d] - 1, 0)
            constant += max(-factor * last, 0)
            self.indices.append((d, factor, constant))
            needed = max(factor * last, 0) + constant + 1 if self.sizes[d] else 0
            self.extents.append(needed + rng.randint(0, 2))
        self.keeps = rng.random() < 0.3

    def index(self, n, names=NAMES):
        d, factor, constant = self.indices[n]
        return f"{factor}*{names[d]} + {constant}"

    def expected(self, x):
        """The output's elements, for the input's."""
        y = [FORMER if self.keeps else 0] * elements(self.extents)
        reached = set()
        for number, point in enumerate(itertools.product(*map(range, self.sizes))):
            at = self.element(point)
            y[at] = (y[at] if at in reached else 0) + x[number]
            reached.add(at)
        if self.adds_up and self.sizes[-1] == 0:
            for point in itertools.product(*map(range, self.sizes[:-1]), [0]):
                y[self.element(point)] = 0
        return y

    def element(self, point):
        at = 0
        for extent, (d, factor, constant) in zip(self.extents, self.indices):
            at = at * extent + factor * point[d] + constant
        return at

    @property
    def names(self):
        return NAMES[:len(self.sizes)]

    def operators(self, concat, add):
        return ", ".join([concat] * (len(self.sizes) - self.adds_up) + [add] * self.adds_up)

    def text(self):
        point = f"({','.join(self.names)})"
        sizes = ",".join(map(str, self.sizes))
        view = ", ".join(self.index(n) for n in range(len(self.indices)))
        return (f"view := out_view<int32>( y[{','.join(map(str, self.extents))}] "
                f"{'keep' if self.keeps else ''}: {point} -> ({view}) ) o\n"
                f"md_hom<{sizes}>( f, ({self.operators('++', '+')}) ) o\n"
                f"inp_view<int32>( x[{sizes}]: {point} -> {point} ) where f(x) -> y {{ y = x }}")

    def c_loops(self):
        def brackets(parts):
            return "".join(f"[{part}]" for part in parts)

        loops = "".join(f"  for (int {n} = 0; {n} < {size}; ++{n})\n"
                        for n, size in zip(self.names, self.sizes))
        view = brackets(self.index(n) for n in range(len(self.indices)))
        return (f"void view(const int x{brackets(self.sizes)}, int y{brackets(self.extents)}) {{\n"
                f"#pragma mdh out(y) inp(x) {'keep(y)' if self.keeps else ''}\n{loops}"
                f"    y{view} {'+=' if self.adds_up else '='} x{brackets(self.names)};\n}}\n")

    def python(self):
        sizes, point = ", ".join(map(str, self.sizes)), ", ".join(self.names)
        view = ", ".join(self.index(n) for n in range(len(self.indices)))
        declared = (f"out(y=Buffer(int32, {self.extents}, keep={self.keeps})), "
                    f"inp(x=Buffer[int32, {self.sizes}])")
        loops = "".join(f"{'    ' * (depth + 1)}for {n} in range({size}):\n"
                        for depth, (n, size) in enumerate(zip(self.names, self.sizes)))
        indent = "    " * (len(self.sizes) + 1)
        return (f"from mdh import *\n\n\n@mdh({declared})\ndef view():\n"
                f"    def f(out, inp):\n        out['y'] = inp['x']\n\n"
                f"    return (out_view[int32](y=[lambda {point}: ({view},)]),\n"
                f"            md_hom[{sizes}](f, ({self.operators('cc', 'pw(add)')},)),\n"
                f"            inp_view[int32](x=[lambda {point}: ({point},)]))\n\n\n"
                f"@mdh({declared})\ndef loops(y, x):\n{loops}"
                f"{indent}y[{view}] {'+=' if self.adds_up else '='} x[{point}]\n")


def elements(extents):
    count = 1
    for extent in extents:
        count *= extent
    return count


def module_of(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(client, expression, x, y, folder):
    kernel = client.best_kernel(expression, measured=False).kernel
    mdh.CpuKernel(kernel, cache_directory=folder)(x.buffer_info()[0] or 64, y.buffer_info()[0] or 64)


@pytest.mark.parametrize("first", range(0, CASES, 8))
def test_front_ends_write_what_loops_write(client, request, tmp_path, first):
    program = request.getfixturevalue("mdh")
    for seed in range(first, min(first + 8, CASES)):
        view = View(random.Random(seed))
        (tmp_path / f"view{seed}.c").write_text(view.c_loops())
        (tmp_path / f"view{seed}.py").write_text(view.python())
        module = module_of(tmp_path / f"view{seed}.py")
        text = mdh.parse(view.text())
        digest = client.check(text).digest
        assert (module.view.digest, module.loops.digest) == (digest, digest), view.text()
        of_c = subprocess.run(
            [program, "check", tmp_path / f"view{seed}.c"], check=True, text=True,
            stdout=subprocess.PIPE).stdout
        assert digest in of_c, view.text()
        x = array.array("i", range(1, elements(view.sizes) + 1))
        y = array.array("i", [FORMER] * elements(view.extents))
        run(client, text, x, y, tmp_path / "cache")
        assert list(y) == view.expected(x), view.text()


def test_einsum_over_nothing(client, tmp_path):
    y = array.array("f", [FORMER] * 6)
    empty = array.array("f")
    expression = mdh.einsum("ik,kj->ij", i=2, j=3, k=0)
    assert expression.digest == client.check(expression).digest
    kernel = client.best_kernel(expression, measured=False).kernel
    mdh.CpuKernel(kernel, cache_directory=tmp_path / "cache")(
        Empty(empty, (2, 0)), Empty(empty, (0, 3)), y.buffer_info()[0])
    assert list(y) == [0] * 6
    nothing = mdh.einsum("ik,kj->ij", i=0, j=3, k=4)
    assert nothing.digest == client.check(nothing).digest
    kernel = client.best_kernel(nothing, measured=False).kernel
    x = array.array("f", [1] * 12)
    mdh.CpuKernel(kernel, cache_directory=tmp_path / "cache")(
        Empty(empty, (0, 4)), x.buffer_info()[0], Empty(empty, (0, 3)))


class Empty:
    """An array of no elements, which has no memory."""

    def __init__(self, values, shape):
        self.__array_interface__ = {"shape": shape, "typestr": "<f4", "strides": None,
                                    "data": (0, False), "version": 3}


def test_nothing_to_tune(client):
    with pytest.raises(mdh.FailedPreconditionError,
                       match="there is nothing to tune: dimension 'k' of einsum is empty"):
        client.tune(mdh.einsum("ik,kj->ij", i=2, j=3, k=0), budget_seconds=1)


def test_operators_without_identity(client):
    larger = mdh.parse(
        "larger := out_view<fp32>( w: (i,k) -> (i) ) o md_hom<3,0>( f, (++, larger) ) o\n"
        "inp_view<fp32>( M: (i,k) -> (i,k) ) where f(M) -> w { w = M },\n"
        "larger(a, b) -> c { c = a > b ? a : b }")
    with pytest.raises(mdh.ExpressionError, match="dimension 'k' is empty, and combine operator"):
        client.check(larger)


def test_inputs_keep_nothing():
    with pytest.raises(mdh.ExpressionError, match="input 'x' keeps what is not written"):
        @mdh.mdh(mdh.out(y=mdh.Buffer[mdh.fp32, [4]]), mdh.inp(x=mdh.Buffer(mdh.fp32, [4], keep=True)))
        def copy(y, x):
            for i in range(4):
                y[i] = x[i]


def test_kept_where_everything_is_reached_is_the_same():
    def copy(extent, keep):
        @mdh.mdh(mdh.out(y=mdh.Buffer(mdh.fp32, [extent], keep=keep)), mdh.inp(x=mdh.Buffer[mdh.fp32, [4]]))
        def copy(y, x):
            for i in range(4):
                y[i] = x[i]
        return copy

    assert copy(4, True).digest == copy(4, False).digest
    assert copy(5, True).digest != copy(5, False).digest
