"""What kernels need to know of arrays of other libraries: where their elements are, of which type, in
which order, on which device. Through __cuda_array_interface__ (torch, cupy, numba), __array_interface__
(numpy) or DLPack (torch, jax, cupy, numpy, tensorflow); nothing of these libraries is imported."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Optional, Tuple

from .errors import wrong

# Types of elements by how the interfaces of arrays write them.
_TYPES = {"b1": "bool", "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64", "u1": "uint8",
          "u2": "uint16", "u4": "uint32", "u8": "uint64", "f2": "fp16", "f4": "fp32", "f8": "fp64"}
# DLDataTypeCode.
_DLPACK_TYPES = {0: "int", 1: "uint", 2: "fp", 4: "bf", 6: "bool"}  # without the number of bits
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
            view = _of_interface(found, is_on_gpu, array)
            # bf16 has a name in DLPack only.
            if view.type or not hasattr(array, "__dlpack__"):
                return view
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        return _of_dlpack(array, name)
    raise wrong(f"the argument '{name}' is a {type(array).__name__}, which is no array: it has "
                f"neither __cuda_array_interface__ nor __array_interface__ nor __dlpack__")


def check(view: ArrayView, name: str, type_: str, size_bytes: int) -> None:
    """Whether a kernel can have it as an argument of this type (empty: any) and size.
    Errors: ExpressionError, naming the argument."""
    if type_ and view.type != type_:
        raise wrong(f"the argument '{name}' has elements of type {view.type or 'unknown'}, but the "
                    f"kernel expects {type_}")
    if not view.is_contiguous():
        raise wrong(f"the argument '{name}' is not contiguous: shape {view.shape}, strides in bytes "
                    f"{view.strides}")
    if view.size_bytes < size_bytes:
        raise wrong(f"the argument '{name}' has {view.size_bytes} bytes, but the kernel expects "
                    f"{size_bytes}")


def _of_interface(interface: Any, is_on_gpu: bool, owner: Any) -> ArrayView:
    typestr = interface["typestr"]
    strides = interface.get("strides")
    pointer, is_read_only = interface["data"]
    return ArrayView(
        pointer=int(pointer), type="" if typestr[0] == ">" else _TYPES.get(typestr[1:], ""),
        item_bytes=int(typestr[2:]), shape=tuple(interface["shape"]),
        strides=None if strides is None else tuple(strides), is_on_gpu=is_on_gpu,
        is_read_only=bool(is_read_only), owner=owner)


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


def _of_dlpack(array: Any, name: str) -> ArrayView:
    kind = int(array.__dlpack_device__()[0])
    is_on_gpu = kind in _DLPACK_CUDA
    if not is_on_gpu and kind not in _DLPACK_CPU:
        raise wrong(f"the argument '{name}' is on a device of another kind (DLPack {kind})")
    # The caller orders streams: nothing is waited for here.
    capsule = array.__dlpack__(stream=-1) if is_on_gpu else array.__dlpack__()
    address = ctypes.pythonapi.PyCapsule_GetPointer
    address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _Tensor.from_address(address(capsule, b"dltensor"))
    item_bytes = tensor.type.bits * tensor.type.lanes // 8
    strides = None
    if tensor.strides:
        strides = tuple(tensor.strides[n] * item_bytes for n in range(tensor.rank))
    # The capsule frees the tensor when it goes, and the tensor keeps the array.
    return ArrayView(
        pointer=(tensor.data or 0) + tensor.byte_offset, type=_dlpack_type(tensor.type),
        item_bytes=item_bytes, shape=tuple(tensor.shape[n] for n in range(tensor.rank)),
        strides=strides, is_on_gpu=is_on_gpu, is_read_only=False, owner=(array, capsule))


def _dlpack_type(type_: _DataType) -> str:
    name = _DLPACK_TYPES.get(type_.code, "")
    if not name or type_.lanes != 1:
        return ""
    return name if name == "bool" else f"{name}{type_.bits}"
