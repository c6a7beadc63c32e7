//! Erases the content of one parcel, and finds the parcels of a subject.

use gancho_domain::{ParcelId, TenantScope, Time};
use gancho_store::{ContentErasure, Result, SubjectScan};
use uuid::Uuid;

use crate::{
    PostgresStore, order,
    rows::{self, uuid},
    session::{Session, Transaction, execute, query},
    states::{LEASED, PENDING, Sql, WAITING},
    tx_error::{TxError, store_error},
};

/// Locks the deliveries, and counts those that have not ended.
static UNENDED: Sql = Sql::new(|| {
    format!(
        "with held as materialized (
    select state from deliveries where tenant_id = $1 and id = any ($2) order by id for update)
select count(*) from held where state in ({PENDING}, {LEASED}, {WAITING})"
    )
});

const BLANK_ATTEMPTS: &str = "
update attempts set request_headers = '', response_headers = '', response_body = '',
    reason = case when reason is null then null else 'erased' end
where tenant_id = $1 and delivery_id = any ($2)";

const BLANK_PARCEL: &str = "
update parcels set body = $3, subject = null, external_id = null, request = null, erased_at = $4
where tenant_id = $1 and id = $2";

/// Removes the parcel from its subject. A subject is removed with its last parcel.
const LEAVE_SUBJECT: [&str; 2] = [
    "update subjects set gone = gone + 1 where tenant_id = $1 and subject = $2",
    "delete from subjects where tenant_id = $1 and subject = $2 and gone >= last",
];

struct ErasureLookup {
    subject: Option<Box<str>>,
    deliveries: Vec<Uuid>,
    is_erased: bool,
}

async fn find(
    session: &Session,
    scope: TenantScope,
    id: ParcelId,
    lock: &str,
) -> Result<Option<ErasureLookup>, TxError> {
    let sql = format!(
        "select subject, deliveries, erased_at is not null from parcels
         where tenant_id = $1 and id = $2 {lock}"
    );
    let found = query(session, &sql, &[&uuid(scope.tenant()), &uuid(id)]).await?;
    let Some(row) = found.first() else { return Ok(None) };
    Ok(Some(ErasureLookup {
        subject: rows::maybe_text(row, 0)?,
        deliveries: rows::get(row, 1)?,
        is_erased: rows::get(row, 2)?,
    }))
}

impl PostgresStore {
    pub(super) async fn overwrite(
        &self,
        scope: TenantScope,
        id: ParcelId,
        replacement: &[u8],
        now: Time,
    ) -> Result<ContentErasure, TxError> {
        let transaction = Transaction::begin(self.session_of(Some(scope.tenant())).await?).await?;
        let session = transaction.session()?;
        let Some(before) = find(session, scope, id, "").await? else {
            return Ok(ContentErasure::Unknown);
        };
        // The subject's row before the parcel's, and both before deliveries: the lock order of all
        // transactions.
        if let Some(subject) = &before.subject {
            order::lock(session, &[], &[(scope.tenant(), subject)]).await?;
        }
        let Some(found) = find(session, scope, id, "for update").await? else {
            return Ok(ContentErasure::Unknown);
        };
        if found.is_erased {
            return Ok(ContentErasure::AlreadyErased);
        }
        let (tenant, deliveries) = (uuid(scope.tenant()), &found.deliveries);
        let unended = query(session, &UNENDED, &[&tenant, deliveries]).await?;
        if unended.first().map(|row| rows::get::<i64>(row, 0)).transpose()? != Some(0) {
            return Ok(ContentErasure::InFlight);
        }
        let sql = "delete from dead_letters where tenant_id = $1 and delivery_id = any ($2)";
        execute(session, sql, &[&tenant, deliveries]).await?;
        execute(session, BLANK_ATTEMPTS, &[&tenant, deliveries]).await?;
        let sql = "update deliveries set order_key = null, order_number = null
            where tenant_id = $1 and id = any ($2) and order_key is not null";
        execute(session, sql, &[&tenant, deliveries]).await?;
        execute(session, BLANK_PARCEL, &[&tenant, &uuid(id), &replacement, &now.micros()]).await?;
        let sql = "delete from email_reports where tenant_id = $1 and email_id = $2";
        execute(session, sql, &[&tenant, &uuid(id)]).await?;
        if let Some(subject) = &found.subject {
            for sql in LEAVE_SUBJECT {
                execute(session, sql, &[&tenant, &subject.as_bytes()]).await?;
            }
        }
        transaction.commit().await?;
        Ok(ContentErasure::Erased)
    }

    pub(super) async fn scan_subject(
        &self,
        scope: TenantScope,
        subject: &str,
        after: Option<ParcelId>,
        max: usize,
    ) -> Result<SubjectScan> {
        let session = self.session_of(Some(scope.tenant())).await?;
        let sql = "select id, coalesce(subject = $2, false) from parcels
            where tenant_id = $1 and id > $3 order by id limit $4";
        let after = after.map_or(Uuid::nil(), uuid);
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
            [&uuid(scope.tenant()), &subject.as_bytes(), &after, &(max as i64)];
        let found = query(&session, sql, &values).await.map_err(store_error)?;
        let mut scan = SubjectScan::default();
        for row in &found {
            let id = rows::id(row, 0)?;
            if rows::get(row, 1)? {
                scan.parcels.push(id);
            }
            scan.next = Some(id).filter(|_| found.len() == max);
        }
        Ok(scan)
    }
}
