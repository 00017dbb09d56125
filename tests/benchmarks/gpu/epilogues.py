"""Products and reductions of which something else is made before they are stored."""

from __future__ import annotations

from typing import Any

from .operation import Bindings, Buffer, Operation, pytorch_peers
from .pytorch import F, torch


def dense_gelu(sizes: Bindings) -> Operation:
    rows, columns, length = sizes["I"], sizes["J"], sizes["K"]

    def layer(x: Any, w: Any, bias: Any) -> Any:
        return F.gelu(torch.addmm(bias, x, w))

    return Operation(
        inputs=(Buffer((rows, length)), Buffer((length, columns)), Buffer((columns,))),
        outputs=(Buffer((rows, columns)),),
        reference=lambda x, w, bias: (layer(x, w, bias),),
        peers=pytorch_peers(layer),
        reduction_length=length)


def conv_bn_relu(sizes: Bindings) -> Operation:
    n, p, q, k, r, s, c = (sizes[name] for name in "NPQKRSC")

    # Permuted views of contiguous NHWC data are what PyTorch calls channels_last: no copies.
    def block(x: Any, w: Any, scale: Any, shift: Any, skip: Any) -> Any:
        y = F.conv2d(x.permute(0, 3, 1, 2), w.permute(0, 3, 1, 2), padding=(r // 2, s // 2))
        return F.relu(y.permute(0, 2, 3, 1) * scale + shift + skip)

    return Operation(
        inputs=(Buffer((n, p, q, c)), Buffer((k, r, s, c)), Buffer((k,)), Buffer((k,)),
                Buffer((n, p, q, k))),
        outputs=(Buffer((n, p, q, k)),),
        reference=lambda *arguments: (block(*arguments),),
        peers=pytorch_peers(block),
        reduction_length=r * s * c)


def log_sum_exp(sizes: Bindings) -> Operation:
    rows, length = sizes["I"], sizes["K"]

    def logarithm(x: Any) -> Any:
        return torch.logsumexp(x, 1)

    return Operation(
        inputs=(Buffer((rows, length)),), outputs=(Buffer((rows,)),),
        reference=lambda x: (logarithm(x),),
        peers=pytorch_peers(logarithm),
        reduction_length=length)
