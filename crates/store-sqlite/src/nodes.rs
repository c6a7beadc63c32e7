//! Membership. Only one process can have the file open, but within it, and in simulations, there may be
//! several nodes.

use std::time::Duration;

use async_trait::async_trait;
use gancho_domain::{Code, Failure, Time};
use gancho_store::{
    NodeFacts, NodeId, NodeRecord, Nodes, RescueCounts, Result, SharedSettings, StoreError,
    nodes::{MAX_LOST_LEASES, SUSPECT_LEASES},
};
use rusqlite::params;

use crate::{
    SqliteStore, order, rows,
    settle::bury,
    states::{DEAD, LEASED, PENDING, sql},
    transaction::Tx,
    tx_error::TxError,
};

#[async_trait]
impl Nodes for SqliteStore {
    async fn join(&self, name: &str, now: Time) -> Result<NodeId> {
        let name = name.to_owned();
        self.write(move |tx| {
            tx.db
                .prepare_cached(
                    "INSERT INTO nodes (name, beat_at, is_dead, joined_at) VALUES (?1, ?2, 0, ?2)",
                )?
                .execute(params![name, now.micros()])?;
            Ok(NodeId(tx.db.last_insert_rowid()))
        })
        .await
    }

    async fn describe_node(&self, node: NodeId, facts: NodeFacts) -> Result<()> {
        self.write(move |tx| {
            tx.db
                .prepare_cached(
                    "UPDATE nodes SET version = ?2, roles = ?3, shared_settings = ?4 WHERE id = ?1",
                )?
                .execute(params![
                    node.0,
                    facts.version,
                    facts.roles,
                    facts.shared_settings.to_text()
                ])?;
            Ok(())
        })
        .await
    }

    async fn nodes(&self, max: usize) -> Result<Vec<NodeRecord>> {
        self.read_list(None, move |db| {
            let mut list = db.prepare_cached(sql!(
                "SELECT id, name, version, roles, is_dead, joined_at, beat_at, shared_settings,
                   (SELECT count(*) FROM deliveries d WHERE d.owner = n.id AND d.state = {LEASED}),
                   (SELECT min(due_at) FROM deliveries d WHERE d.owner = n.id AND d.state = {LEASED})
                 FROM nodes n
                 ORDER BY is_dead, id DESC LIMIT ?1"
            ))?;
            let mut found = list.query([max as i64])?;
            let mut nodes = Vec::new();
            while let Some(row) = found.next()? {
                nodes.push(NodeRecord {
                    id: NodeId(row.get(0)?),
                    name: row.get(1)?,
                    facts: NodeFacts {
                        version: row.get(2)?,
                        roles: row.get(3)?,
                        shared_settings: SharedSettings::from_text(&row.get::<_, String>(7)?),
                    },
                    is_dead: row.get(4)?,
                    joined_at: rows::time(row, 5)?,
                    seen_at: rows::time(row, 6)?,
                    leases: row.get::<_, i64>(8)? as u64,
                    oldest_due_at: rows::maybe_time(row, 9)?,
                    cells: Vec::new(),
                });
            }
            Ok(nodes)
        })
        .await
    }

    async fn heartbeat(&self, node: NodeId, now: Time) -> Result<()> {
        self.write(move |tx| {
            let beaten = tx
                .db
                .prepare_cached("UPDATE nodes SET beat_at = ?1 WHERE id = ?2 AND is_dead = 0")?
                .execute(params![now.micros(), node.0])?;
            if beaten == 1 { Ok(()) } else { Err(StoreError::Fenced.into()) }
        })
        .await
    }

    async fn leave(&self, node: NodeId, _now: Time) -> Result<()> {
        self.write(move |tx| {
            let given = tx
                .db
                .prepare_cached(sql!(
                    "UPDATE deliveries SET state = {PENDING}, lost_leases = 0
                     WHERE state = {LEASED} AND owner = ?1"
                ))?
                .execute([node.0])?;
            tx.db.prepare_cached("DELETE FROM nodes WHERE id = ?1")?.execute([node.0])?;
            if given > 0 {
                tx.ring();
            }
            Ok(())
        })
        .await
    }

    async fn rescue(
        &self,
        caller: NodeId,
        silent_for: Duration,
        now: Time,
    ) -> Result<RescueCounts> {
        self.write(move |tx| rescue(tx, caller, now - silent_for, now)).await
    }
}

fn rescue(
    tx: &Tx<'_>,
    caller: NodeId,
    silent_since: Time,
    now: Time,
) -> Result<RescueCounts, TxError> {
    let nodes = tx
        .db
        .prepare_cached(
            "UPDATE nodes SET is_dead = 1 WHERE is_dead = 0 AND id <> ?1 AND beat_at <= ?2",
        )?
        .execute(params![caller.0, silent_since.micros()])?;
    let given_up = give_up(tx, now)?;
    let deliveries = tx
        .db
        .prepare_cached(&format!(
            "UPDATE deliveries SET state = {PENDING}, lost_leases = lost_leases + (lost_leases < ?1)
             WHERE state = {LEASED} AND {OF_THE_DEAD}"
        ))?
        .execute([SUSPECT_LEASES])?;
    if deliveries > 0 {
        tx.ring();
    }
    Ok(RescueCounts { nodes: nodes as u64, deliveries: deliveries as u64, given_up })
}

/// A node may have leased more after it was declared dead, so every rescue checks all dead nodes.
const OF_THE_DEAD: &str = "owner NOT IN (SELECT id FROM nodes WHERE is_dead = 0)";

/// Gives up deliveries that may have killed too many nodes, instead of handing them to another.
fn give_up(tx: &Tx<'_>, now: Time) -> Result<u64, TxError> {
    let killers: Vec<i64> = tx
        .db
        .prepare_cached(&format!(
            "SELECT seq FROM deliveries WHERE state = {LEASED} AND lost_leases >= ?1 AND {OF_THE_DEAD}"
        ))?
        .query_map([MAX_LOST_LEASES], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let failure = Failure::new(
        Code::LEASE_LOST,
        format!("{MAX_LOST_LEASES} nodes died while they tried it: it may be what kills them"),
    );
    for seq in &killers {
        tx.db
            .prepare_cached(sql!("UPDATE deliveries SET state = {DEAD} WHERE seq = ?1"))?
            .execute([seq])?;
        bury(tx, *seq, &failure, now, now)?;
        order::move_up(tx, *seq)?;
    }
    Ok(killers.len() as u64)
}
