//! The profiles that endpoints can have, as far as pages show them: what is in force where an endpoint sets nothing.

use std::time::Duration;

use crate::{sentence::Sentence, texts::Texts};

/// The defaults of a profile.
#[derive(Debug, Clone)]
pub struct ProfileDefaults {
    pub name: String,
    /// Of one attempt.
    pub timeout: Duration,
    /// The delays between attempts.
    pub schedule: Vec<Duration>,
}

impl ProfileDefaults {
    /// `8 attempts over 28 h`
    pub fn plan(&self, t: &Texts) -> Sentence {
        plan(t, &self.schedule)
    }
}

/// The number of attempts with these delays between them, and how long they take.
pub fn plan(t: &Texts, delays: &[Duration]) -> Sentence {
    let attempts = delays.len() as u64 + 1;
    t.count("endpoint.plan", attempts).with("span", t.span(delays.iter().sum()))
}

/// The profile of this name.
pub fn find<'a>(profiles: &'a [ProfileDefaults], name: &str) -> Option<&'a ProfileDefaults> {
    profiles.iter().find(|profile| profile.name == name)
}
