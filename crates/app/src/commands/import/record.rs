//! The imported objects: one JSON object for each line of an export file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    Application(Application),
    EventType(EventType),
    Endpoint(Endpoint),
    /// What cannot be imported, for the report.
    Warning {
        text: String,
    },
}

#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Default)]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// How the application is named at the service, and from now on at the gateway.
    pub uid: String,
    pub name: String,
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
}

/// In the form of Svix, without its times.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Default)]
pub struct EventType {
    pub name: String,
    #[serde(flatten)]
    pub settings: Map<String, Value>,
}

#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Endpoint {
    /// The uid of its application.
    pub application: String,
    /// Its uid, or its id at the service: an import that is repeated knows it by this.
    pub uid: String,
    pub url: String,
    pub secret: Option<String>,
    pub description: String,
    pub disabled: bool,
    /// Event types; empty for all.
    pub events: Vec<String>,
    pub headers: BTreeMap<String, String>,
    /// Maximum deliveries.
    pub rate: Option<u32>,
    /// In this many seconds.
    pub rate_seconds: Option<u64>,
    pub metadata: BTreeMap<String, String>,
}

impl Record {
    /// Checks that a repeated import can recognize the object.
    pub fn check(&self) -> anyhow::Result<()> {
        let (uid, of) = match self {
            Self::Application(one) => (&one.uid, "application"),
            Self::Endpoint(one) => (&one.uid, "endpoint"),
            Self::EventType(_) | Self::Warning { .. } => return Ok(()),
        };
        anyhow::ensure!(!uid.is_empty(), "the {of} has no `uid`. hint: use its id at the service");
        Ok(())
    }

    pub fn warning(text: impl Into<String>) -> Self {
        Self::Warning { text: text.into() }
    }
}
