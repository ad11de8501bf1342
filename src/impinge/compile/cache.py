"""A disk cache of machine code, keyed by content, in which nothing can go wrong loudly.

An entry is one file: a SHA-256 of the payload, then the payload. It is written to a temporary name
and moved into place, so a reader sees a whole entry or none, whoever else is writing. Whatever is
missing, damaged or forbidden counts as a miss and costs a recompilation.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

_DIGEST_SIZE = hashlib.sha256().digest_size


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


def load(name: str) -> bytes | None:
    """Return the payload stored under ``name``, or None if it is absent or damaged."""
    try:
        content = (directory() / name).read_bytes()
    except (OSError, RuntimeError):  # RuntimeError: no home folder to be found
        return None
    digest, payload = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
    return payload if hashlib.sha256(payload).digest() == digest else None


def store(name: str, payload: bytes) -> bool:
    """Store ``payload`` under ``name``; return False, and leave no litter, if that is impossible."""
    temporary: str | None = None
    try:
        folder = directory()
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".part-", dir=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(payload).digest() + payload)
        os.replace(temporary, folder / name)
    except (OSError, RuntimeError):
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        return False
    return True
