"""Whose word is taken: files, folders and sockets that nobody else could have made or can change.

What a client loads is code: kernels come from a socket, a bundle or a cache. core/base/trusted_path.h says
what is looked at, and why it does not change between the look and the use; this is the same in Python.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from typing import FrozenSet, List, Optional

from .errors import FailedPreconditionError, MdhError, NotFoundError, PermissionDeniedError, wrong

SYSTEM_SOCKET = "/run/mdhd/mdhd.sock"  # where the service listens that the Debian package installs
_MOST_LINKS = 40  # as the kernel's


class TrustedUsers:
    """Who is trusted beside root and the user of this process."""

    def __init__(self, text: Optional[str] = None):
        """`text`: names and numbers of users, separated by commas; "*": everybody who can use this
        machine, as in a container with one user; default: $MDH_TRUSTED_USERS. Errors:
        ExpressionError if there is no such user."""
        words = (os.environ.get("MDH_TRUSTED_USERS", "") if text is None else text)
        names = words.replace(",", " ").split()
        self.everybody = "*" in names
        self.users: FrozenSet[int] = frozenset(_user(name) for name in names if name != "*")

    def includes(self, user: int) -> bool:
        return self.everybody or user in (0, os.geteuid()) or user in self.users


def check_trusted(path: str, trusted: TrustedUsers, *, is_socket: bool = False) -> None:
    """Returns if whatever `path` leads to is of those who are trusted, also if it is not there yet but
    only they can make it. Errors: PermissionDeniedError, naming what is wrong, its owner and the
    remedy; NotFoundError for a socket that is not there and that anybody could make;
    FailedPreconditionError if the path cannot be walked."""
    if trusted.everybody:
        return
    try:
        _walk(os.path.join(os.getcwd(), path), trusted, is_socket)
    except OSError as error:
        raise FailedPreconditionError(f"{path}: {error}") from error
    except PermissionDeniedError as error:
        if error.message.startswith((f"{path} ", f"{path}:")):
            raise
        raise PermissionDeniedError(f"{path}: {error.message}") from None


def check_endpoint(address: str, trusted: TrustedUsers) -> None:
    """Before anything is sent: returns if nobody can listen there but root, the user of this process,
    whom it trusts, and, at SYSTEM_SOCKET, the user whom root gave the folder of the service. Errors:
    PermissionDeniedError; NotFoundError if there is no socket and anybody could make it."""
    if trusted.everybody:
        return
    if address.startswith("unix-abstract:"):
        raise PermissionDeniedError(
            f"{address}: anybody can take an abstract name; use a socket in a folder")
    if not address.startswith("unix:"):
        return
    path = socket_path(address)
    if path.startswith("//") or set(path) & set("%?#"):
        raise wrong(f"the path of a socket has no '%', '?' or '#': {path}")
    if path == SYSTEM_SOCKET:
        trusted = _with_service(trusted)
    try:
        check_trusted(path, trusted, is_socket=True)
    except PermissionDeniedError as error:
        raise PermissionDeniedError(f"nothing is sent to the socket {error.message}") from None


def socket_path(address: str) -> str:
    """The path of "unix:/path", "unix:path" or "unix:///path"."""
    path = address[len("unix:"):]
    return path[2:] if path.startswith("///") else path


def _user(name: str) -> int:
    if name.isdigit():
        return int(name)
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        raise wrong(f"there is no user '{name}' who could be trusted") from None


def _with_service(trusted: TrustedUsers) -> TrustedUsers:
    # Only root can make an entry of /run, which is looked at, too: so whoever owns the service's folder
    # was given it by root. The user of a service exists only while it runs and has no fixed number.
    more = TrustedUsers("")
    more.users = trusted.users
    try:
        folder = os.lstat(os.path.dirname(SYSTEM_SOCKET))
    except OSError:
        return more
    if stat.S_ISDIR(folder.st_mode):
        more.users = trusted.users | {folder.st_uid}
    return more


def _walk(path: str, trusted: TrustedUsers, is_socket: bool) -> None:
    rest = _names(path)
    links = 0
    at = "/"
    folder = _enter(at, trusted)
    while rest:
        name = rest.pop(0)
        if name == "..":
            at = os.path.dirname(at)
            folder = _enter(at, trusted)
            continue
        here = os.path.join(at, name)
        try:
            state = os.lstat(here)
        except FileNotFoundError:
            if is_socket and _others_may_write(folder):
                raise NotFoundError(f"there is no {here}") from None
            return
        if stat.S_ISLNK(state.st_mode):
            _check_owner(here, state, trusted)
            links += 1
            if links > _MOST_LINKS:
                raise OSError(f"{here}: too many symbolic links")
            target = os.readlink(here)
            rest = _names(target) + rest
            if target.startswith("/"):
                at = "/"
                folder = _enter(at, trusted)
        elif rest and stat.S_ISDIR(state.st_mode):
            at = here
            folder = _enter(at, trusted)
        elif rest:
            raise NotADirectoryError(f"{here} is no folder")
        else:
            _check_end(here, state, trusted)


def _check_end(path: str, state: os.stat_result, trusted: TrustedUsers) -> None:
    _check_owner(path, state, trusted)
    if (stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)) and _others_may_write(state):
        raise _others_could_change(path, state)


def _enter(path: str, trusted: TrustedUsers) -> os.stat_result:
    state = os.lstat(path)
    _check_owner(path, state, trusted)
    if _others_may_write(state) and not state.st_mode & stat.S_ISVTX:
        raise _others_could_change(path, state)
    return state


def _names(path: str) -> List[str]:
    return [name for name in path.split("/") if name not in ("", ".")]


def _check_owner(path: str, state: os.stat_result, trusted: TrustedUsers) -> None:
    if not trusted.includes(state.st_uid):
        self_or = "" if os.geteuid() == 0 else f"{_user_text(os.geteuid())} or "
        raise PermissionDeniedError(
            f"{path} belongs to {_user_text(state.st_uid)}, not to {self_or}root; "
            f"who trusts them says so: $MDH_TRUSTED_USERS={_user_name(state.st_uid) or state.st_uid}")


def _others_could_change(path: str, state: os.stat_result) -> MdhError:
    return PermissionDeniedError(
        f"{path}: others than its owner, {_user_text(state.st_uid)}, may write it (mode "
        f"{stat.S_IMODE(state.st_mode):04o}); chmod go-w {path}, or use a folder of your own")


def _others_may_write(state: os.stat_result) -> bool:
    return bool(state.st_mode & stat.S_IWOTH or (
        state.st_mode & stat.S_IWGRP and not _is_group_of_this_user_alone(state.st_gid)))


def _is_group_of_this_user_alone(group: int) -> bool:
    """Many systems give each user a group of the same name, and umask 002. A group without a name, as
    containers have them, has no members that the machine knows."""
    try:
        entry = grp.getgrgid(group)
    except KeyError:
        return True
    name = _user_name(os.geteuid())
    return name is not None and entry.gr_name == name and set(entry.gr_mem) <= {name}


def _user_name(user: int) -> Optional[str]:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return None


def _user_text(user: int) -> str:
    name = _user_name(user)
    return f"uid {user}" if name is None else f"{name} (uid {user})"
