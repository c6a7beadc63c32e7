//! The keys under which parcels were accepted: hashes, in a table of what came [`lately`](crate::lately)
//! and in a tree. What is over is forgotten in passing, which spares them an index by time.

use std::cell::Cell;

use gancho_domain::{Parcel, ParcelId, TenantId, Time};
use gancho_store::{Accepted, Once};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{
    fault::Fault,
    lately::{Lately, STRETCH, cut, sweep_at_once},
    rows,
    transaction::Tx,
};

/// Half of each hash is enough to tell them apart.
type Short = [u8; 16];
type Key = (TenantId, Short);

/// What a key was used for.
#[derive(Clone, Copy)]
pub(crate) struct Used {
    first: ParcelId,
    content: Short,
    until: Time,
}

pub(crate) struct Keys {
    pub lately: Lately<Key, Used>,
    /// Where the next look for keys that are over begins.
    looked: Cell<Key>,
    /// Keys whose time ended before this are over: when [`forget`] was last called, which is not done
    /// while the clock may be wrong.
    over: Cell<Time>,
}

const FIRST: Key = (TenantId::from_bits(0), [0; 16]);
const LAST: Key = (TenantId::from_bits(u128::MAX), [u8::MAX; 16]);

impl Keys {
    pub fn load(db: &Connection, enough: usize) -> Result<Self, Fault> {
        let all = "INSERT OR REPLACE INTO once_keys (tenant_id, key, content, parcel_id, until)
             SELECT tenant_id, key, content, parcel_id, until FROM once_lately
             ORDER BY tenant_id, key, line";
        sweep_at_once(db, "once_lately", enough, all)?;
        let mut list = db.prepare(
            "SELECT parcel_id, content, until, line, tenant_id, key FROM once_lately ORDER BY line",
        )?;
        let mut found = list.query([])?;
        let mut table = Vec::new();
        while let Some(row) = found.next()? {
            table.push((row.get(3)?, (rows::id(row, 4)?, row.get(5)?), used(row)?));
        }
        Ok(Self {
            lately: Lately::new(table, enough),
            looked: Cell::new(FIRST),
            over: Cell::default(),
        })
    }
}

/// What the key was used for before, or nothing; then it is this parcel's from now on.
pub(crate) fn seen_before(
    tx: &Tx<'_>,
    parcel: &Parcel,
    once: &Once,
) -> Result<Option<Accepted>, Fault> {
    let (key, now) = ((parcel.tenant, short(once.key)), parcel.created_at);
    // A clock that is ahead frees no key: it must be over by the time that upkeep believes as well.
    if let Some(Used { first, content, until }) = find(tx, &key)?
        && until > now.min(tx.known.keys.over.get())
    {
        let same = content == short(once.content);
        return Ok(Some(if same { Accepted::Again { first } } else { Accepted::Clash { first } }));
    }
    write(tx, key, once, parcel.id)?;
    sweep(tx, now)?;
    Ok(None)
}

fn find(tx: &Tx<'_>, key: &Key) -> Result<Option<Used>, Fault> {
    if let Some((_, used)) = tx.known.keys.lately.find(key) {
        return Ok(Some(used));
    }
    let mut find = tx.db.prepare_cached(
        "SELECT parcel_id, content, until FROM once_keys WHERE tenant_id = ?1 AND key = ?2",
    )?;
    find.query(params![key.0.bytes(), key.1])?.next()?.map(used).transpose()
}

fn short(hash: [u8; 32]) -> Short {
    let mut half = [0; 16];
    half.copy_from_slice(&hash[..16]);
    half
}

/// From the first three columns.
fn used(row: &Row<'_>) -> Result<Used, Fault> {
    Ok(Used { first: rows::id(row, 0)?, content: row.get(1)?, until: rows::time(row, 2)? })
}

fn write(tx: &Tx<'_>, key: Key, once: &Once, parcel: ParcelId) -> Result<(), Fault> {
    let used = Used { first: parcel, content: short(once.content), until: once.until };
    let line = tx.known.keys.lately.add(key, used);
    let (tenant, until) = (key.0.bytes(), once.until.micros());
    tx.db
        .prepare_cached(
            "INSERT INTO once_lately (line, tenant_id, key, content, parcel_id, until)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![line, tenant, key.1, used.content, parcel.bytes(), until])?;
    Ok(())
}

fn sweep(tx: &Tx<'_>, now: Time) -> Result<(), Fault> {
    let Keys { lately, over, .. } = &tx.known.keys;
    let Some(keys) = lately.sweep(tx.db, "once_lately")? else { return Ok(()) };
    let now = now.min(over.get());
    let mut insert = tx.db.prepare_cached(
        "INSERT OR REPLACE INTO once_keys (tenant_id, key, content, parcel_id, until)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for ((tenant, key), Used { first, content, until }) in keys {
        if until > now {
            let (first, until) = (first.bytes(), until.micros());
            insert.execute(params![tenant.bytes(), key, content, first, until])?;
        }
    }
    // More than come in, so that those that are over are never more than a part of them.
    forget_in_tree(tx, STRETCH, now)?;
    Ok(())
}

/// Forgets keys that are over: looks at no more than so many, and the next call goes on from there. Says
/// whether it should follow at once. In the tree it does while one in eight is over: to look for the last
/// few would be to read the whole of it again and again.
pub(crate) fn forget(tx: &Tx<'_>, most: usize, now: Time) -> Result<bool, Fault> {
    tx.known.keys.over.set(now);
    let in_front = forget_lately(tx, most, now)?;
    let in_tree = forget_in_tree(tx, most, now)?;
    Ok(in_front == most || in_tree * 8 >= most)
}

/// From the front, as far as they are over. Says how many lines went.
fn forget_lately(tx: &Tx<'_>, most: usize, now: Time) -> Result<usize, Fault> {
    let mut list = tx.db.prepare_cached(
        "SELECT line, tenant_id, key, until <= ?2 FROM once_lately ORDER BY line LIMIT ?1",
    )?;
    let mut found = list.query(params![most as i64, now.micros()])?;
    let mut over = None;
    while let Some(row) = found.next()? {
        if !row.get::<_, bool>(3)? {
            break;
        }
        let (line, key) = (row.get(0)?, (rows::id(row, 1)?, row.get(2)?));
        // It may have a later line.
        if tx.known.keys.lately.find(&key).is_some_and(|found| found.0 == line) {
            tx.known.keys.lately.remove(&key);
        }
        over = Some(line);
    }
    match over {
        Some(over) => Ok(cut(tx.db, "once_lately", over, most)?),
        None => Ok(0),
    }
}

/// Says how many of them went.
fn forget_in_tree(tx: &Tx<'_>, most: usize, now: Time) -> Result<usize, Fault> {
    let (tenant, key) = tx.known.keys.looked.get();
    let end: Option<Key> = tx
        .db
        .prepare_cached(
            "SELECT tenant_id, key FROM once_keys WHERE (tenant_id, key) > (?1, ?2)
             ORDER BY tenant_id, key LIMIT 1 OFFSET ?3",
        )?
        .query_row(params![tenant.bytes(), key, most as i64 - 1], |row| {
            Ok((TenantId::from_bytes(row.get(0)?), row.get(1)?))
        })
        .optional()?;
    // Behind the last one it begins again.
    tx.known.keys.looked.set(end.unwrap_or(FIRST));
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
