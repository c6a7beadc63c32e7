//! Tenants are made once and found by id or slug.

use gancho_domain::Tenant;

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
    let globex = tenant(&world, "globex");
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
