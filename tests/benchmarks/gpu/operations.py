"""All computations that the benchmark knows, by the names of their expressions."""

from __future__ import annotations

from typing import Callable, Dict

from sample.families import operation_of_definition

from . import contractions, epilogues, pipelines, record_linkage, reductions, stencils
from .cases import Case
from .operation import Bindings, Operation

_CONTRACTIONS = ("gdab_efgc", "gdac_efgb", "gdbc_efga", "geab_dfgc", "geac_dfgb", "gebc_dfga",
                 "gfab_degc", "gfac_degb", "gfbc_dega")
OPERATIONS: Dict[str, Callable[[Bindings], Operation]] = {
    "dot": contractions.dot,
    "matvec": contractions.matvec,
    "matmul": contractions.matmul,
    "matmul_fp16": contractions.matmul,
    "matmul_t": contractions.matmul_t,
    "bmatmul": contractions.bmatmul,
    **{f"ccsdt_{name}": contractions.ccsdt(f"ccsdt_{name}") for name in _CONTRACTIONS},
    "jacobi3d": stencils.jacobi3d,
    "conv2d": stencils.conv2d,
    "mcc": stencils.mcc,
    "mcc_capsule": stencils.mcc_capsule,
    "prl": record_linkage.prl,
    "scan": reductions.scan,
    "histo": reductions.histo,
    "argmax": reductions.argmax,
    "softmax_stats": reductions.softmax_stats,
    "dense_gelu": epilogues.dense_gelu,
    "conv_bn_relu": epilogues.conv_bn_relu,
    "log_sum_exp": epilogues.log_sum_exp,
    "pipelines/softmax": pipelines.softmax,
    "pipelines/log_softmax": pipelines.log_softmax,
    "pipelines/layer_norm": pipelines.layer_norm,
    "pipelines/rms_norm": pipelines.rms_norm,
    "pipelines/attention": pipelines.attention,
    "pipelines/causal_attention": pipelines.causal_attention,
    "pipelines/interp": pipelines.interp,
    "pipelines/inverse_helmholtz": pipelines.inverse_helmholtz,
    "pipelines/jacobi3d_4": pipelines.jacobi3d_4,
}


# What PyTorch calls the types of mdhd.
_DTYPES = {"fp16": "float16", "bf16": "bfloat16", "fp64": "float64"}


def operation_of(case: Case) -> Operation:
    """Errors: KeyError if nobody said what the computation, or its type, is to PyTorch."""
    if case.definition:
        return operation_of_definition(case.definition, case.bindings)
    operation = OPERATIONS[case.computation](case.bindings)
    return operation.with_type(_DTYPES[case.type]) if case.type else operation
