//! Group commit. While one transaction runs, callers queue; the next takes all of them.
//!
//! A few committers take turns on one queue. Without load, a call is a transaction of its own and starts at
//! once. Under load, hundreds share one flush of the server's log.
//!
//! **Never a wrong answer.** Each transaction first writes its number to the committer's own row of
//! `writers`, and everything but the commit is answered before the commit is sent. So if a connection is lost
//! before that, nothing was written. If it is lost at the commit, the committer finds out: it reads the row,
//! after the old transaction has ended.

use std::time::Duration;

use gancho_store::{Result, StoreError};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    batch::{self, CallResult, WriteCall},
    commit_rules::CommitRules,
    listen::BellsToRing,
    queue::{Call, Queue, mixed_up},
    rows,
    session::{Session, SessionPool, query, query_one},
    time_buckets,
    tx_error::{TxError, store_error},
};

/// Maximum retries of a transaction that conflicts with another.
const MAX_TRIES: u32 = 5;
/// How long calls are refused without a try after the server could not be reached.
const REST: Duration = Duration::from_millis(200);

pub(crate) fn start(
    pool: &SessionPool,
    count: usize,
    rules: &CommitRules,
    stop: &CancellationToken,
) -> Queue {
    let queue = Queue::default();
    for _ in 0..count {
        let committer = Committer {
            queue: queue.clone(),
            pool: pool.clone(),
            rules: rules.clone(),
            writer: None,
            buckets: time_buckets::RecentBuckets::default(),
            rest: None,
        };
        tokio::spawn(stop.clone().run_until_cancelled_owned(committer.run()));
    }
    queue
}

struct Committer {
    queue: Queue,
    pool: SessionPool,
    rules: CommitRules,
    /// Its row in `writers`, and the number of its last transaction.
    writer: Option<(Uuid, i64)>,
    buckets: time_buckets::RecentBuckets,
    /// Until when the server is not contacted, and why.
    rest: Option<(Instant, StoreError)>,
}

impl Committer {
    async fn run(mut self) {
        let mut busy = false;
        loop {
            let mut batch = self.queue.next().await;
            if busy {
                self.queue.gather(&mut batch).await;
            }
            self.commit(std::mem::take(&mut batch.calls)).await;
            drop(batch);
            busy = !self.queue.is_empty();
        }
    }

    /// Runs all calls in one transaction. If one of them is refused, runs each in its own, so that one
    /// caller's error affects no other.
    async fn commit(&mut self, calls: Vec<Call>) {
        let works: Vec<&WriteCall> = calls.iter().map(|call| &call.work).collect();
        let answers: Vec<Result<CallResult>> = match self.transact(&works).await {
            Ok(answers) => answers.into_iter().map(Ok).collect(),
            Err(TxError::Content(_)) if works.len() > 1 => {
                let mut answers = Vec::new();
                for work in works {
                    let answer = self.transact(&[work]).await;
                    answers.push(match answer.map(|mut answers| answers.pop()) {
                        Ok(Some(answer)) => Ok(answer),
                        Ok(None) => Err(mixed_up()),
                        Err(error) => Err(error.into_error()),
                    });
                }
                answers
            }
            Err(error) => {
                let error = error.into_error();
                works.iter().map(|_| Err(error.clone())).collect()
            }
        };
        for (call, answer) in calls.into_iter().zip(answers) {
            let answer = answer.map(|answer| {
                let guard = self.rules.orphaned_leases.guard(call.work.held(&answer));
                (answer, guard)
            });
            // If the caller has gone away, dropping the answer makes its leases orphaned ones.
            let _ = call.reply.send(answer);
        }
    }

    async fn transact(&mut self, works: &[&WriteCall]) -> Result<Vec<CallResult>, TxError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.transact_once(works).await {
                Err(TxError::Retry(error)) if tries < MAX_TRIES => {
                    tracing::debug!(%error, tries, "retrying a transaction");
                }
                Ok((answers, ring)) => {
                    self.rules.bells.ring(ring);
                    return Ok(answers);
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn transact_once(
        &mut self,
        works: &[&WriteCall],
    ) -> Result<(Vec<CallResult>, BellsToRing), TxError> {
        let session = self.session().await?;
        let (writer, number) = self.begin(&session).await?;
        let buckets = self.buckets.unknown(works.iter().flat_map(|work| work.buckets()));
        match batch::run(&session, works, &buckets, &self.rules).await {
            Ok(done) => {
                self.finish(session, writer, number).await?;
                self.buckets.learn(buckets);
                Ok(done)
            }
            Err(error) => {
                let undone = session.rollback().await;
                if undone.is_err() || matches!(error, TxError::Server(_)) {
                    session.close();
                }
                Err(error)
            }
        }
    }

    async fn session(&mut self) -> Result<Session, TxError> {
        if let Some((until, error)) = &self.rest
            && Instant::now() < *until
        {
            return Err(TxError::Server(error.clone()));
        }
        let session = self.pool.get().await;
        self.rest = session.as_ref().err().map(|error| (Instant::now() + REST, error.clone()));
        session.map_err(TxError::Server)
    }

    /// Opens the transaction and writes its number. Waits for the answer before anything else is sent, so
    /// that no statement can run outside of the transaction.
    async fn begin(&mut self, session: &Session) -> Result<(Uuid, i64), TxError> {
        let (writer, last) = if let Some(writer) = self.writer {
            writer
        } else {
            let row = query_one(session, "select gen_random_uuid()", &[]).await?;
            (rows::get::<Uuid>(&row, 0)?, 0)
        };
        let number = last + 1;
        self.writer = Some((writer, number));
        let begun = session
            .begin(&format!(
                "set local application_name = '{}';
                 insert into writers (id, last) values ('{writer}', {number})
                 on conflict (id) do update set last = excluded.last, seen_at = now()",
                session_name(writer)
            ))
            .await;
        if let Err(error) = begun {
            let _ = session.rollback().await;
            return Err(error.into());
        }
        Ok((writer, number))
    }

    /// Commits. If the answer is lost, finds out whether the commit happened.
    async fn finish(&self, session: Session, writer: Uuid, number: i64) -> Result<(), TxError> {
        let Err(error) = session.commit().await else {
            return Ok(());
        };
        session.close();
        if error.code().is_some() && !error.is_closed() && !ends_session(&error) {
            // The server has refused it explicitly.
            return Err(error.into());
        }
        tracing::warn!(%error, "commit response lost; checking whether it was committed");
        loop {
            match self.was_committed(writer, number).await {
                Ok(true) => return Ok(()),
                Ok(false) => return Err(TxError::Server(store_error(error))),
                Err(error) => {
                    tracing::debug!(%error, "could not check a commit yet");
                    // Callers that arrived since then need not wait: nothing of theirs was sent.
                    self.queue.refuse(&error);
                    sleep(REST).await;
                }
            }
        }
    }

    /// Whether the transaction with this number was committed. It may still be running on a connection that
    /// only this side has lost, so it is ended first, and the statement waits for its end.
    async fn was_committed(&self, writer: Uuid, number: i64) -> Result<bool> {
        let session = self.pool.get().await?;
        let name = session_name(writer);
        // Reading the row is not enough: an insert waits for another one of the same key to end, but a read
        // does not see a transaction that has not ended.
        let end = "select pg_terminate_backend(pid) from pg_stat_activity
            where application_name = $1 and usename = current_user";
        let insert = "insert into writers (id, last) values ($1, 0)
            on conflict (id) do update set seen_at = now() returning last";
        query(&session, end, &[&name]).await.map_err(store_error)?;
        let row = query_one(&session, insert, &[&writer]).await.map_err(store_error)?;
        Ok(rows::get::<i64>(&row, 0)? == number)
    }
}

fn session_name(writer: Uuid) -> String {
    format!("gancho writer {}", writer.simple())
}

/// Whether the error is of class 57: the session is being ended, possibly during the commit.
fn ends_session(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|code| code.code().starts_with("57P"))
}
