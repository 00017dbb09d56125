"""Kernels in a file, without a daemon:

    with Bundle("kernels.mdhb") as bundle:
        query = bundle.query(einsum("ik,kj->ij", i=512, j=512, k=512))      # once
        entry = bundle.find(query)                                          # often
        run = CpuKernel(entry.kernel())

The file is what `mdh admin export` writes; proto/bundle_layout.h says what is where. It is mapped, so
that all processes share one copy. Kernels are code: who runs what is in a bundle trusts who made it,
and `sum` says whether it is the one that they made.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import struct
from typing import Any, Iterator, Optional, Tuple, Union

from .errors import FailedPreconditionError, MdhError, NotFoundError, wrong
from .expression import Expression
from .pipeline import Pipeline
from .results import CheckedExpression, Kernel, TunedKernel, policy
from .trust import TrustedUsers, check_trusted
from .v1 import kernel_pb2, record_pb2

_MAGIC = b"MDHBNDL2"
_VERSION = 2
_HEADER = struct.Struct("<8sIIQQQQ")  # magic, version, 0, bytes of the file, entries, slots, info
_HEADER_BYTES, _SUM_AT, _SUM_BYTES = 128, 96, 32
_SLOT = struct.Struct("<QQ")  # hash, number plus 1
_ROW = struct.Struct("<QIIIIII32s")
_FEWEST_SLOTS = 8


class BundleError(MdhError):
    """A file that is no bundle, is of another version, was cut off or changed."""

    code = "INVALID_ARGUMENT"


class BundleQuery:
    """What a lookup asks for. Made once, used for many lookups, in any bundle."""

    __slots__ = ("identity", "hash")

    def __init__(self, canonical: str, device: str, numerics: str = ""):
        """`canonical`: the canonical form of the expression; `device`: the fingerprint, as
        Bundle.devices has it; `numerics`: as that of Client.tune."""
        form, fingerprint = canonical.encode(), device.encode()
        self.identity = b"".join((
            struct.pack("<II", policy(numerics or "reassociate"), len(form)), form,
            struct.pack("<I", len(fingerprint)), fingerprint))
        self.hash = int.from_bytes(hashlib.sha256(self.identity).digest()[:8], "little")


class BundleEntry:
    """What a bundle has for a query. Lives no longer than the bundle."""

    __slots__ = ("_parts", "compiler", "generator_version")

    def __init__(self, parts: Tuple[memoryview, memoryview], compiler: str, generator_version: int):
        self._parts = parts
        self.compiler = compiler
        self.generator_version = generator_version

    @property
    def tuned(self) -> TunedKernel:
        """The record: times, parameters, how it was found."""
        record = record_pb2.TuningRecord()
        record.ParseFromString(bytes(self._parts[0]))
        return TunedKernel.from_proto(record)

    def kernel(self) -> Kernel:
        """The code. Errors: NotFoundError if the bundle has the record alone."""
        if not self._parts[1]:
            raise NotFoundError("the bundle has the record of this kernel, but not its code")
        kernel = kernel_pb2.Kernel()
        kernel.ParseFromString(bytes(self._parts[1]))
        return Kernel.from_proto(kernel)


class Bundle:
    """A bundle, mapped read-only; also a context manager. Thread-safe. A newer version must be put
    in the file's place by renaming: what was checked must not change."""

    def __init__(self, path: Union[str, "os.PathLike[str]"], *, check_all: bool = True):
        """`check_all`: compares all contents with their SHA-256 now, which takes a second for each
        gigabyte; else each when it is found. Errors: BundleError; OSError; PermissionDeniedError if it
        is not of this user, root or one of $MDH_TRUSTED_USERS, or others could write it."""
        self.path = os.fspath(path)
        with contextlib.suppress(FailedPreconditionError):  # what cannot be walked cannot be opened
            check_trusted(self.path, TrustedUsers())
        with open(self.path, "rb") as file:
            if os.fstat(file.fileno()).st_size < _HEADER_BYTES:
                raise BundleError(f"{self.path}: the bundle is no bundle, or is cut off")
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._bytes = memoryview(self._map)
        self._devices: Optional[Tuple[str, ...]] = None
        try:
            self._read_header()
            self._check_rows()
            self._checked = bytearray(self._entries)
            if check_all:
                for number in range(self._entries):
                    self._check_content(number)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Bundle":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Unmaps the file, once no entry is in use any longer."""
        self._bytes.release()
        try:
            self._map.close()
        except BufferError:
            pass  # an entry still has a view: the map goes with it

    def __len__(self) -> int:
        return self._entries

    def __iter__(self) -> Iterator[BundleEntry]:
        """All entries, in no particular order."""
        return (self._entry(number) for number in range(self._entries))

    @property
    def sum(self) -> str:
        """SHA-256 that stands for everything in the bundle, 64 hexadecimal digits."""
        return bytes(self._bytes[_SUM_AT:_SUM_AT + _SUM_BYTES]).hex()

    @property
    def devices(self) -> Tuple[str, ...]:
        """The fingerprints of the devices that it has kernels for, sorted. The first call looks at all
        entries. Errors: BundleError if one was changed."""
        if self._devices is None:
            self._devices = tuple(sorted(set(map(self._device, range(self._entries)))))
        return self._devices

    def _device(self, number: int) -> str:
        if not self._checked[number]:
            self._check_content(number)
        offset, identity, *_ = self._row(number)
        form = struct.unpack_from("<I", self._bytes, offset + 4)[0]
        return str(self._bytes[offset + 12 + form:offset + identity], "utf-8")

    def query(self, expression: Union[Expression, Pipeline, CheckedExpression], *, device: str = "",
              numerics: str = "") -> BundleQuery:
        """What `find` takes. `expression`: one, or a pipeline, that was built in Python, or what
        Client.check gave; texts need a daemon's check. `device`: a fingerprint; default: the bundle's only one.
        `numerics`: as that of Client.tune. Errors: ExpressionError."""
        if not isinstance(expression, (Expression, Pipeline, CheckedExpression)):
            raise wrong("a bundle is asked for an expression that was built in Python, or for what "
                        "Client.check gave")
        if not device:
            devices = self.devices
            if len(devices) != 1:
                raise wrong(f"{self.path} has kernels for {len(devices)} devices: say which "
                            "(Bundle.devices)")
            device = devices[0]
        return BundleQuery(expression.canonical_form, device, numerics)

    def find(self, query: BundleQuery) -> BundleEntry:
        """The entry for a query; the whole key is compared. Any compiler and generator fits, newer
        ones are preferred. Errors: NotFoundError; BundleError if it was changed."""
        data, mask = self._bytes, self._slots - 1
        slot = query.hash & mask
        while True:
            hash_, number = _SLOT.unpack_from(data, _HEADER_BYTES + slot * _SLOT.size)
            if number == 0:
                raise NotFoundError("the bundle has no such kernel")
            if hash_ == query.hash:
                offset, identity, *_ = self._row(number - 1)
                if bytes(data[offset:offset + identity]) == query.identity:
                    return self._entry(number - 1)
            slot = (slot + 1) & mask

    def _entry(self, number: int) -> BundleEntry:
        if not self._checked[number]:
            self._check_content(number)
        offset, identity, compiler, record, kernel, generator, _, _ = self._row(number)
        compiler_at = offset + identity
        record_at = compiler_at + compiler
        kernel_at = record_at + record
        data = self._bytes
        return BundleEntry(
            (data[record_at:kernel_at], data[kernel_at:kernel_at + kernel]),
            str(data[compiler_at:record_at], "utf-8"), generator)

    def _row(self, number: int) -> Any:
        return _ROW.unpack_from(self._bytes, self._rows_at + number * _ROW.size)

    def _bad(self, what: str) -> BundleError:
        return BundleError(f"{self.path}: the bundle {what}")

    def _read_header(self) -> None:
        data, size = self._bytes, len(self._bytes)
        magic, version, _, file_bytes, entries, slots, info = _HEADER.unpack_from(data, 0)
        if magic != _MAGIC:
            raise self._bad("does not begin as one")
        if version != _VERSION:
            raise self._bad(f"is of version {version}, but this package reads version {_VERSION}")
        if file_bytes != size:
            raise self._bad(f"is cut off, or something was added: it has {size} bytes and should "
                            f"have {file_bytes}")
        self._entries, self._slots = entries, slots
        self._rows_at = _HEADER_BYTES + slots * _SLOT.size
        self._contents_at = _up(self._rows_at + entries * _ROW.size + info, 64)
        is_possible = (slots >= max(_FEWEST_SLOTS, 2 * entries) and slots & (slots - 1) == 0
                       and self._contents_at <= size)
        if not is_possible:
            raise self._bad("has wrong sizes in its header")
        sum_ = hashlib.sha256(data[:_SUM_AT])
        sum_.update(data[_HEADER_BYTES:self._contents_at])
        if sum_.digest() != data[_SUM_AT:_SUM_AT + _SUM_BYTES]:
            raise self._bad("is damaged: its index was changed, its SHA-256 is another")

    def _check_rows(self) -> None:
        """So that every search of a slot ends, and no entry leaves the file."""
        used = 0
        for _, number in _SLOT.iter_unpack(self._bytes[_HEADER_BYTES:self._rows_at]):
            if number > self._entries:
                raise self._bad("has an index with numbers of no entry")
            used += number != 0
        if used != self._entries:
            raise self._bad("has an index that is not complete")
        end = self._contents_at
        for number in range(self._entries):
            offset, *sizes, _, _, _ = self._row(number)
            if offset != end or sizes[0] < 12:
                raise self._bad(f"has entry {number} at a wrong place")
            end = _up(end + sum(sizes), 8)
        if end != len(self._bytes):
            raise self._bad("ends within an entry, or has bytes after its last one")

    def _check_content(self, number: int) -> None:
        offset, *sizes, _, _, expected = self._row(number)
        end = offset + sum(sizes)
        rest = self._bytes[end:_up(end, 8)]
        if hashlib.sha256(self._bytes[offset:end]).digest() != expected or any(rest):
            raise self._bad(f"is damaged: entry {number} was changed, its SHA-256 is another")
        form = struct.unpack_from("<I", self._bytes, offset + 4)[0]
        if 12 + form > sizes[0]:
            raise self._bad(f"has entry {number} without key")
        self._checked[number] = 1


def _up(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment
