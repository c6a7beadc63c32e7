//! The conditions of a page in SQL: the cheap ones first.

use gancho_domain::Status;
use gancho_store::MAX_SEARCHED_BYTES;

use crate::states::{DEAD, DELIVERED, ENDED, sql};

/// How far the check of a row got. Its tenant and its state are read from the row itself, the rest from its
/// parcel and its last attempt.
pub(super) const READ_PARCEL: i64 = 2;
pub(super) const READ_BODY: i64 = 3;
pub(super) const FITS: i64 = 4;

pub(super) const BODY_SIZE: &str =
    "(SELECT octet_length(p.body) FROM parcels p WHERE p.seq = d.parcel)";
/// The number of bytes of a body that cost as much as a row.
pub(super) const COST_OF_BYTES: usize = 1 << 10;

pub(super) fn fit(status: Option<Status>, parcels: bool, outcomes: bool, text: bool) -> String {
    let status = match status {
        None => "true",
        Some(Status::Pending) => sql!("d.state < {ENDED} AND d.attempts = 0"),
        Some(Status::Retrying) => sql!("d.state < {ENDED} AND d.attempts > 0"),
        Some(Status::Delivered) => sql!("d.state = {DELIVERED}"),
        Some(Status::Failed) => sql!("d.state = {DEAD}"),
    };
    let of_parcel = if parcels {
        "WHEN NOT EXISTS (SELECT 1 FROM parcels p WHERE p.seq = d.parcel
           AND (?6 IS NULL OR p.event_type = ?6) AND (?7 IS NULL OR p.external_id = ?7)
           AND (?10 IS NULL OR p.subject = ?10)
           AND (?13 IS NULL OR substr(p.event_type, 1, length(?13)) = ?13)) THEN 2"
    } else {
        ""
    };
    let of_outcome = if outcomes {
        sql!(
            "WHEN NOT EXISTS (SELECT 1 FROM (SELECT 1)
               LEFT JOIN attempts a ON a.delivery = d.seq AND a.number = d.attempts
               LEFT JOIN dead_letters l ON l.delivery = d.seq AND d.state = {DEAD}
               WHERE (?11 IS NULL OR coalesce(l.code, a.code) = ?11)
                 AND (?12 IS NULL OR a.response_status = ?12)) THEN 2"
        )
    } else {
        ""
    };
    let of_body = if text {
        format!(
            "WHEN NOT EXISTS (SELECT 1 FROM parcels p WHERE p.seq = d.parcel
           AND instr(substr(p.body, 1, {MAX_SEARCHED_BYTES}), ?9) > 0) THEN 3"
        )
    } else {
        String::new()
    };
    format!(
        "CASE WHEN d.tenant_id <> ?1 OR (?2 IS NOT NULL AND d.target_id <> ?2)
                OR (?3 IS NOT NULL AND d.lane <> ?3) THEN 0
              WHEN d.created_at < ?4 OR d.created_at >= ?5 OR NOT ({status}) THEN 1
              {of_outcome} {of_parcel} {of_body} ELSE 4 END"
    )
}
