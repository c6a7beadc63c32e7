//! Finds out which parts of the gateway are in use. The menu leaves out the others.

use std::sync::OnceLock;

use serde::de::IgnoredAny;

use crate::{params::Link, visit::Visit};

#[derive(Debug, Clone, Copy)]
pub struct Features {
    pub has_email: bool,
    pub has_receiving: bool,
}

impl Features {
    pub async fn read(visit: &Visit) -> Self {
        if visit.is_portal() {
            return Self { has_email: false, has_receiving: false };
        }
        let dashboard = &visit.dashboard;
        Self {
            has_email: has(visit, &dashboard.has_email, "/v1/emails", "email_off").await,
            has_receiving: has(visit, &dashboard.has_receiving, "/v1/sources", "receiving_off")
                .await,
        }
    }
}

/// Whether a part is in use. It is shown if that cannot be found out now.
async fn has(visit: &Visit, known: &OnceLock<bool>, path: &str, off: &str) -> bool {
    if let Some(known) = known.get() {
        return *known;
    }
    let answer = visit.get_as_operator::<IgnoredAny>(Link::new(path).with("limit", 1)).await;
    match answer {
        Ok(_) => *known.get_or_init(|| true),
        Err(problem) if problem.code.as_str() == off => *known.get_or_init(|| false),
        Err(_) => true,
    }
}
