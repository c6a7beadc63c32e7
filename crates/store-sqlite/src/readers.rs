//! Look-ups beside the writer: each thread has a connection of its own that cannot write.

use std::thread;

use crossbeam_channel::{Sender, unbounded};
use gancho_store::{Result, StoreError};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::fault::Fault;

type Look = Box<dyn FnOnce(&Connection) + Send>;

pub(crate) struct Readers {
    looks: Option<Sender<Look>>,
}

impl Readers {
    pub fn start(count: usize, open: impl Fn() -> Result<Connection>) -> Result<Self> {
        let (looks, queue) = unbounded::<Look>();
        for number in 0..count.max(1) {
            let db = open()?;
            let queue = queue.clone();
            thread::Builder::new()
                .name(format!("gancho-reader-{number}"))
                .spawn(move || queue.iter().for_each(|look| look(&db)))
                .map_err(|error| StoreError::Refused(format!("no thread for a reader: {error}")))?;
        }
        Ok(Self { looks: Some(looks) })
    }

    pub fn none() -> Self {
        Self { looks: None }
    }

    pub async fn run<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T> {
        let (caller, answer) = oneshot::channel();
        let gone = || StoreError::Broken("the readers have stopped".into());
        let task: Look = Box::new(move |db| {
            let _ = caller.send(look(db).map_err(StoreError::from));
        });
        self.looks.as_ref().ok_or_else(gone)?.send(task).map_err(|_| gone())?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }
}
