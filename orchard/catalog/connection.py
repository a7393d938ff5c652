"""The connection to the documents server."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from pymongo import MongoClient
from pymongo.collection import Collection
from pymongo.database import Database
from pymongo.errors import (
    ConfigurationError,
    ConnectionFailure,
    DuplicateKeyError,
    InvalidURI,
    OperationFailure,
    PyMongoError,
)

from orchard.errors import BadInput, OrchardError, TryAgain
from orchard.settings import settings

Document = dict[str, Any]
Documents = Database[Document]

_WAIT_MILLISECONDS = 5000
_NOT_ALLOWED = (13, 18)
"""MongoDB's error codes Unauthorized and AuthenticationFailed."""


@lru_cache(maxsize=4)
def _client(uri: str) -> MongoClient[Document]:
    with warnings.catch_warnings():
        # Of an option with a wrong value pymongo only warns, and goes on without it.
        warnings.simplefilter("error", UserWarning)
        return MongoClient(uri, serverSelectionTimeoutMS=_WAIT_MILLISECONDS, tz_aware=True)


def documents(uri: str | None = None, database: str | None = None) -> Documents:
    """The database of documents; by default the one the settings name.

    Login, TLS and replica set are options of the URI (MongoDB's connection string). Raises BadInput
    where it is no such URI or names a certificate that cannot be read; the URI is not shown, since
    it may hold a password.
    """
    try:
        client = _client(uri or settings().documents_uri)
    except (ConfigurationError, InvalidURI, UserWarning, ValueError, OSError) as error:
        raise BadInput(
            f"The address of the documents server cannot be used ({type(error).__name__})",
            way_out="See the options of ORCHARD_DOCUMENTS_URI in docs/operators.md",
        ) from None
    return client[database or settings().documents_database]


def insert_once(collection: Collection[Document], key: str, fields: Document) -> Document:
    """The document of this id, made of the fields where there is none; else it stays as it is.

    Not find_one_and_update: the local documents server forgets $setOnInsert there. Of two that
    insert at once, a server may refuse one with a duplicate key.
    """
    with contextlib.suppress(DuplicateKeyError):
        collection.update_one({"_id": key}, {"$setOnInsert": fields}, upsert=True)
    found = collection.find_one({"_id": key})
    if found is None:
        raise TryAgain("A document was removed while it was made", value=key)
    return found


def with_times(document: Document, *names: str) -> Document:
    """The document with its fields of these names as times.

    The local documents server gives back as text a time that was `$set` in a document that existed.
    """
    told = {name: document[name] for name in names if isinstance(document.get(name), str)}
    times = {name: datetime.fromisoformat(text).replace(tzinfo=UTC) for name, text in told.items()}
    return {**document, **times}


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Turn the driver's errors into the project's: away → TryAgain. Duplicate keys pass through."""
    try:
        yield
    except DuplicateKeyError:
        raise
    except ConnectionFailure as error:
        raise TryAgain(
            "The documents server does not answer",
            value=_said(error),
            way_out="Look at `make status`; `make up` starts it again",
        ) from error
    except OperationFailure as error:
        if error.code not in _NOT_ALLOWED:
            raise OrchardError("The documents server refused a call", value=_said(error)) from error
        raise OrchardError(
            "The documents server does not let this installation in",
            value=_said(error),
            way_out="Look at user, password, authSource and roles of ORCHARD_DOCUMENTS_URI",
        ) from error
    except PyMongoError as error:
        raise OrchardError("The documents server refused a call", value=_said(error)) from error


def _said(error: PyMongoError) -> str:
    return str(error)[:200]
