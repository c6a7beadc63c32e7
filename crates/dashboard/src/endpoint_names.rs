//! The names of endpoints for lists of deliveries, remembered for a while: a page shows the same few again and again, and
//! so do all open pages.

use std::{collections::HashMap, time::Duration};

use gancho_domain::Time;
use parking_lot::Mutex;
use serde::Deserialize;

use crate::{
    escape::Text,
    params::{Link, segment},
    visit::Visit,
};

/// How long a name that was changed is still shown.
const TTL: Duration = Duration::from_secs(10);
const MAX_NAMES: usize = 10_000;

#[derive(Deserialize)]
struct EndpointName {
    name: Text,
    url: Text,
}

#[derive(Default)]
pub struct EndpointNames {
    /// By id; empty for one that is gone.
    known: Mutex<HashMap<String, (Text, Time)>>,
}

impl EndpointNames {
    /// The names by id of endpoints whose deliveries the visitor has read. An endpoint without a name is called by its
    /// URL.
    pub async fn read<'a>(
        &self,
        visit: &Visit,
        ids: impl Iterator<Item = &'a String>,
    ) -> HashMap<String, Text> {
        let mut names = HashMap::new();
        for id in ids {
            if names.contains_key(id) {
                continue;
            }
            let name = match self.get(id, visit.dashboard.clock.now()) {
                Some(name) => name,
                None => self.look_up(visit, id).await,
            };
            names.insert(id.clone(), name);
        }
        names
    }

    fn get(&self, id: &str, now: Time) -> Option<Text> {
        let known = self.known.lock();
        let (name, at) = known.get(id)?;
        (now.since(*at) < TTL).then(|| name.clone())
    }

    async fn look_up(&self, visit: &Visit, id: &str) -> Text {
        let link = Link::new(format!("/v1/webhooks/{}", segment(id)));
        let found = visit.get::<EndpointName>(link).await.ok();
        let name = found.map(|one| if one.name.is_empty() { one.url } else { one.name });
        let name = name.unwrap_or_default();
        let mut known = self.known.lock();
        if known.len() >= MAX_NAMES {
            known.clear();
        }
        known.insert(id.to_owned(), (name.clone(), visit.dashboard.clock.now()));
        name
    }
}
