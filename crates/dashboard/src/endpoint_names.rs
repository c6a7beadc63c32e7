//! The names of endpoints for lists of deliveries, cached for a while: all open pages show the same few again
//! and again.

use std::collections::HashMap;

use serde::Deserialize;

use crate::{
    escape::Text,
    params::{Link, segment},
    visit::Visit,
};

#[derive(Deserialize)]
struct EndpointName {
    name: Text,
    url: Text,
}

/// Returns the names by id of endpoints whose deliveries the visitor has read. An endpoint without a name has
/// its URL as its name; the name of a deleted one is empty.
pub async fn read<'a>(
    visit: &Visit,
    ids: impl Iterator<Item = &'a String>,
) -> HashMap<String, Text> {
    let mut names = HashMap::new();
    for id in ids {
        if names.contains_key(id) {
            continue;
        }
        let cache = &visit.dashboard.endpoint_names;
        let name = match cache.get(id, visit.dashboard.clock.now()) {
            Some(name) => name,
            None => look_up(visit, id).await,
        };
        names.insert(id.clone(), name);
    }
    names
}

async fn look_up(visit: &Visit, id: &str) -> Text {
    let link = Link::new(format!("/v1/webhooks/{}", segment(id)));
    let found = visit.get::<EndpointName>(link).await.ok();
    let name = found.map(|one| if one.name.is_empty() { one.url } else { one.name });
    let name = name.unwrap_or_default();
    let now = visit.dashboard.clock.now();
    visit.dashboard.endpoint_names.put(id.to_owned(), name.clone(), now);
    name
}
