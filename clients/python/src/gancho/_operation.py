"""A call of the API, before it is sent."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlencode

from .errors import InvalidRequestError

T = TypeVar("T")

_HEADER = re.compile(r"[!-~]+")


class Operation(Generic[T]):
    """A method, a path, and what is sent along; `T` is what comes back."""

    __slots__ = ("method", "path", "model", "takes_tenant", "query", "body", "idempotency")

    def __init__(
        self,
        method: str,
        path: str,
        *,
        model: type[T] | None = None,
        takes_tenant: bool = False,
        query: Mapping[str, Any] | None = None,
        body: dict[str, Any] | None = None,
        idempotency: tuple[str, str | None] | None = None,
    ) -> None:
        self.method = method
        self.path = path
        self.model = model
        self.takes_tenant = takes_tenant
        self.query = query
        self.body = body
        self.idempotency = idempotency

    def page(self, cursor: str | None) -> Operation[T]:
        """The same list from this cursor on."""
        query = dict(self.query or {})
        if cursor is not None:
            query["cursor"] = cursor
        return Operation(self.method, self.path, model=self.model, takes_tenant=self.takes_tenant, query=query)


class Request:
    """The bytes of an operation. All attempts send the same ones, and so the same idempotency key."""

    __slots__ = ("method", "target", "headers", "content", "is_safe_to_repeat")

    def __init__(self, operation: Operation[Any], headers: Mapping[str, str], tenant: str | None) -> None:
        self.method = operation.method
        self.target = operation.path
        if operation.query:
            self.target += "?" + urlencode({name: _query_value(value) for name, value in operation.query.items()})
        sent = dict(headers)
        if tenant is not None and operation.takes_tenant:
            sent["X-Tenant"] = tenant
        body = operation.body
        if operation.idempotency:
            field, key = operation.idempotency
            key = str(uuid.uuid4()) if key is None else key
            if field == "header":
                sent["Idempotency-Key"] = header("idempotency_key", key)
            else:
                body = {**(body or {}), field: key}
        self.content = None
        if body is not None:
            self.content = encode(body)
            sent["Content-Type"] = "application/json"
        self.headers = sent
        # A second POST or PATCH may do a thing twice, unless a key tells the gateway that it is the same one.
        self.is_safe_to_repeat = self.method in ("GET", "PUT", "DELETE") or operation.idempotency is not None


def path(value: str) -> str:
    """A value as one segment of a path."""
    if not isinstance(value, str) or value in ("", ".", ".."):
        raise InvalidRequestError(f"{value!r} is not an id or name: it must be a string that is not empty")
    return quote(value, safe="")


def header(name: str, value: str) -> str:
    if not _HEADER.fullmatch(value):
        raise InvalidRequestError(f"{name} must be visible ASCII characters without spaces, not {value!r}")
    return value


_encoder = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=lambda v: _plain(v))


def encode(body: Any) -> bytes:
    try:
        return _encoder.encode(body).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequestError(f"the body cannot be encoded as JSON: {error}") from error


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return _timestamp(value)
    if isinstance(value, (tuple, set, frozenset)):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not a JSON type")


def _query_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _timestamp(value) if isinstance(value, datetime) else str(value)


def _timestamp(value: datetime) -> str:
    if value.tzinfo is None:
        raise InvalidRequestError(f"{value!r} has no time zone: use datetime.now(timezone.utc), for example")
    return value.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
