//! Settings from `GANCHO_…` variables.

use std::{collections::BTreeMap, ffi::OsString};

use gancho_domain::nearest;

use super::{
    error::{Origin, SettingError, ValueError},
    keys::KEYS,
    layers::Layers,
    raw_value::RawValue,
};

/// Variables with our prefix that are not settings: the path of the file, and those of other commands
/// and the tests.
const OTHERS: &[&str] = &[
    "GANCHO_CONFIG",
    "GANCHO_LOG",
    "GANCHO_PIPE_SECRET",
    "GANCHO_KILLS",
    "GANCHO_URL",
    "GANCHO_PROFILE",
    "GANCHO_API_KEY",
    "GANCHO_CA_FILE",
    "GANCHO_TENANT",
    "GANCHO_SECRET",
];
const PREFIX: &str = "GANCHO_";

/// All variables by name. Empty ones count as unset.
#[derive(Debug, Default)]
pub struct Environment(BTreeMap<String, Result<String, OsString>>);

impl Environment {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is where settings are read from the environment"
    )]
    pub fn of_process() -> Self {
        let variables = std::env::vars_os().filter(|(_, value)| !value.is_empty());
        Self(
            variables
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string())))
                .collect(),
        )
    }

    #[cfg(test)]
    pub fn of(variables: &[(&str, &str)]) -> Self {
        let all = variables.iter().filter(|(_, value)| !value.is_empty());
        Self(all.map(|(name, value)| ((*name).to_owned(), Ok((*value).to_owned()))).collect())
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_deref().ok()
    }

    /// The variables with this prefix, with the rest of their name.
    pub fn beginning<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a str, Option<&'a str>)> {
        self.0.iter().filter_map(move |(name, value)| {
            Some((name.strip_prefix(prefix)?, value.as_deref().ok()))
        })
    }

    /// Adds the settings, and returns warnings for unknown `GANCHO_` variables. They are not refused, since
    /// another program may own them.
    pub fn add_to(&self, layers: &mut Layers, problems: &mut Vec<SettingError>) -> Vec<String> {
        let known: BTreeMap<String, &str> =
            KEYS.iter().map(|key| (key.variable(), key.name)).collect();
        let mut warnings = Vec::new();
        for (rest, value) in self.beginning(PREFIX) {
            let name = format!("{PREFIX}{rest}");
            let origin = Origin::Variable(name.clone());
            match (known.get(&name), value) {
                (Some(key), Some(value)) => {
                    layers.put(key, origin, RawValue::One(value.to_owned()), problems);
                }
                (Some(key), None) => {
                    problems
                        .push(ValueError::new("the value is not valid UTF-8", "").at(*key, origin));
                }
                (None, _) if OTHERS.contains(&name.as_str()) => {}
                (None, _) => warnings.push(unknown(&name, known.keys())),
            }
        }
        warnings
    }
}

fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> String {
    let meant = nearest(name, known.map(String::as_str));
    let hint = meant.map_or_else(String::new, |near| format!("; did you mean {near}?"));
    format!("ignored the environment variable {name}: unknown setting{hint}")
}
