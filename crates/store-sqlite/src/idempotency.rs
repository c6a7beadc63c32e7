//! The idempotency keys of accepted parcels: hashes, in a [key buffer](crate::key_buffer) and in a tree.
//! Inserts also forget a few expired keys, so that no index by time is needed.

use gancho_domain::{Parcel, ParcelId, TenantId, Time};
use gancho_store::{AcceptOutcome, IdempotencyKey};
use rusqlite::{OptionalExtension, params};

use crate::{
    key_buffer::{FLUSH_BATCH, trim},
    rows,
    transaction::Tx,
    tx_error::TxError,
    writer_cache::{FIRST, HashPrefix, KeyUse, LAST, OnceKey, OnceKeys},
};

/// Returns what the key was used for before. `None` if it is new; from now on it is this parcel's.
pub(crate) fn seen_before(
    tx: &Tx<'_>,
    parcel: &Parcel,
    once: &IdempotencyKey,
) -> Result<Option<AcceptOutcome>, TxError> {
    let (key, now) = ((parcel.tenant, short(once.key)), parcel.created_at);
    // A clock that is ahead frees no key: the key must also have expired by the time that upkeep trusts.
    if let Some(KeyUse { first, content, until }) = find(tx, &key)?
        && until > now.min(tx.cache.once_keys.expired_by.get())
    {
        let same = content == short(once.content);
        return Ok(Some(if same {
            AcceptOutcome::Again { first }
        } else {
            AcceptOutcome::Clash { first }
        }));
    }
    write(tx, key, once, parcel.id)?;
    flush(tx, now)?;
    Ok(None)
}

fn find(tx: &Tx<'_>, key: &OnceKey) -> Result<Option<KeyUse>, TxError> {
    if let Some((_, used)) = tx.cache.once_keys.buffer.find(key) {
        return Ok(Some(used));
    }
    let mut find = tx.db.prepare_cached(
        "SELECT parcel_id, content, until FROM once_keys WHERE tenant_id = ?1 AND key = ?2",
    )?;
    find.query(params![key.0.bytes(), key.1])?.next()?.map(KeyUse::read).transpose()
}

fn short(hash: [u8; 32]) -> HashPrefix {
    let mut half = [0; 16];
    half.copy_from_slice(&hash[..16]);
    half
}

fn write(
    tx: &Tx<'_>,
    key: OnceKey,
    once: &IdempotencyKey,
    parcel: ParcelId,
) -> Result<(), TxError> {
    let used = KeyUse { first: parcel, content: short(once.content), until: once.until };
    let line = tx.cache.once_keys.buffer.add(key, used);
    let (tenant, until) = (key.0.bytes(), once.until.micros());
    tx.db
        .prepare_cached(
            "INSERT INTO once_lately (line, tenant_id, key, content, parcel_id, until)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![line, tenant, key.1, used.content, parcel.bytes(), until])?;
    Ok(())
}

fn flush(tx: &Tx<'_>, now: Time) -> Result<(), TxError> {
    let OnceKeys { buffer, expired_by, .. } = &tx.cache.once_keys;
    let Some(keys) = buffer.flush(tx.db, "once_lately")? else { return Ok(()) };
    let now = now.min(expired_by.get());
    let mut insert = tx.db.prepare_cached(
        "INSERT OR REPLACE INTO once_keys (tenant_id, key, content, parcel_id, until)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for ((tenant, key), KeyUse { first, content, until }) in keys {
        if until > now {
            let (first, until) = (first.bytes(), until.micros());
            insert.execute(params![tenant.bytes(), key, content, first, until])?;
        }
    }
    // Forgets more keys than are added, so that expired keys are always a limited part of all.
    forget_in_tree(tx, FLUSH_BATCH, now)?;
    Ok(())
}

/// Removes expired keys. Scans at most `max`, and the next call continues from there. Returns whether the
/// next call should follow at once. For the tree that is the case while one in eight keys is expired:
/// searching for the last few would read the whole tree again and again.
pub(crate) fn forget(tx: &Tx<'_>, max: usize, now: Time) -> Result<bool, TxError> {
    tx.cache.once_keys.expired_by.set(now);
    let in_front = forget_buffered(tx, max, now)?;
    let in_tree = forget_in_tree(tx, max, now)?;
    Ok(in_front == max || in_tree * 8 >= max)
}

/// Removes expired lines from the front. Returns how many it removed.
fn forget_buffered(tx: &Tx<'_>, max: usize, now: Time) -> Result<usize, TxError> {
    let mut list = tx.db.prepare_cached(
        "SELECT line, tenant_id, key, until <= ?2 FROM once_lately ORDER BY line LIMIT ?1",
    )?;
    let mut found = list.query(params![max as i64, now.micros()])?;
    let mut over = None;
    while let Some(row) = found.next()? {
        if !row.get::<_, bool>(3)? {
            break;
        }
        let (line, key) = (row.get(0)?, (rows::id(row, 1)?, row.get(2)?));
        // The key may have a later line.
        if tx.cache.once_keys.buffer.find(&key).is_some_and(|found| found.0 == line) {
            tx.cache.once_keys.buffer.remove(&key);
        }
        over = Some(line);
    }
    match over {
        Some(over) => Ok(trim(tx.db, "once_lately", over, max)?),
        None => Ok(0),
    }
}

/// Returns how many it removed.
fn forget_in_tree(tx: &Tx<'_>, max: usize, now: Time) -> Result<usize, TxError> {
    let (tenant, key) = tx.cache.once_keys.next_look.get();
    let end: Option<OnceKey> = tx
        .db
        .prepare_cached(
            "SELECT tenant_id, key FROM once_keys WHERE (tenant_id, key) > (?1, ?2)
             ORDER BY tenant_id, key LIMIT 1 OFFSET ?3",
        )?
        .query_row(params![tenant.bytes(), key, max as i64 - 1], |row| {
            Ok((TenantId::from_bytes(row.get(0)?), row.get(1)?))
        })
        .optional()?;
    // After the last key it starts from the first.
    tx.cache.once_keys.next_look.set(end.unwrap_or(FIRST));
    let last = end.unwrap_or(LAST);
    let gone = tx
        .db
        .prepare_cached(
            "DELETE FROM once_keys WHERE (tenant_id, key) > (?1, ?2)
               AND (tenant_id, key) <= (?3, ?4) AND until <= ?5",
        )?
        .execute(params![tenant.bytes(), key, last.0.bytes(), last.1, now.micros()])?;
    Ok(gone)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
