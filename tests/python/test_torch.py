"""Operators of PyTorch, on the CPU."""

import os
import pathlib
import subprocess
import sys

import examples
import figure16
import pytest

import mdh
from mdh import fp32

torch = pytest.importorskip("torch")
if not hasattr(torch.library, "register_fake"):
    pytest.skip("this PyTorch is older than 2.4", allow_module_level=True)

import mdh.torch  # noqa: E402


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "caches"))


@pytest.fixture(scope="module")
def matmul(client):
    return mdh.torch.einsum("ik,kj->ij", client=client)


def test_an_einsum_for_all_sizes(matmul):
    for i, j, k in ((8, 9, 10), (16, 16, 16), (1, 2, 3)):
        a, b = torch.rand(i, k), torch.rand(k, j)
        torch.testing.assert_close(matmul(a, b), a @ b)
    a, b = torch.rand(10, 8), torch.rand(9, 10)
    torch.testing.assert_close(matmul(a.T, b.T), a.T @ b.T)  # not contiguous


def test_a_kernel_is_kept_and_computes_whatever_tensors_have_its_sizes(client):
    class CountingSource(mdh.torch.KernelSource):
        loads = 0

        def load(self, expression, device):
            self.loads += 1
            return super().load(expression, device)

    source = CountingSource(client=client)
    function = mdh.torch.einsum("ik,kj->ij", source=source)
    b = torch.rand(5, 6)
    for a in (torch.rand(4, 5), torch.rand(5, 4).T, torch.rand(9, 5)[2:6], torch.rand(1, 5).expand(4, 5),
              torch.rand(4, 5, requires_grad=True)):
        torch.testing.assert_close(function(a, b), a @ b)
    assert source.loads == 1
    torch.testing.assert_close(function(a.double(), b.double()), a.double() @ b.double())
    assert source.loads == 2
    with torch.inference_mode():
        torch.testing.assert_close(function(a, b), a @ b)
    assert source.loads == 2
    a = torch.rand(4, 5)
    a.untyped_storage().resize_(0)
    with pytest.raises(mdh.ExpressionError, match="is an array without memory"):
        function(a, b)


@pytest.mark.parametrize("subscripts, shapes", [
    ("ik,kj->ij", ((3, 4), (4, 5))), ("bik,bkj->bij", ((2, 3, 4), (2, 4, 5))),
    ("ij,i->j", ((3, 4), (3,))), ("i,i->", ((5,), (5,))), ("ij->i", ((3, 4),)),
    ("i,j,k->ijk", ((2,), (3,), (4,))), ("ij,jk,kl->il", ((2, 3), (3, 4), (4, 2))),
    ("...ik,kj->...ij", ((2, 3, 4), (4, 5))), ("...i,...i->...", ((2, 1, 3), (4, 3)))])
def test_gradients(client, subscripts, shapes):
    function = mdh.torch.einsum(subscripts, client=client)
    tensors = [torch.rand(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    torch.testing.assert_close(function(*tensors), torch.einsum(subscripts, *tensors))
    assert torch.autograd.gradcheck(function, tensors)


GELU = "0.5 * (out + bias[j]) * (1 + erf((out + bias[j]) * 0.7071067811865476))"


@pytest.mark.parametrize("subscripts, shapes, epilogue, function", [
    ("ik,kj->ij", ((3, 4), (4, 5), (5,), (3, 5)), "tanh(out + bias[j]) * skip[i, j]",
     lambda a, b, bias, skip: torch.tanh(a @ b + bias) * skip),
    ("ik,kj->ij", ((3, 4), (4, 5), (5,)), GELU,
     lambda a, b, bias: torch.nn.functional.gelu(a @ b + bias)),
    ("bik,bkj->bij", ((2, 3, 4), (2, 4, 5), ()), "where(out > 0, out, alpha * out)",
     lambda a, b, alpha: torch.where(a @ b > 0, a @ b, alpha * (a @ b))),
    ("ik,kj->ij", ((3, 4), (4, 5)), "exp(-out) * A[i, 0] + fp64(j + 1)",
     lambda a, b: torch.exp(-(a @ b)) * a[:, :1] + torch.arange(1, 6)),
    ("i,i->i", ((5,), (5,), (10,)), "out * shifted[2 * i + 1] + 3",
     lambda a, b, shifted: a * b * shifted[1::2] + 3),
    ("ik->i", ((3, 4),), "sqrt(out * out + 1)", lambda a: (a.sum(1) ** 2 + 1).sqrt()),
])
def test_an_epilogue_and_its_gradients(client, subscripts, shapes, epilogue, function):
    einsum = mdh.torch.einsum(subscripts, client=client, epilogue=epilogue)
    torch.manual_seed(1)
    tensors = [torch.rand(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    torch.testing.assert_close(einsum(*tensors), function(*tensors))
    found = torch.autograd.grad(einsum(*tensors).square().sum(), tensors)
    expected = torch.autograd.grad(function(*tensors).square().sum(), tensors)
    torch.testing.assert_close(found, expected)
    assert torch.autograd.gradcheck(einsum, tensors)
    assert torch.autograd.gradgradcheck(einsum, tensors)


def test_an_epilogue_of_halves_for_some_tensors(client):
    einsum = mdh.torch.einsum("ik,kj->ij", client=client, accumulate=fp32, epilogue="max(out + bias[j], 0)")
    a, b, bias = torch.rand(3, 4).half(), torch.rand(4, 5).half().requires_grad_(), torch.rand(5).half()
    found = einsum(a, b, bias)
    torch.testing.assert_close(found, ((a.float() @ b.float()) + bias.float()).relu().half())
    found.sum().backward()
    assert b.grad.dtype == torch.float16
    torch.testing.assert_close(b.grad, a.T @ torch.ones(3, 5).half())


def test_an_epilogue_that_does_not_need_the_sums(client):
    x, bias = torch.rand(4, requires_grad=True), torch.rand(4, requires_grad=True)
    mdh.torch.einsum("i->i", client=client, epilogue="2 * bias[i]")(x, bias).sum().backward()
    assert x.grad is None and (bias.grad == 2).all()


def test_epilogues_that_do_not_fit(client):
    with pytest.raises(mdh.ExpressionError, match="an epilogue names dimensions by their letters"):
        mdh.torch.einsum("...i->...", client=client, epilogue="out + 1")
    with pytest.raises(mdh.ExpressionError, match="is no expression of Python"):
        mdh.torch.einsum("ik->i", client=client, epilogue="out +")
    einsum = mdh.torch.einsum("ik->i", client=client, epilogue="out + bias[i]")
    with pytest.raises(mdh.ExpressionError, match=r"'bias' of .* has the shape \(4,\), but .* \(3,\)"):
        einsum(torch.rand(3, 5), torch.rand(4))
    with pytest.raises(mdh.ExpressionError, match=r"'bias' of .* has the shape \(2,\), but .* \(3,\)"):
        einsum(torch.rand(3, 5).to("meta"), torch.rand(2).to("meta"))
    with pytest.raises(mdh.ExpressionError, match="have the types"):
        einsum(torch.rand(3, 5), torch.rand(3).double())


def test_second_derivatives(client):
    dot = mdh.torch.einsum("i,i->", client=client)
    x = torch.rand(4, dtype=torch.float64, requires_grad=True)
    y = torch.rand(4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(dot, (x, y))


def test_it_is_a_proper_operator(matmul):
    inputs = (torch.rand(4, 5, requires_grad=True), torch.rand(5, 6, requires_grad=True))
    assert set(torch.library.opcheck(matmul, inputs).values()) == {"SUCCESS"}


def test_under_torch_compile(matmul):
    function = torch.compile(lambda a, b: matmul(a, b).relu() + 1, fullgraph=True,
                             backend="aot_eager")
    a, b = torch.rand(6, 7, requires_grad=True), torch.rand(7, 8)
    result = function(a, b)
    torch.testing.assert_close(result, (a @ b).relu() + 1)
    result.sum().backward()
    torch.testing.assert_close(a.grad, torch.ones(6, 8) @ b.T)


def test_an_expression_of_several_outputs_and_types(client):
    function = mdh.torch.operator("mdh_test::sum_and_max", examples.sum_and_max(4, 5),
                                  client=client)
    x = torch.rand(4, 5)
    outputs = function(x)
    assert isinstance(outputs, (tuple, list)) and len(outputs) == 2

    total = mdh.torch.operator("mdh_test::total", figure16.reduce_(7), client=client)
    assert total(torch.arange(7, dtype=torch.float32)).item() == 21
    with pytest.raises(mdh.ExpressionError, match="'x' has elements of type int32, but .* fp32"):
        total(torch.arange(7, dtype=torch.int32))
    with pytest.raises(mdh.ExpressionError, match=r"'x' has shape \(6,\), but the kernel expects \(7,\)"):
        total(torch.ones(6))
    for wrong in (torch.ones(6), torch.ones(7, dtype=torch.int32)):
        with pytest.raises((TypeError, ValueError), match="the argument 'x' has"):
            total(wrong.to("meta"))
    with pytest.raises(mdh.ExpressionError, match="has no input: an operator needs one"):
        mdh.torch.operator("mdh_test::none", figure16.mandelbrot(4, 6), client=client)
    with pytest.raises(mdh.ExpressionError, match="has elements that tensors do not have"):
        mdh.torch.operator("mdh_test::records", examples.heaviest(3, 4), client=client)


def test_a_pipeline_is_an_operator(client):
    @mdh.pipeline
    def two_products(a, b, c):
        product = mdh.einsum("ik,kj->ij", i=4, j=6, k=5)(a, b)
        return mdh.einsum("ik,kj->ij", i=4, j=3, k=6)(product, c)

    function = mdh.torch.operator("mdh_test::two_products", two_products, client=client)
    a, b, c = torch.rand(4, 5), torch.rand(5, 6), torch.rand(6, 3)
    torch.testing.assert_close(function(a, b, c), a @ b @ c)
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(a, b, c), a @ b @ c)
    with pytest.raises(mdh.ExpressionError, match=r"'c' has shape \(3, 6\), but the kernel expects \(6, 3\)"):
        function(a, b, c.T)


def test_what_only_a_store_function_reads_is_an_input_behind_the_others(client):
    function = mdh.torch.operator("mdh_test::dense", examples.dense_loops(fp32, 3, 4, 5), client=client)
    x, w, bias, skip = torch.rand(3, 5), torch.rand(5, 4), torch.rand(4), torch.rand(3, 4)
    torch.testing.assert_close(function(x, w, bias, skip), (x @ w + bias).relu() + skip)


def test_tensors_that_do_not_fit(matmul):
    for tensors, message in (
            ((torch.rand(3), torch.rand(3, 4)), "the operand 'ik' of 'ik,kj->ij' has 1 dim"),
            ((torch.rand(3, 4), torch.rand(5, 6)), "'k' of 'ik,kj->ij' is 4 in one operand and 5"),
            ((torch.rand(3, 4), torch.rand(4, 5).double()), "have the types torch.float32, torch.f"),
            ((torch.rand(3, 4).cfloat(),) * 2, "'k' of|have the types")):
        with pytest.raises(mdh.ExpressionError, match=message):
            matmul(*tensors)
    with pytest.raises(mdh.ExpressionError, match="kernels come from a client or from a bundle"):
        mdh.torch.einsum("i->i")
    with pytest.raises(mdh.ExpressionError, match="'j' is in the output"):
        mdh.torch.einsum("i->j", client=object())


def test_dimensions_without_letters_may_be_any(client):
    function = mdh.torch.einsum("...ik,kj->...ij", client=client)
    b = torch.rand(4, 5)
    for shape in ((3, 4), (2, 3, 4), (1, 2, 3, 4), (6, 2, 3, 4)):
        a = torch.rand(shape)
        torch.testing.assert_close(function(a, b), a @ b)
    with pytest.raises(mdh.ExpressionError, match="lacks '...'"):
        mdh.torch.einsum("...i->i", client=client)(torch.rand(2, 3))
    with pytest.raises(mdh.ExpressionError, match="is no letter"):
        mdh.torch.einsum("...i,1->i", client=client)


def test_the_output_has_a_type_of_its_own(client):
    a, b = torch.rand(3, 4).half().requires_grad_(), torch.rand(4, 5).half()
    for out_dtype in (torch.float32, mdh.fp32):
        c = mdh.torch.einsum("ik,kj->ij", client=client, out_dtype=out_dtype)(a, b)
        assert c.dtype == torch.float32
        torch.testing.assert_close(c, a.float() @ b.float())
        c.sum().backward()
        assert a.grad.dtype == torch.float16


def test_gradients_of_diagonals_are_refused(client):
    trace = mdh.torch.einsum("ii->i", client=client)
    x = torch.rand(3, 3, requires_grad=True)
    with pytest.raises(mdh.ExpressionError, match="an operand has a letter twice"):
        trace(x).sum().backward()


def test_from_a_bundle_without_a_daemon(client, daemon, tmp_path):
    program = pathlib.Path(os.environ["MDH_BIN"]) / "mdh"
    client.tune(mdh.einsum("ik,kj->ij", i=11, j=12, k=13), max_trials=1)
    subprocess.run([str(program), "--server", daemon.address, "admin", "export",
                    str(tmp_path / "bundle")], check=True)
    with mdh.Bundle(tmp_path / "bundle") as bundle:
        function = mdh.torch.einsum("ik,kj->ij", bundle=bundle)
        a, b = torch.rand(11, 13), torch.rand(13, 12)
        torch.testing.assert_close(function(a, b), a @ b)
        with pytest.raises(mdh.NotFoundError):
            function(a.T, torch.rand(11, 12))


def test_the_example_replaces_a_layer(client, daemon):
    program = pathlib.Path(__file__).resolve().parents[2] / "client" / "examples" / "torch_layer.py"
    path = os.pathsep.join([str(pathlib.Path(mdh.__file__).parents[1]), *sys.path])
    ran = subprocess.run([sys.executable, "-B", str(program)], capture_output=True, text=True,
                         env={**os.environ, "MDH_SERVER": daemon.address, "PYTHONPATH": path})
    assert ran.returncode == 0, ran.stderr
    assert "cpu: results and gradients agree" in ran.stdout
