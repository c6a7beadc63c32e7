//! Sends the lines in batches. A batch with an unknown outcome is sent again, which the keys of its events
//! make safe.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use bytes::Bytes;
use clap::Args;
use serde_json::Value;
use tokio::task::JoinSet;

use super::{
    counters::Counters,
    lines::{Line, Lines},
};
use crate::{
    commands::progress::{self, Progress},
    lifecycle::Stop,
    remote::{Remote, RemoteError},
};

#[derive(Debug, Args)]
pub struct ManyArgs {
    /// Publish every line of this file, or of standard input if it is `-`: JSON objects with `type` and `data`
    /// as the API takes them, or data alone if a type is given. Run it again to resume: lines that were
    /// published are not published twice within 24 hours.
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Name of this run, a part of the idempotency keys. With another name the same lines are published again.
    #[arg(long, value_name = "NAME", default_value = "publish", requires = "file")]
    pub run: String,
    /// Events in a batch.
    #[arg(long, value_name = "COUNT", default_value_t = 1_000, requires = "file",
        value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub batch: u16,
    /// Batches in flight. More than 1 may change the order of events.
    #[arg(long, value_name = "COUNT", default_value_t = 1, requires = "file",
        value_parser = clap::value_parser!(u8).range(1..=16))]
    pub in_flight: u8,
    /// Print the number of each line and the id of its event.
    #[arg(long, requires = "file")]
    pub ids: bool,
}

/// Maximum size of a batch, unless one event is larger.
const MAX_BYTES: usize = 1 << 20;
/// Maximum attempts to send a batch while the server is unavailable or busy.
const MAX_TRIES: u32 = 8;
const MAX_PAUSE: Duration = Duration::from_secs(15);

/// Lines that are sent together.
#[derive(Default)]
pub struct Batch {
    lines: Vec<(u64, String)>,
    bytes: usize,
    /// How much of the file was read when it was complete.
    read: u64,
}

/// Where the batches go, and what is known of it.
struct Server {
    remote: Remote,
    has_responded: AtomicBool,
    is_lost: AtomicBool,
}

/// The result of each line of a batch; without an error all lines have one.
struct BatchReport {
    results: Vec<(u64, Value)>,
    unsent: Vec<u64>,
    error: Option<RemoteError>,
    read: u64,
}

pub async fn publish(
    remote: &Remote,
    mut lines: Lines,
    many: &ManyArgs,
    as_json: bool,
) -> anyhow::Result<()> {
    let mut stop = Stop::listen();
    let mut progress = Progress::of_bytes("publishing", lines.size.unwrap_or(0));
    let mut counters = Counters::new(many.ids && !as_json);
    let mut sending = JoinSet::new();
    let mut is_over = false;
    let server = Arc::new(Server {
        remote: remote.clone(),
        has_responded: AtomicBool::new(false),
        is_lost: AtomicBool::new(false),
    });
    loop {
        while !is_over && sending.len() < usize::from(many.in_flight) {
            let batch = fill(&mut lines, usize::from(many.batch), &mut counters)?;
            is_over = batch.is_none();
            if let Some(batch) = batch {
                let in_doubt = Arc::new(AtomicBool::new(false));
                counters.sending(batch.lines.iter().map(|(number, _)| *number), &in_doubt);
                let server = server.clone();
                sending.spawn(async move { send(&server, batch, &in_doubt).await });
            }
        }
        let sent: Option<Result<BatchReport, _>> = tokio::select! {
            biased;
            sent = sending.join_next() => sent,
            () = stop.requested() => {
                counters.interrupted();
                break;
            }
        };
        let Some(sent) = sent else { break };
        let BatchReport { results, unsent, error, read } = sent?;
        for (number, result) in &results {
            counters.add(*number, result);
        }
        progress.at_bytes(counters.accepted, read);
        if let Some(error) = error {
            counters.stopped(&unsent, error);
            is_over = true;
        }
    }
    drop(progress);
    counters.finish(as_json)
}

/// Fills the next batch; `None` at the end. Counts lines that cannot be sent.
fn fill(lines: &mut Lines, max: usize, counters: &mut Counters) -> anyhow::Result<Option<Batch>> {
    let mut batch = Batch::default();
    while batch.lines.len() < max && batch.bytes < MAX_BYTES {
        let Some(Line { number, event }) = lines.next()? else { break };
        match event {
            Ok(event) => {
                batch.bytes += event.len();
                batch.lines.push((number, event));
            }
            Err(why) => counters.refuse(number, "invalid_line", &why),
        }
    }
    batch.read = lines.read;
    Ok(Some(batch).filter(|batch| !batch.lines.is_empty()))
}

async fn send(server: &Server, batch: Batch, in_doubt: &AtomicBool) -> BatchReport {
    let Batch { mut lines, read, .. } = batch;
    let mut results = Vec::with_capacity(lines.len());
    let mut tries = 0;
    loop {
        let was_in_doubt = in_doubt.swap(true, Relaxed);
        let sent = server.remote.post_once("/v1/events/batch", body(&lines), None).await;
        match &sent {
            Ok(_) => in_doubt.store(false, Relaxed),
            Err(RemoteError::Interrupted(_)) => {}
            Err(_) => in_doubt.store(was_in_doubt, Relaxed),
        }
        if !sent.as_ref().is_err_and(RemoteError::is_unreachable) {
            server.has_responded.store(true, Relaxed);
            server.is_lost.store(false, Relaxed);
        }
        let pause = match sent {
            Ok(mut answer) => {
                let answers = match answer["results"].take() {
                    Value::Array(answers) => answers,
                    _ => Vec::new(),
                };
                let before = lines.len();
                let mut later = Vec::new();
                for (line, answer) in lines.into_iter().zip(answers) {
                    if is_busy(&answer) {
                        later.push(line);
                    } else {
                        results.push((line.0, answer));
                    }
                }
                if later.is_empty() {
                    return BatchReport { results, unsent: Vec::new(), error: None, read };
                }
                // Some were accepted, so the server is not stuck.
                tries = if later.len() < before { 0 } else { tries + 1 };
                lines = later;
                Duration::from_secs(1)
            }
            Err(error) if server.may_return(&error) && tries + 1 < MAX_TRIES => {
                tries += 1;
                server.tell_lost(&error);
                let wait =
                    error.retry_after().unwrap_or(Duration::from_millis(250) * 2_u32.pow(tries));
                wait.min(MAX_PAUSE)
            }
            Err(error) => {
                let unsent = lines.iter().map(|(number, _)| *number).collect();
                return BatchReport { results, unsent, error: Some(error), read };
            }
        };
        tokio::time::sleep(pause).await;
    }
}

impl Server {
    /// Whether to try again. A server that never responded is more likely the wrong one than one that
    /// restarts.
    fn may_return(&self, error: &RemoteError) -> bool {
        error.is_passing() && (self.has_responded.load(Relaxed) || !error.is_unreachable())
    }

    /// Reports the lost connection, once for each outage.
    fn tell_lost(&self, error: &RemoteError) {
        if !self.is_lost.swap(true, Relaxed) {
            progress::clear_line();
            anstream::eprintln!("{error}; retrying");
        }
    }
}

/// Whether the same event may be accepted in a moment: the rate limit was reached, or the server is stopping.
fn is_busy(answer: &Value) -> bool {
    matches!(answer["status"].as_u64(), Some(429 | 503))
        && !["plan_limit", "storage_full"]
            .contains(&answer["error"]["code"].as_str().unwrap_or_default())
}

fn body(lines: &[(u64, String)]) -> Bytes {
    let mut body =
        String::with_capacity(lines.iter().map(|(_, line)| line.len() + 1).sum::<usize>() + 16);
    body += "{\"events\":[";
    for (place, (_, line)) in lines.iter().enumerate() {
        if place > 0 {
            body.push(',');
        }
        body += line;
    }
    body += "]}";
    Bytes::from(body)
}
