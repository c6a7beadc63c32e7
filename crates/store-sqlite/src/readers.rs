//! Look-ups beside the writer: each thread has a connection of its own that cannot write.

use std::thread::{self, JoinHandle};

use crossbeam_channel::{Sender, unbounded};
use gancho_store::{Result, StoreError};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::fault::Fault;

type Look = Box<dyn FnOnce(&Connection) + Send>;

pub(crate) struct Readers {
    looks: Option<Sender<Look>>,
    threads: Vec<JoinHandle<()>>,
}

/// Their connections are closed before the writer's, which removes the log.
impl Drop for Readers {
    fn drop(&mut self) {
        self.looks = None;
        for thread in self.threads.drain(..) {
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

impl Readers {
    pub fn start(count: usize, open: impl Fn() -> Result<Connection>) -> Result<Self> {
        let (looks, queue) = unbounded::<Look>();
        let mut threads = Vec::new();
        for number in 0..count.max(1) {
            let db = open()?;
            let queue = queue.clone();
            let thread = thread::Builder::new()
                .name(format!("gancho-reader-{number}"))
                .spawn(move || queue.iter().for_each(|look| look(&db)))
                .map_err(|error| StoreError::Refused(format!("no thread for a reader: {error}")))?;
            threads.push(thread);
        }
        Ok(Self { looks: Some(looks), threads })
    }

    pub fn none() -> Self {
        Self { looks: None, threads: Vec::new() }
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
