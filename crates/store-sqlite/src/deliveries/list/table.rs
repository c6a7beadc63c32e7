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
        let direction = self.asked.direction;
        let from = format!(
            "deliveries d WHERE d.seq >= ?9 AND d.seq < ?10 ORDER BY d.seq {} LIMIT ?11",
            direction.word()
        );
        let (first, end) = direction.rows_below(below, self.asked.lowest(), self.asked.end());
        let (count, last) =
            self.asked.look(&from, &[&first, &end, &(step as i64)], looks, found)?;
        Ok(last.filter(|_| count == step).map_or(Reach::End, Reach::DownTo))
    }
}
