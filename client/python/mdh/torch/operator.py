"""Operators in PyTorch's dispatcher, by which calls under torch.compile and gradients find them."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import torch

from .computation import Loaded, Shape, computation

_DispatchKey = torch._C.DispatchKey
# What the dispatcher has left to do when it calls a gradient's kernel with mere tensors: this kernel
# and the computation. Conjugated tensors, functionalization, modes and so on would add to it.
_PLAIN = frozenset(
    (torch._C.DispatchKeySet(device) | torch._C.DispatchKeySet(gradient)).raw_repr()
    for device, gradient in ((_DispatchKey.CPU, _DispatchKey.AutogradCPU),
                             (_DispatchKey.CUDA, _DispatchKey.AutogradCUDA)))

# Gradients of the inputs, given the inputs, the output's gradient, and which are needed; None for others.
Backward = Callable[[Sequence[Any], Any, Sequence[bool]], Sequence[Any]]


class TensorOperator:
    """An operator of tensors. Registered as long as the process lives; thread-safe."""

    def __init__(self, name: str, inputs: int, outputs: int,
                 shapes: Callable[..., Sequence[Shape]], load: Callable[..., Loaded]):
        """`name`: "namespace::name". `inputs`, `outputs`: how many tensors. `shapes`: types and sizes of
        the outputs for inputs that need have no elements; `load`: the kernel for inputs."""
        self._name = name
        self._shapes = shapes
        self._load = load
        # Making an expression, and its digest, takes longer than many a kernel.
        self._known: Dict[Tuple[Any, ...], Callable[[Sequence[Any]], Any]] = {}
        self._gradient: Optional[torch.library.Library] = None
        parameters = ", ".join(f"Tensor x{number}" for number in range(inputs))
        results = ", ".join(["Tensor"] * outputs)
        torch.library.define(
            name, f"({parameters}) -> {results if outputs == 1 else f'({results})'}")
        torch.library.impl(name, "default", self._run)
        torch.library.register_fake(name, self._without_values)
        namespace, short = name.split("::")
        self.call = getattr(getattr(torch.ops, namespace), short).default

    def add_gradient(self, backward: Backward) -> None:
        """As torch.library.register_autograd, but a call of which nobody needs gradients does not go
        through the dispatcher, and its layers in Python, twice. Once per operator."""

        def below_autograd(keys: Any, tensors: Sequence[Any]) -> Any:
            if keys.raw_repr() in _PLAIN:
                return self._run(*tensors)
            with torch._C._AutoDispatchBelowAutograd():
                return self.call.redispatch(keys & torch._C._after_autograd_keyset, *tensors)

        class Differentiable(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, keys: Any, *tensors: Any) -> Any:
                ctx.save_for_backward(*tensors)
                return below_autograd(keys, tensors)

            @staticmethod
            def backward(ctx: Any, gradient: Any) -> Tuple[Any, ...]:
                return (None, *backward(ctx.saved_tensors, gradient, ctx.needs_input_grad[1:]))

        def call(keys: Any, *tensors: Any) -> Any:
            if torch.is_grad_enabled():
                for tensor in tensors:
                    if tensor.requires_grad:
                        return Differentiable.apply(keys, *tensors)
            return below_autograd(keys, tensors)

        namespace, short = self._name.split("::")
        self._gradient = torch.library.Library(namespace, "FRAGMENT")  # takes what it has with it
        self._gradient.impl(short, call, "Autograd", with_keyset=True)

    def _run(self, *tensors: Any) -> Any:
        key = tuple([(tensor.device, tensor.dtype, tensor.shape) for tensor in tensors])
        compute = self._known.get(key)
        if compute is None:
            compute = self._known[key] = computation(
                self._load(*tensors), self._shapes(*tensors), tensors[0].device)
        return compute(tensors)

    def _without_values(self, *tensors: Any) -> Any:
        made = [tensors[0].new_empty_strided(sizes, strides, dtype=dtype) if strides
                else tensors[0].new_empty(sizes, dtype=dtype)
                for dtype, sizes, strides in self._shapes(*tensors)]
        return made[0] if len(made) == 1 else tuple(made)
