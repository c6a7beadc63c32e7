"""Generated from docs/openapi.json by clients/generate. Do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .._model import Model, decoded, list_of, timestamp
from . import types

__all__ = [
    "AcceptedEmail",
    "Alert",
    "AlertChange",
    "AlertChannelTest",
    "AlertSilence",
    "AlertTest",
    "ApiKey",
    "AttemptEntry",
    "AuditActor",
    "AuditEntry",
    "BatchError",
    "BatchOutcome",
    "BatchResult",
    "CanceledEvent",
    "CapturedEmail",
    "CapturedEmailSummary",
    "Cell",
    "Checkpoint",
    "DeadLetter",
    "DeadLetterStats",
    "DeletedTenant",
    "Delivery",
    "DeliveryDetail",
    "DeliveryEvent",
    "DeliveryFigures",
    "EgressAddresses",
    "Email",
    "EmailAttempt",
    "EmailSummary",
    "EndpointUsage",
    "Erasure",
    "Event",
    "EventSummary",
    "EventType",
    "EventUsage",
    "Health",
    "ImportedAddresses",
    "ImportedDeadLetters",
    "ImportedKeys",
    "InvalidField",
    "KeyRotation",
    "Ledger",
    "MadeCheckpoint",
    "NewApiKey",
    "NewSource",
    "NewWebhook",
    "Node",
    "NodeCell",
    "NoticeEmails",
    "Percentiles",
    "PlanUsage",
    "PortalLink",
    "PublishedEvent",
    "Purged",
    "Queue",
    "Queues",
    "RateLimit",
    "Receipt",
    "ReceiptDelivery",
    "ReceiptDeliveryDetail",
    "ReceiptDetail",
    "ReceiptProof",
    "ReceiptSummary",
    "RejectedEvent",
    "Rejection",
    "Reloaded",
    "ReplayJob",
    "ReplayOutcomeCounts",
    "Retention",
    "Retry",
    "RotatedSecret",
    "SealingKey",
    "SealingKeys",
    "SearchMatch",
    "SearchResult",
    "SignaturePart",
    "SignatureReport",
    "SkippedDeadLetter",
    "Source",
    "SourceCounts",
    "SourceKey",
    "SourceTotals",
    "Stats",
    "StatsBin",
    "Suppression",
    "Tenant",
    "TenantMetadata",
    "TenantMove",
    "TenantStats",
    "TestOutcome",
    "User",
    "VerificationContext",
    "VerifiedRequest",
    "VerifiedWebhook",
    "WaitingFor",
    "Webhook",
    "WebhookSecret",
    "WebhookStats",
]


@dataclass(kw_only=True, repr=False)
class AcceptedEmail(Model):
    """Accepted email."""
    outbox_id: str


@dataclass(kw_only=True, repr=False)
class Alert(Model):
    """Alert."""
    detail: str
    """A sentence with the figures."""
    rule: types.AlertRule
    """The name of the rule, e.g. `dead_letters_high`."""
    severity: types.AlertSeverity
    """`critical` or `warning`."""
    silence_id: str | None = None
    """The silence that keeps it from being sent."""
    since: datetime
    """When the condition began to hold."""
    state: types.AlertState
    """`pending` (the condition holds, but not for long enough) or `firing`."""
    subject: str | None = None
    """What it is about: a tenant, an endpoint, a node, a lane or a key; null for the whole gateway."""
    summary: str
    """What the rule means, in English."""
    threshold: float
    value: float


@dataclass(kw_only=True, repr=False)
class AlertChange(Model):
    """Alert change."""
    at: datetime
    change: types.AlertChangeKind
    """`fired`, `reminder` (it kept firing and was sent again) or `resolved`."""
    detail: str
    is_silenced: bool
    """It was not sent."""
    rule: types.AlertRule
    severity: types.AlertSeverity
    subject: str | None = None
    summary: str
    threshold: float
    value: float


@dataclass(kw_only=True, repr=False)
class AlertChannelTest(Model):
    """Alert channel test."""
    channel: types.NoticeChannel
    """`url`, `slack` or `email`."""
    error: str | None = None
    is_sent: bool


@dataclass(kw_only=True, repr=False)
class AlertSilence(Model):
    """Alert silence."""
    comment: str
    created_by: str
    """The user who made it, or `operator`."""
    id: str
    rule: types.AlertRule | None = None
    """The rule that is silenced; null for every rule."""
    subject: str | None = None
    """The subject that is silenced; null for every subject."""
    until: datetime


@dataclass(kw_only=True, repr=False)
class AlertTest(Model):
    """Alert test."""
    channels: list[AlertChannelTest]
    """Empty if no channel is configured."""


@dataclass(kw_only=True, repr=False)
class ApiKey(Model):
    """Api key."""
    created_at: datetime
    expires_at: datetime | None = None
    id: str
    last_used_at: datetime | None = None
    """When the key was last used, to the minute; null if never."""
    name: str
    revoked_at: datetime | None = None
    scopes: list[types.ApiKeyScope]
    tenant_id: str


@dataclass(kw_only=True, repr=False)
class AttemptEntry(Model):
    """Attempt entry."""
    attempt: int
    """Number of the attempt, from 1."""
    error: str | None = None
    error_code: str | None = None
    latency_ms: float
    request_headers: dict[str, str]
    """The headers that were sent, with secrets masked."""
    response_body: str | None = None
    """The first 16 KiB of the response body."""
    response_headers: dict[str, str]
    response_status: int | None = None
    started_at: datetime


@dataclass(kw_only=True, repr=False)
class AuditActor(Model):
    """Audit actor."""
    kind: types.ActorKind
    """`operator` (the operator token), `user`, `api_key`, `portal`, or `anonymous` for a failed login."""
    name: str | None = None
    """The name of the user or the id of the API key."""


@dataclass(kw_only=True, repr=False)
class AuditEntry(Model):
    """Audit entry."""
    actor: AuditActor
    address: str | None = None
    """The address of the caller; of IPv6 addresses the block."""
    at: datetime
    code: str | None = None
    """The code of the error, if it was refused."""
    id: str
    operation: str
    """The `operationId` of the operation in this document, or `log_in`."""
    outcome: types.AuditOutcome
    """`done` or `refused`."""
    reason: str | None = None
    """Why it was done, as the caller said it: of a pause. A tenant does not see the operator's."""
    request_id: str | None = None
    resource: str | None = None
    """The id or name of what was changed."""
    status: int
    """The HTTP status of the response; of a login, 200 or 401."""
    summary: str
    """What the operation does, in English."""
    tenant_id: str | None = None
    """The tenant whose data it was about; null for the operator's."""


@dataclass(kw_only=True, repr=False)
class BatchError(Model):
    """Why an event was refused: what the error response would have said if it had been published alone."""
    code: str
    """Stable, machine-readable error code."""
    detail: str
    """What is wrong, and how to fix it."""
    errors: list[InvalidField]
    """One entry for each invalid field."""


@dataclass(kw_only=True, repr=False)
class BatchOutcome(Model):
    """Batch outcome."""
    accepted: int
    """Number of accepted events, those with a repeated idempotency key included."""
    refused: int
    results: list[BatchResult]
    """One result per event, in the order of the request."""


@dataclass(kw_only=True, repr=False)
class BatchResult(Model):
    """Batch result."""
    created_at: datetime | None = None
    deliveries: int | None = None
    error: BatchError | None = None
    """Why the event was refused."""
    id: str | None = None
    index: int
    """Index of the event in the request, from 0."""
    replayed: bool | None = None
    """Whether the event was published before with the same idempotency key."""
    status: int
    """The HTTP status that publishing this event alone would have had: 202 if accepted."""
    type: str | None = None


@dataclass(kw_only=True, repr=False)
class CanceledEvent(Model):
    """Canceled event."""
    canceled: int
    """Number of deliveries that were canceled."""
    id: str
    in_flight: int
    """Number of deliveries in flight, which finish; one that fails is retried."""


@dataclass(kw_only=True, repr=False)
class CapturedEmailSummary(Model):
    """A captured e-mail without its content."""
    caught_at: datetime
    from_: str
    message_id: str
    outbox_id: str
    size: int
    """Size in bytes."""
    subject: str
    tenant_id: str
    to: str


@dataclass(kw_only=True, repr=False)
class CapturedEmail(CapturedEmailSummary):
    """Captured email."""
    raw: str
    """The raw message: headers, an empty line, and the body."""


@dataclass(kw_only=True, repr=False)
class Cell(Model):
    """Cell."""
    is_available: bool
    """Whether the node that answered can use it."""
    is_draining: bool
    """Whether it gets no new tenants."""
    is_home: bool
    """Whether it has the directory and all that belongs to no tenant."""
    name: str
    reason: str | None = None
    """Why not; null if it can."""
    tenants: int
    """Number of tenants that live there."""


@dataclass(kw_only=True, repr=False)
class Checkpoint(Model):
    """A signed checkpoint. The signed note itself is in the checkpoint directory."""
    made_at: str
    origin: str
    root: str
    """Root of the Merkle tree over these lines (RFC 6962), in base64."""
    size: int
    """Number of lines that it covers."""


@dataclass(kw_only=True, repr=False)
class DeadLetter(Model):
    """Dead letter."""
    enqueued_at: datetime
    event_type: str
    """Type of the event; of a receipt its partner, key and topic."""
    expires_at: datetime
    external_id: str | None = None
    """The publisher's or partner's own id, if any."""
    failed_attempts: int
    id: str
    """Id of the delivery."""
    lane: types.Lane
    """`webhook`, `dispatch` or `email`."""
    last_failure_code: str
    last_failure_reason: str
    last_failure_timestamp: datetime
    last_provider_code: str | None = None
    """The receiver's own status or error code: an HTTP status such as `503`, an SMTP reply code such as `550`, an error of
    SES such as `MessageRejected`. Null if it did not answer.
    """
    moved_to_dlq_at: datetime
    original_data: Any
    """The data as it was accepted. E-mail addresses are masked and attachments left out."""
    partner: str | None = None
    """The partner that sent the receipt, in the lane `dispatch`."""
    subject: str | None = None
    """The `subject` that the publisher gave, if any."""
    subject_id: str
    """Id of the event, receipt or e-mail."""
    target_id: str | None = None
    """The webhook, in the lane `webhook`."""
    target_url: str | None = None
    """The URL that a replay sends it to, in the lane `dispatch`; null if the source was deleted."""
    tenant_id: str | None = None
    """Null in the lane `dispatch`, see `partner`."""


@dataclass(kw_only=True, repr=False)
class DeadLetterStats(Model):
    """Dead letter stats."""
    by_code: dict[str, int]
    by_lane: dict[str, int]
    by_partner: dict[str, int]
    """Dead letters of the lane `dispatch`, by partner name."""
    by_tenant: dict[str, int]
    """By tenant id."""
    oldest: datetime | None = None
    """When the oldest one failed."""
    total: int


@dataclass(kw_only=True, repr=False)
class DeletedTenant(Model):
    """Deleted tenant."""
    deleted_at: datetime
    id: str
    slug: str


@dataclass(kw_only=True, repr=False)
class Delivery(Model):
    """Delivery."""
    attempts: int
    """Number of attempts so far."""
    created_at: datetime
    delivered_at: datetime | None = None
    event_id: str | None = None
    """The event that is delivered. Lane `webhook` only."""
    event_type: str | None = None
    """Lane `webhook` only."""
    external_id: str | None = None
    """The publisher's own id of the event or e-mail, or the partner's event id of a receipt."""
    id: str
    is_test: bool
    """Whether it was created by a test call."""
    lane: types.Lane
    """`webhook`, `dispatch` or `email`."""
    last_error: str | None = None
    """Why the delivery failed permanently, or else why the last attempt failed."""
    last_error_code: str | None = None
    next_retry_at: datetime | None = None
    """When the next attempt is due."""
    outbox_id: str | None = None
    """The e-mail, see `GET /v1/emails/{outbox_id}`. Lane `email` only."""
    partner: str | None = None
    """The partner that sent the receipt. Lane `dispatch` only."""
    receipt_id: str | None = None
    """The receipt that is delivered. Lane `dispatch` only."""
    response_status: int | None = None
    """HTTP status of the last attempt's response."""
    status: types.DeliveryStatus
    """`pending`, `retrying`, `delivered` or `failed`."""
    target_url: str | None = None
    """The current URL of the target; absent if the source no longer has this target. Lane `dispatch` only."""
    tenant: str | None = None
    """Slug of the tenant. Only where the operator reads those of all tenants."""
    tenant_id: str | None = None
    waiting_for: WaitingFor | None = None
    """What the delivery is waiting for; null once it is delivered or has failed."""
    webhook_id: str | None = None
    """The webhook that it is delivered to. Lane `webhook` only."""


@dataclass(kw_only=True, repr=False)
class DeliveryDetail(Delivery):
    """Delivery detail."""
    attempt_log: list[AttemptEntry]
    """Oldest first."""
    payload: Any
    """The request body that is sent; null for an e-mail."""


@dataclass(kw_only=True, repr=False)
class DeliveryEvent(Delivery):
    """What happened to a delivery, and the delivery after it."""
    at: datetime
    """When it happened."""
    change: types.DeliveryChangeKind
    """`accepted`; `attempt_failed`: another attempt follows; `delivered`; `failed`: permanently."""
    latency_ms: float | None = None
    """How long the attempt took; null if none was made."""


@dataclass(kw_only=True, repr=False)
class DeliveryFigures(Model):
    """What happened to deliveries in a period."""
    accepted: int
    """Deliveries created by publishing, receiving and sending e-mail."""
    attempts: int
    dead_letters: int
    """Deliveries that were given up."""
    delivered: int
    delivered_at_first_attempt: int
    """Of those delivered: at their first attempt."""
    delivery_time: Percentiles | None = None
    """From acceptance to delivery, without manual retries and replays; null if nothing was delivered."""
    failed_attempts: int
    response_time: Percentiles | None = None
    """Duration of attempts; null without attempts."""
    success_share: float | None = None
    """Share of attempts that succeeded, from 0 to 1; null without attempts."""


@dataclass(kw_only=True, repr=False)
class EgressAddresses(Model):
    """Egress addresses."""
    addresses: list[str]
    """IP addresses and networks (CIDR). Empty if the operator has not configured any."""


@dataclass(kw_only=True, repr=False)
class EmailSummary(Model):
    """An e-mail without its attempts."""
    attempts: int
    company_id: str
    """Slug of the tenant."""
    created_at: datetime
    external_id: str | None = None
    failure_code: str | None = None
    failure_reason: str | None = None
    next_retry_at: datetime | None = None
    outbox_id: str
    recipient: str
    """Masked e-mail address."""
    sent_at: datetime | None = None
    status: types.EmailStatus
    """`PENDING`, `SENT`, `FAILED` or `RETRY_SCHEDULED`."""
    subject: str


@dataclass(kw_only=True, repr=False)
class Email(EmailSummary):
    """Email."""
    attempt_log: list[EmailAttempt]
    """Oldest first."""
    delivery_id: str
    """The e-mail's delivery, to retry or replay it."""
    erased_at: datetime | None = None
    """When its content was erased."""
    failed_at: datetime | None = None
    from_: str
    """Masked e-mail address."""
    message_id: str | None = None
    """The message id assigned by the receiving server."""
    ses_error: str | None = None
    """Error code of the mail server or SES."""


@dataclass(kw_only=True, repr=False)
class EmailAttempt(Model):
    """Email attempt."""
    attempt: int
    error: str | None = None
    latency_ms: int
    next_retry_at: datetime | None = None
    response: str
    """SMTP reply, or response body of SES."""
    response_status: int | None = None
    """SMTP reply code, or HTTP status of SES."""
    started_at: datetime


@dataclass(kw_only=True, repr=False)
class EndpointUsage(Model):
    """Endpoint usage."""
    limit: int | None = None
    """Maximum number of endpoints; null if the plan has no limit."""
    used: int


@dataclass(kw_only=True, repr=False)
class Erasure(Model):
    """Erasure."""
    already_erased: int
    """Number of those whose content had been erased before."""
    archived: int
    """Number of archived dead letters that were removed."""
    canceled: int
    """Number of waiting deliveries that were canceled."""
    erased: int
    """Number of events, e-mails or receipts whose content was erased."""
    in_flight: int
    """Number of events or e-mails that were not erased because a delivery is in flight. Repeat the request a few seconds
    later.
    """
    next_cursor: str | None = None
    """Where to continue; null if all of it was searched."""


@dataclass(kw_only=True, repr=False)
class Event(Model):
    """Event."""
    created_at: datetime
    data: Any
    """`null` if the content was erased."""
    deliveries: list[Delivery]
    erased_at: datetime | None = None
    """When its content was erased."""
    external_id: str | None = None
    id: str
    is_test: bool
    """Whether it was created by a test call."""
    sequence_number: int | None = None
    """Number of the event within its subject, from 1."""
    subject: str | None = None
    type: str


@dataclass(kw_only=True, repr=False)
class EventSummary(Model):
    """An event without its data."""
    created_at: datetime
    deliveries: int
    """Number of webhooks that the event is delivered to."""
    external_id: str | None = None
    id: str
    is_test: bool
    """Whether it was created by a test call."""
    sequence_number: int | None = None
    """Number of the event within its subject, from 1."""
    subject: str | None = None
    tenant: str | None = None
    """Slug of the tenant. Only where the operator reads those of all tenants."""
    type: str


@dataclass(kw_only=True, repr=False)
class EventType(Model):
    """Event type."""
    catalog: str
    """Origin: `email`, `agents`, `saas`, `operations`, `operator` or `tenant`."""
    description: str
    example: Any
    is_archived: bool
    """No longer offered to users; its schema is not enforced."""
    metadata: Any
    name: str
    schema: Any
    """JSON Schema that the event's data must match; null if any data is allowed."""


@dataclass(kw_only=True, repr=False)
class EventUsage(Model):
    """Event usage."""
    limit: int | None = None
    """Maximum number of events per calendar month (UTC); null if the plan has no limit."""
    resets_at: datetime
    """When the next month starts."""
    used: int | None = None
    """Events accepted this month; null if the plan has no limit, because they are then not counted."""


@dataclass(kw_only=True, repr=False)
class Health(Model):
    """Health of the webhook, as seen by the node that answers. The circuit breaker is that of any node."""
    circuit_breaker: types.CircuitBreakerState
    """`closed`, `open` (it failed too often in a row, and attempts are suspended) or `half_open`
    (one delivery is sent to test whether it works again).
    """
    circuit_open_until: datetime | None = None
    """When the circuit breaker lets the next delivery through."""
    has_backlog: bool
    """Whether more deliveries wait in the store."""
    in_flight: int
    """Number of attempts in flight."""
    state: types.HealthState
    """`untried` (this node has not sent anything to it recently), `prompt`, `slow` (it responds slowly) or
    `failing` (it responds with errors or not at all).
    """
    waiting: int
    """Number of deliveries queued in memory."""


@dataclass(kw_only=True, repr=False)
class ImportedAddresses(Model):
    """Imported addresses."""
    added: int
    """Number of addresses that were not suppressed before."""
    given: int
    """Number of addresses in the request."""


@dataclass(kw_only=True, repr=False)
class ImportedDeadLetters(Model):
    """Imported dead letters."""
    imported: int
    """Number of dead letters that were imported."""
    present: int
    """Number already in the store."""
    skipped: list[SkippedDeadLetter]
    """Those that were not imported."""


@dataclass(kw_only=True, repr=False)
class ImportedKeys(Model):
    """Imported keys."""
    keys: int
    """Number of keys imported."""
    sources: int
    """Number of sources created."""


@dataclass(kw_only=True, repr=False)
class InvalidField(Model):
    """What is wrong with one field of a request."""
    detail: str
    """What is wrong there, and how to fix it."""
    pointer: str
    """JSON pointer (RFC 6901) into the request body; empty if the error is not about a field of the body."""


@dataclass(kw_only=True, repr=False)
class KeyRotation(Model):
    """Key rotation."""
    keys: list[int]
    newest: int
    """Number of the key that encrypts new secrets from now on."""
    resealed: int
    """Number of stored secrets that were re-encrypted."""


@dataclass(kw_only=True, repr=False)
class Ledger(Model):
    """Ledger."""
    checkpoint: Checkpoint | None = None
    """The newest checkpoint of any node; null if there is none."""
    size: int
    """Number of lines in the ledger."""


@dataclass(kw_only=True, repr=False)
class MadeCheckpoint(Ledger):
    """Made checkpoint."""
    is_new: bool
    """False if nothing was added since the previous checkpoint."""


@dataclass(kw_only=True, repr=False)
class NewApiKey(ApiKey):
    """A new API key with its secret, which is not shown again."""
    key: str


@dataclass(kw_only=True, repr=False)
class Source(Model):
    """Source."""
    created_at: datetime
    event_id_pointer: str | None = None
    """Null if the preset defines it."""
    has_verify_token: bool
    id: str
    is_active: bool
    partner: str
    preset: Any
    rate_limit: RateLimit | None = None
    retry: Retry | None = None
    """Null for the default schedule."""
    schema: Any
    targets: list[str]
    updated_at: datetime


@dataclass(kw_only=True, repr=False)
class NewSource(Source):
    """New source."""
    dispatch_secret: str
    """Secret that dispatched receipts are signed with. Not shown again."""


@dataclass(kw_only=True, repr=False)
class Webhook(Model):
    """Webhook."""
    created_at: datetime
    disabled_reason: str | None = None
    """Why the gateway disabled the webhook: `gone` (it responded with 410) or `failing`; null if it did not."""
    events: list[str]
    external_id: str | None = None
    """Your own id for the webhook; null if it has none."""
    failing_since: datetime | None = None
    """Since when all attempts have failed; null while deliveries succeed."""
    headers: dict[str, str]
    """Names of the custom headers; the values are masked."""
    health: Health
    id: str
    is_active: bool
    is_paused: bool
    """Whether the webhook itself is paused: its deliveries wait until it is resumed."""
    max_in_flight: int | None = None
    metadata: Any
    name: str
    old_secret_until: datetime | None = None
    """Until when deliveries are also signed with a previous secret; null if none was rotated away recently."""
    ordering: types.Ordering
    """`best_effort` or `per_subject`."""
    paused_by: types.PausedBy | None = None
    """What holds its deliveries: the pause of the `webhook`, of its `tenant`, or of the `lane` for all tenants; null if
    nothing is paused.
    """
    profile: str
    rate_limit: RateLimit | None = None
    retry: Retry | None = None
    """Null for the profile's default."""
    tenant: str | None = None
    """Slug of the tenant. Only where the operator reads those of all tenants."""
    tenant_id: str
    timeout: str | None = None
    """Null for the profile's default."""
    updated_at: datetime
    url: str


@dataclass(kw_only=True, repr=False)
class NewWebhook(Webhook):
    """A new webhook with its signing secret."""
    public_key: str | None = None
    """Public key for receivers (`whpk_…`); null unless `secret_format` is `ed25519`."""
    secret: str
    secret_format: str
    """`base64` (the key is the base64 text after `whsec_`), `raw` (the text is the key) or `ed25519`."""


@dataclass(kw_only=True, repr=False)
class Node(Model):
    """Node."""
    cells: list[NodeCell]
    """How many of these each cell has. Empty for a gateway without cells."""
    differing_settings: list[str]
    """Settings that nodes must set alike, and that this node sets differently from the node that answered."""
    held_deliveries: int
    """Number of deliveries that it holds: in flight, or about to be."""
    id: int
    """Number of the node. A restarted process is another node."""
    is_self: bool
    """Whether this node answered the request."""
    joined_at: datetime
    last_seen_at: datetime
    """The last heartbeat."""
    name: str
    oldest_due_at: datetime | None = None
    """When the first of these fell due; null if it holds none."""
    roles: list[types.NodeRole]
    """`api`, `ingest`, `worker`; empty for a node of an earlier version."""
    state: types.NodeState
    """`alive`, `silent` (no heartbeat for 20 seconds) or `dead` (its deliveries were taken over)."""
    version: str | None = None
    """Null for a node of an earlier version."""


@dataclass(kw_only=True, repr=False)
class NodeCell(Model):
    """Node cell."""
    held_deliveries: int
    name: str


@dataclass(kw_only=True, repr=False)
class NoticeEmails(Model):
    """Notice emails."""
    addresses: list[str]


@dataclass(kw_only=True, repr=False)
class Percentiles(Model):
    """Estimated percentiles in milliseconds. Durations above ten minutes count as ten minutes."""
    p50_ms: float
    p95_ms: float
    p99_ms: float


@dataclass(kw_only=True, repr=False)
class PlanUsage(Model):
    """Plan usage."""
    endpoints: EndpointUsage
    events: EventUsage
    plan: str
    """The name of the plan."""


@dataclass(kw_only=True, repr=False)
class PortalLink(Model):
    """Portal link."""
    expires_at: datetime
    scopes: list[str]
    tenant_id: str
    token: str
    """The token in the link. Also valid as `Authorization: Bearer` until it expires."""
    url: str


@dataclass(kw_only=True, repr=False)
class PublishedEvent(Model):
    """Published event."""
    created_at: datetime
    deliveries: int
    """Number of webhooks that the event is delivered to."""
    id: str
    type: str


@dataclass(kw_only=True, repr=False)
class Purged(Model):
    """Purged."""
    has_more: bool
    """Whether more dead letters match the filters; if so, call again."""
    purged: int
    """Number of dead letters that were deleted; with `dry_run`, that would be."""


@dataclass(kw_only=True, repr=False)
class Queue(Model):
    """Queue."""
    age_seconds: float
    """How long the oldest due delivery has been due."""
    depth: int
    """Total number of undelivered deliveries: `pending`, `in_flight` and `waiting`."""
    in_flight: int
    """Deliveries leased by a node."""
    is_paused: bool
    lane: types.Lane
    oldest_due_at: datetime | None = None
    pending: int
    waiting: int
    """Deliveries that wait for an earlier one of their subject."""


@dataclass(kw_only=True, repr=False)
class Queues(Model):
    """Queues."""
    data: list[Queue]
    next_cursor: str | None = None
    """Always null: the list has one page."""
    paused_tenants: list[str]
    """Ids of paused tenants."""
    paused_webhooks: list[str]
    """Ids of paused webhooks."""


@dataclass(kw_only=True, repr=False)
class RateLimit(Model):
    """Rate limit."""
    count: int
    per: str


@dataclass(kw_only=True, repr=False)
class ReceiptSummary(Model):
    """Receipt summary."""
    attempts: int
    """Number of attempts of all deliveries together."""
    event_id: str | None = None
    id: str
    is_test: bool
    key_id: str
    last_error: str | None = None
    partner: str
    size: int
    status: types.ReceiptStatus
    """`received`, `dispatched`, `failed` (will be retried) or `dlq` (failed permanently)."""
    topic: str | None = None
    ts_received: datetime


@dataclass(kw_only=True, repr=False)
class Receipt(ReceiptSummary):
    """Receipt."""
    deliveries: list[ReceiptDelivery]
    """One delivery per target, targets added by a later retry included."""


@dataclass(kw_only=True, repr=False)
class ReceiptDelivery(Model):
    """Receipt delivery."""
    attempts: int
    created_at: datetime
    delivered_at: datetime | None = None
    id: str
    last_error: str | None = None
    """Why the delivery failed permanently, or else why the last attempt failed."""
    last_error_code: str | None = None
    next_retry_at: datetime | None = None
    response_status: int | None = None
    """HTTP status of the last attempt's response."""
    status: types.DeliveryStatus
    """`pending`, `retrying`, `delivered` or `failed`."""
    target_url: str | None = None
    """The current URL of the target; null if the source no longer has this target."""


@dataclass(kw_only=True, repr=False)
class ReceiptDeliveryDetail(ReceiptDelivery):
    """Receipt delivery detail."""
    attempt_log: list[AttemptEntry]
    """Oldest first."""


@dataclass(kw_only=True, repr=False)
class ReceiptDetail(ReceiptSummary):
    """Receipt detail."""
    context: VerificationContext
    deliveries: list[ReceiptDeliveryDetail]
    erased_at: datetime | None = None
    """When its content was erased."""
    headers: dict[str, str] | None = None
    """The request headers, with secrets masked; null for old receipts, whose headers were not stored."""
    payload: Any
    """The body as it was received, with secrets masked; null if the content was erased."""


@dataclass(kw_only=True, repr=False)
class ReceiptProof(Model):
    """Proof that a receipt is in the ledger."""
    checkpoint: str
    """The signed checkpoint."""
    form: str
    """`gancho-ledger-proof/1`."""
    inclusion: Any
    """The size of the ledger that the checkpoint covers, and the hashes from the line to its root (RFC 6962)."""
    key: Any
    """The public key that signed it, as a JWK."""
    line: Any
    """The line of the ledger: its number and its text."""


@dataclass(kw_only=True, repr=False)
class RejectedEvent(Model):
    """An event that was published from SQL and rejected."""
    code: str
    """Error code, as `POST /v1/events` would have answered."""
    data: Any
    """Data of the event; null if it is not valid JSON."""
    detail: str
    """What is wrong."""
    external_id: str | None = None
    id: str
    """The id that `gancho.publish` returned."""
    idempotency_key: str | None = None
    published_at: datetime
    """When `gancho.publish` was called."""
    rejected_at: datetime
    subject: str | None = None
    tenant_id: str
    type: str


@dataclass(kw_only=True, repr=False)
class Rejection(Model):
    """Rejection."""
    at: datetime
    detail: str | None = None
    headers: dict[str, str]
    """The request headers, with secrets masked."""
    partner: str
    reason: str
    size: int
    status: int


@dataclass(kw_only=True, repr=False)
class Reloaded(Model):
    """Reloaded."""
    applied: list[str]
    """Changed settings that are now in force."""
    needs_restart: list[str]
    """Changed settings that take effect when the node is restarted."""
    policy_hash: str | None = None
    """SHA-256 of the policy pack, in hex. Null on a gateway that receives no webhooks."""


@dataclass(kw_only=True, repr=False)
class ReplayJob(Model):
    """Replay job."""
    created_at: datetime
    done: int
    """Number of deliveries sent again."""
    dry_run: bool
    error: str | None = None
    """Why the replay as a whole failed."""
    failed: int
    """Number of deliveries that could not be sent again."""
    finished_at: datetime | None = None
    id: str
    is_total_exact: bool
    """False if counting stopped early: `total` is then a lower bound."""
    of: types.ReplayKind
    """`deliveries`, `events` or `dead_letters`."""
    outcomes: ReplayOutcomeCounts | None = None
    """Outcomes of the deliveries that were sent again. Null where it was not counted: in lists, and in responses
    that create or cancel a replay.
    """
    rate: int
    """Maximum deliveries per second."""
    skipped: int
    """Number of deliveries skipped because they are in flight or their webhook is deleted or disabled."""
    started_at: datetime | None = None
    state: types.ReplayState
    """`pending`, `running`, `done`, `canceled` or `failed`."""
    tenant: str | None = None
    """Slug of the tenant. Only where the operator reads those of all tenants."""
    tenant_id: str | None = None
    """Null for a replay of the operator over all tenants."""
    to: str | None = None
    """The webhook to send to, if one was given."""
    total: int
    """Number of deliveries to send."""


@dataclass(kw_only=True, repr=False)
class ReplayOutcomeCounts(Model):
    """Current states of the deliveries of a replay."""
    delivered: int
    """Number of deliveries that succeeded."""
    failed: int
    """Number of deliveries that failed permanently again."""
    of: int
    """Number of deliveries that were looked at: the first 5,000 that were sent. Those that have been pruned since are
    in none of the counts.
    """
    waiting: int
    """Number of deliveries that are pending, in flight or waiting for a retry."""


@dataclass(kw_only=True, repr=False)
class Retention(Model):
    """How long what a tenant has sent is stored. Null for the operator's default."""
    dead_letters: str | None = None
    """Dead letters, before they are archived."""
    emails: str | None = None
    """E-mails, after they were sent or have failed."""
    events: str | None = None
    """Events with their deliveries, after those have ended."""


@dataclass(kw_only=True, repr=False)
class Retry(Model):
    """Retry schedule: either `schedule`, or `base`, `max` and `attempts`."""
    attempts: int | None = None
    base: str | None = None
    max: str | None = None
    schedule: list[str] | None = None


@dataclass(kw_only=True, repr=False)
class RotatedSecret(Model):
    """Rotated secret."""
    old_secret_until: datetime | None = None
    """Until when deliveries are also signed with the previous secret; null without an overlap."""
    public_key: str | None = None
    """Public key for receivers (`whpk_…`); null unless `secret_format` is `ed25519`."""
    secret: str
    secret_format: str
    """`base64` (the key is the base64 text after `whsec_`), `raw` (the text is the key) or `ed25519`."""


@dataclass(kw_only=True, repr=False)
class SealingKey(Model):
    """Sealing key."""
    number: int
    records: int
    """Number of stored secrets that are encrypted with this key."""


@dataclass(kw_only=True, repr=False)
class SealingKeys(Model):
    """Sealing keys."""
    keys: list[SealingKey]


@dataclass(kw_only=True, repr=False)
class SearchMatch(Model):
    """Search match."""
    created_at: datetime | None = None
    id: str
    """Its id; of an event type, its name."""
    is_id: bool
    """Whether the search text is its id."""
    name: str | None = None
    """Its name, its URL, or the type of its event."""
    partner: str | None = None
    """The partner, of a source or a receipt."""
    tenant: str | None = None
    """Slug of its tenant; null if it belongs to none."""
    type: types.SearchMatchType
    """What it is: `event`, `delivery`, `webhook`, `email`, `source`, `receipt`, `replay`, `tenant`, `api_key` or
    `event_type`.
    """


@dataclass(kw_only=True, repr=False)
class SearchResult(Model):
    """Search result."""
    data: list[SearchMatch]
    is_complete: bool
    """Whether everything was searched. If not, there may be matches that `data` does not have."""


@dataclass(kw_only=True, repr=False)
class SignaturePart(Model):
    """Signature part."""
    hint: str
    """What to look at, in words."""
    part: str
    """`id`, `timestamp`, `body` or `secret`."""
    state: str
    """`same`, `different`, `assumed` (it was not given, and is taken as it was sent), `unsigned` (it is no part of the
    signature) or `unknown`.
    """


@dataclass(kw_only=True, repr=False)
class SignatureReport(Model):
    """Signature report."""
    differs: list[str]
    """The parts that differ from what was sent: `id`, `timestamp`, `body`, `secret`."""
    is_valid: bool
    """Whether the signature is valid for what was received."""
    parts: list[SignaturePart]


@dataclass(kw_only=True, repr=False)
class SkippedDeadLetter(Model):
    """Skipped dead letter."""
    id: str
    """Id of the delivery."""
    index: int
    """Index of the dead letter in the request, from 0."""
    reason: str
    """Why it was not imported."""


@dataclass(kw_only=True, repr=False)
class SourceCounts(Source):
    """Source counts."""
    counts: SourceTotals
    """Totals of all nodes since the source was created. The last seconds may be missing."""


@dataclass(kw_only=True, repr=False)
class SourceKey(Model):
    """Source key."""
    created_at: datetime
    encoding: str
    is_valid: bool
    """Whether the key is valid now."""
    key_id: str
    not_after: datetime | None = None
    not_before: datetime | None = None
    public_key: str | None = None
    scheme: str


@dataclass(kw_only=True, repr=False)
class SourceTotals(Model):
    """Source totals."""
    clashes: int
    """Number of webhooks that reused an event id with a different body. They are stored as dead letters with code
    `ID_CLASH`.
    """
    received: int
    """Number of accepted webhooks."""
    repeats: int
    """Number of duplicates, which were answered like the original."""


@dataclass(kw_only=True, repr=False)
class Stats(Model):
    """Stats."""
    bins: list[StatsBin]
    """Consecutive bins, oldest first, including those without deliveries."""
    range: str
    since: datetime
    step: str
    """Length of a bin."""
    totals: DeliveryFigures
    """Figures of the whole range."""
    until: datetime
    """End of the last bin, which is not over yet."""


@dataclass(kw_only=True, repr=False)
class StatsBin(DeliveryFigures):
    """Stats bin."""
    at: datetime
    """Start of the bin."""


@dataclass(kw_only=True, repr=False)
class Suppression(Model):
    """Suppression."""
    address: str
    """E-mail address, in lower case."""
    detail: str | None = None
    """Diagnostic text of the bounce or complaint."""
    reason: types.SuppressionReason
    """`bounce`, `complaint` or `manual`."""
    since: datetime
    tenant: str | None = None
    """Slug of the tenant. Only where the operator reads those of all tenants."""


@dataclass(kw_only=True, repr=False)
class Tenant(Model):
    """Tenant."""
    created_at: datetime
    default_profile: str
    id: str
    name: str
    plan: str
    publish_rate: RateLimit | None = None
    """Null for the operator's default."""
    retention: Retention
    slug: str
    strict_event_types: bool


@dataclass(kw_only=True, repr=False)
class TenantMetadata(Model):
    """Tenant metadata."""
    metadata: Any


@dataclass(kw_only=True, repr=False)
class TenantMove(Model):
    """Tenant move."""
    closed_ms: int | None = None
    """For how many milliseconds nothing could be written for the tenant; null before that."""
    copied_rows: int
    """Rows that were copied to the new cell so far, without those that changed meanwhile."""
    error: str | None = None
    """Why the move failed; null if it did not. It is tried again by itself."""
    from_: str
    """The cell in which the tenant was."""
    removed_rows: int
    """Rows that were removed so far: from the old cell, or the copies if the move is taken back."""
    seconds: int
    """Seconds since the move began, or until it ended."""
    state: types.MoveState
    """`copying` and `closing`: the tenant lives in the old cell, and the move can be taken back. `removing`: it lives in
    the new cell, and is removed from the old one. `taking_back`: it stays in the old cell, and its copy is removed.
    `done` and `taken_back` are the ends.
    """
    to: str
    """The cell to which it moves."""


@dataclass(kw_only=True, repr=False)
class TenantStats(Model):
    """Tenant stats."""
    name: str
    slug: str
    tenant_id: str
    totals: DeliveryFigures
    """Figures of the range, in all lanes."""


@dataclass(kw_only=True, repr=False)
class TestOutcome(Model):
    """Test outcome."""
    attempt: AttemptEntry | None = None
    """The attempt in detail; null if there was none in time."""
    delivery_id: str
    error: str | None = None
    event_id: str
    event_type: str
    latency_ms: float | None = None
    response_body: str | None = None
    response_status: int | None = None
    status: types.DeliveryStatus
    """`pending`, `retrying`, `delivered` or `failed`."""
    success: bool
    """Whether the webhook responded with 2xx."""


@dataclass(kw_only=True, repr=False)
class User(Model):
    """User."""
    created_at: datetime
    name: str
    password_changed_at: datetime
    role: types.UserRole
    """`operator`, `support` or `read_only`."""


@dataclass(kw_only=True, repr=False)
class VerificationContext(Model):
    """The facts that the policy decided on."""
    req: VerifiedRequest
    webhook: VerifiedWebhook


@dataclass(kw_only=True, repr=False)
class VerifiedRequest(Model):
    """Verified request."""
    method: str
    path: str


@dataclass(kw_only=True, repr=False)
class VerifiedWebhook(Model):
    """Verified webhook."""
    key_id: str
    partner: str
    verified: bool
    """Always true: only verified webhooks become receipts."""


@dataclass(kw_only=True, repr=False)
class WaitingFor(Model):
    """What an unfinished delivery is waiting for."""
    reason: types.WaitReason
    """`attempt`: an attempt is in flight or about to start. `retry`: the next attempt is not due yet.
    `schedule`: its `deliver_at` has not come yet. `lane_resume`, `tenant_resume`,
    `webhook_resume`: the lane, tenant or webhook is paused. `circuit_breaker`: the endpoint failed too
    often in a row, and attempts are suspended. `rate_limit`: the endpoint's rate limit is used up.
    `in_flight_limit`: the endpoint has as many requests in flight as its `max_in_flight` allows.
    `earlier_delivery`: an earlier delivery of the same subject comes first. `backlog`: older deliveries,
    or those of other tenants, come first.
    """
    until: datetime | None = None
    """When the wait ends, if known."""


@dataclass(kw_only=True, repr=False)
class WebhookSecret(Model):
    """Webhook secret."""
    old_secrets_until: list[datetime]
    """Until when deliveries are also signed with each rotated secret."""
    public_key: str | None = None
    """Public key for receivers (`whpk_…`); null unless `secret_format` is `ed25519`."""
    secret: str
    secret_format: str
    """`base64` (the key is the base64 text after `whsec_`), `raw` (the text is the key) or `ed25519`."""


@dataclass(kw_only=True, repr=False)
class WebhookStats(Model):
    """Webhook stats."""
    bins: list[StatsBin]
    """The last 24 hours by hour, oldest first."""
    name: str | None = None
    """Null if the webhook was deleted."""
    tenant_id: str
    totals: DeliveryFigures
    """Figures of the last 24 hours."""
    webhook_id: str


decoded(
    AcceptedEmail,
    {"outboxId": "outbox_id"},
)
decoded(
    Alert,
    {},
    since=timestamp,
)
decoded(
    AlertChange,
    {},
    at=timestamp,
)
decoded(
    AlertSilence,
    {},
    until=timestamp,
)
decoded(
    AlertTest,
    {},
    channels=list_of(AlertChannelTest),
)
decoded(
    ApiKey,
    {},
    created_at=timestamp,
    expires_at=timestamp,
    last_used_at=timestamp,
    revoked_at=timestamp,
)
decoded(
    AttemptEntry,
    {},
    started_at=timestamp,
)
decoded(
    AuditEntry,
    {},
    actor=AuditActor.from_json,
    at=timestamp,
)
decoded(
    BatchError,
    {},
    errors=list_of(InvalidField),
)
decoded(
    BatchOutcome,
    {},
    results=list_of(BatchResult),
)
decoded(
    BatchResult,
    {},
    created_at=timestamp,
    error=BatchError.from_json,
)
decoded(
    CapturedEmailSummary,
    {"caughtAt": "caught_at", "from": "from_", "messageId": "message_id", "outboxId": "outbox_id", "tenantId": "tenant_id"},
    caught_at=timestamp,
)
decoded(
    CapturedEmail,
    {"caughtAt": "caught_at", "from": "from_", "messageId": "message_id", "outboxId": "outbox_id", "tenantId": "tenant_id"},
    caught_at=timestamp,
)
decoded(
    DeadLetter,
    {},
    enqueued_at=timestamp,
    expires_at=timestamp,
    last_failure_timestamp=timestamp,
    moved_to_dlq_at=timestamp,
)
decoded(
    DeadLetterStats,
    {},
    oldest=timestamp,
)
decoded(
    DeletedTenant,
    {},
    deleted_at=timestamp,
)
decoded(
    Delivery,
    {},
    created_at=timestamp,
    delivered_at=timestamp,
    next_retry_at=timestamp,
    waiting_for=WaitingFor.from_json,
)
decoded(
    DeliveryDetail,
    {},
    created_at=timestamp,
    delivered_at=timestamp,
    next_retry_at=timestamp,
    waiting_for=WaitingFor.from_json,
    attempt_log=list_of(AttemptEntry),
)
decoded(
    DeliveryEvent,
    {},
    created_at=timestamp,
    delivered_at=timestamp,
    next_retry_at=timestamp,
    waiting_for=WaitingFor.from_json,
    at=timestamp,
)
decoded(
    DeliveryFigures,
    {},
    delivery_time=Percentiles.from_json,
    response_time=Percentiles.from_json,
)
decoded(
    EmailSummary,
    {"companyId": "company_id", "createdAt": "created_at", "externalId": "external_id", "failureCode": "failure_code", "failureReason": "failure_reason", "nextRetryAt": "next_retry_at", "outboxId": "outbox_id", "sentAt": "sent_at"},
    created_at=timestamp,
    next_retry_at=timestamp,
    sent_at=timestamp,
)
decoded(
    Email,
    {"companyId": "company_id", "createdAt": "created_at", "externalId": "external_id", "failureCode": "failure_code", "failureReason": "failure_reason", "nextRetryAt": "next_retry_at", "outboxId": "outbox_id", "sentAt": "sent_at", "attemptLog": "attempt_log", "deliveryId": "delivery_id", "erasedAt": "erased_at", "failedAt": "failed_at", "from": "from_", "messageId": "message_id", "sesError": "ses_error"},
    created_at=timestamp,
    next_retry_at=timestamp,
    sent_at=timestamp,
    attempt_log=list_of(EmailAttempt),
    erased_at=timestamp,
    failed_at=timestamp,
)
decoded(
    EmailAttempt,
    {"latencyMs": "latency_ms", "nextRetryAt": "next_retry_at", "responseStatus": "response_status", "startedAt": "started_at"},
    next_retry_at=timestamp,
    started_at=timestamp,
)
decoded(
    Event,
    {},
    created_at=timestamp,
    deliveries=list_of(Delivery),
    erased_at=timestamp,
)
decoded(
    EventSummary,
    {},
    created_at=timestamp,
)
decoded(
    EventUsage,
    {},
    resets_at=timestamp,
)
decoded(
    Health,
    {},
    circuit_open_until=timestamp,
)
decoded(
    ImportedDeadLetters,
    {},
    skipped=list_of(SkippedDeadLetter),
)
decoded(
    Ledger,
    {},
    checkpoint=Checkpoint.from_json,
)
decoded(
    MadeCheckpoint,
    {},
    checkpoint=Checkpoint.from_json,
)
decoded(
    NewApiKey,
    {},
    created_at=timestamp,
    expires_at=timestamp,
    last_used_at=timestamp,
    revoked_at=timestamp,
)
decoded(
    Source,
    {},
    created_at=timestamp,
    rate_limit=RateLimit.from_json,
    retry=Retry.from_json,
    updated_at=timestamp,
)
decoded(
    NewSource,
    {},
    created_at=timestamp,
    rate_limit=RateLimit.from_json,
    retry=Retry.from_json,
    updated_at=timestamp,
)
decoded(
    Webhook,
    {},
    created_at=timestamp,
    failing_since=timestamp,
    health=Health.from_json,
    old_secret_until=timestamp,
    rate_limit=RateLimit.from_json,
    retry=Retry.from_json,
    updated_at=timestamp,
)
decoded(
    NewWebhook,
    {},
    created_at=timestamp,
    failing_since=timestamp,
    health=Health.from_json,
    old_secret_until=timestamp,
    rate_limit=RateLimit.from_json,
    retry=Retry.from_json,
    updated_at=timestamp,
)
decoded(
    Node,
    {},
    cells=list_of(NodeCell),
    joined_at=timestamp,
    last_seen_at=timestamp,
    oldest_due_at=timestamp,
)
decoded(
    PlanUsage,
    {},
    endpoints=EndpointUsage.from_json,
    events=EventUsage.from_json,
)
decoded(
    PortalLink,
    {},
    expires_at=timestamp,
)
decoded(
    PublishedEvent,
    {},
    created_at=timestamp,
)
decoded(
    Queue,
    {},
    oldest_due_at=timestamp,
)
decoded(
    Queues,
    {},
    data=list_of(Queue),
)
decoded(
    ReceiptSummary,
    {},
    ts_received=timestamp,
)
decoded(
    Receipt,
    {},
    ts_received=timestamp,
    deliveries=list_of(ReceiptDelivery),
)
decoded(
    ReceiptDelivery,
    {},
    created_at=timestamp,
    delivered_at=timestamp,
    next_retry_at=timestamp,
)
decoded(
    ReceiptDeliveryDetail,
    {},
    created_at=timestamp,
    delivered_at=timestamp,
    next_retry_at=timestamp,
    attempt_log=list_of(AttemptEntry),
)
decoded(
    ReceiptDetail,
    {},
    ts_received=timestamp,
    context=VerificationContext.from_json,
    deliveries=list_of(ReceiptDeliveryDetail),
    erased_at=timestamp,
)
decoded(
    RejectedEvent,
    {},
    published_at=timestamp,
    rejected_at=timestamp,
)
decoded(
    Rejection,
    {},
    at=timestamp,
)
decoded(
    ReplayJob,
    {},
    created_at=timestamp,
    finished_at=timestamp,
    outcomes=ReplayOutcomeCounts.from_json,
    started_at=timestamp,
)
decoded(
    RotatedSecret,
    {},
    old_secret_until=timestamp,
)
decoded(
    SealingKeys,
    {},
    keys=list_of(SealingKey),
)
decoded(
    SearchMatch,
    {},
    created_at=timestamp,
)
decoded(
    SearchResult,
    {},
    data=list_of(SearchMatch),
)
decoded(
    SignatureReport,
    {},
    parts=list_of(SignaturePart),
)
decoded(
    SourceCounts,
    {},
    created_at=timestamp,
    rate_limit=RateLimit.from_json,
    retry=Retry.from_json,
    updated_at=timestamp,
    counts=SourceTotals.from_json,
)
decoded(
    SourceKey,
    {"publicKey": "public_key"},
    created_at=timestamp,
    not_after=timestamp,
    not_before=timestamp,
)
decoded(
    Stats,
    {},
    bins=list_of(StatsBin),
    since=timestamp,
    totals=DeliveryFigures.from_json,
    until=timestamp,
)
decoded(
    StatsBin,
    {},
    delivery_time=Percentiles.from_json,
    response_time=Percentiles.from_json,
    at=timestamp,
)
decoded(
    Suppression,
    {},
    since=timestamp,
)
decoded(
    Tenant,
    {},
    created_at=timestamp,
    publish_rate=RateLimit.from_json,
    retention=Retention.from_json,
)
decoded(
    TenantMove,
    {"from": "from_"},
)
decoded(
    TenantStats,
    {},
    totals=DeliveryFigures.from_json,
)
decoded(
    TestOutcome,
    {},
    attempt=AttemptEntry.from_json,
)
decoded(
    User,
    {},
    created_at=timestamp,
    password_changed_at=timestamp,
)
decoded(
    VerificationContext,
    {},
    req=VerifiedRequest.from_json,
    webhook=VerifiedWebhook.from_json,
)
decoded(
    WaitingFor,
    {},
    until=timestamp,
)
decoded(
    WebhookStats,
    {},
    bins=list_of(StatsBin),
    totals=DeliveryFigures.from_json,
)
