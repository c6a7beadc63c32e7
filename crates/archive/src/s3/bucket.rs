//! The few requests of S3 that an archive needs.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use gancho_domain::Clock;
use gancho_egress::{
    Answer, Client,
    aws::{Request, sign},
};
use http::{HeaderName, HeaderValue, Method, header};
use url::{Position, Url};

use super::{
    error::S3Error,
    location::{S3Settings, S3SettingsError},
};

/// Maximum duration of one request. A dead letter has at most a few megabytes.
const DEADLINE: Duration = Duration::from_secs(30);
/// Maximum size of a response other than an object.
const MAX_ANSWER: usize = 64 << 10;
const JSON: &str = "application/json";

pub struct Bucket {
    client: Client,
    clock: Arc<dyn Clock>,
    settings: S3Settings,
    url: Url,
}

impl Bucket {
    /// Creates a client of the bucket. The policy of `client` must allow the URL of the settings.
    pub fn new(
        client: Client,
        clock: Arc<dyn Clock>,
        settings: S3Settings,
    ) -> Result<Self, S3SettingsError> {
        let url = settings.url()?;
        Ok(Self { client, clock, settings, url })
    }

    pub fn settings(&self) -> &S3Settings {
        &self.settings
    }

    /// Writes an object, or replaces it.
    pub async fn put(&self, key: &str, body: Bytes) -> Result<(), S3Error> {
        let answer = self.ask(Method::PUT, key, "", body).await?;
        self.expect(&answer, &[200]).map(|_| ())
    }

    /// Returns the size of an object, if it exists.
    pub async fn size(&self, key: &str) -> Result<Option<u64>, S3Error> {
        let answer = self.ask(Method::HEAD, key, "", Bytes::new()).await?;
        if self.expect(&answer, &[200, 404])? == 404 {
            return Ok(None);
        }
        let lines = String::from_utf8_lossy(&answer.headers);
        let mut lines = lines.lines().filter_map(|line| line.split_once(": "));
        let length = lines.find(|(name, _)| *name == header::CONTENT_LENGTH.as_str());
        Ok(Some(length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0)))
    }

    /// Removes an object, which need not exist.
    pub async fn delete(&self, key: &str) -> Result<(), S3Error> {
        let answer = self.ask(Method::DELETE, key, "", Bytes::new()).await?;
        self.expect(&answer, &[200, 204, 404]).map(|_| ())
    }

    /// Checks that the bucket exists and that the key may list it. Changes nothing.
    pub async fn check(&self) -> Result<(), S3Error> {
        let answer = self.ask(Method::GET, "", "list-type=2&max-keys=1", Bytes::new()).await?;
        self.expect(&answer, &[200]).map(|_| ())
    }

    fn expect(&self, answer: &Answer, statuses: &[u16]) -> Result<u16, S3Error> {
        if statuses.contains(&answer.status) {
            return Ok(answer.status);
        }
        Err(S3Error::refused(self.host(), answer))
    }

    fn host(&self) -> &str {
        &self.url[Position::BeforeHost..Position::AfterPort]
    }

    async fn ask(
        &self,
        method: Method,
        key: &str,
        query: &str,
        body: Bytes,
    ) -> Result<Answer, S3Error> {
        let mut url = self.url.clone();
        let path = format!("{}/{key}", url.path().trim_end_matches('/'));
        url.set_path(if key.is_empty() { path.trim_end_matches('/') } else { &path });
        url.set_query(Some(query).filter(|query| !query.is_empty()));
        let content_type = (method == Method::PUT).then_some(JSON);
        let signed = sign(
            &Request {
                method: method.as_str(),
                path: url.path(),
                query,
                host: self.host(),
                content_type,
                body: &body,
                with_digest: true,
            },
            &self.settings.credentials,
            &self.settings.region,
            "s3",
            self.clock.now(),
        );
        let mut request = http::Request::new(body);
        *request.method_mut() = method;
        let headers = request.headers_mut();
        if let Some(content_type) = content_type {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        for (name, value) in signed {
            let Ok(mut value) = HeaderValue::from_str(&value) else {
                return Err(S3Error::Unreachable {
                    host: self.host().to_owned(),
                    reason: "the access key contains characters that a header cannot have"
                        .to_owned(),
                });
            };
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        let outcome = self.client.send(request, &url, DEADLINE, MAX_ANSWER).await;
        outcome.answer.map_err(|error| S3Error::unreachable(self.host(), &error))
    }
}
