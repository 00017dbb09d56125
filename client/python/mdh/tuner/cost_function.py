"""What a configuration costs: calls of cost functions, and their failures."""

from __future__ import annotations

import math
import os
import traceback
from typing import Any, Callable, Optional, Tuple

from ..errors import MdhError

# From a configuration, by name, to a cost: smaller is better.
CostFunction = Callable[[Any], Any]
_MAX_FAILURE = 2000


class CostFunctionError(Exception):
    """A configuration has no cost: what a cost function raises, and those of this package do.

    `kind`: "compile error", "launch error", "time-out", "crash", "wrong result", "no cost" or
    whatever the cost function says.
    """

    def __init__(self, message: str, kind: str = ""):
        self.kind = kind or message.partition(":")[0].strip()
        super().__init__(message if not kind or message.startswith(kind) else f"{kind}: {message}")


def evaluate(cost_function: CostFunction, configuration: Any) -> Tuple[Optional[float], str]:
    """The cost of a configuration, or None and why it failed: an exception, or a cost that is no
    finite number. Errors: MdhError, if nothing can be evaluated at all."""
    try:
        cost = cost_function(configuration)
    except MdhError:
        raise
    except CostFunctionError as error:
        return None, _shortened(str(error) or "failed")
    except Exception as error:
        return None, _shortened(_exception_text(error))
    if isinstance(cost, bool):
        return None, f"no cost: the cost function returned {cost}"
    try:
        number = float(cost)
    except OverflowError:
        return None, "no cost: the cost function returned a number that is too large"
    except Exception:  # whatever the object's own conversion raises
        return None, _shortened(f"no cost: the cost function returned {cost!r}")
    if not math.isfinite(number):
        return None, f"no cost: the cost function returned {number}"
    return number, ""


def _exception_text(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    return f"exception: {type(error).__name__}: {error}{place}"


def _shortened(text: str) -> str:
    text = text.encode(errors="replace").decode()  # messages have no surrogates
    return text if len(text) <= _MAX_FAILURE else text[: _MAX_FAILURE - 3] + "..."
