"""Kernels on a GPU, on the arrays of other packages; what is missing is skipped.

    MDH_BIN=build/release/bin python3 -m pytest tests/python/test_gpu_kernels.py -rs
"""

import types

import pytest

import mdh
from mdh.kernels.kernel_file import KernelArgument, KernelLaunch

SIZE = 32


def kernel(type_name="fp32", c_type="float", header=""):
    """y = 2 x, for 32 elements."""
    size_bytes = SIZE * {"float": 4, "double": 8, "int": 4, "__half": 2, "__nv_bfloat16": 2}[c_type]
    source = f"""{header}
extern "C" __global__ void doubled(const {c_type}* x, {c_type}* y) {{
  y[threadIdx.x] = x[threadIdx.x] + x[threadIdx.x];
}}"""
    return types.SimpleNamespace(
        entry="doubled", language="CUDA C++", source=source, compile_options=("--std=c++17",),
        arguments=(KernelArgument("x", type_name, SIZE, size_bytes, False),
                   KernelArgument("y", type_name, SIZE, size_bytes, True)),
        launches=(KernelLaunch("doubled", (1, 1, 1), (SIZE, 1, 1), 0),), scratch_bytes=0)


@pytest.fixture(scope="module")
def gpu():
    try:
        driver = mdh.CudaDriver()
        driver.use_context()
        mdh.Nvrtc()
    except (mdh.FailedPreconditionError, mdh.CudaError) as error:
        pytest.skip(f"no GPU: {error}")
    return driver


@pytest.fixture(scope="module")
def torch(gpu):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    return torch


@pytest.fixture(scope="module")
def doubled(gpu):
    return mdh.CudaKernel(kernel())


@pytest.fixture
def gpu_client(gpu, client):
    names = [device.name for device in client.devices().devices]
    if "devices/cuda0" not in names:
        pytest.skip(f"the daemon has no GPU, but {', '.join(names)}")
    return client


class OnlyDlpack:
    """A tensor without __cuda_array_interface__."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_torch(torch, doubled):
    x, y = torch.arange(32.0, device="cuda"), torch.zeros(32, device="cuda")
    doubled(x, y)
    torch.testing.assert_close(y, 2 * x)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        z = torch.zeros(32, device="cuda")
        doubled(y, z, stream=stream)
    stream.synchronize()
    torch.testing.assert_close(z, 4 * x)


def test_dlpack(torch, doubled):
    x, y = torch.arange(32.0, device="cuda"), torch.zeros(4, 8, device="cuda")
    launch = doubled.prepare(OnlyDlpack(x), OnlyDlpack(y))
    launch(torch.cuda.current_stream())
    torch.testing.assert_close(y.flatten(), 2 * x)
    with pytest.raises(mdh.ExpressionError, match="'x' is not contiguous"):
        doubled(OnlyDlpack(torch.zeros(32, 2, device="cuda")[:, 0]), OnlyDlpack(y))


def test_half_types(torch, gpu):
    for name, c_type, dtype, header in (
            ("fp16", "__half", torch.float16, "#include <cuda_fp16.h>"),
            ("bf16", "__nv_bfloat16", torch.bfloat16, "#include <cuda_bf16.h>")):
        x = torch.arange(32, device="cuda", dtype=dtype)
        y = torch.zeros_like(x)
        try:
            made = mdh.CudaKernel(kernel(name, c_type, header))
        except mdh.ExpressionError as error:
            pytest.skip(f"NVRTC lacks CUDA's headers: {error}")
        with made:
            made(x, y)
            torch.testing.assert_close(y, 2 * x)
            with pytest.raises(mdh.ExpressionError, match=f"'x' has elements of type fp32, but .*{name}"):
                made(x.float(), y)


def test_tensors_that_do_not_fit_are_named(torch, doubled):
    x, y = torch.zeros(32, device="cuda"), torch.zeros(32, device="cuda")
    for arguments, message in (
            ((x.cpu(), y), "'x' is a Tensor in memory of the CPU"),
            ((x.double(), y), "'x' has elements of type fp64, but the kernel expects fp32"),
            ((x[:31], y), "'x' has 124 bytes, but the kernel expects 128"),
            ((torch.zeros(64, device="cuda")[::2], y), "'x' is not contiguous"),
            ((torch.zeros(64, device="cuda")[1:33], y), "aligned to 16 bytes")):
        with pytest.raises(mdh.ExpressionError, match=message):
            doubled(*arguments)


def test_tensors_of_another_gpu_are_refused(torch, doubled):
    if torch.cuda.device_count() < 2:
        pytest.skip("there is one GPU")
    with pytest.raises(mdh.ExpressionError, match="'x' is on GPU 1, but the kernel runs on GPU 0"):
        doubled(torch.zeros(32, device="cuda:1"), torch.zeros(32, device="cuda:0"))


def test_cuda_graphs(torch, doubled):
    x, y = torch.arange(32.0, device="cuda"), torch.zeros(32, device="cuda")
    doubled(x, y)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        doubled(x, y, stream=torch.cuda.current_stream())
    x.fill_(3)
    graph.replay()
    torch.cuda.synchronize()
    assert y.tolist() == [6] * 32


def test_cupy(gpu, doubled):
    cupy = pytest.importorskip("cupy")
    x, y = cupy.arange(32, dtype=cupy.float32), cupy.zeros(32, cupy.float32)
    doubled(x, y, stream=cupy.cuda.get_current_stream())
    assert (y == 2 * x).all()


def test_jax(gpu, doubled, torch):
    jax = pytest.importorskip("jax")
    try:
        x = jax.device_put(jax.numpy.arange(32, dtype=jax.numpy.float32), jax.devices("cuda")[0])
    except RuntimeError as error:
        pytest.skip(f"this JAX has no GPU: {error}")
    x.block_until_ready()
    y = torch.zeros(32, device="cuda")
    doubled(x, y)
    assert y.tolist() == [2.0 * n for n in range(32)]
    # Arrays of JAX never change.
    with pytest.raises(mdh.ExpressionError, match="is an output, but|no memory|read-only"):
        doubled(y, x)


def test_a_contraction_of_torch(torch, gpu_client):
    import mdh.torch

    for subscripts, shapes in (("ik,kj->ij", ((64, 128), (128, 96))),
                               ("bik,bkj->bij", ((4, 32, 48), (4, 48, 16))),
                               ("ij->i", ((100, 1000),))):
        function = mdh.torch.einsum(subscripts, client=gpu_client)
        tensors = [torch.rand(shape, device="cuda", requires_grad=True) for shape in shapes]
        result, expected = function(*tensors), torch.einsum(subscripts, *tensors)
        torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)
        gradients = torch.autograd.grad(result.sum(), tensors)
        for gradient, wanted in zip(gradients, torch.autograd.grad(expected.sum(), tensors)):
            torch.testing.assert_close(gradient, wanted, rtol=1e-4, atol=1e-4)


def test_a_contraction_under_torch_compile(torch, gpu_client):
    import mdh.torch

    matmul = mdh.torch.einsum("ik,kj->ij", client=gpu_client)
    function = torch.compile(lambda a, b: torch.relu(matmul(a, b)) + 1, fullgraph=True)
    a, b = torch.rand(64, 32, device="cuda"), torch.rand(32, 48, device="cuda")
    torch.testing.assert_close(function(a, b), torch.relu(a @ b) + 1, rtol=1e-4, atol=1e-4)
    half = mdh.torch.einsum("ik,kj->ij", client=gpu_client, accumulate=mdh.fp32)
    a, b = a.half(), b.half()
    torch.testing.assert_close(half(a, b), a @ b, rtol=1e-2, atol=1e-2)


def test_a_contraction_on_another_gpu_than_the_current_one(torch, gpu_client):
    import mdh.torch

    if torch.cuda.device_count() < 2:
        pytest.skip("there is one GPU")
    matmul = mdh.torch.einsum("ik,kj->ij", client=gpu_client)
    a, b = torch.rand(32, 16, device="cuda:1"), torch.rand(16, 24, device="cuda:1")
    torch.testing.assert_close(matmul(a, b), a @ b, rtol=1e-4, atol=1e-4)


def test_repeated_calls_of_a_contraction(torch, gpu_client):
    import mdh.torch

    matmul = mdh.torch.einsum("ik,kj->ij", client=gpu_client)
    b = torch.rand(32, 16, device="cuda")
    for a in (torch.rand(64, 32, device="cuda"), torch.rand(32, 64, device="cuda").T,
              torch.rand(64 * 32 + 1, device="cuda")[1:].view(64, 32),  # not aligned
              torch.rand(1, 32, device="cuda").expand(64, 32), torch.rand(64, 32, device="cuda")):
        torch.testing.assert_close(matmul(a, b), a @ b, rtol=1e-4, atol=1e-4)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        a = torch.full((64, 32), 2.0, device="cuda")
        torch.cuda._sleep(10_000_000)
        a.fill_(3)
        c = matmul(a, b)  # comes after what is in this stream
    stream.synchronize()
    torch.testing.assert_close(c, a @ b, rtol=1e-4, atol=1e-4)


def test_a_contraction_in_a_cuda_graph(torch, gpu_client):
    import mdh.torch

    matmul = mdh.torch.einsum("ik,kj->ij", client=gpu_client)
    a, b = torch.rand(64, 32, device="cuda"), torch.rand(32, 16, device="cuda")
    matmul(a, b)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        c = matmul(a, b)
    a.fill_(3)
    graph.replay()
    torch.testing.assert_close(c, a @ b, rtol=1e-4, atol=1e-4)


def test_contractions_in_threads(torch, gpu_client):
    import threading

    import mdh.torch

    matmul = mdh.torch.einsum("ik,kj->ij", client=gpu_client)
    tensors = [(torch.rand(64, 32, device="cuda"), torch.rand(32, 16, device="cuda"))
               for _ in range(4)]
    expected = [a @ b for a, b in tensors]
    matmul(*tensors[0])
    torch.cuda.synchronize()
    results = {}

    def repeat(number):  # the first call of a thread that has no context
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            results[number] = [matmul(*tensors[number]) for _ in range(50)]
        stream.synchronize()

    threads = [threading.Thread(target=repeat, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, wanted in enumerate(expected):
        assert len(results[number]) == 50
        for result in results[number]:
            torch.testing.assert_close(result, wanted, rtol=1e-4, atol=1e-4)


def test_a_launch_in_a_thread_without_a_context(torch, doubled):
    import threading

    x, y = torch.arange(32.0, device="cuda"), torch.zeros(32, device="cuda")
    torch.cuda.synchronize()
    launch, errors = doubled.launcher(), []

    def call():
        try:
            launch([x.data_ptr(), y.data_ptr()], 0)
        except mdh.CudaError as error:
            errors.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert errors == []
    torch.cuda.synchronize()
    torch.testing.assert_close(y, 2 * x)
