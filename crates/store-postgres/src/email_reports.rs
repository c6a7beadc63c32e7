//! Reports on e-mails after they were sent.

use std::collections::BTreeMap;

use async_trait::async_trait;
use gancho_domain::{EmailId, Lane, TenantScope, Time};
use gancho_store::{
    AcceptOutcome, DeliveryRow, EmailReport, EmailReports, FailedEmails, NewEmailReport, Page,
    PageRequest, Result,
};
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

use crate::{
    PostgresStore,
    delivery_list::{self, read_place, write_place},
    rows::{self, text, uuid},
    scan::{Ids, RowScan, ScanBudget, Step, page},
    session::{Session, execute, query},
    states::DEAD,
    suppressions,
    tx_error::{TxError, store_error},
};

const FIND: &str = "
select email_id, delivery_id, code, reason, error, is_provisional, at
from email_reports where tenant_id = $1 and email_id = any ($2)";

/// Writes reports. A repeated report gets the time of the first notice. An existing report stays unless it is
/// provisional.
const WRITE: &str = "
insert into email_reports as r (tenant_id, email_id, delivery_id, code, reason, error, is_provisional, at,
    until)
select k.tenant_id, k.email_id, k.delivery_id, k.code, k.reason, k.error, k.is_provisional,
    coalesce(p.created_at, k.at), coalesce(p.created_at, k.at) + k.retention
from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::bool[],
        $8::int8[], $9::int8[], $10::uuid[])
    as k(tenant_id, email_id, delivery_id, code, reason, error, is_provisional, at, retention, told)
left join parcels p on p.tenant_id = k.tenant_id and p.id = k.told
on conflict (tenant_id, email_id) do update
set code = excluded.code, reason = excluded.reason, error = excluded.error,
    is_provisional = excluded.is_provisional, at = excluded.at, until = excluded.until
where r.is_provisional";

#[async_trait]
impl EmailReports for PostgresStore {
    async fn report_email(&self, scope: TenantScope, new: NewEmailReport) -> Result<AcceptOutcome> {
        self.committers.report(scope, new).await
    }

    async fn email_reports(
        &self,
        scope: TenantScope,
        emails: Vec<EmailId>,
    ) -> Result<Vec<EmailReport>> {
        if emails.is_empty() {
            return Ok(Vec::new());
        }
        let session = self.lists.next(Some(scope.tenant())).await?;
        let emails: Vec<Uuid> = emails.into_iter().map(uuid).collect();
        let found = query(&session, FIND, &[&uuid(scope.tenant()), &emails]).await;
        found.map_err(store_error)?.iter().map(report).collect()
    }

    async fn failed_emails(
        &self,
        scope: TenantScope,
        which: FailedEmails,
        request: PageRequest,
    ) -> Result<Page<DeliveryRow>> {
        let session = self.lists.next(Some(scope.tenant())).await?;
        let ids = rows::ids_at(request.order, which.since, which.until);
        let after = request.after.as_ref().map_or(ids.start(), |place| ids.from(read_place(place)));
        let budget = ScanBudget::new(self.max_scanned, request.max);
        let failed = FailureScan { session: &session, scope, which, ids };
        let (ids, next) = page(&failed, request.max, budget, after).await?;
        let rows = delivery_list::read(&session, scope, &ids).await?;
        Ok(Page { rows, next: next.map(write_place) })
    }
}

/// One report for each e-mail, and the outcome of its notice.
type ReportBatch<'a> = BTreeMap<(Uuid, Uuid), (&'a NewEmailReport, &'a AcceptOutcome)>;

/// Writes reports in one transaction with the notices, whose outcomes are in `new`.
pub(crate) async fn write(
    session: &Session,
    new: &[(TenantScope, &NewEmailReport, &AcceptOutcome)],
) -> Result<(), TxError> {
    if new.is_empty() {
        return Ok(());
    }
    let mut suppress = Vec::new();
    for (scope, new, _) in new {
        suppress.extend(new.suppress.iter().map(|one| (scope.tenant(), one)));
    }
    suppressions::add(session, &suppress).await?;
    // One statement can write a row only once. Sorted, so that two writers of the same rows wait for each
    // other but cannot deadlock.
    let mut rounds: Vec<ReportBatch<'_>> = Vec::new();
    for (scope, new, accepted) in new {
        let key = (uuid(scope.tenant()), uuid(new.report.email));
        match rounds.iter_mut().find(|round| !round.contains_key(&key)) {
            Some(round) => {
                round.insert(key, (new, accepted));
            }
            None => rounds.push(BTreeMap::from([(key, (*new, *accepted))])),
        }
    }
    for round in &rounds {
        write_round(session, round).await?;
    }
    Ok(())
}

async fn write_round(session: &Session, round: &ReportBatch<'_>) -> Result<(), TxError> {
    let reports = || round.values().map(|(new, _)| &new.report);
    let tenants: Vec<Uuid> = round.keys().map(|key| key.0).collect();
    let emails: Vec<Uuid> = round.keys().map(|key| key.1).collect();
    let deliveries: Vec<Option<Uuid>> = reports().map(|one| one.delivery.map(uuid)).collect();
    let codes: Vec<&str> = reports().map(|one| one.code.as_str()).collect();
    let reasons: Vec<_> = reports().map(|one| text(&one.reason)).collect();
    let errors: Vec<_> = reports().map(|one| one.error.as_deref().map(text)).collect();
    let provisional: Vec<bool> = reports().map(|one| one.is_provisional).collect();
    let times: Vec<i64> = reports().map(|one| one.at.micros()).collect();
    let retentions: Vec<i64> = round.values().map(|(new, _)| rows::micros(new.retention)).collect();
    let notified: Vec<Option<Uuid>> = round
        .values()
        .map(|(_, accepted)| match accepted {
            AcceptOutcome::Again { first } => Some(uuid(*first)),
            AcceptOutcome::New { .. } | AcceptOutcome::Clash { .. } => None,
        })
        .collect();
    let values: [&(dyn ToSql + Sync); 10] = [
        &tenants,
        &emails,
        &deliveries,
        &codes,
        &reasons,
        &errors,
        &provisional,
        &times,
        &retentions,
        &notified,
    ];
    execute(session, WRITE, &values).await?;
    Ok(())
}

/// E-mails that were given up, and those that were reported as failed later.
struct FailureScan<'a> {
    session: &'a Session,
    scope: TenantScope,
    which: FailedEmails,
    ids: Ids,
}

impl RowScan for FailureScan<'_> {
    type Row = Uuid;
    type Place = Uuid;

    async fn step(&self, after: Uuid, budget: i64) -> Result<Step<Uuid, Uuid>> {
        let (word, ids) = (self.ids.word(), self.ids);
        let sql = format!(
            "select k.id, d.id is not null from (
                 (select d.id from deliveries d where d.tenant_id = $1 and d.state = {DEAD}
                    and d.target_id = $2 and {of_delivery} order by d.id {word} limit $5)
                 union
                 (select r.delivery_id from email_reports r where r.tenant_id = $1
                    and r.delivery_id is not null and {of_report}
                  order by r.delivery_id {word} limit $5)
                 order by id {word} limit $5) k
             left join lateral (
                 select d.id from deliveries d where d.tenant_id = $1 and d.id = k.id
                   and d.target_id = $2 and d.lane = $6 and d.created_at >= $7
                   and d.created_at < $8 offset 0) d on true
             order by k.id {word}",
            of_delivery = ids.within("d.id", "$3", "$4"),
            of_report = ids.within("r.delivery_id", "$3", "$4"),
        );
        let tenant = uuid(self.scope.tenant());
        let values: [&(dyn ToSql + Sync); 8] = [
            &tenant,
            &uuid(self.which.target),
            &after,
            &ids.edge(),
            &budget,
            &Lane::Email.number(),
            &self.which.since.map_or(i64::MIN, Time::micros),
            &self.which.until.map_or(i64::MAX, Time::micros),
        ];
        let looked = query(self.session, &sql, &values).await.map_err(store_error)?;
        let mut step = Step { found: Vec::new(), reached: None };
        for row in &looked {
            let id: Uuid = rows::get(row, 0)?;
            if rows::get(row, 1)? {
                step.found.push((id, id));
            }
            step.reached = Some(id).filter(|_| looked.len() as i64 == budget);
        }
        Ok(step)
    }
}

fn report(row: &Row) -> Result<EmailReport> {
    let delivery: Option<Uuid> = rows::get(row, 1)?;
    Ok(EmailReport {
        email: rows::id(row, 0)?,
        delivery: delivery.map(|id| gancho_domain::Id::from_bytes(id.into_bytes())),
        code: rows::get(row, 2)?,
        reason: rows::get(row, 3)?,
        error: rows::get(row, 4)?,
        is_provisional: rows::get(row, 5)?,
        at: rows::time(row, 6)?,
    })
}
