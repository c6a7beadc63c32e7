//! Erases the content of one parcel, and finds the parcels of a subject.

use std::collections::BTreeMap;

use gancho_domain::{ParcelId, TenantScope, Time};
use gancho_store::{ContentErasure, Result, SubjectScan};
use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    external_ids, prune,
    rows::{self, seq},
    states::ENDED,
    transaction::Tx,
    tx_error::TxError,
};

/// The rows of the deliveries of parcel `?1`.
const DELIVERIES: &str =
    "(SELECT j.value FROM parcels p, json_each(p.deliveries) j WHERE p.seq = ?1)";

pub(super) fn erase(
    tx: &Tx<'_>,
    scope: TenantScope,
    id: ParcelId,
    replacement: &[u8],
    now: Time,
) -> Result<ContentErasure, TxError> {
    let (row, tenant) = (seq(id), scope.tenant());
    let found: Option<(Option<String>, Option<i64>)> = tx
        .db
        .prepare_cached(
            "SELECT subject, erased_at FROM parcels WHERE seq = ?1 AND id = ?2 AND tenant_id = ?3",
        )?
        .query_row(params![row, id.bytes(), tenant.bytes()], |found| {
            Ok((found.get(0)?, found.get(1)?))
        })
        .optional()?;
    let subject = match found {
        None => return Ok(ContentErasure::Unknown),
        Some((_, Some(_))) => return Ok(ContentErasure::AlreadyErased),
        Some((subject, None)) => subject,
    };
    let mut unended = tx.db.prepare_cached(&format!(
        "SELECT 1 FROM deliveries d WHERE d.seq IN {DELIVERIES} AND d.state < {ENDED}
         UNION ALL SELECT 1 FROM fan_out_parts WHERE parcel = ?1"
    ))?;
    if unended.exists([row])? {
        return Ok(ContentErasure::InFlight);
    }
    unreadably(tx, || {
        overwrite(tx, row, replacement, now)?;
        tx.db
            .prepare_cached("DELETE FROM email_reports WHERE tenant_id = ?1 AND email_id = ?2")?
            .execute(params![tenant.bytes(), id.bytes()])?;
        if let Some(subject) = subject {
            prune::forget_subjects(tx, &BTreeMap::from([((tenant, subject), 1)]))?;
        }
        Ok(ContentErasure::Erased)
    })
}

/// Runs `erase` so that what it overwrites and deletes is not readable in the file any more, even in pages
/// that become free.
pub(crate) fn unreadably<T>(
    tx: &Tx<'_>,
    erase: impl FnOnce() -> Result<T, TxError>,
) -> Result<T, TxError> {
    tx.db.pragma_update(None, "secure_delete", true)?;
    let erased = erase();
    tx.db.pragma_update(None, "secure_delete", "fast")?;
    erased
}

fn overwrite(tx: &Tx<'_>, row: i64, replacement: &[u8], now: Time) -> Result<(), TxError> {
    external_ids::forget(tx, row)?;
    for sql in [
        format!("DELETE FROM dead_letters WHERE delivery IN {DELIVERIES}"),
        format!(
            "UPDATE attempts SET request_headers = x'', response_headers = x'', response_body = x'',
               reason = CASE WHEN reason IS NULL THEN NULL ELSE 'erased' END
             WHERE delivery IN {DELIVERIES}"
        ),
        format!(
            "UPDATE deliveries SET subject = NULL, number = NULL
             WHERE seq IN {DELIVERIES} AND subject IS NOT NULL"
        ),
    ] {
        tx.db.prepare_cached(&sql)?.execute([row])?;
    }
    tx.db
        .prepare_cached(
            "UPDATE parcels SET body = ?2, subject = NULL, external_id = NULL, request = NULL,
               erased_at = ?3 WHERE seq = ?1",
        )?
        .execute(params![row, replacement, now.micros()])?;
    Ok(())
}

pub(super) fn parcels_about(
    db: &Connection,
    scope: TenantScope,
    subject: &str,
    after: Option<ParcelId>,
    max: usize,
) -> Result<SubjectScan, TxError> {
    let mut list = db.prepare_cached(
        "SELECT p.id, p.tenant_id = ?2 AND p.subject IS ?3 FROM parcels p
         WHERE p.seq > ?1 ORDER BY p.seq LIMIT ?4",
    )?;
    let values = params![after.map_or(0, seq), scope.tenant().bytes(), subject, max as i64];
    let mut found = list.query(values)?;
    let mut scan = SubjectScan::default();
    let mut count = 0;
    while let Some(row) = found.next()? {
        count += 1;
        let id = rows::id(row, 0)?;
        if row.get(1)? {
            scan.parcels.push(id);
        }
        scan.next = Some(id).filter(|_| count == max);
    }
    Ok(scan)
}
