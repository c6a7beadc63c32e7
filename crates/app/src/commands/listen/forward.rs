//! Sends a message to the user's URL, signed as a delivery, and prints the outcome.

use std::{
    io::{ErrorKind, Write},
    time::{Duration, Instant},
};

use bytes::Bytes;
use gancho_domain::{Clock, SystemClock};
use gancho_wire::{AttemptMetadata, Content, Profile, SigningKey, sign};
use hyper::header::{HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use serde_json::json;
use url::Url;

use super::{Listen, feed::Message};
use crate::{
    commands::{
        Failure,
        table::{clean, text},
    },
    paint::{DIM, GREEN, RED},
    remote::{Remote, RemoteError, ServerUrl, TrustedRoots, part},
};

pub struct Forwarder {
    target: Remote,
    path: String,
    profile: Profile,
    key: SigningKey,
    endpoint: String,
    /// The secret, if the user does not know it yet.
    pub shown_secret: Option<String>,
}

/// The response of the user's program.
pub struct Outcome {
    status: Result<u16, String>,
    took: Duration,
}

/// Headers of a partner's request that belong to its connection.
const OF_CONNECTION: [&str; 6] =
    ["host", "content-length", "connection", "transfer-encoding", "expect", "upgrade"];
const TIMEOUT: Duration = Duration::from_secs(30);

impl Forwarder {
    pub async fn new(
        remote: &Remote,
        listen: &Listen,
        (server, path): (ServerUrl, String),
    ) -> anyhow::Result<Self> {
        let (name, secret, endpoint, is_new) = if let Some(id) = &listen.endpoint {
            let path = format!("/v1/webhooks/{}", part(id));
            let endpoint = remote.get(&path).await?;
            let secret = remote.get(&format!("{path}/secret")).await?;
            (text(&endpoint["profile"]), text(&secret["secret"]), id.clone(), false)
        } else {
            let name = listen.wire_profile.clone().unwrap_or_else(|| "standard".to_owned());
            let given = listen.secret.read()?;
            let is_new = given.is_none();
            let secret = given.map_or_else(gancho_wire::new_secret, Ok)?;
            (name, secret, "wh_listen".to_owned(), is_new)
        };
        let profile = listen.profiles.find(&name)?;
        let key = SigningKey::for_profile(&profile, &secret)
            .map_err(|error| Failure::usage(format!("invalid secret: {error}")))?;
        let target = Remote::new(server, None, &TrustedRoots::default());
        Ok(Self { target, path, profile, key, endpoint, shown_secret: is_new.then_some(secret) })
    }

    pub async fn send(&self, message: &Message) -> Outcome {
        let began = Instant::now();
        let sent = tokio::time::timeout(TIMEOUT, self.exchange(message)).await;
        let status = match sent {
            Ok(Ok(status)) => Ok(status),
            Ok(Err(why)) => Err(why),
            Err(_) => Err("no response within 30 s".to_owned()),
        };
        Outcome { status, took: began.elapsed() }
    }

    async fn exchange(&self, message: &Message) -> Result<u16, String> {
        let (headers, body) = self.request(message)?;
        let answered = self.target.forward(&self.path, &headers, body).await;
        answered.map_err(|error| match error {
            RemoteError::Unreachable { why, .. } => why.to_string(),
            other => other.to_string(),
        })
    }

    fn request(&self, message: &Message) -> Result<(HeaderMap, Bytes), String> {
        let content = Content {
            event_id: &message.id,
            event_type: &message.event_type,
            created_at: message.created_at,
            number: message.number,
            data: &message.data,
        };
        // A partner's body is forwarded unchanged.
        let body = if message.is_receipt {
            message.data.clone()
        } else {
            self.profile.envelope.render(&content)
        };
        let sending = AttemptMetadata {
            event_id: &message.id,
            endpoint_id: &self.endpoint,
            event_type: &message.event_type,
            at: SystemClock.now(),
            retry: 0,
        };
        let signed = sign(&self.profile, &sending, &body, std::slice::from_ref(&self.key));
        let signed = signed.map_err(|error| error.to_string())?;
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, value(&self.profile.user_agent)?);
        for (name, text) in &message.headers {
            if !OF_CONNECTION.contains(&name.to_ascii_lowercase().as_str()) {
                headers.insert(header(name)?, value(text.as_str().unwrap_or_default())?);
            }
        }
        for (name, text) in signed {
            headers.insert(header(name)?, value(&text)?);
        }
        Ok((headers, body))
    }
}

fn header(name: &str) -> Result<HeaderName, String> {
    name.parse().map_err(|_| format!("invalid header name {}", clean(name)))
}

fn value(text: &str) -> Result<HeaderValue, String> {
    HeaderValue::from_str(text).map_err(|_| "invalid header value".to_owned())
}

/// Splits a URL into the server and the path.
pub fn target(text: &str) -> anyhow::Result<(ServerUrl, String)> {
    let invalid = || {
        Failure::usage(format!(
            "`{}` is not a URL to forward to. hint: for example, http://127.0.0.1:8080/hooks",
            clean(text)
        ))
    };
    let url = Url::parse(text).map_err(|_| invalid())?;
    let origin = url.origin().ascii_serialization();
    let server: ServerUrl = origin.parse().map_err(|_| invalid())?;
    let query = url.query().map_or_else(String::new, |query| format!("?{query}"));
    Ok((server, format!("{}{query}", url.path())))
}

/// Prints a line. Returns whether someone still reads the output.
pub fn print(message: &Message, outcome: &Outcome, as_json: bool) -> anyhow::Result<bool> {
    let millis = outcome.took.as_secs_f64() * 1e3;
    let line = if as_json {
        json!({
            "id": message.id,
            "type": message.event_type,
            "response_status": outcome.status.as_ref().ok(),
            "error": outcome.status.as_ref().err(),
            "latency_ms": (millis * 10.0).round() / 10.0,
        })
        .to_string()
    } else {
        let now = SystemClock.now().to_string();
        let time = now.split_once('T').map_or(now.as_str(), |(_, time)| &time[..8]);
        let (style, status) = match &outcome.status {
            Ok(status @ 200..300) => (GREEN, status.to_string()),
            Ok(status) => (RED, status.to_string()),
            Err(why) => (RED, clean(why)),
        };
        format!(
            "{DIM}{time}{DIM:#}  {style}{status:<3}{style:#}  {millis:>5.0} ms  {}  {DIM}{}{DIM:#}",
            clean(&message.event_type),
            clean(&message.id)
        )
    };
    let mut out = anstream::stdout();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error.into()),
    }
}
