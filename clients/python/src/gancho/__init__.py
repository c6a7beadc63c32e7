"""The Python client of Gancho, the webhook gateway."""

__version__ = "0.1.0"

from ._client import AsyncGancho, Gancho
from ._model import UNSET
from ._pages import Page
from .errors import (
    APIConnectionError,
    APIError,
    APITimeoutError,
    AuthenticationError,
    BadRequestError,
    ConfigurationError,
    ConflictError,
    FieldError,
    GanchoError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
    ServerError,
    SignatureError,
    UnexpectedResponseError,
    ValidationError,
)
from .generated import models, types
from ._verify import ReceivedEvent, verify

__all__ = [
    "APIConnectionError",
    "APIError",
    "APITimeoutError",
    "AsyncGancho",
    "AuthenticationError",
    "BadRequestError",
    "ConfigurationError",
    "ConflictError",
    "FieldError",
    "Gancho",
    "GanchoError",
    "InvalidRequestError",
    "NotFoundError",
    "Page",
    "PermissionDeniedError",
    "RateLimitError",
    "ReceivedEvent",
    "ServerError",
    "SignatureError",
    "UNSET",
    "UnexpectedResponseError",
    "ValidationError",
    "models",
    "types",
    "verify",
]
