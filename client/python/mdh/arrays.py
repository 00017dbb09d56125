"""What kernels need to know of arrays of other libraries: where their elements are, of which type, in
which order, on which device. Through __cuda_array_interface__ (torch, cupy, numba), __array_interface__
(numpy) or DLPack (torch, jax, cupy, numpy, tensorflow); nothing of these libraries is imported."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass, replace
from typing import Any, Optional, Tuple

from .errors import MdhError, wrong
from .types import SCALAR_TYPES

# Names of the types of elements by how the interfaces of arrays write them; by DLDataTypeCode and
# bits; by what ml_dtypes, whose types numpy's interface knows the size of only, calls them.
_INTERFACE_TYPES = {t.typestr: t.name for t in SCALAR_TYPES if t.is_in_numpy}
_DLPACK_TYPES = {(t.dlpack, 8 * t.size_bytes): t.name for t in SCALAR_TYPES}
_LIBRARY_TYPES = {t.library_name: t.name for t in SCALAR_TYPES if not t.is_in_numpy}
# DLDeviceType: memory that the CPU reaches, and that a CUDA device does.
_DLPACK_CPU = (1, 3)
_DLPACK_CUDA = (2, 13)


@dataclass(frozen=True)
class ArrayView:
    """Memory of somebody else's array. `owner` keeps it."""

    pointer: int
    type: str  # "fp32", ...; empty: one that kernels do not have
    item_bytes: int
    shape: Tuple[int, ...]
    strides: Optional[Tuple[int, ...]]  # in bytes; None: contiguous
    is_on_gpu: bool
    is_read_only: bool
    owner: Any
    described: str = ""  # of a type that kernels do not have: what it is
    fields: Tuple[Tuple[str, str], ...] = ()  # names and types of the fields of records

    @property
    def size_bytes(self) -> int:
        size = self.item_bytes
        for extent in self.shape:
            size *= extent
        return size

    def is_contiguous(self) -> bool:
        """Whether it is row-major without gaps."""
        if self.strides is None or self.size_bytes == 0:
            return True
        expected = self.item_bytes
        for extent, stride in zip(reversed(self.shape), reversed(self.strides)):
            if extent > 1 and stride != expected:
                return False
            expected *= extent
        return True


def view_of(array: Any, name: str) -> ArrayView:
    """Errors: ExpressionError, naming the argument `name`, if it is no array."""
    for interface, is_on_gpu in (("__cuda_array_interface__", True),
                                 ("__array_interface__", False)):
        try:
            found = getattr(array, interface, None)
        except Exception:  # torch: types that the interface does not have, or needed gradients
            found = None
        if found is not None:
            if not found["shape"] and _is_number(array):
                raise wrong(f"the argument '{name}' is a number of numpy, which has no memory of its "
                            f"own: np.array(...) has")
            view = _of_interface(found, is_on_gpu, array)
            if view.type or view.fields:
                return view
            named = _LIBRARY_TYPES.get(str(getattr(getattr(array, "dtype", None), "name", "")))
            if named:
                return replace(view, type=named, described="")
            if not hasattr(array, "__dlpack__"):
                return view
            # bf16 and the like have a name in DLPack only.
            try:
                other = _of_dlpack(array, name)
            except Exception:  # numpy: types that DLPack does not have either
                return view
            return other if other.type else view
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        try:
            return _of_dlpack(array, name)
        except MdhError:
            raise
        except Exception as error:
            raise wrong(f"the argument '{name}' is a {type(array).__name__} that does not lend its "
                        f"memory: {error}") from error
    raise wrong(f"the argument '{name}' is a {type(array).__name__}, which is no array: it has "
                f"neither __cuda_array_interface__ nor __array_interface__ nor __dlpack__")


def _is_number(array: Any) -> bool:
    return type(array).__module__ == "numpy" and not hasattr(array, "__array_finalize__")


def _of_interface(interface: Any, is_on_gpu: bool, owner: Any) -> ArrayView:
    typestr = interface["typestr"]
    strides = interface.get("strides")
    pointer, is_read_only = interface["data"]
    type_ = _type_of(typestr)
    return ArrayView(
        pointer=int(pointer), type=type_,
        item_bytes=int(re.match(r"\d*", typestr[2:])[0] or 0),  # dates have their unit behind it
        shape=tuple(interface["shape"]),
        strides=None if strides is None else tuple(strides), is_on_gpu=is_on_gpu,
        is_read_only=bool(is_read_only), owner=owner, described="" if type_ else _described(typestr),
        fields=_fields(interface.get("descr")) if typestr[1] == "V" else ())


def _type_of(typestr: str) -> str:
    return "" if typestr[0] == ">" else _INTERFACE_TYPES.get(typestr[1:], "")


def _described(typestr: str) -> str:
    name = _INTERFACE_TYPES.get(typestr[1:])
    return f"{name} in big-endian order" if name else f"unknown ({typestr})"


def _fields(descr: Any) -> Tuple[Tuple[str, str], ...]:
    """Of a structured array, without padding; none of an array that has no fields with names."""
    named = [field for field in descr or () if field[0]]
    return tuple((field[0], _type_of(field[1]) if len(field) == 2 and isinstance(field[1], str)
                  else "unknown") for field in named)


class _Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("number", ctypes.c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    """DLTensor, with which a DLManagedTensor begins."""

    _fields_ = [
        ("data", ctypes.c_void_p), ("device", _Device), ("rank", ctypes.c_int32),
        ("type", _DataType), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned, since DLPack 1.0."""

    _fields_ = [
        ("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


_READ_ONLY = 1  # of flags


def _lent(array: Any, is_on_gpu: bool) -> Any:
    """A capsule, of DLPack 1 where the library has it: that says whether the array may be written."""
    # The caller orders streams: nothing is waited for here.
    options = {"stream": -1} if is_on_gpu else {}
    try:
        return array.__dlpack__(max_version=(1, 0), **options)
    except TypeError:  # an earlier version's
        return array.__dlpack__(**options)


def _tensor_of(capsule: Any) -> Tuple[_Tensor, bool]:
    """What is in a capsule, and whether it is read-only."""
    name_of, address_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    address_of.restype, address_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name = name_of(capsule)
    if name != b"dltensor_versioned":
        return _Tensor.from_address(address_of(capsule, b"dltensor")), False
    versioned = _Versioned.from_address(address_of(capsule, name))
    return versioned.tensor, bool(versioned.flags & _READ_ONLY)


def _of_dlpack(array: Any, name: str) -> ArrayView:
    kind = int(array.__dlpack_device__()[0])
    is_on_gpu = kind in _DLPACK_CUDA
    if not is_on_gpu and kind not in _DLPACK_CPU:
        raise wrong(f"the argument '{name}' is on a device of another kind (DLPack {kind})")
    capsule = _lent(array, is_on_gpu)
    tensor, is_read_only = _tensor_of(capsule)
    item_bytes = tensor.type.bits * tensor.type.lanes // 8
    strides = None
    if tensor.strides:
        strides = tuple(tensor.strides[n] * item_bytes for n in range(tensor.rank))
    # The capsule frees the tensor when it goes, and the tensor keeps the array.
    return ArrayView(
        pointer=(tensor.data or 0) + tensor.byte_offset, type=_dlpack_type(tensor.type),
        item_bytes=item_bytes, shape=tuple(tensor.shape[n] for n in range(tensor.rank)),
        strides=strides, is_on_gpu=is_on_gpu, is_read_only=is_read_only, owner=(array, capsule),
        described=f"unknown (DLPack {tensor.type.code}, {tensor.type.bits} bits)")


def _dlpack_type(type_: _DataType) -> str:
    return _DLPACK_TYPES.get((type_.code, type_.bits), "") if type_.lanes == 1 else ""
