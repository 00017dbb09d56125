"""Repeated calls of operators of PyTorch with a CUDA kernel, on a driver that computes on the CPU."""

import ctypes
import dataclasses
import threading
import types

import pytest
from test_cuda_kernel import FakeCompiler, FakeDriver

import mdh
from mdh.kernels.kernel_file import KernelArgument, KernelLaunch

torch = pytest.importorskip("torch")
if not hasattr(torch.library, "register_fake"):
    pytest.skip("this PyTorch is older than 2.4", allow_module_level=True)

import mdh.torch  # noqa: E402
import mdh.torch.computation  # noqa: E402

SIZE = 32
BYTES = 4 * SIZE


class ComputingDriver(FakeDriver):
    """Runs both stages of the product x[i] * y[i], which goes through scratch memory."""

    def __init__(self):
        super().__init__()
        self.streams = []
        self.together = None  # threads wait for each other here, before every stage

    def device_of(self, pointer):
        return 0

    def launch(self, function, grid, block, dynamic_shared_bytes, stream, values, **options):
        if self.together:
            self.together.wait()
        x, y, z, scratch = [(ctypes.c_float * SIZE).from_address(
            ctypes.c_uint64.from_address(value).value) for value in values]
        self.streams.append(stream)
        if function == 11:
            scratch[:] = [a * b for a, b in zip(x, y)]
        else:
            z[:] = scratch


class Source:
    """In place of a KernelSource: gives the CUDA kernel, though the tensors are on the CPU."""

    def __init__(self):
        self.driver = ComputingDriver()
        self.loads = 0

    def load(self, expression, device):
        self.loads += 1
        kernel = types.SimpleNamespace(
            entry="k", language="CUDA C++", source="", compile_options=(), scratch_bytes=BYTES,
            arguments=tuple(KernelArgument(name, "fp32", SIZE, BYTES, name == "z")
                            for name in ("x", "y", "z")),
            launches=tuple(KernelLaunch(name, (1, 1, 1), (SIZE, 1, 1), 0)
                           for name in ("fill", "add")))
        return mdh.CudaKernel(kernel, driver=self.driver, nvrtc=FakeCompiler())


@pytest.fixture
def views(monkeypatch):
    """Tensors look as if they were on a GPU. Counts looks at them."""
    real, looks = mdh.arguments.view_of, []

    def view_of(array, name):
        looks.append(name)
        return dataclasses.replace(real(array, name), is_on_gpu=True)

    monkeypatch.setattr(mdh.arguments, "view_of", view_of)
    return looks


@pytest.fixture
def stream(monkeypatch):
    """The current stream of each thread."""
    current = threading.local()
    current.handle = 5
    monkeypatch.setattr(mdh.torch.computation, "raw_stream", lambda index: current.handle)
    return current


@pytest.fixture
def source(views, stream):
    return Source()


@pytest.fixture
def product(source):
    return mdh.torch.einsum("i,i->i", source=source)


def tensor(first=0):
    return torch.arange(float(first), float(first + SIZE))


def test_pointers_change_between_calls(product, source, views):
    kept = []
    for first in range(5):
        x, y = tensor(first), tensor(10 * first)
        kept.append((x, y, product(x, y)))
    for x, y, z in kept:
        torch.testing.assert_close(z, x * y)
    assert len({z.data_ptr() for _, _, z in kept}) == 5
    assert source.loads == 1
    assert views == ["x", "y", "z", "scratch"]  # at the first call alone


def test_tensors_of_later_calls_are_copied_where_the_kernel_needs_it(product, source):
    y = tensor(7)
    for x in (tensor(), torch.arange(64.0)[::2], torch.arange(64.0)[1:33], tensor(3).expand(32),
              torch.tensor(2.0).expand(32), tensor()):
        torch.testing.assert_close(product(x, y), x * y)
        torch.testing.assert_close(product(y, x), x * y)
    assert source.loads == 1


def test_the_first_tensors_may_be_unaligned(product):
    x = torch.arange(64.0)[1:33]
    torch.testing.assert_close(product(x, x), x * x)


def test_tensors_without_memory_are_refused_at_every_call(product):
    for _ in range(2):
        freed = tensor()
        freed.untyped_storage().resize_(0)
        with pytest.raises(mdh.ExpressionError, match="'y' starts at 0x0"):
            product(tensor(), freed)
        product(tensor(), tensor())


def test_tensors_that_the_kernel_does_not_expect_are_refused(product):
    for _ in range(2):
        with pytest.raises(mdh.ExpressionError, match="'x' has elements of type fp64, but .* fp32"):
            product(tensor().double(), tensor().double())
        with pytest.raises(mdh.ExpressionError, match="'x' has 124 bytes, but the kernel expects 1"):
            product(tensor()[:31], tensor()[:31])
        product(tensor(), tensor())


def test_tensors_of_another_gpu_are_refused(product, source, monkeypatch):
    monkeypatch.setattr(source.driver, "device_of", lambda pointer: 1)
    for _ in range(2):
        with pytest.raises(mdh.ExpressionError, match="'x' is on GPU 1, but the kernel runs on GPU 0"):
            product(tensor(), tensor())


def test_the_current_stream_is_that_of_the_call(product, source, stream):
    for handle in (5, 9, 0, 5):
        stream.handle = handle
        product(tensor(), tensor())
    assert source.driver.streams == [5, 5, 9, 9, 0, 0, 5, 5]


def test_threads_call_at_once(product, source, stream):
    product(tensor(), tensor())
    source.driver.together = threading.Barrier(2, timeout=10)
    results = {}

    def repeat(number):
        stream.handle = number
        x = tensor(number)
        results[number] = [(product(x + n, x), (x + n) * x) for n in range(20)]

    threads = [threading.Thread(target=repeat, args=(number,)) for number in (100, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in (100, 200):
        for result, expected in results[number]:
            torch.testing.assert_close(result, expected)
    assert sorted(source.driver.streams[2:]) == [100] * 40 + [200] * 40


def test_gradients_and_the_ways_to_need_none(product):
    x, y = tensor(1).requires_grad_(), tensor(2)
    for expected, result in ((True, product(x, y)), (False, product(x.detach(), y))):
        assert result.requires_grad == expected
        torch.testing.assert_close(result, x * y, check_device=False)
    with torch.no_grad():
        assert not product(x, y).requires_grad
    with torch.inference_mode():
        assert product(x, y).is_inference()
    gradient, = torch.autograd.grad(product(x, y), x, torch.ones(SIZE))
    torch.testing.assert_close(gradient, y)


def test_views_that_are_lazily_negated_are_computed_as_they_look(product):
    x, y = tensor(1), tensor(2)
    torch.testing.assert_close(product(torch._neg_view(x), y), -x * y)


def test_the_dispatcher_is_asked_where_more_than_a_computation_is_wanted(product, source):
    product(tensor(), tensor())
    stages = len(source.driver.streams)
    meta = product(tensor().to("meta"), tensor().to("meta"))
    assert meta.is_meta and meta.shape == (SIZE,)
    graph = torch.fx.experimental.proxy_tensor.make_fx(product, tracing_mode="fake")(
        tensor(), tensor())
    assert "mdh.einsum_" in graph.code
    assert len(source.driver.streams) == stages


def test_streams_without_the_short_way_of_pytorch(monkeypatch):
    monkeypatch.setattr(torch.cuda, "current_stream",
                        lambda index: types.SimpleNamespace(cuda_stream=10 + index))
    assert mdh.torch.computation._stream_of_object(2) == 12
