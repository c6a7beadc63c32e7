//! Deliveries of all tenants, as they lie in the table, which is in order of time.

use std::collections::VecDeque;

use gancho_store::{DeliveryFilter, DeliveryRow, Page, PageRequest};
use rusqlite::Connection;

use super::{DeliveryTrail, ListQuery};
use crate::{
    look::{Direction, Looks, Reach, Trail},
    tx_error::TxError,
};

pub(crate) fn page_of_all(
    db: &Connection,
    filter: &DeliveryFilter,
    request: &PageRequest,
    looks: &mut Looks,
) -> Result<Page<DeliveryRow>, TxError> {
    let asked = ListQuery { db, scope: None, filter, direction: Direction(request.order) };
    asked.page(vec![DeliveryTrail::Table(TableTrail { asked })], request, looks)
}

pub(super) struct TableTrail<'a> {
    asked: ListQuery<'a>,
}

impl Trail for TableTrail<'_> {
    fn follow(
        &self,
        below: i64,
        step: usize,
        looks: &mut Looks,
        found: &mut VecDeque<i64>,
    ) -> Result<Reach, TxError> {
        let ListQuery { direction, .. } = self.asked;
        let rows = direction.rows_below(below, self.asked.lowest(), self.asked.end());
        let last = self.asked.look_between(rows, step, looks, found)?;
        Ok(last.map_or(Reach::End, Reach::DownTo))
    }
}
