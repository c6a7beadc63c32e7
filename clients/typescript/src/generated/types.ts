// Generated from docs/openapi.json by clients/generate. Do not edit.

/** An accepted e-mail. */
export interface AcceptedEmail {
  /** Id of the e-mail (`out_…`). `GET /v1/emails/{outbox_id}` returns its status. */
  outboxId: string;
}

/** Kind of caller. `operator`: the operator token. `user`: a user of the dashboard. `api_key`: an API key of a tenant. `portal`: a portal link. `anonymous`: someone who failed to log in. */
export type ActorKind = "operator" | "user" | "api_key" | "portal" | "anonymous";

/** A pending or firing alert of the gateway. */
export interface Alert {
  /** The current figures in a sentence, e.g. `120 dead letters in the store`. */
  detail: string;
  /** Rule that raised the alert, e.g. `dead_letters_high`. */
  rule: AlertRule;
  /** How urgent the alert is. Each rule has a fixed severity. */
  severity: AlertSeverity;
  /** Id of the silence (`sil_…`) that keeps the alert from being sent; null if there is none. */
  silence_id: string | null;
  /** When the condition began to hold. */
  since: string;
  /** `pending` (the condition holds, but not for long enough) or `firing`. */
  state: AlertState;
  /** What the alert is about: a tenant, an endpoint, a node, a lane or a key; null for the whole gateway. */
  subject: string | null;
  /** What the rule means, in English and without figures. */
  summary: string;
  /** Value above which the condition of the rule holds, in the same unit as `value`. */
  threshold: number;
  /**
   * Measured value that is compared with `threshold`, in the unit of the rule: a count, a share from 0 to 1, or
   * seconds. 1 for a rule without a figure.
   */
  value: number;
}

/** An entry of the alert history: an alert fired, kept firing, or was resolved. */
export interface AlertChange {
  /** When the alert changed. */
  at: string;
  /** `fired`, `reminder` (it kept firing and was sent again) or `resolved`. */
  change: AlertChangeKind;
  /** The last figures in a sentence, or why the alert was resolved. */
  detail: string;
  /** Whether the change was not sent, because of a silence. */
  is_silenced: boolean;
  /** Rule that raised the alert, e.g. `dead_letters_high`. */
  rule: AlertRule;
  /** How urgent the alert is. */
  severity: AlertSeverity;
  /** What the alert is about: a tenant, an endpoint, a node, a lane or a key; null for the whole gateway. */
  subject: string | null;
  /** What the rule means, in English and without figures. */
  summary: string;
  /** Value above which the condition of the rule holds, in the same unit as `value`. */
  threshold: number;
  /** Last measured value, in the unit of the rule: a count, a share from 0 to 1, or seconds. */
  value: number;
}

/** What happened to an alert. `fired`: its condition has held for long enough. `reminder`: it kept firing and was sent again. `resolved`: its condition no longer holds. */
export type AlertChangeKind = "fired" | "reminder" | "resolved";

/** Outcome of a test alert on one channel. */
export interface AlertChannelTest {
  /** Channel that the test alert was sent to. */
  channel: NoticeChannel;
  /** Why the test alert could not be sent; null if it was sent. */
  error: string | null;
  /** Whether the channel accepted the test alert. */
  is_sent: boolean;
}

/** Rule of the gateway. `store_unavailable`: the database does not respond. `writes_refused`: events, webhooks or e-mails are being refused. `storage_critical`: the storage is almost full. `storage_high`: the storage is filling up. `ledger_check_failed`: the ledger is no longer signed. `node_lost`: a node stopped without leaving. `clock_off`: the clock of a node is wrong. `dead_letters_high`: there are many dead letters. `dead_letter_rate_high`: many deliveries become dead letters. `tenant_dead_letters_high`: one tenant has many dead letters. `endpoint_failing`: an endpoint fails every attempt. `queue_delayed`: deliveries are late. `source_key_expiring`: a source has no valid key, or soon will have none. `api_key_expiring`: an API key is about to expire. `archive_failing`: dead letters cannot be archived. */
export type AlertRule = "store_unavailable" | "writes_refused" | "storage_critical" | "storage_high" | "ledger_check_failed" | "node_lost" | "clock_off" | "dead_letters_high" | "dead_letter_rate_high" | "tenant_dead_letters_high" | "endpoint_failing" | "queue_delayed" | "source_key_expiring" | "api_key_expiring" | "archive_failing";

/** How urgent an alert is. `critical`: act at once. `warning`: act soon. */
export type AlertSeverity = "critical" | "warning";

/** A silence. Alerts that it covers are evaluated and recorded, but not sent. */
export interface AlertSilence {
  /** Why the alerts are silenced, as given when the silence was created; empty if nothing was given. */
  comment: string;
  /** Name of the user who created the silence, or `operator` for the operator token. */
  created_by: string;
  /** Id of the silence (`sil_…`). */
  id: string;
  /** The rule that is silenced; null for every rule. */
  rule: AlertRule | null;
  /** The subject that is silenced; null for every subject. */
  subject: string | null;
  /** When the silence ends. */
  until: string;
}

/** State of an alert. `pending`: its condition holds, but not for long enough. `firing`: its condition has held for long enough. */
export type AlertState = "pending" | "firing";

/** Outcome of a test alert. */
export interface AlertTest {
  /** One entry for each configured channel; empty if no channel is configured. */
  channels: AlertChannelTest[];
}

/** An API key of a tenant, without its secret. */
export interface ApiKey {
  /** When the key was created. */
  created_at: string;
  /** When the key expires or has expired; null if it never expires. */
  expires_at: string | null;
  /** Id of the key (`key_…`). */
  id: string;
  /** When the key was last used, to the minute; null if never. */
  last_used_at: string | null;
  /** Display name; empty if none was given. */
  name: string;
  /** When the key was revoked; null if it was not. */
  revoked_at: string | null;
  /** What the key may be used for. */
  scopes: ApiKeyScope[];
  /** Id of the tenant that the key belongs to. */
  tenant_id: string;
}

/** What a key may be used for. `publish`: publish events and send e-mails. `read`: look up everything but secrets. `manage`: change webhooks, event types and suppressions, see signing secrets, retry, cancel, replay and erase. */
export type ApiKeyScope = "publish" | "read" | "manage";

/** Attachments, at most 10 MiB in total. */
export interface AttachmentInput {
  /** Content of the file, in base64. */
  content: string;
  /** Content id, to embed the file in the HTML as `cid:…`. The file is then inline and not listed as an attachment. */
  contentId?: string | null;
  /** Media type. Default: `application/octet-stream`. */
  contentType?: string | null;
  /** Name of the file, as the recipient sees it. */
  filename: string;
}

/** One attempt of a delivery: the request and its response. */
export interface AttemptEntry {
  /** Number of the attempt, from 1. */
  attempt: number;
  /** Why the attempt failed; null if it succeeded. */
  error: string | null;
  /** Code of the failure, e.g. `HTTP_503` or `TIMEOUT`; null if the attempt succeeded. */
  error_code: string | null;
  /** Duration of the attempt in milliseconds. */
  latency_ms: number;
  /** Request headers by name, as they were sent, with secrets masked. Repeated headers are joined with a comma. */
  request_headers: Record<string, string>;
  /** The first 16 KiB of the response body, as text; null if there was no response. */
  response_body: string | null;
  /** Response headers by name; empty if there was no response. Repeated headers are joined with a comma. */
  response_headers: Record<string, string>;
  /**
   * HTTP status of the response; for an e-mail, the SMTP reply code or the HTTP status of SES. Null if there was no
   * response.
   */
  response_status: number | null;
  /** When the attempt began. */
  started_at: string;
}

/** The attempts, oldest first. Without them, a dead letter of the lanes `dispatch` and `email` is skipped: exports of these lanes do not have all of the data, archived dead letters do. */
export interface AttemptInput {
  /** Number of the attempt, from 1. */
  attempt: number;
  /** Failure code, e.g. `HTTP_503`; null if the attempt succeeded. */
  failure_code?: string | null;
  /** Why the attempt failed; null if it succeeded. */
  failure_reason?: unknown;
  /** Duration of the attempt in milliseconds. */
  latency_ms?: unknown;
  /** Headers of the request: an array of `name: value` lines. */
  request_headers?: unknown;
  /** The beginning of the response body. */
  response_body?: unknown;
  /** The beginning of the response body in base64, instead of `response_body`, if it is not text. */
  response_body_base64?: unknown;
  /** Headers of the response: an array of `name: value` lines. */
  response_headers?: unknown;
  /** HTTP status of the response; null if there was none. */
  response_status?: number | null;
  /** When the attempt began. */
  started_at: string | Date;
}

/** The caller who did something, or tried to. */
export interface AuditActor {
  /** Kind of caller. A tenant sees users of the operator as `operator`. */
  kind: ActorKind;
  /** Name of the user, or id of the API key; null for other callers. */
  name: string | null;
}

/** An entry of the audit log: an administrative action or a login, done or refused. */
export interface AuditEntry {
  actor: AuditActor;
  /**
   * IP address of the caller, or its /64 block for IPv6; null if it is not known. Tenants do not see addresses of
   * the operator.
   */
  address: string | null;
  /** When the action took place. */
  at: string;
  /**
   * Error code of the response; null if the action was done. `disconnected` if the caller disconnected before the
   * action had an outcome, `left_out` for an entry that stands for others.
   */
  code: string | null;
  /** Id of the entry (`aud_…`). */
  id: string;
  /**
   * The `operationId` of the operation in this document, `log_in`, or `left_out` for an entry that stands for
   * similar actions which were not recorded one by one.
   */
  operation: string;
  /** Whether the action was done or refused. */
  outcome: AuditOutcome;
  /** Reason that the caller gave for a pause; null if none was given. Tenants do not see reasons of the operator. */
  reason: string | null;
  /** Id of the request, as in the header `X-Request-Id`; null for logins and for entries that stand for others. */
  request_id: string | null;
  /**
   * Id or name of what was changed; null if there is none. For `left_out`, the number of actions and their
   * operation.
   */
  resource: string | null;
  /**
   * HTTP status of the response. For a login 200 or 401; 499 if the caller disconnected before the action had an
   * outcome.
   */
  status: number;
  /** What the operation does, in English. */
  summary: string;
  /** Id of the tenant whose data the action was about; null if it was about data of the operator. */
  tenant_id: string | null;
}

/** Whether an action was `done` or `refused`. */
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

/** Result of a batch. */
export interface BatchOutcome {
  /** Number of accepted events, those with a repeated idempotency key included. */
  accepted: number;
  /** Number of refused events. */
  refused: number;
  /** One result per event, in the order of the request. */
  results: BatchResult[];
}

/** Result of one event of a batch. */
export interface BatchResult {
  /** When the event was accepted. Absent if the event was refused. */
  created_at?: string;
  /** Number of webhooks that the event is delivered to. Absent if the event was refused. */
  deliveries?: number;
  /** Why the event was refused. Absent if it was accepted. */
  error?: BatchError;
  /** Id of the event (`evt_…`). Absent if the event was refused. */
  id?: string;
  /** Index of the event in the request, from 0. */
  index: number;
  /** `true` if the event was published before with the same idempotency key; absent otherwise. */
  replayed?: boolean;
  /** The HTTP status that publishing this event alone would have had: 202 if accepted. */
  status: number;
  /** Type of the event. Absent if the event was refused. */
  type?: string;
}

/** Result of canceling an event. */
export interface CanceledEvent {
  /** Number of deliveries that were canceled. */
  canceled: number;
  /** Id of the event (`evt_…`). */
  id: string;
  /** Number of deliveries in flight. They finish, and are retried if they fail. */
  in_flight: number;
}

/** An e-mail that was captured instead of being sent. */
export interface CapturedEmail extends CapturedEmailSummary {
  /** The raw message: headers, an empty line, and the body. */
  raw: string;
}

/** A captured e-mail without its content. */
export interface CapturedEmailSummary {
  /** When the e-mail was captured. */
  caughtAt: string;
  /** Sender: an address, with a display name if one was given. */
  from: string;
  /** Value of the `Message-ID` header, without the angle brackets. */
  messageId: string;
  /** Id of the e-mail (`out_…`). */
  outboxId: string;
  /** Size of the raw message in bytes. */
  size: number;
  /** Subject line of the e-mail. */
  subject: string;
  /** Id of the tenant that submitted the e-mail. */
  tenantId: string;
  /** Recipient: an address, with a display name if one was given. */
  to: string;
}

/** A cell: one of the databases of a gateway that has several. */
export interface Cell {
  /** Whether the node that answered can use the cell. */
  is_available: boolean;
  /** Whether the cell is being drained: it gets no new tenants. */
  is_draining: boolean;
  /** Whether this is the home cell, which has the list of tenants and all data that belongs to no tenant. */
  is_home: boolean;
  /** Name of the cell. */
  name: string;
  /** Why that node cannot use the cell; null if it can. */
  reason: string | null;
  /** Number of tenants that live in the cell. */
  tenants: number;
}

/** A tenant, as the directory of cells knows it. */
export interface CellTenant {
  /** Id of the tenant. */
  id: string;
  /** Slug of the tenant. */
  slug: string;
  /**
   * `active`: it lives in the cell. `moving`: it is being moved to another cell, or was and is still being removed from the
   * old one. `creating`: it is being created.
   */
  state: CellTenantState;
}

/** State of a tenant in a cell. `creating`: it is being created. `active`: it lives in the cell. `moving`: it is being moved to another cell, or was moved and is still being removed from the old one. */
export type CellTenantState = "creating" | "active" | "moving";

/** A signed checkpoint. The signed note itself is in the checkpoint directory. */
export interface Checkpoint {
  /** When the checkpoint was signed, in RFC 3339. */
  made_at: string;
  /** Name of the ledger in its checkpoints, e.g. `gancho/ledger`. */
  origin: string;
  /** Root of the Merkle tree over these lines (RFC 6962), in base64. */
  root: string;
  /** Number of lines that it covers. */
  size: number;
}

/** State of the circuit breaker of a webhook. `closed`: attempts are made. `open`: the webhook failed too often in a row, and attempts are suspended. `half_open`: one delivery is sent to test whether it works again. */
export type CircuitBreakerState = "closed" | "open" | "half_open";

/** A delivery that failed permanently, with its data and the last failure. */
export interface DeadLetter {
  /** When the delivery was accepted. */
  enqueued_at: string;
  /** Type of the event. For a receipt `PARTNER/KEY/TOPIC`, or `PARTNER/KEY` without a topic. */
  event_type: string;
  /** When the dead letter is due to be archived. Until then it can be replayed. */
  expires_at: string;
  /** Your own id of the event or e-mail, or the partner's event id of a receipt; null if there is none. */
  external_id: string | null;
  /** Number of failed attempts. */
  failed_attempts: number;
  /** Id of the dead letter: that of its delivery (`dlv_…`). */
  id: string;
  /** What was to be delivered: an event, a receipt or an e-mail. */
  lane: Lane;
  /** Code of the last failure, e.g. `HTTP_503`, `TIMEOUT` or `EXPIRED`. */
  last_failure_code: string;
  /** Why the last attempt failed, or why the delivery was given up without one. */
  last_failure_reason: string;
  /** When the last attempt failed or, without an attempt, when the delivery was given up. */
  last_failure_timestamp: string;
  /**
   * The receiver's own status or error code: an HTTP status such as `503`, an SMTP reply code such as `550`, or an
   * error of SES such as `MessageRejected`. Null if the receiver did not respond.
   */
  last_provider_code: string | null;
  /** When the delivery became a dead letter. */
  moved_to_dlq_at: string;
  /** The data as it was accepted. E-mail addresses are masked and attachments left out. */
  original_data: unknown;
  /** Name of the partner that sent the receipt, in the lane `dispatch`; null in other lanes. */
  partner: string | null;
  /** The `subject` that the publisher gave the event; null if there is none. */
  subject: string | null;
  /** Id of the event (`evt_…`), receipt (`rcp_…`) or e-mail (`out_…`). */
  subject_id: string;
  /** Id of the webhook, in the lane `webhook`; null in other lanes. */
  target_id: string | null;
  /**
   * URL that a replay sends the receipt to, in the lane `dispatch`; null in other lanes, and if the source was
   * deleted.
   */
  target_url: string | null;
  /** Id of the tenant; null in the lane `dispatch`, see `partner`. */
  tenant_id: string | null;
}

/** Dead letters, as `GET /v1/dlq/export` writes them, or archived ones. */
export interface DeadLetterInput {
  /** The attempts, oldest first. Without them, a dead letter of the lanes `dispatch` and `email` is skipped: exports of these lanes do not have all of the data, archived dead letters do. */
  attempts?: AttemptInput[];
  /** When the delivery was accepted. */
  enqueued_at: string | Date;
  /** Type of the event; of a receipt `PARTNER/KEY/TOPIC`. */
  event_type: string;
  /** Ignored: the dead letter expires `dead_letter_ttl` after the import. Exports have this field. */
  expires_at?: string | Date;
  /** The publisher's or partner's own id. */
  external_id?: string | null;
  /** Number of failed attempts. */
  failed_attempts: number;
  /** Id of the dead letter: that of its delivery (`dlv_…`). */
  id: string;
  /** Whether it is a test event. Default: false. */
  is_test?: boolean;
  /** Lane of the delivery: `webhook`, `dispatch` or `email`. */
  lane: Lane;
  /** Failure code, e.g. `HTTP_503`. */
  last_failure_code: string;
  /** Why the last attempt failed. */
  last_failure_reason: unknown;
  /** When the last attempt failed. */
  last_failure_timestamp: string | Date;
  /** The receiver's own status or error code, e.g. `503`. */
  last_provider_code?: string | null;
  /** When the delivery became a dead letter. */
  moved_to_dlq_at: string | Date;
  /** The data as it was accepted. */
  original_data?: unknown;
  /** The data in base64, instead of `original_data`, if it is not JSON or has white space around it. */
  original_data_base64?: unknown;
  /** Name of the partner. Ignored; exports have this field. */
  partner?: string | null;
  /** The `subject` that the publisher gave. */
  subject?: string | null;
  /** Id of the event, receipt or e-mail. */
  subject_id: string;
  /** Id of the webhook, or of the target of the source. Exported e-mails have none. */
  target_id?: string | null;
  /** URL of the target. Ignored; exports have this field. */
  target_url?: string | null;
  /** Id of the tenant, or of the source in the lane `dispatch`. Exported receipts have none. */
  tenant_id?: string | null;
}

/** Numbers of dead letters that match the filters. */
export interface DeadLetterStats {
  /** Number of dead letters by failure code, e.g. `HTTP_503`. */
  by_code: Record<string, number>;
  /** Number of dead letters by lane. */
  by_lane: Record<string, number>;
  /** Number of dead letters of the lane `dispatch`, by name of the partner. Empty for tenants. */
  by_partner: Record<string, number>;
  /** Number of dead letters by tenant id, without those of the lane `dispatch`. */
  by_tenant: Record<string, number>;
  /** When the oldest of them became a dead letter; null if there is none. */
  oldest: string | null;
  /** Number of all dead letters that match the filters. */
  total: number;
}

/** A tenant that was deleted. */
export interface DeletedTenant {
  /** When the tenant was deleted. */
  deleted_at: string;
  /** Id of the tenant (`ten_…`). */
  id: string;
  /** Slug of the tenant, which can be used again. */
  slug: string;
}

/** The delivery of one event, receipt or e-mail to one target. */
export interface Delivery {
  /** Number of attempts so far, including those before a retry or replay. */
  attempts: number;
  /** When the delivery was created. */
  created_at: string;
  /** When the successful response arrived; null if the delivery has not succeeded. */
  delivered_at: string | null;
  /** Id of the event. Present only in the lane `webhook`. */
  event_id?: string;
  /** Type of the event, e.g. `invoice.paid`. Present only in the lane `webhook`. */
  event_type?: string;
  /** Your own id of the event or e-mail, or the partner's event id of a receipt; null if there is none. */
  external_id: string | null;
  /** Id of the delivery (`dlv_…`). */
  id: string;
  /** Whether the delivery is of a test event. */
  is_test: boolean;
  /** What is delivered: an event, a receipt or an e-mail. */
  lane: Lane;
  /** Why the delivery failed permanently, or else why the last attempt failed; null if it did not fail. */
  last_error: string | null;
  /** Code of the failure in `last_error`, e.g. `HTTP_503` or `TIMEOUT`; null if there is none. */
  last_error_code: string | null;
  /**
   * When the next attempt after a failed one is planned; null before the first attempt, and once the delivery has
   * ended.
   */
  next_retry_at: string | null;
  /** Id of the e-mail, see `GET /v1/emails/{outbox_id}`. Present only in the lane `email`. */
  outbox_id?: string;
  /** Name of the partner that sent the receipt. Present only in the lane `dispatch`. */
  partner?: string;
  /** Id of the receipt. Present only in the lane `dispatch`. */
  receipt_id?: string;
  /**
   * HTTP status of the last attempt's response; for an e-mail, the SMTP reply code or the HTTP status of SES. Null
   * if there was no response.
   */
  response_status: number | null;
  /** Status of the delivery. */
  status: DeliveryStatus;
  /**
   * Current URL of the target. Present only in the lane `dispatch`, and absent if the source no longer has this
   * target.
   */
  target_url?: string;
  /** Slug of the tenant. Present only if the operator reads deliveries of all tenants. */
  tenant?: string;
  /** Id of the tenant. Present only together with `tenant`. */
  tenant_id?: string;
  /** What the delivery is waiting for; null once it is delivered or has failed, and in the response to a retry. */
  waiting_for: WaitingFor | null;
  /** Id of the webhook that the event is delivered to. Present only in the lane `webhook`. */
  webhook_id?: string;
}

/** What happened to a delivery. `accepted`: it was created. `attempt_failed`: an attempt failed, and another one follows. `delivered`: it succeeded. `failed`: it failed permanently. */
export type DeliveryChangeKind = "accepted" | "attempt_failed" | "delivered" | "failed";

/** A delivery with its payload and its attempts. */
export interface DeliveryDetail extends Delivery {
  /** All attempts, oldest first. */
  attempt_log: AttemptEntry[];
  /** The request body that is sent; null for an e-mail. */
  payload: unknown;
}

/** A change of a delivery, with the delivery as it is after the change. */
export interface DeliveryEvent extends Delivery {
  /** When the change happened. */
  at: string;
  /** What happened to the delivery. */
  change: DeliveryChangeKind;
  /** Duration of the attempt in milliseconds; null if no attempt was made. */
  latency_ms: number | null;
}

/** What happened to deliveries in a period. */
export interface DeliveryFigures {
  /** Number of deliveries that were created by publishing, receiving and sending e-mail. */
  accepted: number;
  /** Number of attempts. */
  attempts: number;
  /** Number of deliveries that failed permanently. */
  dead_letters: number;
  /** Number of deliveries that succeeded. */
  delivered: number;
  /** Number of deliveries that succeeded at their first attempt. */
  delivered_at_first_attempt: number;
  /** Time from acceptance to delivery, without manual retries and replays; null if nothing was delivered. */
  delivery_time: Percentiles | null;
  /** Number of attempts that failed. */
  failed_attempts: number;
  /** Duration of attempts; null without attempts. */
  response_time: Percentiles | null;
  /** Share of attempts that succeeded, from 0 to 1; null without attempts. */
  success_share: number | null;
}

/** Status of a delivery. `pending`: no attempt was made yet. `retrying`: at least one attempt was made, and another one follows. `delivered`: the receiver accepted it. `failed`: it failed permanently. */
export type DeliveryStatus = "pending" | "retrying" | "delivered" | "failed";

/** The addresses that deliveries come from. */
export interface EgressAddresses {
  /** IP addresses and networks (CIDR). Empty if the operator has not configured any. */
  addresses: string[];
}

/** An e-mail with all attempts to send it. */
export interface Email extends EmailSummary {
  /** All attempts, oldest first. */
  attemptLog: EmailAttempt[];
  /** Id of the delivery of the e-mail (`dlv_…`), to retry or replay it. */
  deliveryId: string;
  /** When the content of the e-mail was erased; null if it was not. */
  erasedAt: string | null;
  /** When the e-mail failed permanently, or was reported as bounced after it was sent; null if neither happened. */
  failedAt: string | null;
  /** Address of the sender, masked: `s***@e***le.com`. */
  from: string;
  /**
   * Message id: over SMTP that of the `Message-ID` header, with SES the one that SES assigned. Null if the last
   * attempt did not send the e-mail.
   */
  messageId: string | null;
  /** Error code of the mail server or SES, e.g. `550` or `MessageRejected`; null if there is none. */
  sesError: string | null;
}

/** One attempt to send an e-mail. */
export interface EmailAttempt {
  /** Number of the attempt, from 1. */
  attempt: number;
  /** Code and reason of the failure, as `CODE: reason`; null if the attempt succeeded. */
  error: string | null;
  /** Duration of the attempt in milliseconds. */
  latencyMs: number;
  /** When the next attempt was planned; null if none was to follow. */
  nextRetryAt: string | null;
  /** Text of the SMTP reply, or response body of SES. */
  response: string;
  /** SMTP reply code, or HTTP status of SES; null if there was no response. */
  responseStatus: number | null;
  /** When the attempt began. */
  startedAt: string;
}

/** Status of an e-mail. `PENDING`: no attempt was made yet. `SENT`: the mail server or SES accepted it. `RETRY_SCHEDULED`: at least one attempt was made, and another one follows. `FAILED`: it failed permanently, or bounced after it was sent. */
export type EmailStatus = "PENDING" | "SENT" | "FAILED" | "RETRY_SCHEDULED";

/** An e-mail without its attempts. */
export interface EmailSummary {
  /** Number of attempts to send the e-mail so far. */
  attempts: number;
  /** Slug of the tenant that submitted the e-mail. */
  companyId: string;
  /** When the e-mail was accepted. */
  createdAt: string;
  /** Your own id for the e-mail; null if none was given. */
  externalId: string | null;
  /**
   * Why the e-mail failed, or why its last attempt did: `INVALID_RECIPIENT`, `BOUNCE_PERMANENT`, `BOUNCE_TEMPORARY`,
   * `COMPLAINT`, `SES_THROTTLE`, `SES_ERROR`, `INVALID_CONTENT` or `INTERNAL_ERROR`; null if it did not fail.
   */
  failureCode: string | null;
  /** Description of the failure in English; null if the e-mail did not fail. */
  failureReason: string | null;
  /**
   * When the next attempt after a failed one is planned; null before the first attempt, and once the e-mail was sent
   * or has failed.
   */
  nextRetryAt: string | null;
  /** Id of the e-mail (`out_…`). */
  outboxId: string;
  /** Address of the recipient, masked: `j***@e***le.com`. */
  recipient: string;
  /** When the mail server or SES accepted the e-mail; null if it has not. It stays set if the e-mail bounces later. */
  sentAt: string | null;
  /** Status of the e-mail. */
  status: EmailStatus;
  /** Subject line of the e-mail. */
  subject: string;
}

/** Webhooks of the tenant, and the limit of the plan. */
export interface EndpointUsage {
  /** Maximum number of webhooks; null if the plan has no limit. */
  limit: number | null;
  /** Number of webhooks that the tenant has. */
  used: number;
}

/** What one request has erased. */
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
   * Number of events or e-mails that were not erased because a delivery is in flight. Repeat the request a few
   * seconds later.
   */
  in_flight: number;
  /** `cursor` of the request that continues the search; null if everything was searched. */
  next_cursor: string | null;
}

/** An event with its data and its deliveries. */
export interface Event {
  /** When the event was accepted. */
  created_at: string;
  /** Payload of the event, as it was published; null if the content was erased. */
  data: unknown;
  /** The deliveries of the event: one for each webhook, and further ones if it was replayed to other webhooks. */
  deliveries: Delivery[];
  /** When the content of the event was erased; null if it was not. */
  erased_at: string | null;
  /** Your own id for the event; null if none was given. */
  external_id: string | null;
  /** Id of the event (`evt_…`). */
  id: string;
  /** Whether it was created by a test call. */
  is_test: boolean;
  /** Number of the event within its subject, from 1; null if it has no subject. */
  sequence_number: number | null;
  /** What the event is about, as the publisher gave it; null if nothing was given. */
  subject: string | null;
  /** Type of the event, e.g. `invoice.paid`. */
  type: string;
}

/** Events to publish, at most 1,000. */
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
  /** When the event was accepted. */
  created_at: string;
  /** Number of webhooks that the event is delivered to. */
  deliveries: number;
  /** Your own id for the event; null if none was given. */
  external_id: string | null;
  /** Id of the event (`evt_…`). */
  id: string;
  /** Whether it was created by a test call. */
  is_test: boolean;
  /** Number of the event within its subject, from 1; null if it has no subject. */
  sequence_number: number | null;
  /** What the event is about, as the publisher gave it; null if nothing was given. */
  subject: string | null;
  /** Slug of the tenant. Present only if the operator lists the events of all tenants. */
  tenant?: string;
  /** Type of the event, e.g. `invoice.paid`. */
  type: string;
}

/** An event type: a name for events, with a description, an example and optionally a schema. */
export interface EventType {
  /**
   * Catalog that the event type is from: `email`, `agents`, `saas` and `operations` are built in, `operator` and
   * `tenant` have registered types.
   */
  catalog: string;
  /** Human-readable description; empty if there is none. */
  description: string;
  /** Example of the event's data. Test calls send it. */
  example: unknown;
  /** Whether the event type is archived: it is no longer offered to users, and its schema is not enforced. */
  is_archived: boolean;
  /** Custom JSON object, stored with the event type. */
  metadata: unknown;
  /** Name of the event type, e.g. `invoice.paid`. */
  name: string;
  /** JSON Schema that the event's data must match; null if any data is allowed. */
  schema: unknown;
}

/** Events of the current month, and the limit of the plan. */
export interface EventUsage {
  /** Maximum number of events per calendar month (UTC); null if the plan has no limit. */
  limit: number | null;
  /** When the next month starts (UTC). */
  resets_at: string;
  /** Number of events accepted this month; null if the plan has no limit, because they are then not counted. */
  used: number | null;
}

/** Health of the webhook, as seen by the node that answers. The circuit breaker is that of any node. */
export interface Health {
  /**
   * `closed`, `open` (it failed too often in a row, and attempts are suspended) or `half_open`
   * (one delivery is sent to test whether it works again).
   */
  circuit_breaker: CircuitBreakerState;
  /** Until when attempts are suspended; then one delivery is sent as a test. Null unless the circuit breaker is open. */
  circuit_open_until: string | null;
  /** Whether further deliveries wait in the store. */
  has_backlog: boolean;
  /** Number of attempts in flight. */
  in_flight: number;
  /**
   * `untried` (this node has not sent anything to it recently), `prompt`, `slow` (it responds slowly) or
   * `failing` (it responds with errors or not at all).
   */
  state: HealthState;
  /** Number of deliveries queued in memory of the node that answers. */
  waiting: number;
}

/** How a webhook responds. `untried`: this node has not sent anything to it recently. `prompt`: it responds quickly. `slow`: it responds slowly. `failing`: it responds with errors or not at all. */
export type HealthState = "untried" | "prompt" | "slow" | "failing";

/** Result of an import of addresses. */
export interface ImportedAddresses {
  /** Number of addresses that were not suppressed before. */
  added: number;
  /** Number of addresses in the request. */
  given: number;
}

/** Result of an import of dead letters. */
export interface ImportedDeadLetters {
  /** Number of dead letters that were imported. */
  imported: number;
  /** Number of dead letters that were in the store already. They were not written again. */
  present: number;
  /** Dead letters that were not imported, with the reason. */
  skipped: SkippedDeadLetter[];
}

/** Result of an import of keys. */
export interface ImportedKeys {
  /** Number of keys that were imported. */
  keys: number;
  /** Number of sources that were created. */
  sources: number;
}

/** What is wrong with one field of a request. */
export interface InvalidField {
  /** What is wrong there, and how to fix it. */
  detail: string;
  /** JSON pointer (RFC 6901) into the request body; empty if the error is not about a field of the body. */
  pointer: string;
}

/** Result of a rotation of the encryption key. */
export interface KeyRotation {
  /** Numbers of all keys in the key ring. */
  keys: number[];
  /** Number of the key that encrypts new secrets from now on. */
  newest: number;
  /** Number of stored secrets that were re-encrypted. */
  resealed: number;
}

/** Kind of delivery. `webhook`: events to webhooks. `dispatch`: receipts to the targets of their source. `email`: e-mails. */
export type Lane = "webhook" | "dispatch" | "email";

/** Status of the ledger of received webhooks. */
export interface Ledger {
  /** The newest checkpoint of any node; null if there is none. */
  checkpoint: Checkpoint | null;
  /** Number of lines in the ledger. */
  size: number;
}

/** Status of the ledger after a request for a checkpoint. */
export interface MadeCheckpoint extends Ledger {
  /** Whether a checkpoint was signed; false if nothing was added since the previous one. */
  is_new: boolean;
}

/** State of the move of a tenant. `copying` and `closing`: the tenant lives in the old cell, and the move can be taken back. `removing`: it lives in the new cell, and is removed from the old one. `done`: the move has ended. `taking_back`: it stays in the old cell, and its copy is removed. `taken_back`: the move was taken back. */
export type MoveState = "copying" | "closing" | "removing" | "done" | "taking_back" | "taken_back";

/** A new API key with its secret, which is not shown again. */
export interface NewApiKey extends ApiKey {
  /** The API key (`gk_…`), to be sent as `X-API-Key` or `Authorization: Bearer`. Store it: it is not shown again. */
  key: string;
}

/** A new source, with the secret that its receipts are signed with. */
export interface NewSource extends Source {
  /** Secret that dispatched receipts are signed with. Not shown again. */
  dispatch_secret: string;
}

/** A new webhook with its signing secret. */
export interface NewWebhook extends Webhook {
  /** Public key for receivers (`whpk_…`); null unless `secret_format` is `ed25519`. */
  public_key: string | null;
  /** The secret that deliveries are signed with. */
  secret: string;
  /** `base64` (the key is the base64 text after `whsec_`), `raw` (the text is the key) or `ed25519`. */
  secret_format: string;
}

/** A node: one process of the gateway. */
export interface Node {
  /** Number of these deliveries in each cell; empty for a gateway without cells. */
  cells: NodeCell[];
  /**
   * Names of settings that must be the same on all nodes, and that this node sets differently from the node that
   * answered.
   */
  differing_settings: string[];
  /** Number of deliveries that the node holds: in flight, or about to be. */
  held_deliveries: number;
  /** Number of the node. A restarted process is another node. */
  id: number;
  /** Whether this node answered the request. */
  is_self: boolean;
  /** When the node joined the gateway. */
  joined_at: string;
  /** When the node sent its last heartbeat. */
  last_seen_at: string;
  /** Name of the node. */
  name: string;
  /** When the first of these deliveries became due; null if the node holds none. */
  oldest_due_at: string | null;
  /** What the node does; empty for a node of an earlier version. */
  roles: NodeRole[];
  /** `alive`, `silent` (no heartbeat for 20 seconds) or `dead` (its deliveries were taken over). */
  state: NodeState;
  /** Version of the gateway that the node runs; null for an earlier version that does not report it. */
  version: string | null;
}

/** Deliveries of one cell that a node holds. */
export interface NodeCell {
  /** Number of deliveries of this cell that the node holds. */
  held_deliveries: number;
  /** Name of the cell. */
  name: string;
}

/** What a node does. `api`: serves the API. `ingest`: receives webhooks from partners. `worker`: delivers. */
export type NodeRole = "api" | "ingest" | "worker";

/** State of a node. `alive`: it sends heartbeats. `silent`: it has sent no heartbeat for 20 seconds. `dead`: its deliveries were taken over by other nodes. */
export type NodeState = "alive" | "silent" | "dead";

/** Channel for alerts. `url`: the webhook in `notify_url`. `slack`: `notify_slack_url`. `email`: `notify_emails`. */
export type NoticeChannel = "url" | "slack" | "email";

/** The addresses that notices about a tenant are sent to. */
export interface NoticeEmails {
  /** E-mail addresses; empty if no notices are sent by e-mail. */
  addresses: string[];
}

/** In which order events are delivered to a webhook. `best_effort`: in no guaranteed order. `per_subject`: the next event of a subject waits until the previous one is delivered or has failed permanently. */
export type Ordering = "best_effort" | "per_subject";

/** What is paused: the `webhook`, its `tenant`, or the `lane` for all tenants. */
export type PausedBy = "webhook" | "tenant" | "lane";

/** Estimated percentiles in milliseconds. Durations above ten minutes count as ten minutes. */
export interface Percentiles {
  /** Median, in milliseconds. */
  p50_ms: number;
  /** 95th percentile, in milliseconds. */
  p95_ms: number;
  /** 99th percentile, in milliseconds. */
  p99_ms: number;
}

/** The plan of a tenant, and what it has used of it. */
export interface PlanUsage {
  endpoints: EndpointUsage;
  events: EventUsage;
  /** Name of the plan, e.g. `unlimited`. */
  plan: string;
}

/** A link to the customer portal for one tenant, valid for a short time. */
export interface PortalLink {
  /** When the link expires. */
  expires_at: string;
  /** What the link may be used for: `read` and `manage`. */
  scopes: string[];
  /** Id of the tenant. */
  tenant_id: string;
  /** The token in the link. Also valid as `Authorization: Bearer` until it expires. */
  token: string;
  /** URL of the portal. Anyone who has it can use the portal until it expires. */
  url: string;
}

/** An accepted event. */
export interface PublishedEvent {
  /** When the event was accepted. */
  created_at: string;
  /** Number of webhooks that the event is delivered to. */
  deliveries: number;
  /** Id of the event (`evt_…`). */
  id: string;
  /** Type of the event, as it was published. */
  type: string;
}

/** Result of a purge. */
export interface Purged {
  /** Whether more dead letters match the filters; if so, call again. */
  has_more: boolean;
  /** Number of dead letters that were deleted; with `dry_run`, that would be. */
  purged: number;
}

/** The backlog of one lane. */
export interface Queue {
  /** How long the oldest pending delivery has been due, in seconds; 0 if none is due. */
  age_seconds: number;
  /** Number of deliveries that have not ended: the sum of `pending`, `in_flight` and `waiting`. */
  depth: number;
  /** Number of deliveries that a node holds: in flight, or about to be. */
  in_flight: number;
  /** Whether the lane is paused. */
  is_paused: boolean;
  /** Lane of the deliveries. */
  lane: Lane;
  /**
   * When the oldest pending delivery became due or, if none is due yet, when the first one will be; null if none is
   * pending.
   */
  oldest_due_at: string | null;
  /** Number of deliveries that no node holds, due now or later. */
  pending: number;
  /** Number of deliveries that wait for an earlier one of their subject. */
  waiting: number;
}

/** The backlog of each lane, and what is paused. */
export interface Queues {
  /** One queue per lane. */
  data: Queue[];
  /** Always null: the list has one page. */
  next_cursor: string | null;
  /** Ids of the tenants that are paused. */
  paused_tenants: string[];
  /** Ids of the webhooks that are paused. */
  paused_webhooks: string[];
}

/** A rate limit: a maximum number per window of time. */
export interface RateLimit {
  /** Maximum number per window. */
  count: number;
  /** Length of the window, e.g. `1s`. */
  per: string;
}

/** Rate limit per key for incoming webhooks. Default: none. */
export interface RateLimitInput {
  /** Maximum number per window. */
  count: number;
  /** Length of the window, e.g. `1s`. */
  per: string;
}

/** A webhook that was accepted from a partner, with its deliveries. */
export interface Receipt extends ReceiptSummary {
  /** One delivery per target, targets added by a later retry included. */
  deliveries: ReceiptDelivery[];
}

/** The delivery of a receipt to one target of its source. */
export interface ReceiptDelivery {
  /** Number of attempts so far, including those before a retry or replay. */
  attempts: number;
  /** When the delivery was created. */
  created_at: string;
  /** When the successful response arrived; null if the delivery has not succeeded. */
  delivered_at: string | null;
  /** Id of the delivery (`dlv_…`). */
  id: string;
  /** Why the delivery failed permanently, or else why the last attempt failed; null if it did not fail. */
  last_error: string | null;
  /** Code of the failure in `last_error`, e.g. `HTTP_503` or `TIMEOUT`; null if there is none. */
  last_error_code: string | null;
  /**
   * When the next attempt after a failed one is planned; null before the first attempt, and once the delivery has
   * ended.
   */
  next_retry_at: string | null;
  /** HTTP status of the last attempt's response; null if there was no response. */
  response_status: number | null;
  /** Status of the delivery. */
  status: DeliveryStatus;
  /** The current URL of the target; null if the source no longer has this target. */
  target_url: string | null;
}

/** A delivery of a receipt, with its attempts. */
export interface ReceiptDeliveryDetail extends ReceiptDelivery {
  /** All attempts, oldest first. */
  attempt_log: AttemptEntry[];
}

/** A receipt with the original request and all attempts to dispatch it. */
export interface ReceiptDetail extends ReceiptSummary {
  context: VerificationContext;
  /** One delivery per target, targets added by a later retry included. */
  deliveries: ReceiptDeliveryDetail[];
  /** When the content of the receipt was erased; null if it was not. */
  erased_at: string | null;
  /** The request headers, with secrets masked; null for old receipts, whose headers were not stored. */
  headers: Record<string, string> | null;
  /** The body as it was received, with secrets masked; null if the content was erased. */
  payload: unknown;
}

/** Proof that a receipt is in the ledger. */
export interface ReceiptProof {
  /** The checkpoint, as a signed note. */
  checkpoint: string;
  /** Format of the proof: `gancho-ledger-proof/1`. */
  form: string;
  /** The size of the ledger that the checkpoint covers, and the hashes from the line to its root (RFC 6962). */
  inclusion: unknown;
  /** The public key that signed it, as a JWK. */
  key: unknown;
  /** The line of the ledger: its number and its text. */
  line: unknown;
}

/** Status of a receipt, which is that of its worst delivery. `received`: not attempted yet. `dispatched`: delivered to every target. `failed`: an attempt failed, and another one follows. `dlq`: a delivery failed permanently. */
export type ReceiptStatus = "received" | "dispatched" | "failed" | "dlq";

/** A webhook that was accepted from a partner. */
export interface ReceiptSummary {
  /** Number of attempts of all deliveries together. */
  attempts: number;
  /** The partner's own id of the event; null if the webhook has none. */
  event_id: string | null;
  /** Id of the receipt (`rcp_…`). */
  id: string;
  /** Whether the webhook is a test event that the gateway created itself. */
  is_test: boolean;
  /** Id of the key that verified the webhook. */
  key_id: string;
  /**
   * Code and reason of the last failure of a delivery that has not succeeded, as `CODE: reason`; null if there is
   * none.
   */
  last_error: string | null;
  /** Name of the partner that sent the webhook. */
  partner: string;
  /** Size of the request body in bytes. */
  size: number;
  /** `received`, `dispatched`, `failed` (will be retried) or `dlq` (failed permanently). */
  status: ReceiptStatus;
  /**
   * Kind of event that the sender named, in a header such as `X-Shopify-Topic` or in the SNS message; null if it
   * named none.
   */
  topic: string | null;
  /** When the webhook was received. */
  ts_received: string;
}

/** An event that was published from SQL and rejected. */
export interface RejectedEvent {
  /** Error code, as `POST /v1/events` would have answered. */
  code: string;
  /** Payload of the event; null if it is not valid JSON. */
  data: unknown;
  /** Why the event was rejected, and how to fix it. */
  detail: string;
  /** Your own id for the event; null if none was given. */
  external_id: string | null;
  /** Id of the event (`evt_…`), which `gancho.publish` returned. */
  id: string;
  /** Idempotency key of the event; null if none was given. */
  idempotency_key: string | null;
  /** When `gancho.publish` was called. */
  published_at: string;
  /** When the event was rejected. */
  rejected_at: string;
  /** What the event is about, as the publisher gave it; null if nothing was given. */
  subject: string | null;
  /** Id of the tenant that the event was published for. */
  tenant_id: string;
  /** Type of the event. */
  type: string;
}

/** A webhook that was rejected. */
export interface Rejection {
  /** When the webhook was rejected. */
  at: string;
  /** Further details of the reason, in English; null if there are none. */
  detail: string | null;
  /** Request headers by name, with secrets masked. */
  headers: Record<string, string>;
  /** Name of the partner in the URL, as the sender wrote it, cut to 64 characters. */
  partner: string;
  /** Why the webhook was rejected, e.g. `signature_mismatch`, `stale_timestamp` or `unknown_key`. */
  reason: string;
  /** Size of the request body in bytes. */
  size: number;
  /** HTTP status of the response. */
  status: number;
}

/** What a reload has changed. */
export interface Reloaded {
  /** Changed settings that are now in force. */
  applied: string[];
  /** Changed settings that take effect when the node is restarted. */
  needs_restart: string[];
  /** SHA-256 of the policy pack, in hex. Null on a gateway that receives no webhooks. */
  policy_hash: string | null;
}

/** What to replay: at least one condition, unless `all` is true. */
export interface ReplayFilterInput {
  /** Only events with these ids, or their deliveries. */
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

/** A background job that sends past deliveries or events again. */
export interface ReplayJob {
  /** When the replay was created. */
  created_at: string;
  /** Number of deliveries sent again. */
  done: number;
  /** Whether the replay only counts what would be sent. */
  dry_run: boolean;
  /** Why the replay as a whole failed; null if it did not. */
  error: string | null;
  /** Number of deliveries that could not be sent again. */
  failed: number;
  /** When the replay ended; null if it has not ended. */
  finished_at: string | null;
  /** Id of the replay (`rpl_…`). */
  id: string;
  /** False if counting stopped early: `total` is then a lower bound. */
  is_total_exact: boolean;
  /** What is sent again. */
  of: ReplayKind;
  /**
   * Outcomes of the deliveries that were sent again. Null if they were not counted: in lists, and in responses that
   * create or cancel a replay.
   */
  outcomes: ReplayOutcomeCounts | null;
  /** Maximum deliveries per second. */
  rate: number;
  /** Number of deliveries skipped because they are in flight or their webhook is deleted or disabled. */
  skipped: number;
  /** When the replay started; null if it has not started. */
  started_at: string | null;
  /** State of the replay. */
  state: ReplayState;
  /** Slug of the tenant. Present only if the operator reads replays of all tenants. */
  tenant?: string;
  /** Id of the tenant; null for a replay of the operator over all tenants. */
  tenant_id: string | null;
  /** Id of the webhook that everything is sent to; null if deliveries go to their original targets. */
  to: string | null;
  /** Number of deliveries to send; 0 until they are counted. */
  total: number;
}

/** What a replay sends again. `deliveries`: past deliveries. `events`: events, to another webhook. `dead_letters`: dead letters. */
export type ReplayKind = "deliveries" | "events" | "dead_letters";

/** Current states of the deliveries of a replay. */
export interface ReplayOutcomeCounts {
  /** Number of deliveries that succeeded. */
  delivered: number;
  /** Number of deliveries that failed permanently again. */
  failed: number;
  /**
   * Number of deliveries that were counted: the first 5,000 that were sent. Those that have been pruned since are in
   * none of the counts.
   */
  of: number;
  /** Number of deliveries that are pending, in flight or waiting for a retry. */
  waiting: number;
}

/** State of a replay. `pending`: it has not started yet. `running`: it is sending. `done`: it has sent everything. `canceled`: it was stopped. `failed`: it could not continue, see `error`. */
export type ReplayState = "pending" | "running" | "done" | "canceled" | "failed";

/** How long the data of a tenant is stored, as durations such as `30d`. Null for the operator's default. */
export interface Retention {
  /** How long dead letters are stored, before they are archived. */
  dead_letters: string | null;
  /** How long e-mails are stored, after they were sent or have failed. */
  emails: string | null;
  /** How long events are stored with their deliveries, after those have ended. */
  events: string | null;
}

/** How long what the tenant has sent is stored. Default: set by the operator. */
export interface RetentionInput {
  /** How long dead letters are stored, before they are archived: from `1h` to `3660d`. Applies to dead letters from then on. Default: `dead_letter_ttl` of the operator. */
  dead_letters?: string | null;
  /** How long e-mails are stored, after they were sent or have failed: from `1h` to `3660d`. Default: `retention` of the operator. */
  emails?: string | null;
  /** How long events are stored with their deliveries, after those have ended: from `1h` to `3660d`. Default: `retention` of the operator. */
  events?: string | null;
}

/** Retry schedule: either `schedule`, or `base`, `max` and `attempts`. */
export interface Retry {
  /** Maximum number of attempts. Absent if there is a `schedule`. */
  attempts?: number;
  /** First delay, e.g. `1s`; each following delay is twice as long. Absent if there is a `schedule`. */
  base?: string;
  /** Maximum delay, e.g. `60s`. Absent if there is a `schedule`. */
  max?: string;
  /** Delays between attempts, e.g. `1s`; one fewer than the number of attempts. Absent if the schedule has a `base`. */
  schedule?: string[];
}

/** Retry schedule of dispatches. Default: 10 attempts, with delays from 2s doubling up to 32s. */
export interface RetryInput {
  /** Maximum number of attempts. */
  attempts?: number;
  /** First delay, e.g. `1s`; each following delay is twice as long. */
  base?: string;
  /** Maximum delay between attempts, e.g. `60s`. */
  max?: string;
  /** Delays between attempts, e.g. `["1s", "5m"]`; one fewer than the number of attempts. */
  schedule?: string[];
}

/** The new signing secret of a webhook. */
export interface RotatedSecret {
  /** Until when deliveries are also signed with the previous secret; null without an overlap. */
  old_secret_until: string | null;
  /** Public key for receivers (`whpk_…`); null unless `secret_format` is `ed25519`. */
  public_key: string | null;
  /** The new secret. */
  secret: string;
  /** `base64` (the key is the base64 text after `whsec_`), `raw` (the text is the key) or `ed25519`. */
  secret_format: string;
}

/** A key that encrypts stored secrets. */
export interface SealingKey {
  /** Number of the key. */
  number: number;
  /** Number of stored secrets that are encrypted with this key. */
  records: number;
}

/** The keys that encrypt stored secrets. The keys themselves are never shown. */
export interface SealingKeys {
  /** The keys, by number. */
  keys: SealingKey[];
}

/** An object that a search has found. */
export interface SearchMatch {
  /** When the object was created; null for sources, tenants, webhooks and event types. */
  created_at: string | null;
  /** Id of the object; for an event type, its name. */
  id: string;
  /** Whether the search text is this id. */
  is_id: boolean;
  /** Name or URL of the object, or the type of its event; null if it has none. */
  name: string | null;
  /** Name of the partner, for a source or a receipt; null otherwise. */
  partner: string | null;
  /** Slug of the tenant that the object belongs to; null if it belongs to none. */
  tenant: string | null;
  /** Type of the object. */
  type: SearchMatchType;
}

/** Type of an object that a search has found. */
export type SearchMatchType = "event" | "delivery" | "webhook" | "email" | "source" | "receipt" | "replay" | "tenant" | "api_key" | "event_type";

/** What a search has found. */
export interface SearchResult {
  /** The objects that were found. */
  data: SearchMatch[];
  /** Whether everything was searched. If not, there may be matches that `data` does not have. */
  is_complete: boolean;
}

/** Comparison of one part of a signed request. */
export interface SignaturePart {
  /** What differs and what to check, in English; empty if nothing differs. */
  hint: string;
  /** Part that is compared: `id`, `timestamp`, `body` or `secret`. */
  part: string;
  /**
   * Result of the comparison: `same`, `different`, `assumed` (not given, and taken as it was sent), `unsigned` (the
   * signature does not cover it) or `unknown`.
   */
  state: string;
}

/** Comparison of the signature that a receiver got with what was sent. */
export interface SignatureReport {
  /** The parts that differ from what was sent: `id`, `timestamp`, `body`, `secret`. */
  differs: string[];
  /** Whether the signature is valid for what was received. */
  is_valid: boolean;
  /** The comparison part by part: `id`, `timestamp`, `body` and `secret`. */
  parts: SignaturePart[];
}

/** A dead letter that was not imported. */
export interface SkippedDeadLetter {
  /** Id of the dead letter: that of its delivery (`dlv_…`). */
  id: string;
  /** Index of the dead letter in the request, from 0. */
  index: number;
  /** Why the dead letter was not imported, in English. */
  reason: string;
}

/** A source: a partner that posts webhooks to the gateway. */
export interface Source {
  /** When the source was created. */
  created_at: string;
  /** JSON pointer to the event id in the body; null if the preset defines it. */
  event_id_pointer: string | null;
  /** Whether a verify token for Meta's subscription handshake is set. */
  has_verify_token: boolean;
  /** Id of the source (`src_…`). */
  id: string;
  /** Whether webhooks from the partner are accepted. */
  is_active: boolean;
  /** Name of the partner, which is a part of the URL that it posts to. */
  partner: string;
  /**
   * How the partner signs, as it was configured: the name of a preset, e.g. `"stripe"`, or an object with its
   * settings.
   */
  preset: unknown;
  /** Rate limit per key for incoming webhooks; null if there is none. */
  rate_limit: RateLimit | null;
  /** Retry schedule of dispatches; null for the default schedule. */
  retry: Retry | null;
  /** JSON Schema that request bodies must match; null if any body is accepted. */
  schema: unknown;
  /** URLs that receipts are dispatched to. */
  targets: string[];
  /** When the source was last changed. */
  updated_at: string;
}

/** A source with its counters. */
export interface SourceCounts extends Source {
  /** Totals of all nodes since the source was created. The last seconds may be missing. */
  counts: SourceTotals;
}

/** A key of a source, without its secret. */
export interface SourceKey {
  /** When the key was created or last replaced. */
  created_at: string;
  /** Encoding of the secret: `raw`, `base64` or `hex`. `base64` for a public key. */
  encoding: string;
  /** Whether the key is valid now. */
  is_valid: boolean;
  /** Id of the key, unique among the keys of the source. */
  key_id: string;
  /** The key is not valid from this time on; null if there is no such limit. */
  not_after: string | null;
  /** The key is not valid before this time; null if there is no such limit. */
  not_before: string | null;
  /** The partner's public key, in base64; null for `hmac`. */
  publicKey: string | null;
  /** Signature scheme: `hmac` or `ed25519`. */
  scheme: string;
}

/** Counters of a source since it was created. */
export interface SourceTotals {
  /**
   * Number of webhooks that reused an event id with a different body. They are stored as dead letters with the code
   * `ID_CLASH`.
   */
  clashes: number;
  /** Number of accepted webhooks. */
  received: number;
  /** Number of duplicates, which were answered like the original. */
  repeats: number;
}

/** Figures of deliveries over a range of time, up to now. */
export interface Stats {
  /** Consecutive bins, oldest first, including those without deliveries. */
  bins: StatsBin[];
  /** Length of the range, e.g. `24h`. */
  range: string;
  /** Start of the first bin. */
  since: string;
  /** Length of each bin, e.g. `15m`. */
  step: string;
  /** Figures of the whole range. */
  totals: DeliveryFigures;
  /** End of the last bin, which is not over yet. */
  until: string;
}

/** Figures of one bin of a range. */
export interface StatsBin extends DeliveryFigures {
  /** When the bin begins. */
  at: string;
}

/** An address that a tenant's e-mails are not sent to. */
export interface Suppression {
  /** E-mail address, in lower case. */
  address: string;
  /** Diagnostic text of the bounce or complaint; null if there is none. */
  detail: string | null;
  /** Why the address is suppressed. */
  reason: SuppressionReason;
  /** Since when the address has been suppressed. */
  since: string;
  /** Slug of the tenant. Present only if the operator lists the addresses of all tenants. */
  tenant?: string;
}

/** Why an address is suppressed. `bounce`: an e-mail to it bounced permanently. `complaint`: the recipient complained. `manual`: it was added by hand. */
export type SuppressionReason = "bounce" | "complaint" | "manual";

/** A tenant, which owns webhooks, events and e-mails. */
export interface Tenant {
  /** When the tenant was created. */
  created_at: string;
  /** Profile of webhooks that do not name one. */
  default_profile: string;
  /** Id of the tenant (`ten_…`). */
  id: string;
  /** Display name. */
  name: string;
  /** Name of the plan, which limits webhooks and events per month. */
  plan: string;
  /** Maximum rate of publishing; null for the operator's default. */
  publish_rate: RateLimit | null;
  retention: Retention;
  /** Short name of the tenant, which is unique and never changes. Used in paths and in `X-Tenant`. */
  slug: string;
  /** Whether only registered event types can be published. */
  strict_event_types: boolean;
}

/** Metadata of a tenant, for the operator's own use. */
export interface TenantMetadata {
  /** Custom JSON object; empty if none was set. */
  metadata: unknown;
}

/** The move of a tenant from one cell to another. */
export interface TenantMove {
  /** How long writes for the tenant were blocked, in milliseconds; null before that. */
  closed_ms: number | null;
  /** Rows that were copied to the new cell so far, without those that changed meanwhile. */
  copied_rows: number;
  /** Why the move failed; null if it did not. A failed move is retried automatically. */
  error: string | null;
  /** Name of the cell that the tenant moves from. */
  from: string;
  /** Rows that were removed so far: from the old cell, or the copies if the move is taken back. */
  removed_rows: number;
  /** Seconds since the move began, or until it ended. */
  seconds: number;
  /** How far the move is. */
  state: MoveState;
  /** Name of the cell that the tenant moves to. */
  to: string;
}

/** Figures of one tenant. */
export interface TenantStats {
  /** Display name of the tenant. */
  name: string;
  /** Slug of the tenant. */
  slug: string;
  /** Id of the tenant. */
  tenant_id: string;
  /** Figures of the range, in all lanes. */
  totals: DeliveryFigures;
}

/** Result of a test delivery. */
export interface TestOutcome {
  /** The attempt in detail; null if none was made in time. */
  attempt: AttemptEntry | null;
  /** Id of the test delivery (`dlv_…`). */
  delivery_id: string;
  /** Why the test failed; null if it succeeded. */
  error: string | null;
  /** Id of the sample event (`evt_…`). */
  event_id: string;
  /** Type of the sample event. */
  event_type: string;
  /** Duration of the attempt in milliseconds; null if none was made in time. */
  latency_ms: number | null;
  /** The first 16 KiB of the response body, as text; null if there was no response. */
  response_body: string | null;
  /** HTTP status of the response; null if there was no response. */
  response_status: number | null;
  /** Status of the delivery after the first attempt. */
  status: DeliveryStatus;
  /** Whether the webhook responded with 2xx. */
  success: boolean;
}

/** A person who logs in to the dashboard. */
export interface User {
  /** When the user was created. */
  created_at: string;
  /** Name that the user logs in with. Unique; never changes. */
  name: string;
  /** When the password was last set. */
  password_changed_at: string;
  /** What the user may do. */
  role: UserRole;
}

/** What a user may do. `read_only`: read everything but secrets. `support`: also retry, replay, test, pause and resume. `operator`: everything. */
export type UserRole = "read_only" | "support" | "operator";

/** The facts that the policy decided on. */
export interface VerificationContext {
  req: VerifiedRequest;
  webhook: VerifiedWebhook;
}

/** The request, as the policy saw it. */
export interface VerifiedRequest {
  /** HTTP method of the request. */
  method: string;
  /** Path that the webhook was posted to. */
  path: string;
}

/** Who sent the webhook, as the policy saw it. */
export interface VerifiedWebhook {
  /** Id of the key that verified the webhook. */
  key_id: string;
  /** Name of the partner that sent the webhook. */
  partner: string;
  /** Always true: only verified webhooks become receipts. */
  verified: boolean;
}

/**
 * Why a delivery is waiting. `attempt`: an attempt is in flight or about to start. `retry`: the next attempt is not
 * due yet. `schedule`: its `deliver_at` has not come yet. `lane_resume`, `tenant_resume` and `webhook_resume`: the
 * lane, tenant or webhook is paused. `circuit_breaker`: the endpoint failed too often in a row, and attempts are
 * suspended. `rate_limit`: the endpoint's rate limit is used up. `in_flight_limit`: the endpoint has as many requests
 * in flight as its `max_in_flight` allows. `earlier_delivery`: an earlier delivery of the same subject comes first.
 * `backlog`: older deliveries, or those of other tenants, come first.
 */
export type WaitReason = "attempt" | "retry" | "schedule" | "lane_resume" | "tenant_resume" | "webhook_resume" | "circuit_breaker" | "rate_limit" | "in_flight_limit" | "earlier_delivery" | "backlog";

/** What an unfinished delivery is waiting for. */
export interface WaitingFor {
  /** Why the delivery is waiting. */
  reason: WaitReason;
  /** When the wait ends; null if that is not known. */
  until: string | null;
}

/** An endpoint of a tenant: a URL that events are delivered to, with its settings and its health. */
export interface Webhook {
  /** When the webhook was created. */
  created_at: string;
  /**
   * Why the gateway disabled the webhook: `gone` (it responded with 410) or `failing` (its deliveries failed for too
   * long); null if the gateway did not disable it.
   */
  disabled_reason: string | null;
  /** Event types that the webhook is subscribed to: names, `invoice.*` for a prefix, or `*` for all. */
  events: string[];
  /** Your own id for the webhook; null if it has none. */
  external_id: string | null;
  /** Since when all attempts have failed; null while deliveries succeed. */
  failing_since: string | null;
  /** Custom headers of every delivery, by name. The values are masked. */
  headers: Record<string, string>;
  health: Health;
  /** Id of the webhook (`wh_…`). */
  id: string;
  /** Whether events are delivered to the webhook. If false, it is disabled. */
  is_active: boolean;
  /** Whether the webhook itself is paused: its deliveries wait until it is resumed. */
  is_paused: boolean;
  /** Maximum number of concurrent deliveries over all nodes; null for the default of 64 on each node. */
  max_in_flight: number | null;
  /** Custom JSON object, stored with the webhook. */
  metadata: unknown;
  /** Display name; empty if none was given. */
  name: string;
  /** Until when deliveries are also signed with a previous secret; null if there is no such secret. */
  old_secret_until: string | null;
  /** In which order events are delivered. */
  ordering: Ordering;
  /**
   * What holds the deliveries of the webhook: the pause of the `webhook`, of its `tenant`, or of the `lane` for all
   * tenants; null if nothing is paused.
   */
  paused_by: PausedBy | null;
  /** Profile, which defines the format, signature, timeout and retry schedule of deliveries. */
  profile: string;
  /** Rate limit of deliveries; null if there is none. */
  rate_limit: RateLimit | null;
  /** Retry schedule; null for the profile's default. */
  retry: Retry | null;
  /** Slug of the tenant. Present only if the operator lists the webhooks of all tenants. */
  tenant?: string;
  /** Id of the tenant that the webhook belongs to. */
  tenant_id: string;
  /** Time limit of an attempt, e.g. `15s`; null for the profile's default. */
  timeout: string | null;
  /** When the webhook was last changed. */
  updated_at: string;
  /** URL that events are delivered to. */
  url: string;
}

/** The signing secret of a webhook. */
export interface WebhookSecret {
  /** Until when deliveries are also signed with each of the previous secrets, newest first; empty if there are none. */
  old_secrets_until: string[];
  /** Public key for receivers (`whpk_…`); null unless `secret_format` is `ed25519`. */
  public_key: string | null;
  /** The current secret. */
  secret: string;
  /** `base64` (the key is the base64 text after `whsec_`), `raw` (the text is the key) or `ed25519`. */
  secret_format: string;
}

/** Figures of one webhook over the last 24 hours. */
export interface WebhookStats {
  /** The last 24 hours by hour, oldest first. */
  bins: StatsBin[];
  /** Display name of the webhook, which may be empty; null if the webhook was deleted. */
  name: string | null;
  /** Id of the tenant that the webhook belongs to. */
  tenant_id: string;
  /** Figures of the last 24 hours. */
  totals: DeliveryFigures;
  /** Id of the webhook (`wh_…`). */
  webhook_id: string;
}

/** What `alerts.listHistory` takes. */
export interface ListAlertHistoryOptions {
  /** Maximum number of items per page. Default: 50. */
  limit?: number;
}

/** What `alerts.createSilence` takes. */
export interface CreateAlertSilenceOptions {
  /** How long the silence lasts, e.g. `2h`; at most 90 days. */
  duration: string;
  /** Why the alerts are silenced, for other people to read. */
  comment?: string | null;
  /** Rule to silence. Default: every rule. */
  rule?: AlertRule | null;
  /** Subject to silence, as in the `subject` of an alert. Default: every subject. */
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
  /** Display name, to tell keys apart. Default: empty. */
  name?: string;
  /** What the key may be used for: `publish`, `read`, `manage`. Default: all of them. */
  scopes?: string[];
}

/** What `audit.list` takes. */
export interface ListAuditEntriesOptions {
  /** Maximum number of items per page. Default: 50. */
  limit?: number;
  /** Only actions of this kind of caller. Operator only. */
  actor_kind?: ActorKind;
  /** Only actions of the user with this name, or of the API key with this id. Operator only. */
  actor?: string;
  /** Only this operation: its `operationId`, or `log_in`. */
  operation?: string;
  /** Only actions on the object with this id or name. */
  resource?: string;
  /** Only actions that were `done`, or only those that were `refused`. */
  outcome?: AuditOutcome;
  /** Only actions at or after this time. */
  since?: string | Date;
  /** Only actions before this time. */
  until?: string | Date;
}

/** What `cells.add` takes. */
export interface AddCellOptions {
  /** Name of the cell: lower-case letters, digits and `-`. Unique; cannot be changed. */
  name: string;
  /** URL of the database, e.g. `postgres://user:password@host:5432/database?sslmode=require`. `schema=` selects a schema of it. Never returned. */
  url: string;
}

/** What `cells.remove` takes. */
export interface RemoveCellOptions {
  /** `true` to remove a cell that does not respond. Events that were published with SQL and wait in it are lost. */
  lost?: boolean;
}

/** What `cells.update` takes. */
export interface UpdateCellOptions {
  /** `true`: drain the cell, so that it gets no new tenants. Tenants that live in it stay. */
  is_draining: boolean;
}

/** What `cells.listTenants` takes. */
export interface ListCellTenantsOptions {
  /** Maximum number of items per page. Default: 50. */
  limit?: number;
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
  /** Only deliveries that failed with this code, e.g. `TIMEOUT`: at their last attempt, or when they were given up. */
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
  /** Only deliveries that failed with this code, e.g. `TIMEOUT`: at their last attempt, or when they were given up. */
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
  /** Approximate maximum of events per second. Beyond it, a sample of the deliveries is shown, each with all of its events, and the rest is counted by `missed`. Default: no limit. */
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
  /** Only dead letters with this failure code, e.g. `HTTP_503`. Canceled deliveries are included only with `CANCELED`. */
  code?: string;
  /** Only deliveries that became dead letters at or after this time. */
  since?: string | Date;
  /** Only deliveries that became dead letters before this time. */
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
  /** Only dead letters with this failure code, e.g. `HTTP_503`. Canceled deliveries are included only with `CANCELED`. */
  code?: string;
  /** Only deliveries that became dead letters at or after this time. */
  since?: string | Date;
  /** Only deliveries that became dead letters before this time. */
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
  /** Only dead letters with this failure code, e.g. `HTTP_503`. Canceled deliveries are included only with `CANCELED`. */
  code?: string;
  /** Only deliveries that became dead letters at or after this time. */
  since?: string | Date;
  /** Only deliveries that became dead letters before this time. */
  until?: string | Date;
}

/** What `deadLetters.importLetters` takes. */
export interface ImportDeadLettersOptions {
  /** Dead letters, as `GET /v1/dlq/export` writes them, or archived ones. */
  letters: DeadLetterInput[];
}

/** What `deadLetters.replayAll` takes. */
export interface ReplayDeadLettersOptions {
  /** Only dead letters with this failure code, e.g. `HTTP_503`. Canceled deliveries are included only with `CANCELED`. */
  code?: string;
  /** `true` to count what would be sent, without sending it. */
  dry_run?: boolean;
  /** Only dead letters of this lane. */
  lane?: Lane;
  /** Only dead letters of this partner, also if its source was deleted. Operator only. */
  partner?: string;
  /** Maximum deliveries per second. Default: 100. */
  rate?: number;
  /** Only deliveries that became dead letters at or after this time. */
  since?: string | Date;
  /** Only dead letters of this tenant (slug or id). Operator only. */
  tenant?: string;
  /** Id of another webhook of the same tenant to send to, instead of the original one. Only dead letters of the lane `webhook` go there, and each is removed once its new delivery is stored. */
  to?: string;
  /** Only deliveries that became dead letters before this time. */
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
  /** Only dead letters with this failure code, e.g. `HTTP_503`. Canceled deliveries are included only with `CANCELED`. */
  code?: string;
  /** Only deliveries that became dead letters at or after this time. */
  since?: string | Date;
  /** Only deliveries that became dead letters before this time. */
  until?: string | Date;
}

/** What `deadLetters.replay` takes. */
export interface ReplayDeadLetterOptions {
  /** Id of another webhook of the same tenant to send to, instead of the original one. The dead letter is removed once the new delivery is stored. */
  to?: string;
}

/** What `emails.send` takes. */
export interface SendEmailOptions {
  /** Sender: `shop@example.com` or `Shop <shop@example.com>`. */
  from: string;
  /** Recipient. An e-mail has exactly one; send several e-mails to reach several recipients. */
  to: string;
  /** Subject line of the e-mail; may be empty. */
  subject: string;
  /** Attachments, at most 10 MiB in total. */
  attachments?: AttachmentInput[] | null;
  /** Your own id for the e-mail. Included in every event about it. */
  externalId?: string | null;
  /** Custom headers, e.g. `List-Unsubscribe`. Headers that the gateway sets itself are rejected. */
  headers?: Record<string, string> | null;
  /** HTML body. At least one of `html` and `text` is required. */
  html?: string | null;
  /** Address that replies go to. Default: the sender. */
  replyTo?: string | null;
  /** Plain-text body. At least one of `html` and `text` is required. */
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
  /** Your current password. */
  current_password: string;
  /** Your new password, at least 12 characters. */
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
  /** Why the deliveries are paused, for other people to read. It is recorded in the audit log. */
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
  /** `true` to count what would be sent, without sending it. */
  dry_run?: boolean;
  /** What to replay: at least one condition, unless `all` is true. */
  filter?: ReplayFilterInput;
  /** `true` for only those events that the webhook in `to` is subscribed to and that were not sent to it yet. Requires `of: events`. */
  missing?: boolean;
  /** What to replay. `deliveries` (default) are sent again to their webhook; `events` are sent to the webhook in `to`, even if it was created later. */
  of?: "deliveries" | "events";
  /** Maximum deliveries per second. Default: 100. */
  rate?: number;
  /** Id of the webhook to send to, instead of the original one. Required with `of: events`. */
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
  /** Whether webhooks from the partner are accepted. Default: `true`. */
  is_active?: boolean;
  /** How the partner signs: `"partner"` (default), `"standard"`, `"stripe"`, `"github"`, `"slack"`, `"shopify"`, `"meta"`, `"microsoft"`, `{"sns": {"topics": ["arn:aws:sns:…"]}}` (Amazon SNS, with the accepted topics), `{"generic": {…}}` or `{"token": {"header": …}}`. */
  preset?: unknown;
  /** Rate limit per key for incoming webhooks. Default: none. */
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
  /** Whether webhooks from the partner are accepted. Default: `true`. */
  is_active?: boolean;
  /** How the partner signs: `"partner"` (default), `"standard"`, `"stripe"`, `"github"`, `"slack"`, `"shopify"`, `"meta"`, `"microsoft"`, `{"sns": {"topics": ["arn:aws:sns:…"]}}` (Amazon SNS, with the accepted topics), `{"generic": {…}}` or `{"token": {"header": …}}`. */
  preset?: unknown;
  /** Rate limit per key for incoming webhooks. Default: none. */
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
  /** `true` to count what would be sent, without sending it. */
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
  /** Name of the plan, which limits webhooks and events per month. Default: `unlimited`. */
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
  /** Name of the plan, which limits webhooks and events per month. Default: `unlimited`. */
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
  /** Display name, to tell keys apart. Default: empty. */
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
  /** Name of the cell that the tenant moves to. */
  cell: string;
}

/** What `tenants.replaceNoticeEmails` takes. */
export interface ReplaceNoticeEmailsOptions {
  /** E-mail addresses, at most 10. An empty list stops the e-mails. */
  addresses: string[];
}

/** What `tenants.pause` takes. */
export interface PauseTenantOptions {
  /** Why the deliveries are paused, for other people to read. It is recorded in the audit log. */
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
  /** Password, at least 12 characters. Never returned. */
  password: string;
}

/** What `users.update` takes. */
export interface UpdateUserOptions {
  /** A new password: at least 12 characters. Never returned. */
  password?: string;
  /** What the user may do: `read_only` reads everything but secrets; `support` also retries, replays, tests, pauses and resumes; `operator` does everything. */
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
  /** Maximum number of concurrent deliveries over all nodes. Default: 64 on each node. */
  max_in_flight?: number | null;
  /** Custom JSON object, stored with the webhook. */
  metadata?: Record<string, unknown>;
  /** Display name, to tell webhooks apart. */
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
  /** Maximum number of items per page. Default: 500. */
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
  /** Id of the webhook to test. */
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
  /** Maximum number of concurrent deliveries over all nodes. Default: 64 on each node. */
  max_in_flight?: number | null;
  /** Custom JSON object, stored with the webhook. */
  metadata?: Record<string, unknown>;
  /** Display name, to tell webhooks apart. */
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
  /** Maximum number of concurrent deliveries over all nodes. Default: 64 on each node. */
  max_in_flight?: number | null;
  /** Custom JSON object, stored with the webhook. */
  metadata?: Record<string, unknown>;
  /** Display name, to tell webhooks apart. */
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
  /** Only deliveries that failed with this code, e.g. `TIMEOUT`: at their last attempt, or when they were given up. */
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
  /** Why the deliveries are paused, for other people to read. It is recorded in the audit log. */
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
