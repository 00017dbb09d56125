"""Kernels in C, compiled and run in this process."""

import array
import ctypes
import multiprocessing
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading

import pytest

import mdh
from mdh.kernels import kernel_call
from mdh.kernels.kernel_file import KernelArgument

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


SUM = """
#include <stdint.h>
#include <stdlib.h>
int64_t mdh_sum_scratch_bytes(int threads) { return 64 * (int64_t)threads; }
void mdh_sum_body(int stage, int thread, int threads, const int* x, int* y, void* scratch) {
  int* parts = (int*)scratch;
  if (stage == 0) {
    parts[16 * thread] = 0;
    for (int i = 4 * thread / threads; i < 4 * (thread + 1) / threads; ++i) parts[16 * thread] += x[i];
  } else if (thread == 0) {
    y[0] = 0;
    for (int t = 0; t < threads; ++t) y[0] += parts[16 * t];
    y[1] = threads;
#ifdef __clang__
    y[2] = 1;
#endif
  }
}
int mdh_sum(const int* x, int* y, void* scratch) { (void)x, (void)y, (void)scratch; return 1; }
"""


def summed(directory, *runtimes):
    """A kernel of clang's in a process with these OpenMP runtimes: what it gives after each of them
    was loaded, and which there are."""
    os.environ["OMP_NUM_THREADS"] = "2"
    given = []
    for runtime in runtimes or [""]:
        if runtime:
            ctypes.CDLL(runtime)
        x, y = Array([1, 2, 3, 4], "i", "<i4"), Array([0] * 3, "i", "<i4")
        arguments = (KernelArgument("x", "int32", 4, 16, False),
                     KernelArgument("y", "int32", 3, 12, True))
        kernel = Kernel(entry="mdh_sum", source=SUM, compiler="clang", stages=2,
                        arguments=arguments, compile_options=("-O1", "-fopenmp"))
        mdh.CpuKernel(kernel, cache_directory=directory)(x, y)
        given.append(list(y.values))
    maps = pathlib.Path("/proc/self/maps").read_text()
    return given, {name for name in ("libgomp", "libomp") if f"/{name}" in maps}


@pytest.mark.skipif(not shutil.which("clang"), reason="clang is not installed")
def test_one_code_runs_on_every_openmp(tmp_path):
    gnu, llvm = "libgomp.so.1", "libomp.so.5"
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for runtimes, names in (((), {"libgomp"}), ((gnu,), {"libgomp"}), ((llvm,), {"libomp"}),
                                ((gnu, llvm), {"libgomp", "libomp"}),
                                ((llvm, gnu), {"libgomp", "libomp"})):
            given, found = pool.apply(summed, (tmp_path / "cache", *runtimes))
            assert given == [[10, 2, 1]] * max(len(runtimes), 1)
            assert found == names
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_another_compiler_is_warned_of(load, tmp_path, recwarn):
    load()
    assert not recwarn
    with pytest.warns(RuntimeWarning, match="mdh_double was measured with no-such-compiler, which "
                                            "cannot be run here: it is compiled with cc"):
        mdh.CpuKernel(Kernel(compiler="no-such-compiler"), cache_directory=tmp_path / "cache")


def test_fewer_threads_than_it_is_for_are_warned_of(tmp_path, recwarn):
    def load(**changes):
        mdh.CpuKernel(Kernel(entry="mdh_sum", compiler="gcc", stages=2, **changes),
                      cache_directory=tmp_path / "cache")

    load(source=SUM, threads=1)
    load(source="#define MDH_MOST_THREADS 1\n" + SUM, threads=5000)
    assert not recwarn
    with pytest.warns(RuntimeWarning, match="mdh_sum is for 5000 threads, of which OpenMP gives it "):
        load(source=SUM, threads=5000)


@pytest.mark.parametrize("name, value", [("OMP_NUM_THREADS", "1"), ("OMP_THREAD_LIMIT", "1"),
                                         ("OMP_PLACES", "{0}"), ("GOMP_CPU_AFFINITY", "0")])
def test_threads_that_the_environment_takes_are_not_counted(name, value):
    code = "from mdh.kernels import kernel_call; print(kernel_call.threads_here())"
    path = os.pathsep.join(filter(None, [str(pathlib.Path(mdh.__file__).parents[1]),
                                         os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, name: value}
    assert subprocess.check_output([sys.executable, "-c", code], env=environment) == b"1\n"


def test_the_c_is_that_of_the_other_clients():
    folder = pathlib.Path(__file__).parents[2] / "core" / "kernel"
    for name, text in (("kernel_call.cc", kernel_call._PLAIN), ("call_on_threads.inc", kernel_call._ON_THREADS)):
        assert f'R"({text})"' in (folder / name).read_text()


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
    with pytest.raises(mdh.PermissionDeniedError, match="code from the cache is not run"):
        mdh.CpuKernel(Kernel(), cache_directory=tmp_path / "open")


def test_a_folder_that_cannot_be_made_is_done_without(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.warns(RuntimeWarning, match="compiled kernels are not kept: .*below: "):
        kernel = mdh.CpuKernel(Kernel(), cache_directory=tmp_path / "file" / "below")
    x, y = Array([1, 2, 3, 4]), Array([0, 0, 0, 0])
    kernel(x, y)
    assert list(y.values) == [2, 4, 6, 8]


def test_a_damaged_file_is_made_anew(load, tmp_path):
    load()
    (file,) = (tmp_path / "cache").iterdir()
    whole = file.read_bytes()
    # Mapping half a file, or a page of zeros, would end this process.
    for damaged in (b"", b"no shared object", whole[:len(whole) // 2], whole[:4096], bytes(len(whole)),
                    whole[:4096] + bytes(4096) + whole[8192:], whole[:-1], whole[-77:]):
        file.unlink()  # its code may be loaded
        file.write_bytes(damaged)
        x, y = Array([1, 2, 3, 4]), Array([0, 0, 0, 0])
        load()(x, y)
        assert list(y.values) == [2, 4, 6, 8]
        assert file.stat().st_size == len(whole)


def test_a_forked_process_calls_it(load):
    """GNU's runtime would wait for the parent's threads."""
    parallel = SOURCE.replace("for", "\n#pragma omp parallel for num_threads(2)\n  for")
    kernel = load(source=parallel, compile_options=("-O1", "-fopenmp"))
    x, y = Array([1, 2, 3, 4]), Array([0, 0, 0, 0])
    kernel(x, y)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        z = Array([0, 0, 0, 0])
        for _ in range(3):
            kernel(x, z)
        os._exit(0 if list(z.values) == [2, 4, 6, 8] else 1)
    assert os.waitpid(child, 0)[1] == 0
    kernel(x, y)


def test_threads_that_call_and_load_one_kernel(load):
    """Scratch memory that two calls shared would mix their numbers up: the first stage writes it, the
    second reads it, both on all threads."""
    source = """
#include <stdint.h>
#include <stdlib.h>
int64_t mdh_double_scratch_bytes(int threads) { return 65536 + 64 * (int64_t)threads; }
void mdh_double_body(int stage, int thread, int threads, const float* x, float* y, void* scratch) {
  float* kept = (float*)scratch;
  for (int i = 4096 * thread / threads; i < 4096 * (thread + 1) / threads; ++i)
    if (stage == 0) kept[4095 - i] = x[i % 4];
  if (stage == 1 && thread == 0)
    for (int i = 0; i < 4; ++i) {
      y[i] = 2 * kept[4095 - i];
      for (int j = i; j < 4096; j += 4) if (kept[4095 - j] != kept[4095 - i]) y[i] = -1;
    }
}
"""
    wrong = []

    def call(value):
        x, y = Array([value] * 4), Array([0] * 4)
        for _ in range(5):
            kernel = load(source=source, stages=2)
            for _ in range(40):
                kernel(x, y)
                if list(y.values) != [2 * value] * 4:
                    wrong.append((value, list(y.values)))

    threads = [threading.Thread(target=call, args=(value,)) for value in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


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
    from mdh.kernels.cpu_kernel import default_cache_directory

    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert str(default_cache_directory()) == "/caches/mdh"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert str(default_cache_directory()) == "/home/me/.cache/mdh"
