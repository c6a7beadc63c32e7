//! Receivers that only answer, and parses the requests that they received.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use serde_json::Value;

use crate::{
    receiver::{Receiver, Step},
    wait_for,
};

/// Starts a receiver that answers each request on a separate connection. `status` gets the request's number,
/// from 0.
pub async fn answering(status: impl Fn(usize) -> &'static str + Send + Sync + 'static) -> Receiver {
    let answer = move |number| {
        let status = status(number);
        format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    };
    let script = move |number| vec![Step::ReadRequest, Step::send(&answer(number))];
    Receiver::plain(script).await.expect("a port is free")
}

/// Waits for `count` requests, and returns all that have arrived.
pub async fn arrived(receiver: &Receiver, count: usize) -> Vec<HttpRequest> {
    wait_for(&format!("{count} requests"), || async {
        let requests = receiver.requests();
        let parsed = || requests.iter().map(|one| HttpRequest::parse(&one.text())).collect();
        (requests.len() >= count).then(parsed)
    })
    .await
}

#[derive(Debug, Clone, Default)]
pub struct HttpRequest {
    pub line: String,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl HttpRequest {
    pub fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let mut lines = head.lines();
        let line = lines.next().unwrap_or_default().to_owned();
        let headers = lines.map(|line| line.split_once(": ").unwrap_or((line, "")));
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
        Self { line, headers: headers.collect(), body: body.to_owned() }
    }

    /// Returns all values of a header.
    pub fn all(&self, name: &str) -> Vec<&str> {
        let of_name = self.headers.iter().filter(|(known, _)| known == name);
        of_name.map(|(_, value)| value.as_str()).collect()
    }

    /// Returns the value of a header that must occur once.
    #[track_caller]
    pub fn one(&self, name: &str) -> &str {
        let all = self.all(name);
        assert_eq!(all.len(), 1, "{name}: {all:?}");
        all[0]
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("the body is JSON")
    }
}
