//! Reports on e-mails after they were sent.

use async_trait::async_trait;
use gancho_domain::{EmailId, Id, Lane, ParcelId, TenantScope, Time};
use gancho_store::{
    AcceptOutcome, DeliveryFilter, DeliveryRow, EmailReport, EmailReports, FailedEmails,
    NewEmailReport, NodeId, Page, PageRequest, Result,
};
use rusqlite::{OptionalExtension, Row, params};

use crate::{
    SqliteStore,
    accept::accept_all,
    deliveries::failed_emails,
    rows::{self, seq},
    scan::ScanBudget,
    suppressions,
    transaction::Tx,
    tx_error::{TxError, corrupt},
};

/// A report writes itself, an event with its delivery, and addresses.
const ROWS: usize = 4;

#[async_trait]
impl EmailReports for SqliteStore {
    async fn report_email(&self, scope: TenantScope, new: NewEmailReport) -> Result<AcceptOutcome> {
        self.write_more_for(Some(scope.tenant()), ROWS, move |tx| report(tx, scope, &new)).await
    }

    async fn email_reports(
        &self,
        scope: TenantScope,
        emails: Vec<EmailId>,
    ) -> Result<Vec<EmailReport>> {
        self.read_list(Some(scope.tenant()), move |db| {
            let mut find = db.prepare_cached(
                "SELECT email_id, delivery_id, code, reason, error, is_provisional, at
                 FROM email_reports WHERE tenant_id = ?1 AND email_id = ?2",
            )?;
            let mut reports = Vec::new();
            for email in emails {
                let mut found = find.query(params![scope.tenant().bytes(), email.bytes()])?;
                if let Some(row) = found.next()? {
                    reports.push(read(row)?);
                }
            }
            Ok(reports)
        })
        .await
    }

    async fn failed_emails(
        &self,
        scope: TenantScope,
        which: FailedEmails,
        page: PageRequest,
    ) -> Result<Page<DeliveryRow>> {
        let max_scanned = self.max_scanned;
        self.read_list(Some(scope.tenant()), move |db| {
            let FailedEmails { target, since, until } = which;
            let filter = DeliveryFilter {
                lane: Some(Lane::Email),
                endpoint: Some(target),
                since,
                until,
                ..DeliveryFilter::default()
            };
            failed_emails(db, scope, &filter, target, &page, &mut ScanBudget::new(max_scanned))
        })
        .await
    }
}

fn report(tx: &Tx<'_>, scope: TenantScope, new: &NewEmailReport) -> Result<AcceptOutcome, TxError> {
    suppressions::add(tx, scope, &new.suppress)?;
    // None of its deliveries is leased, so no holder is named.
    let accepted = accept_all(tx, std::slice::from_ref(&new.notice), NodeId(0))?.pop();
    let accepted = accepted.ok_or_else(|| corrupt("a notice was not answered"))?;
    let told_at = match accepted {
        AcceptOutcome::Again { first } => made_at(tx, first)?.unwrap_or(new.report.at),
        AcceptOutcome::New { .. } | AcceptOutcome::Clash { .. } => new.report.at,
    };
    let EmailReport { email, delivery, code, reason, error, is_provisional, .. } = &new.report;
    tx.db
        .prepare_cached(
            "INSERT INTO email_reports (tenant_id, email_id, delivery, delivery_id, code, reason, error,
               is_provisional, at, until)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
             ON CONFLICT DO UPDATE SET code = excluded.code, reason = excluded.reason,
               error = excluded.error, is_provisional = excluded.is_provisional, at = excluded.at,
               until = excluded.until
             WHERE email_reports.is_provisional",
        )?
        .execute(params![
            scope.tenant().bytes(),
            email.bytes(),
            delivery.map(seq),
            delivery.map(Id::bytes),
            code,
            reason,
            error,
            is_provisional,
            told_at.micros(),
            (told_at + new.retention).micros(),
        ])?;
    Ok(accepted)
}

fn made_at(tx: &Tx<'_>, parcel: ParcelId) -> Result<Option<Time>, TxError> {
    let made_at: Option<i64> = tx
        .db
        .prepare_cached("SELECT created_at FROM parcels WHERE seq = ?1 AND id = ?2")?
        .query_row(params![seq(parcel), parcel.bytes()], |row| row.get(0))
        .optional()?;
    Ok(made_at.map(Time::from_micros))
}

fn read(row: &Row<'_>) -> Result<EmailReport, TxError> {
    let has_delivery = row.get_ref(1)?.as_blob().is_ok();
    Ok(EmailReport {
        email: rows::id(row, 0)?,
        delivery: if has_delivery { Some(rows::id(row, 1)?) } else { None },
        code: row.get(2)?,
        reason: row.get(3)?,
        error: row.get(4)?,
        is_provisional: row.get(5)?,
        at: rows::time(row, 6)?,
    })
}
