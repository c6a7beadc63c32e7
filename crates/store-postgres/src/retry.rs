//! Makes deliveries due again, for retries and replays; ordered ones become due in turn.

use std::collections::{BTreeMap, BTreeSet};

use gancho_domain::{DeliveryId, State, TenantId, Time};
use gancho_store::{Result, RetryOutcome};
use uuid::Uuid;

use crate::{
    PostgresStore,
    order::{self, SubjectQueue},
    rows::{self, uuid},
    session::{Session, Transaction, execute, query},
    states::{ENDED, Sql},
    tx_error::{TxError, error_of},
};

/// Maximum retries of a transaction that conflicts with another.
const MAX_TRIES: u32 = 5;

/// Locked in order, so that two transactions wait for each other but cannot deadlock.
const STANDING: &str = "
select d.tenant_id, d.id, d.state, d.target_id, d.order_key
from unnest($1::uuid[], $2::uuid[]) as k(tenant_id, id)
join deliveries d on d.tenant_id = k.tenant_id and d.id = k.id
order by d.tenant_id, d.id for update of d";

static MAKE_DUE: Sql = Sql::new(|| {
    format!(
        "
update deliveries d set state = k.state, owner = 0, due_at = $4, lost_leases = 0,
    attempts_before = case when d.state >= {ENDED} then d.attempts else d.attempts_before end
from unnest($1::uuid[], $2::uuid[], $3::int2[]) as k(tenant_id, id, state)
where d.tenant_id = k.tenant_id and d.id = k.id"
    )
});

/// A tenant and a delivery.
pub(crate) type Key = (TenantId, DeliveryId);

pub(crate) struct Retries<'a> {
    pub keys: &'a [Key],
    /// Whether to retry only deliveries that were given up.
    pub only_dead: bool,
    pub now: Time,
    /// The account of the caller: a tenant, or the operator.
    pub account: Option<TenantId>,
}

impl PostgresStore {
    /// Retries the deliveries that exist, and returns their outcomes. A repeated call does no harm, so if the
    /// answer to a commit is lost, the transaction is simply run again.
    pub(crate) async fn retry_in_order(
        &self,
        retries: Retries<'_>,
    ) -> Result<BTreeMap<Key, RetryOutcome>> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.retry_once(&retries).await {
                Err(TxError::Retry(error)) if tries < MAX_TRIES => {
                    tracing::debug!(%error, tries, "retrying to schedule deliveries");
                }
                Err(error) => return Err(error.into_error()),
                Ok(retried) => {
                    if retried.values().any(|one| *one == RetryOutcome::Due) {
                        self.bells.ring_all();
                    }
                    return Ok(retried);
                }
            }
        }
    }

    async fn retry_once(
        &self,
        retries: &Retries<'_>,
    ) -> Result<BTreeMap<Key, RetryOutcome>, TxError> {
        let transaction = Transaction::begin(self.session_of(retries.account).await?).await?;
        let retried = retries.run(transaction.session()?).await?;
        transaction.commit().await.map_err(|error| TxError::Retry(error_of(&error)))?;
        Ok(retried)
    }
}

impl Retries<'_> {
    async fn run(&self, session: &Session) -> Result<BTreeMap<Key, RetryOutcome>, TxError> {
        // The subjects' rows before the deliveries', as in all transactions.
        order::lock(session, self.keys, &[]).await?;
        let (tenants, ids) = columns(self.keys);
        let found = query(session, STANDING, &[&tenants, &ids]).await?;
        let (mut retried, mut lines) = (BTreeMap::new(), BTreeSet::<SubjectQueue>::new());
        let mut states: Vec<(Key, State)> = Vec::new();
        for row in &found {
            let key: Key = (rows::id(row, 0)?, rows::id(row, 1)?);
            let state = rows::state(row, 2)?;
            if self.only_dead && state != State::Dead {
                continue;
            }
            let in_flight = state == State::Leased;
            retried.insert(key, if in_flight { RetryOutcome::InFlight } else { RetryOutcome::Due });
            match (state, rows::get::<Option<&[u8]>>(row, 4)?) {
                (State::Leased | State::Waiting, _) => {}
                (State::Delivered | State::Dead, Some(subject)) => {
                    lines.insert((key.0, rows::id(row, 3)?, subject.to_vec()));
                    states.push((key, State::Waiting));
                }
                _ => states.push((key, State::Pending)),
            }
        }
        // In a line in which none is active, the first by its number becomes active; in others all wait.
        let blocked = order::blocked(session, lines.clone()).await?;
        let keys: Vec<Key> = states.iter().map(|(key, _)| *key).collect();
        let states: Vec<i16> = states.iter().map(|(_, state)| state.number()).collect();
        let (tenants, ids) = columns(&keys);
        execute(session, &MAKE_DUE, &[&tenants, &ids, &states, &self.now.micros()]).await?;
        lines.retain(|line| !blocked.contains(line));
        order::move_up(session, &lines).await?;
        Ok(retried)
    }
}

fn columns(keys: &[Key]) -> (Vec<Uuid>, Vec<Uuid>) {
    keys.iter().map(|(tenant, id)| (uuid(*tenant), uuid(*id))).unzip()
}
