//! The table of all calls that Svix documents: what the gateway does for each, and how it differs.

mod supported;
mod unsupported;

use futures_util::future::BoxFuture;

use crate::{
    svix_error::SvixError,
    visit::{Reply, Visit},
};

pub type Handler = fn(Visit) -> BoxFuture<'static, Result<Reply, SvixError>>;

/// A call that Svix documents.
pub struct SvixCall {
    pub method: &'static str,
    /// The path with the names of its parameters, such as `/api/v1/app/{app_id}`.
    pub path: &'static str,
    /// The name of the operation in the reference of Svix.
    pub operation: &'static str,
    pub support: Support,
}

/// What the gateway does with a call.
pub enum Support {
    /// The same as Svix.
    Same(Handler),
    /// Almost the same. The text says how it differs, for the guide.
    Differs(Handler, &'static str),
    /// Nothing. The text says why, and what to use instead.
    Unsupported(&'static str),
}

/// Calls whose idempotency keys the gateway's own API handles, and those whose response has a token, which is
/// not stored: repeating such a call creates another link.
const KEEPS_KEYS: [&str; 3] = [
    "v1.message.create",
    "v1.authentication.app-portal-access",
    "v1.authentication.dashboard-access",
];

impl SvixCall {
    /// Returns the parameters of the path, if the path is of this call.
    pub fn matches(&self, segments: &[String]) -> Option<Vec<(&'static str, String)>> {
        let mut parameters = Vec::new();
        let mut given = segments.iter();
        for part in self.path.split('/').skip(1) {
            let segment = given.next()?;
            match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
                Some(name) if !segment.is_empty() => parameters.push((name, segment.clone())),
                None if part == segment => {}
                _ => return None,
            }
        }
        given.next().is_none().then_some(parameters)
    }

    /// Whether anyone may call it.
    pub fn is_public(&self) -> bool {
        self.operation == "v1.health.get"
    }

    pub fn keeps_keys(&self) -> bool {
        KEEPS_KEYS.contains(&self.operation)
    }
}

/// Returns all calls. Those with a fixed word come before those with a parameter in its place.
pub fn all() -> impl Iterator<Item = &'static SvixCall> {
    supported::CALLS.iter().chain(unsupported::CALLS.iter())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_call_is_listed_once() {
        let ways: BTreeSet<_> = all().map(|call| (call.method, call.path)).collect();
        assert_eq!(ways.len(), all().count());
        let names: BTreeSet<_> = all().map(|call| call.operation).collect();
        assert_eq!(names.len(), all().count());
    }

    /// The first call that matches a path must be the right one.
    #[test]
    fn no_call_hides_another() {
        for call in all() {
            let segments: Vec<_> = call.path.split('/').skip(1).map(ToOwned::to_owned).collect();
            let found =
                all().find(|one| one.method == call.method && one.matches(&segments).is_some());
            assert_eq!(found.map(|one| one.path), Some(call.path));
        }
    }

    /// The guide has a line for each call, and no others.
    #[test]
    fn the_guide_has_every_call() {
        let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/moving/from-svix.md");
        let guide = std::fs::read_to_string(guide).unwrap();
        let lines: Vec<_> = guide.lines().filter(|line| line.starts_with("| `v1.")).collect();
        let table: Vec<_> = all()
            .map(|call| {
                let here = match call.support {
                    Support::Same(_) => "same".to_owned(),
                    Support::Differs(_, how) => format!("differs: {how}"),
                    Support::Unsupported(why) => format!("not supported: {why}"),
                };
                format!("| `{}` | `{} {}` | {here} |", call.operation, call.method, call.path)
            })
            .collect();
        assert_eq!(lines, table);
    }

    #[test]
    fn every_text_is_a_sentence_of_the_guide() {
        for call in all() {
            match call.support {
                Support::Same(_) => {}
                Support::Differs(_, text) | Support::Unsupported(text) => {
                    assert!(
                        text.len() > 8 && !text.contains('|') && !text.ends_with('.'),
                        "{text}"
                    );
                }
            }
        }
    }
}
