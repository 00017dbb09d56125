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

from types import ModuleType as _ModuleType

from .aio import AsyncClient
from .bundle import Bundle, BundleEntry, BundleError, BundleQuery
from .client import Client, default_address
from .cpu_kernel import CpuKernel
from .cuda_driver import CudaDriver, CudaError
from .cuda_kernel import CudaKernel, FunctionResources, PreparedLaunch
from .dsl import combine_ops, inp, md_hom, mdh, out
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
    abs, ceil, cos, erf, exp, exp2, floor, fmod, log, log2, logical_not, pow, round, rsqrt, sin, sqrt,
    tanh, trunc,
)
from .kernel_file import KernelFile, read_kernel
from .nvrtc import Nvrtc
from .operators import (
    CC, PS, PW, CombineOperator, add, and_, bit_and, bit_or, bit_xor, cc, combine_operator, fmax,
    fmin, max, min, mul, or_, ps, pw, pw_custom_func, scalar_function, scalar_max, scalar_min, scalar_mul,
    scalar_plus, scalar_times,
)
from .results import (
    BestKernel, CheckedExpression, Job, Kernel, KernelArgument, KernelLaunch, Lookup, Progress,
    TunedKernel,
)
from .security import Security
from .trace import Table, literal, select, table, where
from .types import (
    BasicType, Record, Scalar, ScalarType, bf16, bool_, fp16, fp32, fp64, int8, int16, int32,
    int64, uint8, uint16, uint32, uint64,
)
from .views import Boundary, Buffer, clamp, constant, inp_view, out_view

__all__ = [
    _name for _name, _value in globals().items()
    if not _name.startswith("_") and not isinstance(_value, _ModuleType)
]
