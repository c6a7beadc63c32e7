//! Writes the results of attempts.

use std::collections::{BTreeSet, HashSet};

use async_trait::async_trait;
use gancho_domain::{Failure, Lane, NextStep, State, Time};
use gancho_store::{NodeId, Result, Settle, SettleOutcome, Settlement};
use uuid::Uuid;

use crate::{
    PostgresStore,
    order::SubjectQueue,
    rows::{self, text, uuid},
    session::{Session, execute, query},
    states::{DEAD, LEASED, Sql},
    tx_error::TxError,
};

#[async_trait]
impl Settle for PostgresStore {
    async fn settle(
        &self,
        node: NodeId,
        settlements: Vec<Settlement>,
    ) -> Result<Vec<SettleOutcome>> {
        if settlements.is_empty() {
            return Ok(Vec::new());
        }
        self.committers.settle(node, settlements).await
    }
}

/// A settlement of a batch, and the node that sends it.
#[derive(Clone, Copy)]
pub(crate) struct NodeSettlement<'a> {
    pub node: NodeId,
    pub settlement: &'a Settlement,
}

/// The result of writing a batch of settlements.
pub(crate) struct SettleWrites {
    /// For each settlement, whether its lease held.
    pub held: Vec<bool>,
    /// Lines in which an ordered delivery ended.
    pub ended: BTreeSet<SubjectQueue>,
    /// Deliveries that succeeded and may have a dead letter.
    raised: Vec<(Uuid, Uuid)>,
}

const WEBHOOK: i16 = Lane::Webhook.number();

/// The state and the owner are the fence. `state + 0` prevents the planner from looking the rows up by their
/// owner, which may have thousands, instead of by their id.
pub(crate) static SETTLE: Sql = Sql::new(|| {
    format!(
        "
with done as (
    update deliveries d
    set state = s.state, due_at = coalesce(s.due_at, d.due_at),
        attempts = coalesce(s.number, d.attempts), was_dead = d.was_dead or s.state = {DEAD},
        lost_leases = 0
    from unnest($1::uuid[], $2::uuid[], $3::int8[], $4::int2[], $5::int8[], $6::int8[], $7::int8[],
        $8::text[], $9::text[], $10::int4[], $11::int8[], $12::int8[], $13::bytea[], $14::int4[],
        $15::bytea[], $16::bytea[], $17::text[], $18::text[], $19::int8[], $20::text[]) with ordinality
        as s(tenant_id, id, node, state, due_at, at, expires_at, dead_code, dead_reason, number,
        started_at, latency_us, request_headers, response_status, response_headers, response_body,
        code, reason, next_at, provider_code, place)
    where d.tenant_id = s.tenant_id and d.id = s.id and d.state + 0 = {LEASED} and d.owner = s.node
    returning s.*, d.lane, d.target_id, d.parcel_id, d.order_key, d.attempts, d.was_dead
), tried as (
    insert into attempts (tenant_id, delivery_id, number, started_at, latency_us, request_headers,
        response_status, response_headers, response_body, code, reason, next_at)
    select tenant_id, id, number, started_at, latency_us, request_headers, response_status,
        response_headers, response_body, code, reason, next_at
    from done where number is not null
), buried as (
    insert into dead_letters (tenant_id, delivery_id, lane, failed_attempts, code, reason,
        failed_at, moved_at, expires_at, provider_code)
    select tenant_id, id, lane, attempts, dead_code, dead_reason,
        coalesce(started_at + latency_us, at), at, expires_at,
        coalesce(provider_code, response_status::text, (select a.response_status::text
            from attempts a where a.tenant_id = d.tenant_id and a.delivery_id = d.id
              and a.number = d.attempts))
    from done d where state = {DEAD}
      -- A test of a webhook leaves none: nobody waits for it.
      and not (lane = {WEBHOOK} and exists (select from parcels p
          where p.tenant_id = d.tenant_id and p.id = d.parcel_id and p.is_test offset 0))
    on conflict (tenant_id, delivery_id) do update
    set failed_attempts = excluded.failed_attempts, code = excluded.code,
        reason = excluded.reason, failed_at = excluded.failed_at,
        moved_at = excluded.moved_at, expires_at = excluded.expires_at,
        provider_code = excluded.provider_code
)
select place, target_id, order_key, was_dead from done"
    )
});

/// Writes settlements inside a transaction. If a delivery is ordered, its subject's row must be locked.
pub(crate) async fn write(
    session: &Session,
    endings: &[NodeSettlement<'_>],
    dead_letter_ttl: std::time::Duration,
) -> Result<SettleWrites, TxError> {
    let mut written = SettleWrites {
        held: vec![false; endings.len()],
        ended: BTreeSet::new(),
        raised: Vec::new(),
    };
    if endings.is_empty() {
        return Ok(written);
    }
    let places = first_of_each(endings);
    let columns = Columns::of(places.iter().map(|place| &endings[*place]), dead_letter_ttl);
    for row in columns.write(session).await? {
        let place = rows::get::<i64>(&row, 0)? as usize - 1;
        let place = places[place];
        written.held[place] = true;
        let settlement = endings[place].settlement;
        let ended = !matches!(settlement.next, NextStep::Retry { .. });
        if let Some(key) = rows::get::<Option<&[u8]>>(&row, 2)?.filter(|_| ended) {
            let line = (settlement.tenant, rows::id(&row, 1)?, key.to_vec());
            written.ended.insert(line);
        }
        if rows::get::<bool>(&row, 3)? && settlement.next == NextStep::Delivered {
            let ids = (uuid(settlement.tenant), uuid(settlement.delivery));
            written.raised.push(ids);
        }
    }
    Ok(written)
}

impl SettleWrites {
    /// Removes the dead letters of deliveries that succeeded after all.
    pub(crate) async fn raise(&self, session: &Session) -> Result<(), TxError> {
        if self.raised.is_empty() {
            return Ok(());
        }
        let (tenants, ids): (Vec<Uuid>, Vec<Uuid>) = self.raised.iter().copied().unzip();
        execute(
            session,
            "delete from dead_letters l using unnest($1::uuid[], $2::uuid[]) as k(tenant_id, id)
             where l.tenant_id = k.tenant_id and l.delivery_id = k.id",
            &[&tenants, &ids],
        )
        .await?;
        Ok(())
    }
}

/// Returns the indexes of the settlements to write, in the order of the rows, so that two transactions wait
/// for each other but cannot deadlock. A node that settles a delivery twice no longer holds it the second
/// time, so only the first one counts.
fn first_of_each(endings: &[NodeSettlement<'_>]) -> Vec<usize> {
    let mut known = HashSet::with_capacity(endings.len());
    let mut places: Vec<usize> = (0..endings.len())
        .filter(|place| {
            let one = &endings[*place];
            known.insert((one.node, one.settlement.delivery, one.settlement.tenant))
        })
        .collect();
    places.sort_by_key(|place| {
        let settlement = endings[*place].settlement;
        (settlement.tenant, settlement.delivery)
    });
    places
}

/// The parameters of [`SETTLE`], in its order.
#[derive(Default)]
struct Columns<'a> {
    tenants: Vec<Uuid>,
    ids: Vec<Uuid>,
    nodes: Vec<i64>,
    states: Vec<i16>,
    due: Vec<Option<i64>>,
    at: Vec<i64>,
    expires: Vec<i64>,
    dead_codes: Vec<Option<&'a str>>,
    dead_reasons: Vec<Option<std::borrow::Cow<'a, str>>>,
    numbers: Vec<Option<i32>>,
    started: Vec<Option<i64>>,
    latencies: Vec<Option<i64>>,
    request_headers: Vec<Option<&'a [u8]>>,
    statuses: Vec<Option<i32>>,
    response_headers: Vec<Option<&'a [u8]>>,
    response_bodies: Vec<Option<&'a [u8]>>,
    codes: Vec<Option<&'a str>>,
    reasons: Vec<Option<std::borrow::Cow<'a, str>>>,
    next: Vec<Option<i64>>,
    provider_codes: Vec<Option<std::borrow::Cow<'a, str>>>,
}

impl<'a> Columns<'a> {
    fn of(
        endings: impl Iterator<Item = &'a NodeSettlement<'a>>,
        dead_letter_ttl: std::time::Duration,
    ) -> Self {
        let mut columns = Self::default();
        for ending in endings {
            columns.push(ending, dead_letter_ttl);
        }
        columns
    }

    fn push(&mut self, ending: &NodeSettlement<'a>, dead_letter_ttl: std::time::Duration) {
        let settlement = ending.settlement;
        let (state, due_at, dead) = match &settlement.next {
            NextStep::Delivered => (State::Delivered, None, None),
            NextStep::Retry { due_at, .. } => (State::Pending, Some(due_at.micros()), None),
            NextStep::Dead(failure) => (State::Dead, None, Some(failure)),
        };
        self.tenants.push(uuid(settlement.tenant));
        self.ids.push(uuid(settlement.delivery));
        self.nodes.push(ending.node.0);
        self.states.push(state.number());
        self.due.push(due_at);
        self.at.push(settlement.at.micros());
        self.expires.push((settlement.at + dead_letter_ttl).micros());
        self.dead_codes.push(dead.map(|failure| failure.code().as_str()));
        self.dead_reasons.push(dead.map(|failure| text(failure.reason())));
        self.provider_codes.push(dead.and_then(Failure::provider_code).map(text));
        let attempt = settlement.attempt.as_ref();
        let failure = attempt.and_then(|attempt| attempt.failure.as_ref());
        self.numbers.push(attempt.map(|one| one.number as i32));
        self.started.push(attempt.map(|one| one.started_at.micros()));
        self.latencies.push(attempt.map(|one| one.latency.as_micros() as i64));
        self.request_headers.push(attempt.map(|one| &*one.request_headers));
        self.statuses.push(attempt.and_then(|one| one.response_status.map(i32::from)));
        self.response_headers.push(attempt.map(|one| &*one.response_headers));
        self.response_bodies.push(attempt.map(|one| &*one.response_body));
        self.codes.push(failure.map(|failure| failure.code().as_str()));
        self.reasons.push(failure.map(Failure::reason).map(text));
        self.next.push(attempt.and_then(|one| one.next_at.map(Time::micros)));
    }

    async fn write(&self, session: &Session) -> Result<Vec<tokio_postgres::Row>, TxError> {
        let rows = query(
            session,
            &SETTLE,
            &[
                &self.tenants,
                &self.ids,
                &self.nodes,
                &self.states,
                &self.due,
                &self.at,
                &self.expires,
                &self.dead_codes,
                &self.dead_reasons,
                &self.numbers,
                &self.started,
                &self.latencies,
                &self.request_headers,
                &self.statuses,
                &self.response_headers,
                &self.response_bodies,
                &self.codes,
                &self.reasons,
                &self.next,
                &self.provider_codes,
            ],
        )
        .await?;
        Ok(rows)
    }
}
