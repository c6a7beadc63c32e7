//! The texts of the pages: one file for each language, compiled in, with the same keys.

use std::{collections::HashMap, sync::LazyLock};

use toml::{Table, Value};

use crate::language::Language;

/// Texts by dotted key, e.g. `deliveries.title`.
pub type Catalog = HashMap<String, String>;

static ENGLISH: LazyLock<Catalog> = LazyLock::new(|| read(include_str!("../catalog/en.toml")));
static PORTUGUESE: LazyLock<Catalog> = LazyLock::new(|| read(include_str!("../catalog/pt.toml")));
static SPANISH: LazyLock<Catalog> = LazyLock::new(|| read(include_str!("../catalog/es.toml")));

pub fn of(language: Language) -> &'static Catalog {
    match language {
        Language::English => &ENGLISH,
        Language::Portuguese => &PORTUGUESE,
        Language::Spanish => &SPANISH,
    }
}

/// Returns the text of a key; the English one, or the key itself, if the catalog lacks it. Tests ensure that
/// none does.
pub fn text(language: Language, key: &'static str) -> &'static str {
    let known = of(language).get(key).or_else(|| ENGLISH.get(key));
    known.map_or(key, String::as_str)
}

/// Returns the form of a key for a number: `key.one` or `key.other`. The three languages need no more.
pub fn plural(language: Language, key: &'static str, count: u64) -> &'static str {
    let form = if count == 1 { "one" } else { "other" };
    let known = |catalog: &'static Catalog| catalog.get(&format!("{key}.{form}"));
    known(of(language)).or_else(|| known(&ENGLISH)).map_or(key, String::as_str)
}

/// Parses a file. An invalid file is an empty catalog; the tests read each of them.
fn read(text: &str) -> Catalog {
    let mut catalog = Catalog::new();
    if let Ok(table) = text.parse::<Table>() {
        flatten("", table, &mut catalog);
    }
    catalog
}

fn flatten(prefix: &str, table: Table, catalog: &mut Catalog) {
    for (name, value) in table {
        let key = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
        match value {
            Value::String(text) => {
                catalog.insert(key, text);
            }
            Value::Table(table) => flatten(&key, table, catalog),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
