"""Stencils and convolutions. Images are NHWC, filters KRSC, results NPQK."""

from __future__ import annotations

from typing import Any

from .operation import Bindings, Buffer, Operation, Peer, compiled
from .pytorch import F


def jacobi3d_step(x: Any) -> Any:
    return (0.161 * x[1:-1, 1:-1, :-2] + 0.162 * x[1:-1, 1:-1, 2:]
            + 0.163 * x[1:-1, :-2, 1:-1] + 0.164 * x[1:-1, 2:, 1:-1]
            + 0.165 * x[:-2, 1:-1, 1:-1] + 0.166 * x[2:, 1:-1, 1:-1]
            - 1.67 * x[1:-1, 1:-1, 1:-1])


def jacobi3d(sizes: Bindings) -> Operation:
    extents = tuple(sizes[name] for name in ("I1", "I2", "I3"))
    return Operation(
        inputs=(Buffer(tuple(extent + 2 for extent in extents)),), outputs=(Buffer(extents),),
        reference=lambda x: (jacobi3d_step(x),),
        peers=(Peer("PyTorch", jacobi3d_step), compiled("torch.compile", jacobi3d_step)),
        reduction_length=7)


def conv2d(sizes: Bindings) -> Operation:
    p, q, r, s = (sizes[name] for name in "PQRS")

    def convolve(image: Any, weights: Any) -> Any:
        return F.conv2d(image[None, None], weights[None, None])[0, 0]

    def shifted_sums(image: Any, weights: Any) -> Any:
        return sum(image[i:i + p, j:j + q] * weights[i, j] for i in range(r) for j in range(s))

    return Operation(
        inputs=(Buffer((p + r - 1, q + s - 1)), Buffer((r, s))), outputs=(Buffer((p, q)),),
        reference=lambda a, b: (convolve(a, b),),
        peers=(Peer("cuDNN", convolve), compiled("torch.compile", convolve),
               compiled("shifted sums, compiled", shifted_sums, is_counted=False)),
        reduction_length=r * s, notes=["'shifted sums' is 25 products written by hand"])


def _image_extents(sizes: Bindings) -> Any:
    n, p, q, k, r, s, c = (sizes[name] for name in "NPQKRSC")
    height = sizes["SH"] * (p - 1) + r
    width = sizes["SW"] * (q - 1) + s
    return n, p, q, k, r, s, c, height, width


def mcc(sizes: Bindings) -> Operation:
    n, p, q, k, r, s, c, height, width = _image_extents(sizes)
    stride = (sizes["SH"], sizes["SW"])

    # Permuted views of contiguous NHWC data are what PyTorch calls channels_last: no copies.
    def convolve(image: Any, weights: Any) -> Any:
        result = F.conv2d(image.permute(0, 3, 1, 2), weights.permute(0, 3, 1, 2), stride=stride)
        return result.permute(0, 2, 3, 1)

    def convolve_nchw(image: Any, weights: Any) -> Any:
        return F.conv2d(image.view(n, c, height, width), weights.view(k, c, r, s), stride=stride)

    return Operation(
        inputs=(Buffer((n, height, width, c)), Buffer((k, r, s, c))),
        outputs=(Buffer((n, p, q, k)),),
        reference=lambda a, b: (_in_nchw(a, b, stride),),
        peers=(Peer("cuDNN", convolve),
               Peer("cuDNN, NCHW", convolve_nchw, is_counted=False)),
        reduction_length=r * s * c, notes=["'cuDNN, NCHW' takes and gives another layout"])


def _in_nchw(image: Any, weights: Any, stride: Any) -> Any:
    result = F.conv2d(image.permute(0, 3, 1, 2).contiguous(),
                      weights.permute(0, 3, 1, 2).contiguous(), stride=stride)
    return result.permute(0, 2, 3, 1)


def mcc_capsule(sizes: Bindings) -> Operation:
    n, p, q, k, r, s, c, height, width = _image_extents(sizes)
    mi, mj, mk = (sizes[name] for name in ("MI", "MJ", "MK"))
    stride = (sizes["SH"], sizes["SW"])

    # The matrices' rows are like further images, their columns like further channels.
    def plain_image(image: Any) -> Any:
        return image.permute(0, 4, 3, 5, 1, 2).reshape(n * mi, c * mk, height, width)

    def plain_weights(weights: Any) -> Any:
        return weights.permute(0, 5, 3, 4, 1, 2).reshape(k * mj, c * mk, r, s)

    def convolve(image: Any, weights: Any) -> Any:
        result = F.conv2d(plain_image(image), plain_weights(weights), stride=stride)
        return result.view(n, mi, k, mj, p, q).permute(0, 4, 5, 2, 1, 3).contiguous()

    def convolve_only(image: Any, weights: Any) -> Any:
        return F.conv2d(image.view(n * mi, c * mk, height, width),
                        weights.view(k * mj, c * mk, r, s), stride=stride)

    return Operation(
        inputs=(Buffer((n, height, width, c, mi, mk)), Buffer((k, r, s, c, mk, mj))),
        outputs=(Buffer((n, p, q, k, mi, mj)),),
        reference=lambda a, b: (convolve(a, b),),
        peers=(Peer("cuDNN", convolve), compiled("torch.compile", convolve),
               Peer("cuDNN, own layout", convolve_only, is_counted=False)),
        reduction_length=r * s * c * mk,
        notes=["'cuDNN' rearranges inputs and result, 'own layout' leaves that out"])
