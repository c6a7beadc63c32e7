"""What the client raises. Every class derives from `GanchoError`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any


# Bytes. The gateway's largest answers are pages of some MiB.
MAX_ANSWER = 64 << 20


class GanchoError(Exception):
    """The base of all errors of this client."""


class ConfigurationError(GanchoError, ValueError):
    """The client was made without a URL or a key, or with an invalid one. Nothing was sent."""


class InvalidRequestError(GanchoError, ValueError):
    """An argument cannot be sent, such as a body that is not JSON. Nothing was sent."""


class SignatureError(GanchoError):
    """A webhook's signature is wrong, missing or too old. Answer 400 and do not use the body."""


class APIConnectionError(GanchoError):
    """The gateway could not be reached, or the connection broke."""


class APITimeoutError(APIConnectionError):
    """No answer came in time. A request that is not safe to repeat may have been carried out."""


@dataclass(frozen=True)
class FieldError:
    """What is wrong with one field of the body."""

    pointer: str
    """JSON pointer (RFC 6901) into the body; empty if the error is not about a field."""
    detail: str


class APIError(GanchoError):
    """The gateway answered with an error (RFC 9457)."""

    status: int
    """HTTP status."""
    code: str
    """Stable, machine-readable code, see docs/errors.md."""
    title: str
    detail: str
    """What is wrong, and how to fix it."""
    errors: list[FieldError]
    """One entry for each invalid field."""
    request_id: str | None
    """Id of the request, to report to the operator."""
    retry_after: float | None
    """Seconds to wait before the next request, where the gateway says so."""

    def __init__(self, status: int, problem: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        self.status = status
        self.code = str(problem.get("code", "unexpected_response"))
        self.title = str(problem.get("title") or "")
        self.detail = str(problem.get("detail") or "")
        errors = problem.get("errors")
        # A proxy may answer with problems of its own.
        errors = [e for e in errors if isinstance(e, dict)] if isinstance(errors, list) else []
        self.errors = [FieldError(str(e.get("pointer") or ""), str(e.get("detail") or "")) for e in errors]
        request_id = problem.get("request_id") or headers.get("x-request-id")
        self.request_id = None if request_id is None else str(request_id)
        self.retry_after = retry_after(headers)
        super().__init__(self._text())

    def _text(self) -> str:
        text = f"{self.status} {self.code}: {self.detail}"
        text += "".join(f"\n  {error.pointer}: {error.detail}" for error in self.errors if error.pointer)
        return text + (f"\n  request id: {self.request_id}" if self.request_id else "")


class BadRequestError(APIError):
    """400, 408, 413 or 415: the request is malformed."""


class AuthenticationError(APIError):
    """401: the API key or token is missing or wrong."""


class PermissionDeniedError(APIError):
    """403: the key lacks the scope, the operation is the operator's, or the plan's limit is reached."""


class NotFoundError(APIError):
    """404: it does not exist for this tenant."""


class ConflictError(APIError):
    """409: it exists already, or its state does not allow this."""


class ValidationError(APIError):
    """422: a field is invalid, missing or unknown; `errors` says which."""


class RateLimitError(APIError):
    """429: too many requests; `retry_after` says when to go on."""


class ServerError(APIError):
    """500 or above: the gateway, or a proxy before it, cannot answer now."""


class UnexpectedResponseError(APIError):
    """The answer is not one of a gateway: the URL is probably that of something else."""


_BY_STATUS: dict[int, type[APIError]] = {
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    422: ValidationError,
    429: RateLimitError,
}


def error_of(status: int, headers: Mapping[str, str], body: bytes, url: str) -> APIError:
    """The error that an answer other than 2xx stands for."""
    kind = headers.get("content-type", "")
    problem: Any = None
    if kind.lower().startswith("application/problem+json"):
        try:
            problem = json.loads(body)
        except (ValueError, RecursionError):
            pass
    if isinstance(problem, dict) and "code" in problem:
        if status >= 500:
            return ServerError(status, problem, headers)
        return _BY_STATUS.get(status, BadRequestError)(status, problem, headers)
    if status >= 500:
        text = f"{url} answered {status} without saying why; a proxy before the gateway may have made this answer"
        return ServerError(status, {"code": "unexpected_response", "detail": text}, headers)
    if status == 429:
        text = f"{url} answered 429 without saying why; a proxy before the gateway may limit requests"
        return RateLimitError(status, {"code": "unexpected_response", "detail": text}, headers)
    if "location" in headers and 300 <= status < 400:
        text = f"{url} redirects to {headers.get('location')}: set the URL of the gateway itself"
    else:
        text = f"{url} answered {status} with {kind or 'no content'}: is this the URL of a Gancho API?"
    return UnexpectedResponseError(status, {"detail": text}, headers)


def not_json(status: int, headers: Mapping[str, str], url: str) -> APIError:
    kind = headers.get("content-type") or "nothing"
    if is_json(headers):
        text = f"{url} answered with JSON that is malformed or ends early; a proxy before the gateway may have cut it"
    else:
        text = f"{url} answered with {kind} instead of JSON: is this the URL of a Gancho API?"
    return UnexpectedResponseError(status, {"detail": text}, headers)


def too_large(status: int, headers: Mapping[str, str], url: str) -> APIError:
    text = f"{url} answered with more than {MAX_ANSWER >> 20} MiB, as no gateway does: is this the URL of a Gancho API?"
    return UnexpectedResponseError(status, {"detail": text}, headers)


def is_json(headers: Mapping[str, str]) -> bool:
    return headers.get("content-type", "").lower().startswith("application/json")


def unexpected_answer(what: str) -> APIError:
    """For JSON that no gateway answers."""
    text = f"the answer is not what was asked for ({what}): is this the URL of a Gancho API, and of this version?"
    return UnexpectedResponseError(200, {"detail": text}, {})


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, also of a date, which is compared with the server's own clock where it says what time it has."""
    given = headers.get("retry-after", "")
    try:
        seconds = float(given)
    except ValueError:
        try:
            date = headers.get("date")
            now = datetime.now(timezone.utc) if date is None else parsedate_to_datetime(date)
            seconds = (parsedate_to_datetime(given) - now).total_seconds()
        except (TypeError, ValueError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
