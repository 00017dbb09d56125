"""What is derived from sequential loops."""

import math

import pytest

import mdh
from mdh import (
    Buffer, Record, add, cc, combine_ops, fp32, fp64, inp, int32, int64, out, ps, pw,
)
from mdh.v1 import expression_pb2 as pb

N = 10


def accesses(buffer):
    return [[(list(i.coefficients), i.constant) for i in a.indices] for a in buffer.accesses]


def test_ranges_with_start_and_step_are_shifted():
    @mdh.mdh(out(y=Buffer[fp32, [N]]), inp(x=Buffer[fp32]))
    def stencil(y, x):
        for i in range(1, N - 1, 2):
            left = x[i - 1]
            y[i] = left + x[i] * 2.0 + x[i + 1]

    proto = stencil.to_proto()
    assert proto.dimensions[0].size == 4
    assert accesses(proto.inputs[0]) == [[([2], 0)], [([2], 1)], [([2], 2)]]
    assert accesses(proto.outputs[0]) == [[([2], 1)]]


def test_equal_accesses_are_one():
    @mdh.mdh(out(y=Buffer[fp32]), inp(x=Buffer[fp32]))
    def square(y, x):
        for i in range(N):
            y[i] = x[i] * x[i] + x[N - 1 - i]

    assert accesses(square.to_proto().inputs[0]) == [[([1], 0)], [([-1], 9)]]


def test_reductions_are_derived_per_output():
    @mdh.mdh(out(s=Buffer[fp32], m=Buffer[fp32], p=Buffer[fp32]), inp(x=Buffer[fp32]))
    def statistics(s, m, p, x):
        for i in range(N):
            for j in range(3):
                s[i] = x[i, j] + s[i]
                m[i] = max(m[i], x[i, j])
                p[i] *= x[i, j]

    operators = statistics.to_proto().combine_operators
    assert operators[0].HasField("concat")
    assert list(operators[1].point_wise.kinds) == [
        pb.POINT_WISE_KIND_ADD, pb.POINT_WISE_KIND_MAX, pb.POINT_WISE_KIND_MUL]


def test_functions_of_math():
    cbrt = getattr(math, "cbrt", mdh.cbrt)  # from Python 3.11 on

    @mdh.mdh(out(y=Buffer[fp32]), inp(x=Buffer[fp32]))
    def functions(y, x):
        for i in range(N):
            y[i] = math.log1p(x[i]) + math.expm1(x[i]) + cbrt(x[i]) + math.atan2(
                x[i], math.copysign(2.0, x[i])) + math.fmod(x[i], 2.0)

    operations = {pb.ScalarOp.Name(one.op)[len("SCALAR_OP_"):]
                  for one in functions.to_proto().function.instructions}
    assert {"LOG1P", "EXPM1", "CBRT", "ATAN2", "COPYSIGN", "REM"} <= operations


def test_maxima_of_numpy_and_of_mdh():
    numpy = pytest.importorskip("numpy")

    @mdh.mdh(out(a=Buffer[fp32], b=Buffer[fp32], c=Buffer[fp32], d=Buffer[fp32]),
             inp(x=Buffer[fp32]))
    def extremes(a, b, c, d, x):
        for i in range(N):
            for j in range(3):
                a[i] = numpy.maximum(a[i], x[i, j])
                b[i] = numpy.fmax(b[i], x[i, j])
                c[i] = mdh.fmin(c[i], numpy.minimum(x[i, j], 1.0))
                d[i] = min(d[i], x[i, j])

    proto = extremes.to_proto()
    assert list(proto.combine_operators[1].point_wise.kinds) == [
        pb.POINT_WISE_KIND_MAX, pb.POINT_WISE_KIND_FMAX, pb.POINT_WISE_KIND_FMIN,
        pb.POINT_WISE_KIND_MIN]
    assert pb.SCALAR_OP_MIN in [i.op for i in proto.function.instructions]


def test_bits_and_booleans():
    @mdh.mdh(out(all_=Buffer["bool"], bits=Buffer[int32]), inp(x=Buffer[int32]))
    def checks(all_, bits, x):
        for i in range(N):
            all_ &= 0 < x[i] < 5 or not x[i] == 7
            bits |= x[i]

    proto = checks.to_proto()
    assert list(proto.combine_operators[0].point_wise.kinds) == [
        pb.POINT_WISE_KIND_AND, pb.POINT_WISE_KIND_BIT_OR]
    assert accesses(proto.outputs[0]) == [[]]


def scaled(x, factor):
    return x * factor


def weighted(x):
    return x * fp32(mdh.index('i'))


def test_functions_around_the_loops_may_use_index():
    @mdh.mdh(out(y=Buffer[fp32]), inp(x=Buffer[fp32]))
    def f(y, x):
        for j in range(3):
            for i in range(N):
                y[j, i] = weighted(x[i])

    assert list(f.to_proto().index_dimensions) == [1]


def test_scalar_language_of_the_body():
    table = [1.0, 2.0, 4.0]

    @mdh.mdh(out(y=Buffer[fp64]), inp(x=Buffer[fp32], alpha=Buffer[fp64]))
    def body(y, x, alpha):
        for i in range(N):
            t = fp64(x[i])
            t += math.sqrt(abs(t)) ** 2
            u = t if t > 0 and t < 1 else -t
            y[i] = scaled(u, alpha) + fp64(i % 3) * table[i] - min(t, u)

    proto = body.to_proto()
    ops = {pb.ScalarOp.Name(i.op)[len("SCALAR_OP_"):] for i in proto.function.instructions}
    assert ops == {"PARAMETER", "CONSTANT", "CAST", "SELECT", "TABLE", "ABS", "SQRT", "MUL", "GT",
                   "LT", "AND", "NEG", "REM", "ADD", "SUB", "MIN"}
    assert [p.name for p in proto.function.parameters] == ["x", "alpha", "i"]


def test_annotated_operators_and_custom_ones():
    def larger(res, lhs, rhs):
        res['m'] = mdh.where(lhs['m'] > rhs['m'], lhs['m'], rhs['m'])

    @mdh.mdh(out(m=Buffer[fp32]), inp(x=Buffer[fp32]), combine_ops(cc, pw(larger)))
    def maxima(m, x):
        for i in range(N):
            for j in range(3):
                m[i] = x[i, j]

    assert maxima.to_proto().combine_operators[1].point_wise.function.name == "larger"

    @mdh.mdh(out(y=Buffer[fp32]), inp(x=Buffer[fp32]), combine_ops(ps(add)))
    def scan(y, x):
        for i in range(N):
            y[i] = x[i]

    assert scan.to_proto().combine_operators[0].HasField("prefix_sum")


Entry = Record(key=int64, weight=fp32)


def test_records_by_field_and_as_a_whole():
    @mdh.mdh(out(a=Buffer[Entry], b=Buffer[Entry]), inp(x=Buffer[Entry]))
    def copy(a, b, x):
        for i in range(N):
            a[i].key = x[i].key + 1
            a[i].weight = x[i].weight
            b[i] = Entry(x[i].key, weight=2 * x[i].weight)

    results = copy.to_proto().function.results
    assert [r.name for r in results] == ["a.key", "a.weight", "b.key", "b.weight"]


def test_accumulate():
    @mdh.mdh(out(s=Buffer[fp32]), inp(x=Buffer[fp32]), accumulate={'s': fp64})
    def total(s, x):
        for i in range(N):
            s += x[i]

    proto = total.to_proto()
    assert proto.function.results[0].type == fp64.code
    assert proto.outputs[0].type == fp32.code


def test_einsum_dimensions_buffers_and_operators():
    proto = mdh.einsum("ij , jk", i=2, j=3, k=4, dtype="fp16", accumulate=fp32).to_proto()
    assert [(d.name, d.size) for d in proto.dimensions] == [("i", 2), ("k", 4), ("j", 3)]
    assert [b.name for b in proto.inputs] == ["A", "B"]
    assert proto.combine_operators[2].point_wise.kind == pb.POINT_WISE_KIND_ADD
    assert proto.function.results[0].type == fp32.code
    diagonal = mdh.einsum("ii->i", i=3).to_proto()
    assert accesses(diagonal.inputs[0]) == [[([1], 0), ([1], 0)]]
    assert accesses(mdh.einsum("i,i->", i=3).to_proto().outputs[0]) == [[]]
