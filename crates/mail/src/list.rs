//! Listing e-mails. What bounced after it was sent counts as failed, though the log of deliveries calls
//! it delivered: it is found in the order of reports, and the two are shown as one list.
//!
//! A page costs a bounded number of looks, so it may have fewer rows than were asked for; the list ends
//! where no next page is named.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use bytes::Bytes;
use gancho_domain::{DeliveryId, EventId, Lane, TenantScope, Time};
use gancho_store::{DeliveryFilter, DeliveryRow, Page, PageRequest, Result};

use crate::{
    EmailFilter, EmailRow, EmailStatus, Outbox,
    email::{Brief, OPENING},
    feedback,
    outbox::{read, shown, target},
};

impl Outbox {
    /// Newest first.
    pub async fn emails(
        &self,
        scope: TenantScope,
        filter: EmailFilter,
        page: PageRequest,
    ) -> Result<Page<EmailRow>> {
        let wanted = filter.status;
        let filter = DeliveryFilter {
            lane: Some(Lane::Email),
            endpoint: Some(target(scope)),
            status: wanted.map(EmailStatus::in_log),
            event_type: None,
            event: None,
            external_id: filter.external_id,
            since: filter.since,
            until: filter.until,
        };
        let found = match (wanted, &filter.external_id) {
            (Some(EmailStatus::Failed), None) => self.failed(scope, filter, page).await?,
            // Few have the same, so that all of them can be looked at.
            (Some(EmailStatus::Failed), Some(_)) => {
                let filter = DeliveryFilter { status: None, ..filter };
                self.store.deliveries(scope, filter, page).await?
            }
            _ => self.store.deliveries(scope, filter, page).await?,
        };
        let mut rows = self.shown(scope, &found.rows).await?;
        rows.retain(|row| wanted.is_none_or(|wanted| row.status == wanted));
        Ok(Page { rows, next: found.next })
    }

    /// What was given up, and what was reported of after it was sent.
    async fn failed(
        &self,
        scope: TenantScope,
        filter: DeliveryFilter,
        page: PageRequest,
    ) -> Result<Page<DeliveryRow>> {
        let (most, after) = (page.most, page.after.as_ref().map(place_of));
        let given_up = self.store.deliveries(scope, filter.clone(), page).await?;
        let until = filter.until.map(|until| first_at(until + SLACK));
        let before = [after, until].into_iter().flatten().min();
        let mut reports = feedback::reported(&*self.store, scope, before, most + 1).await?;
        let is_asked = |at: Time| filter.since.is_none_or(|since| at + SLACK >= since);
        let seen_all = reports.len() <= most
            || reports.last().is_some_and(|last| !is_asked(last.delivery.time()));
        reports.retain(|report| is_asked(report.delivery.time()));
        reports.truncate(most);
        // Both are complete down to here.
        let ends = [
            given_up.next.as_ref().map(place_of),
            reports.last().filter(|_| !seen_all).map(|last| last.delivery),
        ];
        let end = ends.into_iter().flatten().max();

        let mut rows: BTreeMap<_, _> =
            given_up.rows.into_iter().map(|row| (Reverse(row.id), row)).collect();
        for report in reports {
            if end.is_some_and(|end| report.delivery < end) {
                break;
            }
            let event = Some(report.email.cast());
            let one = DeliveryFilter { event, status: None, ..filter.clone() };
            let found = self.store.deliveries(scope, one, PageRequest::first(1)).await?.rows;
            rows.extend(found.into_iter().map(|row| (Reverse(row.id), row)));
        }
        let mut rows: Vec<_> = rows.into_values().collect();
        rows.retain(|row| end.is_none_or(|end| row.id >= end));
        let is_cut = rows.len() > most;
        rows.truncate(most);
        let next = if is_cut { rows.last().map(|last| last.id) } else { end };
        Ok(Page { rows, next: next.map(place) })
    }

    async fn shown(&self, scope: TenantScope, found: &[DeliveryRow]) -> Result<Vec<EmailRow>> {
        let ids: Vec<EventId> = found.iter().map(|row| row.event).collect();
        // Attachments may be large, and a page of them larger than memory: they are not read.
        let prefixes = self.store.body_prefixes(scope, ids, OPENING).await?;
        let prefixes: HashMap<EventId, Bytes> = prefixes.into_iter().collect();
        let mut rows = Vec::with_capacity(found.len());
        for row in found {
            // It may have been pruned since the page was read.
            let Some(prefix) = prefixes.get(&row.event) else { continue };
            let Some(brief) = self.brief(scope, row.event, prefix).await? else { continue };
            let verdict = feedback::verdict_on(&*self.store, scope, row.event.cast()).await?;
            rows.push(shown(row, &brief, verdict));
        }
        Ok(rows)
    }

    async fn brief(&self, scope: TenantScope, id: EventId, prefix: &[u8]) -> Result<Option<Brief>> {
        if let Some(brief) = Brief::in_opening(prefix) {
            return Ok(Some(brief));
        }
        // One that was written in another order of its parts, if there ever is one.
        let event = self.store.event(scope, id).await?;
        event.map(|event| read(&event.parcel)).transpose()
    }
}

/// An id may be made a little after the time that its delivery says.
const SLACK: Duration = Duration::from_secs(1);

/// In both stores the place of a delivery in a list is its id.
fn place(id: DeliveryId) -> [u8; 32] {
    let mut place = [0; 32];
    place[..16].copy_from_slice(&id.bytes());
    place
}

fn place_of(place: &[u8; 32]) -> DeliveryId {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&place[..16]);
    DeliveryId::from_bytes(bytes)
}

/// No id that was made before is greater.
fn first_at(time: Time) -> DeliveryId {
    let millis = u128::try_from(time.micros() / 1_000).unwrap_or_default();
    DeliveryId::from_bits(millis << 80)
}
