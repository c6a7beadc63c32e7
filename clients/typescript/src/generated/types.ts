// Generated from docs/openapi.json by clients/generate. Do not edit.

export interface AcceptedEmail {
  outboxId: string;
}

export type ActorKind = "operator" | "user" | "api_key" | "portal" | "anonymous";

export interface Alert {
  /** A sentence with the figures. */
  detail: string;
  /** The name of the rule, e.g. `dead_letters_high`. */
  rule: AlertRule;
  /** `critical` or `warning`. */
  severity: AlertSeverity;
  /** The silence that keeps it from being sent. */
  silence_id?: string | null;
  /** When the condition began to hold. */
  since: string;
  /** `pending` (the condition holds, but not for long enough) or `firing`. */
  state: AlertState;
  /** What it is about: a tenant, an endpoint, a node, a lane or a key; null for the whole gateway. */
  subject?: string | null;
  /** What the rule means, in English. */
  summary: string;
  threshold: number;
  value: number;
}

export interface AlertChange {
  at: string;
  /** `fired`, `reminder` (it kept firing and was sent again) or `resolved`. */
  change: AlertChangeKind;
  detail: string;
  /** It was not sent. */
  is_silenced: boolean;
  rule: AlertRule;
  severity: AlertSeverity;
  subject?: string | null;
  summary: string;
  threshold: number;
  value: number;
}

export type AlertChangeKind = "fired" | "reminder" | "resolved";

export interface AlertChannelTest {
  /** `url`, `slack` or `email`. */
  channel: NoticeChannel;
  error?: string | null;
  is_sent: boolean;
}

export type AlertRule = "store_unavailable" | "writes_refused" | "storage_critical" | "storage_high" | "ledger_check_failed" | "node_lost" | "clock_off" | "dead_letters_high" | "dead_letter_rate_high" | "tenant_dead_letters_high" | "endpoint_failing" | "queue_delayed" | "source_key_expiring" | "api_key_expiring" | "archive_failing";

export type AlertSeverity = "critical" | "warning";

export interface AlertSilence {
  comment: string;
  /** The user who made it, or `operator`. */
  created_by: string;
  id: string;
  /** The rule that is silenced; null for every rule. */
  rule?: AlertRule | null;
  /** The subject that is silenced; null for every subject. */
  subject?: string | null;
  until: string;
}

export type AlertState = "pending" | "firing";

export interface AlertTest {
  /** Empty if no channel is configured. */
  channels: AlertChannelTest[];
}

export interface ApiKey {
  created_at: string;
  expires_at?: string | null;
  id: string;
  /** When the key was last used, to the minute; null if never. */
  last_used_at?: string | null;
  name: string;
  revoked_at?: string | null;
  scopes: ApiKeyScope[];
  tenant_id: string;
}

export type ApiKeyScope = "publish" | "read" | "manage";

export interface AttachmentInput {
  /** Content of the file, in base64. */
  content: string;
  /** Content id, to embed the file in the HTML as `cid:…`. The file is then inline and not listed as an attachment. */
  contentId?: string | null;
  /** Media type. Default: `application/octet-stream`. */
  contentType?: string | null;
  /** File name. */
  filename: string;
}

export interface AttemptEntry {
  /** Number of the attempt, from 1. */
  attempt: number;
  error?: string | null;
  error_code?: string | null;
  latency_ms: number;
  /** The headers that were sent, with secrets masked. */
  request_headers: Record<string, string>;
  /** The first 16 KiB of the response body. */
  response_body?: string | null;
  response_headers: Record<string, string>;
  response_status?: number | null;
  started_at: string;
}

export interface AttemptInput {
  /** Number of the attempt, from 1. */
  attempt: number;
  /** Failure code, e.g. `HTTP_503`; null if it succeeded. */
  failure_code?: string | null;
  /** Why it failed; null if it succeeded. */
  failure_reason?: unknown;
  /** Duration in milliseconds. */
  latency_ms?: unknown;
  /** `name: value` lines. */
  request_headers?: unknown;
  /** The beginning of the response body. */
  response_body?: unknown;
  /** The same in base64, if it is not text. */
  response_body_base64?: unknown;
  /** `name: value` lines. */
  response_headers?: unknown;
  /** HTTP status of the response; null if there was none. */
  response_status?: number | null;
  /** When it began. */
  started_at: string | Date;
}

export interface AuditActor {
  /** `operator` (the operator token), `user`, `api_key`, `portal`, or `anonymous` for a failed login. */
  kind: ActorKind;
  /** The name of the user or the id of the API key. */
  name?: string | null;
}

export interface AuditEntry {
  actor: AuditActor;
  /** The address of the caller; of IPv6 addresses the block. */
  address?: string | null;
  at: string;
  /** The code of the error, if it was refused. */
  code?: string | null;
  id: string;
  /** The `operationId` of the operation in this document, or `log_in`. */
  operation: string;
  /** `done` or `refused`. */
  outcome: AuditOutcome;
  /** Why it was done, as the caller said it: of a pause. A tenant does not see the operator's. */
  reason?: string | null;
  request_id?: string | null;
  /** The id or name of what was changed. */
  resource?: string | null;
  /** The HTTP status of the response; of a login, 200 or 401. */
  status: number;
  /** What the operation does, in English. */
  summary: string;
  /** The tenant whose data it was about; null for the operator's. */
  tenant_id?: string | null;
}

export type AuditOutcome = "done" | "refused";

/** Why an event was refused: what the error response would have said if it had been published alone. */
export interface BatchError {
  /** Stable, machine-readable error code. */
  code: string;
  /** What is wrong, and how to fix it. */
  detail: string;
  /** One entry for each invalid field. */
  errors: InvalidField[];
}

export interface BatchOutcome {
  /** Number of accepted events, those with a repeated idempotency key included. */
  accepted: number;
  refused: number;
  /** One result per event, in the order of the request. */
  results: BatchResult[];
}

export interface BatchResult {
  created_at?: string | null;
  deliveries?: number | null;
  /** Why the event was refused. */
  error?: BatchError | null;
  id?: string | null;
  /** Index of the event in the request, from 0. */
  index: number;
  /** Whether the event was published before with the same idempotency key. */
  replayed?: boolean | null;
  /** The HTTP status that publishing this event alone would have had: 202 if accepted. */
  status: number;
  type?: string | null;
}

export interface CanceledEvent {
  /** Number of deliveries that were canceled. */
  canceled: number;
  id: string;
  /** Number of deliveries in flight, which finish; one that fails is retried. */
  in_flight: number;
}

export interface CapturedEmail extends CapturedEmailSummary {
  /** The raw message: headers, an empty line, and the body. */
  raw: string;
}

/** A captured e-mail without its content. */
export interface CapturedEmailSummary {
  caughtAt: string;
  from: string;
  messageId: string;
  outboxId: string;
  /** Size in bytes. */
  size: number;
  subject: string;
  tenantId: string;
  to: string;
}

export interface Cell {
  /** Whether the node that answered can use it. */
  is_available: boolean;
  /** Whether it gets no new tenants. */
  is_draining: boolean;
  /** Whether it has the directory and all that belongs to no tenant. */
  is_home: boolean;
  name: string;
  /** Why not; null if it can. */
  reason?: string | null;
  /** Number of tenants that live there. */
  tenants: number;
}

/** A signed checkpoint. The signed note itself is in the checkpoint directory. */
export interface Checkpoint {
  made_at: string;
  origin: string;
  /** Root of the Merkle tree over these lines (RFC 6962), in base64. */
  root: string;
  /** Number of lines that it covers. */
  size: number;
}

export type CircuitBreakerState = "closed" | "open" | "half_open";

export interface DeadLetter {
  enqueued_at: string;
  /** Type of the event; of a receipt its partner, key and topic. */
  event_type: string;
  expires_at: string;
  /** The publisher's or partner's own id, if any. */
  external_id?: string | null;
  failed_attempts: number;
  /** Id of the delivery. */
  id: string;
  /** `webhook`, `dispatch` or `email`. */
  lane: Lane;
  last_failure_code: string;
  last_failure_reason: string;
  last_failure_timestamp: string;
  /**
   * The receiver's own status or error code: an HTTP status such as `503`, an SMTP reply code such as `550`, an error of
   * SES such as `MessageRejected`. Null if it did not answer.
   */
  last_provider_code?: string | null;
  moved_to_dlq_at: string;
  /** The data as it was accepted. E-mail addresses are masked and attachments left out. */
  original_data: unknown;
  /** The partner that sent the receipt, in the lane `dispatch`. */
  partner?: string | null;
  /** The `subject` that the publisher gave, if any. */
  subject?: string | null;
  /** Id of the event, receipt or e-mail. */
  subject_id: string;
  /** The webhook, in the lane `webhook`. */
  target_id?: string | null;
  /** The URL that a replay sends it to, in the lane `dispatch`; null if the source was deleted. */
  target_url?: string | null;
  /** Null in the lane `dispatch`, see `partner`. */
  tenant_id?: string | null;
}

export interface DeadLetterInput {
  /** The attempts, oldest first. Without them a dead letter of the lanes `dispatch` and `email` is skipped: their exports do not have all of the data, archived ones do. */
  attempts?: AttemptInput[];
  /** When it was accepted. */
  enqueued_at: string | Date;
  /** Type of the event; of a receipt `PARTNER/KEY/TOPIC`. */
  event_type: string;
  /** Not used: it expires `dead_letter_ttl` after the import. */
  expires_at?: string | Date;
  /** The publisher's or partner's own id. */
  external_id?: string | null;
  /** Number of failed attempts. */
  failed_attempts: number;
  /** Id of the delivery. */
  id: string;
  /** Whether it is a test event. Default: false. */
  is_test?: boolean;
  /** `webhook`, `dispatch` or `email`. */
  lane: Lane;
  /** Failure code, e.g. `HTTP_503`. */
  last_failure_code: string;
  /** Why the last attempt failed. */
  last_failure_reason: unknown;
  /** When the last attempt failed. */
  last_failure_timestamp: string | Date;
  /** The receiver's own status or error code, e.g. `503`. */
  last_provider_code?: string | null;
  /** When it became a dead letter. */
  moved_to_dlq_at: string | Date;
  /** The data as it was accepted. */
  original_data?: unknown;
  /** The same in base64, if it is not JSON or has white space around it. */
  original_data_base64?: unknown;
  /** Not used. */
  partner?: string | null;
  /** The `subject` that the publisher gave. */
  subject?: string | null;
  /** Id of the event, receipt or e-mail. */
  subject_id: string;
  /** Id of the webhook, or of the target of the source. Exported e-mails have none. */
  target_id?: string | null;
  /** Not used. */
  target_url?: string | null;
  /** Id of the tenant, or of the source in the lane `dispatch`. Exported receipts have none. */
  tenant_id?: string | null;
}

export interface DeadLetterStats {
  by_code: Record<string, number>;
  by_lane: Record<string, number>;
  /** Dead letters of the lane `dispatch`, by partner name. */
  by_partner: Record<string, number>;
  /** By tenant id. */
  by_tenant: Record<string, number>;
  /** When the oldest one failed. */
  oldest?: string | null;
  total: number;
}

export interface DeletedTenant {
  deleted_at: string;
  id: string;
  slug: string;
}

export interface Delivery {
  /** Number of attempts so far. */
  attempts: number;
  created_at: string;
  delivered_at?: string | null;
  /** The event that is delivered. Lane `webhook` only. */
  event_id?: string | null;
  /** Lane `webhook` only. */
  event_type?: string | null;
  /** The publisher's own id of the event or e-mail, or the partner's event id of a receipt. */
  external_id?: string | null;
  id: string;
  /** Whether it was created by a test call. */
  is_test: boolean;
  /** `webhook`, `dispatch` or `email`. */
  lane: Lane;
  /** Why the delivery failed permanently, or else why the last attempt failed. */
  last_error?: string | null;
  last_error_code?: string | null;
  /** When the next attempt is due. */
  next_retry_at?: string | null;
  /** The e-mail, see `GET /v1/emails/{outbox_id}`. Lane `email` only. */
  outbox_id?: string | null;
  /** The partner that sent the receipt. Lane `dispatch` only. */
  partner?: string | null;
  /** The receipt that is delivered. Lane `dispatch` only. */
  receipt_id?: string | null;
  /** HTTP status of the last attempt's response. */
  response_status?: number | null;
  /** `pending`, `retrying`, `delivered` or `failed`. */
  status: DeliveryStatus;
  /** The current URL of the target; absent if the source no longer has this target. Lane `dispatch` only. */
  target_url?: string | null;
  /** Slug of the tenant. Only where the operator reads those of all tenants. */
  tenant?: string | null;
  tenant_id?: string | null;
  /** What the delivery is waiting for; null once it is delivered or has failed. */
  waiting_for?: WaitingFor | null;
  /** The webhook that it is delivered to. Lane `webhook` only. */
  webhook_id?: string | null;
}

export type DeliveryChangeKind = "accepted" | "attempt_failed" | "delivered" | "failed";

export interface DeliveryDetail extends Delivery {
  /** Oldest first. */
  attempt_log: AttemptEntry[];
  /** The request body that is sent; null for an e-mail. */
  payload: unknown;
}

/** What happened to a delivery, and the delivery after it. */
export interface DeliveryEvent extends Delivery {
  /** When it happened. */
  at: string;
  /** `accepted`; `attempt_failed`: another attempt follows; `delivered`; `failed`: permanently. */
  change: DeliveryChangeKind;
  /** How long the attempt took; null if none was made. */
  latency_ms?: number | null;
}

/** What happened to deliveries in a period. */
export interface DeliveryFigures {
  /** Deliveries created by publishing, receiving and sending e-mail. */
  accepted: number;
  attempts: number;
  /** Deliveries that were given up. */
  dead_letters: number;
  delivered: number;
  /** Of those delivered: at their first attempt. */
  delivered_at_first_attempt: number;
  /** From acceptance to delivery, without manual retries and replays; null if nothing was delivered. */
  delivery_time?: Percentiles | null;
  failed_attempts: number;
  /** Duration of attempts; null without attempts. */
  response_time?: Percentiles | null;
  /** Share of attempts that succeeded, from 0 to 1; null without attempts. */
  success_share?: number | null;
}

export type DeliveryStatus = "pending" | "retrying" | "delivered" | "failed";

export interface EgressAddresses {
  /** IP addresses and networks (CIDR). Empty if the operator has not configured any. */
  addresses: string[];
}

export interface Email extends EmailSummary {
  /** Oldest first. */
  attemptLog: EmailAttempt[];
  /** The e-mail's delivery, to retry or replay it. */
  deliveryId: string;
  /** When its content was erased. */
  erasedAt?: string | null;
  failedAt?: string | null;
  /** Masked e-mail address. */
  from: string;
  /** The message id assigned by the receiving server. */
  messageId?: string | null;
  /** Error code of the mail server or SES. */
  sesError?: string | null;
}

export interface EmailAttempt {
  attempt: number;
  error?: string | null;
  latencyMs: number;
  nextRetryAt?: string | null;
  /** SMTP reply, or response body of SES. */
  response: string;
  /** SMTP reply code, or HTTP status of SES. */
  responseStatus?: number | null;
  startedAt: string;
}

export type EmailStatus = "PENDING" | "SENT" | "FAILED" | "RETRY_SCHEDULED";

/** An e-mail without its attempts. */
export interface EmailSummary {
  attempts: number;
  /** Slug of the tenant. */
  companyId: string;
  createdAt: string;
  externalId?: string | null;
  failureCode?: string | null;
  failureReason?: string | null;
  nextRetryAt?: string | null;
  outboxId: string;
  /** Masked e-mail address. */
  recipient: string;
  sentAt?: string | null;
  /** `PENDING`, `SENT`, `FAILED` or `RETRY_SCHEDULED`. */
  status: EmailStatus;
  subject: string;
}

export interface EndpointUsage {
  /** Maximum number of endpoints; null if the plan has no limit. */
  limit?: number | null;
  used: number;
}

export interface Erasure {
  /** Number of those whose content had been erased before. */
  already_erased: number;
  /** Number of archived dead letters that were removed. */
  archived: number;
  /** Number of waiting deliveries that were canceled. */
  canceled: number;
  /** Number of events, e-mails or receipts whose content was erased. */
  erased: number;
  /**
   * Number of events or e-mails that were not erased because a delivery is in flight. Repeat the request a few seconds
   * later.
   */
  in_flight: number;
  /** Where to continue; null if all of it was searched. */
  next_cursor?: string | null;
}

export interface Event {
  created_at: string;
  /** `null` if the content was erased. */
  data: unknown;
  deliveries: Delivery[];
  /** When its content was erased. */
  erased_at?: string | null;
  external_id?: string | null;
  id: string;
  /** Whether it was created by a test call. */
  is_test: boolean;
  /** Number of the event within its subject, from 1. */
  sequence_number?: number | null;
  subject?: string | null;
  type: string;
}

export interface EventInput {
  /** Payload of the event: any JSON value. Delivered byte for byte. */
  data: unknown;
  /** Earliest time of delivery, at most one year ahead. */
  deliver_at?: string | Date | null;
  /** Your own id for the event. Events and deliveries can be searched by it. */
  external_id?: string | null;
  /** Idempotency key: the same key within 24 hours publishes one event. Can also be sent as the `Idempotency-Key` header. */
  idempotency_key?: string | null;
  /** What the event is about, e.g. an order id. Events of a subject are numbered, and delivered in order to webhooks with `ordering: per_subject`. */
  subject?: string | null;
  /** Event type, e.g. `invoice.paid`. */
  type: string;
}

/** An event without its data. */
export interface EventSummary {
  created_at: string;
  /** Number of webhooks that the event is delivered to. */
  deliveries: number;
  external_id?: string | null;
  id: string;
  /** Whether it was created by a test call. */
  is_test: boolean;
  /** Number of the event within its subject, from 1. */
  sequence_number?: number | null;
  subject?: string | null;
  /** Slug of the tenant. Only where the operator reads those of all tenants. */
  tenant?: string | null;
  type: string;
}

export interface EventType {
  /** Origin: `email`, `agents`, `saas`, `operations`, `operator` or `tenant`. */
  catalog: string;
  description: string;
  example: unknown;
  /** No longer offered to users; its schema is not enforced. */
  is_archived: boolean;
  metadata: unknown;
  name: string;
  /** JSON Schema that the event's data must match; null if any data is allowed. */
  schema: unknown;
}

export interface EventUsage {
  /** Maximum number of events per calendar month (UTC); null if the plan has no limit. */
  limit?: number | null;
  /** When the next month starts. */
  resets_at: string;
  /** Events accepted this month; null if the plan has no limit, because they are then not counted. */
  used?: number | null;
}

/** Health of the webhook, as seen by the node that answers. The circuit breaker is that of any node. */
export interface Health {
  /**
   * `closed`, `open` (it failed too often in a row, and attempts are suspended) or `half_open`
   * (one delivery is sent to test whether it works again).
   */
  circuit_breaker: CircuitBreakerState;
  /** When the circuit breaker lets the next delivery through. */
  circuit_open_until?: string | null;
  /** Whether more deliveries wait in the store. */
  has_backlog: boolean;
  /** Number of attempts in flight. */
  in_flight: number;
  /**
   * `untried` (this node has not sent anything to it recently), `prompt`, `slow` (it responds slowly) or
   * `failing` (it responds with errors or not at all).
   */
  state: HealthState;
  /** Number of deliveries queued in memory. */
  waiting: number;
}

export type HealthState = "untried" | "prompt" | "slow" | "failing";

export interface ImportedAddresses {
  /** Number of addresses that were not suppressed before. */
  added: number;
  /** Number of addresses in the request. */
  given: number;
}

export interface ImportedDeadLetters {
  /** Number of dead letters that were imported. */
  imported: number;
  /** Number already in the store. */
  present: number;
  /** Those that were not imported. */
  skipped: SkippedDeadLetter[];
}

export interface ImportedKeys {
  /** Number of keys imported. */
  keys: number;
  /** Number of sources created. */
  sources: number;
}

/** What is wrong with one field of a request. */
export interface InvalidField {
  /** What is wrong there, and how to fix it. */
  detail: string;
  /** JSON pointer (RFC 6901) into the request body; empty if the error is not about a field of the body. */
  pointer: string;
}

export interface KeyRotation {
  keys: number[];
  /** Number of the key that encrypts new secrets from now on. */
  newest: number;
  /** Number of stored secrets that were re-encrypted. */
  resealed: number;
}

export type Lane = "webhook" | "dispatch" | "email";

export interface Ledger {
  /** The newest checkpoint of any node; null if there is none. */
  checkpoint?: Checkpoint | null;
  /** Number of lines in the ledger. */
  size: number;
}

export interface MadeCheckpoint extends Ledger {
  /** False if nothing was added since the previous checkpoint. */
  is_new: boolean;
}

export type MoveState = "copying" | "closing" | "removing" | "done" | "taking_back" | "taken_back";

/** A new API key with its secret, which is not shown again. */
export interface NewApiKey extends ApiKey {
  key: string;
}

export interface NewSource extends Source {
  /** Secret that dispatched receipts are signed with. Not shown again. */
  dispatch_secret: string;
}

/** A new webhook with its signing secret. */
export interface NewWebhook extends Webhook {
  /** Public key for receivers (`whpk_…`); null unless `secret_format` is `ed25519`. */
  public_key?: string | null;
  secret: string;
  /** `base64` (the key is the base64 text after `whsec_`), `raw` (the text is the key) or `ed25519`. */
  secret_format: string;
}

export interface Node {
  /** How many of these each cell has. Empty for a gateway without cells. */
  cells: NodeCell[];
  /** Settings that nodes must set alike, and that this node sets differently from the node that answered. */
  differing_settings: string[];
  /** Number of deliveries that it holds: in flight, or about to be. */
  held_deliveries: number;
  /** Number of the node. A restarted process is another node. */
  id: number;
  /** Whether this node answered the request. */
  is_self: boolean;
  joined_at: string;
  /** The last heartbeat. */
  last_seen_at: string;
  name: string;
  /** When the first of these fell due; null if it holds none. */
  oldest_due_at?: string | null;
  /** `api`, `ingest`, `worker`; empty for a node of an earlier version. */
  roles: NodeRole[];
  /** `alive`, `silent` (no heartbeat for 20 seconds) or `dead` (its deliveries were taken over). */
  state: NodeState;
  /** Null for a node of an earlier version. */
  version?: string | null;
}

export interface NodeCell {
  held_deliveries: number;
  name: string;
}

export type NodeRole = "api" | "ingest" | "worker";

export type NodeState = "alive" | "silent" | "dead";

export type NoticeChannel = "url" | "slack" | "email";

export interface NoticeEmails {
  addresses: string[];
}

export type Ordering = "best_effort" | "per_subject";

export type PausedBy = "webhook" | "tenant" | "lane";

/** Estimated percentiles in milliseconds. Durations above ten minutes count as ten minutes. */
export interface Percentiles {
  p50_ms: number;
  p95_ms: number;
  p99_ms: number;
}

export interface PlanUsage {
  endpoints: EndpointUsage;
  events: EventUsage;
  /** The name of the plan. */
  plan: string;
}

export interface PortalLink {
  expires_at: string;
  scopes: string[];
  tenant_id: string;
  /** The token in the link. Also valid as `Authorization: Bearer` until it expires. */
  token: string;
  url: string;
}

export interface PublishedEvent {
  created_at: string;
  /** Number of webhooks that the event is delivered to. */
  deliveries: number;
  id: string;
  type: string;
}

export interface Purged {
  /** Whether more dead letters match the filters; if so, call again. */
  has_more: boolean;
  /** Number of dead letters that were deleted; with `dry_run`, that would be. */
  purged: number;
}

export interface Queue {
  /** How long the oldest due delivery has been due. */
  age_seconds: number;
  /** Total number of undelivered deliveries: `pending`, `in_flight` and `waiting`. */
  depth: number;
  /** Deliveries leased by a node. */
  in_flight: number;
  is_paused: boolean;
  lane: Lane;
  oldest_due_at?: string | null;
  pending: number;
  /** Deliveries that wait for an earlier one of their subject. */
  waiting: number;
}

export interface Queues {
  data: Queue[];
  /** Always null: the list has one page. */
  next_cursor?: string | null;
  /** Ids of paused tenants. */
  paused_tenants: string[];
  /** Ids of paused webhooks. */
  paused_webhooks: string[];
}

export interface RateLimit {
  count: number;
  per: string;
}

export interface RateLimitInput {
  /** Maximum number per window. */
  count: number;
  /** Length of the window, e.g. `1s`. */
  per: string;
}

export interface Receipt extends ReceiptSummary {
  /** One delivery per target, targets added by a later retry included. */
  deliveries: ReceiptDelivery[];
}

export interface ReceiptDelivery {
  attempts: number;
  created_at: string;
  delivered_at?: string | null;
  id: string;
  /** Why the delivery failed permanently, or else why the last attempt failed. */
  last_error?: string | null;
  last_error_code?: string | null;
  next_retry_at?: string | null;
  /** HTTP status of the last attempt's response. */
  response_status?: number | null;
  /** `pending`, `retrying`, `delivered` or `failed`. */
  status: DeliveryStatus;
  /** The current URL of the target; null if the source no longer has this target. */
  target_url?: string | null;
}

export interface ReceiptDeliveryDetail extends ReceiptDelivery {
  /** Oldest first. */
  attempt_log: AttemptEntry[];
}

export interface ReceiptDetail extends ReceiptSummary {
  context: VerificationContext;
  deliveries: ReceiptDeliveryDetail[];
  /** When its content was erased. */
  erased_at?: string | null;
  /** The request headers, with secrets masked; null for old receipts, whose headers were not stored. */
  headers?: Record<string, string> | null;
  /** The body as it was received, with secrets masked; null if the content was erased. */
  payload: unknown;
}

/** Proof that a receipt is in the ledger. */
export interface ReceiptProof {
  /** The signed checkpoint. */
  checkpoint: string;
  /** `gancho-ledger-proof/1`. */
  form: string;
  /** The size of the ledger that the checkpoint covers, and the hashes from the line to its root (RFC 6962). */
  inclusion: unknown;
  /** The public key that signed it, as a JWK. */
  key: unknown;
  /** The line of the ledger: its number and its text. */
  line: unknown;
}

export type ReceiptStatus = "received" | "dispatched" | "failed" | "dlq";

export interface ReceiptSummary {
  /** Number of attempts of all deliveries together. */
  attempts: number;
  event_id?: string | null;
  id: string;
  is_test: boolean;
  key_id: string;
  last_error?: string | null;
  partner: string;
  size: number;
  /** `received`, `dispatched`, `failed` (will be retried) or `dlq` (failed permanently). */
  status: ReceiptStatus;
  topic?: string | null;
  ts_received: string;
}

/** An event that was published from SQL and rejected. */
export interface RejectedEvent {
  /** Error code, as `POST /v1/events` would have answered. */
  code: string;
  /** Data of the event; null if it is not valid JSON. */
  data: unknown;
  /** What is wrong. */
  detail: string;
  external_id?: string | null;
  /** The id that `gancho.publish` returned. */
  id: string;
  idempotency_key?: string | null;
  /** When `gancho.publish` was called. */
  published_at: string;
  rejected_at: string;
  subject?: string | null;
  tenant_id: string;
  type: string;
}

export interface Rejection {
  at: string;
  detail?: string | null;
  /** The request headers, with secrets masked. */
  headers: Record<string, string>;
  partner: string;
  reason: string;
  size: number;
  status: number;
}

export interface Reloaded {
  /** Changed settings that are now in force. */
  applied: string[];
  /** Changed settings that take effect when the node is restarted. */
  needs_restart: string[];
  /** SHA-256 of the policy pack, in hex. Null on a gateway that receives no webhooks. */
  policy_hash?: string | null;
}

export interface ReplayFilterInput {
  /** Only these events. */
  event_ids?: string[];
  /** Only events of this type. */
  event_type?: string;
  /** Only deliveries or events created at or after this time. */
  since?: string | Date;
  /** Only deliveries with this status. */
  status?: DeliveryStatus;
  /** Only deliveries or events created before this time. Default and maximum: now. */
  until?: string | Date;
  /** Only deliveries to this webhook. */
  webhook_id?: string;
}

export interface ReplayJob {
  created_at: string;
  /** Number of deliveries sent again. */
  done: number;
  dry_run: boolean;
  /** Why the replay as a whole failed. */
  error?: string | null;
  /** Number of deliveries that could not be sent again. */
  failed: number;
  finished_at?: string | null;
  id: string;
  /** False if counting stopped early: `total` is then a lower bound. */
  is_total_exact: boolean;
  /** `deliveries`, `events` or `dead_letters`. */
  of: ReplayKind;
  /**
   * Outcomes of the deliveries that were sent again. Null where it was not counted: in lists, and in responses
   * that create or cancel a replay.
   */
  outcomes?: ReplayOutcomeCounts | null;
  /** Maximum deliveries per second. */
  rate: number;
  /** Number of deliveries skipped because they are in flight or their webhook is deleted or disabled. */
  skipped: number;
  started_at?: string | null;
  /** `pending`, `running`, `done`, `canceled` or `failed`. */
  state: ReplayState;
  /** Slug of the tenant. Only where the operator reads those of all tenants. */
  tenant?: string | null;
  /** Null for a replay of the operator over all tenants. */
  tenant_id?: string | null;
  /** The webhook to send to, if one was given. */
  to?: string | null;
  /** Number of deliveries to send. */
  total: number;
}

export type ReplayKind = "deliveries" | "events" | "dead_letters";

/** Current states of the deliveries of a replay. */
export interface ReplayOutcomeCounts {
  /** Number of deliveries that succeeded. */
  delivered: number;
  /** Number of deliveries that failed permanently again. */
  failed: number;
  /**
   * Number of deliveries that were looked at: the first 5,000 that were sent. Those that have been pruned since are
   * in none of the counts.
   */
  of: number;
  /** Number of deliveries that are pending, in flight or waiting for a retry. */
  waiting: number;
}

export type ReplayState = "pending" | "running" | "done" | "canceled" | "failed";

/** How long what a tenant has sent is stored. Null for the operator's default. */
export interface Retention {
  /** Dead letters, before they are archived. */
  dead_letters?: string | null;
  /** E-mails, after they were sent or have failed. */
  emails?: string | null;
  /** Events with their deliveries, after those have ended. */
  events?: string | null;
}

export interface RetentionInput {
  /** Dead letters, before they are archived: from 1h to 3660d. Default: `dead_letter_ttl` of the operator. Applies to dead letters from then on. */
  dead_letters?: string | null;
  /** E-mails, after they were sent or have failed: from 1h to 3660d. Default: `retention` of the operator. */
  emails?: string | null;
  /** Events with their deliveries, after those have ended: from 1h to 3660d. Default: `retention` of the operator. */
  events?: string | null;
}

/** Retry schedule: either `schedule`, or `base`, `max` and `attempts`. */
export interface Retry {
  attempts?: number | null;
  base?: string | null;
  max?: string | null;
  schedule?: string[] | null;
}

export interface RetryInput {
  /** Maximum number of attempts. */
  attempts?: number;
  /** First delay; each following delay is twice as long. */
  base?: string;
  /** Maximum delay. */
  max?: string;
  /** Delays between attempts; one fewer than the number of attempts. */
  schedule?: string[];
}

export interface RotatedSecret {
  /** Until when deliveries are also signed with the previous secret; null without an overlap. */
  old_secret_until?: string | null;
  /** Public key for receivers (`whpk_…`); null unless `secret_format` is `ed25519`. */
  public_key?: string | null;
  secret: string;
  /** `base64` (the key is the base64 text after `whsec_`), `raw` (the text is the key) or `ed25519`. */
  secret_format: string;
}

export interface SealingKey {
  number: number;
  /** Number of stored secrets that are encrypted with this key. */
  records: number;
}

export interface SealingKeys {
  keys: SealingKey[];
}

export interface SearchMatch {
  created_at?: string | null;
  /** Its id; of an event type, its name. */
  id: string;
  /** Whether the search text is its id. */
  is_id: boolean;
  /** Its name, its URL, or the type of its event. */
  name?: string | null;
  /** The partner, of a source or a receipt. */
  partner?: string | null;
  /** Slug of its tenant; null if it belongs to none. */
  tenant?: string | null;
  /**
   * What it is: `event`, `delivery`, `webhook`, `email`, `source`, `receipt`, `replay`, `tenant`, `api_key` or
   * `event_type`.
   */
  type: SearchMatchType;
}

export type SearchMatchType = "event" | "delivery" | "webhook" | "email" | "source" | "receipt" | "replay" | "tenant" | "api_key" | "event_type";

export interface SearchResult {
  data: SearchMatch[];
  /** Whether everything was searched. If not, there may be matches that `data` does not have. */
  is_complete: boolean;
}

export interface SignaturePart {
  /** What to look at, in words. */
  hint: string;
  /** `id`, `timestamp`, `body` or `secret`. */
  part: string;
  /**
   * `same`, `different`, `assumed` (it was not given, and is taken as it was sent), `unsigned` (it is no part of the
   * signature) or `unknown`.
   */
  state: string;
}

export interface SignatureReport {
  /** The parts that differ from what was sent: `id`, `timestamp`, `body`, `secret`. */
  differs: string[];
  /** Whether the signature is valid for what was received. */
  is_valid: boolean;
  parts: SignaturePart[];
}

export interface SkippedDeadLetter {
  /** Id of the delivery. */
  id: string;
  /** Index of the dead letter in the request, from 0. */
  index: number;
  /** Why it was not imported. */
  reason: string;
}

export interface Source {
  created_at: string;
  /** Null if the preset defines it. */
  event_id_pointer?: string | null;
  has_verify_token: boolean;
  id: string;
  is_active: boolean;
  partner: string;
  preset: unknown;
  rate_limit?: RateLimit | null;
  /** Null for the default schedule. */
  retry?: Retry | null;
  schema: unknown;
  targets: string[];
  updated_at: string;
}

export interface SourceCounts extends Source {
  /** Totals of all nodes since the source was created. The last seconds may be missing. */
  counts: SourceTotals;
}

export interface SourceKey {
  created_at: string;
  encoding: string;
  /** Whether the key is valid now. */
  is_valid: boolean;
  key_id: string;
  not_after?: string | null;
  not_before?: string | null;
  publicKey?: string | null;
  scheme: string;
}

export interface SourceTotals {
  /** Number of webhooks that reused an event id with a different body. They are stored as dead letters with code `ID_CLASH`. */
  clashes: number;
  /** Number of accepted webhooks. */
  received: number;
  /** Number of duplicates, which were answered like the original. */
  repeats: number;
}

export interface Stats {
  /** Consecutive bins, oldest first, including those without deliveries. */
  bins: StatsBin[];
  range: string;
  since: string;
  /** Length of a bin. */
  step: string;
  /** Figures of the whole range. */
  totals: DeliveryFigures;
  /** End of the last bin, which is not over yet. */
  until: string;
}

export interface StatsBin extends DeliveryFigures {
  /** Start of the bin. */
  at: string;
}

export interface Suppression {
  /** E-mail address, in lower case. */
  address: string;
  /** Diagnostic text of the bounce or complaint. */
  detail?: string | null;
  /** `bounce`, `complaint` or `manual`. */
  reason: SuppressionReason;
  since: string;
  /** Slug of the tenant. Only where the operator reads those of all tenants. */
  tenant?: string | null;
}

export type SuppressionReason = "bounce" | "complaint" | "manual";

export interface Tenant {
  created_at: string;
  default_profile: string;
  id: string;
  name: string;
  plan: string;
  /** Null for the operator's default. */
  publish_rate?: RateLimit | null;
  retention: Retention;
  slug: string;
  strict_event_types: boolean;
}

export interface TenantMetadata {
  metadata: unknown;
}

export interface TenantMove {
  /** For how many milliseconds nothing could be written for the tenant; null before that. */
  closed_ms?: number | null;
  /** Rows that were copied to the new cell so far, without those that changed meanwhile. */
  copied_rows: number;
  /** Why the move failed; null if it did not. It is tried again by itself. */
  error?: string | null;
  /** The cell in which the tenant was. */
  from: string;
  /** Rows that were removed so far: from the old cell, or the copies if the move is taken back. */
  removed_rows: number;
  /** Seconds since the move began, or until it ended. */
  seconds: number;
  /**
   * `copying` and `closing`: the tenant lives in the old cell, and the move can be taken back. `removing`: it lives in
   * the new cell, and is removed from the old one. `taking_back`: it stays in the old cell, and its copy is removed.
   * `done` and `taken_back` are the ends.
   */
  state: MoveState;
  /** The cell to which it moves. */
  to: string;
}

export interface TenantStats {
  name: string;
  slug: string;
  tenant_id: string;
  /** Figures of the range, in all lanes. */
  totals: DeliveryFigures;
}

export interface TestOutcome {
  /** The attempt in detail; null if there was none in time. */
  attempt?: AttemptEntry | null;
  delivery_id: string;
  error?: string | null;
  event_id: string;
  event_type: string;
  latency_ms?: number | null;
  response_body?: string | null;
  response_status?: number | null;
  /** `pending`, `retrying`, `delivered` or `failed`. */
  status: DeliveryStatus;
  /** Whether the webhook responded with 2xx. */
  success: boolean;
}

export interface User {
  created_at: string;
  name: string;
  password_changed_at: string;
  /** `operator`, `support` or `read_only`. */
  role: UserRole;
}

export type UserRole = "read_only" | "support" | "operator";

/** The facts that the policy decided on. */
export interface VerificationContext {
  req: VerifiedRequest;
  webhook: VerifiedWebhook;
}

export interface VerifiedRequest {
  method: string;
  path: string;
}

export interface VerifiedWebhook {
  key_id: string;
  partner: string;
  /** Always true: only verified webhooks become receipts. */
  verified: boolean;
}

export type WaitReason = "attempt" | "retry" | "schedule" | "lane_resume" | "tenant_resume" | "webhook_resume" | "circuit_breaker" | "rate_limit" | "in_flight_limit" | "earlier_delivery" | "backlog";

/** What an unfinished delivery is waiting for. */
export interface WaitingFor {
  /**
   * `attempt`: an attempt is in flight or about to start. `retry`: the next attempt is not due yet.
   * `schedule`: its `deliver_at` has not come yet. `lane_resume`, `tenant_resume`,
   * `webhook_resume`: the lane, tenant or webhook is paused. `circuit_breaker`: the endpoint failed too
   * often in a row, and attempts are suspended. `rate_limit`: the endpoint's rate limit is used up.
   * `in_flight_limit`: the endpoint has as many requests in flight as its `max_in_flight` allows.
   * `earlier_delivery`: an earlier delivery of the same subject comes first. `backlog`: older deliveries,
   * or those of other tenants, come first.
   */
  reason: WaitReason;
  /** When the wait ends, if known. */
  until?: string | null;
}

export interface Webhook {
  created_at: string;
  /** Why the gateway disabled the webhook: `gone` (it responded with 410) or `failing`; null if it did not. */
  disabled_reason?: string | null;
  events: string[];
  /** Your own id for the webhook; null if it has none. */
  external_id?: string | null;
  /** Since when all attempts have failed; null while deliveries succeed. */
  failing_since?: string | null;
  /** Names of the custom headers; the values are masked. */
  headers: Record<string, string>;
  health: Health;
  id: string;
  is_active: boolean;
  /** Whether the webhook itself is paused: its deliveries wait until it is resumed. */
  is_paused: boolean;
  max_in_flight?: number | null;
  metadata: unknown;
  name: string;
  /** Until when deliveries are also signed with a previous secret; null if none was rotated away recently. */
  old_secret_until?: string | null;
  /** `best_effort` or `per_subject`. */
  ordering: Ordering;
  /**
   * What holds its deliveries: the pause of the `webhook`, of its `tenant`, or of the `lane` for all tenants; null if
   * nothing is paused.
   */
  paused_by?: PausedBy | null;
  profile: string;
  rate_limit?: RateLimit | null;
  /** Null for the profile's default. */
  retry?: Retry | null;
  /** Slug of the tenant. Only where the operator reads those of all tenants. */
  tenant?: string | null;
  tenant_id: string;
  /** Null for the profile's default. */
  timeout?: string | null;
  updated_at: string;
  url: string;
}

export interface WebhookSecret {
  /** Until when deliveries are also signed with each rotated secret. */
  old_secrets_until: string[];
  /** Public key for receivers (`whpk_…`); null unless `secret_format` is `ed25519`. */
  public_key?: string | null;
  secret: string;
  /** `base64` (the key is the base64 text after `whsec_`), `raw` (the text is the key) or `ed25519`. */
  secret_format: string;
}

export interface WebhookStats {
  /** The last 24 hours by hour, oldest first. */
  bins: StatsBin[];
  /** Null if the webhook was deleted. */
  name?: string | null;
  tenant_id: string;
  /** Figures of the last 24 hours. */
  totals: DeliveryFigures;
  webhook_id: string;
}

/** What `alerts.listHistory` takes. */
export interface ListAlertHistoryOptions {
  /** Maximum number of items per page. Default: 50. */
  limit?: number;
}

/** What `alerts.createSilence` takes. */
export interface CreateAlertSilenceOptions {
  /** How long, at most 90 days, e.g. `2h`. */
  duration: string;
  /** Why, for others to read. */
  comment?: string | null;
  /** Rule to silence. Default: every rule. */
  rule?: AlertRule | null;
  /** Subject to silence, e.g. a tenant. Default: every subject. */
  subject?: string | null;
}

/** What `apiKeys.list` takes. */
export interface ListApiKeysOptions {
  /** Maximum number of items per page. Default: 50. */
  limit?: number;
}

/** What `apiKeys.create` takes. */
export interface CreateApiKeyOptions {
  /** When the key expires. Default: never. */
  expires_at?: string | Date | null;
  /** Display name. */
  name?: string;
  /** What the key may be used for: `publish`, `read`, `manage`. Default: all of them. */
  scopes?: string[];
}

/** What `audit.list` takes. */
export interface ListAuditEntriesOptions {
  /** Maximum number of items per page. Default: 50. */
  limit?: number;
  /** Only acts of this kind of actor. */
  actor_kind?: ActorKind;
  /** Only acts of the user with this name, or of the API key with this id. */
  actor?: string;
  /** Only this operation: its `operationId`, or `log_in`. */
  operation?: string;
  /** Only acts on the object with this id or name. */
  resource?: string;
  /** Only acts that were `done`, or only those that were `refused`. */
  outcome?: AuditOutcome;
  /** Only acts at or after this time. */
  since?: string | Date;
  /** Only acts before this time. */
  until?: string | Date;
}

/** What `cells.add` takes. */
export interface AddCellOptions {
  /** Unique; cannot be changed: lower-case letters, digits and `-`. */
  name: string;
  /** The database, as `postgres://user:password@host:5432/database?sslmode=require`, with `schema=` for a schema of it. Never returned. */
  url: string;
}

/** What `cells.update` takes. */
export interface UpdateCellOptions {
  /** `true`: the cell gets no new tenants. Those that live there stay. */
  is_draining: boolean;
}

/** What `deliveries.list` takes. */
export interface ListDeliveriesOptions {
  /** Maximum number of items per page. Default: 50. */
  limit?: number;
  /** Only deliveries with this status. */
  status?: DeliveryStatus;
  /** Only deliveries of events of this type, or of all types with a prefix: `invoice.*`. */
  event_type?: string;
  /** Only deliveries of this event. */
  event_id?: string;
  /** Only deliveries of events with this external id. */
  external_id?: string;
  /** Only deliveries of events with this subject. */
  subject?: string;
  /** Only deliveries that failed with this code: at their last attempt, or when they were given up. E.g. `TIMEOUT`. */
  error_code?: string;
  /** Only deliveries whose last attempt got this response status. */
  response_status?: number;
  /** Only deliveries whose payload contains this text, byte for byte, in its first 64 KiB. A page searches about 2,000 payloads. */
  text?: string;
  /** Only deliveries created at or after this time. */
  since?: string | Date;
  /** Only deliveries created before this time. */
  until?: string | Date;
  /** Only deliveries to this webhook. */
  webhook_id?: string;
  /** Only deliveries in this lane. Default: `webhook`. */
  lane?: Lane;
  /** Only deliveries of receipts from this partner, in the lane `dispatch`. Operator only. */
  partner?: string;
}

/** What `deliveries.export` takes. */
export interface ExportDeliveriesOptions {
  /** Only deliveries with this status. */
  status?: DeliveryStatus;
  /** Only deliveries of events of this type, or of all types with a prefix: `invoice.*`. */
  event_type?: string;
  /** Only deliveries of this event. */
  event_id?: string;
  /** Only deliveries of events with this external id. */
  external_id?: string;
  /** Only deliveries of events with this subject. */
  subject?: string;
  /** Only deliveries that failed with this code: at their last attempt, or when they were given up. E.g. `TIMEOUT`. */
  error_code?: string;
  /** Only deliveries whose last attempt got this response status. */
  response_status?: number;
  /** Only deliveries whose payload contains this text, byte for byte, in its first 64 KiB. A page searches about 2,000 payloads. */
  text?: string;
  /** Only deliveries created at or after this time. */
  since?: string | Date;
  /** Only deliveries created before this time. */
  until?: string | Date;
  /** Only deliveries to this webhook. */
  webhook_id?: string;
  /** Only deliveries in this lane. Default: `webhook`. */
  lane?: Lane;
  /** Only deliveries of receipts from this partner, in the lane `dispatch`. Operator only. */
  partner?: string;
}

/** What `deliveries.tail` takes. */
export interface TailDeliveriesOptions {
  /** Only deliveries to this webhook. */
  webhook_id?: string;
  /** Only deliveries of events of this type, or of all types with a prefix, e.g. `invoice.*`. */
  event_type?: string;
  /** Only changes after which a delivery has this status. */
  status?: DeliveryStatus;
  /** Only deliveries in this lane. Default: `webhook`. `dispatch` is for the operator, without `X-Tenant`. */
  lane?: Lane;
  /** Maximum events per second, about. Beyond it, a sample of the deliveries is shown, each with all of its events, and the rest counted by `missed`. Default: no limit. */
  max_rate?: number;
}

/** What `deliveries.checkSignature` takes. */
export interface CheckDeliverySignatureOptions {
  /** The headers of the request as the receiver got them, one `name: value` per line; or the value of the signature header alone. */
  headers: string;
  /** The body of the request as the receiver got it. Default: as it was sent. */
  body?: string;
}

/** What `deadLetters.purge` takes. */
export interface PurgeDeadLettersOptions {
  /** Only dead letters of this lane. */
  lane?: Lane;
  /** Only dead letters of this tenant (slug or id). Operator only. */
  tenant?: string;
  /** Only dead letters of this partner, also if its source was deleted. Operator only. */
  partner?: string;
  /** Only dead letters with this failure code, e.g. `HTTP_503`. */
  code?: string;
  /** Only deliveries that failed at or after this time. */
  since?: string | Date;
  /** Only deliveries that failed before this time. */
  until?: string | Date;
  /** `true` to delete all dead letters. Required if no filter is given. */
  all?: boolean;
  /** `true` to count what would be deleted, without deleting it. */
  dry_run?: boolean;
}

/** What `deadLetters.list` takes. */
export interface ListDeadLettersOptions {
  /** Maximum number of items per page. Default: 50. */
  limit?: number;
  /** Only dead letters of this lane. */
  lane?: Lane;
  /** Only dead letters of this tenant (slug or id). Operator only. */
  tenant?: string;
  /** Only dead letters of this partner, also if its source was deleted. Operator only. */
  partner?: string;
  /** Only dead letters with this failure code, e.g. `HTTP_503`. */
  code?: string;
  /** Only deliveries that failed at or after this time. */
  since?: string | Date;
  /** Only deliveries that failed before this time. */
  until?: string | Date;
}

/** What `deadLetters.export` takes. */
export interface ExportDeadLettersOptions {
  /** Only dead letters of this lane. */
  lane?: Lane;
  /** Only dead letters of this tenant (slug or id). Operator only. */
  tenant?: string;
  /** Only dead letters of this partner, also if its source was deleted. Operator only. */
  partner?: string;
  /** Only dead letters with this failure code, e.g. `HTTP_503`. */
  code?: string;
  /** Only deliveries that failed at or after this time. */
  since?: string | Date;
  /** Only deliveries that failed before this time. */
  until?: string | Date;
}

/** What `deadLetters.importLetters` takes. */
export interface ImportDeadLettersOptions {
  /** Dead letters, as `GET /v1/dlq/export` writes them, or archived ones. */
  letters: DeadLetterInput[];
}

/** What `deadLetters.replayAll` takes. */
export interface ReplayDeadLettersOptions {
  /** Only dead letters with this failure code, e.g. `HTTP_503`. */
  code?: string;
  /** Count what would be sent, without sending it. */
  dry_run?: boolean;
  /** Only dead letters of this lane. */
  lane?: Lane;
  /** Only dead letters of this partner, also if its source was deleted. Operator only. */
  partner?: string;
  /** Maximum deliveries per second. Default: 100. */
  rate?: number;
  /** Only deliveries that failed at or after this time. */
  since?: string | Date;
  /** Only dead letters of this tenant (slug or id). Operator only. */
  tenant?: string;
  /** Webhook of the same tenant to send to, instead of the original one. Only dead letters of the lane `webhook` go there, and each is removed once its new delivery is stored. */
  to?: string;
  /** Only deliveries that failed before this time. */
  until?: string | Date;
}

/** What `deadLetters.stats` takes. */
export interface GetDeadLetterStatsOptions {
  /** Only dead letters of this lane. */
  lane?: Lane;
  /** Only dead letters of this tenant (slug or id). Operator only. */
  tenant?: string;
  /** Only dead letters of this partner, also if its source was deleted. Operator only. */
  partner?: string;
  /** Only dead letters with this failure code, e.g. `HTTP_503`. */
  code?: string;
  /** Only deliveries that failed at or after this time. */
  since?: string | Date;
  /** Only deliveries that failed before this time. */
  until?: string | Date;
}

/** What `deadLetters.replay` takes. */
export interface ReplayDeadLetterOptions {
  /** Webhook of the same tenant to send to, instead of the original one. The dead letter is removed once the new delivery is stored. */
  to?: string;
}

/** What `emails.send` takes. */
export interface SendEmailOptions {
  /** Sender: `shop@example.com` or `Shop <shop@example.com>`. */
  from: string;
  /** Recipient. An e-mail has exactly one; send several e-mails to reach several recipients. */
  to: string;
  /** Subject line. */
  subject: string;
  /** Attachments, at most 10 MiB in total. */
  attachments?: AttachmentInput[] | null;
  /** Your own id for the e-mail. Included in every event about it. */
  externalId?: string | null;
  /** Custom headers, e.g. `List-Unsubscribe`. Headers that the gateway sets itself are rejected. */
  headers?: Record<string, string> | null;
  /** HTML body. At least one of `html` and `text` is required. */
  html?: string | null;
  /** Address for replies. */
  replyTo?: string | null;
  /** Plain-text body. */
  text?: string | null;
  /** Repeating the call with the same key within 24 hours has the effect of one. Default: a random one, so that the client's own retries are safe. */
  idempotency_key?: string;
}

/** What `emails.list` takes. */
export interface ListEmailsOptions {
  /** Maximum number of items per page. Default: 50. */
  limit?: number;
  /** Only e-mails with this status. An e-mail that bounced after it was sent is `FAILED`. With this filter a page may have fewer items than `limit`: continue until `next_cursor` is null. */
  status?: EmailStatus;
  /** Only e-mails with this external id. */
  externalId?: string;
  /** Only e-mails to this address. A page searches about 2,000 e-mails, and may have fewer items than `limit`, even none: continue until `next_cursor` is null. */
  recipient?: string;
  /** Only e-mails submitted at or after this time. */
  since?: string | Date;
  /** Only e-mails submitted before this time. */
  until?: string | Date;
}

/** What `events.eraseContent` takes. */
export interface EraseContentOptions {
  /** `next_cursor` of the response before, with the same `subject` or `email_address`. */
  cursor?: string;
  /** Erase all e-mails to this address. */
  email_address?: string;
  /** Id of an event whose content is erased. */
  event_id?: string;
  /** Id of an e-mail whose content is erased. */
  outbox_id?: string;
  /** Id of a receipt whose content is erased. Operator only. */
  receipt_id?: string;
  /** Erase all events of this subject. */
  subject?: string;
}

/** What `events.list` takes. */
export interface ListEventsOptions {
  /** Maximum number of items per page. Default: 50. */
  limit?: number;
  /** Only events of this type. */
  event_type?: string;
  /** Only events with this external id. */
  external_id?: string;
  /** `true`: only events that matched no webhook. */
  unmatched?: boolean;
  /** Only events published at or after this time. */
  since?: string | Date;
  /** Only events published before this time. */
  until?: string | Date;
}

/** What `events.publish` takes. */
export interface PublishEventOptions {
  /** Earliest time of delivery, at most one year ahead. */
  deliver_at?: string | Date | null;
  /** Your own id for the event. Events and deliveries can be searched by it. */
  external_id?: string | null;
  /** What the event is about, e.g. an order id. Events of a subject are numbered, and delivered in order to webhooks with `ordering: per_subject`. */
  subject?: string | null;
  /** Repeating the call with the same key within 24 hours has the effect of one. Default: a random one, so that the client's own retries are safe. */
  idempotency_key?: string;
}

/** What `events.publishBatch` takes. */
export interface PublishEventsOptions {
  /** Repeating the call with the same key within 24 hours has the effect of one. Default: a random one, so that the client's own retries are safe. */
  idempotency_key?: string;
}

/** What `encryptionKeys.rotate` takes. */
export interface RotateEncryptionKeysOptions {
  /** `false`: create no new key, only re-encrypt secrets that use an older key. Default: `true`. */
  new_key?: boolean;
}

/** What `users.changeOwnPassword` takes. */
export interface ChangeOwnPasswordOptions {
  current_password: string;
  /** At least 12 characters. */
  password: string;
}

/** What `portalLinks.create` takes. */
export interface CreatePortalLinkOptions {
  /** Slug or id of the tenant. */
  tenant: string;
  /** How long the link is valid. Default: `1h`; at most `24h`. */
  expires_in?: string;
}

/** What `queues.pause` takes. */
export interface PauseQueueOptions {
  /** Why, for others to read: it is recorded in the audit log. */
  reason?: string | null;
}

/** What `events.listRejected` takes. */
export interface ListRejectedEventsOptions {
  /** Maximum number of items per page. Default: 50. */
  limit?: number;
}

/** What `replays.list` takes. */
export interface ListReplaysOptions {
  /** Maximum number of items per page. Default: 50. */
  limit?: number;
}

/** What `replays.create` takes. */
export interface CreateReplayOptions {
  /** `true` to replay everything. Required if no filter is given. */
  all?: boolean;
  /** Count what would be sent, without sending it. */
  dry_run?: boolean;
  /** What to replay: at least one condition, unless `all` is true. */
  filter?: ReplayFilterInput;
  /** With `of: events`, `true` for events only that the webhook in `to` is subscribed to and that were not yet sent to it. */
  missing?: boolean;
  /** What to replay. `deliveries` (default) are sent again to their webhook; `events` are sent to the webhook in `to`, even if it was created later. */
  of?: "deliveries" | "events";
  /** Maximum deliveries per second. Default: 100. */
  rate?: number;
  /** Webhook to send to, instead of the original one. */
  to?: string;
}

/** What `search.find` takes. */
export interface SearchOptions {
  /** The text to search for: an id, in any case and with or without its prefix; an external id; an event type; the slug or name of a tenant; the name of a partner; or the name or a part of the URL of a webhook. */
  q: string;
}

/** What `sources.importKeys` takes. */
export interface ImportSourceKeysOptions {
  /** `{"webhook:partner:<name>:key:<id>": {"scheme": "hmac", "secret": "…"}, …}`, or an exported array of `{"key": …, "value": …}`. */
  entries: unknown;
}

/** What `sources.list` takes. */
export interface ListSourcesOptions {
  /** Maximum number of items per page. Default: 50. */
  limit?: number;
}

/** What `sources.create` takes. */
export interface CreateSourceOptions {
  /** Name of the partner, used in the URL: lower-case letters, digits and `-`. Cannot be changed. */
  partner: string;
  /** Secret that dispatched receipts are signed with. Default: a generated one. */
  dispatch_secret?: string;
  /** JSON pointer to the event id in the body, used for deduplication. Default: defined by the preset. */
  event_id_pointer?: string | null;
  /** Whether webhooks from the partner are accepted. */
  is_active?: boolean;
  /** How the partner signs: `"partner"` (default), `"standard"`, `"stripe"`, `"github"`, `"slack"`, `"shopify"`, `"meta"`, `"microsoft"`, `{"sns": {"topics": ["arn:aws:sns:…"]}}` (Amazon SNS, with the accepted topics), `{"generic": {…}}` or `{"token": {"header": …}}`. */
  preset?: unknown;
  /** Rate limit per key for incoming webhooks. */
  rate_limit?: RateLimitInput | null;
  /** Retry schedule of dispatches. Default: 10 attempts, with delays from 2s doubling up to 32s. */
  retry?: RetryInput | null;
  /** JSON Schema for request bodies. A webhook that does not match is recorded, refused with 422 and not dispatched. */
  schema?: Record<string, unknown> | null;
  /** URL that receipts are dispatched to. Default: `http://127.0.0.1:9458/core/hooks/ingest`. `gancho:email-feedback` processes bounces and complaints reported by SES. */
  target_url?: string;
  /** Several target URLs, instead of `target_url`. */
  targets?: string[];
  /** Verify token of Meta's subscription handshake (`hub.verify_token`). */
  verify_token?: string | null;
}

/** What `sources.update` takes. */
export interface UpdateSourceOptions {
  /** Secret that dispatched receipts are signed with. Default: a generated one. */
  dispatch_secret?: string;
  /** JSON pointer to the event id in the body, used for deduplication. Default: defined by the preset. */
  event_id_pointer?: string | null;
  /** Whether webhooks from the partner are accepted. */
  is_active?: boolean;
  /** How the partner signs: `"partner"` (default), `"standard"`, `"stripe"`, `"github"`, `"slack"`, `"shopify"`, `"meta"`, `"microsoft"`, `{"sns": {"topics": ["arn:aws:sns:…"]}}` (Amazon SNS, with the accepted topics), `{"generic": {…}}` or `{"token": {"header": …}}`. */
  preset?: unknown;
  /** Rate limit per key for incoming webhooks. */
  rate_limit?: RateLimitInput | null;
  /** Retry schedule of dispatches. Default: 10 attempts, with delays from 2s doubling up to 32s. */
  retry?: RetryInput | null;
  /** JSON Schema for request bodies. A webhook that does not match is recorded, refused with 422 and not dispatched. */
  schema?: Record<string, unknown> | null;
  /** URL that receipts are dispatched to. Default: `http://127.0.0.1:9458/core/hooks/ingest`. `gancho:email-feedback` processes bounces and complaints reported by SES. */
  target_url?: string;
  /** Several target URLs, instead of `target_url`. */
  targets?: string[];
  /** Verify token of Meta's subscription handshake (`hub.verify_token`). */
  verify_token?: string | null;
}

/** What `sources.putKey` takes. */
export interface PutSourceKeyOptions {
  /** Signature scheme of the key. */
  scheme: "hmac" | "ed25519";
  /** Hash algorithm of `hmac`. Only `sha256` is supported. */
  algo?: "sha256";
  /** Encoding of `secret`. Default: `raw`. */
  encoding?: "raw" | "base64" | "hex";
  /** The key is not valid after this time. */
  not_after?: string | Date | null;
  /** The key is not valid before this time. */
  not_before?: string | Date | null;
  /** How long a replaced key stays valid. Default: `24h`. */
  overlap?: string;
  /** The partner's public key, in base64. Required for `ed25519`. */
  publicKey?: string;
  /** Id of the key that this one replaces. The old key expires after `overlap`. */
  replaces?: string;
  /** Shared secret. Required for `hmac`. */
  secret?: string;
}

/** What `sources.listReceipts` takes. */
export interface ListReceiptsOptions {
  /** Maximum number of items per page. Default: 50. */
  limit?: number;
  /** Only receipts with this status. */
  status?: ReceiptStatus;
  /** Only receipts with this event id of the partner. */
  event_id?: string;
  /** Only receipts received at or after this time. */
  since?: string | Date;
  /** Only receipts received before this time. */
  until?: string | Date;
}

/** What `sources.retryReceipts` takes. */
export interface RetryReceiptsOptions {
  /** `true` to retry all receipts. Required if no filter is given. */
  all?: boolean;
  /** Count what would be sent, without sending it. */
  dry_run?: boolean;
  /** Only receipts with this event id of the partner. */
  event_id?: string;
  /** Maximum deliveries per second. Default: 100. */
  rate?: number;
  /** Only receipts received at or after this time. */
  since?: string | Date;
  /** Only receipts with this status. */
  status?: ReceiptStatus;
  /** Only receipts received before this time. */
  until?: string | Date;
}

/** What `stats.get` takes. */
export interface GetStatsOptions {
  /** How far back, up to now. Default: `24h`. */
  range?: "15m" | "1h" | "6h" | "24h" | "7d" | "30d";
  /** Length of a bin. Default: a step that divides the range into at most 96 bins. At most 168 bins; steps below `1h` are available for ranges up to `24h`, and of a webhook up to `6h`. */
  step?: "1m" | "5m" | "15m" | "30m" | "1h" | "2h" | "6h" | "8h" | "12h" | "1d";
  /** Only deliveries in this lane. Default: all lanes. */
  lane?: Lane;
  /** Only deliveries to this webhook. */
  webhook_id?: string;
}

/** What `stats.listTenants` takes. */
export interface ListTenantStatsOptions {
  /** Maximum number of items per page. Default: 50. */
  limit?: number;
  /** How far back, up to now. Default: `24h`. */
  range?: "15m" | "1h" | "6h" | "24h" | "7d" | "30d";
}

/** What `stats.listWebhooks` takes. */
export interface ListWebhookStatsOptions {
  /** Maximum number of items per page. Default: 50. */
  limit?: number;
  /** `newest`: all webhooks, newest first. `failures`: one page of those with failed attempts in the last hour, at most 100, the worst first. Default: `newest` for a tenant, `failures` for the operator. */
  order?: "newest" | "failures";
  /** Only these webhooks, in this order: at most 100 ids, separated by commas. Those that do not exist are left out. Cannot be combined with `order`, `limit` and `cursor`. */
  webhook_ids?: string;
}

/** What `suppressions.list` takes. */
export interface ListSuppressionsOptions {
  /** Maximum number of items per page. Default: 50. */
  limit?: number;
}

/** What `suppressions.add` takes. */
export interface AddSuppressionOptions {
  /** E-mail address, e.g. `ana@example.com`. */
  address: string;
  /** Why the address is suppressed. Default: `manual`. */
  reason?: SuppressionReason | null;
}

/** What `suppressions.importAddresses` takes. */
export interface ImportSuppressionsOptions {
  /** E-mail addresses, at most 10,000. */
  addresses: string[];
  /** Why the address is suppressed. Default: `manual`. */
  reason?: SuppressionReason | null;
}

/** What `tenants.list` takes. */
export interface ListTenantsOptions {
  /** Maximum number of items per page. Default: 50. */
  limit?: number;
}

/** What `tenants.create` takes. */
export interface CreateTenantOptions {
  /** Short name of the tenant: lower-case letters, digits, `-` and `_`. Cannot be changed. */
  slug: string;
  /** Profile of webhooks that do not name one. Default: `standard`. */
  default_profile?: string;
  /** Display name. Default: the slug. */
  name?: string;
  /** Plan of the tenant. Default: `unlimited`. */
  plan?: string;
  /** Maximum rate of publishing. Default: set by the operator. */
  publish_rate?: RateLimitInput | null;
  /** How long what the tenant has sent is stored. Default: set by the operator. */
  retention?: RetentionInput | null;
  /** Whether only registered event types can be published. Default: `false`. */
  strict_event_types?: boolean;
}

/** What `tenants.update` takes. */
export interface UpdateTenantOptions {
  /** Profile of webhooks that do not name one. Default: `standard`. */
  default_profile?: string;
  /** Display name. Default: the slug. */
  name?: string;
  /** Plan of the tenant. Default: `unlimited`. */
  plan?: string;
  /** Maximum rate of publishing. Default: set by the operator. */
  publish_rate?: RateLimitInput | null;
  /** How long what the tenant has sent is stored. Default: set by the operator. */
  retention?: RetentionInput | null;
  /** Whether only registered event types can be published. Default: `false`. */
  strict_event_types?: boolean;
}

/** What `tenants.listApiKeys` takes. */
export interface ListTenantApiKeysOptions {
  /** Maximum number of items per page. Default: 50. */
  limit?: number;
}

/** What `tenants.createApiKey` takes. */
export interface CreateTenantApiKeyOptions {
  /** When the key expires. Default: never. */
  expires_at?: string | Date | null;
  /** Display name. */
  name?: string;
  /** What the key may be used for: `publish`, `read`, `manage`. Default: all of them. */
  scopes?: string[];
}

/** What `tenants.replaceMetadata` takes. */
export interface ReplaceTenantMetadataOptions {
  /** Custom JSON object. It replaces the one that is stored. */
  metadata: Record<string, unknown>;
}

/** What `cells.moveTenant` takes. */
export interface MoveTenantOptions {
  /** The name of the cell to which the tenant moves. */
  cell: string;
}

/** What `tenants.replaceNoticeEmails` takes. */
export interface ReplaceNoticeEmailsOptions {
  /** E-mail addresses, at most 10. An empty list stops the e-mails. */
  addresses: string[];
}

/** What `tenants.pause` takes. */
export interface PauseTenantOptions {
  /** Why, for others to read: it is recorded in the audit log. */
  reason?: string | null;
}

/** What `users.list` takes. */
export interface ListUsersOptions {
  /** Maximum number of items per page. Default: 50. */
  limit?: number;
}

/** What `users.create` takes. */
export interface CreateUserOptions {
  /** Name or e-mail address: lower-case letters, digits and `. _ - + @`. Unique; cannot be changed. */
  name: string;
  /** What the user may do: `read_only` reads everything but secrets; `support` also retries, replays, tests, pauses and resumes; `operator` does everything. */
  role: UserRole;
  /** At least 12 characters. Never returned. */
  password: string;
}

/** What `users.update` takes. */
export interface UpdateUserOptions {
  /** A new password: at least 12 characters. Never returned. */
  password?: string;
  /** What the user may do: `read_only`, `support` or `operator`. */
  role?: UserRole;
}

/** What `webhooks.list` takes. */
export interface ListWebhooksOptions {
  /** Maximum number of items per page. Default: 50. */
  limit?: number;
  /** Only the webhook with this external id. */
  external_id?: string;
}

/** What `webhooks.create` takes. */
export interface CreateWebhookOptions {
  /** URL to deliver to. Must be HTTPS and not a private address, unless the operator allows it. */
  url: string;
  /** Event types to subscribe to: names, `invoice.*` for a prefix, or `*` for all. */
  events: string[];
  /** Your own id for the webhook, unique among the tenant's: a second webhook with it is refused. */
  external_id?: string | null;
  /** Custom headers for every delivery. The values are stored encrypted and never shown again. */
  headers?: Record<string, string>;
  /** Whether events are delivered to the webhook. Default: `true`. */
  is_active?: boolean;
  /** Maximum number of concurrent deliveries. */
  max_in_flight?: number | null;
  /** Custom JSON object, stored with the webhook. */
  metadata?: Record<string, unknown>;
  /** Display name. */
  name?: string;
  /** `best_effort` (default), or `per_subject`: the next event of a subject waits until the previous one is delivered or has failed permanently. */
  ordering?: Ordering;
  /** Format of deliveries: `standard`, `email-gateway`, `auracore`, `saas`, `svix`, `convoy`, `outpost`, or a profile defined by the operator. */
  profile?: string;
  /** Rate limit of deliveries. Deliveries beyond it wait; they do not fail. */
  rate_limit?: RateLimitInput | null;
  /** Retry schedule: `{"schedule": ["1s", "5m"]}` or `{"base": "1s", "max": "60s", "attempts": 5}`. Default: defined by the profile. */
  retry?: RetryInput | null;
  /** Signing secret, at least 16 characters. Default: a generated one. */
  secret?: string;
  /** Time limit of an attempt, e.g. `15s`. Default: defined by the profile. */
  timeout?: string | null;
}

/** What `eventTypes.list` takes. */
export interface ListEventTypesOptions {
  /** Maximum number of items per page. Default: 50. */
  limit?: number;
  /** Only event types of this catalog. */
  catalog?: "email" | "agents" | "saas" | "operations" | "operator" | "tenant";
}

/** What `eventTypes.create` takes. */
export interface CreateEventTypeOptions {
  /** Dot-separated name, e.g. `invoice.paid`. */
  name: string;
  /** Human-readable description. */
  description?: string;
  /** Example of the event's data. Test calls send it. */
  example?: unknown;
  /** Whether the event type is archived: no longer offered to users. */
  is_archived?: boolean;
  /** Custom JSON object, stored with the event type. */
  metadata?: Record<string, unknown>;
  /** JSON Schema that the event's data must match. External references are not allowed. */
  schema?: Record<string, unknown> | null;
}

/** What `eventTypes.replace` takes. */
export interface ReplaceEventTypeOptions {
  /** Human-readable description. */
  description?: string;
  /** Example of the event's data. Test calls send it. */
  example?: unknown;
  /** Whether the event type is archived: no longer offered to users. */
  is_archived?: boolean;
  /** Custom JSON object, stored with the event type. */
  metadata?: Record<string, unknown>;
  /** JSON Schema that the event's data must match. External references are not allowed. */
  schema?: Record<string, unknown> | null;
}

/** What `webhooks.testByBody` takes. */
export interface TestWebhookByBodyOptions {
  /** Webhook to test. */
  webhook_id: string;
  /** Event type of the sample. Default: one that the webhook is subscribed to. */
  event_type?: string;
}

/** What `webhooks.update` takes. */
export interface UpdateWebhookOptions {
  /** Event types to subscribe to: names, `invoice.*` for a prefix, or `*` for all. */
  events?: string[];
  /** Your own id for the webhook, unique among the tenant's: a second webhook with it is refused. */
  external_id?: string | null;
  /** Custom headers for every delivery. The values are stored encrypted and never shown again. */
  headers?: Record<string, string>;
  /** Whether events are delivered to the webhook. Default: `true`. */
  is_active?: boolean;
  /** Maximum number of concurrent deliveries. */
  max_in_flight?: number | null;
  /** Custom JSON object, stored with the webhook. */
  metadata?: Record<string, unknown>;
  /** Display name. */
  name?: string;
  /** `best_effort` (default), or `per_subject`: the next event of a subject waits until the previous one is delivered or has failed permanently. */
  ordering?: Ordering;
  /** Format of deliveries: `standard`, `email-gateway`, `auracore`, `saas`, `svix`, `convoy`, `outpost`, or a profile defined by the operator. */
  profile?: string;
  /** Rate limit of deliveries. Deliveries beyond it wait; they do not fail. */
  rate_limit?: RateLimitInput | null;
  /** Retry schedule: `{"schedule": ["1s", "5m"]}` or `{"base": "1s", "max": "60s", "attempts": 5}`. Default: defined by the profile. */
  retry?: RetryInput | null;
  /** Signing secret, at least 16 characters. Default: a generated one. */
  secret?: string;
  /** Time limit of an attempt, e.g. `15s`. Default: defined by the profile. */
  timeout?: string | null;
  /** URL to deliver to. Must be HTTPS and not a private address, unless the operator allows it. */
  url?: string;
}

/** What `webhooks.replace` takes. */
export interface ReplaceWebhookOptions {
  /** URL to deliver to. Must be HTTPS and not a private address, unless the operator allows it. */
  url: string;
  /** Event types to subscribe to: names, `invoice.*` for a prefix, or `*` for all. */
  events: string[];
  /** Your own id for the webhook, unique among the tenant's: a second webhook with it is refused. */
  external_id?: string | null;
  /** Custom headers for every delivery. The values are stored encrypted and never shown again. */
  headers?: Record<string, string>;
  /** Whether events are delivered to the webhook. Default: `true`. */
  is_active?: boolean;
  /** Maximum number of concurrent deliveries. */
  max_in_flight?: number | null;
  /** Custom JSON object, stored with the webhook. */
  metadata?: Record<string, unknown>;
  /** Display name. */
  name?: string;
  /** `best_effort` (default), or `per_subject`: the next event of a subject waits until the previous one is delivered or has failed permanently. */
  ordering?: Ordering;
  /** Format of deliveries: `standard`, `email-gateway`, `auracore`, `saas`, `svix`, `convoy`, `outpost`, or a profile defined by the operator. */
  profile?: string;
  /** Rate limit of deliveries. Deliveries beyond it wait; they do not fail. */
  rate_limit?: RateLimitInput | null;
  /** Retry schedule: `{"schedule": ["1s", "5m"]}` or `{"base": "1s", "max": "60s", "attempts": 5}`. Default: defined by the profile. */
  retry?: RetryInput | null;
  /** Signing secret, at least 16 characters. Default: a generated one. */
  secret?: string;
  /** Time limit of an attempt, e.g. `15s`. Default: defined by the profile. */
  timeout?: string | null;
}

/** What `deliveries.listForWebhook` takes. */
export interface ListWebhookDeliveriesOptions {
  /** Maximum number of items per page. Default: 50. */
  limit?: number;
  /** Only deliveries with this status. */
  status?: DeliveryStatus;
  /** Only deliveries of events of this type, or of all types with a prefix: `invoice.*`. */
  event_type?: string;
  /** Only deliveries of this event. */
  event_id?: string;
  /** Only deliveries of events with this external id. */
  external_id?: string;
  /** Only deliveries of events with this subject. */
  subject?: string;
  /** Only deliveries that failed with this code: at their last attempt, or when they were given up. E.g. `TIMEOUT`. */
  error_code?: string;
  /** Only deliveries whose last attempt got this response status. */
  response_status?: number;
  /** Only deliveries whose payload contains this text, byte for byte, in its first 64 KiB. A page searches about 2,000 payloads. */
  text?: string;
  /** Only deliveries created at or after this time. */
  since?: string | Date;
  /** Only deliveries created before this time. */
  until?: string | Date;
}

/** What `webhooks.pause` takes. */
export interface PauseWebhookOptions {
  /** Why, for others to read: it is recorded in the audit log. */
  reason?: string | null;
}

/** What `webhooks.rotateSecret` takes. */
export interface RotateWebhookSecretOptions {
  /** How long deliveries are signed with both secrets. Default: `24h`; at most `7d`; `0s` for no overlap. */
  overlap?: string;
  /** The new secret. Default: a generated one of the same format. */
  secret?: string;
}

/** What `stats.getForWebhook` takes. */
export interface GetWebhookStatsOptions {
  /** How far back, up to now. Default: `24h`. */
  range?: "15m" | "1h" | "6h" | "24h" | "7d" | "30d";
  /** Length of a bin. Default: a step that divides the range into at most 96 bins. At most 168 bins; steps below `1h` are available for ranges up to `24h`, and of a webhook up to `6h`. */
  step?: "1m" | "5m" | "15m" | "30m" | "1h" | "2h" | "6h" | "8h" | "12h" | "1d";
}

/** What `webhooks.test` takes. */
export interface TestWebhookOptions {
  /** Event type of the sample. Default: one that the webhook is subscribed to. */
  event_type?: string;
}
