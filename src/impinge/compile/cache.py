"""A disk cache of machine code, keyed by content, in which nothing can go wrong loudly.

An entry is one file: a SHA-256 of the payload, then the payload. It is written to a temporary name
and moved into place, so a reader sees a whole entry or none, whoever else is writing. Whatever is
missing, damaged or forbidden counts as a miss and costs a recompilation.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import os
import re
import tempfile
import time
from pathlib import Path

_DIGEST_SIZE = hashlib.sha256().digest_size
_DAY = 86400.0
_UNUSED = 60 * _DAY  # entries that nobody has used for so long are removed
_WEEK = 7 * _DAY
_VERSIONS = 3  # of the code of one loop are kept in any case, and what was used in the last week
_OURS = re.compile(r"(?P<loop>[\w.<>]+)-[0-9a-f]{32}-[0-9a-f]{8}\.loop|[0-9a-f]{64}\.kernel")
_FORMER = re.compile(r"[0-9a-f]{64}\.(loop|o)")  # as version 0.1 named its entries

_PART = ".part-impinge-"  # how a file is called while it is written

_log = logging.getLogger("impinge")
_swept: set[Path] = set()


def directory() -> Path:
    """Return the cache's folder: ``$IMPINGE_CACHE``, or ``impinge`` in the user's cache folder."""
    chosen = os.environ.get("IMPINGE_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "impinge"


def key(*parts: str) -> str:
    """Hash everything that decides what the machine code is into a file name."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)}:".encode())
        digest.update(part.encode())
    return digest.hexdigest()


def packed(payload: bytes) -> bytes:
    """Return what is written to a file: the payload and, before it, its hash."""
    return hashlib.sha256(payload).digest() + payload


def read(file: Path) -> bytes:
    """Return the payload of a file; raise ValueError if it is damaged, OSError if it cannot be read."""
    content = file.read_bytes()
    digest, payload = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
    if hashlib.sha256(payload).digest() != digest:
        raise ValueError(f"{file} is damaged")
    return payload


def load(name: str) -> bytes | None:
    """Return the payload stored under ``name``, or None if it is absent or, which is said, damaged."""
    try:
        file = directory() / name
        payload = read(file)
        with contextlib.suppress(OSError):  # of a cache that is there to be read only
            os.utime(file)  # it is in use
    except ValueError:
        _log.warning("impinge: the cache's entry %s is damaged: it is compiled again", name)
        return None
    except (OSError, RuntimeError):  # RuntimeError: no home folder to be found
        return None
    return payload


def store(name: str, payload: bytes) -> bool:
    """Store ``payload`` under ``name``; return False, and leave no litter, if that is impossible."""
    temporary: str | None = None
    try:
        folder = directory()
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=_PART, dir=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(packed(payload))
        os.replace(temporary, folder / name)
        if folder not in _swept:
            _swept.add(folder)
            sweep(folder)
    except (OSError, RuntimeError):
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        return False
    return True


@functools.cache
def say_unwritable() -> None:
    """Say, once, that what was compiled could not be stored."""
    _log.warning(
        "impinge: the cache cannot be written, so every run compiles anew: set IMPINGE_CACHE to another folder"
    )


def sweep(folder: Path) -> None:
    """Remove what will not be used again: entries of former versions, of former code, and long unused ones.

    Nothing is removed that impinge has not written: a name like an entry's is not enough, the hash must be right, too.
    """
    versions: dict[str, list[tuple[float, Path]]] = {}
    now = time.time()
    for file in folder.iterdir():
        with contextlib.suppress(OSError):
            ours, idle = _OURS.fullmatch(file.name), now - file.lstat().st_mtime
            if file.name.startswith(_PART) and idle > _DAY:
                file.unlink()
            elif _FORMER.fullmatch(file.name) or (ours and idle > _UNUSED):
                _remove(file)
            elif ours and ours["loop"]:
                versions.setdefault(ours["loop"], []).append((idle, file))
    for known in versions.values():
        for idle, file in sorted(known)[_VERSIONS:]:
            if idle > _WEEK:
                with contextlib.suppress(OSError):
                    _remove(file)


def _remove(file: Path) -> None:
    """Remove a file if it is an entry."""
    if file.is_file() and not file.is_symlink():
        with contextlib.suppress(ValueError):
            read(file)
            file.unlink()
