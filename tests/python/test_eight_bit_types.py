"""Types that numpy does not have: fp8e4m3, fp8e5m2 and bf16, as numbers, in digests and as arrays."""

import itertools
import math

import pytest

import mdh
from mdh import ArgumentTypeError, CpuKernel, ExpressionError, bf16, einsum, fp8e4m3, fp8e5m2, fp16, fp32
from mdh.arguments import Fit, argument_of
from mdh.arrays import ArrayView, view_of

EIGHT_BITS = (fp8e4m3, fp8e5m2)


def decoded(type_, bits):
    """By the definition of the format."""
    exponents, fractions, has_infinities = type_.format
    sign = -1.0 if bits >> (exponents + fractions) else 1.0
    exponent = bits >> fractions & ((1 << exponents) - 1)
    fraction = bits & ((1 << fractions) - 1)
    bias = (1 << (exponents - 1)) - 1
    if exponent == (1 << exponents) - 1 and has_infinities:
        return math.nan if fraction else sign * math.inf
    if exponent == (1 << exponents) - 1 and fraction == (1 << fractions) - 1:
        return math.nan
    if exponent == 0:
        return sign * math.ldexp(fraction, 1 - bias - fractions)
    return sign * math.ldexp(fraction + (1 << fractions), exponent - bias - fractions)


@pytest.mark.parametrize("type_", [*EIGHT_BITS, bf16, fp16], ids=str)
def test_every_pattern_is_a_number_in_memory(type_):
    for bits in range(1 << 8 * type_.size_bytes):
        number = decoded(type_, bits)
        if math.isnan(number):
            assert math.isnan(decoded(type_, int.from_bytes(type_.memory(number), "little")))
        else:
            assert int.from_bytes(type_.memory(number), "little") == bits
            assert type_.value(number) == number


@pytest.mark.parametrize("type_, largest", [(fp8e4m3, 448.0), (fp8e5m2, 57344.0)], ids=str)
def test_numbers_are_rounded_to_the_nearest(type_, largest):
    numbers = sorted({abs(n) for n in (decoded(type_, bits) for bits in range(256)) if math.isfinite(n)})
    assert numbers[-1] == type_.format.largest == largest
    for number, (low, high) in enumerate(itertools.pairwise(numbers)):
        middle = (low + high) / 2
        assert type_.value(middle) == (low if number % 2 == 0 else high)
        assert type_.value(-math.nextafter(middle, 0)) == -low
        assert type_.value(math.nextafter(middle, math.inf)) == high


@pytest.mark.parametrize("type_, literal", [
    (fp8e4m3, 465.0), (fp8e4m3, math.inf), (fp8e5m2, 61440.0), (fp8e5m2, -10**400), (fp8e4m3, True)])
def test_what_is_too_large_is_no_value(type_, literal):
    with pytest.raises(ExpressionError, match=f"is no value of type {type_.name}"):
        type_.value(literal)


@pytest.mark.parametrize("type_", [*EIGHT_BITS, bf16, fp32], ids=str)
@pytest.mark.parametrize("operator", ["add", "mul", "min", "max", "fmin", "fmax"])
def test_digests_are_those_of_the_daemon(client, type_, operator):
    combine = {"min": min, "max": max}.get(operator) or getattr(mdh, operator)

    @mdh.mdh()
    def expression():
        def f(out, inp):
            out["y"] = inp["x"] * 0.3

        return (mdh.out_view[type_](y=[lambda i: ()]), mdh.md_hom[8](f, mdh.pw(combine)),
                mdh.inp_view[type_](x=[lambda i: (i)]))

    assert expression.digest == client.check(expression).digest
    assert client.check(mdh.parse(client.check(expression).text)).digest == expression.digest


def test_contractions_add_up_in_wider_types(client):
    expression = einsum("ik,kj->ij", i=2, k=3, j=4, dtype=fp8e4m3, out_dtype=fp8e5m2)
    assert "fp32(A) * fp32(B)" in client.check(expression).text
    assert expression.digest == client.check(expression).digest


def fit(type_):
    return Fit("mdh_k", argument_of("A", type_.name, (4,)))


def view(type_name, item_bytes=1):
    return ArrayView(64, type_name, item_bytes, (4,), None, False, False, None)


def test_arrays_have_the_type_or_its_bits():
    for type_ in EIGHT_BITS:
        fit(type_).check(view(type_.name))
        fit(type_).check(view("uint8"))
    fit(bf16).check(view("uint16", 2))
    for type_, found in ((fp8e4m3, "fp8e5m2"), (fp8e4m3, "int8"), (bf16, "uint8"), (fp16, "uint16")):
        with pytest.raises(ArgumentTypeError, match=f"of type {found}, but the kernel expects {type_.name}"):
            fit(type_).check(view(found, type_.size_bytes))


class LibraryArray:
    """As those of ml_dtypes: numpy's interface has no name for the type, the type has."""

    def __init__(self, name, typestr):
        self.dtype = type("dtype", (), {"name": name})
        self.__array_interface__ = {"typestr": typestr, "shape": (4,), "data": (64, False),
                                    "descr": [("", typestr)]}


def test_arrays_of_other_libraries_are_recognised_by_the_name_of_their_type():
    for type_, name, typestr in ((fp8e4m3, "float8_e4m3fn", "<V1"), (fp8e5m2, "float8_e5m2", "<V1"),
                                 (bf16, "bfloat16", "<V2")):
        found = view_of(LibraryArray(name, typestr), "A")
        assert (found.type, found.item_bytes) == (type_.name, type_.size_bytes)
    assert view_of(LibraryArray("float8_e3m4", "<V1"), "A").type == ""


def test_a_kernel_runs_on_bits(client, tmp_path):
    np = pytest.importorskip("numpy")
    expression = einsum("ik,kj->ij", i=5, k=16, j=7, dtype=fp8e4m3, out_dtype=fp32)
    kernel = client.best_kernel(expression, measured=False).kernel
    bits = np.random.default_rng(1).integers(0, 256, (5 + 7) * 16, np.uint8)
    bits[bits & 0x7f == 0x7f] = 0  # nan
    a, b = bits[:80].reshape(5, 16), bits[80:].reshape(16, 7)
    c = np.empty((5, 7), np.float32)
    CpuKernel(kernel, cache_directory=tmp_path / "cache")(a, b, c)
    numbers = np.array([decoded(fp8e4m3, n) for n in range(256)])
    assert np.allclose(c, numbers[a] @ numbers[b], rtol=1e-5, atol=1e-2)


def test_arrays_of_ml_dtypes(client, tmp_path):
    np, ml_dtypes = pytest.importorskip("numpy"), pytest.importorskip("ml_dtypes")
    for type_ in EIGHT_BITS:
        expression = einsum("i,i->i", i=256, dtype=type_)
        kernel = client.best_kernel(expression, measured=False).kernel
        x = np.arange(256, dtype=np.uint8).view(getattr(ml_dtypes, type_.library_name))
        y = np.empty_like(x)
        CpuKernel(kernel, cache_directory=tmp_path / "cache")(x, np.ones_like(x), y)
        assert np.array_equal(y.astype(np.float32), x.astype(np.float32), equal_nan=True)
