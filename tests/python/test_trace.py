"""Scalar functions: the program that tracing leaves."""

import math

import pytest

import mdh
from mdh import (
    Record, bf16, bool_, cc, fp16, fp32, fp64, int8, int32, int64, literal, table, uint8, where,
)
from mdh.v1 import expression_pb2 as pb


def program(function, inputs=(("x", fp32), ("y", fp32)), output=fp32):
    """The instructions of f for one-dimensional inputs, as text."""
    out_view = mdh.out_view[output](out=[lambda i: (i)])
    inp_view = mdh.inp_view[tuple(t for _, t in inputs)](**{n: [lambda i: (i)] for n, _ in inputs})

    @mdh.mdh()
    def expression():
        return out_view, mdh.md_hom[8](function, cc), inp_view

    return show(expression.to_proto().function)


def show(function):
    lines = []
    for instruction in function.instructions:
        op = pb.ScalarOp.Name(instruction.op)[len("SCALAR_OP_"):].lower()
        type_ = pb.ScalarType.Name(instruction.type)[len("SCALAR_TYPE_"):].lower()
        words = [op, *map(str, instruction.operands)]
        if op == "parameter":
            words.append(function.parameters[instruction.parameter].name)
        for value in [instruction.constant] if op == "constant" else instruction.table:
            words.append(str(getattr(value, value.WhichOneof("value"))))
        lines.append(" ".join(words) + ": " + type_)
    return lines + ["results " + " ".join(map(str, function.result_instructions))]


def test_operators_in_order_of_evaluation():
    def f(out, inp):
        out['out'] = (inp['x'] - 2) * -inp['y'] / inp['x']

    assert program(f) == [
        "parameter x: float32", "constant 2.0: float32", "sub 0 1: float32",
        "parameter y: float32", "neg 3: float32", "mul 2 4: float32", "div 5 0: float32",
        "results 6"]


def test_literals_take_the_type_of_their_context():
    def f(out, inp):
        third = literal(1) / 3
        out['out'] = fp64(fp32(0.1)) + fp64(inp['x'] * third) * third

    assert program(f, output=fp64) == [
        "constant 0.10000000149011612: float32", "cast 0: float32", "cast 1: float64",
        "parameter x: float32", "constant 1.0: float32", "constant 3.0: float32",
        "div 4 5: float32", "mul 3 6: float32", "cast 7: float64", "constant 1.0: float64",
        "constant 3.0: float64", "div 9 10: float64", "mul 8 11: float64", "add 2 12: float64",
        "results 13"]


def test_a_result_of_literals_only_has_the_buffers_type():
    def f(out, inp):
        out['out'] = where(inp['x'] < 0, -1, literal(1) + 2)

    assert program(f, output=int8) == [
        "parameter x: float32", "constant 0.0: float32", "lt 0 1: bool", "constant -1: int8",
        "constant 1: int8", "constant 2: int8", "add 4 5: int8", "select 2 3 6: int8", "results 7"]


@pytest.mark.parametrize("name", [
    "sqrt", "rsqrt", "exp", "exp2", "log", "log2", "tanh", "floor", "ceil", "round", "trunc", "sin",
    "cos", "erf", "abs", "log1p", "expm1", "cbrt"])
def test_functions(name):
    def f(out, inp):
        out['out'] = getattr(mdh, name)(inp['x'])

    assert program(f)[1] == f"{name} 0: float32"


@pytest.mark.parametrize("name, operation", [
    ("atan2", "atan2"), ("copysign", "copysign"), ("fmod", "rem"), ("pow", "pow")])
def test_functions_of_two_values(name, operation):
    def f(out, inp):
        out['out'] = getattr(mdh, name)(inp['x'], 2.0)

    assert program(f)[2] == f"{operation} 0 1: float32"


def test_functions_of_python_numbers_stay_numbers():
    assert (mdh.abs(-3), mdh.min(3, 2), mdh.max([3, 4]), mdh.pow(2, 3), mdh.round(2.6)) == (
        3, 2, 4, 8, 3)
    assert (mdh.atan2(0, -1), mdh.copysign(3, -0.0), mdh.fmod(-7, 3)) == (math.pi, -3, -1)


def test_python_protocols_of_numbers():
    import math

    def f(out, inp):
        x = inp['x']
        out['out'] = abs(x) + round(x) + math.floor(x) + math.ceil(x) + math.trunc(x) + x**3 + x**.5

    text = program(f)
    assert [line.split()[0] for line in text] == [
        "parameter", "abs", "round", "add", "floor", "add", "ceil", "add", "trunc", "add", "mul",
        "mul", "add", "constant", "pow", "add", "results"]


def test_functions_of_numpy():
    numpy = pytest.importorskip("numpy")
    maxima = {"maximum": "MAX", "minimum": "MIN", "fmax": "FMAX", "fmin": "FMIN"}
    for name, operation in maxima.items():
        value = mdh.trace.Value("PARAMETER", (), fp32, "x")
        found = getattr(numpy, name)(value, 2.0)
        assert found.op == operation and found.operands[0] is value
    assert (numpy.float64(2) * value).op == "MUL"
    assert (value > numpy.float32(2)).op == "GT"
    assert numpy.sqrt(value).op == "SQRT"
    assert [numpy.log1p(value).op, numpy.expm1(value).op, numpy.cbrt(value).op] == ["LOG1P", "EXPM1", "CBRT"]
    assert [numpy.arctan2(value, 1.0).op, numpy.copysign(1.0, value).op] == ["ATAN2", "COPYSIGN"]
    with pytest.raises(mdh.ExpressionError, match="numpy's arcsin is no function of scalar functions"):
        numpy.arcsin(value)


def test_booleans_and_bits():
    def f(out, inp):
        both = (inp['x'] < 1) & ~(inp['x'] == 2) | (inp['y'] >= 0) ^ True
        out['out'] = where(both, ~inp['u'] & 7, inp['u'] | 1 ^ inp['u'] % 3)

    text = program(f, (("x", fp32), ("y", fp32), ("u", uint8)), uint8)
    assert [line.split()[0] for line in text] == [
        "parameter", "constant", "lt", "constant", "eq", "not", "and", "parameter", "constant",
        "ge", "constant", "ne", "or", "parameter", "constant", "bit_xor", "constant", "bit_and",
        "constant", "constant", "rem", "bit_xor", "bit_or", "select", "results"]
    assert text[14] == "constant 255: uint8"


def test_tables():
    def f(out, inp):
        out['out'] = table([1, 2.5])[inp['i']] + table([3, 4], fp32)[1]

    assert program(f, (("i", int32),)) == [
        "parameter i: int32", "table 0 1.0 2.5: float32", "constant 1: int64", "cast 2: int64",
        "table 3 3.0 4.0: float32", "add 1 4: float32", "results 5"]


def test_constants_are_rounded_to_their_type():
    values = [(fp32, 0.1, 0.10000000149011612), (fp16, 0.1, 0.0999755859375),
              (bf16, 0.1, 0.10009765625), (fp64, 0.1, 0.1), (bf16, 1.00390625, 1.0),
              (bf16, 2.0**-134, 0.0), (bf16, 2.0**-133, 2.0**-133), (bf16, -1.01171875, -1.015625),
              (fp16, float("inf"), float("inf")), (int8, -128, -128), (bool_, True, True)]
    for type_, number, expected in values:
        assert type_.value(number) == expected, (type_, number)


@pytest.mark.parametrize("type_, number", [
    (fp16, 65520.0), (fp32, 1e39), (bf16, 3.4e38), (int8, 128), (uint8, -1), (int32, 1.0),
    (bool_, 1), (fp32, True), (int64, True)])
def test_numbers_that_a_type_lacks(type_, number):
    with pytest.raises(mdh.ExpressionError, match="is no value of type"):
        type_.value(number)


def test_results_of_another_type_are_combined_in_it():
    def f(out, inp):
        out['out'] = fp32(inp['x'])

    @mdh.mdh()
    def expression():
        return (mdh.out_view[fp16](out=[lambda i: ()]), mdh.md_hom[8](f, mdh.pw(mdh.add)),
                mdh.inp_view[fp16](x=[lambda i: (i)]))

    proto = expression.to_proto()
    assert proto.outputs[0].type == fp16.code
    assert proto.function.results[0].type == fp32.code


def test_accumulate_computes_named_functions_in_that_type():
    @mdh.mdh()
    def expression():
        return (
            mdh.out_view[fp16](out=[lambda i: ()]),
            mdh.md_hom[8](mdh.mul, mdh.pw(mdh.add), accumulate={'out': fp32}),
            mdh.inp_view[fp16, fp16](x=[lambda i: (i)], y=[lambda i: (i)]))

    assert show(expression.to_proto().function) == [
        "parameter x: float16", "cast 0: float32", "parameter y: float16", "cast 2: float32",
        "mul 1 3: float32", "results 4"]


Point = Record(x=fp32, n=int32)


def test_records_are_flattened():
    def f(out, inp, index):
        out['p'].x = inp['q'][0].x + inp['q'][1].x
        out['p'].n = int32(index['i']) + inp['q'][1].n

    def first(res, lhs, rhs):
        res['p'] = where(lhs['p'].n < rhs['p'].n, lhs['p'], rhs['p'])

    @mdh.mdh()
    def expression():
        return (mdh.out_view[Point](p=[lambda i: ()]), mdh.md_hom[8](f, mdh.pw(first)),
                mdh.inp_view[Point](q=[lambda i: (i), lambda i: (i + 1)]))

    proto = expression.to_proto()
    assert [p.name for p in proto.function.parameters] == [
        "q_0.x", "q_0.n", "q_1.x", "q_1.n", "i"]
    assert [r.name for r in proto.function.results] == ["p.x", "p.n"]
    assert list(proto.index_dimensions) == [0]
    combine = proto.combine_operators[0].point_wise
    assert combine.kind == pb.POINT_WISE_KIND_CUSTOM
    assert [p.name for p in combine.function.parameters] == [
        "p_lhs.x", "p_lhs.n", "p_rhs.x", "p_rhs.n"]
    assert [(f.name, f.type) for f in proto.inputs[0].record] == [
        ("x", fp32.code), ("n", int32.code)]


def test_index_variables_that_are_not_used_are_no_parameters():
    def f(out, inp, index):
        index.i
        out['out'] = inp['x'] * fp32(mdh.index('k')) + fp32(index[2])

    @mdh.mdh()
    def expression():
        return (mdh.out_view[fp32](out=[lambda i, j, k: (i, j, k)]),
                mdh.md_hom[2, 3, 4](f, (cc, cc, cc)),
                mdh.inp_view[fp32](x=[lambda i, j, k: (i, j, k)]))

    proto = expression.to_proto()
    assert list(proto.index_dimensions) == [2]
    assert [p.name for p in proto.function.parameters] == ["x", "k"]


def test_operators_per_result_and_custom_ones_that_are_named():
    def f(out, inp):
        out['a'], out['b'] = inp['x'], inp['x']

    def combine(res, lhs, rhs):
        res['a'] = rhs['a'] + lhs['a']
        res['b'] = mdh.max(lhs['b'], rhs['b'])

    def kinds(operator):
        @mdh.mdh()
        def expression():
            return (mdh.out_view[fp32, fp32](a=[lambda i: ()], b=[lambda i: ()]),
                    mdh.md_hom[8](f, operator), mdh.inp_view[fp32](x=[lambda i: (i)]))

        combined = expression.to_proto().combine_operators[0]
        one = combined.point_wise if combined.HasField("point_wise") else combined.prefix_sum
        return one.kind, list(one.kinds)

    add, max_ = pb.POINT_WISE_KIND_ADD, pb.POINT_WISE_KIND_MAX
    assert kinds(mdh.pw(mdh.add)) == (add, [])
    assert kinds(mdh.pw(mdh.add, mdh.max)) == (0, [add, max_])
    assert kinds(mdh.pw(combine)) == (0, [add, max_])
    assert kinds(mdh.pw(combine, identity=(0, -1)))[0] == pb.POINT_WISE_KIND_CUSTOM


def test_prefix_sum_layout_strides_and_boundaries():
    @mdh.mdh(mdh.inp(
        x=mdh.Buffer(fp32, [4, 6], boundary=mdh.clamp, layout=[1, 0]),
        y=mdh.Buffer(fp32, [4, 6], strides=[12, 2]),
        z=mdh.Buffer[fp32, [4, 6], mdh.constant(1)]))
    def expression():
        return (
            mdh.out_view[fp32](s=[lambda i, j: (i, j)]),
            mdh.md_hom[4, 6](mdh.mul, (cc, mdh.ps(mdh.add))),
            mdh.inp_view[fp32, fp32, fp32](
                x=[lambda i, j: (i + 1, j)], y=[lambda i, j: (3 - i, j)],
                z=[lambda i, j: (2 * i, j - 1)]))

    proto = expression.to_proto()
    x, y, z = proto.inputs
    assert x.boundary.HasField("clamp") and list(x.strides) == [1, 4]
    assert list(y.strides) == [12, 2] and not y.HasField("boundary")
    assert [v.real_value for v in z.boundary.constant.values] == [1.0]
    assert [(list(a.coefficients), a.constant) for a in y.accesses[0].indices] == [
        ([-1, 0], 3), ([0, 1], 0)]
    assert proto.combine_operators[1].prefix_sum.kind == pb.POINT_WISE_KIND_ADD


def test_several_accesses_can_be_counted_and_iterated_over():
    def f(out, inp):
        total = inp['x'][0]
        for value in list(inp['x'])[1:]:
            total = total + value
        out['y'] = total / len(inp['x'])

    @mdh.mdh()
    def expression():
        return (mdh.out_view[fp32](y=[lambda i: (i)]), mdh.md_hom[8](f, cc),
                mdh.inp_view[fp32](x=[lambda i, n=n: (i + n) for n in range(3)]))

    function = expression.to_proto().function
    assert [p.name for p in function.parameters] == ["x_0", "x_1", "x_2"]
    assert show(function)[-3:-1] == ["constant 3.0: float32", "div 4 5: float32"]


def test_names_of_parameters_and_results_are_distinct():
    def f(out, inp, index):
        out['i'] = inp['x'][0] + inp['x_0'] + inp['x'][1] + int64(index.i)

    @mdh.mdh()
    def expression():
        return (mdh.out_view[int64](i=[lambda i: (i)]), mdh.md_hom[8](f, cc),
                mdh.inp_view[int64, int64](x_0=[lambda i: (i)],
                                           x=[lambda i: (i), lambda i: (i + 1)]))

    function = expression.to_proto().function
    assert [p.name for p in function.parameters] == ["x_0", "x_0_", "x_1", "i_"]


def test_identity():
    def results(outputs, inputs):
        @mdh.mdh()
        def expression():
            return outputs, mdh.md_hom[8](mdh.identity, mdh.ps(mdh.add)), inputs

        return list(expression.to_proto().function.result_instructions)

    one = mdh.inp_view[fp32](x=[lambda i: (i)])
    two = mdh.inp_view[fp32](x=[lambda i: (i), lambda i: (i + 1)])
    a, b = [lambda i: (i)], [lambda i: (i)]
    assert results(mdh.out_view[fp32](a=a), one) == [0]
    assert results(mdh.out_view[fp32, fp32](a=a, b=b), one) == [0, 0]
    assert results(mdh.out_view[fp32, fp32](a=a, b=b), two) == [0, 1]


def test_long_chains_need_no_recursion():
    def f(out, inp):
        value = inp['x']
        for _ in range(3000):
            value = value + inp['y']
        out['out'] = value

    assert len(program(f)) == 3003
