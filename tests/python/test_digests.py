"""What Python builds has the digest of the .mdh file of the same computation."""

import examples
import pytest

from mdh import einsum, parse


@pytest.mark.parametrize("build", [
    examples.listing_5, examples.slides_named, examples.slides_custom, examples.slides_loops,
    examples.matvec_with_plus_equals,
])
def test_matvec(client, digest_of_file, build):
    from mdh import fp64
    expected = digest_of_file("matvec", I=5, K=7, T="fp64")
    assert client.check(build(fp64, 5, 7)).digest == expected


@pytest.mark.parametrize("name, expression, sizes", [
    ("matmul", examples.matmul_loops(4, 5, 6), dict(I=4, J=5, K=6)),
    ("matmul", examples.matmul_einsum(4, 5, 6), dict(I=4, J=5, K=6)),
    ("conv2d", examples.conv2d(5, 6, 2, 3), dict(P=5, Q=6, R=2, S=3)),
    ("mcc", examples.mcc(1, 4, 5, 3, 2, 3, 2, 2, 2),
     dict(N=1, P=4, Q=5, K=3, R=2, S=3, C=2, SH=2, SW=2)),
    ("jacobi1d", examples.jacobi1d_dsl(10), dict(I=10)),
    ("jacobi1d", examples.jacobi1d_loops(10), dict(I=10)),
    ("sum_and_max", examples.sum_and_max(4, 5), dict(I=4, K=5)),
    ("argmax", examples.argmax(4, 5), dict(I=4, K=5)),
    ("dot", examples.dot(9), dict(K=9)),
    ("ccsdt", einsum("gdab,efgc->abcdef", a=2, b=3, c=4, d=5, e=2, f=3, g=4),
     dict(A=2, B=3, C=4, D=5, E=2, F=3, G=4)),
])
def test_shipped_file(client, digest_of_file, name, expression, sizes):
    assert client.check(expression).digest == digest_of_file(name, **sizes)


def test_other_sizes_have_other_digests(client):
    assert (client.check(examples.matmul_loops(4, 5, 6)).digest
            != client.check(examples.matmul_loops(4, 5, 7)).digest)


@pytest.mark.parametrize("expression", [
    examples.heaviest(3, 4), examples.scan(8), examples.padded_row_weights(4, 5),
], ids=["records", "prefix_sum", "boundary"])
def test_text_of_newer_features_is_the_same_expression(client, expression):
    checked = client.check(expression)
    assert client.check(parse(checked.text)).digest == checked.digest
