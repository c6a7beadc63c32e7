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
    "CellTenant",
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
    """An accepted e-mail."""
    outbox_id: str
    """Id of the e-mail (`out_…`). `GET /v1/emails/{outbox_id}` returns its status."""


@dataclass(kw_only=True, repr=False)
class Alert(Model):
    """A pending or firing alert of the gateway."""
    detail: str
    """The current figures in a sentence, e.g. `120 dead letters in the store`."""
    rule: types.AlertRule
    """Rule that raised the alert, e.g. `dead_letters_high`."""
    severity: types.AlertSeverity
    """How urgent the alert is. Each rule has a fixed severity."""
    silence_id: str | None = None
    """Id of the silence (`sil_…`) that keeps the alert from being sent; null if there is none."""
    since: datetime
    """When the condition began to hold."""
    state: types.AlertState
    """`pending` (the condition holds, but not for long enough) or `firing`."""
    subject: str | None = None
    """What the alert is about: a tenant, an endpoint, a node, a lane or a key; null for the whole gateway."""
    summary: str
    """What the rule means, in English and without figures."""
    threshold: float
    """Value above which the condition of the rule holds, in the same unit as `value`."""
    value: float
    """Measured value that is compared with `threshold`, in the unit of the rule: a count, a share from 0 to 1, or
    seconds. 1 for a rule without a figure.
    """


@dataclass(kw_only=True, repr=False)
class AlertChange(Model):
    """An entry of the alert history: an alert fired, kept firing, or was resolved."""
    at: datetime
    """When the alert changed."""
    change: types.AlertChangeKind
    """`fired`, `reminder` (it kept firing and was sent again) or `resolved`."""
    detail: str
    """The last figures in a sentence, or why the alert was resolved."""
    is_silenced: bool
    """Whether the change was not sent, because of a silence."""
    rule: types.AlertRule
    """Rule that raised the alert, e.g. `dead_letters_high`."""
    severity: types.AlertSeverity
    """How urgent the alert is."""
    subject: str | None = None
    """What the alert is about: a tenant, an endpoint, a node, a lane or a key; null for the whole gateway."""
    summary: str
    """What the rule means, in English and without figures."""
    threshold: float
    """Value above which the condition of the rule holds, in the same unit as `value`."""
    value: float
    """Last measured value, in the unit of the rule: a count, a share from 0 to 1, or seconds."""


@dataclass(kw_only=True, repr=False)
class AlertChannelTest(Model):
    """Outcome of a test alert on one channel."""
    channel: types.NoticeChannel
    """Channel that the test alert was sent to."""
    error: str | None = None
    """Why the test alert could not be sent; null if it was sent."""
    is_sent: bool
    """Whether the channel accepted the test alert."""


@dataclass(kw_only=True, repr=False)
class AlertSilence(Model):
    """A silence. Alerts that it covers are evaluated and recorded, but not sent."""
    comment: str
    """Why the alerts are silenced, as given when the silence was created; empty if nothing was given."""
    created_by: str
    """Name of the user who created the silence, or `operator` for the operator token."""
    id: str
    """Id of the silence (`sil_…`)."""
    rule: types.AlertRule | None = None
    """The rule that is silenced; null for every rule."""
    subject: str | None = None
    """The subject that is silenced; null for every subject."""
    until: datetime
    """When the silence ends."""


@dataclass(kw_only=True, repr=False)
class AlertTest(Model):
    """Outcome of a test alert."""
    channels: list[AlertChannelTest]
    """One entry for each configured channel; empty if no channel is configured."""


@dataclass(kw_only=True, repr=False)
class ApiKey(Model):
    """An API key of a tenant, without its secret."""
    created_at: datetime
    """When the key was created."""
    expires_at: datetime | None = None
    """When the key expires or has expired; null if it never expires."""
    id: str
    """Id of the key (`key_…`)."""
    last_used_at: datetime | None = None
    """When the key was last used, to the minute; null if never."""
    name: str
    """Display name; empty if none was given."""
    revoked_at: datetime | None = None
    """When the key was revoked; null if it was not."""
    scopes: list[types.ApiKeyScope]
    """What the key may be used for."""
    tenant_id: str
    """Id of the tenant that the key belongs to."""


@dataclass(kw_only=True, repr=False)
class AttemptEntry(Model):
    """One attempt of a delivery: the request and its response."""
    attempt: int
    """Number of the attempt, from 1."""
    error: str | None = None
    """Why the attempt failed; null if it succeeded."""
    error_code: str | None = None
    """Code of the failure, e.g. `HTTP_503` or `TIMEOUT`; null if the attempt succeeded."""
    latency_ms: float
    """Duration of the attempt in milliseconds."""
    request_headers: dict[str, str]
    """Request headers by name, as they were sent, with secrets masked. Repeated headers are joined with a comma."""
    response_body: str | None = None
    """The first 16 KiB of the response body, as text; null if there was no response."""
    response_headers: dict[str, str]
    """Response headers by name; empty if there was no response. Repeated headers are joined with a comma."""
    response_status: int | None = None
    """HTTP status of the response; for an e-mail, the SMTP reply code or the HTTP status of SES. Null if there was no
    response.
    """
    started_at: datetime
    """When the attempt began."""


@dataclass(kw_only=True, repr=False)
class AuditActor(Model):
    """The caller who did something, or tried to."""
    kind: types.ActorKind
    """Kind of caller. A tenant sees users of the operator as `operator`."""
    name: str | None = None
    """Name of the user, or id of the API key; null for other callers."""


@dataclass(kw_only=True, repr=False)
class AuditEntry(Model):
    """An entry of the audit log: an administrative action or a login, done or refused."""
    actor: AuditActor
    address: str | None = None
    """IP address of the caller, or its /64 block for IPv6; null if it is not known. Tenants do not see addresses of
    the operator.
    """
    at: datetime
    """When the action took place."""
    code: str | None = None
    """Error code of the response; null if the action was done. `disconnected` if the caller disconnected before the
    action had an outcome, `left_out` for an entry that stands for others.
    """
    id: str
    """Id of the entry (`aud_…`)."""
    operation: str
    """The `operationId` of the operation in this document, `log_in`, or `left_out` for an entry that stands for
    similar actions which were not recorded one by one.
    """
    outcome: types.AuditOutcome
    """Whether the action was done or refused."""
    reason: str | None = None
    """Reason that the caller gave for a pause; null if none was given. Tenants do not see reasons of the operator."""
    request_id: str | None = None
    """Id of the request, as in the header `X-Request-Id`; null for logins and for entries that stand for others."""
    resource: str | None = None
    """Id or name of what was changed; null if there is none. For `left_out`, the number of actions and their
    operation.
    """
    status: int
    """HTTP status of the response. For a login 200 or 401; 499 if the caller disconnected before the action had an
    outcome.
    """
    summary: str
    """What the operation does, in English."""
    tenant_id: str | None = None
    """Id of the tenant whose data the action was about; null if it was about data of the operator."""


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
    """Result of a batch."""
    accepted: int
    """Number of accepted events, those with a repeated idempotency key included."""
    refused: int
    """Number of refused events."""
    results: list[BatchResult]
    """One result per event, in the order of the request."""


@dataclass(kw_only=True, repr=False)
class BatchResult(Model):
    """Result of one event of a batch."""
    created_at: datetime | None = None
    """When the event was accepted. Absent if the event was refused."""
    deliveries: int | None = None
    """Number of webhooks that the event is delivered to. Absent if the event was refused."""
    error: BatchError | None = None
    """Why the event was refused. Absent if it was accepted."""
    id: str | None = None
    """Id of the event (`evt_…`). Absent if the event was refused."""
    index: int
    """Index of the event in the request, from 0."""
    replayed: bool | None = None
    """`true` if the event was published before with the same idempotency key; absent otherwise."""
    status: int
    """The HTTP status that publishing this event alone would have had: 202 if accepted."""
    type: str | None = None
    """Type of the event. Absent if the event was refused."""


@dataclass(kw_only=True, repr=False)
class CanceledEvent(Model):
    """Result of canceling an event."""
    canceled: int
    """Number of deliveries that were canceled."""
    id: str
    """Id of the event (`evt_…`)."""
    in_flight: int
    """Number of deliveries in flight. They finish, and are retried if they fail."""


@dataclass(kw_only=True, repr=False)
class CapturedEmailSummary(Model):
    """A captured e-mail without its content."""
    caught_at: datetime
    """When the e-mail was captured."""
    from_: str
    """Sender: an address, with a display name if one was given."""
    message_id: str
    """Value of the `Message-ID` header, without the angle brackets."""
    outbox_id: str
    """Id of the e-mail (`out_…`)."""
    size: int
    """Size of the raw message in bytes."""
    subject: str
    """Subject line of the e-mail."""
    tenant_id: str
    """Id of the tenant that submitted the e-mail."""
    to: str
    """Recipient: an address, with a display name if one was given."""


@dataclass(kw_only=True, repr=False)
class CapturedEmail(CapturedEmailSummary):
    """An e-mail that was captured instead of being sent."""
    raw: str
    """The raw message: headers, an empty line, and the body."""


@dataclass(kw_only=True, repr=False)
class Cell(Model):
    """A cell: one of the databases of a gateway that has several."""
    is_available: bool
    """Whether the node that answered can use the cell."""
    is_draining: bool
    """Whether the cell is being drained: it gets no new tenants."""
    is_home: bool
    """Whether this is the home cell, which has the list of tenants and all data that belongs to no tenant."""
    name: str
    """Name of the cell."""
    reason: str | None = None
    """Why that node cannot use the cell; null if it can."""
    tenants: int
    """Number of tenants that live in the cell."""


@dataclass(kw_only=True, repr=False)
class CellTenant(Model):
    """A tenant, as the directory of cells knows it."""
    id: str
    """Id of the tenant."""
    slug: str
    """Slug of the tenant."""
    state: types.CellTenantState
    """`active`: it lives in the cell. `moving`: it is being moved to another cell, or was and is still being removed from
    the
    old one. `creating`: it is being created.
    """


@dataclass(kw_only=True, repr=False)
class Checkpoint(Model):
    """A signed checkpoint. The signed note itself is in the checkpoint directory."""
    made_at: str
    """When the checkpoint was signed, in RFC 3339."""
    origin: str
    """Name of the ledger in its checkpoints, e.g. `gancho/ledger`."""
    root: str
    """Root of the Merkle tree over these lines (RFC 6962), in base64."""
    size: int
    """Number of lines that it covers."""


@dataclass(kw_only=True, repr=False)
class DeadLetter(Model):
    """A delivery that failed permanently, with its data and the last failure."""
    enqueued_at: datetime
    """When the delivery was accepted."""
    event_type: str
    """Type of the event. For a receipt `PARTNER/KEY/TOPIC`, or `PARTNER/KEY` without a topic."""
    expires_at: datetime
    """When the dead letter is due to be archived. Until then it can be replayed."""
    external_id: str | None = None
    """Your own id of the event or e-mail, or the partner's event id of a receipt; null if there is none."""
    failed_attempts: int
    """Number of failed attempts."""
    id: str
    """Id of the dead letter: that of its delivery (`dlv_…`)."""
    lane: types.Lane
    """What was to be delivered: an event, a receipt or an e-mail."""
    last_failure_code: str
    """Code of the last failure, e.g. `HTTP_503`, `TIMEOUT` or `EXPIRED`."""
    last_failure_reason: str
    """Why the last attempt failed, or why the delivery was given up without one."""
    last_failure_timestamp: datetime
    """When the last attempt failed or, without an attempt, when the delivery was given up."""
    last_provider_code: str | None = None
    """The receiver's own status or error code: an HTTP status such as `503`, an SMTP reply code such as `550`, or an
    error of SES such as `MessageRejected`. Null if the receiver did not respond.
    """
    moved_to_dlq_at: datetime
    """When the delivery became a dead letter."""
    original_data: Any
    """The data as it was accepted. E-mail addresses are masked and attachments left out."""
    partner: str | None = None
    """Name of the partner that sent the receipt, in the lane `dispatch`; null in other lanes."""
    subject: str | None = None
    """The `subject` that the publisher gave the event; null if there is none."""
    subject_id: str
    """Id of the event (`evt_…`), receipt (`rcp_…`) or e-mail (`out_…`)."""
    target_id: str | None = None
    """Id of the webhook, in the lane `webhook`; null in other lanes."""
    target_url: str | None = None
    """URL that a replay sends the receipt to, in the lane `dispatch`; null in other lanes, and if the source was
    deleted.
    """
    tenant_id: str | None = None
    """Id of the tenant; null in the lane `dispatch`, see `partner`."""


@dataclass(kw_only=True, repr=False)
class DeadLetterStats(Model):
    """Numbers of dead letters that match the filters."""
    by_code: dict[str, int]
    """Number of dead letters by failure code, e.g. `HTTP_503`."""
    by_lane: dict[str, int]
    """Number of dead letters by lane."""
    by_partner: dict[str, int]
    """Number of dead letters of the lane `dispatch`, by name of the partner. Empty for tenants."""
    by_tenant: dict[str, int]
    """Number of dead letters by tenant id, without those of the lane `dispatch`."""
    oldest: datetime | None = None
    """When the oldest of them became a dead letter; null if there is none."""
    total: int
    """Number of all dead letters that match the filters."""


@dataclass(kw_only=True, repr=False)
class DeletedTenant(Model):
    """A tenant that was deleted."""
    deleted_at: datetime
    """When the tenant was deleted."""
    id: str
    """Id of the tenant (`ten_…`)."""
    slug: str
    """Slug of the tenant, which can be used again."""


@dataclass(kw_only=True, repr=False)
class Delivery(Model):
    """The delivery of one event, receipt or e-mail to one target."""
    attempts: int
    """Number of attempts so far, including those before a retry or replay."""
    created_at: datetime
    """When the delivery was created."""
    delivered_at: datetime | None = None
    """When the successful response arrived; null if the delivery has not succeeded."""
    event_id: str | None = None
    """Id of the event. Present only in the lane `webhook`."""
    event_type: str | None = None
    """Type of the event, e.g. `invoice.paid`. Present only in the lane `webhook`."""
    external_id: str | None = None
    """Your own id of the event or e-mail, or the partner's event id of a receipt; null if there is none."""
    id: str
    """Id of the delivery (`dlv_…`)."""
    is_test: bool
    """Whether the delivery is of a test event."""
    lane: types.Lane
    """What is delivered: an event, a receipt or an e-mail."""
    last_error: str | None = None
    """Why the delivery failed permanently, or else why the last attempt failed; null if it did not fail."""
    last_error_code: str | None = None
    """Code of the failure in `last_error`, e.g. `HTTP_503` or `TIMEOUT`; null if there is none."""
    next_retry_at: datetime | None = None
    """When the next attempt after a failed one is planned; null before the first attempt, and once the delivery has
    ended.
    """
    outbox_id: str | None = None
    """Id of the e-mail, see `GET /v1/emails/{outbox_id}`. Present only in the lane `email`."""
    partner: str | None = None
    """Name of the partner that sent the receipt. Present only in the lane `dispatch`."""
    receipt_id: str | None = None
    """Id of the receipt. Present only in the lane `dispatch`."""
    response_status: int | None = None
    """HTTP status of the last attempt's response; for an e-mail, the SMTP reply code or the HTTP status of SES. Null
    if there was no response.
    """
    status: types.DeliveryStatus
    """Status of the delivery."""
    target_url: str | None = None
    """Current URL of the target. Present only in the lane `dispatch`, and absent if the source no longer has this
    target.
    """
    tenant: str | None = None
    """Slug of the tenant. Present only if the operator reads deliveries of all tenants."""
    tenant_id: str | None = None
    """Id of the tenant. Present only together with `tenant`."""
    waiting_for: WaitingFor | None = None
    """What the delivery is waiting for; null once it is delivered or has failed, and in the response to a retry."""
    webhook_id: str | None = None
    """Id of the webhook that the event is delivered to. Present only in the lane `webhook`."""


@dataclass(kw_only=True, repr=False)
class DeliveryDetail(Delivery):
    """A delivery with its payload and its attempts."""
    attempt_log: list[AttemptEntry]
    """All attempts, oldest first."""
    payload: Any
    """The request body that is sent; null for an e-mail."""


@dataclass(kw_only=True, repr=False)
class DeliveryEvent(Delivery):
    """A change of a delivery, with the delivery as it is after the change."""
    at: datetime
    """When the change happened."""
    change: types.DeliveryChangeKind
    """What happened to the delivery."""
    latency_ms: float | None = None
    """Duration of the attempt in milliseconds; null if no attempt was made."""


@dataclass(kw_only=True, repr=False)
class DeliveryFigures(Model):
    """What happened to deliveries in a period."""
    accepted: int
    """Number of deliveries that were created by publishing, receiving and sending e-mail."""
    attempts: int
    """Number of attempts."""
    dead_letters: int
    """Number of deliveries that failed permanently."""
    delivered: int
    """Number of deliveries that succeeded."""
    delivered_at_first_attempt: int
    """Number of deliveries that succeeded at their first attempt."""
    delivery_time: Percentiles | None = None
    """Time from acceptance to delivery, without manual retries and replays; null if nothing was delivered."""
    failed_attempts: int
    """Number of attempts that failed."""
    response_time: Percentiles | None = None
    """Duration of attempts; null without attempts."""
    success_share: float | None = None
    """Share of attempts that succeeded, from 0 to 1; null without attempts."""


@dataclass(kw_only=True, repr=False)
class EgressAddresses(Model):
    """The addresses that deliveries come from."""
    addresses: list[str]
    """IP addresses and networks (CIDR). Empty if the operator has not configured any."""


@dataclass(kw_only=True, repr=False)
class EmailSummary(Model):
    """An e-mail without its attempts."""
    attempts: int
    """Number of attempts to send the e-mail so far."""
    company_id: str
    """Slug of the tenant that submitted the e-mail."""
    created_at: datetime
    """When the e-mail was accepted."""
    external_id: str | None = None
    """Your own id for the e-mail; null if none was given."""
    failure_code: str | None = None
    """Why the e-mail failed, or why its last attempt did: `INVALID_RECIPIENT`, `BOUNCE_PERMANENT`, `BOUNCE_TEMPORARY`,
    `COMPLAINT`, `SES_THROTTLE`, `SES_ERROR`, `INVALID_CONTENT` or `INTERNAL_ERROR`; null if it did not fail.
    """
    failure_reason: str | None = None
    """Description of the failure in English; null if the e-mail did not fail."""
    next_retry_at: datetime | None = None
    """When the next attempt after a failed one is planned; null before the first attempt, and once the e-mail was sent
    or has failed.
    """
    outbox_id: str
    """Id of the e-mail (`out_…`)."""
    recipient: str
    """Address of the recipient, masked: `j***@e***le.com`."""
    sent_at: datetime | None = None
    """When the mail server or SES accepted the e-mail; null if it has not. It stays set if the e-mail bounces later."""
    status: types.EmailStatus
    """Status of the e-mail."""
    subject: str
    """Subject line of the e-mail."""


@dataclass(kw_only=True, repr=False)
class Email(EmailSummary):
    """An e-mail with all attempts to send it."""
    attempt_log: list[EmailAttempt]
    """All attempts, oldest first."""
    delivery_id: str
    """Id of the delivery of the e-mail (`dlv_…`), to retry or replay it."""
    erased_at: datetime | None = None
    """When the content of the e-mail was erased; null if it was not."""
    failed_at: datetime | None = None
    """When the e-mail failed permanently, or was reported as bounced after it was sent; null if neither happened."""
    from_: str
    """Address of the sender, masked: `s***@e***le.com`."""
    message_id: str | None = None
    """Message id: over SMTP that of the `Message-ID` header, with SES the one that SES assigned. Null if the last
    attempt did not send the e-mail.
    """
    ses_error: str | None = None
    """Error code of the mail server or SES, e.g. `550` or `MessageRejected`; null if there is none."""


@dataclass(kw_only=True, repr=False)
class EmailAttempt(Model):
    """One attempt to send an e-mail."""
    attempt: int
    """Number of the attempt, from 1."""
    error: str | None = None
    """Code and reason of the failure, as `CODE: reason`; null if the attempt succeeded."""
    latency_ms: int
    """Duration of the attempt in milliseconds."""
    next_retry_at: datetime | None = None
    """When the next attempt was planned; null if none was to follow."""
    response: str
    """Text of the SMTP reply, or response body of SES."""
    response_status: int | None = None
    """SMTP reply code, or HTTP status of SES; null if there was no response."""
    started_at: datetime
    """When the attempt began."""


@dataclass(kw_only=True, repr=False)
class EndpointUsage(Model):
    """Webhooks of the tenant, and the limit of the plan."""
    limit: int | None = None
    """Maximum number of webhooks; null if the plan has no limit."""
    used: int
    """Number of webhooks that the tenant has."""


@dataclass(kw_only=True, repr=False)
class Erasure(Model):
    """What one request has erased."""
    already_erased: int
    """Number of those whose content had been erased before."""
    archived: int
    """Number of archived dead letters that were removed."""
    canceled: int
    """Number of waiting deliveries that were canceled."""
    erased: int
    """Number of events, e-mails or receipts whose content was erased."""
    in_flight: int
    """Number of events or e-mails that were not erased because a delivery is in flight. Repeat the request a few
    seconds later.
    """
    next_cursor: str | None = None
    """`cursor` of the request that continues the search; null if everything was searched."""


@dataclass(kw_only=True, repr=False)
class Event(Model):
    """An event with its data and its deliveries."""
    created_at: datetime
    """When the event was accepted."""
    data: Any
    """Payload of the event, as it was published; null if the content was erased."""
    deliveries: list[Delivery]
    """The deliveries of the event: one for each webhook, and further ones if it was replayed to other webhooks."""
    erased_at: datetime | None = None
    """When the content of the event was erased; null if it was not."""
    external_id: str | None = None
    """Your own id for the event; null if none was given."""
    id: str
    """Id of the event (`evt_…`)."""
    is_test: bool
    """Whether it was created by a test call."""
    sequence_number: int | None = None
    """Number of the event within its subject, from 1; null if it has no subject."""
    subject: str | None = None
    """What the event is about, as the publisher gave it; null if nothing was given."""
    type: str
    """Type of the event, e.g. `invoice.paid`."""


@dataclass(kw_only=True, repr=False)
class EventSummary(Model):
    """An event without its data."""
    created_at: datetime
    """When the event was accepted."""
    deliveries: int
    """Number of webhooks that the event is delivered to."""
    external_id: str | None = None
    """Your own id for the event; null if none was given."""
    id: str
    """Id of the event (`evt_…`)."""
    is_test: bool
    """Whether it was created by a test call."""
    sequence_number: int | None = None
    """Number of the event within its subject, from 1; null if it has no subject."""
    subject: str | None = None
    """What the event is about, as the publisher gave it; null if nothing was given."""
    tenant: str | None = None
    """Slug of the tenant. Present only if the operator lists the events of all tenants."""
    type: str
    """Type of the event, e.g. `invoice.paid`."""


@dataclass(kw_only=True, repr=False)
class EventType(Model):
    """An event type: a name for events, with a description, an example and optionally a schema."""
    catalog: str
    """Catalog that the event type is from: `email`, `agents`, `saas` and `operations` are built in, `operator` and
    `tenant` have registered types.
    """
    description: str
    """Human-readable description; empty if there is none."""
    example: Any
    """Example of the event's data. Test calls send it."""
    is_archived: bool
    """Whether the event type is archived: it is no longer offered to users, and its schema is not enforced."""
    metadata: Any
    """Custom JSON object, stored with the event type."""
    name: str
    """Name of the event type, e.g. `invoice.paid`."""
    schema: Any
    """JSON Schema that the event's data must match; null if any data is allowed."""


@dataclass(kw_only=True, repr=False)
class EventUsage(Model):
    """Events of the current month, and the limit of the plan."""
    limit: int | None = None
    """Maximum number of events per calendar month (UTC); null if the plan has no limit."""
    resets_at: datetime
    """When the next month starts (UTC)."""
    used: int | None = None
    """Number of events accepted this month; null if the plan has no limit, because they are then not counted."""


@dataclass(kw_only=True, repr=False)
class Health(Model):
    """Health of the webhook, as seen by the node that answers. The circuit breaker is that of any node."""
    circuit_breaker: types.CircuitBreakerState
    """`closed`, `open` (it failed too often in a row, and attempts are suspended) or `half_open`
    (one delivery is sent to test whether it works again).
    """
    circuit_open_until: datetime | None = None
    """Until when attempts are suspended; then one delivery is sent as a test. Null unless the circuit breaker is open."""
    has_backlog: bool
    """Whether further deliveries wait in the store."""
    in_flight: int
    """Number of attempts in flight."""
    state: types.HealthState
    """`untried` (this node has not sent anything to it recently), `prompt`, `slow` (it responds slowly) or
    `failing` (it responds with errors or not at all).
    """
    waiting: int
    """Number of deliveries queued in memory of the node that answers."""


@dataclass(kw_only=True, repr=False)
class ImportedAddresses(Model):
    """Result of an import of addresses."""
    added: int
    """Number of addresses that were not suppressed before."""
    given: int
    """Number of addresses in the request."""


@dataclass(kw_only=True, repr=False)
class ImportedDeadLetters(Model):
    """Result of an import of dead letters."""
    imported: int
    """Number of dead letters that were imported."""
    present: int
    """Number of dead letters that were in the store already. They were not written again."""
    skipped: list[SkippedDeadLetter]
    """Dead letters that were not imported, with the reason."""


@dataclass(kw_only=True, repr=False)
class ImportedKeys(Model):
    """Result of an import of keys."""
    keys: int
    """Number of keys that were imported."""
    sources: int
    """Number of sources that were created."""


@dataclass(kw_only=True, repr=False)
class InvalidField(Model):
    """What is wrong with one field of a request."""
    detail: str
    """What is wrong there, and how to fix it."""
    pointer: str
    """JSON pointer (RFC 6901) into the request body; empty if the error is not about a field of the body."""


@dataclass(kw_only=True, repr=False)
class KeyRotation(Model):
    """Result of a rotation of the encryption key."""
    keys: list[int]
    """Numbers of all keys in the key ring."""
    newest: int
    """Number of the key that encrypts new secrets from now on."""
    resealed: int
    """Number of stored secrets that were re-encrypted."""


@dataclass(kw_only=True, repr=False)
class Ledger(Model):
    """Status of the ledger of received webhooks."""
    checkpoint: Checkpoint | None = None
    """The newest checkpoint of any node; null if there is none."""
    size: int
    """Number of lines in the ledger."""


@dataclass(kw_only=True, repr=False)
class MadeCheckpoint(Ledger):
    """Status of the ledger after a request for a checkpoint."""
    is_new: bool
    """Whether a checkpoint was signed; false if nothing was added since the previous one."""


@dataclass(kw_only=True, repr=False)
class NewApiKey(ApiKey):
    """A new API key with its secret, which is not shown again."""
    key: str
    """The API key (`gk_…`), to be sent as `X-API-Key` or `Authorization: Bearer`. Store it: it is not shown again."""


@dataclass(kw_only=True, repr=False)
class Source(Model):
    """A source: a partner that posts webhooks to the gateway."""
    created_at: datetime
    """When the source was created."""
    event_id_pointer: str | None = None
    """JSON pointer to the event id in the body; null if the preset defines it."""
    has_verify_token: bool
    """Whether a verify token for Meta's subscription handshake is set."""
    id: str
    """Id of the source (`src_…`)."""
    is_active: bool
    """Whether webhooks from the partner are accepted."""
    partner: str
    """Name of the partner, which is a part of the URL that it posts to."""
    preset: Any
    """How the partner signs, as it was configured: the name of a preset, e.g. `"stripe"`, or an object with its
    settings.
    """
    rate_limit: RateLimit | None = None
    """Rate limit per key for incoming webhooks; null if there is none."""
    retry: Retry | None = None
    """Retry schedule of dispatches; null for the default schedule."""
    schema: Any
    """JSON Schema that request bodies must match; null if any body is accepted."""
    targets: list[str]
    """URLs that receipts are dispatched to."""
    updated_at: datetime
    """When the source was last changed."""


@dataclass(kw_only=True, repr=False)
class NewSource(Source):
    """A new source, with the secret that its receipts are signed with."""
    dispatch_secret: str
    """Secret that dispatched receipts are signed with. Not shown again."""


@dataclass(kw_only=True, repr=False)
class Webhook(Model):
    """An endpoint of a tenant: a URL that events are delivered to, with its settings and its health."""
    created_at: datetime
    """When the webhook was created."""
    disabled_reason: str | None = None
    """Why the gateway disabled the webhook: `gone` (it responded with 410) or `failing` (its deliveries failed for too
    long); null if the gateway did not disable it.
    """
    events: list[str]
    """Event types that the webhook is subscribed to: names, `invoice.*` for a prefix, or `*` for all."""
    external_id: str | None = None
    """Your own id for the webhook; null if it has none."""
    failing_since: datetime | None = None
    """Since when all attempts have failed; null while deliveries succeed."""
    headers: dict[str, str]
    """Custom headers of every delivery, by name. The values are masked."""
    health: Health
    id: str
    """Id of the webhook (`wh_…`)."""
    is_active: bool
    """Whether events are delivered to the webhook. If false, it is disabled."""
    is_paused: bool
    """Whether the webhook itself is paused: its deliveries wait until it is resumed."""
    max_in_flight: int | None = None
    """Maximum number of concurrent deliveries over all nodes; null for the default of 64 on each node."""
    metadata: Any
    """Custom JSON object, stored with the webhook."""
    name: str
    """Display name; empty if none was given."""
    old_secret_until: datetime | None = None
    """Until when deliveries are also signed with a previous secret; null if there is no such secret."""
    ordering: types.Ordering
    """In which order events are delivered."""
    paused_by: types.PausedBy | None = None
    """What holds the deliveries of the webhook: the pause of the `webhook`, of its `tenant`, or of the `lane` for all
    tenants; null if nothing is paused.
    """
    profile: str
    """Profile, which defines the format, signature, timeout and retry schedule of deliveries."""
    rate_limit: RateLimit | None = None
    """Rate limit of deliveries; null if there is none."""
    retry: Retry | None = None
    """Retry schedule; null for the profile's default."""
    tenant: str | None = None
    """Slug of the tenant. Present only if the operator lists the webhooks of all tenants."""
    tenant_id: str
    """Id of the tenant that the webhook belongs to."""
    timeout: str | None = None
    """Time limit of an attempt, e.g. `15s`; null for the profile's default."""
    updated_at: datetime
    """When the webhook was last changed."""
    url: str
    """URL that events are delivered to."""


@dataclass(kw_only=True, repr=False)
class NewWebhook(Webhook):
    """A new webhook with its signing secret."""
    public_key: str | None = None
    """Public key for receivers (`whpk_…`); null unless `secret_format` is `ed25519`."""
    secret: str
    """The secret that deliveries are signed with."""
    secret_format: str
    """`base64` (the key is the base64 text after `whsec_`), `raw` (the text is the key) or `ed25519`."""


@dataclass(kw_only=True, repr=False)
class Node(Model):
    """A node: one process of the gateway."""
    cells: list[NodeCell]
    """Number of these deliveries in each cell; empty for a gateway without cells."""
    differing_settings: list[str]
    """Names of settings that must be the same on all nodes, and that this node sets differently from the node that
    answered.
    """
    held_deliveries: int
    """Number of deliveries that the node holds: in flight, or about to be."""
    id: int
    """Number of the node. A restarted process is another node."""
    is_self: bool
    """Whether this node answered the request."""
    joined_at: datetime
    """When the node joined the gateway."""
    last_seen_at: datetime
    """When the node sent its last heartbeat."""
    name: str
    """Name of the node."""
    oldest_due_at: datetime | None = None
    """When the first of these deliveries became due; null if the node holds none."""
    roles: list[types.NodeRole]
    """What the node does; empty for a node of an earlier version."""
    state: types.NodeState
    """`alive`, `silent` (no heartbeat for 20 seconds) or `dead` (its deliveries were taken over)."""
    version: str | None = None
    """Version of the gateway that the node runs; null for an earlier version that does not report it."""


@dataclass(kw_only=True, repr=False)
class NodeCell(Model):
    """Deliveries of one cell that a node holds."""
    held_deliveries: int
    """Number of deliveries of this cell that the node holds."""
    name: str
    """Name of the cell."""


@dataclass(kw_only=True, repr=False)
class NoticeEmails(Model):
    """The addresses that notices about a tenant are sent to."""
    addresses: list[str]
    """E-mail addresses; empty if no notices are sent by e-mail."""


@dataclass(kw_only=True, repr=False)
class Percentiles(Model):
    """Estimated percentiles in milliseconds. Durations above ten minutes count as ten minutes."""
    p50_ms: float
    """Median, in milliseconds."""
    p95_ms: float
    """95th percentile, in milliseconds."""
    p99_ms: float
    """99th percentile, in milliseconds."""


@dataclass(kw_only=True, repr=False)
class PlanUsage(Model):
    """The plan of a tenant, and what it has used of it."""
    endpoints: EndpointUsage
    events: EventUsage
    plan: str
    """Name of the plan, e.g. `unlimited`."""


@dataclass(kw_only=True, repr=False)
class PortalLink(Model):
    """A link to the customer portal for one tenant, valid for a short time."""
    expires_at: datetime
    """When the link expires."""
    scopes: list[str]
    """What the link may be used for: `read` and `manage`."""
    tenant_id: str
    """Id of the tenant."""
    token: str
    """The token in the link. Also valid as `Authorization: Bearer` until it expires."""
    url: str
    """URL of the portal. Anyone who has it can use the portal until it expires."""


@dataclass(kw_only=True, repr=False)
class PublishedEvent(Model):
    """An accepted event."""
    created_at: datetime
    """When the event was accepted."""
    deliveries: int
    """Number of webhooks that the event is delivered to."""
    id: str
    """Id of the event (`evt_…`)."""
    type: str
    """Type of the event, as it was published."""


@dataclass(kw_only=True, repr=False)
class Purged(Model):
    """Result of a purge."""
    has_more: bool
    """Whether more dead letters match the filters; if so, call again."""
    purged: int
    """Number of dead letters that were deleted; with `dry_run`, that would be."""


@dataclass(kw_only=True, repr=False)
class Queue(Model):
    """The backlog of one lane."""
    age_seconds: float
    """How long the oldest pending delivery has been due, in seconds; 0 if none is due."""
    depth: int
    """Number of deliveries that have not ended: the sum of `pending`, `in_flight` and `waiting`."""
    in_flight: int
    """Number of deliveries that a node holds: in flight, or about to be."""
    is_paused: bool
    """Whether the lane is paused."""
    lane: types.Lane
    """Lane of the deliveries."""
    oldest_due_at: datetime | None = None
    """When the oldest pending delivery became due or, if none is due yet, when the first one will be; null if none is
    pending.
    """
    pending: int
    """Number of deliveries that no node holds, due now or later."""
    waiting: int
    """Number of deliveries that wait for an earlier one of their subject."""


@dataclass(kw_only=True, repr=False)
class Queues(Model):
    """The backlog of each lane, and what is paused."""
    data: list[Queue]
    """One queue per lane."""
    next_cursor: str | None = None
    """Always null: the list has one page."""
    paused_tenants: list[str]
    """Ids of the tenants that are paused."""
    paused_webhooks: list[str]
    """Ids of the webhooks that are paused."""


@dataclass(kw_only=True, repr=False)
class RateLimit(Model):
    """A rate limit: a maximum number per window of time."""
    count: int
    """Maximum number per window."""
    per: str
    """Length of the window, e.g. `1s`."""


@dataclass(kw_only=True, repr=False)
class ReceiptSummary(Model):
    """A webhook that was accepted from a partner."""
    attempts: int
    """Number of attempts of all deliveries together."""
    event_id: str | None = None
    """The partner's own id of the event; null if the webhook has none."""
    id: str
    """Id of the receipt (`rcp_…`)."""
    is_test: bool
    """Whether the webhook is a test event that the gateway created itself."""
    key_id: str
    """Id of the key that verified the webhook."""
    last_error: str | None = None
    """Code and reason of the last failure of a delivery that has not succeeded, as `CODE: reason`; null if there is
    none.
    """
    partner: str
    """Name of the partner that sent the webhook."""
    size: int
    """Size of the request body in bytes."""
    status: types.ReceiptStatus
    """`received`, `dispatched`, `failed` (will be retried) or `dlq` (failed permanently)."""
    topic: str | None = None
    """Kind of event that the sender named, in a header such as `X-Shopify-Topic` or in the SNS message; null if it
    named none.
    """
    ts_received: datetime
    """When the webhook was received."""


@dataclass(kw_only=True, repr=False)
class Receipt(ReceiptSummary):
    """A webhook that was accepted from a partner, with its deliveries."""
    deliveries: list[ReceiptDelivery]
    """One delivery per target, targets added by a later retry included."""


@dataclass(kw_only=True, repr=False)
class ReceiptDelivery(Model):
    """The delivery of a receipt to one target of its source."""
    attempts: int
    """Number of attempts so far, including those before a retry or replay."""
    created_at: datetime
    """When the delivery was created."""
    delivered_at: datetime | None = None
    """When the successful response arrived; null if the delivery has not succeeded."""
    id: str
    """Id of the delivery (`dlv_…`)."""
    last_error: str | None = None
    """Why the delivery failed permanently, or else why the last attempt failed; null if it did not fail."""
    last_error_code: str | None = None
    """Code of the failure in `last_error`, e.g. `HTTP_503` or `TIMEOUT`; null if there is none."""
    next_retry_at: datetime | None = None
    """When the next attempt after a failed one is planned; null before the first attempt, and once the delivery has
    ended.
    """
    response_status: int | None = None
    """HTTP status of the last attempt's response; null if there was no response."""
    status: types.DeliveryStatus
    """Status of the delivery."""
    target_url: str | None = None
    """The current URL of the target; null if the source no longer has this target."""


@dataclass(kw_only=True, repr=False)
class ReceiptDeliveryDetail(ReceiptDelivery):
    """A delivery of a receipt, with its attempts."""
    attempt_log: list[AttemptEntry]
    """All attempts, oldest first."""


@dataclass(kw_only=True, repr=False)
class ReceiptDetail(ReceiptSummary):
    """A receipt with the original request and all attempts to dispatch it."""
    context: VerificationContext
    deliveries: list[ReceiptDeliveryDetail]
    """One delivery per target, targets added by a later retry included."""
    erased_at: datetime | None = None
    """When the content of the receipt was erased; null if it was not."""
    headers: dict[str, str] | None = None
    """The request headers, with secrets masked; null for old receipts, whose headers were not stored."""
    payload: Any
    """The body as it was received, with secrets masked; null if the content was erased."""


@dataclass(kw_only=True, repr=False)
class ReceiptProof(Model):
    """Proof that a receipt is in the ledger."""
    checkpoint: str
    """The checkpoint, as a signed note."""
    form: str
    """Format of the proof: `gancho-ledger-proof/1`."""
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
    """Payload of the event; null if it is not valid JSON."""
    detail: str
    """Why the event was rejected, and how to fix it."""
    external_id: str | None = None
    """Your own id for the event; null if none was given."""
    id: str
    """Id of the event (`evt_…`), which `gancho.publish` returned."""
    idempotency_key: str | None = None
    """Idempotency key of the event; null if none was given."""
    published_at: datetime
    """When `gancho.publish` was called."""
    rejected_at: datetime
    """When the event was rejected."""
    subject: str | None = None
    """What the event is about, as the publisher gave it; null if nothing was given."""
    tenant_id: str
    """Id of the tenant that the event was published for."""
    type: str
    """Type of the event."""


@dataclass(kw_only=True, repr=False)
class Rejection(Model):
    """A webhook that was rejected."""
    at: datetime
    """When the webhook was rejected."""
    detail: str | None = None
    """Further details of the reason, in English; null if there are none."""
    headers: dict[str, str]
    """Request headers by name, with secrets masked."""
    partner: str
    """Name of the partner in the URL, as the sender wrote it, cut to 64 characters."""
    reason: str
    """Why the webhook was rejected, e.g. `signature_mismatch`, `stale_timestamp` or `unknown_key`."""
    size: int
    """Size of the request body in bytes."""
    status: int
    """HTTP status of the response."""


@dataclass(kw_only=True, repr=False)
class Reloaded(Model):
    """What a reload has changed."""
    applied: list[str]
    """Changed settings that are now in force."""
    needs_restart: list[str]
    """Changed settings that take effect when the node is restarted."""
    policy_hash: str | None = None
    """SHA-256 of the policy pack, in hex. Null on a gateway that receives no webhooks."""


@dataclass(kw_only=True, repr=False)
class ReplayJob(Model):
    """A background job that sends past deliveries or events again."""
    created_at: datetime
    """When the replay was created."""
    done: int
    """Number of deliveries sent again."""
    dry_run: bool
    """Whether the replay only counts what would be sent."""
    error: str | None = None
    """Why the replay as a whole failed; null if it did not."""
    failed: int
    """Number of deliveries that could not be sent again."""
    finished_at: datetime | None = None
    """When the replay ended; null if it has not ended."""
    id: str
    """Id of the replay (`rpl_…`)."""
    is_total_exact: bool
    """False if counting stopped early: `total` is then a lower bound."""
    of: types.ReplayKind
    """What is sent again."""
    outcomes: ReplayOutcomeCounts | None = None
    """Outcomes of the deliveries that were sent again. Null if they were not counted: in lists, and in responses that
    create or cancel a replay.
    """
    rate: int
    """Maximum deliveries per second."""
    skipped: int
    """Number of deliveries skipped because they are in flight or their webhook is deleted or disabled."""
    started_at: datetime | None = None
    """When the replay started; null if it has not started."""
    state: types.ReplayState
    """State of the replay."""
    tenant: str | None = None
    """Slug of the tenant. Present only if the operator reads replays of all tenants."""
    tenant_id: str | None = None
    """Id of the tenant; null for a replay of the operator over all tenants."""
    to: str | None = None
    """Id of the webhook that everything is sent to; null if deliveries go to their original targets."""
    total: int
    """Number of deliveries to send; 0 until they are counted."""


@dataclass(kw_only=True, repr=False)
class ReplayOutcomeCounts(Model):
    """Current states of the deliveries of a replay."""
    delivered: int
    """Number of deliveries that succeeded."""
    failed: int
    """Number of deliveries that failed permanently again."""
    of: int
    """Number of deliveries that were counted: the first 5,000 that were sent. Those that have been pruned since are in
    none of the counts.
    """
    waiting: int
    """Number of deliveries that are pending, in flight or waiting for a retry."""


@dataclass(kw_only=True, repr=False)
class Retention(Model):
    """How long the data of a tenant is stored, as durations such as `30d`. Null for the operator's default."""
    dead_letters: str | None = None
    """How long dead letters are stored, before they are archived."""
    emails: str | None = None
    """How long e-mails are stored, after they were sent or have failed."""
    events: str | None = None
    """How long events are stored with their deliveries, after those have ended."""


@dataclass(kw_only=True, repr=False)
class Retry(Model):
    """Retry schedule: either `schedule`, or `base`, `max` and `attempts`."""
    attempts: int | None = None
    """Maximum number of attempts. Absent if there is a `schedule`."""
    base: str | None = None
    """First delay, e.g. `1s`; each following delay is twice as long. Absent if there is a `schedule`."""
    max: str | None = None
    """Maximum delay, e.g. `60s`. Absent if there is a `schedule`."""
    schedule: list[str] | None = None
    """Delays between attempts, e.g. `1s`; one fewer than the number of attempts. Absent if the schedule has a `base`."""


@dataclass(kw_only=True, repr=False)
class RotatedSecret(Model):
    """The new signing secret of a webhook."""
    old_secret_until: datetime | None = None
    """Until when deliveries are also signed with the previous secret; null without an overlap."""
    public_key: str | None = None
    """Public key for receivers (`whpk_…`); null unless `secret_format` is `ed25519`."""
    secret: str
    """The new secret."""
    secret_format: str
    """`base64` (the key is the base64 text after `whsec_`), `raw` (the text is the key) or `ed25519`."""


@dataclass(kw_only=True, repr=False)
class SealingKey(Model):
    """A key that encrypts stored secrets."""
    number: int
    """Number of the key."""
    records: int
    """Number of stored secrets that are encrypted with this key."""


@dataclass(kw_only=True, repr=False)
class SealingKeys(Model):
    """The keys that encrypt stored secrets. The keys themselves are never shown."""
    keys: list[SealingKey]
    """The keys, by number."""


@dataclass(kw_only=True, repr=False)
class SearchMatch(Model):
    """An object that a search has found."""
    created_at: datetime | None = None
    """When the object was created; null for sources, tenants, webhooks and event types."""
    id: str
    """Id of the object; for an event type, its name."""
    is_id: bool
    """Whether the search text is this id."""
    name: str | None = None
    """Name or URL of the object, or the type of its event; null if it has none."""
    partner: str | None = None
    """Name of the partner, for a source or a receipt; null otherwise."""
    tenant: str | None = None
    """Slug of the tenant that the object belongs to; null if it belongs to none."""
    type: types.SearchMatchType
    """Type of the object."""


@dataclass(kw_only=True, repr=False)
class SearchResult(Model):
    """What a search has found."""
    data: list[SearchMatch]
    """The objects that were found."""
    is_complete: bool
    """Whether everything was searched. If not, there may be matches that `data` does not have."""


@dataclass(kw_only=True, repr=False)
class SignaturePart(Model):
    """Comparison of one part of a signed request."""
    hint: str
    """What differs and what to check, in English; empty if nothing differs."""
    part: str
    """Part that is compared: `id`, `timestamp`, `body` or `secret`."""
    state: str
    """Result of the comparison: `same`, `different`, `assumed` (not given, and taken as it was sent), `unsigned` (the
    signature does not cover it) or `unknown`.
    """


@dataclass(kw_only=True, repr=False)
class SignatureReport(Model):
    """Comparison of the signature that a receiver got with what was sent."""
    differs: list[str]
    """The parts that differ from what was sent: `id`, `timestamp`, `body`, `secret`."""
    is_valid: bool
    """Whether the signature is valid for what was received."""
    parts: list[SignaturePart]
    """The comparison part by part: `id`, `timestamp`, `body` and `secret`."""


@dataclass(kw_only=True, repr=False)
class SkippedDeadLetter(Model):
    """A dead letter that was not imported."""
    id: str
    """Id of the dead letter: that of its delivery (`dlv_…`)."""
    index: int
    """Index of the dead letter in the request, from 0."""
    reason: str
    """Why the dead letter was not imported, in English."""


@dataclass(kw_only=True, repr=False)
class SourceCounts(Source):
    """A source with its counters."""
    counts: SourceTotals
    """Totals of all nodes since the source was created. The last seconds may be missing."""


@dataclass(kw_only=True, repr=False)
class SourceKey(Model):
    """A key of a source, without its secret."""
    created_at: datetime
    """When the key was created or last replaced."""
    encoding: str
    """Encoding of the secret: `raw`, `base64` or `hex`. `base64` for a public key."""
    is_valid: bool
    """Whether the key is valid now."""
    key_id: str
    """Id of the key, unique among the keys of the source."""
    not_after: datetime | None = None
    """The key is not valid from this time on; null if there is no such limit."""
    not_before: datetime | None = None
    """The key is not valid before this time; null if there is no such limit."""
    public_key: str | None = None
    """The partner's public key, in base64; null for `hmac`."""
    scheme: str
    """Signature scheme: `hmac` or `ed25519`."""


@dataclass(kw_only=True, repr=False)
class SourceTotals(Model):
    """Counters of a source since it was created."""
    clashes: int
    """Number of webhooks that reused an event id with a different body. They are stored as dead letters with the code
    `ID_CLASH`.
    """
    received: int
    """Number of accepted webhooks."""
    repeats: int
    """Number of duplicates, which were answered like the original."""


@dataclass(kw_only=True, repr=False)
class Stats(Model):
    """Figures of deliveries over a range of time, up to now."""
    bins: list[StatsBin]
    """Consecutive bins, oldest first, including those without deliveries."""
    range: str
    """Length of the range, e.g. `24h`."""
    since: datetime
    """Start of the first bin."""
    step: str
    """Length of each bin, e.g. `15m`."""
    totals: DeliveryFigures
    """Figures of the whole range."""
    until: datetime
    """End of the last bin, which is not over yet."""


@dataclass(kw_only=True, repr=False)
class StatsBin(DeliveryFigures):
    """Figures of one bin of a range."""
    at: datetime
    """When the bin begins."""


@dataclass(kw_only=True, repr=False)
class Suppression(Model):
    """An address that a tenant's e-mails are not sent to."""
    address: str
    """E-mail address, in lower case."""
    detail: str | None = None
    """Diagnostic text of the bounce or complaint; null if there is none."""
    reason: types.SuppressionReason
    """Why the address is suppressed."""
    since: datetime
    """Since when the address has been suppressed."""
    tenant: str | None = None
    """Slug of the tenant. Present only if the operator lists the addresses of all tenants."""


@dataclass(kw_only=True, repr=False)
class Tenant(Model):
    """A tenant, which owns webhooks, events and e-mails."""
    created_at: datetime
    """When the tenant was created."""
    default_profile: str
    """Profile of webhooks that do not name one."""
    id: str
    """Id of the tenant (`ten_…`)."""
    name: str
    """Display name."""
    plan: str
    """Name of the plan, which limits webhooks and events per month."""
    publish_rate: RateLimit | None = None
    """Maximum rate of publishing; null for the operator's default."""
    retention: Retention
    slug: str
    """Short name of the tenant, which is unique and never changes. Used in paths and in `X-Tenant`."""
    strict_event_types: bool
    """Whether only registered event types can be published."""


@dataclass(kw_only=True, repr=False)
class TenantMetadata(Model):
    """Metadata of a tenant, for the operator's own use."""
    metadata: Any
    """Custom JSON object; empty if none was set."""


@dataclass(kw_only=True, repr=False)
class TenantMove(Model):
    """The move of a tenant from one cell to another."""
    closed_ms: int | None = None
    """How long writes for the tenant were blocked, in milliseconds; null before that."""
    copied_rows: int
    """Rows that were copied to the new cell so far, without those that changed meanwhile."""
    error: str | None = None
    """Why the move failed; null if it did not. A failed move is retried automatically."""
    from_: str
    """Name of the cell that the tenant moves from."""
    removed_rows: int
    """Rows that were removed so far: from the old cell, or the copies if the move is taken back."""
    seconds: int
    """Seconds since the move began, or until it ended."""
    state: types.MoveState
    """How far the move is."""
    to: str
    """Name of the cell that the tenant moves to."""


@dataclass(kw_only=True, repr=False)
class TenantStats(Model):
    """Figures of one tenant."""
    name: str
    """Display name of the tenant."""
    slug: str
    """Slug of the tenant."""
    tenant_id: str
    """Id of the tenant."""
    totals: DeliveryFigures
    """Figures of the range, in all lanes."""


@dataclass(kw_only=True, repr=False)
class TestOutcome(Model):
    """Result of a test delivery."""
    attempt: AttemptEntry | None = None
    """The attempt in detail; null if none was made in time."""
    delivery_id: str
    """Id of the test delivery (`dlv_…`)."""
    error: str | None = None
    """Why the test failed; null if it succeeded."""
    event_id: str
    """Id of the sample event (`evt_…`)."""
    event_type: str
    """Type of the sample event."""
    latency_ms: float | None = None
    """Duration of the attempt in milliseconds; null if none was made in time."""
    response_body: str | None = None
    """The first 16 KiB of the response body, as text; null if there was no response."""
    response_status: int | None = None
    """HTTP status of the response; null if there was no response."""
    status: types.DeliveryStatus
    """Status of the delivery after the first attempt."""
    success: bool
    """Whether the webhook responded with 2xx."""


@dataclass(kw_only=True, repr=False)
class User(Model):
    """A person who logs in to the dashboard."""
    created_at: datetime
    """When the user was created."""
    name: str
    """Name that the user logs in with. Unique; never changes."""
    password_changed_at: datetime
    """When the password was last set."""
    role: types.UserRole
    """What the user may do."""


@dataclass(kw_only=True, repr=False)
class VerificationContext(Model):
    """The facts that the policy decided on."""
    req: VerifiedRequest
    webhook: VerifiedWebhook


@dataclass(kw_only=True, repr=False)
class VerifiedRequest(Model):
    """The request, as the policy saw it."""
    method: str
    """HTTP method of the request."""
    path: str
    """Path that the webhook was posted to."""


@dataclass(kw_only=True, repr=False)
class VerifiedWebhook(Model):
    """Who sent the webhook, as the policy saw it."""
    key_id: str
    """Id of the key that verified the webhook."""
    partner: str
    """Name of the partner that sent the webhook."""
    verified: bool
    """Always true: only verified webhooks become receipts."""


@dataclass(kw_only=True, repr=False)
class WaitingFor(Model):
    """What an unfinished delivery is waiting for."""
    reason: types.WaitReason
    """Why the delivery is waiting."""
    until: datetime | None = None
    """When the wait ends; null if that is not known."""


@dataclass(kw_only=True, repr=False)
class WebhookSecret(Model):
    """The signing secret of a webhook."""
    old_secrets_until: list[datetime]
    """Until when deliveries are also signed with each of the previous secrets, newest first; empty if there are none."""
    public_key: str | None = None
    """Public key for receivers (`whpk_…`); null unless `secret_format` is `ed25519`."""
    secret: str
    """The current secret."""
    secret_format: str
    """`base64` (the key is the base64 text after `whsec_`), `raw` (the text is the key) or `ed25519`."""


@dataclass(kw_only=True, repr=False)
class WebhookStats(Model):
    """Figures of one webhook over the last 24 hours."""
    bins: list[StatsBin]
    """The last 24 hours by hour, oldest first."""
    name: str | None = None
    """Display name of the webhook, which may be empty; null if the webhook was deleted."""
    tenant_id: str
    """Id of the tenant that the webhook belongs to."""
    totals: DeliveryFigures
    """Figures of the last 24 hours."""
    webhook_id: str
    """Id of the webhook (`wh_…`)."""


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
