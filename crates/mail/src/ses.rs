//! The Amazon SES transport (HTTP API v2): `POST /v2/email/outbound-emails`, signed.
//!
//! The message is sent as raw bytes, as to an SMTP server. SES assigns its own Message-ID, so the e-mail's
//! id is added as a tag and as a header, to match bounces.

mod answer;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use data_encoding::BASE64;
use gancho_domain::Clock;
use gancho_egress::{
    Client,
    aws::{Request, sign},
};
use gancho_engine::Preemption;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde_json::json;
use thiserror::Error;
use url::{Position, Url};
use zeroize::Zeroizing;

use crate::transport::{Acceptance, DEADLINE, OutgoingMessage, Transport, TransportError};

pub use gancho_egress::aws::Credentials;

/// The tags that identify the e-mail and the tenant in feedback.
pub const OUTBOX_TAG: &str = "outboxId";
pub const TENANT_TAG: &str = "tenantId";

const PATH: &str = "/v2/email/outbound-emails";

#[derive(Clone)]
pub struct SesSettings {
    pub region: String,
    /// The URL of the API. Default: Amazon's endpoint for the region.
    pub endpoint: Option<Url>,
    pub credentials: Credentials,
    pub configuration_set: Option<String>,
    pub deadline: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SesSettingsError {
    #[error("SES requires the environment variable {0}")]
    Missing(&'static str),
    #[error("`{0}` is not an AWS region, e.g. eu-west-1")]
    Region(String),
    #[error("the SES endpoint must be an http or https URL without a path")]
    Endpoint,
}

impl SesSettings {
    /// Reads the environment variables that Amazon's tools use. `look` reads one of them.
    pub fn from_env(look: impl Fn(&str) -> Option<String>) -> Result<Self, SesSettingsError> {
        let need = |name: &'static str| look(name).ok_or(SesSettingsError::Missing(name));
        let region = look("AWS_REGION").or_else(|| look("AWS_DEFAULT_REGION"));
        Ok(Self {
            region: region.ok_or(SesSettingsError::Missing("AWS_REGION"))?,
            endpoint: None,
            credentials: Credentials {
                key_id: need("AWS_ACCESS_KEY_ID")?,
                secret: Zeroizing::new(need("AWS_SECRET_ACCESS_KEY")?),
                token: look("AWS_SESSION_TOKEN").map(Zeroizing::new),
            },
            configuration_set: None,
            deadline: DEADLINE,
        })
    }
}

pub struct SesTransport {
    client: Client,
    clock: Arc<dyn Clock>,
    settings: SesSettings,
    url: Url,
}

impl SesTransport {
    /// Creates the transport. The policy of `client` must allow the endpoint.
    pub fn new(
        client: Client,
        clock: Arc<dyn Clock>,
        settings: SesSettings,
    ) -> Result<Self, SesSettingsError> {
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if settings.region.is_empty() || !settings.region.bytes().all(is_plain) {
            return Err(SesSettingsError::Region(settings.region));
        }
        let amazons =
            || Url::parse(&format!("https://email.{}.amazonaws.com", settings.region)).ok();
        let mut url =
            settings.endpoint.clone().or_else(amazons).ok_or(SesSettingsError::Endpoint)?;
        let is_bare = matches!(url.path(), "" | "/") && url.query().is_none();
        if !matches!(url.scheme(), "http" | "https") || !is_bare {
            return Err(SesSettingsError::Endpoint);
        }
        url.set_path(PATH);
        Ok(Self { client, clock, settings, url })
    }

    fn body(&self, letter: &OutgoingMessage) -> Bytes {
        let mut body = json!({
            "FromEmailAddress": letter.from.address(),
            "Destination": { "ToAddresses": [letter.to.address()] },
            "Content": { "Raw": { "Data": BASE64.encode(&letter.raw) } },
            "EmailTags": [
                { "Name": OUTBOX_TAG, "Value": letter.id.to_string() },
                { "Name": TENANT_TAG, "Value": letter.tenant.to_string() },
            ],
        });
        if let Some(set) = &self.settings.configuration_set {
            body["ConfigurationSetName"] = json!(set);
        }
        body.to_string().into()
    }

    fn headers(&self, body: &[u8]) -> Result<HeaderMap, TransportError> {
        let signed = sign(
            &Request {
                method: "POST",
                path: PATH,
                query: "",
                host: &self.url[Position::BeforeHost..Position::AfterPort],
                content_type: Some("application/json"),
                body,
                with_digest: false,
            },
            &self.settings.credentials,
            &self.settings.region,
            "ses",
            self.clock.now(),
        );
        let unfit = |_| TransportError::NoResponse {
            text: "the SES credentials contain invalid characters".into(),
        };
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in signed {
            let mut value = HeaderValue::from_str(&value).map_err(unfit)?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        Ok(headers)
    }
}

#[async_trait]
impl Transport for SesTransport {
    fn name(&self) -> &'static str {
        "ses"
    }

    async fn send(
        &self,
        letter: &OutgoingMessage,
        preemption: &Preemption,
    ) -> Result<Acceptance, TransportError> {
        let body = self.body(letter);
        let headers = self.headers(&body)?;
        // One request carries all of it.
        if !preemption.seal() {
            return Err(TransportError::CutShort);
        }
        let outcome = self.client.post(&self.url, headers, body, self.settings.deadline).await;
        match outcome.answer {
            Ok(said) => answer::read(&said),
            Err(none) => {
                let text = format!("cannot reach SES: {}", none.failure.reason());
                Err(if none.is_ours {
                    TransportError::Local { text }
                } else {
                    TransportError::NoResponse { text }
                })
            }
        }
    }
}
