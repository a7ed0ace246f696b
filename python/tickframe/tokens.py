"""The tokens of this user's servers on this machine: each in a file that nobody else may read.

A server whose token was drawn keeps it there as long as it runs, by its port; ``tf.connect`` finds it.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import secrets
import stat
import urllib.parse
from pathlib import Path

__all__: list[str] = []


def _folder() -> Path:
    """Where the files lie: of this login's session, or of the user."""
    own = os.environ.get("XDG_RUNTIME_DIR")
    if own and Path(own).is_dir():
        return Path(own) / "tickframe"
    state = os.environ.get("XDG_STATE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(state) if state else Path.home() / ".local" / "state") / "tickframe"


class Kept:
    """A token in its file, until `forget`."""

    def __init__(self, port: int, token: str) -> None:
        self._process = os.getpid()
        self._path: Path | None = None
        # A home that cannot be written keeps no token: clients are given it some other way.
        with contextlib.suppress(OSError, RuntimeError):
            folder = _folder()
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = folder / f"{port}.token"
            draft = folder / f"{port}.{secrets.token_hex(4)}"
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with os.fdopen(handle, "w", encoding="ascii") as file:
                    file.write(f"{token}\n{self._process}\n")
                draft.replace(path)
            except OSError:
                draft.unlink(missing_ok=True)
                raise
            self._path = path

    def forget(self) -> None:
        """Remove the file, if it is still this server's. A process that was forked leaves it alone."""
        path, self._path = self._path, None
        if path is None or os.getpid() != self._process:
            return
        with contextlib.suppress(OSError, ValueError):
            if path.read_text(encoding="ascii").split()[1] == str(self._process):
                path.unlink()


def _runs(process: int) -> bool:
    if os.name == "nt":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def kept(url: str) -> str | None:
    """The token of the server of this user that is reached there, if it runs on this machine and keeps one."""
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if host is None or port is None or not _is_here(host):
        return None
    try:
        with (_folder() / f"{port}.token").open(encoding="ascii") as file:
            told = os.fstat(file.fileno())
            if os.name != "nt" and (told.st_uid != os.getuid() or stat.S_IMODE(told.st_mode) & 0o077):
                return None
            token, process = file.read().split()
            return token if _runs(int(process)) else None
    except (OSError, ValueError, RuntimeError):
        return None
