//! An e-mail as it is kept: what was accepted, checked once, and everything that is needed to send it
//! and to tell of it.

use bytes::Bytes;
use gancho_domain::{EmailId, Parcel};
use serde::{Deserialize, Serialize};

use crate::{Mailbox, attachment::Attachment};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Email {
    /// The tenant's slug, as it is told in events.
    pub company_id: String,
    pub to: Mailbox,
    pub from: Mailbox,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<Mailbox>,
    pub subject: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

/// The little of an e-mail that is told of it, read without the rest.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Brief {
    pub company_id: String,
    pub to: Mailbox,
    pub from: Mailbox,
    pub subject: String,
}

impl Email {
    pub fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(body)
    }

    /// Deterministic: the same e-mail gives the same bytes.
    pub fn write(&self) -> Result<Bytes, serde_json::Error> {
        serde_json::to_vec(self).map(Bytes::from)
    }
}

impl Brief {
    pub fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(body)
    }
}

/// An e-mail's id is its parcel's, under another word.
pub fn outbox_id(parcel: &Parcel) -> EmailId {
    parcel.id.cast()
}
