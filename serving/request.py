"""From a request's body to the sample's bytes and the parameters, in the three accepted forms.

JSON with the sample in base64 (EasyDL's form, whatever the Content-Type says), a multipart upload
with a part `file`, or the raw bytes.
"""

from __future__ import annotations

import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from python_multipart import create_form_parser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import Field, File

from serving.errors import (
    INVALID_ARGUMENT,
    INVALID_BASE64,
    INVALID_JSON,
    MISSING_PARAMETER,
    ServiceError,
)

_RAW_TYPES = ("image/", "audio/", "application/octet-stream")
_WHITESPACE = b" \t\r\n"


@dataclass(frozen=True)
class Sample:
    """What a request asks about: the sample's bytes and the parameters (`top_num`, …)."""

    payload: bytes
    parameters: dict[str, Any]


def parse(body: bytes, content_type: str, query: Mapping[str, str], field: str) -> Sample:
    """The sample of a request. Raises ServiceError.

    Args:
        field: name of the JSON field that holds the sample in base64, such as "image".
        query: parameters of the address; those in the body win.
    """
    if query.get("input_type", "").lower() == "url":
        raise ServiceError(
            INVALID_ARGUMENT,
            "this service fetches no addresses; leave out input_type and send the data themselves",
        )
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        payload, given = _from_multipart(body, content_type, field)
    elif kind.startswith(_RAW_TYPES) and body.lstrip(_WHITESPACE)[:1] != b"{":
        payload, given = body, {}
    else:
        payload, given = _from_json(body, field)
    if not payload:
        raise ServiceError(MISSING_PARAMETER, f"the parameter {field!r} is empty")
    return Sample(payload, {**query, **given})


def decode_base64(text: str) -> bytes:
    """Bytes out of base64. A `data:…;base64,` head and line breaks are tolerated.

    Raises ServiceError.
    """
    if text[:5].lower() == "data:":
        text = text.partition(",")[2]
    try:
        encoded = text.encode("ascii")
        try:
            return binascii.a2b_base64(encoded, strict_mode=True)
        except binascii.Error:
            return binascii.a2b_base64(b"".join(encoded.split()), strict_mode=True)
    except UnicodeEncodeError:
        reason = "it holds characters that base64 does not have"
    except binascii.Error as error:
        reason = str(error)
    raise ServiceError(
        INVALID_BASE64,
        f"the text is not base64 ({reason}); send the base64 of the file's bytes, padded with '='",
    )


def _from_json(body: bytes, field: str) -> tuple[bytes, dict[str, Any]]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        if body.lstrip(_WHITESPACE).startswith(field.encode() + b"="):
            raise ServiceError(
                INVALID_ARGUMENT, "the body is a form; send it as JSON, or as multipart/form-data"
            ) from None
        raise ServiceError(
            INVALID_JSON,
            f'the body is not JSON; send {{"{field}": "<base64>", "top_num": 6}}, the file as '
            "multipart/form-data, or its bytes with their own Content-Type",
        ) from None
    if not isinstance(value, dict):
        raise ServiceError(
            INVALID_JSON, f'the body must be a JSON object such as {{"{field}": "<base64>"}}'
        )
    if value.get(field) is None:
        raise ServiceError(MISSING_PARAMETER, f"the parameter {field!r} is missing")
    text = value.pop(field)
    if not isinstance(text, str):
        raise ServiceError(INVALID_ARGUMENT, f"the parameter {field!r} must be a base64 text")
    return decode_base64(text), value


def _from_multipart(body: bytes, content_type: str, field: str) -> tuple[bytes, dict[str, Any]]:
    files: dict[str, bytes] = {}
    given: dict[str, Any] = {}

    def on_field(part: Field) -> None:
        name = (part.field_name or b"").decode("utf-8", "replace")
        given[name] = (part.value or b"").decode("utf-8", "replace")

    def on_file(part: File) -> None:
        part.file_object.seek(0)
        name = (part.field_name or b"").decode("utf-8", "replace")
        files[name] = part.file_object.read()

    try:
        parser = create_form_parser(
            {"Content-Type": content_type.encode("latin-1", "replace")},
            on_field,
            on_file,
            config={"MAX_MEMORY_FILE_SIZE": len(body) + 1},
        )
        parser.write(body)
        parser.finalize()
    except (FormParserError, ValueError, KeyError) as error:
        raise ServiceError(
            INVALID_ARGUMENT, f"the multipart body cannot be read ({str(error)[:100]})"
        ) from None
    for name in ("file", field, *files):
        if name in files:
            return files[name], given
    if isinstance(given.get(field), str):
        return decode_base64(given.pop(field)), given
    raise ServiceError(MISSING_PARAMETER, "the upload has no part named 'file'")
