//! A receiver that shares no code with the gateway: plain sockets and threads. It remembers its requests.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

#[derive(Clone, Default)]
pub struct Seen(Arc<Mutex<BTreeMap<String, Vec<Got>>>>, Arc<AtOnce>);

/// Requests that are being answered.
#[derive(Default)]
struct AtOnce {
    now: AtomicUsize,
    max: AtomicUsize,
}

/// One request.
#[derive(Clone)]
pub struct Got {
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Seen {
    /// Returns how often each id arrived.
    pub fn counts(&self) -> BTreeMap<String, usize> {
        self.0.lock().unwrap().iter().map(|(id, all)| (id.clone(), all.len())).collect()
    }

    /// Returns the maximum number of requests that were answered at the same time.
    pub fn max_at_once(&self) -> usize {
        self.1.max.load(Ordering::SeqCst)
    }

    pub fn body(&self, id: &str) -> Option<Vec<u8>> {
        self.0.lock().unwrap().get(id).map(|all| all[0].body.clone())
    }

    /// Returns the last request with that id.
    pub fn last(&self, id: &str) -> Option<Got> {
        self.0.lock().unwrap().get(id).and_then(|all| all.last().cloned())
    }
}

/// Starts a receiver that answers 200 until the test ends.
pub fn start() -> (SocketAddr, Seen) {
    start_slow(Duration::ZERO)
}

/// Starts a receiver that answers 200 after a while.
pub fn start_slow(after: Duration) -> (SocketAddr, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Seen::default();
    let book = seen.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let book = book.clone();
            thread::spawn(move || while take(&stream, &book, after).is_some() {});
        }
    });
    (address, seen)
}

/// Handles one request; `None` when the connection ends or breaks.
fn take(stream: &TcpStream, seen: &Seen, after: Duration) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut id, mut length, mut headers) = (String::new(), 0, Vec::new());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(": ") {
            headers.push((name.to_owned(), value.to_owned()));
            match name.to_ascii_lowercase().as_str() {
                "webhook-id" | "x-event-id" => value.clone_into(&mut id),
                "content-length" => length = value.parse().ok()?,
                _ => {}
            }
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    seen.0.lock().unwrap().entry(id).or_default().push(Got { headers, body });
    let at_once = seen.1.now.fetch_add(1, Ordering::SeqCst) + 1;
    seen.1.max.fetch_max(at_once, Ordering::SeqCst);
    // Sleeps as a slow receiver does.
    thread::sleep(after);
    seen.1.now.fetch_sub(1, Ordering::SeqCst);
    let mut stream = stream;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").ok()
}
