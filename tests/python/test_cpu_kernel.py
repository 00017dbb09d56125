"""Kernels in C, compiled and run in this process."""

import array
import ctypes
import multiprocessing
import shutil

import pytest

import mdh
from mdh.kernel_file import KernelArgument

SOURCE = """
int mdh_double(const float* x, float* y, void* scratch) {
  for (int i = 0; i < 4; ++i) y[i] = 2 * x[i];
  (void)scratch;
  return 0;
}
"""


class Kernel:
    """What a daemon delivers."""

    entry = "mdh_double"
    language = "OpenMP C"
    source = SOURCE
    arguments = (KernelArgument("x", "fp32", 4, 16, False), KernelArgument("y", "fp32", 4, 16, True))
    compiler = "gcc"
    compile_options = ("-O1",)

    def __init__(self, **changes):
        self.__dict__.update(changes)


class Array:
    """What numpy has, over an array of Python's."""

    def __init__(self, values, typecode="f", typestr="<f4", shape=None, strides=None,
                 is_read_only=False):
        self.values = array.array(typecode, values)
        self.__array_interface__ = {
            "shape": shape or (len(values),), "typestr": typestr, "strides": strides,
            "data": (self.values.buffer_info()[0], is_read_only), "version": 3}


@pytest.fixture
def load(tmp_path):
    return lambda compiler="", **changes: mdh.CpuKernel(
        Kernel(**changes), cache_directory=tmp_path / "cache", compiler=compiler)


def test_a_kernel_runs_on_arrays_and_pointers(load, tmp_path):
    x, y = Array([1, 2, 3, 4]), Array([0, 0, 0, 0])
    load()(x, y)
    assert list(y.values) == [2, 4, 6, 8]
    load()(y, x.values.buffer_info()[0])
    assert list(x.values) == [4, 8, 12, 16]
    load().run([x.values.buffer_info()[0], y.values.buffer_info()[0]])
    assert list(y.values) == [8, 16, 24, 32]
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_numpy(load):
    numpy = pytest.importorskip("numpy")
    x, y = numpy.arange(4, dtype=numpy.float32), numpy.zeros((2, 2), numpy.float32)
    load()(x, y)
    assert y.tolist() == [[0, 2], [4, 6]]
    with pytest.raises(mdh.ExpressionError, match="'x' is not contiguous: shape .4,., strides"):
        load()(numpy.arange(8, dtype=numpy.float32)[::2], y)
    y.flags.writeable = False
    with pytest.raises(mdh.ExpressionError, match="'y' is an output, but the array is read-only"):
        load()(x, y)


def test_dlpack_alone(load):
    numpy = pytest.importorskip("numpy")
    if not hasattr(numpy.ndarray, "__dlpack__"):
        pytest.skip("numpy is too old for DLPack")

    class OnlyDlpack:
        def __init__(self, values):
            self.values = values

        def __dlpack__(self, **options):
            return self.values.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.values.__dlpack_device__()

    x, y = numpy.arange(4, dtype=numpy.float32), numpy.zeros(4, numpy.float32)
    load()(OnlyDlpack(x), OnlyDlpack(y))
    assert y.tolist() == [0, 2, 4, 6]
    with pytest.raises(mdh.ExpressionError, match="'x' has elements of type fp64, but .* fp32"):
        load()(OnlyDlpack(x.astype(numpy.float64)), y)


def test_arguments_that_do_not_fit_are_named(load):
    kernel = load()
    x, y = Array([1, 2, 3, 4]), Array([0, 0, 0, 0])
    on_gpu = type("Tensor", (), {"__cuda_array_interface__": {
        "shape": (4,), "typestr": "<f4", "data": (64, False), "version": 3}})()
    without_memory = type("Tensor", (), {"__array_interface__": {
        "shape": (4,), "typestr": "<f4", "data": (0, False), "version": 3}})()
    for arguments, message in (
            ((x,), r"mdh_double has 2 arguments \(x, y\), not 1"),
            ((None, y), "the argument 'x' is None, no memory"),
            ((0, y), "the argument 'x' is 0, no memory"),
            ((True, y), "the argument 'x' is True, no memory"),
            (([1], y), "the argument 'x' is a list, which is no array"),
            ((Array([1, 2, 3]), y), "'x' has 12 bytes, but the kernel expects 16"),
            ((Array([1] * 4, "i", "<i4"), y), "'x' has elements of type int32, but .* fp32"),
            ((Array([1] * 4, "f", "<c8", (2,)), y), "'x' has elements of type unknown"),
            ((without_memory, y), "'x' is an array without memory"),
            ((on_gpu, y), "'x' is memory of a GPU, but the kernel runs on the CPU"),
            ((Array([1] * 8, shape=(4,), strides=(8,)), y), "'x' is not contiguous"),
            ((x, Array([1] * 4, is_read_only=True)), "'y' is an output, but .* read-only")):
        with pytest.raises(mdh.ExpressionError, match=message):
            kernel(*arguments)


def which_compiler(directory, loads_openmp):
    """Loads a kernel that clang was best for, and says which compiler compiled it."""
    if loads_openmp:
        ctypes.CDLL("libgomp.so.1")
    source = SOURCE.replace("2 * x[i]", "IS_CLANG")
    source = "#ifdef __clang__\n#define IS_CLANG 1\n#else\n#define IS_CLANG 0\n#endif\n" + source
    y = Array([7] * 4)
    mdh.CpuKernel(Kernel(source=source, compiler="clang"), cache_directory=directory)(Array([0] * 4), y)
    return "clang" if y.values[0] == 1 else "gcc"


@pytest.mark.skipif(not shutil.which("clang"), reason="clang is not installed")
def test_a_process_has_the_threads_of_one_openmp(tmp_path):
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        assert pool.apply(which_compiler, (tmp_path / "cache", False)) == "clang"
        assert pool.apply(which_compiler, (tmp_path / "cache", True)) == "gcc"


def test_what_cannot_be_compiled_or_run(load, tmp_path):
    with pytest.raises(mdh.ExpressionError, match="is in CUDA C.., not in OpenMP C"):
        load(language="CUDA C++")
    with pytest.raises(mdh.FailedPreconditionError, match="(?s)does not compile mdh_double:.*error"):
        load(source="nonsense")
    with pytest.raises(mdh.FailedPreconditionError, match="there is no compiler: /no/cc cannot"):
        load(compiler="/no/cc", compile_options=("-O2",))
    assert load(compiler="", **{"compile_options": ("-O3",)})  # the kernel's own
    load(source=SOURCE + " ", entry="mdh_double")(Array([1] * 4), Array([0] * 4))
    kernel = load(source=SOURCE.replace("return 0", "return 1"))
    arrays = Array([1] * 4), Array([0] * 4)
    with pytest.raises(mdh.ResourceExhaustedError, match="no memory for the kernel's scratch"):
        kernel(*arrays)
    with pytest.raises(mdh.ResourceExhaustedError, match="no memory for the kernel's scratch"):
        kernel.run([each.values.buffer_info()[0] for each in arrays])
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(mdh.FailedPreconditionError, match="others may write to"):
        mdh.CpuKernel(Kernel(), cache_directory=tmp_path / "open")
    (tmp_path / "file").write_text("")
    with pytest.raises(mdh.FailedPreconditionError, match="cannot make the folder"):
        mdh.CpuKernel(Kernel(), cache_directory=tmp_path / "file" / "below")


def test_a_damaged_file_is_made_anew(load, tmp_path):
    load()
    (file,) = (tmp_path / "cache").iterdir()
    file.unlink()  # its code may be loaded
    file.write_text("no shared object")
    load()(Array([1] * 4), Array([0] * 4))


def _load_in_a_process(directory):
    x, y = Array([1, 2, 3, 4]), Array([0, 0, 0, 0])
    mdh.CpuKernel(Kernel(), cache_directory=directory)(x, y)
    return list(y.values)


def test_processes_that_compile_at_once(tmp_path):
    with multiprocessing.get_context("fork").Pool(4) as pool:
        results = pool.map(_load_in_a_process, [tmp_path / "cache"] * 4)
    assert results == [[2, 4, 6, 8]] * 4
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_the_default_folder(monkeypatch):
    from mdh.cpu_kernel import default_cache_directory

    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert str(default_cache_directory()) == "/caches/mdh"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert str(default_cache_directory()) == "/home/me/.cache/mdh"
