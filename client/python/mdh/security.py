"""Whom a client trusts and who it is."""

from __future__ import annotations

import os
import pathlib
from dataclasses import dataclass
from typing import Any, List, Optional, Sequence, Tuple

import grpc

from .errors import FailedPreconditionError, wrong
from .trust import TrustedUsers, check_trusted

_LOOPBACK = ("localhost:", "127.0.0.1:", "[::1]:")


def is_local(address: str) -> bool:
    """Whether only this machine takes part."""
    return address.startswith(("unix:",) + _LOOPBACK)


@dataclass(frozen=True)
class Security:
    """Files in PEM, and the token. Unix sockets ignore the TLS part."""

    # The authority of the daemon's certificate: TCP connections use TLS. None: no TLS.
    tls_ca: Optional[str] = None
    # The client's own certificate and its key.
    tls_certificate: Optional[str] = None
    tls_key: Optional[str] = None
    # Sent with every call.
    token: Optional[str] = None
    # Sends it even over TCP without TLS to another machine, where others can read it.
    allow_token_in_clear: bool = False
    # Users whose Unix sockets are trusted, beside one's own, root's and the system service's: names
    # or numbers, separated by commas; "*": everybody's. None: $MDH_TRUSTED_USERS.
    trusted_users: Optional[str] = None

    @staticmethod
    def from_environment() -> "Security":
        """$MDH_TLS_CA, $MDH_TLS_CERTIFICATE, $MDH_TLS_KEY; $MDH_TOKEN_FILE, else $MDH_TOKEN. Errors:
        FailedPreconditionError if a file cannot be read."""
        file = os.environ.get("MDH_TOKEN_FILE")
        token = (_content(file).decode(errors="replace").strip() if file
                 else os.environ.get("MDH_TOKEN"))
        return Security(
            tls_ca=os.environ.get("MDH_TLS_CA") or None,
            tls_certificate=os.environ.get("MDH_TLS_CERTIFICATE") or None,
            tls_key=os.environ.get("MDH_TLS_KEY") or None, token=token or None)

    def metadata(self, address: str) -> List[Tuple[str, str]]:
        """What is sent with every call. Errors: MdhError if others could read the token."""
        if not self.token:
            return []
        if not (is_local(address) or self.tls_ca or self.allow_token_in_clear):
            raise wrong(f"the token is not sent to {address} without TLS, where others could read it")
        return [("authorization", f"Bearer {self.token}")]

    def open_channel(self, address: str, options: Sequence[Tuple[str, Any]]) -> grpc.Channel:
        """A connection to the daemon there. Errors: FailedPreconditionError if a file cannot be
        read; PermissionDeniedError if others could change it."""
        credentials = self._credentials(address)
        if credentials is None:
            return grpc.insecure_channel(address, options=options)
        return grpc.secure_channel(address, credentials, options=options)

    def open_async_channel(self, address: str, options: Sequence[Tuple[str, Any]]) -> Any:
        """The same for asyncio."""
        import grpc.aio

        credentials = self._credentials(address)
        if credentials is None:
            return grpc.aio.insecure_channel(address, options=options)
        return grpc.aio.secure_channel(address, credentials, options=options)

    def _credentials(self, address: str) -> Optional[grpc.ChannelCredentials]:
        """None: without TLS."""
        if not self.tls_ca or address.startswith("unix:"):
            return None
        return grpc.ssl_channel_credentials(
            root_certificates=_content(self.tls_ca),
            private_key=_content(self.tls_key) if self.tls_key else None,
            certificate_chain=_content(self.tls_certificate) if self.tls_certificate else None)


def _content(path: str) -> bytes:
    # Who could change the authority would be the daemon whose kernels are run.
    check_trusted(path, TrustedUsers())
    try:
        return pathlib.Path(path).read_bytes()
    except OSError as error:
        raise FailedPreconditionError(f"cannot read {path}: {error.strerror or error}") from None
