use gancho_domain::{SystemClock, SystemRandom, Tenant};
use gancho_store::Tenants;
use gancho_store_sqlite::SqliteStore;

use super::*;
use crate::Principal;

async fn stage() -> (ApiKeys, TenantCache, TenantScope) {
    let store = SqliteStore::inline().unwrap();
    let clock = Arc::new(SystemClock);
    let ids = Arc::new(IdMaker::new(clock.clone(), Arc::new(SystemRandom)));
    let keys = ApiKeys::new(store.clone(), ids, clock, TaskTracker::new());
    let tenant = Tenant::new(TenantId::from_bits(3), "m2", Time::from_secs(1));
    let scope = TenantScope::internal(tenant.id);
    store.create_tenant(tenant).await.unwrap();
    (keys, TenantCache::new(store), scope)
}

/// faults.md E7
#[tokio::test]
async fn what_was_revoked_while_it_was_read_does_not_come_back() {
    let (keys, tenants, scope) = stage().await;
    let (key, text) = keys.create(scope, "ci".into(), Rights::ALL, None).await.unwrap();
    let read = keys.cache.get(key.id, |before| async {
        let read = keys.read(key.id, before).await;
        keys.revoke(scope, key.id).await.unwrap();
        read
    });
    assert!(read.await.unwrap().key.as_ref().unwrap().revoked_at.is_none());
    assert!(keys.verify(&tenants, &text).await.unwrap().is_none(), "the store is asked");
}

#[tokio::test]
async fn a_key_is_good_until_it_is_revoked() {
    let (keys, tenants, scope) = stage().await;
    let (key, text) = keys.create(scope, "ci".into(), Rights::ALL, None).await.unwrap();
    let owner = keys.verify(&tenants, &text).await.unwrap().unwrap();
    assert_eq!((owner.scope(), owner.rights()), (scope, Rights::ALL));
    let owner = Principal::Tenant(owner);
    assert_eq!(owner.actor().name, key.id.to_string());
    keys.revoke(scope, key.id).await.unwrap();
    assert!(keys.verify(&tenants, &text).await.unwrap().is_none());
    assert_eq!(keys.revoke(scope, KeyId::from_bits(1)).await, Err(KeyError::NotFound));
    let listed = keys.list(scope, None, 10).await.unwrap();
    assert!(listed.len() == 1 && listed[0].key.revoked_at.is_some(), "{listed:?}");
}

#[test]
fn kept_and_read_without_the_secret() {
    let tenant = TenantId::from_bits(3);
    let rights = Rights::default().with(Right::Read);
    let mut key = ApiKey::new(KeyId::from_bits(9 << 80), tenant, "ci".into(), rights, "s3cret");
    key.expires_at = Some(Time::from_secs(5));
    let body = key.to_bytes().unwrap();
    assert!(!String::from_utf8_lossy(&body).contains("s3cret"));
    let document =
        Document { tenant: Some(tenant), key: key.id.to_string(), body, version: 1, ends_at: None };
    assert_eq!(ApiKey::of_document(&document).unwrap(), key);
    assert!(key.is_valid(Time::from_secs(4)) && !key.is_valid(Time::from_secs(5)));
}

#[tokio::test]
async fn a_tenant_has_a_limited_number_of_keys_that_work() {
    let (keys, _, scope) = stage().await;
    let create = || keys.create(scope, "ci".into(), Rights::ALL, None);
    let (first, _) = create().await.unwrap();
    for _ in 1..MAX_KEYS {
        create().await.unwrap();
    }
    assert_eq!(create().await.unwrap_err(), KeyError::TooMany);
    keys.revoke(scope, first.id).await.unwrap();
    create().await.unwrap();
}
