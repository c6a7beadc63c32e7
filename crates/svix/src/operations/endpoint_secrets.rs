//! The signing secret of an endpoint.

use http::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    svix_error::{Names, SvixError},
    visit::{Reply, Visit, segment},
};

const NAMES: Names = &[("secret", "key"), ("overlap", "gracePeriodSeconds")];
/// Prefixes of keys of Svix; a text without one is base64.
const PREFIXES: [&str; 5] = ["whsec_", "whsk_", "whsk1_", "whpk_", "whpk1_"];
const DEFAULT_GRACE: u32 = 24 * 60 * 60;

#[derive(Deserialize)]
struct Secret {
    secret: String,
    public_key: Option<String>,
}

impl Secret {
    /// Returns what receivers need: the public key of a key pair.
    fn public_view(self) -> Value {
        json!({"key": self.public_key.unwrap_or(self.secret)})
    }
}

/// Returns the secret in the gateway's form. Svix accepts base64 with and without a prefix.
pub fn normalized(secret: &str) -> String {
    if PREFIXES.iter().any(|prefix| secret.starts_with(prefix)) {
        return secret.to_owned();
    }
    format!("whsec_{secret}")
}

pub async fn get(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let app = visit.app().await?;
    let id = visit.endpoint(&app).await?.id;
    let path = format!("/v1/webhooks/{}/secret", segment(&id));
    let found: Secret = visit.call(&app, Method::GET, path).run().await?;
    Reply::ok(&found.public_view())
}

pub async fn rotate(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let mut fields = visit.fields()?;
    let key: Option<String> = fields.take("key");
    let grace: Option<u32> = fields.take("gracePeriodSeconds");
    fields.finish()?;
    let app = visit.app().await?;
    let id = visit.endpoint(&app).await?.id;
    let mut body = Map::new();
    body.extend(key.map(|key| ("secret".to_owned(), Value::from(normalized(&key)))));
    let overlap = format!("{}s", grace.unwrap_or(DEFAULT_GRACE));
    body.insert("overlap".to_owned(), Value::from(overlap));
    let path = format!("/v1/webhooks/{}/rotate-secret", segment(&id));
    let call = visit.call(&app, Method::POST, path).names(NAMES).json(&body)?;
    let rotated: Secret = call.run().await?;
    // Clients before version 2.9 expect no body, and do not read one.
    Reply::ok(&rotated.public_view())
}
