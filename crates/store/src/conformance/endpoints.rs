//! Endpoints are added, changed, saved, listed and deleted.

use std::{sync::Arc, time::Duration};

use gancho_domain::{
    DisableReason, Endpoint, Health, OldSecret, Ordering, Rate, RetryPlan, State, TenantId,
};

use super::{
    Fixture,
    build::{World, scope, secs},
};
use crate::StoreError;

/// Returns an endpoint in which nothing optional is set.
pub(super) fn plain_endpoint<F: Fixture>(world: &World<F>, tenant: TenantId) -> Endpoint {
    Endpoint {
        id: world.id(),
        tenant,
        name: String::new(),
        external_id: None,
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

/// Returns an endpoint in which everything is set.
fn full_endpoint<F: Fixture>(world: &World<F>, tenant: TenantId) -> Endpoint {
    let patterns = ["*", "invoice.*", "user.created"];
    Endpoint {
        name: "The shop's \"hook\" — 100 % 🪝".to_owned(),
        external_id: Some("Shop_1.São-João".to_owned()),
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
            disabled: Some(DisableReason::Failing),
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
        Endpoint { id: world.id(), external_id: None, plan: Some(exponential), ..full.clone() },
        Endpoint {
            id: world.id(),
            external_id: Some("x".repeat(256)),
            plan: Some(RetryPlan::Schedule(vec![])),
            ..full
        },
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
    // Saved in another order than they were created.
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

pub async fn adding_stops_at_the_limit<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let store = &world.store;
    let add = async |tenant, max_endpoints| {
        let new = plain_endpoint(&world, tenant);
        store.add_endpoint(scope(tenant), new, max_endpoints).await.unwrap()
    };
    assert!(!add(acme, Some(0)).await);
    assert!(add(acme, Some(2)).await);
    assert!(add(acme, Some(2)).await);
    assert!(!add(acme, Some(2)).await);
    assert!(!add(acme, Some(1)).await, "the limit was lowered");
    let made = store.endpoints(scope(acme)).await.unwrap();
    assert_eq!(made.len(), 2);
    assert!(add(globex, Some(1)).await, "each has its own limit");
    assert!(add(acme, None).await, "without one");
    assert!(add(acme, Some(4)).await);
    store.delete_endpoint(scope(acme), made[0].id).await.unwrap();
    assert!(add(acme, Some(4)).await, "a place became free");
}

pub async fn twenty_at_once_do_not_pass_the_limit<F: Fixture>() {
    let world = World::<F>::new().await;
    // More than one round, because a store may still be connecting in the first.
    for round in 0..5 {
        let acme = world.tenant().await;
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..20 {
            let store = Arc::clone(&world.store);
            let new = plain_endpoint(&world, acme);
            calls
                .spawn(async move { store.add_endpoint(scope(acme), new, Some(5)).await.unwrap() });
        }
        let added = calls.join_all().await;
        assert_eq!(added.iter().filter(|added| **added).count(), 5, "round {round}");
        assert_eq!(world.store.endpoints(scope(acme)).await.unwrap().len(), 5);
    }
}

pub async fn an_id_is_added_once<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let store = &world.store;
    let first = full_endpoint(&world, acme);
    assert_eq!(store.add_endpoint(scope(acme), first.clone(), None).await, Ok(true));
    let second = Endpoint { id: first.id, ..plain_endpoint(&world, acme) };
    let refused = store.add_endpoint(scope(acme), second, None).await;
    assert!(matches!(refused, Err(StoreError::Taken(_))), "{refused:?}");
    assert_eq!(store.endpoint(scope(acme), first.id).await, Ok(Some(first)));
}

pub async fn an_external_id_is_of_one<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let store = &world.store;
    let named = |tenant, name: &str| Endpoint {
        external_id: Some(name.to_owned()),
        ..plain_endpoint(&world, tenant)
    };
    let is_taken = |refused: &Result<_, StoreError>| matches!(refused, Err(StoreError::Taken(_)));
    let main = named(acme, "main");
    assert_eq!(store.add_endpoint(scope(acme), main.clone(), None).await, Ok(true));
    let second = store.add_endpoint(scope(acme), named(acme, "main"), None).await;
    assert!(is_taken(&second), "{second:?}");
    let other = named(globex, "main");
    assert_eq!(store.add_endpoint(scope(globex), other.clone(), None).await, Ok(true));
    assert_eq!(store.add_endpoint(scope(acme), named(acme, "Main"), None).await, Ok(true));

    let plain = plain_endpoint(&world, acme);
    store.add_endpoint(scope(acme), plain.clone(), None).await.unwrap();
    let named_later = Endpoint { external_id: main.external_id.clone(), ..plain.clone() };
    let change = store.change_endpoint(scope(acme), named_later.clone()).await;
    assert!(is_taken(&change), "{change:?}");
    let saved = store.save_endpoint(scope(acme), named_later.clone()).await;
    assert!(matches!(saved, Err(StoreError::Taken(_))), "{saved:?}");
    assert_eq!(store.endpoint(scope(acme), plain.id).await, Ok(Some(plain.clone())));

    let find = async |tenant, name| {
        store.endpoint_by_external_id(scope(tenant), name).await.unwrap().map(|found| found.id)
    };
    assert_eq!(find(acme, "main").await, Some(main.id));
    assert_eq!(find(globex, "main").await, Some(other.id));
    assert_eq!(find(acme, "nobody").await, None);
    // An endpoint keeps its own external id; the id is free once it is given up or its endpoint is deleted.
    assert_eq!(store.change_endpoint(scope(acme), main.clone()).await, Ok(true));
    let given_up = Endpoint { external_id: None, version: 2, ..main.clone() };
    assert_eq!(store.change_endpoint(scope(acme), given_up).await, Ok(true));
    assert_eq!(find(acme, "main").await, None);
    assert_eq!(store.change_endpoint(scope(acme), named_later).await, Ok(true));
    assert_eq!(find(acme, "main").await, Some(plain.id));
    assert!(store.delete_endpoint(scope(acme), plain.id).await.unwrap());
    assert_eq!(store.add_endpoint(scope(acme), named(acme, "main"), None).await, Ok(true));
}

pub async fn of_twenty_with_one_external_id_one_is_added<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    for round in 0..5 {
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..20 {
            let store = Arc::clone(&world.store);
            let new = Endpoint {
                external_id: Some(format!("round-{round}")),
                ..plain_endpoint(&world, acme)
            };
            calls.spawn(async move { store.add_endpoint(scope(acme), new, None).await });
        }
        let added = calls.join_all().await;
        let count = added.iter().filter(|added| **added == Ok(true)).count();
        let refused = added.iter().filter(|added| matches!(added, Err(StoreError::Taken(_))));
        assert_eq!((count, refused.count()), (1, 19), "{added:?}");
    }
    assert_eq!(world.store.endpoints(scope(acme)).await.unwrap().len(), 5);
}

pub async fn a_change_needs_the_version_that_is_there<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let store = &world.store;
    let plain = plain_endpoint(&world, acme);
    assert_eq!(store.change_endpoint(scope(acme), plain.clone()).await, Ok(false), "not there");
    assert_eq!(store.endpoints(scope(acme)).await, Ok(vec![]));
    store.add_endpoint(scope(acme), plain.clone(), None).await.unwrap();

    let change = Endpoint { id: plain.id, version: 1, ..full_endpoint(&world, acme) };
    assert_eq!(store.change_endpoint(scope(acme), change.clone()).await, Ok(true));
    let changed = Endpoint { version: 2, ..change };
    let found = store.endpoint(scope(acme), plain.id).await;
    assert_eq!(found, Ok(Some(changed.clone())), "whole, not merged");
    for version in [0, 1, 3] {
        let late = Endpoint { version, ..plain.clone() };
        assert_eq!(store.change_endpoint(scope(acme), late).await, Ok(false), "{version}");
    }
    let found = store.endpoint(scope(acme), plain.id).await;
    assert_eq!(found, Ok(Some(changed)), "nothing was written");
}

pub async fn of_many_changers_one_wins<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let plain = plain_endpoint(&world, acme);
    world.store.add_endpoint(scope(acme), plain.clone(), None).await.unwrap();
    for version in 1..=3 {
        let mut calls = tokio::task::JoinSet::new();
        for n in 0..20 {
            let store = Arc::clone(&world.store);
            let change = Endpoint { name: format!("by {n}"), version, ..plain.clone() };
            calls.spawn(async move {
                let won = store.change_endpoint(scope(acme), change.clone()).await.unwrap();
                won.then_some(change.name)
            });
        }
        let won: Vec<_> = calls.join_all().await.into_iter().flatten().collect();
        assert_eq!(won.len(), 1, "{won:?}");
        let found = world.store.endpoint(scope(acme), plain.id).await.unwrap().unwrap();
        assert_eq!((&found.name, found.version), (&won[0], version + 1));
    }
}

pub async fn the_newest_come_first_page_by_page<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let mut made = Vec::new();
    for _ in 0..7 {
        let endpoint = plain_endpoint(&world, acme);
        made.push(endpoint.id);
        world.store.save_endpoint(scope(acme), endpoint).await.unwrap();
        let strange = plain_endpoint(&world, globex);
        world.store.save_endpoint(scope(globex), strange).await.unwrap();
    }
    made.reverse();
    for max in [1, 3, 7, 50] {
        let (mut found, mut before) = (Vec::new(), None);
        loop {
            let page = world.store.newest_endpoints(scope(acme), before, max).await.unwrap();
            assert!(page.len() <= max);
            let Some(last) = page.last() else { break };
            before = Some(last.id);
            found.extend(page.iter().map(|endpoint| endpoint.id));
        }
        assert_eq!(found, made, "pages of {max}");
    }
}

pub async fn their_version_rises_with_every_change<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let store = &world.store;
    let version = async |tenant| store.endpoints_version(scope(tenant)).await.unwrap();
    let (one, two) = (plain_endpoint(&world, acme), plain_endpoint(&world, acme));
    let mut last = version(acme).await;
    let mut rises = async |what| {
        let next = version(acme).await;
        assert!(next > last, "{what}: {last} and then {next}");
        last = next;
    };
    assert!(store.add_endpoint(scope(acme), one.clone(), Some(2)).await.unwrap());
    rises("added").await;
    store.save_endpoint(scope(acme), two.clone()).await.unwrap();
    rises("saved").await;
    store.save_endpoint(scope(acme), two.clone()).await.unwrap();
    rises("saved again").await;
    assert!(store.change_endpoint(scope(acme), one.clone()).await.unwrap());
    rises("changed").await;
    assert!(store.delete_endpoint(scope(acme), two.id).await.unwrap());
    rises("deleted").await;

    let before = (version(acme).await, version(globex).await);
    assert!(!store.change_endpoint(scope(acme), one.clone()).await.unwrap(), "an old version");
    assert!(!store.add_endpoint(scope(acme), two.clone(), Some(1)).await.unwrap(), "too many");
    assert!(!store.delete_endpoint(scope(acme), two.id).await.unwrap(), "it is gone");
    assert_eq!((version(acme).await, version(globex).await), before, "nothing was changed");
    store.save_endpoint(scope(globex), plain_endpoint(&world, globex)).await.unwrap();
    assert_eq!(version(acme).await, before.0, "another tenant's");
    let world = world.reopen().await;
    let again = world.store.endpoints_version(scope(acme)).await;
    assert_eq!(again, Ok(before.0), "after a restart");
}
