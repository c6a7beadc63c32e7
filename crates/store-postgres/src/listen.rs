//! The bell, on this node and on others. `NOTIFY` carries it between nodes, which costs a lock that all
//! notifying commits share. So it is sent outside of the transactions, and once for many.

use std::{
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering},
    },
    time::Duration,
};

use gancho_store::StoreError;
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};
use tokio_postgres::{AsyncMessage, Client, Error, Socket, tls::TlsStream};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{database_url::Server, tx_error::error_of};

const CHANNEL: &str = "gancho_due";
/// Rung by `gancho.publish` when its transaction commits.
pub(crate) const INTAKE_CHANNEL: &str = "gancho_intake";
/// Minimum interval between two notifications to other nodes.
const SPACING: Duration = Duration::from_millis(5);
const FIRST_REST: Duration = Duration::from_millis(100);
const MAX_REST: Duration = Duration::from_secs(2);
/// A connection on which nothing is answered for this long is closed and opened again: a server or a pooler may hang and keep it open.
const MAX_SILENCE: Duration = Duration::from_secs(10);

/// The bells to ring after the commit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BellsToRing {
    pub here: bool,
    pub others: bool,
}

#[derive(Default)]
pub(crate) struct Bells {
    here: Arc<Notify>,
    others: Notify,
    intake: Arc<Notify>,
}

impl Bells {
    pub(crate) fn here(&self) -> Arc<Notify> {
        self.here.clone()
    }

    pub(crate) fn intake(&self) -> Arc<Notify> {
        self.intake.clone()
    }

    pub(crate) fn ring(&self, ring: BellsToRing) {
        if ring.here {
            self.ring_here();
        }
        if ring.others {
            self.others.notify_one();
        }
    }

    /// Rings here and on all other nodes, because work became due.
    pub(crate) fn ring_all(&self) {
        self.ring(BellsToRing { here: true, others: true });
    }

    /// Wakes all waiters, or the next one if there is none.
    fn ring_here(&self) {
        self.here.notify_waiters();
        self.here.notify_one();
    }
}

/// Starts to listen. Without a server to listen on, the bell rings for what happens on this node, and nodes
/// poll for the rest.
pub(crate) fn start(server: Option<Server>, stop: CancellationToken) -> Arc<Bells> {
    let bells = Arc::new(Bells::default());
    if let Some(server) = server {
        let line = ListenConnection { server, bells: bells.clone() };
        tokio::spawn(stop.run_until_cancelled_owned(line.run()));
    }
    bells
}

struct ListenConnection {
    server: Server,
    bells: Arc<Bells>,
}

impl ListenConnection {
    /// Listens until the store is closed, and reconnects when the connection is lost.
    async fn run(self) {
        let mut rest = FIRST_REST;
        loop {
            match answered(self.listen()).await {
                Ok((client, _reader)) => {
                    rest = FIRST_REST;
                    // For rings that were missed without a connection.
                    self.bells.ring_here();
                    self.bells.intake.notify_one();
                    let error = self.tell_others(&client).await;
                    tracing::warn!(%error, "LISTEN connection lost");
                }
                Err(error) => {
                    tracing::debug!(%error, "could not open the LISTEN connection");
                    sleep(rest).await;
                    rest = (rest * 2).min(MAX_REST);
                }
            }
        }
    }

    async fn listen(&self) -> Result<(Client, DropGuard), Error> {
        let (client, mut connection) = self.server.config.connect(self.server.tls.clone()).await?;
        let own = Arc::new(AtomicI32::new(0));
        let (bells, skip) = (self.bells.clone(), own.clone());
        let reader = async move { read(&mut connection, &bells, &skip).await };
        let stop = CancellationToken::new();
        tokio::spawn(stop.clone().run_until_cancelled_owned(reader));
        let pid = client.query_one("select pg_backend_pid()", &[]).await?;
        own.store(pid.try_get(0)?, Ordering::Relaxed);
        client.batch_execute(&format!("listen {CHANNEL}; listen {INTAKE_CHANNEL}")).await?;
        Ok((client, stop.drop_guard()))
    }

    async fn tell_others(&self, client: &Client) -> StoreError {
        let tell = format!("notify {CHANNEL}");
        loop {
            tokio::select! {
                () = self.bells.others.notified() => {}
                // Nothing to send: check whether the connection is alive.
                () = sleep(MAX_REST) => {
                    if let Err(error) = answered(client.batch_execute("")).await {
                        return error;
                    }
                    continue;
                }
            }
            if let Err(error) = answered(client.batch_execute(&tell)).await {
                // The notification was not sent: the next connection sends it.
                self.bells.others.notify_one();
                return error;
            }
            sleep(SPACING).await;
        }
    }
}

/// Waits for an answer of the server, but not for ever.
async fn answered<T>(call: impl Future<Output = Result<T, Error>>) -> Result<T, StoreError> {
    match timeout(MAX_SILENCE, call).await {
        Ok(answer) => answer.map_err(|error| error_of(&error)),
        Err(_) => Err(StoreError::TimedOut(format!("no answer for {MAX_SILENCE:?}"))),
    }
}

/// Drives the connection and rings the bell for notifications of other nodes. This node's own notifications
/// come back too, and are ignored: the bell rang before they were sent.
async fn read<T: TlsStream + Unpin>(
    connection: &mut tokio_postgres::Connection<Socket, T>,
    bells: &Bells,
    own: &AtomicI32,
) {
    while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
        let AsyncMessage::Notification(note) = message else { continue };
        if note.channel() == INTAKE_CHANNEL {
            bells.intake.notify_one();
        } else if note.process_id() != own.load(Ordering::Relaxed) {
            bells.ring_here();
        }
    }
}
