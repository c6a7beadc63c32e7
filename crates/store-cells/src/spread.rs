//! Calls to several cells side by side.
//!
//! What only shows something (lists of the operator, counts) is made of the cells that answer. What must be complete,
//! because something is concluded from what is not there, fails if a cell does not.

use std::{future::Future, sync::Arc};

use futures_util::{StreamExt, future::join_all, stream::FuturesUnordered};
use gancho_domain::TenantId;
use gancho_store::{Page, Result, StoreError};
use gancho_store_postgres::PostgresStore;

use crate::{CellStore, cell::Cell};

impl CellStore {
    /// The answers of the cells that answer, each with its cell. Fails if none does.
    pub(crate) async fn each<T, F>(
        &self,
        call: impl Fn(Arc<PostgresStore>, Arc<Cell>) -> F,
    ) -> Result<Vec<(Arc<Cell>, T)>>
    where
        F: Future<Output = Result<T>>,
    {
        let (answers, failure) = self.ask(call).await;
        match failure {
            Some(error) if answers.is_empty() => Err(error),
            _ => Ok(answers),
        }
    }

    /// The answers of all cells. Fails if one does not answer.
    pub(crate) async fn all<T, F>(
        &self,
        call: impl Fn(Arc<PostgresStore>, Arc<Cell>) -> F,
    ) -> Result<Vec<(Arc<Cell>, T)>>
    where
        F: Future<Output = Result<T>>,
    {
        match self.ask(call).await {
            (answers, None) => Ok(answers),
            (_, Some(error)) => Err(error),
        }
    }

    /// The rows of all cells, but those of a tenant that is on its way to the cell, or has left it.
    pub(crate) fn living<T>(
        &self,
        found: Vec<(Arc<Cell>, Vec<T>)>,
        tenant: impl Fn(&T) -> Option<TenantId>,
    ) -> Vec<T> {
        let lives = |cell: &Cell, one: &T| {
            !tenant(one).is_some_and(|tenant| self.directory.is_elsewhere(tenant, cell.number))
        };
        let of_cell = |(cell, mut rows): (Arc<Cell>, Vec<T>)| {
            rows.retain(|one| lives(&cell, one));
            rows
        };
        found.into_iter().flat_map(of_cell).collect()
    }

    /// The same for pages.
    pub(crate) fn living_pages<T>(
        &self,
        pages: Vec<(Arc<Cell>, Page<T>)>,
        tenant: impl Fn(&T) -> TenantId,
    ) -> Vec<Page<T>> {
        let of_cell = |(cell, mut page): (Arc<Cell>, Page<T>)| {
            page.rows.retain(|one| !self.directory.is_elsewhere(tenant(one), cell.number));
            page
        };
        pages.into_iter().map(of_cell).collect()
    }

    pub(crate) async fn ask<T, F>(
        &self,
        call: impl Fn(Arc<PostgresStore>, Arc<Cell>) -> F,
    ) -> (Vec<(Arc<Cell>, T)>, Option<StoreError>)
    where
        F: Future<Output = Result<T>>,
    {
        let cells = self.cells();
        if let [home] = cells.as_slice() {
            // Nobody waits for anyone else.
            let answer = match home.store() {
                Ok(store) => home.noted(call(store, home.clone()).await),
                Err(error) => Err(error),
            };
            return match answer {
                Ok(answer) => (vec![(home.clone(), answer)], None),
                Err(error) => (Vec::new(), Some(error)),
            };
        }
        let reads = cells.iter().map(|cell| {
            let call = &call;
            async move {
                let answer = patiently(cell, |store| call(store, cell.clone())).await;
                (cell.clone(), answer)
            }
        });
        let (mut answers, mut failure) = (Vec::new(), None);
        for (cell, answer) in join_all(reads).await {
            match answer {
                Ok(answer) => answers.push((cell, answer)),
                Err(error) => failure = Some(more_severe(failure, error)),
            }
        }
        (answers, failure)
    }

    /// The first cell that has it. Where none has and one did not answer, that is not known.
    pub(crate) async fn first<T, F>(
        &self,
        call: impl Fn(Arc<PostgresStore>) -> F,
    ) -> Result<Option<(Arc<Cell>, T)>>
    where
        F: Future<Output = Result<Option<T>>>,
    {
        self.first_in(|store, _| call(store)).await
    }

    /// The same for a call that asks which cell it is.
    pub(crate) async fn first_in<T, F>(
        &self,
        call: impl Fn(Arc<PostgresStore>, Arc<Cell>) -> F,
    ) -> Result<Option<(Arc<Cell>, T)>>
    where
        F: Future<Output = Result<Option<T>>>,
    {
        let cells = self.cells();
        let mut reads: FuturesUnordered<_> = cells
            .iter()
            .map(|cell| {
                let call = &call;
                let call = move |store| call(store, cell.clone());
                async move { (cell.clone(), patiently(cell, call).await) }
            })
            .collect();
        let mut failure = None;
        while let Some((cell, answer)) = reads.next().await {
            match answer {
                Ok(Some(found)) => return Ok(Some((cell, found))),
                Ok(None) => {}
                Err(error) => failure = Some(more_severe(failure, error)),
            }
        }
        failure.map_or(Ok(None), Err)
    }
}

/// A call to one of several cells, which the others wait for.
async fn patiently<T, F>(cell: &Cell, call: impl Fn(Arc<PostgresStore>) -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    cell.long(call(cell.store()?)).await
}

/// An error that says what is wrong with the call comes before an outage.
fn more_severe(before: Option<StoreError>, error: StoreError) -> StoreError {
    match before {
        Some(before) if before.is_permanent() || !error.is_permanent() => before,
        _ => error,
    }
}
