//! Tenants are created once, found by id or slug, changed and listed.

use std::time::Duration;

use gancho_domain::{Rate, Tenant, tenant::TenantRetention};

use super::{Fixture, build::World};
use crate::StoreError;

fn tenant<F: Fixture>(world: &World<F>, slug: &str) -> Tenant {
    Tenant {
        name: "São João & Søn's \"100 %\" 🪝".to_owned(),
        ..Tenant::new(world.id(), slug, world.now())
    }
}

pub async fn one_is_found_by_id_and_by_slug<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = tenant(&world, "acme");
    let globex = Tenant {
        plan: "Pro".to_owned(),
        default_profile: "email-gateway".to_owned(),
        strict_event_types: true,
        publish_rate: Some(Rate { count: u32::MAX, per: Duration::from_millis(1_500) }),
        retention: TenantRetention {
            events: Some(Duration::from_hours(1)),
            emails: None,
            dead_letters: Some(Duration::from_hours(3660 * 24)),
        },
        ..tenant(&world, "globex")
    };
    for made in [&acme, &globex] {
        let done = world.store.create_tenant(made.clone()).await;
        assert_eq!(done, Ok(()));
    }
    let world = world.reopen().await;
    for made in [acme, globex] {
        let found = world.store.tenant(made.id).await;
        assert_eq!(found, Ok(Some(made.clone())));
        let found = world.store.tenant_by_slug(&made.slug).await;
        assert_eq!(found, Ok(Some(made)));
    }
}

pub async fn a_slug_is_taken_once<F: Fixture>() {
    let world = World::<F>::new().await;
    let first = tenant(&world, "acme");
    let second = tenant(&world, "acme");
    let store = &world.store;
    assert_eq!(store.create_tenant(first.clone()).await, Ok(()));
    let refused = store.create_tenant(second.clone()).await;
    assert!(matches!(refused, Err(StoreError::Taken(_))), "{refused:?}");
    assert_eq!(store.tenant_by_slug("acme").await, Ok(Some(first)));
    assert_eq!(store.tenant(second.id).await, Ok(None));
}

pub async fn a_refused_one_can_come_under_another_slug<F: Fixture>() {
    let world = World::<F>::new().await;
    let store = &world.store;
    let first = tenant(&world, "acme");
    let second = tenant(&world, "acme");
    store.create_tenant(first).await.unwrap();
    assert!(store.create_tenant(second.clone()).await.is_err());
    let second = Tenant { slug: "acme-2".to_owned(), ..second };
    assert_eq!(store.create_tenant(second.clone()).await, Ok(()));
    assert_eq!(store.tenant(second.id).await, Ok(Some(second)));
}

pub async fn one_that_was_never_made_is_not_found<F: Fixture>() {
    let world = World::<F>::new().await;
    let store = &world.store;
    store.create_tenant(tenant(&world, "acme")).await.unwrap();
    assert_eq!(store.tenant(world.id()).await, Ok(None));
    for slug in ["", "acm", "acme ", "ACME", "acm_", "%", "' OR 1=1 --"] {
        assert_eq!(store.tenant_by_slug(slug).await, Ok(None), "{slug:?}");
    }
}

pub async fn a_change_replaces_all_but_the_slug<F: Fixture>() {
    let world = World::<F>::new().await;
    let store = &world.store;
    let [acme, globex] = [tenant(&world, "acme"), tenant(&world, "globex")];
    for made in [&acme, &globex] {
        store.create_tenant(made.clone()).await.unwrap();
    }
    let change = Tenant {
        slug: "globex".to_owned(),
        name: "Acme".to_owned(),
        plan: "Pro".to_owned(),
        default_profile: "email-gateway".to_owned(),
        strict_event_types: true,
        publish_rate: Some(Rate { count: 5, per: Duration::from_secs(1) }),
        retention: TenantRetention { emails: Some(Duration::from_hours(2)), ..Default::default() },
        ..acme.clone()
    };
    assert_eq!(store.change_tenant(change.clone()).await, Ok(true));
    let changed = Tenant { slug: "acme".to_owned(), ..change };
    assert_eq!(store.tenant(acme.id).await, Ok(Some(changed)));
    assert_eq!(store.change_tenant(acme.clone()).await, Ok(true));
    assert_eq!(store.tenant_by_slug("acme").await, Ok(Some(acme)), "and back");
    assert_eq!(store.tenant(globex.id).await, Ok(Some(globex)), "others stay");

    let unknown = tenant(&world, "initech");
    assert_eq!(store.change_tenant(unknown.clone()).await, Ok(false));
    assert_eq!(store.tenant(unknown.id).await, Ok(None));
}

pub async fn the_list_goes_by_slug<F: Fixture>() {
    let world = World::<F>::new().await;
    let store = &world.store;
    assert_eq!(store.tenants(None, 10).await, Ok(vec![]));
    let slugs = ["", "-a", "0", "B", "a", "a-b", "a0", "aB", "a_b", "ab", "b", "é"];
    for slug in slugs.iter().rev() {
        store.create_tenant(tenant(&world, slug)).await.unwrap();
    }
    let list = async |after, max| -> Vec<String> {
        let found = store.tenants(after, max).await.unwrap();
        found.into_iter().map(|tenant| tenant.slug).collect()
    };
    assert_eq!(list(None, 100).await, slugs, "in the order of bytes");
    assert_eq!(list(None, 3).await, slugs[..3]);
    for (place, slug) in slugs.iter().enumerate() {
        assert_eq!(list(Some(slug), 100).await, slugs[place + 1..], "after {slug:?}");
    }
    assert_eq!(list(Some("a1"), 2).await, ["aB", "a_b"], "after one that is not there");
    let one = store.tenants(Some("0"), 1).await.unwrap().remove(0);
    assert_eq!(store.tenant(one.id).await, Ok(Some(one)), "whole");
}
