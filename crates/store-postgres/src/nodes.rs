//! Membership, by the database's clock.

use std::time::Duration;

use async_trait::async_trait;
use gancho_domain::{Code, Failure, State, Time};
use gancho_store::{
    NodeFacts, NodeId, NodeRecord, Nodes, RescueCounts, Result, SharedSettings, StoreError,
    nodes::{MAX_LOST_LEASES, SUSPECT_LEASES},
};
use tokio_postgres::{Row, types::ToSql};

use crate::{
    PostgresStore,
    give_up::{self, GiveUp},
    rows::{self, text},
    session::{Transaction, execute, query, query_one},
    states::{LEASED, PENDING, Sql, sql},
    tx_error::{TxError, store_error},
};

#[async_trait]
impl Nodes for PostgresStore {
    async fn join(&self, name: &str, _now: Time) -> Result<NodeId> {
        self.add_node(name).await.map_err(TxError::into_error)
    }

    async fn describe_node(&self, node: NodeId, facts: NodeFacts) -> Result<()> {
        let session = self.session().await?;
        let sql = "update nodes set version = $2, roles = $3, shared_settings = $4 where id = $1";
        let shared = facts.shared_settings.to_text();
        let values: [&(dyn ToSql + Sync); 4] =
            [&node.0, &text(&facts.version), &text(&facts.roles), &text(&shared)];
        execute(&session, sql, &values).await.map_err(store_error)?;
        Ok(())
    }

    async fn nodes(&self, max: usize) -> Result<Vec<NodeRecord>> {
        let session = self.lists.next(None).await?;
        let found = query(&session, &NODES, &[&(max as i64)]).await.map_err(store_error)?;
        let record = |row: &Row| {
            Ok(NodeRecord {
                id: NodeId(rows::get(row, 0)?),
                name: rows::get(row, 1)?,
                facts: NodeFacts {
                    version: rows::get(row, 2)?,
                    roles: rows::get(row, 3)?,
                    shared_settings: SharedSettings::from_text(rows::get(row, 7)?),
                },
                is_dead: rows::get(row, 4)?,
                joined_at: rows::time(row, 5)?,
                seen_at: rows::time(row, 6)?,
                leases: rows::get::<i64>(row, 8)? as u64,
                oldest_due_at: rows::maybe_time(row, 9)?,
                cells: Vec::new(),
            })
        };
        found.iter().map(record).collect()
    }

    async fn living_roles(&self, silent_for: Duration) -> Result<Vec<String>> {
        let session = self.session().await?;
        let found = query(&session, LIVING_ROLES, &[&silent_for.as_secs_f64()]).await;
        found.map_err(store_error)?.iter().map(|row| rows::get(row, 0)).collect()
    }

    async fn heartbeat(&self, node: NodeId, _now: Time) -> Result<()> {
        let session = self.lifeline.get().await?;
        let sql = "update nodes set beat_at = clock_timestamp() where id = $1 and not is_dead";
        match execute(&session, sql, &[&node.0]).await.map_err(store_error)? {
            0 => Err(StoreError::Fenced),
            _ => Ok(()),
        }
    }

    async fn leave(&self, node: NodeId, _now: Time) -> Result<()> {
        if self.remove_node(node).await.map_err(TxError::into_error)? > 0 {
            self.bells.ring_all();
        }
        Ok(())
    }

    async fn rescue(
        &self,
        caller: NodeId,
        silent_for: Duration,
        now: Time,
    ) -> Result<RescueCounts> {
        let done = self.rescue_all(caller, silent_for, now).await;
        done.map_err(TxError::into_error)
    }
}

static NODES: Sql = Sql::new(|| {
    format!(
        "
select id, name, version, roles, is_dead, (extract(epoch from joined_at) * 1000000)::bigint,
    (extract(epoch from greatest(beat_at, joined_at)) * 1000000)::bigint, shared_settings,
    held.count, held.oldest_due_at
from nodes n cross join lateral (
    select count(*) as count, min(d.due_at) as oldest_due_at
    from deliveries d where d.owner = n.id and d.state = {LEASED}
) held
order by is_dead, id desc limit $1"
    )
});

const LIVING_ROLES: &str = "
select roles from nodes
where not is_dead and beat_at > clock_timestamp() - $1::float8 * interval '1 second'";

/// Serializes joining and declaring dead, so that a reader of the dead numbers can rely on them: no number
/// below the highest assigned one can come to life any more.
///
/// A separate lock, because a node that freezes while it holds it must not stop the others' heartbeats.
const ONE_AT_A_TIME: &str = "select pg_advisory_xact_lock(7452871012)";

const DECLARE_DEAD: &str = "
update nodes set is_dead = true
where not is_dead and id <> $1 and beat_at < clock_timestamp() - $2::float8 * interval '1 second'";

/// Returns the ranges of numbers between those of living nodes, up to the highest ever assigned. A search in
/// these does not read the rows of living nodes, of which there may be very many.
const DEAD_SPANS: &str = "
select n.id, coalesce(lead(n.id) over (order by n.id), h.highest + 1)
from (select 0::bigint as id union all select id from nodes where not is_dead) n,
    (select last_value - (not is_called)::int as highest from nodes_id_seq) h";

/// Returns rows of dead nodes, a few at a time. `true` for those that have been lost too often.
static HELD_BY_DEAD: Sql = Sql::new(|| {
    format!(
        "
select d.tenant_id, d.id
from unnest($1::int8[], $2::int8[]) as span(low, high)
join deliveries d on d.state = {LEASED} and d.owner > span.low and d.owner < span.high
where (d.lost_leases >= $3) = $4
limit 1000"
    )
});

static RELEASE: Sql = Sql::new(|| {
    format!(
        "
update deliveries d set state = {PENDING}, owner = 0,
    lost_leases = d.lost_leases + (d.lost_leases < $5)::int
from unnest($1::uuid[], $2::uuid[]) as k(tenant_id, id)
where d.tenant_id = k.tenant_id and d.id = k.id and d.state + 0 = {LEASED}
  and exists (select from unnest($3::int8[], $4::int8[]) as span(low, high)
              where d.owner > span.low and d.owner < span.high)"
    )
});

/// The numbers of nodes that are permanently dead: strictly between each pair.
struct DeadSpans {
    low: Vec<i64>,
    high: Vec<i64>,
}

impl PostgresStore {
    async fn add_node(&self, name: &str) -> Result<NodeId, TxError> {
        let transaction = Transaction::begin(self.session().await?).await?;
        let session = transaction.session()?;
        session.batch_execute(ONE_AT_A_TIME).await?;
        let sql = "insert into nodes (name, beat_at) values ($1, clock_timestamp()) returning id";
        let row = query_one(session, sql, &[&text(name)]).await?;
        let node = NodeId(rows::get(&row, 0)?);
        transaction.commit().await?;
        Ok(node)
    }

    async fn remove_node(&self, node: NodeId) -> Result<u64, TxError> {
        let transaction = Transaction::begin(self.session().await?).await?;
        let session = transaction.session()?;
        let given = execute(
            session,
            // In the order in which settling locks them.
            sql!(
                "update deliveries d set state = {PENDING}, owner = 0, lost_leases = 0
             from (select tenant_id, id from deliveries where state = {LEASED} and owner = $1
                   order by tenant_id, id for update) held
             where d.tenant_id = held.tenant_id and d.id = held.id"
            ),
            &[&node.0],
        )
        .await?;
        execute(session, "delete from nodes where id = $1", &[&node.0]).await?;
        transaction.commit().await?;
        Ok(given)
    }

    async fn rescue_all(
        &self,
        caller: NodeId,
        silent_for: Duration,
        now: Time,
    ) -> Result<RescueCounts, TxError> {
        let (nodes, spans) = self.declare_dead(caller, silent_for).await?;
        let given_up = self.give_up_killers(&spans, now).await?;
        let deliveries = self.release_held(&spans).await?;
        if deliveries > 0 {
            self.bells.ring_all();
        }
        Ok(RescueCounts { nodes, deliveries, given_up })
    }

    async fn declare_dead(
        &self,
        caller: NodeId,
        silent_for: Duration,
    ) -> Result<(u64, DeadSpans), TxError> {
        let transaction = Transaction::begin(self.session().await?).await?;
        let session = transaction.session()?;
        session.batch_execute(ONE_AT_A_TIME).await?;
        let values: [&(dyn ToSql + Sync); 2] = [&caller.0, &silent_for.as_secs_f64()];
        let nodes = execute(session, DECLARE_DEAD, &values).await?;
        let mut spans = DeadSpans { low: Vec::new(), high: Vec::new() };
        for row in &query(session, DEAD_SPANS, &[]).await? {
            spans.low.push(rows::get(row, 0)?);
            spans.high.push(rows::get(row, 1)?);
        }
        transaction.commit().await?;
        Ok((nodes, spans))
    }

    /// Gives up deliveries that may have killed too many nodes, instead of handing them to another.
    async fn give_up_killers(&self, spans: &DeadSpans, now: Time) -> Result<u64, TxError> {
        let failure = Failure::new(
            Code::LEASE_LOST,
            format!("{MAX_LOST_LEASES} nodes died while they tried it: it may be what kills them"),
        );
        let give_up = GiveUp {
            from: &[State::Leased],
            failure: &failure,
            tried: None,
            at: now,
            expires_at: now + self.dead_letter_ttl,
        };
        let mut total = 0;
        loop {
            let killers = self.held_by_dead(spans, true).await?;
            if killers.is_empty() {
                return Ok(total);
            }
            let (given_up, moved) = give_up.run(self.session().await?, &killers).await?;
            if moved {
                self.bells.ring_all();
            }
            total += given_up.len() as u64;
        }
    }

    async fn release_held(&self, spans: &DeadSpans) -> Result<u64, TxError> {
        let mut released = 0;
        loop {
            let mut held = self.held_by_dead(spans, false).await?;
            if held.is_empty() {
                return Ok(released);
            }
            held.sort_unstable();
            let tenants: Vec<_> = held.iter().map(|one| rows::uuid(one.0)).collect();
            let ids: Vec<_> = held.iter().map(|one| rows::uuid(one.1)).collect();
            let session = self.session().await?;
            let suspect = SUSPECT_LEASES as i32;
            let values: [&(dyn ToSql + Sync); 5] =
                [&tenants, &ids, &spans.low, &spans.high, &suspect];
            released += execute(&session, &RELEASE, &values).await?;
        }
    }

    async fn held_by_dead(
        &self,
        spans: &DeadSpans,
        too_often: bool,
    ) -> Result<Vec<(gancho_domain::TenantId, gancho_domain::DeliveryId)>, TxError> {
        let session = self.session().await?;
        let max = MAX_LOST_LEASES as i32;
        let values: [&(dyn ToSql + Sync); 4] = [&spans.low, &spans.high, &max, &too_often];
        let found = query(&session, &HELD_BY_DEAD, &values).await?;
        found.iter().map(give_up::key).collect()
    }
}
