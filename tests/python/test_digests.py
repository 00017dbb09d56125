"""What Python builds has the digest of the .mdh file of the same computation."""

import pathlib

import examples
import figure16
import pytest

from mdh import ExpressionError, bf16, einsum, fp16, fp32, fp64, int8, int32, parse
from mdh.einsum import without_ellipsis

EXPRESSIONS = pathlib.Path(__file__).resolve().parent.parent.parent / "client" / "expressions"
CCSDT_SIZES = dict(A=2, B=3, C=4, D=5, E=2, F=3, G=4)

# File, builder and sizes; the sizes are the parameters of both.
CASES = [
    ("argmax", examples.argmax, dict(I=4, K=5)),
    ("blur", figure16.blur, dict(I=5, J=6)),
    ("bmatmul", figure16.bmatmul, dict(B=2, I=3, J=4, K=5)),
    ("conv_bn_relu", examples.conv_bn_relu, dict(N=1, P=5, Q=6, K=2, R=3, S=3, C=4)),
    ("dense_gelu", examples.dense_gelu, dict(I=4, J=5, K=6)),
    ("log_sum_exp", examples.log_sum_exp, dict(I=4, K=5)),
    ("conv2d", examples.conv2d, dict(P=5, Q=6, R=2, S=3)),
    ("conv2d_padded", figure16.conv2d_padded, dict(P=5, Q=6, R=3, S=5)),
    ("depthwise", figure16.depthwise, dict(N=1, P=4, Q=5, C=3, R=2, S=3)),
    ("dot", examples.dot, dict(K=9)),
    ("dot_bf16", figure16.dot_bf16, dict(K=10)),
    ("gconv", figure16.gconv, dict(N=2, G=3, K=2, P=4, Q=3, C=2, R=3, S=2)),
    ("gen_histo", figure16.gen_histo, dict(E=20, B=5)),
    ("gram", figure16.gram, dict(I=4, K=5)),
    ("histo", figure16.histo, dict(E=20, B=5)),
    ("jacobi1d", examples.jacobi1d_dsl, dict(I=10)),
    ("jacobi1d", examples.jacobi1d_loops, dict(I=10)),
    ("jacobi2d", figure16.jacobi2d, dict(I1=5, I2=6)),
    ("jacobi3d", figure16.jacobi3d, dict(I1=3, I2=4, I3=5)),
    ("linear_recurrence", figure16.linear_recurrence, dict(I=10)),
    ("mandelbrot", figure16.mandelbrot, dict(H=4, W=6)),
    ("map", figure16.map_, dict(I=10)),
    ("matmul", examples.matmul_einsum, dict(I=4, J=5, K=6)),
    ("matmul", examples.matmul_loops, dict(I=4, J=5, K=6)),
    ("matmul_fp16", figure16.matmul_fp16, dict(I=3, J=4, K=5)),
    ("matmul_t", figure16.matmul_t, dict(I=3, J=4, K=5)),
    ("mbbs", figure16.mbbs, dict(I=5, J=6)),
    ("mcc", examples.mcc, dict(N=1, P=4, Q=5, K=3, R=2, S=3, C=2, SH=2, SW=2)),
    ("mcc_capsule", figure16.mcc_capsule,
     dict(N=2, P=3, Q=2, K=3, R=2, S=3, C=2, MI=2, MJ=3, MK=4, SH=2, SW=2)),
    ("mttkrp", figure16.mttkrp, dict(I=3, J=4, K=5, L=6)),
    ("nbody", figure16.nbody, dict(N=5)),
    ("nbody", figure16.nbody_dsl, dict(N=5)),
    ("prl", figure16.prl, dict(I=5, J=6)),
    ("prl_soa", figure16.prl_soa, dict(I=5, J=6)),
    ("reduce", figure16.reduce_, dict(I=10)),
    ("reduce2", figure16.reduce2, dict(I=10)),
    ("scan", figure16.scan, dict(I=10)),
    ("sddmm", figure16.sddmm, dict(I=3, J=4, K=5)),
    ("softmax_stats", figure16.softmax_stats, dict(I=3, K=4)),
    ("sum_and_max", examples.sum_and_max, dict(I=4, K=5)),
] + [(f"ccsdt_{left}_{right}", figure16.ccsdt(left, right), CCSDT_SIZES)
     for left, right in (
         ("gdab", "efgc"), ("gdac", "efgb"), ("gdbc", "efga"), ("geab", "dfgc"), ("geac", "dfgb"),
         ("gebc", "dfga"), ("gfab", "degc"), ("gfac", "degb"), ("gfbc", "dega"))]


@pytest.mark.parametrize("name, build, sizes", CASES)
def test_shipped_file(client, digest_of_file, name, build, sizes):
    expression = build(**sizes)
    assert client.check(expression).digest == digest_of_file(name, **sizes)
    assert expression.digest == digest_of_file(name, **sizes)


@pytest.mark.parametrize("build", [
    examples.listing_5, examples.slides_named, examples.slides_custom, examples.slides_loops,
    examples.matvec_with_plus_equals,
])
def test_matvec(client, digest_of_file, build):
    expected = digest_of_file("matvec", I=5, K=7, T="fp64")
    assert client.check(build(fp64, 5, 7)).digest == expected


def test_every_shipped_file_has_a_case():
    shipped = {path.stem for path in EXPRESSIONS.glob("*.mdh")}
    assert shipped == {name for name, _, _ in CASES} | {"matvec"}


def test_other_sizes_have_other_digests(client):
    assert (client.check(examples.matmul_loops(4, 5, 6)).digest
            != client.check(examples.matmul_loops(4, 5, 7)).digest)


@pytest.mark.parametrize("expression", [
    examples.heaviest(3, 4), examples.scan(8), examples.padded_row_weights(4, 5),
], ids=["records", "prefix_sum", "boundary"])
def test_text_of_newer_features_is_the_same_expression(client, expression):
    checked = client.check(expression)
    assert client.check(parse(checked.text)).digest == checked.digest
    assert expression.digest == checked.digest


@pytest.mark.parametrize("expression, views, function", [
    (einsum("...k,k->...", (2, 3, 4), (4,)),
     ("out_view<fp32>( o: (a,b,k) -> (a,b) ) o md_hom<2,3,4>( f, (++, ++, +) )",
      "inp_view<fp32,fp32>( A: (a,b,k) -> (a,b,k), B: (a,b,k) -> (k) )"), "A, B) -> o { o = A * B }"),
    (einsum("ij,ij->i", (1, 4), (3, 1)),
     ("out_view<fp32>( o: (i,j) -> (i) ) o md_hom<3,4>( f, (++, +) )",
      "inp_view<fp32,fp32>( A: (i,j) -> (0,j), B: (i,j) -> (i,0) )"), "A, B) -> o { o = A * B }"),
    (einsum("k,k->", k=4, dtype=fp16, accumulate=fp32),
     ("out_view<fp16>( o: (k) -> () ) o md_hom<4>( f, (+) )",
      "inp_view<fp16,fp16>( A: (k) -> (k), B: (k) -> (k) )"), "A, B) -> (o: fp32) { o = fp32(A) * fp32(B) }"),
    (einsum("k,k->", k=4, dtype=fp16, out_dtype=bf16),
     ("out_view<bf16>( o: (k) -> () ) o md_hom<4>( f, (+) )",
      "inp_view<fp16,fp16>( A: (k) -> (k), B: (k) -> (k) )"), "A, B) -> (o: fp32) { o = fp32(A) * fp32(B) }"),
    (einsum("k,k->", k=4, dtype=int8, out_dtype=int8, accumulate=int32),
     ("out_view<int8>( o: (k) -> () ) o md_hom<4>( f, (+) )",
      "inp_view<int8,int8>( A: (k) -> (k), B: (k) -> (k) )"), "A, B) -> (o: int32) { o = int32(A) * int32(B) }"),
    (einsum("k,k->", k=4, dtype="bool"),
     ("out_view<bool>( o: (k) -> () ) o md_hom<4>( f, (||) )",
      "inp_view<bool,bool>( A: (k) -> (k), B: (k) -> (k) )"), "A, B) -> o { o = A && B }"),
], ids=["ellipsis", "broadcast", "accumulate", "out_dtype", "bytes", "bool"])
def test_einsum(client, expression, views, function):
    text = parse(f"e := {' o '.join(views)} where f({function}")
    assert expression.digest == client.check(expression).digest == client.check(text).digest


def test_einsum_in_letters_alone():
    assert without_ellipsis("...ik,kj->...ij", [(7, 5, 2, 4), (4, 3)]) == ("abik,kj->abij", [[], []])
    # Dimensions of one element are left out where the letter has more.
    assert without_ellipsis("...i,...i->...", [(2, 1, 3), (4, 3)]) == ("ai,bi->ab", [[1], []])
    assert without_ellipsis("ij,j", [(1, 3), (3,)]) == ("ij,j->i", [[], []])
    assert without_ellipsis("...,i...", [(1,), (2, 5)]) == (",ia->ai", [[0], []])
    for shapes, message in (([(2, 3), (3,)], "lacks"), ([(3,)], "1 shape"), ([(3,), (4,)], "4 elements")):
        with pytest.raises(ExpressionError, match=message):
            without_ellipsis("...i,i->i", shapes)
    with pytest.raises(ExpressionError, match="more dimensions than there are letters"):
        without_ellipsis("...->...", [(1,) * 53])
