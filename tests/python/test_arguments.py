"""Which arrays a kernel takes: those of the expression's shape, and no others of as many bytes."""

import traceback

import pytest
from test_cuda_kernel import Array as OnGpu
from test_cuda_kernel import FakeCompiler, FakeDriver

import mdh
from mdh import Buffer, ExpressionError, Record, fp32, fp64, inp, inp_view, int64, md_hom, out, out_view
from mdh.arguments import argument_of
from mdh.kernels.kernel_file import KernelArgument, KernelLaunch

np = pytest.importorskip("numpy")
SOURCE = "int mdh_k(const float* a, const float* b, float* c, void* s) { c[0] = a[0] + b[0]; return 0; }"


class Kernel:
    """C = A and B, of 4 x 6, 6 x 5 and 4 x 5."""

    entry = "mdh_k"
    language = "OpenMP C"
    source = SOURCE
    arguments = (argument_of("A", "fp32", (4, 6)), argument_of("B", "fp32", (6, 5)),
                 argument_of("C", "fp32", (4, 5), is_output=True))
    compiler = "gcc"
    compile_options = ("-O1",)
    launches = (KernelLaunch("fill", (1, 1, 1), (1, 1, 1), 0),)
    scratch_bytes = 0

    def __init__(self, **changes):
        self.__dict__.update(changes)


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    directory = tmp_path_factory.mktemp("kernels") / "cache"
    return lambda **changes: mdh.CpuKernel(Kernel(**changes), cache_directory=directory)


def arrays():
    return {"A": np.ones((4, 6), np.float32), "B": np.ones((6, 5), np.float32),
            "C": np.zeros((4, 5), np.float32)}


def unaligned(shape):
    size = int(np.prod(shape))
    return np.zeros(4 * size + 8, np.uint8)[1:4 * size + 1].view(np.float32).reshape(shape)


def read_only(array):
    array.flags.writeable = False
    return array


WRONG = {
    "transposed": ("A", lambda a: np.ascontiguousarray(a["A"].T), ValueError,
                   "has shape (6, 4), but the kernel expects (4, 6)"),
    "of more rows": ("B", lambda a: np.ones((10, 6), np.float32), ValueError,
                     "has shape (10, 6), but the kernel expects (6, 5)"),
    "flat": ("A", lambda a: a["A"].reshape(24), ValueError,
             "has shape (24,), but the kernel expects (4, 6); reshape(4, 6) gives it that shape"),
    "with a dimension of 1": ("A", lambda a: a["A"][None], ValueError, "has shape (1, 4, 6), but"),
    "empty": ("A", lambda a: a["A"][:0], ValueError, "has shape (0, 6), but"),
    "in Fortran's order": ("A", lambda a: np.asfortranarray(a["A"]), ValueError,
                           "is not contiguous: shape (4, 6), strides in bytes (4, 16), but the kernel "
                           "expects (24, 4)"),
    "columns of a larger one": ("C", lambda a: np.zeros((4, 9), np.float32)[:, :5], ValueError,
                                "is not contiguous: shape (4, 5), strides in bytes (36, 4)"),
    "backwards": ("A", lambda a: a["A"][::-1], ValueError, "strides in bytes (-24, 4)"),
    "broadcast": ("A", lambda a: np.broadcast_to(a["A"][0], (4, 6)), ValueError, "strides in bytes (0, 4)"),
    "of another type": ("A", lambda a: a["A"].astype(np.int32), TypeError,
                        "has elements of type int32, but the kernel expects fp32"),
    "big-endian": ("A", lambda a: a["A"].astype(">f4"), TypeError,
                   "has elements of type fp32 in big-endian order, but the kernel expects fp32"),
    "complex": ("A", lambda a: a["A"].astype(np.complex64), TypeError, "has elements of type unknown (<c8)"),
    "objects": ("A", lambda a: a["A"].astype(object), TypeError, "has elements of type unknown (|O)"),
    "dates": ("A", lambda a: np.zeros((4, 6), "M8[s]"), TypeError, "has elements of type unknown (<M8[s])"),
    "a list": ("A", lambda a: a["A"].tolist(), TypeError, "is a list, which is no array"),
    "None": ("A", lambda a: None, TypeError, "is None, no memory"),
    "a number of numpy": ("A", lambda a: np.float32(3), TypeError, "is a number of numpy, which has no memory"),
    "unaligned": ("A", lambda a: unaligned((4, 6)), ValueError, "aligned to 4 bytes"),
    "read-only": ("C", lambda a: read_only(a["C"]), ValueError, "is an output, but the array is read-only"),
    "an input": ("C", lambda a: np.ndarray((4, 5), np.float32, a["A"]), ValueError,
                 "is an output and overlaps with 'A'"),
    "a part of an input": ("C", lambda a: np.ndarray((4, 5), np.float32, a["B"], 40), ValueError,
                           "is an output and overlaps with 'B'"),
    "on a GPU": ("A", lambda a: OnGpu(1 << 20, (4, 6)), ValueError,
                 "is memory of a GPU, but the kernel runs on the CPU"),
}


@pytest.mark.parametrize("name, change, error, message", WRONG.values(), ids=WRONG)
def test_an_array_that_does_not_fit_is_named_at_the_callers_line(load, name, change, error, message):
    kernel, given = load(), arrays()
    given[name] = change(given)
    with pytest.raises(error) as caught:
        kernel(*given.values())  # here
    assert isinstance(caught.value, ExpressionError)
    assert f"mdh_k: the argument '{name}' " in str(caught.value) and message in str(caught.value)
    assert "kernel(*given.values())  # here" in str(caught.value)
    frames = traceback.extract_tb(caught.tb)
    assert [frame.filename for frame in frames] == [__file__, mdh.kernels.cpu_kernel.__file__]
    assert caught.value.__suppress_context__


def test_arrays_that_fit(load):
    kernel, given = load(), arrays()
    kernel(*given.values())
    assert given["C"][0, 0] == 2
    kernel(given["A"], read_only(given["B"]), given["C"])  # inputs may be
    a = np.arange(30, dtype=np.float32)
    kernel(a[:24].reshape(4, 6), a.reshape(6, 5), given["C"])  # inputs may overlap
    kernel(given["A"].ctypes.data, given["B"], given["C"])


def test_the_number_of_arguments(load):
    with pytest.raises(TypeError, match=r"mdh_k has 3 arguments \(A, B, C\), not 1"):
        load()(np.zeros(4))


def test_pointers_overlap_too(load):
    a = np.zeros(24, np.float32)
    with pytest.raises(ValueError, match="'C' is an output and overlaps with 'B'"):
        load()(a.ctypes.data, a.ctypes.data + 96, a.ctypes.data + 100)


def test_outputs_overlap_with_each_other(load):
    two = load(arguments=(argument_of("x", "fp32", (4,)), argument_of("y", "fp32", (4,), is_output=True),
                          argument_of("z", "fp32", (4,), is_output=True)))
    memory = np.zeros(12, np.float32)
    two(memory[:4], memory[4:8], memory[8:])
    with pytest.raises(ValueError, match="'z' is an output and overlaps with 'y'"):
        two(memory[:4], memory[4:8], memory[7:11])


def test_strides_are_those_of_the_buffer(load):
    columns = load(arguments=(argument_of("A", "fp32", (4, 6), (1, 4)), argument_of("x", "fp32", (3,), (2,)),
                              argument_of("y", "fp32", (3,), (2,), is_output=True)))
    memory = np.zeros(6, np.float32)
    columns(np.asfortranarray(np.ones((4, 6), np.float32)), memory[::2], memory[1::2])
    for a, message in ((np.ones((4, 6), np.float32), r"has strides in bytes \(24, 4\), but .* \(4, 16\)$"),
                       (np.ones((6, 4), np.float32), r"has shape \(6, 4\), but the kernel expects \(4, 6\)$"),
                       (np.ones(24, np.float32), r"has shape \(24,\), but the kernel expects \(4, 6\)$")):
        with pytest.raises(ValueError, match="(?m)'A' " + message):
            columns(a, memory[::2], memory[1::2])
    with pytest.raises(ValueError, match="'y' is an output and overlaps with 'x'"):
        columns(np.asfortranarray(np.ones((4, 6), np.float32)), memory[::2], memory[::2])


def test_a_single_value_has_any_number_of_dimensions(load):
    kernel = load(arguments=tuple(argument_of(name, "fp32", (), is_output=name == "c") for name in "abc"))
    for shape in ((), (1,), (1, 1)):
        kernel(*(np.zeros(shape, np.float32) for _ in range(3)))
    with pytest.raises(ValueError, match=r"has shape \(2,\), but the kernel expects \(\)"):
        kernel(*(np.zeros(2, np.float32) for _ in range(3)))


def test_kernels_of_earlier_versions_say_no_shapes(load):
    kernel = load(arguments=(KernelArgument("a", "fp32", 24, 96, False), KernelArgument("b", "fp32", 6, 24, False),
                             KernelArgument("c", "fp32", 1, 4, True)))
    b, c = np.zeros(6, np.float32), np.zeros(1, np.float32)
    for shape in ((24,), (4, 6), (6, 4)):
        kernel(np.zeros(shape, np.float32), b, c)
    for shape in ((23,), (25,)):
        with pytest.raises(ValueError, match=f"'a' has {4 * shape[0]} bytes, but the kernel expects 96"):
            kernel(np.zeros(shape, np.float32), b, c)


def test_records(load):
    record = (("id", "int64"), ("weight", "fp32"))
    kernel = load(arguments=(
        KernelArgument("x", "", 3, 48, False, (3,), (), record),
        argument_of("b", "fp32", (2,)), argument_of("c", "fp32", (2,), is_output=True)))
    b, c = np.zeros(2, np.float32), np.zeros(2, np.float32)

    def structured(*fields, align=True):
        return np.zeros(3, np.dtype(list(fields), align=align))

    kernel(structured(("id", "i8"), ("weight", "f4")), b, c)
    kernel(np.zeros((3, 16), np.uint8), b, c)
    for x, error, message in (
            (structured(("id", "i8"), ("weight", "f8")), TypeError, "with id: int64, weight: fp64, but the kernel "
             "expects records of 16 bytes with id: int64, weight: fp32"),
            (structured(("id", "i8"), ("weight", "f4"), align=False), TypeError, "elements of 12 bytes"),
            (np.zeros((3, 2), np.float64), TypeError, "elements of 8 bytes"),
            (np.zeros((4, 16), np.uint8), ValueError, "shape .4,., but the kernel expects .3,."),
            (np.zeros(48, np.uint8), TypeError, "elements of 1 bytes")):
        with pytest.raises(error, match=f"'x' has .*{message}"):
            kernel(x, b, c)


def test_kernels_on_a_gpu_check_the_same():
    kernel = mdh.CudaKernel(Kernel(language="CUDA C++"), driver=FakeDriver(), nvrtc=FakeCompiler())
    a, b, c = (OnGpu(place << 20, shape) for place, shape in ((1, (4, 6)), (2, (6, 5)), (3, (4, 5))))
    for wrong, error, message in (
            (OnGpu(1 << 20, (6, 4)), ValueError, r"'A' has shape \(6, 4\), but the kernel expects \(4, 6\)"),
            (OnGpu(1 << 20, (4, 6), "<f8"), TypeError, "'A' has elements of type fp64, but .* fp32"),
            (OnGpu(1 << 20, (4, 6), strides=(4, 16)), ValueError, "'A' is not contiguous"),
            (OnGpu((1 << 20) + 4, (4, 6)), ValueError, "'A' starts at 0x100004: .* aligned to 16 bytes"),
            (OnGpu((3 << 20) + 64, (4, 6)), ValueError, "'C' is an output and overlaps with 'A'"),
            (OnGpu(1 << 40, (4, 6)), ValueError, "'A' is on GPU 1, but the kernel runs on GPU 0"),
            (np.zeros((4, 6), np.float32), ValueError, "'A' is a ndarray in memory of the CPU")):
        for call in (kernel, kernel.prepare):
            with pytest.raises(error, match="mdh_k: the argument " + message) as caught:
                call(wrong, b, c)
            assert {frame.filename for frame in traceback.extract_tb(caught.tb)} == {
                __file__, mdh.kernels.cuda_kernel.__file__}


Body = Record(x=fp32, m=fp64)


def test_kernels_of_a_daemon_say_the_shapes_of_the_expression(client, tmp_path):
    @mdh.mdh(out(w=Buffer(fp32, [4, 6], strides=[1, 4])),
             inp(M=Buffer[fp32, [4, 6]], v=Buffer(Body, [6]), s=Buffer[int64]))
    def shapes():
        def f(out, inp):
            out['w'] = inp['M'] * inp['v'].x + fp32(inp['s'])

        return (out_view[fp32](w=[lambda i, k: (i, k)]), md_hom[4, 6](f, (mdh.cc, mdh.cc)),
                inp_view[fp32, Body, int64](M=[lambda i, k: (i, k)], v=[lambda i, k: (k)], s=[lambda i, k: ()]))

    kernel = client.best_kernel(shapes, measured=False).kernel
    assert [(a.name, a.extents, a.strides, a.record) for a in kernel.arguments] == [
        ("M", (4, 6), (), ()), ("v", (6,), (), (("x", "fp32"), ("m", "fp64"))), ("s", (), (), ()),
        ("w", (4, 6), (1, 4), ())]
    m, s = np.arange(24, dtype=np.float32).reshape(4, 6), np.array(3)
    v = np.zeros(6, np.dtype([("x", "f4"), ("m", "f8")], align=True))
    v["x"] = 2
    w = np.zeros((4, 6), np.float32, order="F")
    mdh.CpuKernel(kernel, cache_directory=tmp_path / "cache")(m, v, s, w)
    assert (w == 2 * m + 3).all()


def test_dimensions_that_are_run_through_as_one_are_still_the_callers(client, tmp_path):
    @mdh.mdh(out(y=Buffer[fp32]), inp(x=Buffer[fp32]))
    def twice(y, x):
        for i in range(30):
            for j in range(40):
                y[i, j] = 2 * x[i, j]

    kernel = client.best_kernel(twice, measured=False).kernel
    assert [a.extents for a in kernel.arguments] == [(30, 40)] * 2
    x, y = np.ones((30, 40), np.float32), np.zeros((30, 40), np.float32)
    run = mdh.CpuKernel(kernel, cache_directory=tmp_path / "cache")
    run(x, y)
    assert (y == 2).all()
    with pytest.raises(ValueError, match=r"has shape \(1, 1200\), but the kernel expects \(30, 40\)"):
        run(x.reshape(1, 1200), y)


class Tensor:
    """What torch says of a tensor, and nothing else: no interface that lends its memory."""

    def __init__(self, array, dtype="torch.float32", device="cpu", requires_grad=False, is_neg=False):
        self.array, self.dtype, self.requires_grad = array, dtype, requires_grad
        self.shape, self.is_cpu = array.shape, device == "cpu"
        self.is_neg = lambda: is_neg

    def is_contiguous(self):
        return self.array.flags.c_contiguous

    def stride(self):
        return tuple(step // self.array.itemsize for step in self.array.strides)

    def data_ptr(self):
        return self.array.ctypes.data


Tensor.__module__ = "torch"


def test_tensors_of_torch_are_taken_at_a_glance(load):
    kernel, given = load(), arrays()
    kernel(*map(Tensor, given.values()))
    assert given["C"][0, 0] == 2


def test_single_elements_are_taken_at_a_glance(load):
    arguments = (*Kernel.arguments[:2], argument_of("C", "fp32", (), is_output=True))
    given = {**arrays(), "C": np.zeros((), np.float32)}
    load(arguments=arguments)(*map(Tensor, given.values()))
    assert given["C"] == 2
    load(arguments=arguments)(*given.values())
    with pytest.raises(ValueError, match="'C' is an output, but the array is read-only"):
        load(arguments=arguments)(given["A"], given["B"], read_only(given["C"]))
    with pytest.raises(TypeError, match="'C' is a number of numpy, which has no memory of its own"):
        load(arguments=arguments)(given["A"], given["B"], np.float32(1))


@pytest.mark.parametrize("change", [
    {"dtype": "torch.float64"}, {"device": "cuda"}, {"requires_grad": True}, {"is_neg": True}])
def test_other_tensors_take_the_long_way(load, change):
    given = arrays()
    with pytest.raises(TypeError, match="'B' is a Tensor, which is no array"):
        load()(Tensor(given["A"]), Tensor(given["B"], **change), Tensor(given["C"]))


def test_tensors_of_other_places_take_the_long_way(load):
    given = arrays()
    for wrong in (np.ones((6, 4), np.float32), np.ones((5, 4), np.float32).T, unaligned((4, 5))):
        with pytest.raises(TypeError, match="'C' is a Tensor, which is no array"):
            load()(Tensor(given["A"]), Tensor(given["B"]), Tensor(wrong))
