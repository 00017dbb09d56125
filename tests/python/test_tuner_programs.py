"""Cost functions of commands and kernels: their messages, and the process that evaluates them.

The process is a script here that follows instructions in the configuration; test_tuner.py has the
real one.
"""

import array
import concurrent.futures
import ctypes
import os
import stat
import sys

import pytest

import mdh
from mdh.tuner import CostFunctionError, command, cuda, opencl
from mdh.tuner.evaluator import find_mdh
from mdh.v1 import study_pb2

SAXPY = """
// y = a * x + y; __kernel void commented_out(int z)
__kernel void saxpy(const int N, const float a, __global const float* x, __global float *y) {}
"""

SCRIPT = """#!{python}
import os, signal, struct, sys, time
sys.path.insert(0, {package!r})
from mdh.tuner.evaluator import _varint
from mdh.v1 import program_pb2

assert sys.argv[1:] == ["evaluate-program"]

def read():
    size = shift = 0
    while True:
        byte = sys.stdin.buffer.read(1)
        if not byte:
            sys.exit(0)
        size |= (byte[0] & 0x7f) << shift
        shift += 7
        if byte[0] < 0x80:
            return program_pb2.EvaluateRequest.FromString(sys.stdin.buffer.read(size))

count = 0
while True:
    request = read()
    count += 1
    assert request.HasField("program") == (count == 1)
    program = request.program if count == 1 else program
    values = request.configuration.values.fields
    what = values["what"].string_value
    response = program_pb2.EvaluateResponse()
    if what == "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "exit":
        sys.exit("no such device")
    if what == "hang":
        time.sleep(3600)
    if what == "fail":
        response.failure = "compile error: line 1"
    elif what == "nothing":
        response.failure = "cannot run: there is no platform of OpenCL"
    elif what == "pid":
        response.cost = os.getpid()
    elif what == "folder":
        response.cost = len(request.folder)
    elif what == "variable":
        response.cost = float(os.environ.get("CUDA_VISIBLE_DEVICES", "-1"))
    elif what == "long":
        response.failure = "x" * 100000
    elif what == "sizes":
        response.cost = sum(10 ** i * values[n].number_value
                            for i, n in enumerate(["mdh_global_0", "mdh_local_0"]))
    else:
        response.cost = count
    text = response.SerializeToString()
    sys.stdout.buffer.write(_varint(len(text)) + text)
    sys.stdout.buffer.flush()
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    """$MDH is a script that follows the configuration's parameter 'what'."""
    path = tmp_path / "mdh"
    package = os.path.dirname(os.path.dirname(mdh.__file__))
    path.write_text(SCRIPT.format(python=sys.executable, package=package))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("MDH", str(path))
    return path


def prepared(cost_function, *names, threads=1):
    study = study_pb2.StudySpec()
    for name in ("what", *names):
        study.parameters.add(name=name)
    cost_function.prepare(study, threads)
    return cost_function


def failure_of(cost_function, **configuration):
    with pytest.raises(CostFunctionError) as caught:
        cost_function(configuration)
    return caught.value


def test_one_process_for_all_configurations(script):
    cf = prepared(command.CostFunction("true"))
    assert [cf({"what": ""}) for _ in range(3)] == [1.0, 2.0, 3.0]
    cf.close()
    # Without a study every call has a process of its own.
    assert [cf({"what": ""}) for _ in range(2)] == [1.0, 1.0]


def test_failures(script):
    cf = prepared(command.CostFunction("true"))
    assert failure_of(cf, what="fail").kind == "compile error"
    assert cf({"what": ""}) == 2.0
    assert len(str(failure_of(cf, what="long"))) == 100000
    crash = failure_of(cf, what="crash")
    assert crash.kind == "crash" and "ended with signal 9" in str(crash)
    assert cf({"what": ""}) == 1.0  # another process
    assert "exit code 1: no such device" in str(failure_of(cf, what="exit"))
    cf.close()


def test_a_process_that_never_answers_is_an_error(script):
    cf = prepared(command.CostFunction("true"))
    with pytest.raises(mdh.FailedPreconditionError, match="exit code 1: no such device"):
        cf({"what": "exit"})
    cf.close()


def test_without_a_device_nothing_is_evaluated(script):
    cf = prepared(command.CostFunction("true"))
    with pytest.raises(mdh.FailedPreconditionError, match="^cannot run: there is no platform"):
        cf({"what": "nothing"})
    cf.close()


def test_a_process_that_hangs_is_ended(script, monkeypatch):
    monkeypatch.setattr("mdh.tuner.evaluator._GRACE_SECONDS", 0.0)
    monkeypatch.setattr("mdh.tuner.evaluator._EXIT_SECONDS", 0.01)
    cf = prepared(command.CostFunction("true").time_limit(0.05))
    assert failure_of(cf, what="hang").kind == "time-out"
    cf.close()


def test_as_many_processes_as_threads(script):
    cf = prepared(command.CostFunction("true"), threads=2)
    assert len({cf({"what": "pid"}) for _ in range(3)}) == 1
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        costs = list(threads.map(lambda _: cf({"what": ""}), range(20)))
    # One process counted the first three, too.
    assert len(costs) == 20 and len(set(costs)) >= 10
    assert 1 <= len(cf._pool._idle) <= 2
    cf.close()


def test_the_program_is_found(script, monkeypatch, tmp_path):
    assert find_mdh() == str(script)
    monkeypatch.delenv("MDH")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_mdh() == str(script)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(mdh.NotFoundError, match=r"not in \$PATH; set \$MDH"):
        command.CostFunction("true")({"what": ""})
    monkeypatch.setenv("MDH", "/nowhere/mdh")
    with pytest.raises(mdh.NotFoundError, match=r"\$MDH is '/nowhere/mdh'"):
        command.CostFunction("true")({"what": ""})
    script.write_text("#!/nowhere/interpreter\n")
    monkeypatch.setenv("MDH", str(script))
    with pytest.raises(mdh.FailedPreconditionError, match="cannot run .*mdh: No such file"):
        command.CostFunction("true")({"what": ""})


def test_commands():
    program = (command.CostFunction("./run {A}").compile_command("make A={A}").repetitions(3)
               .cost_pattern("time: (.*)").expected_output("ok").time_limit(5).program().command)
    assert program.run == "./run {A}" and program.compile == "make A={A}"
    assert (program.repetitions, program.time_limit_seconds) == (3, 5)
    assert program.cost_pattern == "time: (.*)" and program.expected_output == "ok"


def test_folder(script, tmp_path):
    assert command.CostFunction("true").folder(tmp_path)({"what": "folder"}) == len(str(tmp_path))
    assert command.CostFunction("true")({"what": "folder"}) == len(os.getcwd())


def scalar(type_, value):
    return {"float": ctypes.c_float, "int": ctypes.c_int32}[type_](value)


def saxpy(**options):
    return opencl.CostFunction(SAXPY, **options).kernel_args(
        scalar("int", 8), scalar("float", 2.5), array.array("f", range(8)),
        array.array("f", [1] * 8))


def test_kernels():
    cf = (saxpy().global_size(lambda what: 3, "N // 2", 7).local_size(4).repetitions(9)
          .time_limit(10).compiler_options("-cl-fast-relaxed-math").device("pocl")
          .check_result(3, "a * x + y", tolerance=1e-3))
    kernel = cf.program().kernel
    assert (kernel.function, kernel.source, kernel.language) == ("saxpy", SAXPY, 1)
    assert [(a.name, a.type, a.value, len(a.data)) for a in kernel.arguments] == [
        ("N", "int32", "8", 0), ("a", "float32", "2.5", 0), ("x", "float32", "", 32),
        ("y", "float32", "", 32)]
    assert list(kernel.global_size) == ["mdh_global_0", "N // 2", "7"]
    assert list(kernel.local_size) == ["4"]
    assert (kernel.repetitions, kernel.time_limit_seconds, kernel.device) == (9, 10, "pocl")
    assert list(kernel.options) == ["-cl-fast-relaxed-math"]
    check = kernel.expected[0]
    assert (check.argument, check.elements, check.tolerance) == ("y", "a * x + y", 1e-3)


def test_sizes_are_computed_for_each_configuration(script):
    cf = saxpy().global_size(lambda A, B: 12 / A / B).local_size(lambda A: A)
    prepared(cf, "A", "B")
    assert cf({"what": "sizes", "A": 2, "B": 3}) == 2 + 20
    assert str(failure_of(cf, what="sizes", A=5, B=1)) == (
        "launch error: the global size 0 is 2.4, which is no whole number of 0..4294967294")
    assert str(failure_of(cf, what="sizes", A=0, B=1)) == (
        "launch error: the function of the global size 0 fails: "
        "ZeroDivisionError: division by zero")
    assert "is -12.0" in str(failure_of(cf, what="sizes", A=-1, B=1))
    cf.close()
    assert cf({"what": "sizes", "A": 4, "B": 3}) == 1 + 40
    with pytest.raises(mdh.ExpressionError, match="no tuning parameter 'A', but 'what'") as caught:
        prepared(cf)
    assert caught.value.location.file == __file__
    with pytest.raises(mdh.ExpressionError, match="timed one after another"):
        prepared(cf, "A", "B", threads=2)


def test_expected_results():
    data = array.array("f", [3] * 8)
    cf = saxpy().check_result("y", data).check_result(3, lambda N, a, x, y: y)
    assert [c.data for c in cf._spec.expected] == [
        data.tobytes(), array.array("f", [1] * 8).tobytes()]


def test_buffers_that_are_filled():
    cf = opencl.CostFunction(SAXPY).kernel_args(
        scalar("int", 8), y=opencl.Zeros("float32", 8), x=opencl.Random("int64", "8 * WPT"),
        z=opencl.Zeros("float32", lambda WPT: 2 * WPT))
    assert [(a.name, a.type, a.zeros, a.random) for a in cf._spec.arguments] == [
        ("N", "int32", "", ""), ("y", "float32", "8", ""), ("x", "int64", "", "8 * WPT"),
        ("z", "float32", "mdh_size_3", "")]
    assert cf._computed[0].value({"WPT": 4}) == 8


def test_arguments_of_numpy():
    numpy = pytest.importorskip("numpy")
    types = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32",
             "float64"]
    values = [numpy.dtype(t).type(3) for t in types]
    arrays = [numpy.ones((2, 3), t).T for t in types]
    cf = opencl.CostFunction(opencl.Kernel("", "f")).kernel_args(*values, *arrays)
    assert [a.type for a in cf._spec.arguments] == types * 2
    assert [a.value for a in cf._spec.arguments[:10]] == ["3"] * 8 + ["3.0"] * 2
    assert cf._spec.arguments[0].name == "argument_0"
    strided = numpy.arange(6, dtype=numpy.float32).reshape(2, 3).T
    cf = opencl.CostFunction(SAXPY).kernel_args(
        numpy.int32(3), numpy.float32(0.1), strided, numpy.zeros(6, numpy.float32))
    assert cf._spec.arguments[1].value == repr(float(numpy.float32(0.1)))
    assert cf._spec.arguments[2].data == strided.tobytes()
    cf.check_result("y", lambda N, a, x, y: a * x.ravel() + y)
    assert len(cf._spec.expected[0].data) == 24
    assert opencl.Zeros(numpy.float64, 3).type == "float64"


def test_kernels_of_cuda(script, monkeypatch):
    source = """extern "C" __global__ void __launch_bounds__(BLOCK) add(float* x, int n) { }"""
    cf = (cuda.CostFunction((source, "add")).kernel_args(array.array("f", [1]), scalar("int", 1))
          .grid_dim(lambda A: 8 / A).block_dim(lambda A: A).shared_bytes(lambda A: 4 * A))
    kernel = cf.program().kernel
    assert kernel.language == 2 and kernel.shared_bytes == "mdh_shared_bytes"
    assert [a.name for a in kernel.arguments] == ["x", "n"]
    assert cf({"what": "variable", "A": 2}) == -1
    cf.device_id(3)
    assert cf({"what": "variable", "A": 2}) == 3
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,6")
    assert cf.device_id(1)({"what": "variable", "A": 2}) == 6
    with pytest.raises(mdh.ExpressionError, match="no CUDA device 2: .* is 5,6"):
        cf.device_id(2)({"what": "variable", "A": 2})


@pytest.mark.parametrize("make, message", [
    (lambda: opencl.CostFunction("int f() { return 1; }"), "It has none; give its name"),
    (lambda: opencl.CostFunction(SAXPY + SAXPY.replace("saxpy", "other")), "saxpy, other; give"),
    (lambda: opencl.CostFunction(7), "7 is no kernel"),
    (lambda: saxpy().program(), "the kernel 'saxpy' has no global size"),
    (lambda: cuda.CostFunction(("", "f")).grid_dim(1).program(), "the kernel 'f' has no block"),
    (lambda: cuda.CostFunction(("", "f")).program(), "the kernel 'f' has no block"),
    (lambda: saxpy().global_size(), "the global size has 1 to 3 dimensions, not 0"),
    (lambda: saxpy().global_size(1.5), "a whole number, a formula or a function .* not 1.5"),
    (lambda: saxpy().global_size(-1), "not -1"),
    (lambda: saxpy().check_result("z", "1"), "no argument 'z'; .* gives N, a, x, y"),
    (lambda: saxpy().check_result(4, "1"), "no argument 4"),
    (lambda: saxpy().check_result("N", "1"), "'N' is a scalar, which kernels cannot change"),
    (lambda: saxpy().check_result("y", array.array("d", [1] * 8)), "float32, but .* float64"),
    (lambda: saxpy().check_result("y", array.array("f", [1])), "32 bytes, but 4 are expected"),
    (lambda: saxpy().check_result("y", None), "None is no argument of a kernel"),
    (lambda: opencl.CostFunction(SAXPY).kernel_args(3), r"3 is no argument .* numpy.int32\(...\)"),
    (lambda: opencl.CostFunction(SAXPY).kernel_args("x"), "'x' is no argument of a kernel"),
    (lambda: opencl.CostFunction(SAXPY).kernel_args(ctypes.c_bool(1)), r"format '<\?' is no argu"),
    (lambda: opencl.CostFunction(SAXPY).kernel_args(array.array("f")), "argument_0' is empty"),
    (lambda: opencl.CostFunction(SAXPY).kernel_args(ctypes.c_float(float("inf"))), "not finite"),
    (lambda: opencl.Zeros("float", 3), "no element type 'float', but int8, uint8"),
    (lambda: opencl.CostFunction(SAXPY).repetitions(0), "is 1 to 1000, not 0"),
    (lambda: opencl.CostFunction(SAXPY).time_limit(0), "more than 0 and at most 86400"),
    (lambda: cuda.CostFunction(("", "f")).device_id(-1), "is 0, 1, ..., not -1"),
    (lambda: command.CostFunction(""), "a command is a text"),
])
def test_what_is_wrong(make, message):
    with pytest.raises(mdh.ExpressionError, match=message) as caught:
        make()
    assert caught.value.location.file == __file__


def test_kernels_in_files(tmp_path):
    path = tmp_path / "saxpy.cl"
    path.write_text(SAXPY)
    assert opencl.Kernel.from_file(path).name == "saxpy"
