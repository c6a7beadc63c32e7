//! What waiting deliveries of e-mails and receipts wait for. The API says so only for deliveries.

use super::{delivery_row::DeliveryRow, list::List};
use crate::{params::Link, visit::Visit};

/// Returns the newest waiting deliveries of e-mails.
pub async fn of_emails(visit: &Visit) -> Vec<DeliveryRow> {
    let link = Link::new("/v1/deliveries").with("lane", "email").with("limit", 500);
    let mut all = Vec::new();
    for status in ["pending", "retrying"] {
        let found: List<DeliveryRow> =
            visit.get(link.clone().with("status", status)).await.unwrap_or_default();
        all.extend(found.data);
    }
    all
}

/// Returns the newest waiting deliveries of a partner's receipts.
pub async fn of_receipts(visit: &Visit, partner: &str) -> Vec<DeliveryRow> {
    let link = Link::new("/v1/deliveries").with("lane", "dispatch").with("partner", partner);
    let link = link.with("limit", 500);
    let mut all = Vec::new();
    for status in ["pending", "retrying"] {
        let link = link.clone().with("status", status);
        let found: List<DeliveryRow> = visit.get_as_operator(link).await.unwrap_or_default();
        all.extend(found.data);
    }
    all
}
