//! API keys that are about to expire although they are in use, and that no other key replaces.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    time::Duration,
};

use gancho_domain::{TenantId, TenantScope, Time};
use gancho_store::{Collection, Result, Store};

use crate::api_key::{ApiKey, COLLECTION, RETENTION_AFTER_END, USED_COLLECTION, used_at};

/// How recently a key must have been used to count as in use.
const IN_USE: Duration = Duration::from_hours(7 * 24);
const MAX_KEYS: usize = 500;
const KEYS_PER_PAGE: usize = 500;
/// Maximum keys that are read; each tenant can have [`MAX_KEYS`] that end soon.
const MAX_READ: usize = 10_000;
/// Maximum keys of a tenant that are returned.
const MAX_OF_TENANT: usize = 5;
/// Maximum keys of a tenant whose last use is looked up.
const MAX_LOOKUPS: usize = 100;

/// What was found of a tenant.
struct TenantKeys {
    all: Vec<ApiKey>,
    lookups: usize,
    returned: usize,
}

/// Returns at most `max` keys of all tenants that expire within this time, earliest first. A key that was created
/// later and is valid for longer replaces those before it. Keys that are unused or replaced, and many keys of one
/// tenant, hide no key of another.
pub async fn expiring_keys(
    store: &dyn Store,
    now: Time,
    within: Duration,
    max: usize,
) -> Result<Vec<ApiKey>> {
    let mut from = now + RETENTION_AFTER_END;
    let until = from + within;
    let (mut expiring, mut tenants) = (Vec::new(), HashMap::new());
    let (mut read, mut seen, mut page_size) = (0, HashSet::new(), KEYS_PER_PAGE);
    while read < MAX_READ {
        let page = store.documents_ending(COLLECTION, from, until, page_size).await?;
        read += page.len();
        let is_last = page.len() < page_size;
        let start = from;
        for document in &page {
            // A page begins with the time at which the last one ended, so some of its keys are known.
            if !seen.insert((document.tenant, document.key.clone())) {
                continue;
            }
            let key = ApiKey::of_document(document)?;
            let Some(end) = key.expires_at.filter(|_| key.is_valid(now)) else { continue };
            from = from.max(end + RETENTION_AFTER_END);
            if needs_successor(store, &mut tenants, &key, now).await? {
                expiring.push(key);
                if expiring.len() == max {
                    return Ok(expiring);
                }
            }
        }
        if is_last {
            break;
        }
        if from == start {
            // More keys end at the same time than fit.
            page_size *= 2;
        }
    }
    Ok(expiring)
}

async fn needs_successor(
    store: &dyn Store,
    tenants: &mut HashMap<TenantId, TenantKeys>,
    key: &ApiKey,
    now: Time,
) -> Result<bool> {
    let scope = TenantScope::internal(key.tenant);
    let own = match tenants.entry(key.tenant) {
        Entry::Occupied(own) => own.into_mut(),
        Entry::Vacant(place) => {
            let all = store.documents(Collection::of(scope, COLLECTION), None, MAX_KEYS).await?;
            let all = all.iter().map(ApiKey::of_document).collect::<Result<_>>()?;
            place.insert(TenantKeys { all, lookups: 0, returned: 0 })
        }
    };
    let replaces = |other: &ApiKey| {
        other.created_at > key.created_at
            && other.is_valid(now)
            && other.expires_at.is_none_or(|later| Some(later) > key.expires_at)
    };
    let is_passed_over = own.returned == MAX_OF_TENANT || own.lookups == MAX_LOOKUPS;
    if is_passed_over || own.all.iter().any(replaces) {
        return Ok(false);
    }
    own.lookups += 1;
    let used = Collection::of(scope, USED_COLLECTION);
    let used = store.document(used, &key.id.to_string()).await?.as_ref().and_then(used_at);
    let is_in_use = used.is_some_and(|at| now.since(at) <= IN_USE);
    own.returned += usize::from(is_in_use);
    Ok(is_in_use)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gancho_domain::{IdMaker, ManualClock, SeededRandom};
    use gancho_store::Precondition;
    use gancho_store_sqlite::SqliteStore;

    use super::*;
    use crate::{Rights, api_key::KeyId};

    const START: Time = Time::from_secs(1_763_000_000);
    const WEEK: Duration = Duration::from_hours(7 * 24);

    /// Stores keys that were created one after the other and end at these times.
    async fn store_keys(store: &dyn Store, ids: &IdMaker, tenant: u128, ends: &[Time], used: bool) {
        let tenant = TenantId::from_bits(tenant);
        let scope = TenantScope::internal(tenant);
        for end in ends {
            let id: KeyId = ids.make();
            let rights = Rights::default();
            let mut key = ApiKey::new(id, tenant, "a key".to_owned(), rights, "secret");
            key.expires_at = Some(*end);
            let keys = Collection::of(scope, COLLECTION);
            key.put(store, keys, Precondition::Nothing).await.unwrap();
            if used {
                let (uses, id) = (Collection::of(scope, USED_COLLECTION), id.to_string());
                let at = START.micros().to_string().into();
                store.put_document(uses, &id, at, Precondition::Nothing).await.unwrap();
            }
        }
    }

    #[tokio::test]
    async fn keys_that_end_soon_hide_no_key_of_another_tenant() {
        let store: Arc<dyn Store> = SqliteStore::inline().unwrap();
        let clock = Arc::new(ManualClock::at_secs(START.secs()));
        let ids = IdMaker::new(clock, Arc::new(SeededRandom::new(1)));
        let minute = |number: u32| START + Duration::from_mins(number.into());
        let earlier_first: Vec<Time> = (1..=60).rev().map(minute).collect();
        store_keys(&*store, &ids, 1, &earlier_first, false).await;
        store_keys(&*store, &ids, 2, &earlier_first, true).await;
        // More than a page that end at the same time.
        store_keys(&*store, &ids, 3, &[minute(90); 300], false).await;
        store_keys(&*store, &ids, 4, &[minute(90); 300], false).await;
        store_keys(&*store, &ids, 5, &[minute(100)], true).await;
        let found = expiring_keys(&*store, START, WEEK, 50).await.unwrap();
        let tenants: Vec<u128> = found.iter().map(|key| key.tenant.bits()).collect();
        assert_eq!(tenants, [2, 2, 2, 2, 2, 5]);
        assert_eq!(expiring_keys(&*store, START, WEEK, 2).await.unwrap().len(), 2);
    }
}
