"""Kernels launched from Python: on a driver that remembers calls, and on a GPU if there is one."""

import ctypes
import json

import pytest

import mdh

SOURCE = """
extern "C" __global__ void fill(const float* x, float* y, char* scratch) {
  y[threadIdx.x] = 2 * x[threadIdx.x];
}
extern "C" __global__ void add(const float* x, float* y, char* scratch) {
  extern __shared__ float shared[];
  shared[threadIdx.x] = y[threadIdx.x];
  y[threadIdx.x] = shared[threadIdx.x] + 1;
}
"""


def information(**changes):
    """What `mdh kernel` writes of SOURCE."""
    argument = {"type": "fp32", "elements": 32, "size_bytes": 128}
    return {
        "language": "CUDA C++", "source": "k.cu", "entry": "k", "stages": 2,
        "launches": [
            {"function": "fill", "grid": [1, 1, 1], "block": [32, 1, 1], "dynamic_shared_bytes": 0},
            {"function": "add", "grid": [1, 1, 1], "block": [32, 1, 1],
             "dynamic_shared_bytes": 60000}],
        "scratch": {"bytes": 64, "alignment_bytes": 64},
        "arguments": [{**argument, "name": "x", "is_output": False},
                      {**argument, "name": "y", "is_output": True}],
        "compile_options": ["--std=c++17"], **changes}


@pytest.fixture
def write(tmp_path):
    """Writes a kernel; gives the path of its JSON file."""

    def write_kernel(source=SOURCE, **changes):
        (tmp_path / "k.cu").write_text(source)
        (tmp_path / "k.json").write_text(json.dumps(information(**changes)))
        return tmp_path / "k.json"

    return write_kernel


@pytest.fixture(scope="module")
def nvrtc():
    try:
        return mdh.Nvrtc()
    except mdh.FailedPreconditionError as error:
        pytest.skip(str(error))


@pytest.fixture
def gpu():
    try:
        driver = mdh.CudaDriver()
        driver.use_context()
        return driver
    except (mdh.FailedPreconditionError, mdh.CudaError) as error:
        pytest.skip(f"no GPU: {error}")


class FakeCompiler:
    def compile(self, source, *, name, capability, options=()):
        self.call = (source, name, capability, tuple(options))
        return b"image"


class FakeDriver:
    """Remembers what is called, in order."""

    def __init__(self):
        self.calls = []

    def use_context(self, device=0):
        self.calls.append(("use_context", device))

    def capability(self):
        return 90

    def current_device(self):
        return 0

    def device_of(self, pointer):
        return pointer >> 40

    def load_module(self, image):
        self.calls.append(("load_module", image))
        return 7

    def unload_module(self, module):
        self.calls.append(("unload_module", module))

    def function(self, module, name):
        assert module == 7
        return {"fill": 11, "add": 12}[name]

    def allow_dynamic_shared(self, function, size_bytes):
        self.calls.append(("allow_dynamic_shared", function, size_bytes))

    def resources(self, function):
        return {11: (20, 0, 0), 12: (255, 16, 32)}[function]

    def allocate(self, size_bytes):
        self.calls.append(("allocate", size_bytes))
        return 4096

    def free(self, pointer):
        self.calls.append(("free", pointer))

    def launch(self, function, grid, block, dynamic_shared_bytes, stream, values):
        pointers = [ctypes.c_uint64.from_address(v).value for v in values]
        self.calls.append(("launch", function, grid, block, dynamic_shared_bytes, stream, pointers))


class Array:
    """What torch and cupy have."""

    def __init__(self, pointer, shape=(32,), typestr="<f4", strides=None, is_read_only=False):
        self.__cuda_array_interface__ = {"shape": shape, "typestr": typestr, "strides": strides,
                                         "data": (pointer, is_read_only), "version": 3}


class OnTheCpu:
    """What numpy has."""

    __array_interface__ = {"shape": (32,), "typestr": "<f4", "data": (64, False), "version": 3}


def load(path, driver=None):
    return mdh.CudaKernel(mdh.read_kernel(path), driver=driver or FakeDriver(),
                          nvrtc=FakeCompiler())


def test_a_kernel_is_read_from_its_files(write):
    kernel = mdh.read_kernel(write())
    assert kernel.source == SOURCE
    assert [a.name for a in kernel.arguments] == ["x", "y"]
    assert kernel.launches[1] == mdh.KernelLaunch("add", (1, 1, 1), (32, 1, 1), 60000)
    assert kernel.scratch_bytes == 64
    assert kernel.information["stages"] == 2


def test_files_that_are_no_kernels_are_named(write, tmp_path):
    with pytest.raises(mdh.ExpressionError, match="cannot read .*nothing.json: No such file"):
        mdh.read_kernel(tmp_path / "nothing.json")
    path = write()
    content = information()
    del content["launches"]
    path.write_text(json.dumps(content))
    with pytest.raises(mdh.ExpressionError, match="k.json has no entry 'launches': it must desc"):
        mdh.read_kernel(path)
    path.write_text("{")
    with pytest.raises(mdh.ExpressionError, match="is not what `mdh kernel` writes"):
        mdh.read_kernel(path)
    path.write_text(json.dumps(information(arguments=[3])))
    with pytest.raises(mdh.ExpressionError, match="is not what `mdh kernel` writes"):
        mdh.read_kernel(path)


def test_all_stages_are_launched_with_all_arguments(write):
    driver = FakeDriver()
    kernel = load(write(), driver)
    kernel(Array(1 << 20), 2 << 20, stream=5)
    assert driver.calls == [
        ("use_context", 0), ("load_module", b"image"), ("allow_dynamic_shared", 12, 60000),
        ("allocate", 64),
        ("launch", 11, (1, 1, 1), (32, 1, 1), 0, 5, [1 << 20, 2 << 20, 4096]),
        ("launch", 12, (1, 1, 1), (32, 1, 1), 60000, 5, [1 << 20, 2 << 20, 4096])]


def test_a_prepared_launch_and_the_callers_scratch_memory(write):
    driver = FakeDriver()
    launch = load(write(), driver).prepare(1 << 20, 2 << 20, scratch=8192)
    launch()
    launch(9)
    launches = [call for call in driver.calls if call[0] == "launch"]
    assert [call[5] for call in launches] == [0, 0, 9, 9]
    assert all(call[6][2] == 8192 for call in launches)
    assert not any(call[0] == "allocate" for call in driver.calls)


def test_a_kernel_without_scratch_memory(write):
    driver = FakeDriver()
    load(write(scratch={"bytes": 0}), driver)(1 << 20, 2 << 20)
    assert driver.calls[-1][6] == [1 << 20, 2 << 20]


def test_streams_of_other_packages(write):
    class OfTorch:
        cuda_stream = 3

    class OfCupy:
        ptr = 4

    class OfCudaCore:
        def __cuda_stream__(self):
            return (0, 6)

    driver = FakeDriver()
    launch = load(write(), driver).prepare(1 << 20, 2 << 20)
    for stream in (OfTorch(), OfCupy(), OfCudaCore(), None, 8):
        launch(stream)
    assert [call[5] for call in driver.calls if call[0] == "launch"][::2] == [3, 4, 6, 0, 8]
    with pytest.raises(mdh.ExpressionError, match="'no' is no stream"):
        launch("no")


def test_arguments_that_do_not_fit_are_named(write):
    kernel = load(write())
    good = 1 << 20
    for arguments, message in (
            ((good,), r"k has 2 arguments \(x, y\), not 1"),
            ((good, None), "the argument 'y' is None, not memory of a GPU"),
            ((good, True), "the argument 'y' is True"),
            ((good, "y"), "the argument 'y' is a str, which is no array"),
            ((good, 0), "the argument 'y' starts at 0x0"),
            ((good + 4, good), "the argument 'x' starts at 0x100004: .* aligned to 16 bytes"),
            ((Array(good, (31,)), good), "'x' has 124 bytes, but the kernel expects 128"),
            ((good, Array(good, (8, 4), strides=(4, 32))), "the argument 'y' is not contiguous"),
            ((good, Array(good, (32,), "<i4")), "'y' has elements of type int32, but .* fp32"),
            ((good, Array(good, (32,), ">f4")), "'y' has elements of type unknown, but .* fp32"),
            ((good, Array(1 << 40)), "'y' is on GPU 1, but the kernel runs on GPU 0"),
            ((good, Array(good, is_read_only=True)), "'y' is an output, but the array is read-only"),
            ((good, OnTheCpu()), "'y' is a OnTheCpu in memory of the CPU, but")):
        with pytest.raises(mdh.ExpressionError, match=message):
            kernel(*arguments)
    kernel(Array(good, (8, 1, 4), strides=(16, 999, 4), is_read_only=True), Array(good, (33,)))


def test_other_languages_are_refused(write):
    with pytest.raises(mdh.ExpressionError, match="k is in OpenCL C, not in CUDA C"):
        load(write(language="OpenCL C"))


def test_resources_and_close(write):
    driver = FakeDriver()
    with load(write(), driver) as kernel:
        assert kernel.resources() == [mdh.FunctionResources("fill", 20, 0, 0),
                                      mdh.FunctionResources("add", 255, 16, 60032)]
        kernel(1 << 20, 2 << 20)
    assert driver.calls[-2:] == [("free", 4096), ("unload_module", 7)]
    kernel.close()
    assert driver.calls[-2:] == [("free", 4096), ("unload_module", 7)]


class FakeLibrary:
    """libcuda, of which one call fails."""

    def __init__(self, failing=""):
        self._failing = failing

    def __getattr__(self, name):
        if name == "cuGetErrorName":
            return lambda code, text: self._text(text, b"CUDA_ERROR_NO_DEVICE")
        if name == "cuGetErrorString":
            return lambda code, text: self._text(text, b"no device")
        return lambda *arguments: 100 if name == self._failing else 0

    @staticmethod
    def _text(target, text):
        ctypes.cast(target, ctypes.POINTER(ctypes.c_char_p))[0] = text
        return 0


def test_calls_of_the_driver_that_fail_are_named():
    with pytest.raises(mdh.CudaError, match="cuInit: CUDA_ERROR_NO_DEVICE, no device") as caught:
        mdh.CudaDriver(FakeLibrary("cuInit"))
    assert caught.value.number == 100
    driver = mdh.CudaDriver(FakeLibrary("cuMemAlloc_v2"))
    with pytest.raises(mdh.CudaError, match="cuMemAlloc_v2: "):
        driver.allocate(5)
    driver = mdh.CudaDriver(FakeLibrary("cuLaunchKernel"))
    with pytest.raises(mdh.CudaError, match="cuLaunchKernel: "):
        driver.launch(1, (1, 1, 1), (1, 1, 1), 0, 0, None)


def test_without_a_driver_or_a_compiler_the_error_says_so(monkeypatch):
    def refuse(name):
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    with pytest.raises(mdh.FailedPreconditionError, match="there is no CUDA driver: libcuda.so.1"):
        mdh.CudaDriver()
    with pytest.raises(mdh.FailedPreconditionError, match="NVRTC was not found; tried libnvrtc.so"):
        mdh.Nvrtc()


def test_nvrtc_compiles(nvrtc):
    major, minor = nvrtc.version().split(".")
    assert int(major) >= 11 and minor.isdigit()
    image = nvrtc.compile(SOURCE, name="k.cu", capability=90, options=["--std=c++17"])
    assert image.startswith(b"\x7fELF")


def test_nvrtc_says_what_does_not_compile(nvrtc):
    with pytest.raises(mdh.ExpressionError, match=r"(?s)k.cu does not compile:.*k.cu\(1\)"):
        nvrtc.compile("nothing", name="k.cu", capability=90)
    with pytest.raises(mdh.InternalError, match="nvrtcCompileProgram: .*"):
        nvrtc.compile(SOURCE, name="k.cu", capability=90, options=["--no-such-option"])


def test_a_kernel_computes_on_a_gpu(gpu, nvrtc, write):
    library = ctypes.CDLL("libcuda.so.1")
    x, y = gpu.allocate(128), gpu.allocate(128)
    data = (ctypes.c_float * 32)(*range(32))
    assert library.cuMemcpyHtoD_v2(ctypes.c_uint64(x), data, ctypes.c_size_t(128)) == 0
    with mdh.CudaKernel(mdh.read_kernel(write()), driver=gpu, nvrtc=nvrtc) as kernel:
        assert kernel.resources()[0].registers > 0
        kernel(x, y)
        assert library.cuMemcpyDtoH_v2(data, ctypes.c_uint64(y), ctypes.c_size_t(128)) == 0
    assert list(data) == [2 * i + 1 for i in range(32)]
    gpu.free(x)
    gpu.free(y)
