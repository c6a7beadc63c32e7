//! Lists failed e-mails: those that were given up and those that were reported as failed after they were
//! sent.

use std::collections::VecDeque;

use gancho_domain::TenantScope;
use gancho_store::{DeliveryFilter, DeliveryRow, Page, PageRequest, TargetId};
use rusqlite::Connection;

use super::{DeliveryTrail, FailureTrail, ListQuery};
use crate::{
    scan::{Direction, Reach, ScanBudget, Trail},
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
    let failed = DeliveryTrail::Failed(FailureTrail { list, of: Ok(target) });
    let reported = DeliveryTrail::Reported(ReportTrail { list });
    list.page(vec![failed, reported], request, budget)
}

/// The index of reports on e-mails.
pub(super) struct ReportTrail<'a> {
    list: ListQuery<'a>,
}

impl Trail for ReportTrail<'_> {
    fn follow(
        &self,
        below: i64,
        step: usize,
        budget: &mut ScanBudget,
        found: &mut VecDeque<i64>,
    ) -> Result<Reach, TxError> {
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
            self.list.look(&from, &[&first, &end, &(step as i64)], budget, found)?;
        Ok(last.filter(|_| count >= step).map_or(Reach::End, Reach::DownTo))
    }
}
