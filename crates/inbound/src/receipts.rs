//! Lists, shows and retries receipts. A receipt with several targets has the status of its worst delivery.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bytes::Bytes;
use gancho_domain::{
    EventId, IdMaker, Lane, ParcelKind, ReceiptId, ReceiptLabel, State, Status, TenantScope, Time,
};
use gancho_store::{
    DeliveryFilter, DeliveryRow, DeliveryView, EventFilter, EventOutline, EventRow, EventView,
    NewDelivery, Page, PageRequest, Result, Store,
};

use crate::{RequestRecord, Source};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiptStatus {
    /// Stored, and not attempted yet.
    Received,
    /// Delivered to every target.
    Dispatched,
    /// Attempted, and to be retried.
    Failed,
    /// A dead letter for at least one target.
    Dlq,
}

impl ReceiptStatus {
    pub const ALL: [Self; 4] = [Self::Received, Self::Dispatched, Self::Failed, Self::Dlq];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Dispatched => "dispatched",
            Self::Failed => "failed",
            Self::Dlq => "dlq",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    fn of(deliveries: &[DeliveryRow]) -> Self {
        let any = |status: Status| deliveries.iter().any(|row| row.status() == status);
        if any(Status::Failed) {
            Self::Dlq
        } else if any(Status::Retrying) {
            Self::Failed
        } else if any(Status::Pending) {
            Self::Received
        } else {
            Self::Dispatched
        }
    }

    /// Returns the status that at least one delivery of such a receipt has.
    pub const fn of_delivery(self) -> Status {
        match self {
            Self::Received => Status::Pending,
            Self::Dispatched => Status::Delivered,
            Self::Failed => Status::Retrying,
            Self::Dlq => Status::Failed,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    pub id: ReceiptId,
    pub partner: String,
    pub key_id: String,
    pub topic: Option<String>,
    pub event_id: Option<String>,
    pub ts_received: Time,
    pub status: ReceiptStatus,
    /// The attempts of all its deliveries.
    pub attempts: u32,
    pub last_error: Option<String>,
    pub is_test: bool,
    pub size: usize,
    pub deliveries: Vec<DeliveryRow>,
}

/// A receipt with all details.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptDetail {
    pub receipt: Receipt,
    /// The body, byte for byte as it was posted.
    pub payload: Bytes,
    /// When its content was erased.
    pub erased_at: Option<Time>,
    /// `None` for receipts from before requests were recorded.
    pub request: Option<RequestRecord>,
    /// The deliveries with all attempts, in order.
    pub deliveries: Vec<DeliveryView>,
}

#[derive(Debug, Clone, Default)]
pub struct ReceiptFilter {
    pub status: Option<ReceiptStatus>,
    pub event_id: Option<String>,
    /// Only receipts received at or after this time.
    pub since: Option<Time>,
    /// Only receipts received before this time.
    pub until: Option<Time>,
}

pub struct Receipts {
    pub store: Arc<dyn Store>,
}

impl Receipts {
    pub async fn get(&self, scope: TenantScope, id: ReceiptId) -> Result<Option<Receipt>> {
        Ok(self.view(scope, id).await?.map(|view| receipt(&view)))
    }

    pub async fn detail(&self, scope: TenantScope, id: ReceiptId) -> Result<Option<ReceiptDetail>> {
        let Some(view) = self.view(scope, id).await? else { return Ok(None) };
        let mut deliveries = Vec::with_capacity(view.deliveries.len());
        for row in &view.deliveries {
            deliveries.extend(self.store.delivery(scope, row.id).await?);
        }
        Ok(Some(ReceiptDetail {
            receipt: receipt(&view),
            payload: view.parcel.body.clone(),
            erased_at: view.parcel.erased_at,
            request: RequestRecord::read(view.request.as_ref()),
            deliveries,
        }))
    }

    /// Dispatches a receipt to each target of the source now, whatever its status: by the existing delivery
    /// if there is one, otherwise by a new one. Returns false if the receipt does not exist.
    pub async fn redeliver(
        &self,
        source: &Source,
        id: ReceiptId,
        ids: &IdMaker,
        now: Time,
    ) -> Result<bool> {
        let scope = source.scope();
        let Some(view) = self.view(scope, id).await? else { return Ok(false) };
        let mut new = Vec::new();
        for target in &source.targets {
            let mut known = view.deliveries.iter().rev();
            if let Some(known) = known.find(|row| row.target == target.id) {
                self.store.retry_now(scope, known.id, now).await?;
                continue;
            }
            new.push(NewDelivery {
                id: ids.make(),
                lane: Lane::Dispatch,
                target: target.id,
                due_at: now,
                in_order: false,
                hold: false,
            });
        }
        if new.is_empty() {
            return Ok(true);
        }
        self.store.redeliver(scope, id.cast(), new).await
    }

    async fn view(&self, scope: TenantScope, id: ReceiptId) -> Result<Option<EventView>> {
        let view = self.store.event(scope, id.cast()).await?;
        Ok(view.filter(|view| view.parcel.kind == ParcelKind::Receipt))
    }

    /// Returns a page of receipts, newest first. A page may have fewer receipts than requested and still have
    /// a next one. Does not read bodies.
    pub async fn list(
        &self,
        scope: TenantScope,
        filter: ReceiptFilter,
        page: PageRequest,
    ) -> Result<Page<Receipt>> {
        match filter.status {
            None => self.all(scope, filter, page).await,
            Some(status) => self.of_status(scope, status, filter, page).await,
        }
    }

    async fn all(
        &self,
        scope: TenantScope,
        filter: ReceiptFilter,
        page: PageRequest,
    ) -> Result<Page<Receipt>> {
        let filter = EventFilter {
            kind: ParcelKind::Receipt,
            external_id: filter.event_id,
            since: filter.since,
            until: filter.until,
            ..EventFilter::default()
        };
        let found = self.store.events(scope, filter, page).await?;
        let ids = found.rows.iter().map(|row| row.id).collect();
        let outlines = self.store.event_outlines(scope, ids).await?;
        Ok(Page { rows: outlines.iter().map(outlined).collect(), next: found.next })
    }

    async fn of_status(
        &self,
        scope: TenantScope,
        status: ReceiptStatus,
        filter: ReceiptFilter,
        page: PageRequest,
    ) -> Result<Page<Receipt>> {
        let wanted = status.of_delivery();
        let filter = DeliveryFilter {
            lane: Some(Lane::Dispatch),
            status: Some(wanted),
            external_id: filter.event_id,
            since: filter.since,
            until: filter.until,
            ..DeliveryFilter::default()
        };
        let found = self.store.deliveries(scope, filter, page).await?;
        let mut rows = Vec::with_capacity(found.rows.len());
        let ids: BTreeSet<EventId> = found.rows.iter().map(|row| row.event).collect();
        let outlines = self.store.event_outlines(scope, ids.into_iter().collect()).await?;
        let outlines: BTreeMap<EventId, EventOutline> =
            outlines.into_iter().map(|outline| (outline.row.id, outline)).collect();
        for row in found.rows {
            let Some(receipt) = outlines.get(&row.event).map(outlined) else { continue };
            // A receipt is listed once, at the position of its first delivery with that status.
            let of_status = receipt.deliveries.iter().filter(|row| row.status() == wanted);
            let first = of_status.map(|row| row.id).max();
            if receipt.status == status && first == Some(row.id) {
                rows.push(receipt);
            }
        }
        Ok(Page { rows, next: found.next })
    }
}

fn receipt(view: &EventView) -> Receipt {
    let parcel = &view.parcel;
    let outline = EventOutline {
        row: EventRow {
            id: parcel.id,
            event_type: parcel.event_type.clone(),
            subject: parcel.subject.clone(),
            external_id: parcel.external_id.clone(),
            number: view.number,
            is_test: parcel.is_test,
            deliveries: view.deliveries.len() as u64,
            created_at: parcel.created_at,
        },
        size: parcel.body.len(),
        deliveries: view.deliveries.clone(),
    };
    outlined(&outline)
}

fn outlined(outline: &EventOutline) -> Receipt {
    let (row, deliveries) = (&outline.row, &outline.deliveries);
    let label = ReceiptLabel::read(&row.event_type);
    let failing = deliveries.iter().filter(|row| row.state != State::Delivered);
    let last_error = failing.filter_map(|row| row.last_failure.as_ref()).next_back();
    Receipt {
        id: row.id.cast(),
        partner: label.partner.to_owned(),
        key_id: label.key_id.to_owned(),
        topic: label.topic.map(str::to_owned),
        event_id: row.external_id.as_deref().map(str::to_owned),
        ts_received: row.created_at,
        status: ReceiptStatus::of(deliveries),
        attempts: deliveries.iter().map(|row| row.attempts).sum(),
        last_error: last_error.map(ToString::to_string),
        is_test: row.is_test,
        size: outline.size,
        deliveries: deliveries.clone(),
    }
}
