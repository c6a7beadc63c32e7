"""Generated from docs/openapi.json by clients/generate. Do not edit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from .._model import UNSET, Unset, given
from .._operation import Operation, path
from .._async import AsyncPages, AsyncResource
from . import models, types


class AsyncAlerts(AsyncResource):
    """Conditions of the gateway that need a person, and silences."""

    def list(
        self,
    ) -> AsyncPages[models.Alert]:
        """List alerts.

        The gateway evaluates the rules itself, on one of the nodes. The same rules are in `ops/prometheus/rules.yml`.

        Operator only.
        """
        return self._list(
            Operation(
                "GET",
                "/v1/alerts",
                model=models.Alert,
            )
        )

    def list_history(
        self,
        *,
        limit: int | None = None,
    ) -> AsyncPages[models.AlertChange]:
        """List past alerts.

        Alerts that fired and were resolved in the last 90 days, silenced ones included.

        Operator only.

        :param limit: Maximum number of items per page. Default: 50.
        """
        return self._list(
            Operation(
                "GET",
                "/v1/alerts/history",
                model=models.AlertChange,
                query=given({"limit": limit}),
            )
        )

    def list_silences(
        self,
    ) -> AsyncPages[models.AlertSilence]:
        """List silences.

        Operator only.
        """
        return self._list(
            Operation(
                "GET",
                "/v1/alerts/silences",
                model=models.AlertSilence,
            )
        )

    async def create_silence(
        self,
        duration: str,
        *,
        comment: str | None = None,
        rule: types.AlertRule | None = None,
        subject: str | None = None,
    ) -> models.AlertSilence:
        """Silence alerts.

        Silenced alerts are evaluated and recorded, but not sent.

        Operator only.

        Example: `gancho.alerts.create_silence(duration='30s')`

        :param duration: How long the silence lasts, e.g. `2h`; at most 90 days.
        :param comment: Why the alerts are silenced, for other people to read.
        :param rule: Rule to silence. Default: every rule.
        :param subject: Subject to silence, as in the `subject` of an alert. Default: every subject.
        """
        return await self._call(
            Operation(
                "POST",
                "/v1/alerts/silences",
                model=models.AlertSilence,
                body={"duration": duration} | given({"comment": comment, "rule": rule, "subject": subject}),
            )
        )

    async def delete_silence(
        self,
        silence_id: str,
    ) -> None:
        """End a silence.

        Operator only.

        :param silence_id: Id of the silence.
        """
        await self._call(
            Operation[None](
                "DELETE",
                f"/v1/alerts/silences/{path(silence_id)}",
            )
        )

    async def test(
        self,
    ) -> models.AlertTest:
        """Send a test alert.

        Sends a message to `notify_url`, `notify_slack_url` and `notify_emails`, as far as they are set.

        Operator only.
        """
        return await self._call(
            Operation(
                "POST",
                "/v1/alerts/test",
                model=models.AlertTest,
            )
        )


class AsyncApiKeys(AsyncResource):
    """API keys of a tenant."""

    def list(
        self,
        *,
        limit: int | None = None,
    ) -> AsyncPages[models.ApiKey]:
        """List the tenant's own API keys.

        Required scope: `read`.

        :param limit: Maximum number of items per page. Default: 50.
        """
        return self._list(
            Operation(
                "GET",
                "/v1/api-keys",
                model=models.ApiKey,
                takes_tenant=True,
                query=given({"limit": limit}),
            )
        )

    async def create(
        self,
        *,
        expires_at: datetime | str | None = None,
        name: str | None = None,
        scopes: Sequence[str] | None = None,
    ) -> models.NewApiKey:
        """Create an API key for your own tenant.

        A key can have only scopes that the caller has: a portal link has `read` and `manage`, so its keys cannot
        publish. Default: all scopes of the caller.

        Required: a portal link with the scope `manage`, or the operator token with `X-Tenant`.

        Example: `gancho.api_keys.create(name='billing', scopes=['publish'])`

        :param expires_at: When the key expires. Default: never.
        :param name: Display name, to tell keys apart. Default: empty.
        :param scopes: What the key may be used for: `publish`, `read`, `manage`. Default: all of them.
        """
        return await self._call(
            Operation(
                "POST",
                "/v1/api-keys",
                model=models.NewApiKey,
                takes_tenant=True,
                body=given({"expires_at": expires_at, "name": name, "scopes": scopes}),
            )
        )

    async def revoke(
        self,
        key_id: str,
    ) -> None:
        """Revoke an API key of your own tenant.

        Keys with scopes that the caller lacks, such as those that publish, are left to the operator. A revoked key
        stays in the list for 90 days.

        Required: a portal link with the scope `manage`, or the operator token with `X-Tenant`.

        :param key_id: Id of the API key.
        """
        await self._call(
            Operation[None](
                "DELETE",
                f"/v1/api-keys/{path(key_id)}",
                takes_tenant=True,
            )
        )


class AsyncAudit(AsyncResource):
    """Who changed what, or tried to."""

    def list(
        self,
        *,
        limit: int | None = None,
        actor_kind: types.ActorKind | None = None,
        actor: str | None = None,
        operation: str | None = None,
        resource: str | None = None,
        outcome: types.AuditOutcome | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
    ) -> AsyncPages[models.AuditEntry]:
        """List audit log entries.

        Changes of configuration, keys, secrets and pauses, replays, and logins, done or refused. Publishing is not part
        of it, nor are retries by API keys. A tenant sees the actions on its own data; users of the operator are not
        named there, and their reasons are left out.

        A page scans a limited number of entries, so with a filter it may have fewer items than `limit`, even none:
        continue until `next_cursor` is null.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param limit: Maximum number of items per page. Default: 50.
        :param actor_kind: Only actions of this kind of caller. Operator only.
        :param actor: Only actions of the user with this name, or of the API key with this id. Operator only.
        :param operation: Only this operation: its `operationId`, or `log_in`.
        :param resource: Only actions on the object with this id or name.
        :param outcome: Only actions that were `done`, or only those that were `refused`.
        :param since: Only actions at or after this time.
        :param until: Only actions before this time.
        """
        return self._list(
            Operation(
                "GET",
                "/v1/audit",
                model=models.AuditEntry,
                takes_tenant=True,
                query=given({
                    "limit": limit,
                    "actor_kind": actor_kind,
                    "actor": actor,
                    "operation": operation,
                    "resource": resource,
                    "outcome": outcome,
                    "since": since,
                    "until": until,
                }),
            )
        )


class AsyncCells(AsyncResource):
    """The databases of a gateway that has several. Operator only."""

    def list(
        self,
    ) -> AsyncPages[models.Cell]:
        """List cells.

        Lists the databases of the gateway. Each tenant lives in one of them. `is_available` is what the node that
        answers sees.

        Operator only.
        """
        return self._list(
            Operation(
                "GET",
                "/v1/cells",
                model=models.Cell,
            )
        )

    async def add(
        self,
        name: str,
        url: str,
    ) -> models.Cell:
        """Add a cell.

        Creates the tables in an empty PostgreSQL database and uses it for new tenants. All nodes use it within seconds.
        The URL is stored encrypted.

        Operator only.

        Example: `gancho.cells.add(name='acme', url='https://example.com/hooks')`

        :param name: Name of the cell: lower-case letters, digits and `-`. Unique; cannot be changed.
        :param url: URL of the database, e.g. `postgres://user:password@host:5432/database?sslmode=require`. `schema=`
            selects a schema of it. Never returned.
        """
        return await self._call(
            Operation(
                "POST",
                "/v1/cells",
                model=models.Cell,
                body={"name": name, "url": url},
            )
        )

    async def remove(
        self,
        cell: str,
        *,
        lost: bool | None = None,
    ) -> None:
        """Remove a cell.

        The cell must be draining, and no tenant may live in it. All nodes close it within seconds. Its database stays
        as it is.

        Operator only.

        :param cell: Name of the cell.
        :param lost: `true` to remove a cell that does not respond. Events that were published with SQL and wait in it
            are lost.
        """
        await self._call(
            Operation[None](
                "DELETE",
                f"/v1/cells/{path(cell)}",
                query=given({"lost": lost}),
            )
        )

    async def update(
        self,
        cell: str,
        is_draining: bool,
    ) -> models.Cell:
        """Update a cell.

        Operator only.

        Example: `gancho.cells.update(cell, is_draining=True)`

        :param cell: Name of the cell.
        :param is_draining: `true`: drain the cell, so that it gets no new tenants. Tenants that live in it stay.
        """
        return await self._call(
            Operation(
                "PATCH",
                f"/v1/cells/{path(cell)}",
                model=models.Cell,
                body={"is_draining": is_draining},
            )
        )

    def list_tenants(
        self,
        cell: str,
        *,
        limit: int | None = None,
    ) -> AsyncPages[models.CellTenant]:
        """List the tenants of a cell.

        A tenant that is being moved is listed in the cell where it lives: the old one, until its move switches to the
        new one.

        Operator only.

        :param cell: Name of the cell.
        :param limit: Maximum number of items per page. Default: 50.
        """
        return self._list(
            Operation(
                "GET",
                f"/v1/cells/{path(cell)}/tenants",
                model=models.CellTenant,
                query=given({"limit": limit}),
            )
        )

    async def take_back_tenant_move(
        self,
        tenant: str,
    ) -> models.TenantMove:
        """Take back the move of a tenant.

        The tenant stays in its cell, and what was copied is removed. This is refused once the tenant lives in the new
        cell; move it to the old one then.

        Operator only.

        :param tenant: Slug or id of the tenant.
        """
        return await self._call(
            Operation(
                "DELETE",
                f"/v1/tenants/{path(tenant)}/move",
                model=models.TenantMove,
            )
        )

    async def get_tenant_move(
        self,
        tenant: str,
    ) -> models.TenantMove:
        """Get the move of a tenant.

        Operator only.

        :param tenant: Slug or id of the tenant.
        """
        return await self._call(
            Operation(
                "GET",
                f"/v1/tenants/{path(tenant)}/move",
                model=models.TenantMove,
            )
        )

    async def move_tenant(
        self,
        tenant: str,
        cell: str,
    ) -> models.TenantMove:
        """Move a tenant to another cell.

        Moves the tenant with all of its data to another database of the gateway, while it is in use. Its requests are
        refused with `tenant_moving` for less than a second. If the same move is under way already, it goes on.

        Operator only.

        Example: `gancho.cells.move_tenant(tenant, cell='text')`

        :param tenant: Slug or id of the tenant.
        :param cell: Name of the cell that the tenant moves to.
        """
        return await self._call(
            Operation(
                "POST",
                f"/v1/tenants/{path(tenant)}/move",
                model=models.TenantMove,
                body={"cell": cell},
            )
        )


class AsyncDeadLetters(AsyncResource):
    """Deliveries that failed permanently, with the reason."""

    async def purge(
        self,
        *,
        lane: types.Lane | None = None,
        tenant: str | None = None,
        partner: str | None = None,
        code: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        all: bool | None = None,
        dry_run: bool | None = None,
    ) -> models.Purged:
        """Purge dead letters.

        Deletes the dead letters that match the filters, at most 10,000 per call. Without a filter, `all=true` is
        required. With `dry_run=true`, counts them all and deletes none.

        Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param lane: Only dead letters of this lane.
        :param tenant: Only dead letters of this tenant (slug or id). Operator only.
        :param partner: Only dead letters of this partner, also if its source was deleted. Operator only.
        :param code: Only dead letters with this failure code, e.g. `HTTP_503`. Canceled deliveries are included only
            with `CANCELED`.
        :param since: Only deliveries that became dead letters at or after this time.
        :param until: Only deliveries that became dead letters before this time.
        :param all: `true` to delete all dead letters. Required if no filter is given.
        :param dry_run: `true` to count what would be deleted, without deleting it.
        """
        return await self._call(
            Operation(
                "DELETE",
                "/v1/dlq",
                model=models.Purged,
                takes_tenant=True,
                query=given({
                    "lane": lane,
                    "tenant": tenant,
                    "partner": partner,
                    "code": code,
                    "since": since,
                    "until": until,
                    "all": all,
                    "dry_run": dry_run,
                }),
            )
        )

    def list(
        self,
        *,
        limit: int | None = None,
        lane: types.Lane | None = None,
        tenant: str | None = None,
        partner: str | None = None,
        code: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
    ) -> AsyncPages[models.DeadLetter]:
        """List dead letters.

        A page ends after 4 MiB of `original_data`, and with a filter it may be empty: continue until `next_cursor` is
        null.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param limit: Maximum number of items per page. Default: 50.
        :param lane: Only dead letters of this lane.
        :param tenant: Only dead letters of this tenant (slug or id). Operator only.
        :param partner: Only dead letters of this partner, also if its source was deleted. Operator only.
        :param code: Only dead letters with this failure code, e.g. `HTTP_503`. Canceled deliveries are included only
            with `CANCELED`.
        :param since: Only deliveries that became dead letters at or after this time.
        :param until: Only deliveries that became dead letters before this time.
        """
        return self._list(
            Operation(
                "GET",
                "/v1/dlq",
                model=models.DeadLetter,
                takes_tenant=True,
                query=given({
                    "limit": limit,
                    "lane": lane,
                    "tenant": tenant,
                    "partner": partner,
                    "code": code,
                    "since": since,
                    "until": until,
                }),
            )
        )

    def export(
        self,
        *,
        lane: types.Lane | None = None,
        tenant: str | None = None,
        partner: str | None = None,
        code: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
    ) -> AsyncIterator[models.DeadLetter]:
        """Export dead letters.

        At most 8 exports per tenant, and 8 of the operator, are open on a node; further requests get 429 with
        `Retry-After`.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param lane: Only dead letters of this lane.
        :param tenant: Only dead letters of this tenant (slug or id). Operator only.
        :param partner: Only dead letters of this partner, also if its source was deleted. Operator only.
        :param code: Only dead letters with this failure code, e.g. `HTTP_503`. Canceled deliveries are included only
            with `CANCELED`.
        :param since: Only deliveries that became dead letters at or after this time.
        :param until: Only deliveries that became dead letters before this time.
        """
        return self._stream(
            Operation(
                "GET",
                "/v1/dlq/export",
                model=models.DeadLetter,
                takes_tenant=True,
                query=given({
                    "lane": lane,
                    "tenant": tenant,
                    "partner": partner,
                    "code": code,
                    "since": since,
                    "until": until,
                }),
            )
        )

    async def import_letters(
        self,
        letters: Sequence[types.DeadLetterInput],
    ) -> models.ImportedDeadLetters:
        """Import dead letters.

        Brings up to 500 archived or exported dead letters back, with their ids, times and attempts; they can be
        replayed then, and are archived again after `dead_letter_ttl`. The tenant or source must exist. If one of them
        is invalid, none is imported. Exported e-mails and receipts are skipped, since their data is masked: import
        archived ones. What is in the store already is not written again, so that a request can be repeated; what was
        delivered or erased since is skipped.

        Operator only.

        Example: `gancho.dead_letters.import_letters(letters=[{'enqueued_at': '2026-01-15T09:30:00.000Z', 'event_type':
        'invoice.paid', 'failed_attempts': 1, 'id': 'dlv_01KA4ZQ3N8V5T7W2X6Y9B1C4DE', 'lane': 'webhook',
        'last_failure_code': 'text', 'last_failure_reason': {'amount': 4200, 'invoice': 'inv_1'},
        'last_failure_timestamp': '2026-01-15T09:30:00.000Z', 'moved_to_dlq_at': '2026-01-15T09:30:00.000Z',
        'subject_id': 'text'}])`

        :param letters: Dead letters, as `GET /v1/dlq/export` writes them, or archived ones.
        """
        return await self._call(
            Operation(
                "POST",
                "/v1/dlq/import",
                model=models.ImportedDeadLetters,
                body={"letters": letters},
            )
        )

    async def replay_all(
        self,
        *,
        code: str | None = None,
        dry_run: bool | None = None,
        lane: types.Lane | None = None,
        partner: str | None = None,
        rate: int | None = None,
        since: datetime | str | None = None,
        tenant: str | None = None,
        to: str | None = None,
        until: datetime | str | None = None,
    ) -> models.ReplayJob:
        """Replay dead letters.

        Starts a background job that sends the dead letters that match the filters again, oldest first, at the given
        rate. With `to`, they go to another webhook of their tenant. Filters can be given in the URL or in the body.

        Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.

        Example: `gancho.dead_letters.replay_all(code='HTTP_503', since='2026-01-15T09:30:00.000Z')`

        :param code: Only dead letters with this failure code, e.g. `HTTP_503`. Canceled deliveries are included only
            with `CANCELED`.
        :param dry_run: `true` to count what would be sent, without sending it.
        :param lane: Only dead letters of this lane.
        :param partner: Only dead letters of this partner, also if its source was deleted. Operator only.
        :param rate: Maximum deliveries per second. Default: 100.
        :param since: Only deliveries that became dead letters at or after this time.
        :param tenant: Only dead letters of this tenant (slug or id). Operator only.
        :param to: Id of another webhook of the same tenant to send to, instead of the original one. Only dead letters
            of the lane `webhook` go there, and each is removed once its new delivery is stored.
        :param until: Only deliveries that became dead letters before this time.
        """
        return await self._call(
            Operation(
                "POST",
                "/v1/dlq/replay",
                model=models.ReplayJob,
                takes_tenant=True,
                body=given({
                    "code": code,
                    "dry_run": dry_run,
                    "lane": lane,
                    "partner": partner,
                    "rate": rate,
                    "since": since,
                    "tenant": tenant,
                    "to": to,
                    "until": until,
                }),
            )
        )

    async def stats(
        self,
        *,
        lane: types.Lane | None = None,
        tenant: str | None = None,
        partner: str | None = None,
        code: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
    ) -> models.DeadLetterStats:
        """Count dead letters.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param lane: Only dead letters of this lane.
        :param tenant: Only dead letters of this tenant (slug or id). Operator only.
        :param partner: Only dead letters of this partner, also if its source was deleted. Operator only.
        :param code: Only dead letters with this failure code, e.g. `HTTP_503`. Canceled deliveries are included only
            with `CANCELED`.
        :param since: Only deliveries that became dead letters at or after this time.
        :param until: Only deliveries that became dead letters before this time.
        """
        return await self._call(
            Operation(
                "GET",
                "/v1/dlq/stats",
                model=models.DeadLetterStats,
                takes_tenant=True,
                query=given({
                    "lane": lane,
                    "tenant": tenant,
                    "partner": partner,
                    "code": code,
                    "since": since,
                    "until": until,
                }),
            )
        )

    async def delete(
        self,
        letter_id: str,
    ) -> None:
        """Delete a dead letter.

        Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param letter_id: Id of the dead letter.
        """
        await self._call(
            Operation[None](
                "DELETE",
                f"/v1/dlq/{path(letter_id)}",
                takes_tenant=True,
            )
        )

    async def get(
        self,
        letter_id: str,
    ) -> models.DeadLetter:
        """Get a dead letter.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param letter_id: Id of the dead letter.
        """
        return await self._call(
            Operation(
                "GET",
                f"/v1/dlq/{path(letter_id)}",
                model=models.DeadLetter,
                takes_tenant=True,
            )
        )

    async def replay(
        self,
        letter_id: str,
        *,
        to: str | None = None,
    ) -> models.DeadLetter:
        """Replay a dead letter.

        Attempts the delivery again, with a new retry schedule. With `to`, sends the event to another webhook of the
        tenant instead. Answers 409 if there is nothing to send it to.

        Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.

        Example: `gancho.dead_letters.replay(letter_id, to='wh_01KA4ZQ3N8V5T7W2X6Y9B1C4DE')`

        :param letter_id: Id of the dead letter.
        :param to: Id of another webhook of the same tenant to send to, instead of the original one. The dead letter is
            removed once the new delivery is stored.
        """
        return await self._call(
            Operation(
                "POST",
                f"/v1/dlq/{path(letter_id)}/replay",
                model=models.DeadLetter,
                takes_tenant=True,
                body=given({"to": to}),
            )
        )


class AsyncDeliveries(AsyncResource):
    """The delivery log, with every attempt."""

    def list(
        self,
        *,
        limit: int | None = None,
        status: types.DeliveryStatus | None = None,
        event_type: str | None = None,
        event_id: str | None = None,
        external_id: str | None = None,
        subject: str | None = None,
        error_code: str | None = None,
        response_status: int | None = None,
        text: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        webhook_id: str | None = None,
        lane: types.Lane | None = None,
        partner: str | None = None,
    ) -> AsyncPages[models.Delivery]:
        """List deliveries.

        Lists webhook deliveries unless `lane` says otherwise. The operator without `X-Tenant` sees those of all
        tenants, each with its `tenant`, and cannot filter by `external_id`. Deliveries of receipts are visible to the
        operator only, with `lane=dispatch` and without `X-Tenant`. A page scans a limited number of deliveries, so with
        a filter it may have fewer items than `limit`, even none: continue until `next_cursor` is null. With
        `external_id`, deliveries are ordered by event, newest first.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param limit: Maximum number of items per page. Default: 50.
        :param status: Only deliveries with this status.
        :param event_type: Only deliveries of events of this type, or of all types with a prefix: `invoice.*`.
        :param event_id: Only deliveries of this event.
        :param external_id: Only deliveries of events with this external id.
        :param subject: Only deliveries of events with this subject.
        :param error_code: Only deliveries that failed with this code, e.g. `TIMEOUT`: at their last attempt, or when
            they were given up.
        :param response_status: Only deliveries whose last attempt got this response status.
        :param text: Only deliveries whose payload contains this text, byte for byte, in its first 64 KiB. A page
            searches about 2,000 payloads.
        :param since: Only deliveries created at or after this time.
        :param until: Only deliveries created before this time.
        :param webhook_id: Only deliveries to this webhook.
        :param lane: Only deliveries in this lane. Default: `webhook`.
        :param partner: Only deliveries of receipts from this partner, in the lane `dispatch`. Operator only.
        """
        return self._list(
            Operation(
                "GET",
                "/v1/deliveries",
                model=models.Delivery,
                takes_tenant=True,
                query=given({
                    "limit": limit,
                    "status": status,
                    "event_type": event_type,
                    "event_id": event_id,
                    "external_id": external_id,
                    "subject": subject,
                    "error_code": error_code,
                    "response_status": response_status,
                    "text": text,
                    "since": since,
                    "until": until,
                    "webhook_id": webhook_id,
                    "lane": lane,
                    "partner": partner,
                }),
            )
        )

    def export(
        self,
        *,
        status: types.DeliveryStatus | None = None,
        event_type: str | None = None,
        event_id: str | None = None,
        external_id: str | None = None,
        subject: str | None = None,
        error_code: str | None = None,
        response_status: int | None = None,
        text: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        webhook_id: str | None = None,
        lane: types.Lane | None = None,
        partner: str | None = None,
    ) -> AsyncIterator[models.Delivery]:
        """Export deliveries.

        Takes the filters of the list, and returns all that match, without payloads and attempts. At most 8 exports per
        tenant, and 8 of the operator, are open on a node, those of dead letters included; further requests get 429 with
        `Retry-After`.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param status: Only deliveries with this status.
        :param event_type: Only deliveries of events of this type, or of all types with a prefix: `invoice.*`.
        :param event_id: Only deliveries of this event.
        :param external_id: Only deliveries of events with this external id.
        :param subject: Only deliveries of events with this subject.
        :param error_code: Only deliveries that failed with this code, e.g. `TIMEOUT`: at their last attempt, or when
            they were given up.
        :param response_status: Only deliveries whose last attempt got this response status.
        :param text: Only deliveries whose payload contains this text, byte for byte, in its first 64 KiB. A page
            searches about 2,000 payloads.
        :param since: Only deliveries created at or after this time.
        :param until: Only deliveries created before this time.
        :param webhook_id: Only deliveries to this webhook.
        :param lane: Only deliveries in this lane. Default: `webhook`.
        :param partner: Only deliveries of receipts from this partner, in the lane `dispatch`. Operator only.
        """
        return self._stream(
            Operation(
                "GET",
                "/v1/deliveries/export",
                model=models.Delivery,
                takes_tenant=True,
                query=given({
                    "status": status,
                    "event_type": event_type,
                    "event_id": event_id,
                    "external_id": external_id,
                    "subject": subject,
                    "error_code": error_code,
                    "response_status": response_status,
                    "text": text,
                    "since": since,
                    "until": until,
                    "webhook_id": webhook_id,
                    "lane": lane,
                    "partner": partner,
                }),
            )
        )

    def tail(
        self,
        *,
        webhook_id: str | None = None,
        event_type: str | None = None,
        status: types.DeliveryStatus | None = None,
        lane: types.Lane | None = None,
        max_rate: int | None = None,
    ) -> AsyncIterator[models.DeliveryEvent]:
        """Watch deliveries live.

        Streams a `delivery` event whenever a delivery is accepted and whenever an attempt ends. `missed` (`{"count":
        12}`) reports how many events were dropped because the client read too slowly, or beyond `max_rate`. `end`
        (`{"code": "…"}`) is the last event: `invalid_credentials` if the key was revoked or has expired, `unavailable`
        if the gateway is stopping. A comment is sent at least every 15 seconds. The tail does not resume after a
        reconnect: read `GET /v1/deliveries` for what was missed.

        It covers all nodes. What other nodes do arrives within about two seconds, and at most 50 changes a second of
        each of them, with the rest counted by `missed`. At most 8 tails per tenant, and 100 of the operator, are open
        on a node; further requests get 429. A revoked credential ends its tails within 2 seconds.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param webhook_id: Only deliveries to this webhook.
        :param event_type: Only deliveries of events of this type, or of all types with a prefix, e.g. `invoice.*`.
        :param status: Only changes after which a delivery has this status.
        :param lane: Only deliveries in this lane. Default: `webhook`. `dispatch` is for the operator, without
            `X-Tenant`.
        :param max_rate: Approximate maximum of events per second. Beyond it, a sample of the deliveries is shown, each
            with all of its events, and the rest is counted by `missed`. Default: no limit.
        """
        return self._stream(
            Operation(
                "GET",
                "/v1/deliveries/tail",
                model=models.DeliveryEvent,
                takes_tenant=True,
                query=given({
                    "webhook_id": webhook_id,
                    "event_type": event_type,
                    "status": status,
                    "lane": lane,
                    "max_rate": max_rate,
                }),
            )
        )

    async def get(
        self,
        delivery_id: str,
    ) -> models.DeliveryDetail:
        """Get a delivery.

        The operator can read the deliveries of every tenant. The content of an e-mail is at `GET
        /v1/emails/{outbox_id}`.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param delivery_id: Id of the delivery.
        """
        return await self._call(
            Operation(
                "GET",
                f"/v1/deliveries/{path(delivery_id)}",
                model=models.DeliveryDetail,
                takes_tenant=True,
            )
        )

    async def cancel(
        self,
        delivery_id: str,
    ) -> models.Delivery:
        """Stop retrying a delivery.

        Cancels one delivery that has not started or waits for a retry; other deliveries of its event go on. It fails
        with the code `CANCELED`. Lists, counts and replays of dead letters leave it out, unless this code is asked for.
        It can be retried later. Answers 409 if the delivery has ended already, or while an attempt is in flight.

        Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param delivery_id: Id of the delivery.
        """
        return await self._call(
            Operation(
                "POST",
                f"/v1/deliveries/{path(delivery_id)}/cancel",
                model=models.Delivery,
                takes_tenant=True,
            )
        )

    async def check_signature(
        self,
        delivery_id: str,
        headers: str,
        *,
        body: str | None = None,
    ) -> models.SignatureReport:
        """Check a received signature.

        Finds out why a receiver rejects a delivery: paste the headers and the body that it got. The answer names the
        parts that differ from what was sent: `id`, `timestamp`, `body` or `secret`. The secret is not shown. The age of
        the timestamp is not judged.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.

        Example: `gancho.deliveries.check_signature(delivery_id,
        headers='v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=')`

        :param delivery_id: Id of the delivery.
        :param headers: The headers of the request as the receiver got them, one `name: value` per line; or the value of
            the signature header alone.
        :param body: The body of the request as the receiver got it. Default: as it was sent.
        """
        return await self._call(
            Operation(
                "POST",
                f"/v1/deliveries/{path(delivery_id)}/check-signature",
                model=models.SignatureReport,
                takes_tenant=True,
                body={"headers": headers} | given({"body": body}),
            )
        )

    async def retry(
        self,
        delivery_id: str,
    ) -> models.Delivery:
        """Retry a delivery.

        Attempts the delivery now, whatever its status. A delivery that was delivered or had failed starts its retry
        schedule from the beginning. Answers 409 if the webhook is disabled or deleted.

        Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param delivery_id: Id of the delivery.
        """
        return await self._call(
            Operation(
                "POST",
                f"/v1/deliveries/{path(delivery_id)}/retry",
                model=models.Delivery,
                takes_tenant=True,
            )
        )

    def list_for_webhook(
        self,
        id: str,
        *,
        limit: int | None = None,
        status: types.DeliveryStatus | None = None,
        event_type: str | None = None,
        event_id: str | None = None,
        external_id: str | None = None,
        subject: str | None = None,
        error_code: str | None = None,
        response_status: int | None = None,
        text: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
    ) -> AsyncPages[models.Delivery]:
        """List a webhook's deliveries.

        A page scans a limited number of deliveries, so with a filter it may have fewer items than `limit`, even none:
        continue until `next_cursor` is null.

        Required scope: `read`.

        :param id: Id of the webhook.
        :param limit: Maximum number of items per page. Default: 50.
        :param status: Only deliveries with this status.
        :param event_type: Only deliveries of events of this type, or of all types with a prefix: `invoice.*`.
        :param event_id: Only deliveries of this event.
        :param external_id: Only deliveries of events with this external id.
        :param subject: Only deliveries of events with this subject.
        :param error_code: Only deliveries that failed with this code, e.g. `TIMEOUT`: at their last attempt, or when
            they were given up.
        :param response_status: Only deliveries whose last attempt got this response status.
        :param text: Only deliveries whose payload contains this text, byte for byte, in its first 64 KiB. A page
            searches about 2,000 payloads.
        :param since: Only deliveries created at or after this time.
        :param until: Only deliveries created before this time.
        """
        return self._list(
            Operation(
                "GET",
                f"/v1/webhooks/{path(id)}/deliveries",
                model=models.Delivery,
                takes_tenant=True,
                query=given({
                    "limit": limit,
                    "status": status,
                    "event_type": event_type,
                    "event_id": event_id,
                    "external_id": external_id,
                    "subject": subject,
                    "error_code": error_code,
                    "response_status": response_status,
                    "text": text,
                    "since": since,
                    "until": until,
                }),
            )
        )

    async def get_for_webhook(
        self,
        id: str,
        delivery_id: str,
    ) -> models.DeliveryDetail:
        """Get a webhook's delivery.

        Required scope: `read`.

        :param id: Id of the webhook.
        :param delivery_id: Id of the delivery.
        """
        return await self._call(
            Operation(
                "GET",
                f"/v1/webhooks/{path(id)}/deliveries/{path(delivery_id)}",
                model=models.DeliveryDetail,
                takes_tenant=True,
            )
        )

    async def retry_for_webhook(
        self,
        id: str,
        delivery_id: str,
    ) -> models.Delivery:
        """Retry a webhook's delivery.

        Attempts the delivery now, whatever its status. A delivery that was delivered or had failed starts its retry
        schedule from the beginning. Answers 409 if the webhook is disabled or deleted.

        Required scope: `manage`.

        :param id: Id of the webhook.
        :param delivery_id: Id of the delivery.
        """
        return await self._call(
            Operation(
                "POST",
                f"/v1/webhooks/{path(id)}/deliveries/{path(delivery_id)}/retry",
                model=models.Delivery,
                takes_tenant=True,
            )
        )


class AsyncEmails(AsyncResource):
    """Send e-mails and look up their status."""

    def list_captured(
        self,
    ) -> AsyncPages[models.CapturedEmailSummary]:
        """List captured e-mails.

        Only available with the `sink` transport, which captures e-mails in memory for a short time instead of sending
        them.

        Operator only.
        """
        return self._list(
            Operation(
                "GET",
                "/v1/dev/emails",
                model=models.CapturedEmailSummary,
            )
        )

    async def get_captured(
        self,
        outbox_id: str,
    ) -> models.CapturedEmail:
        """Get a captured e-mail.

        Operator only.

        :param outbox_id: Id of the e-mail.
        """
        return await self._call(
            Operation(
                "GET",
                f"/v1/dev/emails/{path(outbox_id)}",
                model=models.CapturedEmail,
            )
        )

    async def send(
        self,
        from_: str,
        to: str,
        subject: str,
        *,
        attachments: Sequence[types.AttachmentInput] | None = None,
        external_id: str | None = None,
        headers: Mapping[str, str] | None = None,
        html: str | None = None,
        reply_to: str | None = None,
        text: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.AcceptedEmail:
        """Send an e-mail.

        The outcome is reported by the events `email.sent`, `email.retry_scheduled` and `email.failed`, and by `GET
        /v1/emails/{outbox_id}`. An e-mail to a suppressed address is accepted and fails immediately.

        Required scope: `publish`.

        Example: `gancho.emails.send(from_='shop@example.com', subject='Your invoice', text='Your invoice is paid.',
        to='ana@example.com')`

        :param from_: Sender: `shop@example.com` or `Shop <shop@example.com>`.
        :param to: Recipient. An e-mail has exactly one; send several e-mails to reach several recipients.
        :param subject: Subject line of the e-mail; may be empty.
        :param attachments: Attachments, at most 10 MiB in total.
        :param external_id: Your own id for the e-mail. Included in every event about it.
        :param headers: Custom headers, e.g. `List-Unsubscribe`. Headers that the gateway sets itself are rejected.
        :param html: HTML body. At least one of `html` and `text` is required.
        :param reply_to: Address that replies go to. Default: the sender.
        :param text: Plain-text body. At least one of `html` and `text` is required.
        :param idempotency_key: Repeating the call with the same key within 24 hours has the effect of one. Default: a
            random one, so that the client's own retries are safe.
        """
        return await self._call(
            Operation(
                "POST",
                "/v1/email/send",
                model=models.AcceptedEmail,
                takes_tenant=True,
                body={"from": from_, "to": to, "subject": subject} | given({
                    "attachments": attachments,
                    "externalId": external_id,
                    "headers": headers,
                    "html": html,
                    "replyTo": reply_to,
                    "text": text,
                }),
                idempotency=("idempotencyKey", idempotency_key),
            )
        )

    def list(
        self,
        *,
        limit: int | None = None,
        status: types.EmailStatus | None = None,
        external_id: str | None = None,
        recipient: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
    ) -> AsyncPages[models.EmailSummary]:
        """List e-mails.

        The operator without `X-Tenant` sees those of all tenants, and cannot filter by `externalId`; those that bounced
        after they were sent are `FAILED` in their tenant's list only.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param limit: Maximum number of items per page. Default: 50.
        :param status: Only e-mails with this status. An e-mail that bounced after it was sent is `FAILED`. With this
            filter a page may have fewer items than `limit`: continue until `next_cursor` is null.
        :param external_id: Only e-mails with this external id.
        :param recipient: Only e-mails to this address. A page searches about 2,000 e-mails, and may have fewer items
            than `limit`, even none: continue until `next_cursor` is null.
        :param since: Only e-mails submitted at or after this time.
        :param until: Only e-mails submitted before this time.
        """
        return self._list(
            Operation(
                "GET",
                "/v1/emails",
                model=models.EmailSummary,
                takes_tenant=True,
                query=given({
                    "limit": limit,
                    "status": status,
                    "externalId": external_id,
                    "recipient": recipient,
                    "since": since,
                    "until": until,
                }),
            )
        )

    async def get(
        self,
        outbox_id: str,
    ) -> models.Email:
        """Get an e-mail.

        Required scope: `read`.

        :param outbox_id: Id of the e-mail.
        """
        return await self._call(
            Operation(
                "GET",
                f"/v1/emails/{path(outbox_id)}",
                model=models.Email,
                takes_tenant=True,
            )
        )


class AsyncEncryptionKeys(AsyncResource):
    """The keys that encrypt stored secrets. Operator only."""

    async def list(
        self,
    ) -> models.SealingKeys:
        """List encryption keys.

        Operator only.
        """
        return await self._call(
            Operation(
                "GET",
                "/v1/keys",
                model=models.SealingKeys,
            )
        )

    async def rotate(
        self,
        *,
        new_key: bool | None = None,
    ) -> models.KeyRotation:
        """Rotate the encryption key.

        Creates a new key and re-encrypts all stored secrets with it. If the operation is interrupted, call it again
        with `new_key: false`.

        Operator only.

        Example: `gancho.encryption_keys.rotate(new_key=True)`

        :param new_key: `false`: create no new key, only re-encrypt secrets that use an older key. Default: `true`.
        """
        return await self._call(
            Operation(
                "POST",
                "/v1/keys/rotate",
                model=models.KeyRotation,
                body=given({"new_key": new_key}),
            )
        )


class AsyncEventTypes(AsyncResource):
    """The catalog of events that can be published."""

    def list(
        self,
        *,
        limit: int | None = None,
        catalog: Literal["email", "agents", "saas", "operations", "operator", "tenant"] | None = None,
    ) -> AsyncPages[models.EventType]:
        """List event types.

        The catalogs `email`, `agents`, `saas` and `operations` are built in.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param limit: Maximum number of items per page. Default: 500.
        :param catalog: Only event types of this catalog.
        """
        return self._list(
            Operation(
                "GET",
                "/v1/webhooks/events",
                model=models.EventType,
                takes_tenant=True,
                query=given({"limit": limit, "catalog": catalog}),
            )
        )

    async def create(
        self,
        name: str,
        *,
        description: str | None = None,
        example: Any = None,
        is_archived: bool | None = None,
        metadata: Mapping[str, Any] | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> models.EventType:
        """Register an event type.

        A tenant's event type overrides the operator's of the same name, which overrides a built-in one. The operator's
        event types apply to all tenants.

        Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.

        Example: `gancho.event_types.create(name='invoice.paid')`

        :param name: Dot-separated name, e.g. `invoice.paid`.
        :param description: Human-readable description.
        :param example: Example of the event's data. Test calls send it.
        :param is_archived: Whether the event type is archived: no longer offered to users.
        :param metadata: Custom JSON object, stored with the event type.
        :param schema: JSON Schema that the event's data must match. External references are not allowed.
        """
        return await self._call(
            Operation(
                "POST",
                "/v1/webhooks/events",
                model=models.EventType,
                takes_tenant=True,
                body={"name": name} | given({
                    "description": description,
                    "example": example,
                    "is_archived": is_archived,
                    "metadata": metadata,
                    "schema": schema,
                }),
            )
        )

    async def delete(
        self,
        event_type: str,
    ) -> None:
        """Delete an event type.

        Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param event_type: Name of the event type.
        """
        await self._call(
            Operation[None](
                "DELETE",
                f"/v1/webhooks/events/{path(event_type)}",
                takes_tenant=True,
            )
        )

    async def get(
        self,
        event_type: str,
    ) -> models.EventType:
        """Get an event type.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param event_type: Name of the event type.
        """
        return await self._call(
            Operation(
                "GET",
                f"/v1/webhooks/events/{path(event_type)}",
                model=models.EventType,
                takes_tenant=True,
            )
        )

    async def replace(
        self,
        event_type: str,
        *,
        description: str | None = None,
        example: Any = None,
        is_archived: bool | None = None,
        metadata: Mapping[str, Any] | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> models.EventType:
        """Register or replace an event type.

        Fields that are left out are reset to their defaults.

        Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.

        Example: `gancho.event_types.replace(event_type, description='An invoice was paid')`

        :param event_type: Name of the event type.
        :param description: Human-readable description.
        :param example: Example of the event's data. Test calls send it.
        :param is_archived: Whether the event type is archived: no longer offered to users.
        :param metadata: Custom JSON object, stored with the event type.
        :param schema: JSON Schema that the event's data must match. External references are not allowed.
        """
        return await self._call(
            Operation(
                "PUT",
                f"/v1/webhooks/events/{path(event_type)}",
                model=models.EventType,
                takes_tenant=True,
                body=given({
                    "description": description,
                    "example": example,
                    "is_archived": is_archived,
                    "metadata": metadata,
                    "schema": schema,
                }),
            )
        )


class AsyncEvents(AsyncResource):
    """Publish events and look them up."""

    async def erase_content(
        self,
        *,
        cursor: str | None = None,
        email_address: str | None = None,
        event_id: str | None = None,
        outbox_id: str | None = None,
        receipt_id: str | None = None,
        subject: str | None = None,
    ) -> models.Erasure:
        """Erase content.

        Erases payloads, subjects, external ids, the headers and bodies of attempts, addresses and texts of e-mails,
        dead letters and their copies in the archive. Waiting deliveries are canceled first. While a delivery is in
        flight its event is not erased: a request for one event is answered with 409, a search counts it in `in_flight`;
        repeat it. What stays: ids, times, event types, states, failure codes, the ledger (which has hashes, and the ids
        that partners gave), the audit log, and backups. Erased content cannot be restored, delivered or replayed. A
        search ends after some seconds: repeat it with `cursor` until `next_cursor` is null. At most 2 searches per
        tenant, and 8 of the operator, run on a node; further requests get 429 with `Retry-After`.

        Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.

        Example: `gancho.events.erase_content(email_address='ana@example.com')`

        :param cursor: `next_cursor` of the response before, with the same `subject` or `email_address`.
        :param email_address: Erase all e-mails to this address.
        :param event_id: Id of an event whose content is erased.
        :param outbox_id: Id of an e-mail whose content is erased.
        :param receipt_id: Id of a receipt whose content is erased. Operator only.
        :param subject: Erase all events of this subject.
        """
        return await self._call(
            Operation(
                "POST",
                "/v1/erasures",
                model=models.Erasure,
                takes_tenant=True,
                body=given({
                    "cursor": cursor,
                    "email_address": email_address,
                    "event_id": event_id,
                    "outbox_id": outbox_id,
                    "receipt_id": receipt_id,
                    "subject": subject,
                }),
            )
        )

    def list(
        self,
        *,
        limit: int | None = None,
        event_type: str | None = None,
        external_id: str | None = None,
        unmatched: bool | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
    ) -> AsyncPages[models.EventSummary]:
        """List events.

        The operator without `X-Tenant` sees the events of all tenants, each with its `tenant`, and cannot filter by
        `external_id`. A page scans a limited number of events, so with a filter it may have fewer items than `limit`,
        even none: continue until `next_cursor` is null.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param limit: Maximum number of items per page. Default: 50.
        :param event_type: Only events of this type.
        :param external_id: Only events with this external id.
        :param unmatched: `true`: only events that matched no webhook.
        :param since: Only events published at or after this time.
        :param until: Only events published before this time.
        """
        return self._list(
            Operation(
                "GET",
                "/v1/events",
                model=models.EventSummary,
                takes_tenant=True,
                query=given({
                    "limit": limit,
                    "event_type": event_type,
                    "external_id": external_id,
                    "unmatched": unmatched,
                    "since": since,
                    "until": until,
                }),
            )
        )

    async def publish(
        self,
        type: str,
        data: Any,
        *,
        deliver_at: datetime | str | None = None,
        external_id: str | None = None,
        subject: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.PublishedEvent:
        """Publish an event.

        Delivers the event to every active webhook of the tenant that is subscribed to its type.

        Required scope: `publish`.

        Example: `gancho.events.publish(data={'amount': 4200, 'invoice': 'inv_1'}, type='invoice.paid')`

        :param type: Event type, e.g. `invoice.paid`.
        :param data: Payload of the event: any JSON value. Delivered byte for byte.
        :param deliver_at: Earliest time of delivery, at most one year ahead.
        :param external_id: Your own id for the event. Events and deliveries can be searched by it.
        :param subject: What the event is about, e.g. an order id. Events of a subject are numbered, and delivered in
            order to webhooks with `ordering: per_subject`.
        :param idempotency_key: Repeating the call with the same key within 24 hours has the effect of one. Default: a
            random one, so that the client's own retries are safe.
        """
        return await self._call(
            Operation(
                "POST",
                "/v1/events",
                model=models.PublishedEvent,
                takes_tenant=True,
                body={"type": type, "data": data} | given({"deliver_at": deliver_at, "external_id": external_id, "subject": subject}),
                idempotency=("idempotency_key", idempotency_key),
            )
        )

    async def publish_batch(
        self,
        events: Sequence[types.EventInput],
        *,
        idempotency_key: str | None = None,
    ) -> models.BatchOutcome:
        """Publish many events.

        Publishes up to 1,000 events; each is accepted or refused independently. An `Idempotency-Key` header covers the
        whole batch: each event without a key of its own gets one derived from the header and the event's index.

        Required scope: `publish`.

        Example: `gancho.events.publish_batch(events=[{'data': {'amount': 4200, 'invoice': 'inv_1'}, 'type':
        'invoice.paid'}])`

        :param events: Events to publish, at most 1,000.
        :param idempotency_key: Repeating the call with the same key within 24 hours has the effect of one. Default: a
            random one, so that the client's own retries are safe.
        """
        return await self._call(
            Operation(
                "POST",
                "/v1/events/batch",
                model=models.BatchOutcome,
                takes_tenant=True,
                body={"events": events},
                idempotency=("header", idempotency_key),
            )
        )

    async def get(
        self,
        event_id: str,
    ) -> models.Event:
        """Get an event.

        The operator can read the events of every tenant.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param event_id: Id of the event.
        """
        return await self._call(
            Operation(
                "GET",
                f"/v1/events/{path(event_id)}",
                model=models.Event,
                takes_tenant=True,
            )
        )

    async def cancel(
        self,
        event_id: str,
    ) -> models.CanceledEvent:
        """Cancel an event.

        Cancels the deliveries of the event that have not started or wait for a retry, such as those of a scheduled
        event. They fail with the code `CANCELED`. Lists, counts and replays of dead letters leave them out, unless this
        code is asked for. Deliveries in flight finish. Answers 409 if nothing is left to cancel.

        Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param event_id: Id of the event.
        """
        return await self._call(
            Operation(
                "POST",
                f"/v1/events/{path(event_id)}/cancel",
                model=models.CanceledEvent,
                takes_tenant=True,
            )
        )

    def list_rejected(
        self,
        *,
        limit: int | None = None,
    ) -> AsyncPages[models.RejectedEvent]:
        """List rejected events.

        Lists events that an application has published from SQL (`gancho.publish`) and that were rejected after its
        transaction was committed, e.g. because they do not match the schema of their type. They are stored until they
        are retried or deleted. Events that are published with the API are rejected in its response and are not listed.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param limit: Maximum number of items per page. Default: 50.
        """
        return self._list(
            Operation(
                "GET",
                "/v1/rejected-events",
                model=models.RejectedEvent,
                takes_tenant=True,
                query=given({"limit": limit}),
            )
        )

    async def delete_rejected(
        self,
        event_id: str,
    ) -> None:
        """Delete a rejected event.

        Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param event_id: Id of the event.
        """
        await self._call(
            Operation[None](
                "DELETE",
                f"/v1/rejected-events/{path(event_id)}",
                takes_tenant=True,
            )
        )

    async def retry_rejected(
        self,
        event_id: str,
    ) -> None:
        """Retry a rejected event.

        Checks an event again that was published from SQL and rejected. It is then accepted under its id, or rejected
        again. Another event with its idempotency key that still waits to be accepted is a conflict.

        Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param event_id: Id of the event.
        """
        await self._call(
            Operation[None](
                "POST",
                f"/v1/rejected-events/{path(event_id)}/retry",
                takes_tenant=True,
            )
        )


class AsyncLedger(AsyncResource):
    """The tamper-evident record of received webhooks. Operator only."""

    async def get(
        self,
    ) -> models.Ledger:
        """Get the ledger status.

        This operation verifies nothing; run `gancho ledger verify` to check every line.

        Operator only.
        """
        return await self._call(
            Operation(
                "GET",
                "/v1/ledger",
                model=models.Ledger,
            )
        )

    async def create_checkpoint(
        self,
    ) -> models.MadeCheckpoint:
        """Create a ledger checkpoint.

        Verifies all lines that this node has not verified yet, then signs a checkpoint. A ledger that fails
        verification is not signed.

        Operator only.
        """
        return await self._call(
            Operation(
                "POST",
                "/v1/ledger/checkpoint",
                model=models.MadeCheckpoint,
            )
        )


class AsyncNodes(AsyncResource):
    """The processes of this gateway. Operator only."""

    def list(
        self,
    ) -> AsyncPages[models.Node]:
        """List nodes.

        Lists the processes that share this store, from their heartbeats. A node that shut down cleanly is not listed.
        At most 500 nodes are listed.

        Operator only.
        """
        return self._list(
            Operation(
                "GET",
                "/v1/nodes",
                model=models.Node,
            )
        )


class AsyncPortalLinks(AsyncResource):
    """Links with which a tenant's people open their portal."""

    async def create(
        self,
        tenant: str,
        *,
        expires_in: str | None = None,
    ) -> models.PortalLink:
        """Create a portal link.

        Anyone with the link can read and manage the tenant's data, but cannot publish events.

        Operator only.

        Example: `gancho.portal_links.create(tenant='acme')`

        :param tenant: Slug or id of the tenant.
        :param expires_in: How long the link is valid. Default: `1h`; at most `24h`.
        """
        return await self._call(
            Operation(
                "POST",
                "/v1/portal-links",
                model=models.PortalLink,
                body={"tenant": tenant} | given({"expires_in": expires_in}),
            )
        )

    async def revoke(
        self,
        tenant: str,
    ) -> None:
        """Revoke portal links.

        All portal links of the tenant that were made until now, and the sessions in the portal that they opened.

        Operator only.

        :param tenant: Slug or id of the tenant.
        """
        await self._call(
            Operation[None](
                "DELETE",
                f"/v1/tenants/{path(tenant)}/portal-links",
            )
        )


class AsyncQueues(AsyncResource):
    """Backlog per lane; pausing and resuming lanes. Operator only."""

    async def list(
        self,
    ) -> models.Queues:
        """List queues.

        Operator only.
        """
        return await self._call(
            Operation(
                "GET",
                "/v1/queues",
                model=models.Queues,
            )
        )

    async def pause(
        self,
        lane: str,
        *,
        reason: str | None = None,
    ) -> None:
        """Pause a lane.

        Deliveries in flight finish; all others wait until the lane is resumed. Other nodes follow within about a
        second.

        Operator only.

        Example: `gancho.queues.pause(lane, reason='text')`

        :param lane: Name of the lane: `webhook`, `dispatch` or `email`.
        :param reason: Why the deliveries are paused, for other people to read. It is recorded in the audit log.
        """
        await self._call(
            Operation[None](
                "POST",
                f"/v1/queues/{path(lane)}/pause",
                body=given({"reason": reason}),
            )
        )

    async def resume(
        self,
        lane: str,
    ) -> None:
        """Resume a lane.

        Operator only.

        :param lane: Name of the lane: `webhook`, `dispatch` or `email`.
        """
        await self._call(
            Operation[None](
                "POST",
                f"/v1/queues/{path(lane)}/resume",
            )
        )


class AsyncReplays(AsyncResource):
    """Jobs that send past deliveries or events again."""

    def list(
        self,
        *,
        limit: int | None = None,
    ) -> AsyncPages[models.ReplayJob]:
        """List replays.

        The operator without `X-Tenant` sees the replays of all tenants, each with its `tenant`, and its own.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param limit: Maximum number of items per page. Default: 50.
        """
        return self._list(
            Operation(
                "GET",
                "/v1/replays",
                model=models.ReplayJob,
                takes_tenant=True,
                query=given({"limit": limit}),
            )
        )

    async def create(
        self,
        *,
        all: bool | None = None,
        dry_run: bool | None = None,
        filter: types.ReplayFilterInput | None = None,
        missing: bool | None = None,
        of: Literal["deliveries", "events"] | None = None,
        rate: int | None = None,
        to: str | None = None,
    ) -> models.ReplayJob:
        """Replay deliveries or events.

        Starts a background job that sends deliveries or events again, oldest first. Webhooks with `ordering:
        per_subject` still receive each subject in order. Without a filter, `all` is required. With `dry_run`, the job
        only counts what would be sent.

        Required scope: `manage`.

        Example: `gancho.replays.create(all=True)`

        :param all: `true` to replay everything. Required if no filter is given.
        :param dry_run: `true` to count what would be sent, without sending it.
        :param filter: What to replay: at least one condition, unless `all` is true.
        :param missing: `true` for only those events that the webhook in `to` is subscribed to and that were not sent to
            it yet. Requires `of: events`.
        :param of: What to replay. `deliveries` (default) are sent again to their webhook; `events` are sent to the
            webhook in `to`, even if it was created later.
        :param rate: Maximum deliveries per second. Default: 100.
        :param to: Id of the webhook to send to, instead of the original one. Required with `of: events`.
        """
        return await self._call(
            Operation(
                "POST",
                "/v1/replays",
                model=models.ReplayJob,
                takes_tenant=True,
                body=given({
                    "all": all,
                    "dry_run": dry_run,
                    "filter": filter,
                    "missing": missing,
                    "of": of,
                    "rate": rate,
                    "to": to,
                }),
            )
        )

    async def get(
        self,
        replay_id: str,
    ) -> models.ReplayJob:
        """Get a replay.

        The operator can read the replays of every tenant.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param replay_id: Id of the replay.
        """
        return await self._call(
            Operation(
                "GET",
                f"/v1/replays/{path(replay_id)}",
                model=models.ReplayJob,
                takes_tenant=True,
            )
        )

    async def cancel(
        self,
        replay_id: str,
    ) -> models.ReplayJob:
        """Cancel a replay.

        Required scope: `manage`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param replay_id: Id of the replay.
        """
        return await self._call(
            Operation(
                "POST",
                f"/v1/replays/{path(replay_id)}/cancel",
                model=models.ReplayJob,
                takes_tenant=True,
            )
        )


class AsyncSearch(AsyncResource):
    """Find anything by its id or name."""

    async def find(
        self,
        q: str,
    ) -> models.SearchResult:
        """Search.

        Finds events, deliveries, webhooks, e-mails, replays and event types. The operator without `X-Tenant` searches
        all tenants, and finds tenants, API keys, sources and receipts as well. If the text is an id that exists, that
        is the only match.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param q: The text to search for: an id, in any case and with or without its prefix; an external id; an event
            type; the slug or name of a tenant; the name of a partner; or the name or a part of the URL of a webhook.
        """
        return await self._call(
            Operation(
                "GET",
                "/v1/search",
                model=models.SearchResult,
                takes_tenant=True,
                query=given({"q": q}),
            )
        )


class AsyncSources(AsyncResource):
    """Partners that send webhooks to the gateway, their keys and receipts. Operator only."""

    async def reload(
        self,
    ) -> models.Reloaded:
        """Reload settings, policy pack and sources.

        Does what SIGHUP does, on the node that responds: reads the configuration file and the policy pack again, and
        applies the settings that need no restart. If one of them is invalid, nothing changes.

        Operator only.
        """
        return await self._call(
            Operation(
                "POST",
                "/v1/_reload",
                model=models.Reloaded,
            )
        )

    def list_all_rejections(
        self,
    ) -> AsyncPages[models.Rejection]:
        """List rejected webhooks of unknown partners.

        The last 50 rejections on all nodes, with the reason that the sender is not told. Rejections on other nodes
        appear after a few seconds.

        Operator only.
        """
        return self._list(
            Operation(
                "GET",
                "/v1/rejections",
                model=models.Rejection,
            )
        )

    async def import_keys(
        self,
        entries: Any,
    ) -> models.ImportedKeys:
        """Import keys of many partners.

        Creates missing sources. All entries are validated first; if one is invalid, nothing is imported.

        Operator only.

        Example: `gancho.sources.import_keys(entries={'webhook:partner:stripe:key:k1': {'scheme': 'hmac', 'secret':
        'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'}})`

        :param entries: `{"webhook:partner:<name>:key:<id>": {"scheme": "hmac", "secret": "…"}, …}`, or an exported
            array of `{"key": …, "value": …}`.
        """
        return await self._call(
            Operation(
                "POST",
                "/v1/source-keys/import",
                model=models.ImportedKeys,
                body={"entries": entries},
            )
        )

    def list(
        self,
        *,
        limit: int | None = None,
    ) -> AsyncPages[models.Source]:
        """List sources.

        Operator only.

        :param limit: Maximum number of items per page. Default: 50.
        """
        return self._list(
            Operation(
                "GET",
                "/v1/sources",
                model=models.Source,
                query=given({"limit": limit}),
            )
        )

    async def create(
        self,
        partner: str,
        *,
        dispatch_secret: str | None = None,
        event_id_pointer: str | None = None,
        is_active: bool | None = None,
        preset: Any = None,
        rate_limit: types.RateLimitInput | None = None,
        retry: types.RetryInput | None = None,
        schema: Mapping[str, Any] | None = None,
        target_url: str | None = None,
        targets: Sequence[str] | None = None,
        verify_token: str | None = None,
    ) -> models.NewSource:
        """Create a source.

        The partner posts to `/webhooks/{partner}` on the ingest listener.

        Operator only.

        Example: `gancho.sources.create(partner='stripe', preset='stripe')`

        :param partner: Name of the partner, used in the URL: lower-case letters, digits and `-`. Cannot be changed.
        :param dispatch_secret: Secret that dispatched receipts are signed with. Default: a generated one.
        :param event_id_pointer: JSON pointer to the event id in the body, used for deduplication. Default: defined by
            the preset.
        :param is_active: Whether webhooks from the partner are accepted. Default: `true`.
        :param preset: How the partner signs: `"partner"` (default), `"standard"`, `"stripe"`, `"github"`, `"slack"`,
            `"shopify"`, `"meta"`, `"microsoft"`, `{"sns": {"topics": ["arn:aws:sns:…"]}}` (Amazon SNS, with the
            accepted topics), `{"generic": {…}}` or `{"token": {"header": …}}`.
        :param rate_limit: Rate limit per key for incoming webhooks. Default: none.
        :param retry: Retry schedule of dispatches. Default: 10 attempts, with delays from 2s doubling up to 32s.
        :param schema: JSON Schema for request bodies. A webhook that does not match is recorded, refused with 422 and
            not dispatched.
        :param target_url: URL that receipts are dispatched to. Default: `http://127.0.0.1:9458/core/hooks/ingest`.
            `gancho:email-feedback` processes bounces and complaints reported by SES.
        :param targets: Several target URLs, instead of `target_url`.
        :param verify_token: Verify token of Meta's subscription handshake (`hub.verify_token`).
        """
        return await self._call(
            Operation(
                "POST",
                "/v1/sources",
                model=models.NewSource,
                body={"partner": partner} | given({
                    "dispatch_secret": dispatch_secret,
                    "event_id_pointer": event_id_pointer,
                    "is_active": is_active,
                    "preset": preset,
                    "rate_limit": rate_limit,
                    "retry": retry,
                    "schema": schema,
                    "target_url": target_url,
                    "targets": targets,
                    "verify_token": verify_token,
                }),
            )
        )

    async def delete(
        self,
        partner: str,
    ) -> None:
        """Delete a source.

        Receipts stay in the ledger. Receipts that are still waiting to be dispatched become dead letters.

        Operator only.

        :param partner: Name of the partner.
        """
        await self._call(
            Operation[None](
                "DELETE",
                f"/v1/sources/{path(partner)}",
            )
        )

    async def get(
        self,
        partner: str,
    ) -> models.SourceCounts:
        """Get a source.

        Operator only.

        :param partner: Name of the partner.
        """
        return await self._call(
            Operation(
                "GET",
                f"/v1/sources/{path(partner)}",
                model=models.SourceCounts,
            )
        )

    async def update(
        self,
        partner: str,
        *,
        dispatch_secret: str | Unset = UNSET,
        event_id_pointer: str | None | Unset = UNSET,
        is_active: bool | Unset = UNSET,
        preset: Any | Unset = UNSET,
        rate_limit: types.RateLimitInput | None | Unset = UNSET,
        retry: types.RetryInput | None | Unset = UNSET,
        schema: Mapping[str, Any] | None | Unset = UNSET,
        target_url: str | Unset = UNSET,
        targets: Sequence[str] | Unset = UNSET,
        verify_token: str | None | Unset = UNSET,
    ) -> models.Source:
        """Update a source.

        Fields that are left out keep their value; `null` resets a field to its default. The partner name never changes.

        Operator only.

        Example: `gancho.sources.update(partner, rate_limit={'count': 1, 'per': '1s'})`

        :param partner: Name of the partner.
        :param dispatch_secret: Secret that dispatched receipts are signed with. Default: a generated one.
        :param event_id_pointer: JSON pointer to the event id in the body, used for deduplication. Default: defined by
            the preset.
        :param is_active: Whether webhooks from the partner are accepted. Default: `true`.
        :param preset: How the partner signs: `"partner"` (default), `"standard"`, `"stripe"`, `"github"`, `"slack"`,
            `"shopify"`, `"meta"`, `"microsoft"`, `{"sns": {"topics": ["arn:aws:sns:…"]}}` (Amazon SNS, with the
            accepted topics), `{"generic": {…}}` or `{"token": {"header": …}}`.
        :param rate_limit: Rate limit per key for incoming webhooks. Default: none.
        :param retry: Retry schedule of dispatches. Default: 10 attempts, with delays from 2s doubling up to 32s.
        :param schema: JSON Schema for request bodies. A webhook that does not match is recorded, refused with 422 and
            not dispatched.
        :param target_url: URL that receipts are dispatched to. Default: `http://127.0.0.1:9458/core/hooks/ingest`.
            `gancho:email-feedback` processes bounces and complaints reported by SES.
        :param targets: Several target URLs, instead of `target_url`.
        :param verify_token: Verify token of Meta's subscription handshake (`hub.verify_token`).
        """
        return await self._call(
            Operation(
                "PATCH",
                f"/v1/sources/{path(partner)}",
                model=models.Source,
                body=given({
                    "dispatch_secret": dispatch_secret,
                    "event_id_pointer": event_id_pointer,
                    "is_active": is_active,
                    "preset": preset,
                    "rate_limit": rate_limit,
                    "retry": retry,
                    "schema": schema,
                    "target_url": target_url,
                    "targets": targets,
                    "verify_token": verify_token,
                }, keep_null=True),
            )
        )

    def list_keys(
        self,
        partner: str,
    ) -> AsyncPages[models.SourceKey]:
        """List a source's keys.

        Operator only.

        :param partner: Name of the partner.
        """
        return self._list(
            Operation(
                "GET",
                f"/v1/sources/{path(partner)}/keys",
                model=models.SourceKey,
            )
        )

    async def delete_key(
        self,
        partner: str,
        partner_key: str,
    ) -> None:
        """Delete a source's key.

        Operator only.

        :param partner: Name of the partner.
        :param partner_key: Name of the key.
        """
        await self._call(
            Operation[None](
                "DELETE",
                f"/v1/sources/{path(partner)}/keys/{path(partner_key)}",
            )
        )

    async def put_key(
        self,
        partner: str,
        partner_key: str,
        scheme: Literal["hmac", "ed25519"],
        *,
        algo: Literal["sha256"] | None = None,
        encoding: Literal["raw", "base64", "hex"] | None = None,
        not_after: datetime | str | None = None,
        not_before: datetime | str | None = None,
        overlap: str | None = None,
        public_key: str | None = None,
        replaces: str | None = None,
        secret: str | None = None,
    ) -> models.SourceKey:
        """Create or replace a source's key.

        A source can have several valid keys at a time. With `replaces`, the replaced key expires after `overlap`.

        Operator only.

        Example: `gancho.sources.put_key(partner, partner_key, scheme='hmac',
        secret='whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')`

        :param partner: Name of the partner.
        :param partner_key: Name of the key.
        :param scheme: Signature scheme of the key.
        :param algo: Hash algorithm of `hmac`. Only `sha256` is supported.
        :param encoding: Encoding of `secret`. Default: `raw`.
        :param not_after: The key is not valid after this time.
        :param not_before: The key is not valid before this time.
        :param overlap: How long a replaced key stays valid. Default: `24h`.
        :param public_key: The partner's public key, in base64. Required for `ed25519`.
        :param replaces: Id of the key that this one replaces. The old key expires after `overlap`.
        :param secret: Shared secret. Required for `hmac`.
        """
        return await self._call(
            Operation(
                "PUT",
                f"/v1/sources/{path(partner)}/keys/{path(partner_key)}",
                model=models.SourceKey,
                body={"scheme": scheme} | given({
                    "algo": algo,
                    "encoding": encoding,
                    "not_after": not_after,
                    "not_before": not_before,
                    "overlap": overlap,
                    "publicKey": public_key,
                    "replaces": replaces,
                    "secret": secret,
                }),
            )
        )

    def list_receipts(
        self,
        partner: str,
        *,
        limit: int | None = None,
        status: types.ReceiptStatus | None = None,
        event_id: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
    ) -> AsyncPages[models.Receipt]:
        """List a source's receipts.

        With a filter, a page may have fewer items than `limit`, even none: continue until `next_cursor` is null.

        Operator only.

        :param partner: Name of the partner.
        :param limit: Maximum number of items per page. Default: 50.
        :param status: Only receipts with this status.
        :param event_id: Only receipts with this event id of the partner.
        :param since: Only receipts received at or after this time.
        :param until: Only receipts received before this time.
        """
        return self._list(
            Operation(
                "GET",
                f"/v1/sources/{path(partner)}/receipts",
                model=models.Receipt,
                query=given({"limit": limit, "status": status, "event_id": event_id, "since": since, "until": until}),
            )
        )

    async def retry_receipts(
        self,
        partner: str,
        *,
        all: bool | None = None,
        dry_run: bool | None = None,
        event_id: str | None = None,
        rate: int | None = None,
        since: datetime | str | None = None,
        status: types.ReceiptStatus | None = None,
        until: datetime | str | None = None,
    ) -> models.ReplayJob:
        """Retry receipts.

        Starts a background job that dispatches the receipts that match the filter again, at the given rate. Without a
        filter, `all` is required. Test events are skipped.

        Operator only.

        Example: `gancho.sources.retry_receipts(partner, all=True)`

        :param partner: Name of the partner.
        :param all: `true` to retry all receipts. Required if no filter is given.
        :param dry_run: `true` to count what would be sent, without sending it.
        :param event_id: Only receipts with this event id of the partner.
        :param rate: Maximum deliveries per second. Default: 100.
        :param since: Only receipts received at or after this time.
        :param status: Only receipts with this status.
        :param until: Only receipts received before this time.
        """
        return await self._call(
            Operation(
                "POST",
                f"/v1/sources/{path(partner)}/receipts/retry",
                model=models.ReplayJob,
                body=given({
                    "all": all,
                    "dry_run": dry_run,
                    "event_id": event_id,
                    "rate": rate,
                    "since": since,
                    "status": status,
                    "until": until,
                }),
            )
        )

    async def get_receipt(
        self,
        partner: str,
        receipt_id: str,
    ) -> models.ReceiptDetail:
        """Get a receipt.

        Operator only.

        :param partner: Name of the partner.
        :param receipt_id: Id of the receipt.
        """
        return await self._call(
            Operation(
                "GET",
                f"/v1/sources/{path(partner)}/receipts/{path(receipt_id)}",
                model=models.ReceiptDetail,
            )
        )

    async def get_receipt_proof(
        self,
        partner: str,
        receipt_id: str,
    ) -> models.ReceiptProof:
        """Prove a receipt.

        Proves that a signed checkpoint covers the line of the receipt, and verifies the ledger up to there. `gancho
        ledger check-proof` checks the proof without the gateway. For ledgers of more than 200,000 lines, use `gancho
        ledger prove`.

        Operator only.

        :param partner: Name of the partner.
        :param receipt_id: Id of the receipt.
        """
        return await self._call(
            Operation(
                "GET",
                f"/v1/sources/{path(partner)}/receipts/{path(receipt_id)}/proof",
                model=models.ReceiptProof,
            )
        )

    async def retry_receipt(
        self,
        partner: str,
        receipt_id: str,
    ) -> models.Receipt:
        """Retry a receipt.

        Dispatches the receipt again to each current target of the source, whatever its status; finished deliveries
        start their retry schedule from the beginning. `webhook-id` remains the receipt id, so that the receiver can
        deduplicate.

        Operator only.

        :param partner: Name of the partner.
        :param receipt_id: Id of the receipt.
        """
        return await self._call(
            Operation(
                "POST",
                f"/v1/sources/{path(partner)}/receipts/{path(receipt_id)}/retry",
                model=models.Receipt,
            )
        )

    def list_rejections(
        self,
        partner: str,
    ) -> AsyncPages[models.Rejection]:
        """List a source's rejected webhooks.

        The last 50 rejections on all nodes, with the reason that the sender is not told. Rejections on other nodes
        appear after a few seconds.

        Operator only.

        :param partner: Name of the partner.
        """
        return self._list(
            Operation(
                "GET",
                f"/v1/sources/{path(partner)}/rejections",
                model=models.Rejection,
            )
        )


class AsyncStats(AsyncResource):
    """Deliveries over time: counts and latency percentiles of the gateway, a tenant or a webhook."""

    async def get(
        self,
        *,
        range: Literal["15m", "1h", "6h", "24h", "7d", "30d"] | None = None,
        step: Literal["1m", "5m", "15m", "30m", "1h", "2h", "6h", "8h", "12h", "1d"] | None = None,
        lane: types.Lane | None = None,
        webhook_id: str | None = None,
    ) -> models.Stats:
        """Get statistics.

        The operator gets the figures of the whole gateway, or of one tenant with `X-Tenant`. Figures are a few seconds
        late. Statistics are kept as long as deliveries.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param range: How far back, up to now. Default: `24h`.
        :param step: Length of a bin. Default: a step that divides the range into at most 96 bins. At most 168 bins;
            steps below `1h` are available for ranges up to `24h`, and of a webhook up to `6h`.
        :param lane: Only deliveries in this lane. Default: all lanes.
        :param webhook_id: Only deliveries to this webhook.
        """
        return await self._call(
            Operation(
                "GET",
                "/v1/stats",
                model=models.Stats,
                takes_tenant=True,
                query=given({"range": range, "step": step, "lane": lane, "webhook_id": webhook_id}),
            )
        )

    def list_tenants(
        self,
        *,
        limit: int | None = None,
        range: Literal["15m", "1h", "6h", "24h", "7d", "30d"] | None = None,
    ) -> AsyncPages[models.TenantStats]:
        """List statistics of tenants.

        A page has at most 100 tenants. Figures are a few seconds late.

        Operator only.

        :param limit: Maximum number of items per page. Default: 50.
        :param range: How far back, up to now. Default: `24h`.
        """
        return self._list(
            Operation(
                "GET",
                "/v1/stats/tenants",
                model=models.TenantStats,
                query=given({"limit": limit, "range": range}),
            )
        )

    def list_webhooks(
        self,
        *,
        limit: int | None = None,
        order: Literal["newest", "failures"] | None = None,
        webhook_ids: str | None = None,
    ) -> AsyncPages[models.WebhookStats]:
        """List statistics of webhooks.

        The operator without `X-Tenant` gets the webhooks of all tenants, those that fail by default. Figures are a few
        seconds late.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param limit: Maximum number of items per page. Default: 50.
        :param order: `newest`: all webhooks, newest first. `failures`: one page of those with failed attempts in the
            last hour, at most 100, the worst first. Default: `newest` for a tenant, `failures` for the operator.
        :param webhook_ids: Only these webhooks, in this order: at most 100 ids, separated by commas. Those that do not
            exist are left out. Cannot be combined with `order`, `limit` and `cursor`.
        """
        return self._list(
            Operation(
                "GET",
                "/v1/stats/webhooks",
                model=models.WebhookStats,
                takes_tenant=True,
                query=given({"limit": limit, "order": order, "webhook_ids": webhook_ids}),
            )
        )

    async def get_for_webhook(
        self,
        id: str,
        *,
        range: Literal["15m", "1h", "6h", "24h", "7d", "30d"] | None = None,
        step: Literal["1m", "5m", "15m", "30m", "1h", "2h", "6h", "8h", "12h", "1d"] | None = None,
    ) -> models.Stats:
        """Get a webhook's statistics.

        Figures are a few seconds late. Statistics are kept as long as deliveries.

        Required scope: `read`.

        :param id: Id of the webhook.
        :param range: How far back, up to now. Default: `24h`.
        :param step: Length of a bin. Default: a step that divides the range into at most 96 bins. At most 168 bins;
            steps below `1h` are available for ranges up to `24h`, and of a webhook up to `6h`.
        """
        return await self._call(
            Operation(
                "GET",
                f"/v1/webhooks/{path(id)}/stats",
                model=models.Stats,
                takes_tenant=True,
                query=given({"range": range, "step": step}),
            )
        )


class AsyncSuppressions(AsyncResource):
    """Addresses that no e-mail is sent to."""

    def list(
        self,
        *,
        limit: int | None = None,
    ) -> AsyncPages[models.Suppression]:
        """List suppressed addresses.

        The operator without `X-Tenant` sees those of all tenants, each with its `tenant`, ordered by tenant.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param limit: Maximum number of items per page. Default: 50.
        """
        return self._list(
            Operation(
                "GET",
                "/v1/suppressions",
                model=models.Suppression,
                takes_tenant=True,
                query=given({"limit": limit}),
            )
        )

    async def add(
        self,
        address: str,
        *,
        reason: types.SuppressionReason | None = None,
    ) -> models.Suppression:
        """Suppress an address.

        E-mails to a suppressed address are accepted and fail immediately, with `COMPLAINT` or `BOUNCE_PERMANENT`.

        Required scope: `manage`.

        Example: `gancho.suppressions.add(address='ana@example.com')`

        :param address: E-mail address, e.g. `ana@example.com`.
        :param reason: Why the address is suppressed. Default: `manual`.
        """
        return await self._call(
            Operation(
                "POST",
                "/v1/suppressions",
                model=models.Suppression,
                takes_tenant=True,
                body={"address": address} | given({"reason": reason}),
            )
        )

    async def import_addresses(
        self,
        addresses: Sequence[str],
        *,
        reason: types.SuppressionReason | None = None,
    ) -> models.ImportedAddresses:
        """Import suppressed addresses.

        If one address is invalid, none is imported.

        Required scope: `manage`.

        Example: `gancho.suppressions.import_addresses(addresses=['ana@example.com'])`

        :param addresses: E-mail addresses, at most 10,000.
        :param reason: Why the address is suppressed. Default: `manual`.
        """
        return await self._call(
            Operation(
                "POST",
                "/v1/suppressions/import",
                model=models.ImportedAddresses,
                takes_tenant=True,
                body={"addresses": addresses} | given({"reason": reason}),
            )
        )

    async def remove(
        self,
        address: str,
    ) -> None:
        """Remove a suppressed address.

        Required scope: `manage`.

        :param address: E-mail address, e.g. `ana@example.com`.
        """
        await self._call(
            Operation[None](
                "DELETE",
                f"/v1/suppressions/{path(address)}",
                takes_tenant=True,
            )
        )


class AsyncTenants(AsyncResource):
    """Tenants, their API keys and portal links. Operator only."""

    def list(
        self,
        *,
        limit: int | None = None,
    ) -> AsyncPages[models.Tenant]:
        """List tenants.

        Operator only.

        :param limit: Maximum number of items per page. Default: 50.
        """
        return self._list(
            Operation(
                "GET",
                "/v1/tenants",
                model=models.Tenant,
                query=given({"limit": limit}),
            )
        )

    async def create(
        self,
        slug: str,
        *,
        default_profile: str | None = None,
        name: str | None = None,
        plan: str | None = None,
        publish_rate: types.RateLimitInput | None = None,
        retention: types.RetentionInput | None = None,
        strict_event_types: bool | None = None,
    ) -> models.Tenant:
        """Create a tenant.

        Operator only.

        Example: `gancho.tenants.create(slug='acme')`

        :param slug: Short name of the tenant: lower-case letters, digits, `-` and `_`. Cannot be changed.
        :param default_profile: Profile of webhooks that do not name one. Default: `standard`.
        :param name: Display name. Default: the slug.
        :param plan: Name of the plan, which limits webhooks and events per month. Default: `unlimited`.
        :param publish_rate: Maximum rate of publishing. Default: set by the operator.
        :param retention: How long what the tenant has sent is stored. Default: set by the operator.
        :param strict_event_types: Whether only registered event types can be published. Default: `false`.
        """
        return await self._call(
            Operation(
                "POST",
                "/v1/tenants",
                model=models.Tenant,
                body={"slug": slug} | given({
                    "default_profile": default_profile,
                    "name": name,
                    "plan": plan,
                    "publish_rate": publish_rate,
                    "retention": retention,
                    "strict_event_types": strict_event_types,
                }),
            )
        )

    async def delete(
        self,
        tenant: str,
    ) -> models.DeletedTenant:
        """Delete a tenant.

        Deletes the tenant, its webhooks, API keys, portal links, event types and suppressions at once, and ends its
        deliveries; requests in flight finish. Its events, e-mails, deliveries and dead letters are removed in the
        background, without being archived. Its slug can be used again. This cannot be undone. What remains: entries in
        the audit log and the ledger, and counters, for as long as they are kept.

        Operator only.

        :param tenant: Slug or id of the tenant.
        """
        return await self._call(
            Operation(
                "DELETE",
                f"/v1/tenants/{path(tenant)}",
                model=models.DeletedTenant,
            )
        )

    async def get(
        self,
        tenant: str,
    ) -> models.Tenant:
        """Get a tenant.

        Operator only.

        :param tenant: Slug or id of the tenant.
        """
        return await self._call(
            Operation(
                "GET",
                f"/v1/tenants/{path(tenant)}",
                model=models.Tenant,
            )
        )

    async def update(
        self,
        tenant: str,
        *,
        default_profile: str | Unset = UNSET,
        name: str | Unset = UNSET,
        plan: str | Unset = UNSET,
        publish_rate: types.RateLimitInput | None | Unset = UNSET,
        retention: types.RetentionInput | None | Unset = UNSET,
        strict_event_types: bool | Unset = UNSET,
    ) -> models.Tenant:
        """Update a tenant.

        Fields that are left out keep their value. The slug never changes.

        Operator only.

        Example: `gancho.tenants.update(tenant, publish_rate={'count': 1, 'per': '1s'})`

        :param tenant: Slug or id of the tenant.
        :param default_profile: Profile of webhooks that do not name one. Default: `standard`.
        :param name: Display name. Default: the slug.
        :param plan: Name of the plan, which limits webhooks and events per month. Default: `unlimited`.
        :param publish_rate: Maximum rate of publishing. Default: set by the operator.
        :param retention: How long what the tenant has sent is stored. Default: set by the operator.
        :param strict_event_types: Whether only registered event types can be published. Default: `false`.
        """
        return await self._call(
            Operation(
                "PATCH",
                f"/v1/tenants/{path(tenant)}",
                model=models.Tenant,
                body=given({
                    "default_profile": default_profile,
                    "name": name,
                    "plan": plan,
                    "publish_rate": publish_rate,
                    "retention": retention,
                    "strict_event_types": strict_event_types,
                }, keep_null=True),
            )
        )

    def list_api_keys(
        self,
        tenant: str,
        *,
        limit: int | None = None,
    ) -> AsyncPages[models.ApiKey]:
        """List API keys.

        Operator only.

        :param tenant: Slug or id of the tenant.
        :param limit: Maximum number of items per page. Default: 50.
        """
        return self._list(
            Operation(
                "GET",
                f"/v1/tenants/{path(tenant)}/api-keys",
                model=models.ApiKey,
                query=given({"limit": limit}),
            )
        )

    async def create_api_key(
        self,
        tenant: str,
        *,
        expires_at: datetime | str | None = None,
        name: str | None = None,
        scopes: Sequence[str] | None = None,
    ) -> models.NewApiKey:
        """Create an API key.

        A tenant has at most 500 keys that are neither revoked nor expired.

        Operator only.

        Example: `gancho.tenants.create_api_key(tenant, name='billing', scopes=['publish'])`

        :param tenant: Slug or id of the tenant.
        :param expires_at: When the key expires. Default: never.
        :param name: Display name, to tell keys apart. Default: empty.
        :param scopes: What the key may be used for: `publish`, `read`, `manage`. Default: all of them.
        """
        return await self._call(
            Operation(
                "POST",
                f"/v1/tenants/{path(tenant)}/api-keys",
                model=models.NewApiKey,
                body=given({"expires_at": expires_at, "name": name, "scopes": scopes}),
            )
        )

    async def revoke_api_key(
        self,
        tenant: str,
        key_id: str,
    ) -> None:
        """Revoke an API key.

        A revoked key stays in the list for 90 days.

        Operator only.

        :param tenant: Slug or id of the tenant.
        :param key_id: Id of the API key.
        """
        await self._call(
            Operation[None](
                "DELETE",
                f"/v1/tenants/{path(tenant)}/api-keys/{path(key_id)}",
            )
        )

    async def get_metadata(
        self,
        tenant: str,
    ) -> models.TenantMetadata:
        """Get the metadata of a tenant.

        Operator only.

        :param tenant: Slug or id of the tenant.
        """
        return await self._call(
            Operation(
                "GET",
                f"/v1/tenants/{path(tenant)}/metadata",
                model=models.TenantMetadata,
            )
        )

    async def replace_metadata(
        self,
        tenant: str,
        metadata: Mapping[str, Any],
    ) -> models.TenantMetadata:
        """Set the metadata of a tenant.

        The metadata is for the operator's own use. Tenants do not see it.

        Operator only.

        Example: `gancho.tenants.replace_metadata(tenant, metadata={})`

        :param tenant: Slug or id of the tenant.
        :param metadata: Custom JSON object. It replaces the one that is stored.
        """
        return await self._call(
            Operation(
                "PUT",
                f"/v1/tenants/{path(tenant)}/metadata",
                model=models.TenantMetadata,
                body={"metadata": metadata},
            )
        )

    async def list_notice_emails(
        self,
        tenant: str,
    ) -> models.NoticeEmails:
        """Get the addresses for notices.

        Operator only.

        :param tenant: Slug or id of the tenant.
        """
        return await self._call(
            Operation(
                "GET",
                f"/v1/tenants/{path(tenant)}/notice-emails",
                model=models.NoticeEmails,
            )
        )

    async def replace_notice_emails(
        self,
        tenant: str,
        addresses: Sequence[str],
    ) -> models.NoticeEmails:
        """Set the addresses for notices.

        Notices about dead letters and about failing and disabled endpoints of the tenant are sent to these addresses,
        gathered into digests. Needs an e-mail transport.

        Operator only.

        Example: `gancho.tenants.replace_notice_emails(tenant, addresses=['ana@example.com'])`

        :param tenant: Slug or id of the tenant.
        :param addresses: E-mail addresses, at most 10. An empty list stops the e-mails.
        """
        return await self._call(
            Operation(
                "PUT",
                f"/v1/tenants/{path(tenant)}/notice-emails",
                model=models.NoticeEmails,
                body={"addresses": addresses},
            )
        )

    async def pause(
        self,
        tenant: str,
        *,
        reason: str | None = None,
    ) -> None:
        """Pause a tenant.

        Deliveries in flight finish. Events are still accepted; their deliveries wait until the tenant is resumed. Other
        nodes follow within about a second.

        Operator only.

        Example: `gancho.tenants.pause(tenant, reason='text')`

        :param tenant: Slug or id of the tenant.
        :param reason: Why the deliveries are paused, for other people to read. It is recorded in the audit log.
        """
        await self._call(
            Operation[None](
                "POST",
                f"/v1/tenants/{path(tenant)}/pause",
                body=given({"reason": reason}),
            )
        )

    async def resume(
        self,
        tenant: str,
    ) -> None:
        """Resume a tenant.

        Operator only.

        :param tenant: Slug or id of the tenant.
        """
        await self._call(
            Operation[None](
                "POST",
                f"/v1/tenants/{path(tenant)}/resume",
            )
        )


class AsyncUsage(AsyncResource):
    """What a tenant has used of its plan."""

    async def get(
        self,
    ) -> models.PlanUsage:
        """Get the usage of the plan.

        The plan of the tenant, its limits, and what was used of them this month.

        Required scope: `read`.
        """
        return await self._call(
            Operation(
                "GET",
                "/v1/usage",
                model=models.PlanUsage,
                takes_tenant=True,
            )
        )


class AsyncUsers(AsyncResource):
    """People who log in to the dashboard, and their roles. Operator only."""

    async def change_own_password(
        self,
        current_password: str,
        password: str,
    ) -> None:
        """Change your own password.

        For users who are logged in to the dashboard. All their sessions end.

        Operator only.

        Example: `gancho.users.change_own_password(current_password='correct horse battery staple', password='correct
        horse battery staple')`

        :param current_password: Your current password.
        :param password: Your new password, at least 12 characters.
        """
        await self._call(
            Operation[None](
                "POST",
                "/v1/me/password",
                body={"current_password": current_password, "password": password},
            )
        )

    def list(
        self,
        *,
        limit: int | None = None,
    ) -> AsyncPages[models.User]:
        """List users.

        Operator only.

        :param limit: Maximum number of items per page. Default: 50.
        """
        return self._list(
            Operation(
                "GET",
                "/v1/users",
                model=models.User,
                query=given({"limit": limit}),
            )
        )

    async def create(
        self,
        name: str,
        role: types.UserRole,
        password: str,
    ) -> models.User:
        """Create a user.

        The user can log in to the dashboard with the name and the password.

        Operator only.

        Example: `gancho.users.create(name='ana', password='correct horse battery staple', role='read_only')`

        :param name: Name or e-mail address: lower-case letters, digits and `. _ - + @`. Unique; cannot be changed.
        :param role: What the user may do: `read_only` reads everything but secrets; `support` also retries, replays,
            tests, pauses and resumes; `operator` does everything.
        :param password: Password, at least 12 characters. Never returned.
        """
        return await self._call(
            Operation(
                "POST",
                "/v1/users",
                model=models.User,
                body={"name": name, "role": role, "password": password},
            )
        )

    async def delete(
        self,
        user: str,
    ) -> None:
        """Delete a user.

        The sessions of the user end: on this node at once, on the others within 5 seconds. The last operator can be
        deleted too, because the operator token always works.

        Operator only.

        :param user: Name of the user.
        """
        await self._call(
            Operation[None](
                "DELETE",
                f"/v1/users/{path(user)}",
            )
        )

    async def get(
        self,
        user: str,
    ) -> models.User:
        """Get a user.

        Operator only.

        :param user: Name of the user.
        """
        return await self._call(
            Operation(
                "GET",
                f"/v1/users/{path(user)}",
                model=models.User,
            )
        )

    async def update(
        self,
        user: str,
        *,
        password: str | Unset = UNSET,
        role: types.UserRole | Unset = UNSET,
    ) -> models.User:
        """Update a user.

        Fields that are left out keep their value. The sessions of the user end: on this node at once, on the others
        within 5 seconds.

        Operator only.

        Example: `gancho.users.update(user, role='read_only')`

        :param user: Name of the user.
        :param password: A new password: at least 12 characters. Never returned.
        :param role: What the user may do: `read_only` reads everything but secrets; `support` also retries, replays,
            tests, pauses and resumes; `operator` does everything.
        """
        return await self._call(
            Operation(
                "PATCH",
                f"/v1/users/{path(user)}",
                model=models.User,
                body=given({"password": password, "role": role}, keep_null=True),
            )
        )


class AsyncWebhooks(AsyncResource):
    """The endpoints that events are delivered to."""

    async def egress_addresses(
        self,
    ) -> models.EgressAddresses:
        """List egress addresses.

        The IP addresses that deliveries come from, for firewall allow lists, as configured in `egress_addresses`. An
        address is no proof of origin: verify signatures as well.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.
        """
        return await self._call(
            Operation(
                "GET",
                "/v1/egress-addresses",
                model=models.EgressAddresses,
                takes_tenant=True,
            )
        )

    def list(
        self,
        *,
        limit: int | None = None,
        external_id: str | None = None,
    ) -> AsyncPages[models.Webhook]:
        """List webhooks.

        The operator without `X-Tenant` sees the webhooks of all tenants, each with its `tenant`, and cannot filter by
        `external_id`.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param limit: Maximum number of items per page. Default: 50.
        :param external_id: Only the webhook with this external id.
        """
        return self._list(
            Operation(
                "GET",
                "/v1/webhooks",
                model=models.Webhook,
                takes_tenant=True,
                query=given({"limit": limit, "external_id": external_id}),
            )
        )

    async def create(
        self,
        url: str,
        events: Sequence[str],
        *,
        external_id: str | None = None,
        headers: Mapping[str, str] | None = None,
        is_active: bool | None = None,
        max_in_flight: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        name: str | None = None,
        ordering: types.Ordering | None = None,
        profile: str | None = None,
        rate_limit: types.RateLimitInput | None = None,
        retry: types.RetryInput | None = None,
        secret: str | None = None,
        timeout: str | None = None,
    ) -> models.NewWebhook:
        """Create a webhook.

        Only `url` and `events` are required.

        Required scope: `manage`.

        Example: `gancho.webhooks.create(events=['invoice.paid'], url='https://example.com/hooks')`

        :param url: URL to deliver to. Must be HTTPS and not a private address, unless the operator allows it.
        :param events: Event types to subscribe to: names, `invoice.*` for a prefix, or `*` for all.
        :param external_id: Your own id for the webhook, unique among the tenant's: a second webhook with it is refused.
        :param headers: Custom headers for every delivery. The values are stored encrypted and never shown again.
        :param is_active: Whether events are delivered to the webhook. Default: `true`.
        :param max_in_flight: Maximum number of concurrent deliveries over all nodes. Default: 64 on each node.
        :param metadata: Custom JSON object, stored with the webhook.
        :param name: Display name, to tell webhooks apart.
        :param ordering: `best_effort` (default), or `per_subject`: the next event of a subject waits until the previous
            one is delivered or has failed permanently.
        :param profile: Format of deliveries: `standard`, `email-gateway`, `auracore`, `saas`, `svix`, `convoy`,
            `outpost`, or a profile defined by the operator.
        :param rate_limit: Rate limit of deliveries. Deliveries beyond it wait; they do not fail.
        :param retry: Retry schedule: `{"schedule": ["1s", "5m"]}` or `{"base": "1s", "max": "60s", "attempts": 5}`.
            Default: defined by the profile.
        :param secret: Signing secret, at least 16 characters. Default: a generated one.
        :param timeout: Time limit of an attempt, e.g. `15s`. Default: defined by the profile.
        """
        return await self._call(
            Operation(
                "POST",
                "/v1/webhooks",
                model=models.NewWebhook,
                takes_tenant=True,
                body={"url": url, "events": events} | given({
                    "external_id": external_id,
                    "headers": headers,
                    "is_active": is_active,
                    "max_in_flight": max_in_flight,
                    "metadata": metadata,
                    "name": name,
                    "ordering": ordering,
                    "profile": profile,
                    "rate_limit": rate_limit,
                    "retry": retry,
                    "secret": secret,
                    "timeout": timeout,
                }),
            )
        )

    async def test_by_body(
        self,
        webhook_id: str,
        *,
        event_type: str | None = None,
    ) -> models.TestOutcome:
        """Test a webhook, named in the body.

        Sends a sample event to this webhook only, as a real delivery, and waits for the first attempt. The delivery is
        marked as a test in the delivery log.

        Required scope: `manage`.

        Example: `gancho.webhooks.test_by_body(webhook_id='wh_01KA4ZQ3N8V5T7W2X6Y9B1C4DE')`

        :param webhook_id: Id of the webhook to test.
        :param event_type: Event type of the sample. Default: one that the webhook is subscribed to.
        """
        return await self._call(
            Operation(
                "POST",
                "/v1/webhooks/test",
                model=models.TestOutcome,
                takes_tenant=True,
                body={"webhook_id": webhook_id} | given({"event_type": event_type}),
            )
        )

    async def delete(
        self,
        id: str,
    ) -> None:
        """Delete a webhook.

        Its deliveries stay in the delivery log. Those that are still waiting become dead letters.

        Required scope: `manage`.

        :param id: Id of the webhook.
        """
        await self._call(
            Operation[None](
                "DELETE",
                f"/v1/webhooks/{path(id)}",
                takes_tenant=True,
            )
        )

    async def get(
        self,
        id: str,
    ) -> models.Webhook:
        """Get a webhook.

        The operator can read the webhooks of every tenant.

        Required scope: `read`. The operator token works on all tenants, or with `X-Tenant` on one.

        :param id: Id of the webhook.
        """
        return await self._call(
            Operation(
                "GET",
                f"/v1/webhooks/{path(id)}",
                model=models.Webhook,
                takes_tenant=True,
            )
        )

    async def update(
        self,
        id: str,
        *,
        events: Sequence[str] | Unset = UNSET,
        external_id: str | None | Unset = UNSET,
        headers: Mapping[str, str] | Unset = UNSET,
        is_active: bool | Unset = UNSET,
        max_in_flight: int | None | Unset = UNSET,
        metadata: Mapping[str, Any] | Unset = UNSET,
        name: str | Unset = UNSET,
        ordering: types.Ordering | Unset = UNSET,
        profile: str | Unset = UNSET,
        rate_limit: types.RateLimitInput | None | Unset = UNSET,
        retry: types.RetryInput | None | Unset = UNSET,
        secret: str | Unset = UNSET,
        timeout: str | None | Unset = UNSET,
        url: str | Unset = UNSET,
    ) -> models.Webhook:
        """Update a webhook.

        Fields that are left out keep their value; `null` resets a setting to the profile's default.

        Required scope: `manage`.

        Example: `gancho.webhooks.update(id, events=['invoice.paid'])`

        :param id: Id of the webhook.
        :param events: Event types to subscribe to: names, `invoice.*` for a prefix, or `*` for all.
        :param external_id: Your own id for the webhook, unique among the tenant's: a second webhook with it is refused.
        :param headers: Custom headers for every delivery. The values are stored encrypted and never shown again.
        :param is_active: Whether events are delivered to the webhook. Default: `true`.
        :param max_in_flight: Maximum number of concurrent deliveries over all nodes. Default: 64 on each node.
        :param metadata: Custom JSON object, stored with the webhook.
        :param name: Display name, to tell webhooks apart.
        :param ordering: `best_effort` (default), or `per_subject`: the next event of a subject waits until the previous
            one is delivered or has failed permanently.
        :param profile: Format of deliveries: `standard`, `email-gateway`, `auracore`, `saas`, `svix`, `convoy`,
            `outpost`, or a profile defined by the operator.
        :param rate_limit: Rate limit of deliveries. Deliveries beyond it wait; they do not fail.
        :param retry: Retry schedule: `{"schedule": ["1s", "5m"]}` or `{"base": "1s", "max": "60s", "attempts": 5}`.
            Default: defined by the profile.
        :param secret: Signing secret, at least 16 characters. Default: a generated one.
        :param timeout: Time limit of an attempt, e.g. `15s`. Default: defined by the profile.
        :param url: URL to deliver to. Must be HTTPS and not a private address, unless the operator allows it.
        """
        return await self._call(
            Operation(
                "PATCH",
                f"/v1/webhooks/{path(id)}",
                model=models.Webhook,
                takes_tenant=True,
                body=given({
                    "events": events,
                    "external_id": external_id,
                    "headers": headers,
                    "is_active": is_active,
                    "max_in_flight": max_in_flight,
                    "metadata": metadata,
                    "name": name,
                    "ordering": ordering,
                    "profile": profile,
                    "rate_limit": rate_limit,
                    "retry": retry,
                    "secret": secret,
                    "timeout": timeout,
                    "url": url,
                }, keep_null=True),
            )
        )

    async def replace(
        self,
        id: str,
        url: str,
        events: Sequence[str],
        *,
        external_id: str | None = None,
        headers: Mapping[str, str] | None = None,
        is_active: bool | None = None,
        max_in_flight: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        name: str | None = None,
        ordering: types.Ordering | None = None,
        profile: str | None = None,
        rate_limit: types.RateLimitInput | None = None,
        retry: types.RetryInput | None = None,
        secret: str | None = None,
        timeout: str | None = None,
    ) -> models.Webhook:
        """Replace a webhook.

        Fields that are left out are reset to their defaults, except the secret and `external_id`, which change only if
        given.

        Required scope: `manage`.

        Example: `gancho.webhooks.replace(id, events=['invoice.paid'], url='https://example.com/hooks')`

        :param id: Id of the webhook.
        :param url: URL to deliver to. Must be HTTPS and not a private address, unless the operator allows it.
        :param events: Event types to subscribe to: names, `invoice.*` for a prefix, or `*` for all.
        :param external_id: Your own id for the webhook, unique among the tenant's: a second webhook with it is refused.
        :param headers: Custom headers for every delivery. The values are stored encrypted and never shown again.
        :param is_active: Whether events are delivered to the webhook. Default: `true`.
        :param max_in_flight: Maximum number of concurrent deliveries over all nodes. Default: 64 on each node.
        :param metadata: Custom JSON object, stored with the webhook.
        :param name: Display name, to tell webhooks apart.
        :param ordering: `best_effort` (default), or `per_subject`: the next event of a subject waits until the previous
            one is delivered or has failed permanently.
        :param profile: Format of deliveries: `standard`, `email-gateway`, `auracore`, `saas`, `svix`, `convoy`,
            `outpost`, or a profile defined by the operator.
        :param rate_limit: Rate limit of deliveries. Deliveries beyond it wait; they do not fail.
        :param retry: Retry schedule: `{"schedule": ["1s", "5m"]}` or `{"base": "1s", "max": "60s", "attempts": 5}`.
            Default: defined by the profile.
        :param secret: Signing secret, at least 16 characters. Default: a generated one.
        :param timeout: Time limit of an attempt, e.g. `15s`. Default: defined by the profile.
        """
        return await self._call(
            Operation(
                "PUT",
                f"/v1/webhooks/{path(id)}",
                model=models.Webhook,
                takes_tenant=True,
                body={"url": url, "events": events} | given({
                    "external_id": external_id,
                    "headers": headers,
                    "is_active": is_active,
                    "max_in_flight": max_in_flight,
                    "metadata": metadata,
                    "name": name,
                    "ordering": ordering,
                    "profile": profile,
                    "rate_limit": rate_limit,
                    "retry": retry,
                    "secret": secret,
                    "timeout": timeout,
                }),
            )
        )

    async def pause(
        self,
        id: str,
        *,
        reason: str | None = None,
    ) -> None:
        """Pause a webhook.

        Deliveries in flight finish. Events are still accepted; their deliveries wait until the webhook is resumed.
        Other nodes follow within about a second.

        Required scope: `manage`.

        Example: `gancho.webhooks.pause(id, reason='text')`

        :param id: Id of the webhook.
        :param reason: Why the deliveries are paused, for other people to read. It is recorded in the audit log.
        """
        await self._call(
            Operation[None](
                "POST",
                f"/v1/webhooks/{path(id)}/pause",
                takes_tenant=True,
                body=given({"reason": reason}),
            )
        )

    async def resume(
        self,
        id: str,
    ) -> None:
        """Resume a webhook.

        Required scope: `manage`.

        :param id: Id of the webhook.
        """
        await self._call(
            Operation[None](
                "POST",
                f"/v1/webhooks/{path(id)}/resume",
                takes_tenant=True,
            )
        )

    async def rotate_secret(
        self,
        id: str,
        *,
        overlap: str | None = None,
        secret: str | None = None,
    ) -> models.RotatedSecret:
        """Rotate a webhook's secret.

        During the overlap, deliveries are signed with the old secret as well, so that receivers can change over without
        rejecting any.

        Required scope: `manage`.

        Example: `gancho.webhooks.rotate_secret(id, overlap='30s')`

        :param id: Id of the webhook.
        :param overlap: How long deliveries are signed with both secrets. Default: `24h`; at most `7d`; `0s` for no
            overlap.
        :param secret: The new secret. Default: a generated one of the same format.
        """
        return await self._call(
            Operation(
                "POST",
                f"/v1/webhooks/{path(id)}/rotate-secret",
                model=models.RotatedSecret,
                takes_tenant=True,
                body=given({"overlap": overlap, "secret": secret}),
            )
        )

    async def get_secret(
        self,
        id: str,
    ) -> models.WebhookSecret:
        """Reveal a webhook's secret.

        Required scope: `manage`.

        :param id: Id of the webhook.
        """
        return await self._call(
            Operation(
                "GET",
                f"/v1/webhooks/{path(id)}/secret",
                model=models.WebhookSecret,
                takes_tenant=True,
            )
        )

    async def test(
        self,
        id: str,
        *,
        event_type: str | None = None,
    ) -> models.TestOutcome:
        """Test a webhook.

        Sends a sample event to this webhook only, as a real delivery, and waits for the first attempt. The delivery is
        marked as a test in the delivery log.

        Required scope: `manage`.

        Example: `gancho.webhooks.test(id, event_type='invoice.paid')`

        :param id: Id of the webhook.
        :param event_type: Event type of the sample. Default: one that the webhook is subscribed to.
        """
        return await self._call(
            Operation(
                "POST",
                f"/v1/webhooks/{path(id)}/test",
                model=models.TestOutcome,
                takes_tenant=True,
                body=given({"event_type": event_type}),
            )
        )


class AsyncResources:
    """The groups of methods."""

    def _make_resources(self, transport: Any) -> None:
        self.alerts = AsyncAlerts(transport)
        self.api_keys = AsyncApiKeys(transport)
        self.audit = AsyncAudit(transport)
        self.cells = AsyncCells(transport)
        self.dead_letters = AsyncDeadLetters(transport)
        self.deliveries = AsyncDeliveries(transport)
        self.emails = AsyncEmails(transport)
        self.encryption_keys = AsyncEncryptionKeys(transport)
        self.event_types = AsyncEventTypes(transport)
        self.events = AsyncEvents(transport)
        self.ledger = AsyncLedger(transport)
        self.nodes = AsyncNodes(transport)
        self.portal_links = AsyncPortalLinks(transport)
        self.queues = AsyncQueues(transport)
        self.replays = AsyncReplays(transport)
        self.search = AsyncSearch(transport)
        self.sources = AsyncSources(transport)
        self.stats = AsyncStats(transport)
        self.suppressions = AsyncSuppressions(transport)
        self.tenants = AsyncTenants(transport)
        self.usage = AsyncUsage(transport)
        self.users = AsyncUsers(transport)
        self.webhooks = AsyncWebhooks(transport)
