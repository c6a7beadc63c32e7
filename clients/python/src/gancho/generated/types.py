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
CellTenantState = Literal["creating", "active", "moving"]
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
    """Attachments, at most 10 MiB in total."""
    content: str
    """Content of the file, in base64."""
    contentId: NotRequired[str | None]
    """Content id, to embed the file in the HTML as `cid:…`. The file is then inline and not listed as an attachment."""
    contentType: NotRequired[str | None]
    """Media type. Default: `application/octet-stream`."""
    filename: str
    """Name of the file, as the recipient sees it."""


class AttemptInput(TypedDict):
    """The attempts, oldest first. Without them, a dead letter of the lanes `dispatch` and `email` is skipped: exports of
    these lanes do not have all of the data, archived dead letters do.
    """
    attempt: int
    """Number of the attempt, from 1."""
    failure_code: NotRequired[str | None]
    """Failure code, e.g. `HTTP_503`; null if the attempt succeeded."""
    failure_reason: NotRequired[Any]
    """Why the attempt failed; null if it succeeded."""
    latency_ms: NotRequired[Any]
    """Duration of the attempt in milliseconds."""
    request_headers: NotRequired[Any]
    """Headers of the request: an array of `name: value` lines."""
    response_body: NotRequired[Any]
    """The beginning of the response body."""
    response_body_base64: NotRequired[Any]
    """The beginning of the response body in base64, instead of `response_body`, if it is not text."""
    response_headers: NotRequired[Any]
    """Headers of the response: an array of `name: value` lines."""
    response_status: NotRequired[int | None]
    """HTTP status of the response; null if there was none."""
    started_at: datetime | str
    """When the attempt began."""


class DeadLetterInput(TypedDict):
    """Dead letters, as `GET /v1/dlq/export` writes them, or archived ones."""
    attempts: NotRequired[Sequence[AttemptInput]]
    """The attempts, oldest first. Without them, a dead letter of the lanes `dispatch` and `email` is skipped: exports of
    these lanes do not have all of the data, archived dead letters do.
    """
    enqueued_at: datetime | str
    """When the delivery was accepted."""
    event_type: str
    """Type of the event; of a receipt `PARTNER/KEY/TOPIC`."""
    expires_at: NotRequired[datetime | str]
    """Ignored: the dead letter expires `dead_letter_ttl` after the import. Exports have this field."""
    external_id: NotRequired[str | None]
    """The publisher's or partner's own id."""
    failed_attempts: int
    """Number of failed attempts."""
    id: str
    """Id of the dead letter: that of its delivery (`dlv_…`)."""
    is_test: NotRequired[bool]
    """Whether it is a test event. Default: false."""
    lane: Lane
    """Lane of the delivery: `webhook`, `dispatch` or `email`."""
    last_failure_code: str
    """Failure code, e.g. `HTTP_503`."""
    last_failure_reason: Any
    """Why the last attempt failed."""
    last_failure_timestamp: datetime | str
    """When the last attempt failed."""
    last_provider_code: NotRequired[str | None]
    """The receiver's own status or error code, e.g. `503`."""
    moved_to_dlq_at: datetime | str
    """When the delivery became a dead letter."""
    original_data: NotRequired[Any]
    """The data as it was accepted."""
    original_data_base64: NotRequired[Any]
    """The data in base64, instead of `original_data`, if it is not JSON or has white space around it."""
    partner: NotRequired[str | None]
    """Name of the partner. Ignored; exports have this field."""
    subject: NotRequired[str | None]
    """The `subject` that the publisher gave."""
    subject_id: str
    """Id of the event, receipt or e-mail."""
    target_id: NotRequired[str | None]
    """Id of the webhook, or of the target of the source. Exported e-mails have none."""
    target_url: NotRequired[str | None]
    """URL of the target. Ignored; exports have this field."""
    tenant_id: NotRequired[str | None]
    """Id of the tenant, or of the source in the lane `dispatch`. Exported receipts have none."""


class EventInput(TypedDict):
    """Events to publish, at most 1,000."""
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
    """Rate limit per key for incoming webhooks. Default: none."""
    count: int
    """Maximum number per window."""
    per: str
    """Length of the window, e.g. `1s`."""


class ReplayFilterInput(TypedDict):
    """What to replay: at least one condition, unless `all` is true."""
    event_ids: NotRequired[Sequence[str]]
    """Only events with these ids, or their deliveries."""
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
    """How long what the tenant has sent is stored. Default: set by the operator."""
    dead_letters: NotRequired[str | None]
    """How long dead letters are stored, before they are archived: from `1h` to `3660d`. Applies to dead letters from then
    on. Default: `dead_letter_ttl` of the operator.
    """
    emails: NotRequired[str | None]
    """How long e-mails are stored, after they were sent or have failed: from `1h` to `3660d`. Default: `retention` of the
    operator.
    """
    events: NotRequired[str | None]
    """How long events are stored with their deliveries, after those have ended: from `1h` to `3660d`. Default: `retention`
    of the operator.
    """


class RetryInput(TypedDict):
    """Retry schedule of dispatches. Default: 10 attempts, with delays from 2s doubling up to 32s."""
    attempts: NotRequired[int]
    """Maximum number of attempts."""
    base: NotRequired[str]
    """First delay, e.g. `1s`; each following delay is twice as long."""
    max: NotRequired[str]
    """Maximum delay between attempts, e.g. `60s`."""
    schedule: NotRequired[Sequence[str]]
    """Delays between attempts, e.g. `["1s", "5m"]`; one fewer than the number of attempts."""
