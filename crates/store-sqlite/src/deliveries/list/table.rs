//! The deliveries of all tenants, read from the table, which is in order of time.

use std::collections::VecDeque;

use gancho_store::{DeliveryFilter, DeliveryRow, Page, PageRequest};
use rusqlite::Connection;

use super::{DeliveryScan, ListQuery};
use crate::{
    scan::{Direction, RowScan, ScanBudget, ScanExtent},
    tx_error::TxError,
};

pub(crate) fn page_of_all(
    db: &Connection,
    filter: &DeliveryFilter,
    request: &PageRequest,
    budget: &mut ScanBudget,
) -> Result<Page<DeliveryRow>, TxError> {
    let list = ListQuery { db, scope: None, filter, direction: Direction(request.order) };
    list.page(vec![DeliveryScan::Table(TableScan { list })], request, budget)
}

pub(super) struct TableScan<'a> {
    list: ListQuery<'a>,
}

impl RowScan for TableScan<'_> {
    fn follow(
        &self,
        below: i64,
        step: usize,
        budget: &mut ScanBudget,
        found: &mut VecDeque<i64>,
    ) -> Result<ScanExtent, TxError> {
        let ListQuery { direction, .. } = self.list;
        let rows = direction.rows_below(below, self.list.lowest(), self.list.end());
        let last = self.list.scan_between(rows, step, budget, found)?;
        Ok(last.map_or(ScanExtent::End, ScanExtent::DownTo))
    }
}
