"""Verifies webhooks that the gateway delivers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from standardwebhooks import Webhook, WebhookVerificationError

from ._model import timestamp as parse_timestamp
from .errors import ConfigurationError, SignatureError


class Headers(Protocol):
    """A dictionary, or what a web framework has for headers."""

    def items(self) -> Iterable[tuple[str, str]]: ...


@dataclass(frozen=True)
class ReceivedEvent:
    """An event whose signature is right."""

    id: str
    """The header `webhook-id`: the same for all attempts to deliver it, so it tells repetitions apart."""
    payload: Any
    """The whole body."""

    @property
    def type(self) -> str:
        return str(self.payload["type"])

    @property
    def data(self) -> Any:
        return self.payload["data"]

    @property
    def timestamp(self) -> datetime:
        """When the event was published."""
        return parse_timestamp(self.payload["timestamp"])


def verify(body: bytes | str, headers: Headers, secret: str | Sequence[str]) -> ReceivedEvent:
    """The event in a request, or a `SignatureError`.

    :param body: The body exactly as it was received, not parsed and encoded again.
    :param headers: The request's headers, in upper or lower case.
    :param secret: The webhook's secret (`whsec_…`), or several of which one must match.
    """
    lower = {name.lower(): value for name, value in headers.items()}
    # A variable of the environment that is not set is None.
    secrets = [secret] if isinstance(secret, str) else list(secret or ())
    if not secrets or not all(secrets):
        raise ConfigurationError("no secret: pass the one that creating the webhook returned")
    failure: Exception | None = None
    for candidate in secrets:
        try:
            webhook = Webhook(candidate)
        except Exception as error:
            raise ConfigurationError(f"the secret is not one of Standard Webhooks (whsec_…): {error}") from error
        try:
            webhook.verify(body, lower)
        except WebhookVerificationError as error:
            failure = error
        except ValueError as error:  # A body that is not UTF-8 or JSON.
            failure = error
        else:
            return ReceivedEvent(lower["webhook-id"], json.loads(body))
    raise SignatureError(str(failure)) from failure
