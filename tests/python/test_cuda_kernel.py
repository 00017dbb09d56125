"""Kernels launched from Python: on a driver that remembers calls, and on a GPU if there is one."""

import contextlib
import ctypes
import json
import struct
import threading

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
             "dynamic_shared_bytes": 60000, "starts_early": True}],
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

    def __init__(self, capability=90):
        self.calls = []
        self.contexts = [3]  # the current one is the last
        self._capability = capability

    def use_context(self, device=0):
        self.calls.append(("use_context", device))

    def current_context(self):
        return self.contexts[-1]

    @contextlib.contextmanager
    def context(self, context):
        self.contexts.append(context)
        yield
        self.contexts.pop()

    def capability(self):
        return self._capability

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

    def launch(self, function, grid, block, dynamic_shared_bytes, stream, values, *,
               starts_early=False):
        pointers = [ctypes.c_uint64.from_address(v).value for v in values]
        self.calls.append(("launch", function, grid, block, dynamic_shared_bytes, stream, pointers,
                           starts_early))


    def encode_tensor_map(self, tensor, pointer, encoded):
        assert ctypes.addressof(encoded) % 64 == 0 and ctypes.sizeof(encoded) == 128
        self.calls.append(("encode", tensor.argument, pointer))
        encoded[0] = pointer + tensor.offset_bytes


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
    assert kernel.launches[1] == mdh.KernelLaunch("add", (1, 1, 1), (32, 1, 1), 60000, True)
    assert kernel.launches[0] == mdh.KernelLaunch("fill", (1, 1, 1), (32, 1, 1), 0)
    assert not kernel.launches[0].starts_early  # files of earlier versions do not say so
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
        ("launch", 11, (1, 1, 1), (32, 1, 1), 0, 5, [1 << 20, 2 << 20, 4096], False),
        ("launch", 12, (1, 1, 1), (32, 1, 1), 60000, 5, [1 << 20, 2 << 20, 4096], True)]


def test_no_stage_starts_early_on_an_older_device(write):
    for capability, starts_early in ((89, False), (90, True), (103, True)):
        driver = FakeDriver(capability)
        load(write(), driver)(1 << 20, 2 << 20)
        launches = [call for call in driver.calls if call[0] == "launch"]
        assert [call[7] for call in launches] == [False, starts_early]


def test_a_prepared_launch_and_the_callers_scratch_memory(write):
    driver = FakeDriver()
    launch = load(write(), driver).prepare(1 << 20, 2 << 20, scratch=8192)
    launch()
    launch(9)
    launches = [call for call in driver.calls if call[0] == "launch"]
    assert [call[5] for call in launches] == [0, 0, 9, 9]
    assert all(call[6][2] == 8192 for call in launches)
    assert not any(call[0] == "allocate" for call in driver.calls)


def test_a_launcher_takes_other_pointers_at_every_call(write):
    driver = FakeDriver()
    launch = load(write(), driver).launcher()
    launch([1 << 20, 2 << 20, 8192], 5)
    launch([3 << 20, 4 << 20, 4096], 6)
    assert driver.calls[3:] == [
        ("launch", 11, (1, 1, 1), (32, 1, 1), 0, 5, [1 << 20, 2 << 20, 8192], False),
        ("launch", 12, (1, 1, 1), (32, 1, 1), 60000, 5, [1 << 20, 2 << 20, 8192], True),
        ("launch", 11, (1, 1, 1), (32, 1, 1), 0, 6, [3 << 20, 4 << 20, 4096], False),
        ("launch", 12, (1, 1, 1), (32, 1, 1), 60000, 6, [3 << 20, 4 << 20, 4096], True)]
    with pytest.raises(ValueError):
        launch([1 << 20, 2 << 20], 5)  # no scratch memory
    load(write(scratch={"bytes": 0}), driver).launcher()([1 << 20, 2 << 20], 5)
    assert driver.calls[-1][6] == [1 << 20, 2 << 20]


def test_a_launcher_launches_in_the_context_of_its_kernel(write):
    class Driver(FakeDriver):
        def launch(self, *arguments, **options):
            assert self.contexts[-1] == 3
            super().launch(*arguments, **options)

    driver = Driver()
    launch = load(write(), driver).launcher()
    for current in (3, 0, 4):  # its own, that of a thread that has none, another device's
        driver.contexts = [current]
        launch([1 << 20, 2 << 20, 4096], 5)
        assert driver.contexts == [current]
    assert [call[1] for call in driver.calls if call[0] == "launch"] == [11, 12] * 3


def test_threads_launch_at_once_each_with_its_own_pointers(write):
    together = threading.Barrier(2, timeout=10)

    class Driver(FakeDriver):
        def launch(self, *arguments, **options):
            together.wait()  # both have written their pointers, and neither has been launched
            super().launch(*arguments, **options)

    driver = Driver()
    launch = load(write(), driver).launcher()

    def repeat(pointer, stream):
        for _ in range(20):
            launch([pointer, pointer + 16, pointer + 32], stream)

    threads = [threading.Thread(target=repeat, args=(number << 20, number)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    launches = [call for call in driver.calls if call[0] == "launch"]
    assert len(launches) == 2 * 2 * 20
    for call in launches:
        assert call[6] == [(call[5] << 20) + offset for offset in (0, 16, 32)]


def test_a_launch_that_fails_leaves_the_launcher_usable(write):
    class Driver(FakeDriver):
        fails = True

        def launch(self, *arguments, **options):
            if self.fails:
                raise mdh.CudaError("cuLaunchKernel: no", 1)
            super().launch(*arguments, **options)

    driver = Driver()
    launch = load(write(), driver).launcher()
    with pytest.raises(mdh.CudaError):
        launch([1 << 20, 2 << 20, 4096], 5)
    driver.fails = False
    launch([3 << 20, 4 << 20, 4096], 5)
    assert driver.calls[-1][6] == [3 << 20, 4 << 20, 4096]


MAPS = [{"argument": 2, "offset_bytes": 32, "element_bytes": 2, "extents": [64, 100, 3],
         "strides_bytes": [256, 25600], "box": [64, 128, 1], "swizzle_bytes": 128},
        {"argument": 0, "offset_bytes": 0, "element_bytes": 1, "extents": [128, 8],
         "strides_bytes": [128], "box": [128, 8], "swizzle_bytes": 128}]


def launches_with_maps():
    fill, add = information()["launches"]
    return [fill, {**add, "tensor_maps": MAPS}]


def test_tensor_maps_are_launched_behind_the_pointers(write):
    class Driver(FakeDriver):
        def launch(self, function, grid, block, shared_bytes, stream, values, *, starts_early=False):
            words = [ctypes.c_uint64.from_address(v).value for v in values]
            self.calls.append(("launch", function, words))

    driver, compiler = Driver(), FakeCompiler()
    kernel = mdh.CudaKernel(mdh.read_kernel(write(launches=launches_with_maps())), driver=driver,
                            nvrtc=compiler)
    assert kernel.kernel.launches[1].tensor_maps[0] == mdh.TensorMap(
        2, 32, 2, (64, 100, 3), (256, 25600), (64, 128, 1))
    assert compiler.call[3] == ("--std=c++17", "-DMDH_TENSOR_MAPS")
    launch = kernel.prepare(1 << 20, 2 << 20, scratch=8192)
    launch()
    launch()
    assert driver.calls[3:] == [
        ("encode", 2, 8192), ("encode", 0, 1 << 20),
        *[("launch", 11, [1 << 20, 2 << 20, 8192]),
          ("launch", 12, [1 << 20, 2 << 20, 8192, 8192 + 32, 1 << 20])] * 2]
    del driver.calls[:]
    launcher = kernel.launcher()  # encodes what has moved
    launcher([1 << 20, 2 << 20, 8192], 5)
    launcher([3 << 20, 2 << 20, 8192], 5)
    assert [call for call in driver.calls if call[0] == "encode"] == [
        ("encode", 2, 8192), ("encode", 0, 1 << 20), ("encode", 0, 3 << 20)]
    assert driver.calls[-1] == ("launch", 12, [3 << 20, 2 << 20, 8192, 8192 + 32, 3 << 20])


def test_tensor_maps_are_what_the_driver_encodes():
    class Library(FakeLibrary):
        def __getattr__(self, name):
            if name != "cuTensorMapEncodeTiled":
                return super().__getattr__(name)
            return self.encode

        def encode(self, encoded, kind, rank, first, extents, strides, box, ones, *modes):
            self.seen = (kind, rank, first.value, list(extents), list(strides), list(box),
                         list(ones), modes)
            return super().__getattr__("cuTensorMapEncodeTiled")()

    tensor = mdh.TensorMap(0, 32, 2, (64, 100, 3), (256, 25600), (64, 128, 1))
    library, encoded = Library(), (ctypes.c_uint64 * 16)()
    mdh.CudaDriver(library).encode_tensor_map(tensor, 4096, encoded)
    assert library.seen == (1, 3, 4128, [64, 100, 3], [256, 25600, 0], [64, 128, 1], [1, 1, 1],
                            (0, 3, 2, 0))
    with pytest.raises(mdh.CudaError, match="cuTensorMapEncodeTiled: CUDA_ERROR"):
        mdh.CudaDriver(Library("cuTensorMapEncodeTiled")).encode_tensor_map(tensor, 8, encoded)

    class Older(FakeLibrary):
        def __getattr__(self, name):
            if name == "cuTensorMapEncodeTiled":
                raise AttributeError(name)
            return super().__getattr__(name)

    with pytest.raises(mdh.FailedPreconditionError, match="drivers of CUDA 12 and later"):
        mdh.CudaDriver(Older()).encode_tensor_map(tensor, 4096, encoded)


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
            ((good, Array(good, (32,), ">f4")), "'y' has elements of type fp32 in big-endian order, but .* fp32"),
            ((good, Array(1 << 40)), "'y' is on GPU 1, but the kernel runs on GPU 0"),
            ((good, Array(good, is_read_only=True)), "'y' is an output, but the array is read-only"),
            ((good, OnTheCpu()), "'y' is a OnTheCpu in memory of the CPU, but")):
        with pytest.raises(mdh.ExpressionError, match=message):
            kernel(*arguments)
    kernel(Array(good, (8, 1, 4), strides=(16, 999, 4), is_read_only=True), Array(good + 128))


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
    for failing in ("cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2"):
        driver = mdh.CudaDriver(FakeLibrary(failing))
        with pytest.raises(mdh.CudaError, match=f"{failing}: "), driver.context(5):
            pass
    assert mdh.CudaDriver(FakeLibrary()).current_context() == 0
    with pytest.raises(mdh.CudaError, match="cuCtxGetCurrent: "):
        mdh.CudaDriver(FakeLibrary("cuCtxGetCurrent")).current_context()


class EarlyLibrary(FakeLibrary):
    """libcuda of a version, which remembers the launches and their configurations."""

    def __init__(self, version=12030, has_function=True, failing=""):
        super().__init__(failing)
        self._version, self._has_function = version, has_function
        self.launches = []

    def __getattr__(self, name):
        if name == "cuLaunchKernelEx" and not self._has_function:
            raise AttributeError(name)
        if name in ("cuDriverGetVersion", "cuLaunchKernel", "cuLaunchKernelEx"):
            code = super().__getattr__(name)()
            return lambda *arguments: getattr(self, "_" + name)(*arguments) or code
        return super().__getattr__(name)

    def _cuDriverGetVersion(self, target):
        ctypes.cast(target, ctypes.POINTER(ctypes.c_int))[0] = self._version

    def _cuLaunchKernel(self, *arguments):
        self.launches.append("as usual")

    def _cuLaunchKernelEx(self, config, function, values, extra):
        # As cuda.h lays them out.
        address = ctypes.cast(config, ctypes.c_void_p).value
        *extents, stream, attributes, count = struct.unpack("=7I4xQQI4x",
                                                            ctypes.string_at(address, 56))
        attribute = struct.unpack("=i4xi", ctypes.string_at(attributes, 12))
        self.launches.append((extents, stream, count, attribute, function.value, values, extra))


def launch_early(library, starts_early=True):
    mdh.CudaDriver(library).launch(1, (2, 3, 4), (5, 6, 7), 8, 9, None, starts_early=starts_early)


def test_a_stage_starts_early_where_the_driver_can():
    library = EarlyLibrary()
    launch_early(library)
    assert library.launches == [([2, 3, 4, 5, 6, 7, 8], 9, 1, (6, 1), 1, None, None)]
    for older in (EarlyLibrary(version=12020), EarlyLibrary(has_function=False)):
        launch_early(older)
        assert older.launches == ["as usual"]
    launch_early(library, starts_early=False)
    assert library.launches[1:] == ["as usual"]
    with pytest.raises(mdh.CudaError, match="cuLaunchKernelEx: CUDA_ERROR_NO_DEVICE"):
        launch_early(EarlyLibrary(failing="cuLaunchKernelEx"))


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
