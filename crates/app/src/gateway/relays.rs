//! Shares state between the nodes of one database, so that any of them can show it.

use gancho_api::{breaker_relay::BreakerRelay, tail_relay::TailRelay};

use super::Gateway;

pub fn start(gateway: &Gateway) {
    let Gateway { engine, store, tasks, stopping, .. } = gateway;
    let clock = &gateway.base.clock;
    let tails = TailRelay::new(engine.clone(), store.clone(), clock.clone());
    tasks.spawn(tails.run(stopping.clone()));
    let breakers = BreakerRelay::new(engine.clone(), store.clone(), clock.clone());
    tasks.spawn(breakers.run(stopping.clone()));
}
