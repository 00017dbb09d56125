"""Modules of the Python client that need nothing beside Python, without the package itself, which
needs gRPC: machines with GPUs often lack it."""

from __future__ import annotations

import importlib
import sys
import types

from .cases import ROOT

_NAME = "mdh"


def _package() -> None:
    if _NAME not in sys.modules:
        package = types.ModuleType(_NAME)
        package.__path__ = [str(ROOT / "client" / "python" / "mdh")]
        sys.modules[_NAME] = package


_package()
cuda_driver = importlib.import_module("mdh.kernels.cuda_driver")
cuda_kernel = importlib.import_module("mdh.kernels.cuda_kernel")
errors = importlib.import_module("mdh.errors")
kernel_file = importlib.import_module("mdh.kernels.kernel_file")
nvrtc = importlib.import_module("mdh.kernels.nvrtc")
