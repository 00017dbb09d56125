"""PyTorch, or None where it is not installed: cases can then be listed, but not measured."""

from __future__ import annotations

from typing import Any

torch: Any = None
F: Any = None
try:
    import torch
    import torch.nn.functional as F
except ImportError:
    pass
