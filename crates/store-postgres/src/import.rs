//! Imports dead letters.

use std::collections::BTreeSet;

use gancho_domain::{Failure, State, Time};
use gancho_store::{DeadLetter, FullDeadLetter, ImportOutcome, NewDelivery, Result};
use uuid::Uuid;

use crate::{
    PostgresStore,
    rows::{self, text, uuid},
    session::{Session, Transaction, execute, query},
    states::{DEAD, Sql},
    time_buckets,
    tx_error::{TxError, error_of},
};

/// Maximum retries of a transaction that conflicts with another.
const MAX_TRIES: u32 = 5;

const DELIVERY: &str = "
select d.state, exists (select from dead_letters l
    where l.tenant_id = d.tenant_id and l.delivery_id = d.id), p.erased_at is not null
from deliveries d join parcels p on p.tenant_id = d.tenant_id and p.id = d.parcel_id
where d.tenant_id = $1 and d.id = $2 for update of d";

const NUMBER: &str = "
insert into subjects (tenant_id, subject, last) values ($1, $2, 1)
on conflict (tenant_id, subject) do update set last = subjects.last + 1 returning last";

const PARCEL: &str = "
insert into parcels (tenant_id, id, created_at, number, kind, is_test, event_type, subject,
    external_id, deliveries, body)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, array[$10::uuid], $11)";

const APPEND: &str = "
update parcels set deliveries = deliveries || $3::uuid
where tenant_id = $1 and id = $2 and not ($3 = any (deliveries))";

static PLACE: Sql = Sql::new(|| {
    format!(
        "
insert into deliveries (tenant_id, id, target_id, parcel_id, due_at, created_at, owner, lane, state,
    attempts, was_dead)
values ($1, $2, $3, $4, $5, $5, 0, $6, {DEAD}, $7, true)"
    )
});

const ATTEMPTS: &str = "
insert into attempts (tenant_id, delivery_id, number, started_at, latency_us, request_headers,
    response_status, response_headers, response_body, code, reason, next_at)
select $1, $2, * from unnest($3::int4[], $4::int8[], $5::int8[], $6::bytea[], $7::int4[],
    $8::bytea[], $9::bytea[], $10::text[], $11::text[], $12::int8[])";

const BURY: &str = "
insert into dead_letters (tenant_id, delivery_id, lane, failed_attempts, code, reason, failed_at,
    moved_at, expires_at, provider_code)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";

impl PostgresStore {
    /// Imports dead letters. Skips what exists already, so a transaction whose outcome is unknown is simply
    /// run again.
    pub(crate) async fn import(
        &self,
        letters: &[FullDeadLetter],
        now: Time,
    ) -> Result<Vec<ImportOutcome>> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.import_once(letters, now).await {
                Err(TxError::Retry(error)) if tries < MAX_TRIES => {
                    tracing::debug!(%error, tries, "retrying to import dead letters");
                }
                done => return done.map_err(TxError::into_error),
            }
        }
    }

    async fn import_once(
        &self,
        letters: &[FullDeadLetter],
        now: Time,
    ) -> Result<Vec<ImportOutcome>, TxError> {
        let transaction = Transaction::begin(self.session().await?).await?;
        let session = transaction.session()?;
        let expires_at = now + self.dead_letter_ttl;
        let mut outcomes = Vec::with_capacity(letters.len());
        for one in letters {
            outcomes.push(import(session, one, (now, expires_at)).await?);
        }
        transaction.commit().await.map_err(|error| TxError::Retry(error_of(&error)))?;
        Ok(outcomes)
    }
}

async fn import(
    session: &Session,
    whole: &FullDeadLetter,
    (now, expires_at): (Time, Time),
) -> Result<ImportOutcome, TxError> {
    let letter = &whole.letter;
    let (tenant, id) = (uuid(letter.tenant), uuid(letter.delivery));
    let known = query(session, DELIVERY, &[&tenant, &id]).await?;
    if let Some(row) = known.first() {
        if rows::state(row, 0)? != State::Dead {
            return Ok(ImportOutcome::Revived);
        }
        if rows::get(row, 1)? {
            return Ok(ImportOutcome::Present);
        }
        if rows::get(row, 2)? {
            return Ok(ImportOutcome::Erased);
        }
        let sql = "update deliveries set was_dead = true where tenant_id = $1 and id = $2";
        execute(session, sql, &[&tenant, &id]).await?;
    } else if let Some(outcome) = restore(session, whole).await? {
        return Ok(outcome);
    }
    execute(
        session,
        BURY,
        &[
            &tenant,
            &id,
            &letter.lane.number(),
            &(letter.failed_attempts as i32),
            &letter.failure.code().as_str(),
            &text(letter.failure.reason()),
            &letter.failed_at.micros(),
            &letter.moved_at.micros(),
            &expires_at.micros(),
            &letter.failure.provider_code().map(text),
        ],
    )
    .await?;
    // It expires as if it became a dead letter now, also if the tenant has a retention of its own.
    let sql = "update dead_letters l set expires_at = $3::int8 + t.keep_dead_us from tenants t
        where l.tenant_id = $1 and l.delivery_id = $2 and t.tenant_id = $1
          and t.keep_dead_us is not null";
    execute(session, sql, &[&tenant, &id, &now.micros()]).await?;
    Ok(ImportOutcome::Imported)
}

/// Restores what was pruned of it, except the dead letter. Returns the outcome if that is impossible.
async fn restore(
    session: &Session,
    whole: &FullDeadLetter,
) -> Result<Option<ImportOutcome>, TxError> {
    let letter = &whole.letter;
    let (tenant, id) = (uuid(letter.tenant), uuid(letter.delivery));
    let parcel = uuid(letter.parcel);
    let sql =
        "select erased_at is not null from parcels where tenant_id = $1 and id = $2 for update";
    let known = query(session, sql, &[&tenant, &parcel]).await?;
    match known.first() {
        Some(row) if rows::get(row, 0)? => return Ok(Some(ImportOutcome::Erased)),
        Some(_) => {
            execute(session, APPEND, &[&tenant, &parcel, &id]).await?;
        }
        None => insert_parcel(session, letter).await?,
    }
    let attempts = whole.attempts_made() as i32;
    let (target, created) = (uuid(letter.target), letter.enqueued_at.micros());
    let lane = letter.lane.number();
    execute(session, &PLACE, &[&tenant, &id, &target, &parcel, &created, &lane, &attempts]).await?;
    let to = NewDelivery {
        id: letter.delivery,
        lane: letter.lane,
        target: letter.target,
        due_at: letter.enqueued_at,
        in_order: false,
        hold: false,
    };
    let bucket = BTreeSet::from([time_buckets::of(letter.tenant, &to)]);
    time_buckets::write(session, &bucket).await?;
    insert_attempts(session, whole, tenant, id).await?;
    Ok(None)
}

async fn insert_parcel(session: &Session, letter: &DeadLetter) -> Result<(), TxError> {
    let parcel = letter.to_parcel();
    let tenant = uuid(parcel.tenant);
    let subject = parcel.subject.as_deref().map(str::as_bytes);
    let number: Option<i64> = match subject {
        Some(subject) => {
            let last = query(session, NUMBER, &[&tenant, &subject]).await?;
            last.first().map(|row| rows::get(row, 0)).transpose()?
        }
        None => None,
    };
    execute(
        session,
        PARCEL,
        &[
            &tenant,
            &uuid(parcel.id),
            &parcel.created_at.micros(),
            &number,
            &parcel.kind.number(),
            &parcel.is_test,
            &text(&parcel.event_type),
            &subject,
            &parcel.external_id.as_deref().map(str::as_bytes),
            &uuid(letter.delivery),
            &&*parcel.body,
        ],
    )
    .await?;
    Ok(())
}

async fn insert_attempts(
    session: &Session,
    whole: &FullDeadLetter,
    tenant: Uuid,
    id: Uuid,
) -> Result<(), TxError> {
    let all = || whole.attempts.iter();
    let failures = || all().map(|one| one.failure.as_ref());
    let numbers: Vec<i32> = all().map(|one| one.number as i32).collect();
    let started: Vec<i64> = all().map(|one| one.started_at.micros()).collect();
    let latencies: Vec<i64> = all().map(|one| one.latency.as_micros() as i64).collect();
    let requests: Vec<&[u8]> = all().map(|one| &*one.request_headers).collect();
    let statuses: Vec<Option<i32>> = all().map(|one| one.response_status.map(i32::from)).collect();
    let responses: Vec<&[u8]> = all().map(|one| &*one.response_headers).collect();
    let bodies: Vec<&[u8]> = all().map(|one| &*one.response_body).collect();
    let codes: Vec<Option<&str>> =
        failures().map(|one| one.map(|one| one.code().as_str())).collect();
    let reasons: Vec<_> = failures().map(|one| one.map(Failure::reason).map(text)).collect();
    let next: Vec<Option<i64>> = all().map(|one| one.next_at.map(Time::micros)).collect();
    execute(
        session,
        ATTEMPTS,
        &[
            &tenant, &id, &numbers, &started, &latencies, &requests, &statuses, &responses,
            &bodies, &codes, &reasons, &next,
        ],
    )
    .await?;
    Ok(())
}
