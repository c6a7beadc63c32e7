//! The built-in event types, each with a description and a realistic example.

mod agents;
mod email;
mod operations;
mod saas;

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use serde_json::value::RawValue;

use super::{Catalog, EventTypeInfo, own::no_metadata, type_cache::CachedType};

/// Name, description, example.
type Entry = (&'static str, &'static str, &'static str);

const CATALOGS: [(Catalog, &[Entry]); 4] = [
    (Catalog::Email, &email::TYPES),
    (Catalog::Agents, &agents::TYPES),
    (Catalog::Saas, &saas::TYPES),
    (Catalog::Operations, &operations::TYPES),
];

static BUILT_IN: LazyLock<BTreeMap<&'static str, Arc<CachedType>>> = LazyLock::new(|| {
    let entries =
        CATALOGS.iter().flat_map(|(catalog, types)| types.iter().map(|one| (*catalog, *one)));
    entries
        .map(|(catalog, entry)| {
            (entry.0, Arc::new(CachedType::built_in(type_cache(catalog, entry))))
        })
        .collect()
});

fn type_cache(catalog: Catalog, (name, description, example): Entry) -> EventTypeInfo {
    let example = RawValue::from_string(example.to_owned());
    EventTypeInfo {
        name: name.to_owned(),
        description: description.to_owned(),
        // A test checks that every example is JSON.
        example: example.unwrap_or_else(|_| RawValue::NULL.to_owned()),
        schema: None,
        metadata: no_metadata(),
        catalog,
        is_archived: false,
    }
}

pub(super) fn get(name: &str) -> Option<&'static Arc<CachedType>> {
    BUILT_IN.get(name)
}

/// Returns the names of all built-in types.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.keys().copied()
}

/// Returns all built-in types by name.
pub(super) fn all() -> impl Iterator<Item = &'static CachedType> {
    BUILT_IN.values().map(|one| &**one)
}

#[cfg(test)]
mod tests {
    use gancho_domain::{EventType, event_type::is_reserved};

    use super::*;

    #[test]
    fn every_type_has_a_name_a_description_and_an_example() {
        for (catalog, types) in CATALOGS {
            for (name, description, example) in types {
                assert!(name.parse::<EventType>().is_ok(), "{name}");
                assert!(
                    description.ends_with('.') && description.len() > 10,
                    "{name}: {description}"
                );
                let example: serde_json::Value = serde_json::from_str(example).expect(name);
                assert!(example.as_object().is_some_and(|object| !object.is_empty()), "{name}");
                assert_eq!(is_reserved(name), catalog == Catalog::Operations, "{name}");
            }
        }
        assert_eq!(BUILT_IN.len(), CATALOGS.iter().map(|(_, types)| types.len()).sum::<usize>());
    }

    #[test]
    fn as_many_as_the_contracts_name() {
        let counts = CATALOGS.map(|(catalog, types)| (catalog.name(), types.len()));
        assert_eq!(counts, [("email", 3), ("agents", 18), ("saas", 8), ("operations", 3)]);
    }
}
