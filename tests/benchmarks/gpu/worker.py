"""The process that measures: reads requests from standard input, one JSON object a line, and writes
an answer to each. Ends with its input, or when the GPU's context is lost."""

from __future__ import annotations

import gc
import json
import os
import sys
from typing import Any, Dict

from .cases import Case
from .client_modules import nvrtc
from .measure import DeviceLostError, Measurement
from .pytorch import torch


def describe() -> Dict[str, Any]:
    """The machine, as far as PyTorch knows it. Errors: RuntimeError without PyTorch or GPU."""
    if torch is None:
        raise RuntimeError("PyTorch is not installed for this Python; --python names another one")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(1)
    torch.empty(1, device="cuda")  # makes the context
    properties = torch.cuda.get_device_properties(0)
    return {"gpu": properties.name, "pytorch": torch.__version__, "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(), "nvrtc": nvrtc.Nvrtc().version()}


def measure(request: Dict[str, Any]) -> Dict[str, Any]:
    measurement = Measurement(Case.from_json(request["case"]), request["l2_bytes"])
    return measurement.run(request["kernels"], request["compile_peers"])


def forget() -> None:
    """Gives the memory of a case back."""
    torch._dynamo.reset()
    gc.collect()
    torch.cuda.empty_cache()


def main() -> int:
    # What libraries print to standard output must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    try:
        answers.write(json.dumps({"machine": describe()}) + "\n")
    except Exception as error:
        answers.write(json.dumps({"error": f"{type(error).__name__}: {error}"}) + "\n")
        return 1
    for line in sys.stdin:
        try:
            answer = measure(json.loads(line))
        except DeviceLostError as error:
            answers.write(json.dumps({"error": f"the GPU's context was lost: {error}",
                                      "ends": True}) + "\n")
            return 1
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:600]}
        forget()
        answers.write(json.dumps(answer) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
