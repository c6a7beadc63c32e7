//! Calls to several cells side by side.
//!
//! What only shows something (lists of the operator, counts) is made of the cells that answer. What must be complete,
//! because something is concluded from what is not there, fails if a cell does not.

use std::{future::Future, sync::Arc, time::Duration};

use futures_util::{StreamExt, future::join_all, stream::FuturesUnordered};
use gancho_domain::TenantId;
use gancho_store::{Page, Result, StoreError};
use gancho_store_postgres::PostgresStore;
use tokio::time::{Instant, timeout_at};

use crate::{CellStore, cell::Cell};

/// How long those who ask whether anything answers wait for all cells.
const GRACE: Duration = Duration::from_secs(1);

/// How long a call to one of several cells may take, which the others wait for.
#[derive(Clone, Copy)]
enum Patience {
    Call,
    Long,
}

impl CellStore {
    /// The answers of the cells that answer, each with its cell. Fails if none does.
    pub(crate) async fn each<T, F>(
        &self,
        call: impl Fn(Arc<PostgresStore>, Arc<Cell>) -> F,
    ) -> Result<Vec<(Arc<Cell>, T)>>
    where
        F: Future<Output = Result<T>>,
    {
        answered(self.ask(call).await)
    }

    /// The same for a loop that serves all cells, and must not stop because one of them does not answer.
    pub(crate) async fn each_in_time<T, F>(
        &self,
        call: impl Fn(Arc<PostgresStore>, Arc<Cell>) -> F,
    ) -> Result<Vec<(Arc<Cell>, T)>>
    where
        F: Future<Output = Result<T>>,
    {
        answered(self.ask_within(Patience::Call, call).await)
    }

    /// The answers that come within a moment, or else the first one. Fails if no cell answers.
    pub(crate) async fn soonest<T, F>(
        &self,
        call: impl Fn(Arc<PostgresStore>) -> F,
    ) -> Result<Vec<T>>
    where
        F: Future<Output = Result<T>>,
    {
        if self.is_alone() {
            let answers = self.each(|store, _| call(store)).await?;
            return Ok(answers.into_iter().map(|(_, answer)| answer).collect());
        }
        let cells = self.cells();
        let mut reads: FuturesUnordered<_> =
            cells.iter().map(|cell| asked(cell, Patience::Call, &call)).collect();
        let (mut answers, mut failure) = (Vec::new(), None);
        let end = Instant::now() + GRACE;
        loop {
            let next = if answers.is_empty() {
                reads.next().await
            } else {
                timeout_at(end, reads.next()).await.ok().flatten()
            };
            match next {
                Some(Ok(answer)) => answers.push(answer),
                Some(Err(error)) => failure = Some(more_severe(failure, error)),
                None => return answered((answers, failure)),
            }
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
        self.ask_within(Patience::Long, call).await
    }

    async fn ask_within<T, F>(
        &self,
        patience: Patience,
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
                let answer = asked(cell, patience, |store| call(store, cell.clone())).await;
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
                async move { (cell.clone(), asked(cell, Patience::Call, call).await) }
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

async fn asked<T, F>(
    cell: &Cell,
    patience: Patience,
    call: impl Fn(Arc<PostgresStore>) -> F,
) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let call = call(cell.store()?);
    match patience {
        Patience::Call => cell.call(call).await,
        Patience::Long => cell.long(call).await,
    }
}

/// Fails if there is no answer.
fn answered<T>((answers, failure): (Vec<T>, Option<StoreError>)) -> Result<Vec<T>> {
    match failure {
        Some(error) if answers.is_empty() => Err(error),
        _ => Ok(answers),
    }
}

/// An error that says what is wrong with the call comes before an outage.
fn more_severe(before: Option<StoreError>, error: StoreError) -> StoreError {
    match before {
        Some(before) if before.is_permanent() || !error.is_permanent() => before,
        _ => error,
    }
}
