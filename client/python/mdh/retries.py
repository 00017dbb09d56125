"""How connections are kept, and which calls are repeated when the daemon cannot be reached for a
moment."""

import json
from typing import Any, List, Tuple

from .security import is_local

# Calls that only read, and those that create or join a tuning job, which has an id. No others, and
# after no other error than UNAVAILABLE.
_REPEATED = {
    "KernelService": ("LookupKernel", "BatchLookupKernels", "GetKernel"),
    "ExpressionService": ("CheckExpression",),
    "TuningService": ("CreateTuningJob", "GetTuningJob", "ListTuningJobs", "ListTuningTrials",
                      "CheckSchedule"),
    "CandidateService": ("DescribeCandidate", "FinishCandidate"),
    "DeviceService": ("ListDevices", "GetDevice", "ListKnownDevices"),
    "StudyService": ("GetStudy", "ListStudies", "ListTrials"),
}

_SERVICE_CONFIG = json.dumps({"methodConfig": [{
    "name": [{"service": f"mdh.v1.{service}", "method": method}
             for service, methods in _REPEATED.items() for method in methods],
    "retryPolicy": {"maxAttempts": 5, "initialBackoff": "0.05s", "maxBackoff": "1s",
                    "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]})

_CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.service_config", _SERVICE_CONFIG),
    # A daemon that was restarted is found again soon.
    ("grpc.initial_reconnect_backoff_ms", 100), ("grpc.min_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 2000),
    # A channel in a forked process shares no connection with those of its parent.
    ("grpc.use_local_subchannel_pool", 1),
)


def channel_options(address: str) -> List[Tuple[str, Any]]:
    """What does not leave the machine goes through no proxy, whatever $http_proxy says."""
    return [*_CHANNEL_OPTIONS, *([("grpc.enable_http_proxy", 0)] if is_local(address) else [])]
