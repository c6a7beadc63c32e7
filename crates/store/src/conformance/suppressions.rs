//! Addresses that get no more e-mails: the first entry stays, unless a later one replaces it.

use gancho_domain::Time;

use super::{
    Fixture,
    build::{START, World, scope, secs},
};
use crate::{NewSuppression, Suppression};

fn of(address: &str, reason: &str, since: Time) -> Suppression {
    let (address, reason) = (address.to_owned(), reason.to_owned());
    Suppression { address, detail: Some(format!("why {reason}")), reason, since }
}

fn new(suppression: &Suppression, replaces: bool) -> NewSuppression {
    NewSuppression { suppression: suppression.clone(), replaces }
}

pub async fn one_reads_back_as_it_was_put<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = scope(world.tenant().await);
    let one = of("ana@example.com", "bounce", world.now());
    let two = Suppression { detail: None, ..of("bo@example.com", "manual", world.now()) };
    let all = vec![new(&one, false), new(&two, false)];
    assert_eq!(world.store.suppress(acme, all).await, Ok(2));
    assert_eq!(world.store.suppress(acme, vec![]).await, Ok(0));
    let world = world.reopen().await;
    assert_eq!(world.store.suppression(acme, "ana@example.com").await, Ok(Some(one.clone())));
    assert_eq!(world.store.suppression(acme, "Ana@example.com").await, Ok(None));
    assert_eq!(world.store.suppressions(acme, None, 10).await, Ok(vec![one, two]));
}

pub async fn the_first_stays_unless_it_is_replaced<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = scope(world.tenant().await);
    let first = of("ana@example.com", "bounce", world.now());
    assert_eq!(world.store.suppress(acme, vec![new(&first, false)]).await, Ok(1));
    world.pass(secs(1));
    let second = of("ana@example.com", "manual", world.now());
    assert_eq!(world.store.suppress(acme, vec![new(&second, false)]).await, Ok(0));
    assert_eq!(world.store.suppression(acme, "ana@example.com").await, Ok(Some(first)));
    assert_eq!(world.store.suppress(acme, vec![new(&second, true)]).await, Ok(0));
    assert_eq!(world.store.suppression(acme, "ana@example.com").await, Ok(Some(second)));
    let new_one = of("new@example.com", "complaint", world.now());
    assert_eq!(world.store.suppress(acme, vec![new(&new_one, true)]).await, Ok(1));
}

pub async fn an_address_may_come_twice_in_one_call<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = scope(world.tenant().await);
    let (first, second) = (of("a@b.example", "one", world.now()), of("a@b.example", "two", START));
    let both = vec![new(&first, false), new(&second, false)];
    assert_eq!(world.store.suppress(acme, both).await, Ok(1));
    assert_eq!(world.store.suppression(acme, "a@b.example").await, Ok(Some(first.clone())));
    let (first, second) = (of("c@d.example", "one", START), of("c@d.example", "two", START));
    let both = vec![new(&first, false), new(&second, true)];
    assert_eq!(world.store.suppress(acme, both).await, Ok(1));
    assert_eq!(world.store.suppression(acme, "c@d.example").await, Ok(Some(second)));
}

pub async fn the_list_goes_by_the_bytes_of_addresses<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = scope(world.tenant().await);
    let order = ["%", "B@x", "_", "a@x", "a@x.y", "aB", "z", "Ä@x", "é"];
    let all = order.iter().rev().map(|address| new(&of(address, "bounce", START), false));
    assert_eq!(world.store.suppress(acme, all.collect()).await, Ok(9));
    let found = async |after, max| {
        let found = world.store.suppressions(acme, after, max).await.unwrap();
        found.into_iter().map(|one| one.address).collect::<Vec<_>>()
    };
    assert_eq!(found(None, 100).await, order);
    assert_eq!(found(Some("a@x"), 2).await, ["a@x.y", "aB"]);
    assert_eq!(found(Some("b"), 100).await, order[6..], "after one that is not there");
}

pub async fn a_removed_one_is_gone<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [scope(world.tenant().await), scope(world.tenant().await)];
    let one = of("ana@example.com", "bounce", START);
    for scope in [acme, globex] {
        assert_eq!(
            world.store.suppress(scope, vec![new(&one, false)]).await,
            Ok(1),
            "each its own"
        );
    }
    assert_eq!(world.store.remove_suppression(acme, "ana@example.com").await, Ok(true));
    assert_eq!(world.store.remove_suppression(acme, "ana@example.com").await, Ok(false));
    assert_eq!(world.store.suppression(acme, "ana@example.com").await, Ok(None));
    assert_eq!(world.store.suppressions(acme, None, 10).await, Ok(vec![]));
    assert_eq!(world.store.suppression(globex, "ana@example.com").await, Ok(Some(one)));
}
