//! Lists e-mails. The list shows an e-mail that bounced after it was sent as failed, although its delivery is
//! delivered.
//!
//! A page costs a bounded number of reads, so it may have fewer rows than requested; the list ends when there
//! is no next cursor.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};

use bytes::Bytes;
use gancho_domain::{EventId, Lane, TenantId, TenantScope};
use gancho_store::{
    DeliveryFilter, DeliveryRow, FailedEmails, Page, PageRequest, Result, TenantRow,
};

use crate::{
    EmailFilter, EmailRow, EmailStatus, Mailbox, Outbox,
    email::{EmailSummary, SUMMARY_PREFIX_BYTES},
    feedback,
    outbox::{displayed_row, read, target},
};

impl Outbox {
    /// Returns a page of a tenant's e-mails, newest first.
    pub async fn emails(
        &self,
        scope: TenantScope,
        filter: EmailFilter,
        page: PageRequest,
    ) -> Result<Page<EmailRow>> {
        let (wanted, text) = (filter.status, filter.text());
        let recipient = filter.recipient;
        let filter = DeliveryFilter {
            lane: Some(Lane::Email),
            endpoint: Some(target(scope)),
            status: wanted.map(EmailStatus::in_log),
            external_id: filter.external_id,
            text,
            since: filter.since,
            until: filter.until,
            ..DeliveryFilter::default()
        };
        let found = match (wanted, &filter.external_id) {
            (Some(EmailStatus::Failed), None) => {
                let DeliveryFilter { since, until, .. } = filter;
                let which = FailedEmails { target: target(scope), since, until };
                self.store.failed_emails(scope, which, page).await?
            }
            // Few e-mails share an external id, so all of them can be read.
            (Some(EmailStatus::Failed), Some(_)) => {
                let filter = DeliveryFilter { status: None, ..filter };
                self.store.deliveries(scope, filter, page).await?
            }
            _ => self.store.deliveries(scope, filter, page).await?,
        };
        let mut rows = self.summarize(scope, &found.rows, recipient.as_ref()).await?;
        rows.retain(|row| wanted.is_none_or(|wanted| row.status == wanted));
        Ok(Page { rows, next: found.next })
    }

    /// Returns a page of the e-mails of all tenants, newest first. `external_id` must not be set. E-mails
    /// that bounced after they were sent count as failed in their tenant's list only.
    pub async fn all_emails(
        &self,
        filter: EmailFilter,
        page: PageRequest,
    ) -> Result<Page<EmailRow>> {
        let (wanted, text) = (filter.status, filter.text());
        let recipient = filter.recipient;
        let filter = DeliveryFilter {
            lane: Some(Lane::Email),
            text,
            status: wanted.map(EmailStatus::in_log),
            since: filter.since,
            until: filter.until,
            ..DeliveryFilter::default()
        };
        let found = self.store.all_deliveries(filter, page).await?;
        let mut of_tenants: BTreeMap<TenantId, Vec<DeliveryRow>> = BTreeMap::new();
        for TenantRow { tenant, row } in found.rows {
            of_tenants.entry(tenant).or_default().push(row);
        }
        let mut rows = Vec::new();
        for (tenant, found) in of_tenants {
            let scope = TenantScope::internal(tenant);
            rows.extend(self.summarize(scope, &found, recipient.as_ref()).await?);
        }
        rows.retain(|row| wanted.is_none_or(|wanted| row.status == wanted));
        rows.sort_by_key(|row| Reverse(row.delivery));
        Ok(Page { rows, next: found.next })
    }

    /// Reads the summaries of the rows. Removes e-mails to other recipients if the filter has one: the
    /// address may also occur in their text.
    async fn summarize(
        &self,
        scope: TenantScope,
        found: &[DeliveryRow],
        recipient: Option<&Mailbox>,
    ) -> Result<Vec<EmailRow>> {
        let recipient = recipient.map(Mailbox::normalized);
        let ids: Vec<EventId> = found.iter().map(|row| row.event).collect();
        // Attachments are not read, because a page of them could exceed the memory.
        let prefixes = self.store.body_prefixes(scope, ids.clone(), SUMMARY_PREFIX_BYTES).await?;
        let prefixes: HashMap<EventId, Bytes> = prefixes.into_iter().collect();
        let ids = ids.into_iter().map(EventId::cast).collect();
        let mut verdicts = feedback::verdicts_on(&*self.store, scope, ids).await?;
        let mut rows = Vec::with_capacity(found.len());
        for row in found {
            // The e-mail may have been pruned since the page was read.
            let Some(prefix) = prefixes.get(&row.event) else { continue };
            let Some(summary) = self.summary(scope, row.event, prefix).await? else { continue };
            if recipient.as_ref().is_some_and(|wanted| *wanted != summary.to.normalized()) {
                continue;
            }
            rows.push(displayed_row(row, &summary, verdicts.remove(&row.event.cast())));
        }
        Ok(rows)
    }

    async fn summary(
        &self,
        scope: TenantScope,
        id: EventId,
        prefix: &[u8],
    ) -> Result<Option<EmailSummary>> {
        if let Some(summary) = EmailSummary::in_prefix(prefix) {
            return Ok(Some(summary));
        }
        // An e-mail whose fields are in another order, if one ever exists.
        let event = self.store.event(scope, id).await?;
        event.map(|event| read(&event.parcel)).transpose()
    }
}
