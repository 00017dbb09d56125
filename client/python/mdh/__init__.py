"""Data-parallel computations as Multi-Dimensional Homomorphisms, and a client of mdhd.

    from mdh import *

    @mdh()
    def matvec():
        return (
            out_view[fp32](w=[lambda i, k: (i)]),
            md_hom[I, K](mul, (cc, pw(add))),
            inp_view[fp32, fp32](M=[lambda i, k: (i, k)], v=[lambda i, k: (k)]),
        )

    with Client() as client:
        print(client.check(matvec).digest)
"""

import sys as _sys
from typing import cast as _cast

from .aio import AsyncClient
from .bundle import Bundle, BundleEntry, BundleError, BundleQuery
from .callable_package import CallablePackage as _CallablePackage
from .candidate import (
    BoundHistogram, Candidate, CandidateDecision, ComparedBounds, DescribedCandidate, FinishedCandidate)
from .client import Client, default_address
from .kernels.cpu_kernel import CpuKernel
from .kernels.cuda_driver import CudaDriver, CudaError
from .kernels.cuda_kernel import CudaKernel, FunctionResources, PreparedLaunch
from .dsl import combine_ops, inp, md_hom, out, store
from .einsum import einsum
from .elements import identity, index
from .errors import (
    AbortedError, AlreadyExistsError, ArgumentTypeError, ArgumentValueError, CancelledError,
    DeadlineExceededError, ExpressionError, FailedPreconditionError, InternalError, MdhError,
    NotFoundError, OutOfRangeError,
    PermissionDeniedError, ResourceExhaustedError, SourceLocation, UnauthenticatedError,
    UnavailableError, UnimplementedError,
)
from .expression import Expression, TextExpression, parse
from .functions import (
    abs as abs, atan2, cbrt, ceil, copysign, cos, erf, exp, exp2, expm1, floor, fmod, log, log1p, log2,
    logical_not, pow as pow, round as round, rsqrt, sin, sqrt, tanh, trunc,
)
from .kernels.kernel_file import KernelArgument, KernelFile, KernelLaunch, TensorMap, read_kernel
from .kernels.nvrtc import Nvrtc
from .operators import (
    CC, PS, PW, CombineOperator, add, and_, bit_and, bit_or, bit_xor, cc, combine_operator, fmax,
    fmin, max as max, min as min, mul, or_, ps, pw, pw_custom_func, scalar_function, scalar_max, scalar_min, scalar_mul,
    scalar_plus, scalar_times,
)
from .pipeline import Pipeline, pipeline
from .results import (
    BestKernel, Bound, CheckedExpression, Job, Kernel, Lookup, Progress, TunedKernel,
)
from .schedule import CheckedSchedule, Schedule
from .security import Security
from .trace import Table, literal, select, table, where
from .types import (
    BasicType, Record, Scalar, ScalarType, bf16, bool_, fp8e4m3, fp8e5m2, fp16, fp32, fp64,
    int8, int16, int32, int64, uint8, uint16, uint32, uint64,
)
from .views import Boundary, Buffer, clamp, constant, inp_view, out_view

# Without abs, max, min, pow and round, which would hide Python's own: those are mdh.max, ..., or
# imported by name; pw(max) and others take Python's, too. In full, for type checkers.
__all__ = [
    "AbortedError", "add", "AlreadyExistsError", "and_", "ArgumentTypeError",
    "ArgumentValueError", "AsyncClient", "atan2", "BasicType", "BestKernel", "bf16", "bit_and",
    "bit_or", "bit_xor", "bool_", "Bound", "Boundary", "BoundHistogram", "Buffer", "Bundle", "BundleEntry",
    "BundleError", "BundleQuery", "CancelledError", "Candidate", "CandidateDecision", "cbrt",
    "CC", "cc", "ceil", "CheckedExpression", "CheckedSchedule", "clamp",
    "Client", "combine_operator", "combine_ops", "CombineOperator", "ComparedBounds", "constant", "copysign",
    "cos", "CpuKernel", "CudaDriver", "CudaError", "CudaKernel", "DeadlineExceededError",
    "default_address", "DescribedCandidate", "einsum", "erf", "exp", "exp2", "expm1", "Expression", "ExpressionError",
    "FailedPreconditionError", "FinishedCandidate", "floor", "fmax", "fmin", "fmod", "fp16", "fp32", "fp64",
    "fp8e4m3", "fp8e5m2",
    "FunctionResources", "identity", "index", "inp", "inp_view", "int16", "int32", "int64",
    "int8", "InternalError", "Job", "Kernel", "KernelArgument", "KernelFile", "KernelLaunch",
    "literal", "log", "log1p", "log2", "logical_not", "Lookup", "md_hom", "mdh", "MdhError",
    "mul", "NotFoundError", "Nvrtc", "or_", "out", "out_view", "OutOfRangeError", "parse",
    "PermissionDeniedError", "Pipeline", "pipeline", "PreparedLaunch", "Progress", "ps", "PS", "PW", "pw",
    "pw_custom_func", "read_kernel", "Record", "ResourceExhaustedError", "rsqrt", "Scalar",
    "scalar_function", "scalar_max", "scalar_min", "scalar_mul", "scalar_plus", "scalar_times",
    "ScalarType", "Schedule", "Security", "select", "sin", "SourceLocation", "sqrt", "store", "Table", "table",
    "tanh", "TensorMap", "TextExpression", "trunc", "TunedKernel", "uint16", "uint32", "uint64", "uint8",
    "UnauthenticatedError", "UnavailableError", "UnimplementedError", "where",
]


mdh = _cast(_CallablePackage, _sys.modules[__name__])
mdh.__class__ = _CallablePackage
