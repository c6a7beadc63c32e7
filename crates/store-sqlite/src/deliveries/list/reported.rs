//! Lists failed e-mails: those that were given up and those that were reported as failed after they were
//! sent.

use std::collections::VecDeque;

use gancho_domain::TenantScope;
use gancho_store::{DeliveryFilter, DeliveryRow, Page, PageRequest, TargetId};
use rusqlite::Connection;

use super::{DeliveryScan, FailureScan, ListQuery};
use crate::{
    scan::{Direction, RowScan, ScanBudget, ScanExtent},
    tx_error::TxError,
};

/// Lists failed e-mails. `filter` must not have a state.
pub(crate) fn failed_emails(
    db: &Connection,
    scope: TenantScope,
    filter: &DeliveryFilter,
    target: TargetId,
    request: &PageRequest,
    budget: &mut ScanBudget,
) -> Result<Page<DeliveryRow>, TxError> {
    let list = ListQuery { db, scope: Some(scope), filter, direction: Direction(request.order) };
    let failed = DeliveryScan::Failed(FailureScan { list, of: Ok(target) });
    let reported = DeliveryScan::Reported(ReportScan { list });
    list.page(vec![failed, reported], request, budget)
}

/// The index of reports on e-mails.
pub(super) struct ReportScan<'a> {
    list: ListQuery<'a>,
}

impl RowScan for ReportScan<'_> {
    fn follow(
        &self,
        below: i64,
        step: usize,
        budget: &mut ScanBudget,
        found: &mut VecDeque<i64>,
    ) -> Result<ScanExtent, TxError> {
        let direction = self.list.direction;
        let from = format!(
            "email_reports r INDEXED BY email_reports_by_delivery
             CROSS JOIN deliveries d ON d.seq = r.delivery
             WHERE r.tenant_id = ?1 AND r.delivery IS NOT NULL AND r.delivery >= ?14 AND r.delivery < ?15
             ORDER BY r.delivery {} LIMIT ?16",
            direction.word()
        );
        let (first, end) = direction.rows_below(below, self.list.lowest(), self.list.end());
        let (count, last) =
            self.list.scan_rows(&from, &[&first, &end, &(step as i64)], budget, found)?;
        Ok(last.filter(|_| count >= step).map_or(ScanExtent::End, ScanExtent::DownTo))
    }
}
