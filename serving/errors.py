"""What the service answers when it cannot predict: EasyDL's published error codes.

The codes and their meaning are those of EasyDL's documentation of its image classification API
(https://ai.baidu.com/ai-doc/EASYDL/Sk38n3baq). The body is as documented there; the HTTP status
says the same to proxies and clients that do not read the body.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One kind of error.

    Attributes:
        code: the published `error_code`.
        message: the published `error_msg`, in English.
        status: HTTP status.
    """

    code: int
    message: str
    status: int


NO_SUCH_API = Fault(3, "Unsupported openapi method", 404)
METHOD_NOT_ALLOWED = Fault(3, "Unsupported openapi method", 405)
TOO_MANY_REQUESTS = Fault(18, "Open api qps request limit reached", 429)
BAD_TOKEN = Fault(110, "Access token invalid or no longer valid", 401)
INTERNAL = Fault(336000, "Internal error", 500)
INVALID_ARGUMENT = Fault(336001, "Invalid Argument", 400)
UPLOAD_TOO_SLOW = Fault(336001, "Invalid Argument", 408)
INVALID_JSON = Fault(336002, "Invalid JSON", 400)
INVALID_BASE64 = Fault(336003, "Base64 decoding failed", 400)
INPUT_TOO_LARGE = Fault(336004, "Input size error", 413)
NOT_DECODABLE = Fault(336005, "Image decoding failed", 400)
MISSING_PARAMETER = Fault(336006, "Missing required parameter", 400)
MODEL_UNAVAILABLE = Fault(336100, "Model temporarily unavailable", 503)


class ServiceError(Exception):
    """A request that gets no prediction: the published message, then a sentence that helps.

    Args:
        fault: the kind of error.
        sentence: what was wrong with this request and what to do.
        retry_after: seconds after which a repetition may succeed; None where it would not.
    """

    def __init__(self, fault: Fault, sentence: str, *, retry_after: int | None = None) -> None:
        super().__init__(sentence)
        self.fault = fault
        self.sentence = sentence
        self.retry_after = retry_after

    def body(self, log_id: int) -> dict[str, object]:
        """The answer as JSON."""
        return {
            "log_id": log_id,
            "error_code": self.fault.code,
            "error_msg": f"{self.fault.message}: {self.sentence}",
        }
