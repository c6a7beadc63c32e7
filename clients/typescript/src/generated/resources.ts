// Generated from docs/openapi.json by clients/generate. Do not edit.

import { Resource, path } from "../resource.js";
import type { Pages } from "../pages.js";
import type { Transport } from "../transport.js";
import type * as types from "./types.js";

/** Conditions of the gateway that need a person, and silences. */
export class Alerts extends Resource {
  /**
   * List alerts.
   *
   * The gateway evaluates the rules itself, on one of the nodes. The same rules are in `ops/prometheus/rules.yml`.
   *
   * Operator only.
   */
  list(): Pages<types.Alert> {
    return this._list<types.Alert>({ method: "GET", url: "/v1/alerts" });
  }

  /**
   * List past alerts.
   *
   * Alerts that fired and were resolved in the last 90 days, silenced ones included.
   *
   * Operator only.
   */
  listHistory(options: types.ListAlertHistoryOptions = {}): Pages<types.AlertChange> {
    return this._list<types.AlertChange>({ method: "GET", url: "/v1/alerts/history", query: options });
  }

  /**
   * List silences.
   *
   * Operator only.
   */
  listSilences(): Pages<types.AlertSilence> {
    return this._list<types.AlertSilence>({ method: "GET", url: "/v1/alerts/silences" });
  }

  /**
   * Silence alerts.
   *
   * Silenced alerts are evaluated and recorded, but not sent.
   *
   * Operator only.
   *
   * @example gancho.alerts.createSilence({"duration": "30s"})
   */
  async createSilence(options: types.CreateAlertSilenceOptions): Promise<types.AlertSilence> {
    return this._call<types.AlertSilence>({ method: "POST", url: "/v1/alerts/silences", body: options, required: ["comment", "created_by", "id", "until"] });
  }

  /**
   * End a silence.
   *
   * Operator only.
   */
  async deleteSilence(silenceId: string): Promise<void> {
    return this._call<void>({ method: "DELETE", url: `/v1/alerts/silences/${path(silenceId)}` });
  }

  /**
   * Send a test alert.
   *
   * Sends a message to `notify_url`, `notify_slack_url` and `notify_emails`, as far as they are set.
   *
   * Operator only.
   */
  async test(): Promise<types.AlertTest> {
    return this._call<types.AlertTest>({ method: "POST", url: "/v1/alerts/test", required: ["channels"] });
  }
}

/** API keys of a tenant. */
export class ApiKeys extends Resource {
  /**
   * List the tenant's own API keys.
   *
   * Required scope: `read`.
   */
  list(options: types.ListApiKeysOptions = {}): Pages<types.ApiKey> {
    return this._list<types.ApiKey>({ method: "GET", url: "/v1/api-keys", takesTenant: true, query: options });
  }

  /**
   * Create an API key for your own tenant.
   *
   * A key can have only scopes that the caller has: a portal link has `read` and `manage`, so its keys cannot publish. Default: all scopes of the caller.
   *
   * Required: a portal link with the scope `manage`, or the operator token with `X-Tenant`.
   *
   * @example gancho.apiKeys.create({"name": "billing", "scopes": ["publish"]})
   */
  async create(options: types.CreateApiKeyOptions = {}): Promise<types.NewApiKey> {
    return this._call<types.NewApiKey>({ method: "POST", url: "/v1/api-keys", takesTenant: true, body: options, required: ["created_at", "id", "name", "scopes", "tenant_id", "key"] });
  }

  /**
   * Revoke an API key of your own tenant.
   *
   * Keys with scopes that the caller lacks, such as those that publish, are left to the operator. A revoked key stays in the list for 90 days.
   *
   * Required: a portal link with the scope `manage`, or the operator token with `X-Tenant`.
   */
  async revoke(keyId: string): Promise<void> {
    return this._call<void>({ method: "DELETE", url: `/v1/api-keys/${path(keyId)}`, takesTenant: true });
  }
}

/** Who changed what, or tried to. */
export class Audit extends Resource {
  /**
   * List audit log entries.
   *
   * Changes of configuration, keys, secrets and pauses, replays, and logins, done or refused. Publishing is not part of it, nor are retries by API keys. A tenant sees the actions on its own data; users of the operator are not named there, and their reasons are left out.
   *
   * A page scans a limited number of entries, so with a filter it may have fewer items than `limit`, even none: continue until `next_cursor` is null.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  list(options: types.ListAuditEntriesOptions = {}): Pages<types.AuditEntry> {
    return this._list<types.AuditEntry>({ method: "GET", url: "/v1/audit", takesTenant: true, query: options });
  }
}

/** The databases of a gateway that has several. Operator only. */
export class Cells extends Resource {
  /**
   * List cells.
   *
   * Lists the databases of the gateway. Each tenant lives in one of them. `is_available` is what the node that answers sees.
   *
   * Operator only.
   */
  list(): Pages<types.Cell> {
    return this._list<types.Cell>({ method: "GET", url: "/v1/cells" });
  }

  /**
   * Add a cell.
   *
   * Creates the tables in an empty PostgreSQL database and uses it for new tenants. All nodes use it within seconds. The URL is stored encrypted.
   *
   * Operator only.
   *
   * @example gancho.cells.add({"name": "acme", "url": "https://example.com/hooks"})
   */
  async add(options: types.AddCellOptions): Promise<types.Cell> {
    return this._call<types.Cell>({ method: "POST", url: "/v1/cells", body: options, required: ["is_available", "is_draining", "is_home", "name", "tenants"] });
  }

  /**
   * Remove a cell.
   *
   * The cell must be draining, and no tenant may live in it. All nodes close it within seconds. Its database stays as it is.
   *
   * Operator only.
   */
  async remove(cell: string, options: types.RemoveCellOptions = {}): Promise<void> {
    return this._call<void>({ method: "DELETE", url: `/v1/cells/${path(cell)}`, query: options });
  }

  /**
   * Update a cell.
   *
   * Operator only.
   *
   * @example gancho.cells.update(cell, {"is_draining": true})
   */
  async update(cell: string, options: types.UpdateCellOptions): Promise<types.Cell> {
    return this._call<types.Cell>({ method: "PATCH", url: `/v1/cells/${path(cell)}`, body: options, required: ["is_available", "is_draining", "is_home", "name", "tenants"] });
  }

  /**
   * List the tenants of a cell.
   *
   * A tenant that is being moved is listed in the cell where it lives: the old one, until its move switches to the new one.
   *
   * Operator only.
   */
  listTenants(cell: string, options: types.ListCellTenantsOptions = {}): Pages<types.CellTenant> {
    return this._list<types.CellTenant>({ method: "GET", url: `/v1/cells/${path(cell)}/tenants`, query: options });
  }

  /**
   * Take back the move of a tenant.
   *
   * The tenant stays in its cell, and what was copied is removed. This is refused once the tenant lives in the new cell; move it to the old one then.
   *
   * Operator only.
   */
  async takeBackTenantMove(tenant: string): Promise<types.TenantMove> {
    return this._call<types.TenantMove>({ method: "DELETE", url: `/v1/tenants/${path(tenant)}/move`, required: ["copied_rows", "from", "removed_rows", "seconds", "state", "to"] });
  }

  /**
   * Get the move of a tenant.
   *
   * Operator only.
   */
  async getTenantMove(tenant: string): Promise<types.TenantMove> {
    return this._call<types.TenantMove>({ method: "GET", url: `/v1/tenants/${path(tenant)}/move`, required: ["copied_rows", "from", "removed_rows", "seconds", "state", "to"] });
  }

  /**
   * Move a tenant to another cell.
   *
   * Moves the tenant with all of its data to another database of the gateway, while it is in use. Its requests are refused with `tenant_moving` for less than a second. If the same move is under way already, it goes on.
   *
   * Operator only.
   *
   * @example gancho.cells.moveTenant(tenant, {"cell": "text"})
   */
  async moveTenant(tenant: string, options: types.MoveTenantOptions): Promise<types.TenantMove> {
    return this._call<types.TenantMove>({ method: "POST", url: `/v1/tenants/${path(tenant)}/move`, body: options, required: ["copied_rows", "from", "removed_rows", "seconds", "state", "to"] });
  }
}

/** Deliveries that failed permanently, with the reason. */
export class DeadLetters extends Resource {
  /**
   * Purge dead letters.
   *
   * Deletes the dead letters that match the filters, at most 10,000 per call. Without a filter, `all=true` is required. With `dry_run=true`, counts them all and deletes none.
   *
   * Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  async purge(options: types.PurgeDeadLettersOptions = {}): Promise<types.Purged> {
    return this._call<types.Purged>({ method: "DELETE", url: "/v1/dlq", takesTenant: true, query: options, required: ["has_more", "purged"] });
  }

  /**
   * List dead letters.
   *
   * A page ends after 4 MiB of `original_data`, and with a filter it may be empty: continue until `next_cursor` is null.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  list(options: types.ListDeadLettersOptions = {}): Pages<types.DeadLetter> {
    return this._list<types.DeadLetter>({ method: "GET", url: "/v1/dlq", takesTenant: true, query: options });
  }

  /**
   * Export dead letters.
   *
   * At most 8 exports per tenant, and 8 of the operator, are open on a node; further requests get 429 with `Retry-After`.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  export(options: types.ExportDeadLettersOptions = {}): AsyncIterableIterator<types.DeadLetter> {
    return this._lines<types.DeadLetter>({ method: "GET", url: "/v1/dlq/export", takesTenant: true, query: options });
  }

  /**
   * Import dead letters.
   *
   * Brings up to 500 archived or exported dead letters back, with their ids, times and attempts; they can be replayed then, and are archived again after `dead_letter_ttl`. The tenant or source must exist. If one of them is invalid, none is imported. Exported e-mails and receipts are skipped, since their data is masked: import archived ones. What is in the store already is not written again, so that a request can be repeated; what was delivered or erased since is skipped.
   *
   * Operator only.
   *
   * @example gancho.deadLetters.importLetters({"letters": [{"enqueued_at": "2026-01-15T09:30:00.000Z", "event_type": "invoice.paid", "failed_attempts": 1, "id": "dlv_01KA4ZQ3N8V5T7W2X6Y9B1C4DE", "lane": "webhook", "last_failure_code": "text", "last_failure_reason": {"amount": 4200, "invoice": "inv_1"}, "last_failure_timestamp": "2026-01-15T09:30:00.000Z", "moved_to_dlq_at": "2026-01-15T09:30:00.000Z", "subject_id": "text"}]})
   */
  async importLetters(options: types.ImportDeadLettersOptions): Promise<types.ImportedDeadLetters> {
    return this._call<types.ImportedDeadLetters>({ method: "POST", url: "/v1/dlq/import", body: options, required: ["imported", "present", "skipped"] });
  }

  /**
   * Replay dead letters.
   *
   * Starts a background job that sends the dead letters that match the filters again, oldest first, at the given rate. With `to`, they go to another webhook of their tenant. Filters can be given in the URL or in the body.
   *
   * Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.
   *
   * @example gancho.deadLetters.replayAll({"code": "HTTP_503", "since": "2026-01-15T09:30:00.000Z"})
   */
  async replayAll(options: types.ReplayDeadLettersOptions = {}): Promise<types.ReplayJob> {
    return this._call<types.ReplayJob>({ method: "POST", url: "/v1/dlq/replay", takesTenant: true, body: options, required: ["created_at", "done", "dry_run", "failed", "id", "is_total_exact", "of", "rate", "skipped", "state", "total"] });
  }

  /**
   * Count dead letters.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  async stats(options: types.GetDeadLetterStatsOptions = {}): Promise<types.DeadLetterStats> {
    return this._call<types.DeadLetterStats>({ method: "GET", url: "/v1/dlq/stats", takesTenant: true, query: options, required: ["by_code", "by_lane", "by_partner", "by_tenant", "total"] });
  }

  /**
   * Delete a dead letter.
   *
   * Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  async delete(letterId: string): Promise<void> {
    return this._call<void>({ method: "DELETE", url: `/v1/dlq/${path(letterId)}`, takesTenant: true });
  }

  /**
   * Get a dead letter.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  async get(letterId: string): Promise<types.DeadLetter> {
    return this._call<types.DeadLetter>({ method: "GET", url: `/v1/dlq/${path(letterId)}`, takesTenant: true, required: ["enqueued_at", "event_type", "expires_at", "failed_attempts", "id", "lane", "last_failure_code", "last_failure_reason", "last_failure_timestamp", "moved_to_dlq_at", "original_data", "subject_id"] });
  }

  /**
   * Replay a dead letter.
   *
   * Attempts the delivery again, with a new retry schedule. With `to`, sends the event to another webhook of the tenant instead. Answers 409 if there is nothing to send it to.
   *
   * Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.
   *
   * @example gancho.deadLetters.replay(letterId, {"to": "wh_01KA4ZQ3N8V5T7W2X6Y9B1C4DE"})
   */
  async replay(letterId: string, options: types.ReplayDeadLetterOptions = {}): Promise<types.DeadLetter> {
    return this._call<types.DeadLetter>({ method: "POST", url: `/v1/dlq/${path(letterId)}/replay`, takesTenant: true, body: options, required: ["enqueued_at", "event_type", "expires_at", "failed_attempts", "id", "lane", "last_failure_code", "last_failure_reason", "last_failure_timestamp", "moved_to_dlq_at", "original_data", "subject_id"] });
  }
}

/** The delivery log, with every attempt. */
export class Deliveries extends Resource {
  /**
   * List deliveries.
   *
   * Lists webhook deliveries unless `lane` says otherwise. The operator without `X-Tenant` sees those of all tenants, each with its `tenant`, and cannot filter by `external_id`. Deliveries of receipts are visible to the operator only, with `lane=dispatch` and without `X-Tenant`. A page scans a limited number of deliveries, so with a filter it may have fewer items than `limit`, even none: continue until `next_cursor` is null. With `external_id`, deliveries are ordered by event, newest first.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  list(options: types.ListDeliveriesOptions = {}): Pages<types.Delivery> {
    return this._list<types.Delivery>({ method: "GET", url: "/v1/deliveries", takesTenant: true, query: options });
  }

  /**
   * Export deliveries.
   *
   * Takes the filters of the list, and returns all that match, without payloads and attempts. At most 8 exports per tenant, and 8 of the operator, are open on a node, those of dead letters included; further requests get 429 with `Retry-After`.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  export(options: types.ExportDeliveriesOptions = {}): AsyncIterableIterator<types.Delivery> {
    return this._lines<types.Delivery>({ method: "GET", url: "/v1/deliveries/export", takesTenant: true, query: options });
  }

  /**
   * Watch deliveries live.
   *
   * Streams a `delivery` event whenever a delivery is accepted and whenever an attempt ends. `missed` (`{"count": 12}`) reports how many events were dropped because the client read too slowly, or beyond `max_rate`. `end` (`{"code": "…"}`) is the last event: `invalid_credentials` if the key was revoked or has expired, `unavailable` if the gateway is stopping. A comment is sent at least every 15 seconds. The tail does not resume after a reconnect: read `GET /v1/deliveries` for what was missed.
   *
   * It covers all nodes. What other nodes do arrives within about two seconds, and at most 50 changes a second of each of them, with the rest counted by `missed`. At most 8 tails per tenant, and 100 of the operator, are open on a node; further requests get 429. A revoked credential ends its tails within 2 seconds.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  tail(options: types.TailDeliveriesOptions = {}): AsyncIterableIterator<types.DeliveryEvent> {
    return this._events<types.DeliveryEvent>({ method: "GET", url: "/v1/deliveries/tail", takesTenant: true, query: options });
  }

  /**
   * Get a delivery.
   *
   * The operator can read the deliveries of every tenant. The content of an e-mail is at `GET /v1/emails/{outbox_id}`.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  async get(deliveryId: string): Promise<types.DeliveryDetail> {
    return this._call<types.DeliveryDetail>({ method: "GET", url: `/v1/deliveries/${path(deliveryId)}`, takesTenant: true, required: ["attempts", "created_at", "id", "is_test", "lane", "status", "attempt_log", "payload"] });
  }

  /**
   * Stop retrying a delivery.
   *
   * Cancels one delivery that has not started or waits for a retry; other deliveries of its event go on. It fails with the code `CANCELED`. Lists, counts and replays of dead letters leave it out, unless this code is asked for. It can be retried later. Answers 409 if the delivery has ended already, or while an attempt is in flight.
   *
   * Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  async cancel(deliveryId: string): Promise<types.Delivery> {
    return this._call<types.Delivery>({ method: "POST", url: `/v1/deliveries/${path(deliveryId)}/cancel`, takesTenant: true, required: ["attempts", "created_at", "id", "is_test", "lane", "status"] });
  }

  /**
   * Check a received signature.
   *
   * Finds out why a receiver rejects a delivery: paste the headers and the body that it got. The answer names the parts that differ from what was sent: `id`, `timestamp`, `body` or `secret`. The secret is not shown. The age of the timestamp is not judged.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   *
   * @example gancho.deliveries.checkSignature(deliveryId, {"headers": "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="})
   */
  async checkSignature(deliveryId: string, options: types.CheckDeliverySignatureOptions): Promise<types.SignatureReport> {
    return this._call<types.SignatureReport>({ method: "POST", url: `/v1/deliveries/${path(deliveryId)}/check-signature`, takesTenant: true, body: options, required: ["differs", "is_valid", "parts"] });
  }

  /**
   * Retry a delivery.
   *
   * Attempts the delivery now, whatever its status. A delivery that was delivered or had failed starts its retry schedule from the beginning. Answers 409 if the webhook is disabled or deleted.
   *
   * Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  async retry(deliveryId: string): Promise<types.Delivery> {
    return this._call<types.Delivery>({ method: "POST", url: `/v1/deliveries/${path(deliveryId)}/retry`, takesTenant: true, required: ["attempts", "created_at", "id", "is_test", "lane", "status"] });
  }

  /**
   * List a webhook's deliveries.
   *
   * A page scans a limited number of deliveries, so with a filter it may have fewer items than `limit`, even none: continue until `next_cursor` is null.
   *
   * Required scope: `read`.
   */
  listForWebhook(id: string, options: types.ListWebhookDeliveriesOptions = {}): Pages<types.Delivery> {
    return this._list<types.Delivery>({ method: "GET", url: `/v1/webhooks/${path(id)}/deliveries`, takesTenant: true, query: options });
  }

  /**
   * Get a webhook's delivery.
   *
   * Required scope: `read`.
   */
  async getForWebhook(id: string, deliveryId: string): Promise<types.DeliveryDetail> {
    return this._call<types.DeliveryDetail>({ method: "GET", url: `/v1/webhooks/${path(id)}/deliveries/${path(deliveryId)}`, takesTenant: true, required: ["attempts", "created_at", "id", "is_test", "lane", "status", "attempt_log", "payload"] });
  }

  /**
   * Retry a webhook's delivery.
   *
   * Attempts the delivery now, whatever its status. A delivery that was delivered or had failed starts its retry schedule from the beginning. Answers 409 if the webhook is disabled or deleted.
   *
   * Required scope: `manage`.
   */
  async retryForWebhook(id: string, deliveryId: string): Promise<types.Delivery> {
    return this._call<types.Delivery>({ method: "POST", url: `/v1/webhooks/${path(id)}/deliveries/${path(deliveryId)}/retry`, takesTenant: true, required: ["attempts", "created_at", "id", "is_test", "lane", "status"] });
  }
}

/** Send e-mails and look up their status. */
export class Emails extends Resource {
  /**
   * List captured e-mails.
   *
   * Only available with the `sink` transport, which captures e-mails in memory for a short time instead of sending them.
   *
   * Operator only.
   */
  listCaptured(): Pages<types.CapturedEmailSummary> {
    return this._list<types.CapturedEmailSummary>({ method: "GET", url: "/v1/dev/emails" });
  }

  /**
   * Get a captured e-mail.
   *
   * Operator only.
   */
  async getCaptured(outboxId: string): Promise<types.CapturedEmail> {
    return this._call<types.CapturedEmail>({ method: "GET", url: `/v1/dev/emails/${path(outboxId)}`, required: ["caughtAt", "from", "messageId", "outboxId", "size", "subject", "tenantId", "to", "raw"] });
  }

  /**
   * Send an e-mail.
   *
   * The outcome is reported by the events `email.sent`, `email.retry_scheduled` and `email.failed`, and by `GET /v1/emails/{outbox_id}`. An e-mail to a suppressed address is accepted and fails immediately.
   *
   * Required scope: `publish`.
   *
   * @example gancho.emails.send({"from": "shop@example.com", "subject": "Your invoice", "text": "Your invoice is paid.", "to": "ana@example.com"})
   */
  async send(options: types.SendEmailOptions): Promise<types.AcceptedEmail> {
    return this._call<types.AcceptedEmail>({ method: "POST", url: "/v1/email/send", takesTenant: true, body: options, idempotency: { field: "idempotencyKey", key: options.idempotency_key }, required: ["outboxId"] });
  }

  /**
   * List e-mails.
   *
   * The operator without `X-Tenant` sees those of all tenants, and cannot filter by `externalId`; those that bounced after they were sent are `FAILED` in their tenant's list only.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  list(options: types.ListEmailsOptions = {}): Pages<types.EmailSummary> {
    return this._list<types.EmailSummary>({ method: "GET", url: "/v1/emails", takesTenant: true, query: options });
  }

  /**
   * Get an e-mail.
   *
   * Required scope: `read`.
   */
  async get(outboxId: string): Promise<types.Email> {
    return this._call<types.Email>({ method: "GET", url: `/v1/emails/${path(outboxId)}`, takesTenant: true, required: ["attempts", "companyId", "createdAt", "outboxId", "recipient", "status", "subject", "attemptLog", "deliveryId", "from"] });
  }
}

/** The keys that encrypt stored secrets. Operator only. */
export class EncryptionKeys extends Resource {
  /**
   * List encryption keys.
   *
   * Operator only.
   */
  async list(): Promise<types.SealingKeys> {
    return this._call<types.SealingKeys>({ method: "GET", url: "/v1/keys", required: ["keys"] });
  }

  /**
   * Rotate the encryption key.
   *
   * Creates a new key and re-encrypts all stored secrets with it. If the operation is interrupted, call it again with `new_key: false`.
   *
   * Operator only.
   *
   * @example gancho.encryptionKeys.rotate({"new_key": true})
   */
  async rotate(options: types.RotateEncryptionKeysOptions = {}): Promise<types.KeyRotation> {
    return this._call<types.KeyRotation>({ method: "POST", url: "/v1/keys/rotate", body: options, required: ["keys", "newest", "resealed"] });
  }
}

/** The catalog of events that can be published. */
export class EventTypes extends Resource {
  /**
   * List event types.
   *
   * The catalogs `email`, `agents`, `saas` and `operations` are built in.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  list(options: types.ListEventTypesOptions = {}): Pages<types.EventType> {
    return this._list<types.EventType>({ method: "GET", url: "/v1/webhooks/events", takesTenant: true, query: options });
  }

  /**
   * Register an event type.
   *
   * A tenant's event type overrides the operator's of the same name, which overrides a built-in one. The operator's event types apply to all tenants.
   *
   * Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.
   *
   * @example gancho.eventTypes.create({"name": "invoice.paid"})
   */
  async create(options: types.CreateEventTypeOptions): Promise<types.EventType> {
    return this._call<types.EventType>({ method: "POST", url: "/v1/webhooks/events", takesTenant: true, body: options, required: ["catalog", "description", "example", "is_archived", "metadata", "name", "schema"] });
  }

  /**
   * Delete an event type.
   *
   * Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  async delete(eventType: string): Promise<void> {
    return this._call<void>({ method: "DELETE", url: `/v1/webhooks/events/${path(eventType)}`, takesTenant: true });
  }

  /**
   * Get an event type.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  async get(eventType: string): Promise<types.EventType> {
    return this._call<types.EventType>({ method: "GET", url: `/v1/webhooks/events/${path(eventType)}`, takesTenant: true, required: ["catalog", "description", "example", "is_archived", "metadata", "name", "schema"] });
  }

  /**
   * Register or replace an event type.
   *
   * Fields that are left out are reset to their defaults.
   *
   * Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.
   *
   * @example gancho.eventTypes.replace(eventType, {"description": "An invoice was paid"})
   */
  async replace(eventType: string, options: types.ReplaceEventTypeOptions = {}): Promise<types.EventType> {
    return this._call<types.EventType>({ method: "PUT", url: `/v1/webhooks/events/${path(eventType)}`, takesTenant: true, body: options, required: ["catalog", "description", "example", "is_archived", "metadata", "name", "schema"] });
  }
}

/** Publish events and look them up. */
export class Events extends Resource {
  /**
   * Erase content.
   *
   * Erases payloads, subjects, external ids, the headers and bodies of attempts, addresses and texts of e-mails, dead letters and their copies in the archive. Waiting deliveries are canceled first. While a delivery is in flight its event is not erased: a request for one event is answered with 409, a search counts it in `in_flight`; repeat it. What stays: ids, times, event types, states, failure codes, the ledger (which has hashes, and the ids that partners gave), the audit log, and backups. Erased content cannot be restored, delivered or replayed. A search ends after some seconds: repeat it with `cursor` until `next_cursor` is null. At most 2 searches per tenant, and 8 of the operator, run on a node; further requests get 429 with `Retry-After`.
   *
   * Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.
   *
   * @example gancho.events.eraseContent({"email_address": "ana@example.com"})
   */
  async eraseContent(options: types.EraseContentOptions = {}): Promise<types.Erasure> {
    return this._call<types.Erasure>({ method: "POST", url: "/v1/erasures", takesTenant: true, body: options, required: ["already_erased", "archived", "canceled", "erased", "in_flight"] });
  }

  /**
   * List events.
   *
   * The operator without `X-Tenant` sees the events of all tenants, each with its `tenant`, and cannot filter by `external_id`. A page scans a limited number of events, so with a filter it may have fewer items than `limit`, even none: continue until `next_cursor` is null.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  list(options: types.ListEventsOptions = {}): Pages<types.EventSummary> {
    return this._list<types.EventSummary>({ method: "GET", url: "/v1/events", takesTenant: true, query: options });
  }

  /**
   * Publish an event.
   *
   * Delivers the event to every active webhook of the tenant that is subscribed to its type.
   *
   * Required scope: `publish`.
   */
  async publish(type: string, data: unknown, options: types.PublishEventOptions = {}): Promise<types.PublishedEvent> {
    return this._call<types.PublishedEvent>({ method: "POST", url: "/v1/events", takesTenant: true, body: { type, data, ...options }, idempotency: { field: "idempotency_key", key: options.idempotency_key }, required: ["created_at", "deliveries", "id", "type"] });
  }

  /**
   * Publish many events.
   *
   * Publishes up to 1,000 events; each is accepted or refused independently. An `Idempotency-Key` header covers the whole batch: each event without a key of its own gets one derived from the header and the event's index.
   *
   * Required scope: `publish`.
   */
  async publishBatch(events: types.EventInput[], options: types.PublishEventsOptions = {}): Promise<types.BatchOutcome> {
    return this._call<types.BatchOutcome>({ method: "POST", url: "/v1/events/batch", takesTenant: true, body: { events }, idempotency: { field: "header", key: options.idempotency_key }, required: ["accepted", "refused", "results"] });
  }

  /**
   * Get an event.
   *
   * The operator can read the events of every tenant.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  async get(eventId: string): Promise<types.Event> {
    return this._call<types.Event>({ method: "GET", url: `/v1/events/${path(eventId)}`, takesTenant: true, required: ["created_at", "data", "deliveries", "id", "is_test", "type"] });
  }

  /**
   * Cancel an event.
   *
   * Cancels the deliveries of the event that have not started or wait for a retry, such as those of a scheduled event. They fail with the code `CANCELED`. Lists, counts and replays of dead letters leave them out, unless this code is asked for. Deliveries in flight finish. Answers 409 if nothing is left to cancel.
   *
   * Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  async cancel(eventId: string): Promise<types.CanceledEvent> {
    return this._call<types.CanceledEvent>({ method: "POST", url: `/v1/events/${path(eventId)}/cancel`, takesTenant: true, required: ["canceled", "id", "in_flight"] });
  }

  /**
   * List rejected events.
   *
   * Lists events that an application has published from SQL (`gancho.publish`) and that were rejected after its transaction was committed, e.g. because they do not match the schema of their type. They are stored until they are retried or deleted. Events that are published with the API are rejected in its response and are not listed.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  listRejected(options: types.ListRejectedEventsOptions = {}): Pages<types.RejectedEvent> {
    return this._list<types.RejectedEvent>({ method: "GET", url: "/v1/rejected-events", takesTenant: true, query: options });
  }

  /**
   * Delete a rejected event.
   *
   * Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  async deleteRejected(eventId: string): Promise<void> {
    return this._call<void>({ method: "DELETE", url: `/v1/rejected-events/${path(eventId)}`, takesTenant: true });
  }

  /**
   * Retry a rejected event.
   *
   * Checks an event again that was published from SQL and rejected. It is then accepted under its id, or rejected again. Another event with its idempotency key that still waits to be accepted is a conflict.
   *
   * Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  async retryRejected(eventId: string): Promise<void> {
    return this._call<void>({ method: "POST", url: `/v1/rejected-events/${path(eventId)}/retry`, takesTenant: true });
  }
}

/** The tamper-evident record of received webhooks. Operator only. */
export class Ledger extends Resource {
  /**
   * Get the ledger status.
   *
   * This operation verifies nothing; run `gancho ledger verify` to check every line.
   *
   * Operator only.
   */
  async get(): Promise<types.Ledger> {
    return this._call<types.Ledger>({ method: "GET", url: "/v1/ledger", required: ["size"] });
  }

  /**
   * Create a ledger checkpoint.
   *
   * Verifies all lines that this node has not verified yet, then signs a checkpoint. A ledger that fails verification is not signed.
   *
   * Operator only.
   */
  async createCheckpoint(): Promise<types.MadeCheckpoint> {
    return this._call<types.MadeCheckpoint>({ method: "POST", url: "/v1/ledger/checkpoint", required: ["size", "is_new"] });
  }
}

/** The processes of this gateway. Operator only. */
export class Nodes extends Resource {
  /**
   * List nodes.
   *
   * Lists the processes that share this store, from their heartbeats. A node that shut down cleanly is not listed. At most 500 nodes are listed.
   *
   * Operator only.
   */
  list(): Pages<types.Node> {
    return this._list<types.Node>({ method: "GET", url: "/v1/nodes" });
  }
}

/** Links with which a tenant's people open their portal. */
export class PortalLinks extends Resource {
  /**
   * Create a portal link.
   *
   * Anyone with the link can read and manage the tenant's data, but cannot publish events.
   *
   * Operator only.
   *
   * @example gancho.portalLinks.create({"tenant": "acme"})
   */
  async create(options: types.CreatePortalLinkOptions): Promise<types.PortalLink> {
    return this._call<types.PortalLink>({ method: "POST", url: "/v1/portal-links", body: options, required: ["expires_at", "scopes", "tenant_id", "token", "url"] });
  }

  /**
   * Revoke portal links.
   *
   * All portal links of the tenant that were made until now, and the sessions in the portal that they opened.
   *
   * Operator only.
   */
  async revoke(tenant: string): Promise<void> {
    return this._call<void>({ method: "DELETE", url: `/v1/tenants/${path(tenant)}/portal-links` });
  }
}

/** Backlog per lane; pausing and resuming lanes. Operator only. */
export class Queues extends Resource {
  /**
   * List queues.
   *
   * Operator only.
   */
  async list(): Promise<types.Queues> {
    return this._call<types.Queues>({ method: "GET", url: "/v1/queues", required: ["data", "paused_tenants", "paused_webhooks"] });
  }

  /**
   * Pause a lane.
   *
   * Deliveries in flight finish; all others wait until the lane is resumed. Other nodes follow within about a second.
   *
   * Operator only.
   *
   * @example gancho.queues.pause(lane, {"reason": "text"})
   */
  async pause(lane: string, options: types.PauseQueueOptions = {}): Promise<void> {
    return this._call<void>({ method: "POST", url: `/v1/queues/${path(lane)}/pause`, body: options });
  }

  /**
   * Resume a lane.
   *
   * Operator only.
   */
  async resume(lane: string): Promise<void> {
    return this._call<void>({ method: "POST", url: `/v1/queues/${path(lane)}/resume` });
  }
}

/** Jobs that send past deliveries or events again. */
export class Replays extends Resource {
  /**
   * List replays.
   *
   * The operator without `X-Tenant` sees the replays of all tenants, each with its `tenant`, and its own.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  list(options: types.ListReplaysOptions = {}): Pages<types.ReplayJob> {
    return this._list<types.ReplayJob>({ method: "GET", url: "/v1/replays", takesTenant: true, query: options });
  }

  /**
   * Replay deliveries or events.
   *
   * Starts a background job that sends deliveries or events again, oldest first. Webhooks with `ordering: per_subject` still receive each subject in order. Without a filter, `all` is required. With `dry_run`, the job only counts what would be sent.
   *
   * Required scope: `manage`.
   *
   * @example gancho.replays.create({"all": true})
   */
  async create(options: types.CreateReplayOptions = {}): Promise<types.ReplayJob> {
    return this._call<types.ReplayJob>({ method: "POST", url: "/v1/replays", takesTenant: true, body: options, required: ["created_at", "done", "dry_run", "failed", "id", "is_total_exact", "of", "rate", "skipped", "state", "total"] });
  }

  /**
   * Get a replay.
   *
   * The operator can read the replays of every tenant.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  async get(replayId: string): Promise<types.ReplayJob> {
    return this._call<types.ReplayJob>({ method: "GET", url: `/v1/replays/${path(replayId)}`, takesTenant: true, required: ["created_at", "done", "dry_run", "failed", "id", "is_total_exact", "of", "rate", "skipped", "state", "total"] });
  }

  /**
   * Cancel a replay.
   *
   * Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  async cancel(replayId: string): Promise<types.ReplayJob> {
    return this._call<types.ReplayJob>({ method: "POST", url: `/v1/replays/${path(replayId)}/cancel`, takesTenant: true, required: ["created_at", "done", "dry_run", "failed", "id", "is_total_exact", "of", "rate", "skipped", "state", "total"] });
  }
}

/** Find anything by its id or name. */
export class Search extends Resource {
  /**
   * Search.
   *
   * Finds events, deliveries, webhooks, e-mails, replays and event types. The operator without `X-Tenant` searches all tenants, and finds tenants, API keys, sources and receipts as well. If the text is an id that exists, that is the only match.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  async find(options: types.SearchOptions): Promise<types.SearchResult> {
    return this._call<types.SearchResult>({ method: "GET", url: "/v1/search", takesTenant: true, query: options, required: ["data", "is_complete"] });
  }
}

/** Partners that send webhooks to the gateway, their keys and receipts. Operator only. */
export class Sources extends Resource {
  /**
   * Reload settings, policy pack and sources.
   *
   * Does what SIGHUP does, on the node that responds: reads the configuration file and the policy pack again, and applies the settings that need no restart. If one of them is invalid, nothing changes.
   *
   * Operator only.
   */
  async reload(): Promise<types.Reloaded> {
    return this._call<types.Reloaded>({ method: "POST", url: "/v1/_reload", required: ["applied", "needs_restart"] });
  }

  /**
   * List rejected webhooks of unknown partners.
   *
   * The last 50 rejections on all nodes, with the reason that the sender is not told. Rejections on other nodes appear after a few seconds.
   *
   * Operator only.
   */
  listAllRejections(): Pages<types.Rejection> {
    return this._list<types.Rejection>({ method: "GET", url: "/v1/rejections" });
  }

  /**
   * Import keys of many partners.
   *
   * Creates missing sources. All entries are validated first; if one is invalid, nothing is imported.
   *
   * Operator only.
   *
   * @example gancho.sources.importKeys({"entries": {"webhook:partner:stripe:key:k1": {"scheme": "hmac", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}})
   */
  async importKeys(options: types.ImportSourceKeysOptions): Promise<types.ImportedKeys> {
    return this._call<types.ImportedKeys>({ method: "POST", url: "/v1/source-keys/import", body: options, required: ["keys", "sources"] });
  }

  /**
   * List sources.
   *
   * Operator only.
   */
  list(options: types.ListSourcesOptions = {}): Pages<types.Source> {
    return this._list<types.Source>({ method: "GET", url: "/v1/sources", query: options });
  }

  /**
   * Create a source.
   *
   * The partner posts to `/webhooks/{partner}` on the ingest listener.
   *
   * Operator only.
   *
   * @example gancho.sources.create({"partner": "stripe", "preset": "stripe"})
   */
  async create(options: types.CreateSourceOptions): Promise<types.NewSource> {
    return this._call<types.NewSource>({ method: "POST", url: "/v1/sources", body: options, required: ["created_at", "has_verify_token", "id", "is_active", "partner", "preset", "schema", "targets", "updated_at", "dispatch_secret"] });
  }

  /**
   * Delete a source.
   *
   * Receipts stay in the ledger. Receipts that are still waiting to be dispatched become dead letters.
   *
   * Operator only.
   */
  async delete(partner: string): Promise<void> {
    return this._call<void>({ method: "DELETE", url: `/v1/sources/${path(partner)}` });
  }

  /**
   * Get a source.
   *
   * Operator only.
   */
  async get(partner: string): Promise<types.SourceCounts> {
    return this._call<types.SourceCounts>({ method: "GET", url: `/v1/sources/${path(partner)}`, required: ["created_at", "has_verify_token", "id", "is_active", "partner", "preset", "schema", "targets", "updated_at", "counts"] });
  }

  /**
   * Update a source.
   *
   * Fields that are left out keep their value; `null` resets a field to its default. The partner name never changes.
   *
   * Operator only.
   *
   * @example gancho.sources.update(partner, {"rate_limit": {"count": 1, "per": "1s"}})
   */
  async update(partner: string, options: types.UpdateSourceOptions = {}): Promise<types.Source> {
    return this._call<types.Source>({ method: "PATCH", url: `/v1/sources/${path(partner)}`, body: options, required: ["created_at", "has_verify_token", "id", "is_active", "partner", "preset", "schema", "targets", "updated_at"] });
  }

  /**
   * List a source's keys.
   *
   * Operator only.
   */
  listKeys(partner: string): Pages<types.SourceKey> {
    return this._list<types.SourceKey>({ method: "GET", url: `/v1/sources/${path(partner)}/keys` });
  }

  /**
   * Delete a source's key.
   *
   * Operator only.
   */
  async deleteKey(partner: string, partnerKey: string): Promise<void> {
    return this._call<void>({ method: "DELETE", url: `/v1/sources/${path(partner)}/keys/${path(partnerKey)}` });
  }

  /**
   * Create or replace a source's key.
   *
   * A source can have several valid keys at a time. With `replaces`, the replaced key expires after `overlap`.
   *
   * Operator only.
   *
   * @example gancho.sources.putKey(partner, partnerKey, {"scheme": "hmac", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"})
   */
  async putKey(partner: string, partnerKey: string, options: types.PutSourceKeyOptions): Promise<types.SourceKey> {
    return this._call<types.SourceKey>({ method: "PUT", url: `/v1/sources/${path(partner)}/keys/${path(partnerKey)}`, body: options, required: ["created_at", "encoding", "is_valid", "key_id", "scheme"] });
  }

  /**
   * List a source's receipts.
   *
   * With a filter, a page may have fewer items than `limit`, even none: continue until `next_cursor` is null.
   *
   * Operator only.
   */
  listReceipts(partner: string, options: types.ListReceiptsOptions = {}): Pages<types.Receipt> {
    return this._list<types.Receipt>({ method: "GET", url: `/v1/sources/${path(partner)}/receipts`, query: options });
  }

  /**
   * Retry receipts.
   *
   * Starts a background job that dispatches the receipts that match the filter again, at the given rate. Without a filter, `all` is required. Test events are skipped.
   *
   * Operator only.
   *
   * @example gancho.sources.retryReceipts(partner, {"all": true})
   */
  async retryReceipts(partner: string, options: types.RetryReceiptsOptions = {}): Promise<types.ReplayJob> {
    return this._call<types.ReplayJob>({ method: "POST", url: `/v1/sources/${path(partner)}/receipts/retry`, body: options, required: ["created_at", "done", "dry_run", "failed", "id", "is_total_exact", "of", "rate", "skipped", "state", "total"] });
  }

  /**
   * Get a receipt.
   *
   * Operator only.
   */
  async getReceipt(partner: string, receiptId: string): Promise<types.ReceiptDetail> {
    return this._call<types.ReceiptDetail>({ method: "GET", url: `/v1/sources/${path(partner)}/receipts/${path(receiptId)}`, required: ["attempts", "id", "is_test", "key_id", "partner", "size", "status", "ts_received", "context", "deliveries", "payload"] });
  }

  /**
   * Prove a receipt.
   *
   * Proves that a signed checkpoint covers the line of the receipt, and verifies the ledger up to there. `gancho ledger check-proof` checks the proof without the gateway. For ledgers of more than 200,000 lines, use `gancho ledger prove`.
   *
   * Operator only.
   */
  async getReceiptProof(partner: string, receiptId: string): Promise<types.ReceiptProof> {
    return this._call<types.ReceiptProof>({ method: "GET", url: `/v1/sources/${path(partner)}/receipts/${path(receiptId)}/proof`, required: ["checkpoint", "form", "inclusion", "key", "line"] });
  }

  /**
   * Retry a receipt.
   *
   * Dispatches the receipt again to each current target of the source, whatever its status; finished deliveries start their retry schedule from the beginning. `webhook-id` remains the receipt id, so that the receiver can deduplicate.
   *
   * Operator only.
   */
  async retryReceipt(partner: string, receiptId: string): Promise<types.Receipt> {
    return this._call<types.Receipt>({ method: "POST", url: `/v1/sources/${path(partner)}/receipts/${path(receiptId)}/retry`, required: ["attempts", "id", "is_test", "key_id", "partner", "size", "status", "ts_received", "deliveries"] });
  }

  /**
   * List a source's rejected webhooks.
   *
   * The last 50 rejections on all nodes, with the reason that the sender is not told. Rejections on other nodes appear after a few seconds.
   *
   * Operator only.
   */
  listRejections(partner: string): Pages<types.Rejection> {
    return this._list<types.Rejection>({ method: "GET", url: `/v1/sources/${path(partner)}/rejections` });
  }
}

/** Deliveries over time: counts and latency percentiles of the gateway, a tenant or a webhook. */
export class Stats extends Resource {
  /**
   * Get statistics.
   *
   * The operator gets the figures of the whole gateway, or of one tenant with `X-Tenant`. Figures are a few seconds late. Statistics are kept as long as deliveries.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  async get(options: types.GetStatsOptions = {}): Promise<types.Stats> {
    return this._call<types.Stats>({ method: "GET", url: "/v1/stats", takesTenant: true, query: options, required: ["bins", "range", "since", "step", "totals", "until"] });
  }

  /**
   * List statistics of tenants.
   *
   * A page has at most 100 tenants. Figures are a few seconds late.
   *
   * Operator only.
   */
  listTenants(options: types.ListTenantStatsOptions = {}): Pages<types.TenantStats> {
    return this._list<types.TenantStats>({ method: "GET", url: "/v1/stats/tenants", query: options });
  }

  /**
   * List statistics of webhooks.
   *
   * The operator without `X-Tenant` gets the webhooks of all tenants, those that fail by default. Figures are a few seconds late.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  listWebhooks(options: types.ListWebhookStatsOptions = {}): Pages<types.WebhookStats> {
    return this._list<types.WebhookStats>({ method: "GET", url: "/v1/stats/webhooks", takesTenant: true, query: options });
  }

  /**
   * Get a webhook's statistics.
   *
   * Figures are a few seconds late. Statistics are kept as long as deliveries.
   *
   * Required scope: `read`.
   */
  async getForWebhook(id: string, options: types.GetWebhookStatsOptions = {}): Promise<types.Stats> {
    return this._call<types.Stats>({ method: "GET", url: `/v1/webhooks/${path(id)}/stats`, takesTenant: true, query: options, required: ["bins", "range", "since", "step", "totals", "until"] });
  }
}

/** Addresses that no e-mail is sent to. */
export class Suppressions extends Resource {
  /**
   * List suppressed addresses.
   *
   * The operator without `X-Tenant` sees those of all tenants, each with its `tenant`, ordered by tenant.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  list(options: types.ListSuppressionsOptions = {}): Pages<types.Suppression> {
    return this._list<types.Suppression>({ method: "GET", url: "/v1/suppressions", takesTenant: true, query: options });
  }

  /**
   * Suppress an address.
   *
   * E-mails to a suppressed address are accepted and fail immediately, with `COMPLAINT` or `BOUNCE_PERMANENT`.
   *
   * Required scope: `manage`.
   *
   * @example gancho.suppressions.add({"address": "ana@example.com"})
   */
  async add(options: types.AddSuppressionOptions): Promise<types.Suppression> {
    return this._call<types.Suppression>({ method: "POST", url: "/v1/suppressions", takesTenant: true, body: options, required: ["address", "reason", "since"] });
  }

  /**
   * Import suppressed addresses.
   *
   * If one address is invalid, none is imported.
   *
   * Required scope: `manage`.
   *
   * @example gancho.suppressions.importAddresses({"addresses": ["ana@example.com"]})
   */
  async importAddresses(options: types.ImportSuppressionsOptions): Promise<types.ImportedAddresses> {
    return this._call<types.ImportedAddresses>({ method: "POST", url: "/v1/suppressions/import", takesTenant: true, body: options, required: ["added", "given"] });
  }

  /**
   * Remove a suppressed address.
   *
   * Required scope: `manage`.
   */
  async remove(address: string): Promise<void> {
    return this._call<void>({ method: "DELETE", url: `/v1/suppressions/${path(address)}`, takesTenant: true });
  }
}

/** Tenants, their API keys and portal links. Operator only. */
export class Tenants extends Resource {
  /**
   * List tenants.
   *
   * Operator only.
   */
  list(options: types.ListTenantsOptions = {}): Pages<types.Tenant> {
    return this._list<types.Tenant>({ method: "GET", url: "/v1/tenants", query: options });
  }

  /**
   * Create a tenant.
   *
   * Operator only.
   *
   * @example gancho.tenants.create({"slug": "acme"})
   */
  async create(options: types.CreateTenantOptions): Promise<types.Tenant> {
    return this._call<types.Tenant>({ method: "POST", url: "/v1/tenants", body: options, required: ["created_at", "default_profile", "id", "name", "plan", "retention", "slug", "strict_event_types"] });
  }

  /**
   * Delete a tenant.
   *
   * Deletes the tenant, its webhooks, API keys, portal links, event types and suppressions at once, and ends its deliveries; requests in flight finish. Its events, e-mails, deliveries and dead letters are removed in the background, without being archived. Its slug can be used again. This cannot be undone. What remains: entries in the audit log and the ledger, and counters, for as long as they are kept.
   *
   * Operator only.
   */
  async delete(tenant: string): Promise<types.DeletedTenant> {
    return this._call<types.DeletedTenant>({ method: "DELETE", url: `/v1/tenants/${path(tenant)}`, required: ["deleted_at", "id", "slug"] });
  }

  /**
   * Get a tenant.
   *
   * Operator only.
   */
  async get(tenant: string): Promise<types.Tenant> {
    return this._call<types.Tenant>({ method: "GET", url: `/v1/tenants/${path(tenant)}`, required: ["created_at", "default_profile", "id", "name", "plan", "retention", "slug", "strict_event_types"] });
  }

  /**
   * Update a tenant.
   *
   * Fields that are left out keep their value. The slug never changes.
   *
   * Operator only.
   *
   * @example gancho.tenants.update(tenant, {"publish_rate": {"count": 1, "per": "1s"}})
   */
  async update(tenant: string, options: types.UpdateTenantOptions = {}): Promise<types.Tenant> {
    return this._call<types.Tenant>({ method: "PATCH", url: `/v1/tenants/${path(tenant)}`, body: options, required: ["created_at", "default_profile", "id", "name", "plan", "retention", "slug", "strict_event_types"] });
  }

  /**
   * List API keys.
   *
   * Operator only.
   */
  listApiKeys(tenant: string, options: types.ListTenantApiKeysOptions = {}): Pages<types.ApiKey> {
    return this._list<types.ApiKey>({ method: "GET", url: `/v1/tenants/${path(tenant)}/api-keys`, query: options });
  }

  /**
   * Create an API key.
   *
   * A tenant has at most 500 keys that are neither revoked nor expired.
   *
   * Operator only.
   *
   * @example gancho.tenants.createApiKey(tenant, {"name": "billing", "scopes": ["publish"]})
   */
  async createApiKey(tenant: string, options: types.CreateTenantApiKeyOptions = {}): Promise<types.NewApiKey> {
    return this._call<types.NewApiKey>({ method: "POST", url: `/v1/tenants/${path(tenant)}/api-keys`, body: options, required: ["created_at", "id", "name", "scopes", "tenant_id", "key"] });
  }

  /**
   * Revoke an API key.
   *
   * A revoked key stays in the list for 90 days.
   *
   * Operator only.
   */
  async revokeApiKey(tenant: string, keyId: string): Promise<void> {
    return this._call<void>({ method: "DELETE", url: `/v1/tenants/${path(tenant)}/api-keys/${path(keyId)}` });
  }

  /**
   * Get the metadata of a tenant.
   *
   * Operator only.
   */
  async getMetadata(tenant: string): Promise<types.TenantMetadata> {
    return this._call<types.TenantMetadata>({ method: "GET", url: `/v1/tenants/${path(tenant)}/metadata`, required: ["metadata"] });
  }

  /**
   * Set the metadata of a tenant.
   *
   * The metadata is for the operator's own use. Tenants do not see it.
   *
   * Operator only.
   *
   * @example gancho.tenants.replaceMetadata(tenant, {"metadata": {}})
   */
  async replaceMetadata(tenant: string, options: types.ReplaceTenantMetadataOptions): Promise<types.TenantMetadata> {
    return this._call<types.TenantMetadata>({ method: "PUT", url: `/v1/tenants/${path(tenant)}/metadata`, body: options, required: ["metadata"] });
  }

  /**
   * Get the addresses for notices.
   *
   * Operator only.
   */
  async listNoticeEmails(tenant: string): Promise<types.NoticeEmails> {
    return this._call<types.NoticeEmails>({ method: "GET", url: `/v1/tenants/${path(tenant)}/notice-emails`, required: ["addresses"] });
  }

  /**
   * Set the addresses for notices.
   *
   * Notices about dead letters and about failing and disabled endpoints of the tenant are sent to these addresses, gathered into digests. Needs an e-mail transport.
   *
   * Operator only.
   *
   * @example gancho.tenants.replaceNoticeEmails(tenant, {"addresses": ["ana@example.com"]})
   */
  async replaceNoticeEmails(tenant: string, options: types.ReplaceNoticeEmailsOptions): Promise<types.NoticeEmails> {
    return this._call<types.NoticeEmails>({ method: "PUT", url: `/v1/tenants/${path(tenant)}/notice-emails`, body: options, required: ["addresses"] });
  }

  /**
   * Pause a tenant.
   *
   * Deliveries in flight finish. Events are still accepted; their deliveries wait until the tenant is resumed. Other nodes follow within about a second.
   *
   * Operator only.
   *
   * @example gancho.tenants.pause(tenant, {"reason": "text"})
   */
  async pause(tenant: string, options: types.PauseTenantOptions = {}): Promise<void> {
    return this._call<void>({ method: "POST", url: `/v1/tenants/${path(tenant)}/pause`, body: options });
  }

  /**
   * Resume a tenant.
   *
   * Operator only.
   */
  async resume(tenant: string): Promise<void> {
    return this._call<void>({ method: "POST", url: `/v1/tenants/${path(tenant)}/resume` });
  }
}

/** What a tenant has used of its plan. */
export class Usage extends Resource {
  /**
   * Get the usage of the plan.
   *
   * The plan of the tenant, its limits, and what was used of them this month.
   *
   * Required scope: `read`.
   */
  async get(): Promise<types.PlanUsage> {
    return this._call<types.PlanUsage>({ method: "GET", url: "/v1/usage", takesTenant: true, required: ["endpoints", "events", "plan"] });
  }
}

/** People who log in to the dashboard, and their roles. Operator only. */
export class Users extends Resource {
  /**
   * Change your own password.
   *
   * For users who are logged in to the dashboard. All their sessions end.
   *
   * Operator only.
   *
   * @example gancho.users.changeOwnPassword({"current_password": "correct horse battery staple", "password": "correct horse battery staple"})
   */
  async changeOwnPassword(options: types.ChangeOwnPasswordOptions): Promise<void> {
    return this._call<void>({ method: "POST", url: "/v1/me/password", body: options });
  }

  /**
   * List users.
   *
   * Operator only.
   */
  list(options: types.ListUsersOptions = {}): Pages<types.User> {
    return this._list<types.User>({ method: "GET", url: "/v1/users", query: options });
  }

  /**
   * Create a user.
   *
   * The user can log in to the dashboard with the name and the password.
   *
   * Operator only.
   *
   * @example gancho.users.create({"name": "ana", "password": "correct horse battery staple", "role": "read_only"})
   */
  async create(options: types.CreateUserOptions): Promise<types.User> {
    return this._call<types.User>({ method: "POST", url: "/v1/users", body: options, required: ["created_at", "name", "password_changed_at", "role"] });
  }

  /**
   * Delete a user.
   *
   * The sessions of the user end: on this node at once, on the others within 5 seconds. The last operator can be deleted too, because the operator token always works.
   *
   * Operator only.
   */
  async delete(user: string): Promise<void> {
    return this._call<void>({ method: "DELETE", url: `/v1/users/${path(user)}` });
  }

  /**
   * Get a user.
   *
   * Operator only.
   */
  async get(user: string): Promise<types.User> {
    return this._call<types.User>({ method: "GET", url: `/v1/users/${path(user)}`, required: ["created_at", "name", "password_changed_at", "role"] });
  }

  /**
   * Update a user.
   *
   * Fields that are left out keep their value. The sessions of the user end: on this node at once, on the others within 5 seconds.
   *
   * Operator only.
   *
   * @example gancho.users.update(user, {"role": "read_only"})
   */
  async update(user: string, options: types.UpdateUserOptions = {}): Promise<types.User> {
    return this._call<types.User>({ method: "PATCH", url: `/v1/users/${path(user)}`, body: options, required: ["created_at", "name", "password_changed_at", "role"] });
  }
}

/** The endpoints that events are delivered to. */
export class Webhooks extends Resource {
  /**
   * List egress addresses.
   *
   * The IP addresses that deliveries come from, for firewall allow lists, as configured in `egress_addresses`. An address is no proof of origin: verify signatures as well.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  async egressAddresses(): Promise<types.EgressAddresses> {
    return this._call<types.EgressAddresses>({ method: "GET", url: "/v1/egress-addresses", takesTenant: true, required: ["addresses"] });
  }

  /**
   * List webhooks.
   *
   * The operator without `X-Tenant` sees the webhooks of all tenants, each with its `tenant`, and cannot filter by `external_id`.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  list(options: types.ListWebhooksOptions = {}): Pages<types.Webhook> {
    return this._list<types.Webhook>({ method: "GET", url: "/v1/webhooks", takesTenant: true, query: options });
  }

  /**
   * Create a webhook.
   *
   * Only `url` and `events` are required.
   *
   * Required scope: `manage`.
   *
   * @example gancho.webhooks.create({"events": ["invoice.paid"], "url": "https://example.com/hooks"})
   */
  async create(options: types.CreateWebhookOptions): Promise<types.NewWebhook> {
    return this._call<types.NewWebhook>({ method: "POST", url: "/v1/webhooks", takesTenant: true, body: options, required: ["created_at", "events", "headers", "health", "id", "is_active", "is_paused", "metadata", "name", "ordering", "profile", "tenant_id", "updated_at", "url", "secret", "secret_format"] });
  }

  /**
   * Test a webhook, named in the body.
   *
   * Sends a sample event to this webhook only, as a real delivery, and waits for the first attempt. The delivery is marked as a test in the delivery log.
   *
   * Required scope: `manage`.
   *
   * @example gancho.webhooks.testByBody({"webhook_id": "wh_01KA4ZQ3N8V5T7W2X6Y9B1C4DE"})
   */
  async testByBody(options: types.TestWebhookByBodyOptions): Promise<types.TestOutcome> {
    return this._call<types.TestOutcome>({ method: "POST", url: "/v1/webhooks/test", takesTenant: true, body: options, required: ["delivery_id", "event_id", "event_type", "status", "success"] });
  }

  /**
   * Delete a webhook.
   *
   * Its deliveries stay in the delivery log. Those that are still waiting become dead letters.
   *
   * Required scope: `manage`.
   */
  async delete(id: string): Promise<void> {
    return this._call<void>({ method: "DELETE", url: `/v1/webhooks/${path(id)}`, takesTenant: true });
  }

  /**
   * Get a webhook.
   *
   * The operator can read the webhooks of every tenant.
   *
   * Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
   */
  async get(id: string): Promise<types.Webhook> {
    return this._call<types.Webhook>({ method: "GET", url: `/v1/webhooks/${path(id)}`, takesTenant: true, required: ["created_at", "events", "headers", "health", "id", "is_active", "is_paused", "metadata", "name", "ordering", "profile", "tenant_id", "updated_at", "url"] });
  }

  /**
   * Update a webhook.
   *
   * Fields that are left out keep their value; `null` resets a setting to the profile's default.
   *
   * Required scope: `manage`.
   *
   * @example gancho.webhooks.update(id, {"events": ["invoice.paid"]})
   */
  async update(id: string, options: types.UpdateWebhookOptions = {}): Promise<types.Webhook> {
    return this._call<types.Webhook>({ method: "PATCH", url: `/v1/webhooks/${path(id)}`, takesTenant: true, body: options, required: ["created_at", "events", "headers", "health", "id", "is_active", "is_paused", "metadata", "name", "ordering", "profile", "tenant_id", "updated_at", "url"] });
  }

  /**
   * Replace a webhook.
   *
   * Fields that are left out are reset to their defaults, except the secret and `external_id`, which change only if given.
   *
   * Required scope: `manage`.
   *
   * @example gancho.webhooks.replace(id, {"events": ["invoice.paid"], "url": "https://example.com/hooks"})
   */
  async replace(id: string, options: types.ReplaceWebhookOptions): Promise<types.Webhook> {
    return this._call<types.Webhook>({ method: "PUT", url: `/v1/webhooks/${path(id)}`, takesTenant: true, body: options, required: ["created_at", "events", "headers", "health", "id", "is_active", "is_paused", "metadata", "name", "ordering", "profile", "tenant_id", "updated_at", "url"] });
  }

  /**
   * Pause a webhook.
   *
   * Deliveries in flight finish. Events are still accepted; their deliveries wait until the webhook is resumed. Other nodes follow within about a second.
   *
   * Required scope: `manage`.
   *
   * @example gancho.webhooks.pause(id, {"reason": "text"})
   */
  async pause(id: string, options: types.PauseWebhookOptions = {}): Promise<void> {
    return this._call<void>({ method: "POST", url: `/v1/webhooks/${path(id)}/pause`, takesTenant: true, body: options });
  }

  /**
   * Resume a webhook.
   *
   * Required scope: `manage`.
   */
  async resume(id: string): Promise<void> {
    return this._call<void>({ method: "POST", url: `/v1/webhooks/${path(id)}/resume`, takesTenant: true });
  }

  /**
   * Rotate a webhook's secret.
   *
   * During the overlap, deliveries are signed with the old secret as well, so that receivers can change over without rejecting any.
   *
   * Required scope: `manage`.
   *
   * @example gancho.webhooks.rotateSecret(id, {"overlap": "30s"})
   */
  async rotateSecret(id: string, options: types.RotateWebhookSecretOptions = {}): Promise<types.RotatedSecret> {
    return this._call<types.RotatedSecret>({ method: "POST", url: `/v1/webhooks/${path(id)}/rotate-secret`, takesTenant: true, body: options, required: ["secret", "secret_format"] });
  }

  /**
   * Reveal a webhook's secret.
   *
   * Required scope: `manage`.
   */
  async getSecret(id: string): Promise<types.WebhookSecret> {
    return this._call<types.WebhookSecret>({ method: "GET", url: `/v1/webhooks/${path(id)}/secret`, takesTenant: true, required: ["old_secrets_until", "secret", "secret_format"] });
  }

  /**
   * Test a webhook.
   *
   * Sends a sample event to this webhook only, as a real delivery, and waits for the first attempt. The delivery is marked as a test in the delivery log.
   *
   * Required scope: `manage`.
   *
   * @example gancho.webhooks.test(id, {"event_type": "invoice.paid"})
   */
  async test(id: string, options: types.TestWebhookOptions = {}): Promise<types.TestOutcome> {
    return this._call<types.TestOutcome>({ method: "POST", url: `/v1/webhooks/${path(id)}/test`, takesTenant: true, body: options, required: ["delivery_id", "event_id", "event_type", "status", "success"] });
  }
}

/** The groups of methods. */
export abstract class Resources {
  readonly alerts: Alerts;
  readonly apiKeys: ApiKeys;
  readonly audit: Audit;
  readonly cells: Cells;
  readonly deadLetters: DeadLetters;
  readonly deliveries: Deliveries;
  readonly emails: Emails;
  readonly encryptionKeys: EncryptionKeys;
  readonly eventTypes: EventTypes;
  readonly events: Events;
  readonly ledger: Ledger;
  readonly nodes: Nodes;
  readonly portalLinks: PortalLinks;
  readonly queues: Queues;
  readonly replays: Replays;
  readonly search: Search;
  readonly sources: Sources;
  readonly stats: Stats;
  readonly suppressions: Suppressions;
  readonly tenants: Tenants;
  readonly usage: Usage;
  readonly users: Users;
  readonly webhooks: Webhooks;

  constructor(transport: Transport) {
    this.alerts = new Alerts(transport);
    this.apiKeys = new ApiKeys(transport);
    this.audit = new Audit(transport);
    this.cells = new Cells(transport);
    this.deadLetters = new DeadLetters(transport);
    this.deliveries = new Deliveries(transport);
    this.emails = new Emails(transport);
    this.encryptionKeys = new EncryptionKeys(transport);
    this.eventTypes = new EventTypes(transport);
    this.events = new Events(transport);
    this.ledger = new Ledger(transport);
    this.nodes = new Nodes(transport);
    this.portalLinks = new PortalLinks(transport);
    this.queues = new Queues(transport);
    this.replays = new Replays(transport);
    this.search = new Search(transport);
    this.sources = new Sources(transport);
    this.stats = new Stats(transport);
    this.suppressions = new Suppressions(transport);
    this.tenants = new Tenants(transport);
    this.usage = new Usage(transport);
    this.users = new Users(transport);
    this.webhooks = new Webhooks(transport);
  }
}
