//! The profiles of endpoints for pages: the values in force if an endpoint sets none.

use std::time::Duration;

use crate::{sentence::Sentence, texts::Texts};

/// The defaults of a profile.
#[derive(Debug, Clone)]
pub struct ProfileDefaults {
    pub name: String,
    /// The timeout of one attempt.
    pub timeout: Duration,
    /// The delays between attempts.
    pub schedule: Vec<Duration>,
}

impl ProfileDefaults {
    /// Returns text such as `8 attempts over 28 h`.
    pub fn plan(&self, t: &Texts) -> Sentence {
        plan(t, &self.schedule)
    }
}

/// Returns the number of attempts with these delays between them, and how long they take.
pub fn plan(t: &Texts, delays: &[Duration]) -> Sentence {
    let attempts = delays.len() as u64 + 1;
    t.count("endpoint.plan", attempts).with("span", t.span(delays.iter().sum()))
}

/// Returns the profile of this name.
pub fn find<'a>(profiles: &'a [ProfileDefaults], name: &str) -> Option<&'a ProfileDefaults> {
    profiles.iter().find(|profile| profile.name == name)
}
