"""The connection of a client to its daemon: who listens there, and what becomes of it in a child."""

from __future__ import annotations

import contextlib
import os
from typing import Any, List, Optional

import grpc

from .errors import NotFoundError, UnavailableError
from .retries import channel_options
from .security import Security
from .trust import TrustedUsers, check_endpoint

# Of the parents of this process: never closed here, as they are in use there.
_parents_channels: List[Any] = []


class Connection:
    """Opened once whoever listens is trusted, and once more in a process that was forked: a channel
    belongs to the process that opened it. Thread-safe."""

    def __init__(self, address: str, security: Security):
        """Errors: PermissionDeniedError if the socket belongs to somebody who is not trusted;
        FailedPreconditionError if a file cannot be read."""
        self.address = address
        self._security = security
        self._trusted = TrustedUsers(security.trusted_users)
        self._channel: Optional[grpc.Channel] = None
        self._process = os.getpid()
        with contextlib.suppress(UnavailableError):
            self.channel()

    def channel(self) -> grpc.Channel:
        """Errors: PermissionDeniedError; UnavailableError if there is no socket, and anybody could
        make it."""
        if self._process != os.getpid():
            _parents_channels.append(self._channel)
            self._channel, self._process = None, os.getpid()
        if self._channel is None:
            check_listener(self.address, self._trusted)
            self._channel = self._security.open_channel(self.address, channel_options(self.address))
        return self._channel

    def close(self) -> None:
        if self._channel is not None and self._process == os.getpid():
            self._channel.close()


def check_listener(address: str, trusted: TrustedUsers) -> None:
    """Errors: as Connection.channel."""
    try:
        check_endpoint(address, trusted)
    except NotFoundError:
        raise UnavailableError(f"cannot connect to {address}; is mdhd running there?") from None
