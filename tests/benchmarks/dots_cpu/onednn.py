"""oneDNN 3 through its C interface: matrix products and convolutions of bf16 and of bytes."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Dict, List, Sequence, Tuple

_BF16, _F32, _S32, _S8, _U8 = 2, 3, 4, 5, 6
TYPES = {"bf16": _BF16, "fp32": _F32, "int32": _S32, "int8": _S8, "uint8": _U8}
_SRC, _DST, _WEIGHTS, _FROM, _TO = 1, 17, 33, 1, 17
_CPU, _IN_ORDER, _TAG_ANY = 1, 1, 1
_QUERY_WEIGHTS = 131
_QUERY_IMPLEMENTATION = 6
_FORWARD_INFERENCE, _DIRECT = 96, 1
_ALLOCATE = ctypes.c_void_p(-1 & (2**64 - 1))
_MOST_DIMENSIONS = 12


class OneDnnError(Exception):
    """A call that did not succeed."""


class _Argument(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("memory", ctypes.c_void_p)]


Step = Tuple[ctypes.c_void_p, Any]


class OneDnn:
    """The library at a path. Threads are those of OpenMP."""

    def __init__(self, path: str):
        self._library = ctypes.CDLL(path)
        self._engine, self._stream = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("dnnl_engine_create", ctypes.byref(self._engine), _CPU, ctypes.c_size_t(0))
        self._call("dnnl_stream_create", ctypes.byref(self._stream), self._engine, _IN_ORDER)
        self._library.dnnl_primitive_desc_query_md.restype = ctypes.c_void_p
        self._execute = self._library.dnnl_primitive_execute
        self._wait = self._library.dnnl_stream_wait

    def version(self) -> str:
        """MAJOR.MINOR.PATCH."""
        class Version(ctypes.Structure):
            _fields_ = [("major", ctypes.c_int), ("minor", ctypes.c_int), ("patch", ctypes.c_int)]
        self._library.dnnl_version.restype = ctypes.POINTER(Version)
        found = self._library.dnnl_version().contents
        return f"{found.major}.{found.minor}.{found.patch}"

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status != 0:
            raise OneDnnError(f"{name}: status {status}")

    def _made(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        self._call(name, ctypes.byref(made), *arguments)
        return made

    def _strided(self, extents: Sequence[int], strides: Sequence[int], element: int) -> Any:
        dims = (ctypes.c_int64 * _MOST_DIMENSIONS)(*extents)
        steps = (ctypes.c_int64 * _MOST_DIMENSIONS)(*strides)
        return self._made("dnnl_memory_desc_create_with_strides", len(extents), dims, element,
                          steps)

    def _any(self, extents: Sequence[int], element: int) -> Any:
        dims = (ctypes.c_int64 * _MOST_DIMENSIONS)(*extents)
        return self._made("dnnl_memory_desc_create_with_tag", len(extents), dims, element,
                          _TAG_ANY)

    def _memory(self, description: Any, address: Any) -> ctypes.c_void_p:
        return self._made("dnnl_memory_create", description, self._engine, address)

    def _step(self, description: Any, memories: Dict[int, ctypes.c_void_p]) -> Step:
        primitive = self._made("dnnl_primitive_create", description)
        arguments = (_Argument * len(memories))(
            *[_Argument(number, memory.value) for number, memory in memories.items()])
        return primitive, arguments

    def _run(self, steps: List[Step]) -> None:
        for primitive, arguments in steps:
            status = self._execute(primitive, self._stream, len(arguments), arguments)
            if status != 0:
                raise OneDnnError(f"executing: status {status}")
        self._wait(self._stream)

    def _pair(self, create: Callable[[Any], Any], source: Tuple[Any, int], weights: Tuple[Any, int],
              any_weights: Any, result: Tuple[Any, int]) -> Dict[str, Callable[[], None]]:
        """Weights as they are, and in the layout that the library likes best, made before."""
        peers: Dict[str, Callable[[], None]] = {}
        memories = {_SRC: self._memory(source[0], ctypes.c_void_p(source[1])),
                    _DST: self._memory(result[0], ctypes.c_void_p(result[1]))}
        plain = self._memory(weights[0], ctypes.c_void_p(weights[1]))
        try:
            step = self._step(create(weights[0]), {**memories, _WEIGHTS: plain})
            peers["onednn_plain"] = lambda: self._run([step])
        except OneDnnError:
            pass
        try:
            chosen = create(any_weights)
            best = ctypes.c_void_p(
                self._library.dnnl_primitive_desc_query_md(chosen, _QUERY_WEIGHTS, 0))
            packed = self._memory(best, _ALLOCATE)
            reorder = self._step(
                self._made("dnnl_reorder_primitive_desc_create", weights[0], self._engine, best,
                           self._engine, None), {_FROM: plain, _TO: packed})
            multiply = self._step(chosen, {**memories, _WEIGHTS: packed})
            self._run([reorder])
            peers["onednn_prepacked"] = lambda: self._run([multiply])
            peers["onednn_reordering"] = lambda: self._run([reorder, multiply])
        except OneDnnError:
            pass
        return peers

    def products(self, shape: Sequence[int], types: Sequence[str], is_transposed: bool,
                 addresses: Sequence[int]) -> Dict[str, Callable[[], None]]:
        """C[m,n] of A[m,k] and B[k,n], or B[n,k] if it is transposed."""
        m, n, k = shape
        a, b, c = (TYPES[name] for name in types)
        source = self._strided([m, k], [k, 1], a)
        weights = self._strided([k, n], [1, k] if is_transposed else [n, 1], b)
        result = self._strided([m, n], [n, 1], c)
        def create(of_weights: Any) -> Any:
            return self._made("dnnl_matmul_primitive_desc_create", self._engine, source,
                              of_weights, None, result, None)
        return self._pair(create, (source, addresses[0]), (weights, addresses[1]),
                          self._any([k, n], b), (result, addresses[2]))

    def convolutions(self, shape: Sequence[int], types: Sequence[str],
                     addresses: Sequence[int]) -> Dict[str, Callable[[], None]]:
        """Of an image NHWC with a filter RSCK; the result is NPQK."""
        n, p, q, k, r, s, c, stride = shape
        x, w, y = (TYPES[name] for name in types)
        h, v = (p - 1) * stride + r, (q - 1) * stride + s
        source = self._strided([n, c, h, v], [h * v * c, 1, v * c, c], x)
        weights = self._strided([k, c, r, s], [1, k, s * c * k, c * k], w)
        result = self._strided([n, k, p, q], [p * q * k, 1, q * k, k], y)
        strides = (ctypes.c_int64 * _MOST_DIMENSIONS)(stride, stride)
        none = (ctypes.c_int64 * _MOST_DIMENSIONS)(0, 0)
        def create(of_weights: Any) -> Any:
            return self._made("dnnl_convolution_forward_primitive_desc_create", self._engine,
                              _FORWARD_INFERENCE, _DIRECT, source, of_weights, None, result,
                              strides, none, none, none, None)
        return self._pair(create, (source, addresses[0]), (weights, addresses[1]),
                          self._any([k, c, r, s], w), (result, addresses[2]))
