"""Generated from docs/openapi.json by clients/generate. Do not edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired

ActorKind = Literal["operator", "user", "api_key", "portal", "anonymous"]
AlertChangeKind = Literal["fired", "reminder", "resolved"]
AlertRule = Literal["store_unavailable", "writes_refused", "storage_critical", "storage_high", "ledger_check_failed", "node_lost", "clock_off", "dead_letters_high", "dead_letter_rate_high", "tenant_dead_letters_high", "endpoint_failing", "queue_delayed", "source_key_expiring", "api_key_expiring", "archive_failing"]
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
MoveState = Literal["copying", "closing", "removing", "done", "taking_back", "taken_back"]
NodeRole = Literal["api", "ingest", "worker"]
NodeState = Literal["alive", "silent", "dead"]
NoticeChannel = Literal["url", "slack", "email"]
Ordering = Literal["best_effort", "per_subject"]
PausedBy = Literal["webhook", "tenant", "lane"]
ReceiptStatus = Literal["received", "dispatched", "failed", "dlq"]
ReplayKind = Literal["deliveries", "events", "dead_letters"]
ReplayState = Literal["pending", "running", "done", "canceled", "failed"]
SearchMatchType = Literal["event", "delivery", "webhook", "email", "source", "receipt", "replay", "tenant", "api_key", "event_type"]
SuppressionReason = Literal["bounce", "complaint", "manual"]
UserRole = Literal["read_only", "support", "operator"]
WaitReason = Literal["attempt", "retry", "schedule", "lane_resume", "tenant_resume", "webhook_resume", "circuit_breaker", "rate_limit", "in_flight_limit", "earlier_delivery", "backlog"]


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


class AttemptInput(TypedDict):
    """What is sent of it; absent fields get their defaults."""
    attempt: int
    """Number of the attempt, from 1."""
    failure_code: NotRequired[str | None]
    """Failure code, e.g. `HTTP_503`; null if it succeeded."""
    failure_reason: NotRequired[Any]
    """Why it failed; null if it succeeded."""
    latency_ms: NotRequired[Any]
    """Duration in milliseconds."""
    request_headers: NotRequired[Any]
    """`name: value` lines."""
    response_body: NotRequired[Any]
    """The beginning of the response body."""
    response_body_base64: NotRequired[Any]
    """The same in base64, if it is not text."""
    response_headers: NotRequired[Any]
    """`name: value` lines."""
    response_status: NotRequired[int | None]
    """HTTP status of the response; null if there was none."""
    started_at: datetime | str
    """When it began."""


class DeadLetterInput(TypedDict):
    """What is sent of it; absent fields get their defaults."""
    attempts: NotRequired[Sequence[AttemptInput]]
    """The attempts, oldest first. Without them a dead letter of the lanes `dispatch` and `email` is skipped: their exports
    do not have all of the data, archived ones do.
    """
    enqueued_at: datetime | str
    """When it was accepted."""
    event_type: str
    """Type of the event; of a receipt `PARTNER/KEY/TOPIC`."""
    expires_at: NotRequired[datetime | str]
    """Not used: it expires `dead_letter_ttl` after the import."""
    external_id: NotRequired[str | None]
    """The publisher's or partner's own id."""
    failed_attempts: int
    """Number of failed attempts."""
    id: str
    """Id of the delivery."""
    is_test: NotRequired[bool]
    """Whether it is a test event. Default: false."""
    lane: Lane
    """`webhook`, `dispatch` or `email`."""
    last_failure_code: str
    """Failure code, e.g. `HTTP_503`."""
    last_failure_reason: Any
    """Why the last attempt failed."""
    last_failure_timestamp: datetime | str
    """When the last attempt failed."""
    last_provider_code: NotRequired[str | None]
    """The receiver's own status or error code, e.g. `503`."""
    moved_to_dlq_at: datetime | str
    """When it became a dead letter."""
    original_data: NotRequired[Any]
    """The data as it was accepted."""
    original_data_base64: NotRequired[Any]
    """The same in base64, if it is not JSON or has white space around it."""
    partner: NotRequired[str | None]
    """Not used."""
    subject: NotRequired[str | None]
    """The `subject` that the publisher gave."""
    subject_id: str
    """Id of the event, receipt or e-mail."""
    target_id: NotRequired[str | None]
    """Id of the webhook, or of the target of the source. Exported e-mails have none."""
    target_url: NotRequired[str | None]
    """Not used."""
    tenant_id: NotRequired[str | None]
    """Id of the tenant, or of the source in the lane `dispatch`. Exported receipts have none."""


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


class RetentionInput(TypedDict):
    """What is sent of it; absent fields get their defaults."""
    dead_letters: NotRequired[str | None]
    """Dead letters, before they are archived: from 1h to 3660d. Default: `dead_letter_ttl` of the operator. Applies to
    dead letters from then on.
    """
    emails: NotRequired[str | None]
    """E-mails, after they were sent or have failed: from 1h to 3660d. Default: `retention` of the operator."""
    events: NotRequired[str | None]
    """Events with their deliveries, after those have ended: from 1h to 3660d. Default: `retention` of the operator."""


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
