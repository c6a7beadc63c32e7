//! An API key in a list, for the operator and for the people of its tenant.

use serde::Deserialize;

use crate::{escape::Text, moment::Moment};

#[derive(Deserialize)]
pub struct ApiKey {
    pub id: String,
    pub name: Text,
    pub scopes: Vec<Text>,
    pub expires_at: Option<Moment>,
    pub revoked_at: Option<Moment>,
    pub last_used_at: Option<Moment>,
}

/// One that was just created, with what is shown once.
#[derive(Deserialize)]
pub struct NewKey {
    pub key: Text,
}
