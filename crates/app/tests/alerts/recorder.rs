//! Receives what alerts send, in every format.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::Value;

#[derive(Clone)]
pub struct Recorder {
    pub address: SocketAddr,
    bodies: Arc<Mutex<Vec<(String, Value)>>>,
    /// Whether it answers 503.
    is_refusing: Arc<AtomicBool>,
    refused: Arc<AtomicUsize>,
}

impl Recorder {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let recorder = Self {
            address: listener.local_addr().unwrap(),
            bodies: Arc::default(),
            is_refusing: Arc::default(),
            refused: Arc::default(),
        };
        let taking = recorder.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let recorder = taking.clone();
                thread::spawn(move || while recorder.take(&stream).is_some() {});
            }
        });
        recorder
    }

    pub fn refuse(&self, is_refusing: bool) {
        self.is_refusing.store(is_refusing, Ordering::SeqCst);
    }

    /// Returns how many requests were refused.
    pub fn refused(&self) -> usize {
        self.refused.load(Ordering::SeqCst)
    }

    pub fn url(&self) -> String {
        format!("http://{}/services/T0/B0/slack-canary", self.address)
    }

    /// Returns head and body of each request.
    pub fn all(&self) -> Vec<(String, Value)> {
        self.bodies.lock().unwrap().clone()
    }

    pub fn texts(&self) -> String {
        let all = self.all();
        let texts = all.iter().map(|(_, body)| body["text"].as_str().unwrap_or_default());
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Returns the alerts in all messages: rule, subject and change.
    pub fn alerts(&self) -> Vec<(String, String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let all = self.all();
        let alerts = all.iter().filter_map(|(_, body)| body["data"]["alerts"].as_array());
        let alerts = alerts.flatten();
        alerts
            .map(|one| (text(&one["rule"]), text(&one["subject"]), text(&one["change"])))
            .collect()
    }

    pub fn has(&self, rule: &str, subject: &str, change: &str) -> bool {
        let wanted = (rule.to_owned(), subject.to_owned(), change.to_owned());
        self.alerts().contains(&wanted)
    }

    fn take(&self, mut stream: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream);
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if line.trim_end().is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                length = value.trim().parse().ok()?;
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let body = serde_json::from_slice(&body).unwrap_or_default();
        if self.is_refusing.load(Ordering::SeqCst) {
            self.refused.fetch_add(1, Ordering::SeqCst);
            return stream.write_all(b"HTTP/1.1 503 Down\r\ncontent-length: 0\r\n\r\n").ok();
        }
        self.bodies.lock().unwrap().push((head, body));
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").ok()
    }
}
