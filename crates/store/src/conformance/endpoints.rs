//! Endpoints are saved, replaced, listed and deleted.

use std::time::Duration;

use gancho_domain::{
    Disabled, Endpoint, Health, OldSecret, Ordering, Rate, RetryPlan, State, TenantId,
};

use super::{
    Fixture,
    build::{World, scope, secs},
};

/// One with nothing set that can be left unset.
pub(super) fn plain_endpoint<F: Fixture>(world: &World<F>, tenant: TenantId) -> Endpoint {
    Endpoint {
        id: world.id(),
        tenant,
        name: String::new(),
        url: "https://shop.example/hooks".to_owned(),
        events: vec![],
        sealed_secret: vec![],
        old_secrets: vec![],
        sealed_headers: None,
        metadata: "{}".to_owned(),
        profile: "standard".to_owned(),
        is_active: true,
        ordering: Ordering::BestEffort,
        plan: None,
        timeout: None,
        max_in_flight: None,
        rate: None,
        health: Health::default(),
        created_at: world.now(),
        updated_at: world.now(),
        version: 1,
    }
}

/// One with everything set.
fn full_endpoint<F: Fixture>(world: &World<F>, tenant: TenantId) -> Endpoint {
    let patterns = ["*", "invoice.*", "user.created"];
    Endpoint {
        name: "The shop's \"hook\" — 100 % 🪝".to_owned(),
        url: "https://shop.example/hooks?a=b&c=%20'--".to_owned(),
        events: patterns.map(|text| text.parse().unwrap()).to_vec(),
        sealed_secret: (0..=255).collect(),
        old_secrets: vec![
            OldSecret { sealed: (0..=255).rev().collect(), until: world.now() + secs(86_400) },
            OldSecret { sealed: vec![7], until: world.now() },
        ],
        sealed_headers: Some((0..=255).collect()),
        metadata: r#"{"team":"São João","n":[1, 2.50]}"#.to_owned(),
        profile: "email-gateway".to_owned(),
        is_active: false,
        ordering: Ordering::PerSubject,
        plan: Some(RetryPlan::Schedule([1, 60, 86_400].map(Duration::from_secs).to_vec())),
        timeout: Some(Duration::from_millis(2_500)),
        max_in_flight: Some(u32::MAX),
        rate: Some(Rate { count: u32::MAX, per: Duration::from_millis(1_500) }),
        health: Health {
            failing_since: Some(world.now() - secs(3_600)),
            warned_at: Some(world.now() - secs(60)),
            disabled: Some(Disabled::Failing),
        },
        updated_at: world.now() + secs(5),
        version: 7,
        ..plain_endpoint(world, tenant)
    }
}

pub async fn every_field_reads_back<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let full = full_endpoint(&world, acme);
    let exponential = RetryPlan::Exponential {
        base: Duration::from_millis(500),
        max: Duration::from_hours(1),
        attempts: 12,
    };
    let saved = [
        plain_endpoint(&world, acme),
        full.clone(),
        Endpoint { id: world.id(), plan: Some(exponential), ..full.clone() },
        Endpoint { id: world.id(), plan: Some(RetryPlan::Schedule(vec![])), ..full },
    ];
    for endpoint in &saved {
        let store = &world.store;
        let done = store.save_endpoint(scope(acme), endpoint.clone()).await;
        assert_eq!(done, Ok(()));
    }
    let world = world.reopen().await;
    for endpoint in saved {
        let found = world.store.endpoint(scope(acme), endpoint.id).await;
        assert_eq!(found, Ok(Some(endpoint)));
    }
}

pub async fn saving_again_replaces<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let store = &world.store;
    let plain = plain_endpoint(&world, acme);
    let full = Endpoint { id: plain.id, ..full_endpoint(&world, acme) };
    for (saved, version) in [(&plain, 1), (&full, 2), (&plain, 3)] {
        let done = store.save_endpoint(scope(acme), saved.clone()).await;
        assert_eq!(done, Ok(()));
        let found = store.endpoint(scope(acme), plain.id).await;
        let expected = Endpoint { version, ..saved.clone() };
        assert_eq!(found, Ok(Some(expected)), "whole, not merged");
        assert_eq!(store.endpoints(scope(acme)).await.unwrap().len(), 1);
    }
}

pub async fn the_list_is_the_tenants_oldest_first<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let store = &world.store;
    let mut made = Vec::new();
    for _ in 0..30 {
        made.push(plain_endpoint(&world, acme));
        world.pass(secs(1));
    }
    // Saved in another order than they were made.
    for endpoint in made.iter().rev() {
        let done = store.save_endpoint(scope(acme), endpoint.clone()).await;
        assert_eq!(done, Ok(()));
    }
    let other = plain_endpoint(&world, globex);
    store.save_endpoint(scope(globex), other).await.unwrap();
    made[7].is_active = false;
    let changed = made[7].clone();
    store.save_endpoint(scope(acme), changed).await.unwrap();
    made[7].version += 1;
    assert_eq!(store.endpoints(scope(acme)).await, Ok(made));
}

pub async fn a_deleted_one_is_gone_but_its_deliveries_stay<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let store = &world.store;
    let [shop, crm] = [plain_endpoint(&world, acme), plain_endpoint(&world, acme)];
    for endpoint in [&shop, &crm] {
        let done = store.save_endpoint(scope(acme), endpoint.clone()).await;
        assert_eq!(done, Ok(()));
    }
    let delivery = world.due(acme, shop.id).await;

    assert_eq!(store.delete_endpoint(scope(acme), shop.id).await, Ok(true));
    assert_eq!(store.delete_endpoint(scope(acme), shop.id).await, Ok(false));
    assert_eq!(store.endpoint(scope(acme), shop.id).await, Ok(None));
    assert_eq!(store.endpoints(scope(acme)).await, Ok(vec![crm]));
    let row = world.see(acme, delivery).await.row;
    assert_eq!((row.state, row.target), (State::Pending, shop.id));
    assert_eq!(world.take_one().await.delivery, delivery);
}

pub async fn one_that_was_never_saved_is_not_found<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let unknown = world.target();
    let store = &world.store;
    assert_eq!(store.endpoint(scope(acme), unknown).await, Ok(None));
    assert_eq!(store.endpoints(scope(acme)).await, Ok(vec![]));
    assert_eq!(store.delete_endpoint(scope(acme), unknown).await, Ok(false));
}
