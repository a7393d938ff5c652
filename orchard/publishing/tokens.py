"""Tokens of endpoints: handed to a person in a private file, known elsewhere by their hash only."""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from orchard.errors import TryAgain


def hash_of(token: str) -> str:
    """What documents and the service keep of a token: 64 hexadecimal digits of its sha256."""
    return hashlib.sha256(token.encode()).hexdigest()


def path_of(home: Path, endpoint: str) -> Path:
    """The file that holds an endpoint's first token."""
    return home / "tokens" / endpoint


def ensure(home: Path, endpoint: str) -> str:
    """The token in the endpoint's file, made where there is none; only the owner may read it."""
    path = path_of(home, endpoint)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            temporary = path.with_name(f".{endpoint}.{os.getpid()}.tmp")
            temporary.unlink(missing_ok=True)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(secrets.token_urlsafe(32) + "\n")
            temporary.replace(path)
        return path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise TryAgain(
            f"The token of an endpoint cannot be kept ({error.strerror})", value=str(path)
        ) from error
