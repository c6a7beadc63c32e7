//! The effective settings, for `gancho config`. Secrets are masked.

use std::fmt::Write;

use super::{LoadedSettings, Origin};

/// An equivalent `gancho.toml`, each line with the origin of its value.
pub fn text(loaded: &LoadedSettings) -> String {
    let mut text = String::new();
    match &loaded.file {
        Some(path) => drop(writeln!(text, "# Configuration file: {}", path.display())),
        None => text.push_str("# Configuration file: none\n"),
    }
    let lines: Vec<(String, &Origin)> = loaded
        .settings
        .masked_values()
        .into_iter()
        .filter_map(|(name, value)| {
            let line = match value.as_str() {
                "" => format!("# {name} ="),
                value => format!("{name} = {value}"),
            };
            Some((line, loaded.origins.get(name)?))
        })
        .collect();
    let width = lines.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0).min(48);
    for (line, origin) in lines {
        let _ = writeln!(text, "{line:<width$}  # {origin}");
    }
    for (name, plan) in &loaded.plans {
        let _ = writeln!(text, "\n[plans.{name}]");
        let _ = plan.endpoints.map(|max| writeln!(text, "endpoints = {max}"));
        let _ = plan.events.map(|max| writeln!(text, "events = {max}"));
    }
    for profile in &loaded.profiles {
        let _ = writeln!(
            text,
            "\n[profiles.{}]  # {} attempts, signed in {}",
            profile.name,
            profile.attempts(),
            profile.signature.header
        );
    }
    for company in &loaded.companies {
        let _ = writeln!(
            text,
            "\n# tenant {} (environment variable WEBHOOK_URL_{})",
            company.slug,
            company.slug.to_uppercase()
        );
    }
    text
}

/// The same as JSON.
pub fn json(loaded: &LoadedSettings) -> serde_json::Value {
    let settings: serde_json::Map<String, serde_json::Value> = loaded
        .settings
        .masked_values()
        .into_iter()
        .map(|(name, value)| {
            let origin = loaded.origins.get(name).map(ToString::to_string);
            let value = serde_json::from_str(&value).unwrap_or(serde_json::Value::Null);
            (name.to_owned(), serde_json::json!({ "value": value, "from": origin }))
        })
        .collect();
    serde_json::json!({ "file": loaded.file, "settings": settings })
}
