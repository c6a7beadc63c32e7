"""Generated from docs/openapi.json by clients/generate. Do not edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired

ActorKind = Literal["operator", "user", "api_key", "portal", "anonymous"]
AlertChangeKind = Literal["fired", "reminder", "resolved"]
AlertRule = Literal["store_unavailable", "writes_refused", "storage_critical", "storage_high", "ledger_check_failed", "node_lost", "clock_off", "dead_letters_high", "dead_letter_rate_high", "tenant_dead_letters_high", "endpoint_failing", "queue_delayed", "source_key_expiring"]
AlertSeverity = Literal["critical", "warning"]
AlertState = Literal["pending", "firing"]
ApiKeyScope = Literal["publish", "read", "manage"]
AuditOutcome = Literal["done", "refused"]
CircuitBreakerState = Literal["closed", "open", "half_open"]
DeliveryChangeKind = Literal["accepted", "attempt_failed", "delivered", "failed"]
DeliveryStatus = Literal["pending", "retrying", "delivered", "failed"]
EmailStatus = Literal["PENDING", "SENT", "FAILED", "RETRY_SCHEDULED"]
HealthState = Literal["untried", "prompt", "slow", "failing"]
Lane = Literal["webhook", "dispatch", "email"]
NodeRole = Literal["api", "ingest", "worker"]
NodeState = Literal["alive", "silent", "dead"]
NoticeChannel = Literal["url", "slack", "email"]
Ordering = Literal["best_effort", "per_subject"]
ReceiptStatus = Literal["received", "dispatched", "failed", "dlq"]
ReplayKind = Literal["deliveries", "events", "dead_letters"]
ReplayState = Literal["pending", "running", "done", "cancelled", "failed"]
SuppressionReason = Literal["bounce", "complaint", "manual"]
UserRole = Literal["read_only", "support", "operator"]
WaitReason = Literal["attempt", "retry", "schedule", "lane_resume", "tenant_resume", "webhook_resume", "circuit_breaker", "rate_limit", "earlier_delivery", "backlog"]


class AttachmentInput(TypedDict):
    """What is sent of it; absent fields get their defaults."""
    content: str
    """Content of the file, in base64."""
    contentId: NotRequired[str | None]
    """Content id, to embed the file in the HTML as `cid:…`. The file is then inline and not listed as an attachment."""
    contentType: NotRequired[str | None]
    """Media type. Default: `application/octet-stream`."""
    filename: str
    """File name."""


class EventInput(TypedDict):
    """What is sent of it; absent fields get their defaults."""
    data: Any
    """Payload of the event: any JSON value. Delivered byte for byte."""
    deliver_at: NotRequired[datetime | str | None]
    """Earliest time of delivery, at most one year ahead."""
    external_id: NotRequired[str | None]
    """Your own id for the event. Events and deliveries can be searched by it."""
    idempotency_key: NotRequired[str | None]
    """Idempotency key: the same key within 24 hours publishes one event. Can also be sent as the `Idempotency-Key` header."""
    subject: NotRequired[str | None]
    """What the event is about, e.g. an order id. Events of a subject are numbered, and delivered in order to webhooks with
    `ordering: per_subject`.
    """
    type: str
    """Event type, e.g. `invoice.paid`."""


class RateLimitInput(TypedDict):
    """What is sent of it; absent fields get their defaults."""
    count: int
    """Maximum number per window."""
    per: str
    """Length of the window, e.g. `1s`."""


class ReplayFilterInput(TypedDict):
    """What is sent of it; absent fields get their defaults."""
    event_ids: NotRequired[Sequence[str]]
    """Only these events."""
    event_type: NotRequired[str]
    """Only events of this type."""
    since: NotRequired[datetime | str]
    """Only deliveries or events created at or after this time."""
    status: NotRequired[DeliveryStatus]
    """Only deliveries with this status."""
    until: NotRequired[datetime | str]
    """Only deliveries or events created before this time. Default and maximum: now."""
    webhook_id: NotRequired[str]
    """Only deliveries to this webhook."""


class RetryInput(TypedDict):
    """What is sent of it; absent fields get their defaults."""
    attempts: NotRequired[int]
    """Maximum number of attempts."""
    base: NotRequired[str]
    """First delay; each following delay is twice as long."""
    max: NotRequired[str]
    """Maximum delay."""
    schedule: NotRequired[Sequence[str]]
    """Delays between attempts; one fewer than the number of attempts."""
