//! The engine and the real store in virtual time, under every failure that can happen.
//!
//! A seed determines a run: the tenants and targets, how the targets behave, what breaks and when. The same
//! seed gives the same run. `GANCHO_SIM_SEEDS=n` sets how many seeds are run (default: 2,000),
//! `GANCHO_SIM_SEED=n` runs one alone.

#![allow(clippy::expect_used, clippy::panic, reason = "a test")]

mod calls;
mod check;
mod clock;
mod nemesis;
mod node;
mod proxy;
mod publisher;
mod run;
mod sabotage;
mod scenario;
mod tap;
mod target;
mod world;

use std::sync::atomic::{AtomicU64, Ordering};

use check::Promise;
use run::Report;
use sabotage::Sabotage;
use scenario::{Behavior, Scenario};

fn number(name: &str) -> Option<u64> {
    #[expect(clippy::disallowed_methods, reason = "which seed runs is said from outside")]
    let asked = std::env::var(name);
    asked.ok().map(|text| text.parse().expect("a number"))
}

/// Returns what to print when a seed fails: how to run it alone, and how it ended.
fn explain(seed: u64, report: &Report) -> String {
    let last = report.log.len().saturating_sub(number("GANCHO_SIM_TRACE").unwrap_or(60) as usize);
    let trace: Vec<String> =
        report.log[last..].iter().map(|(at, what)| format!("{at:>12.3?} {what:?}")).collect();
    let broken: Vec<String> = report
        .faults
        .iter()
        .take(10)
        .map(|fault| format!("  {:?}: {}", fault.promise, fault.how))
        .collect();
    format!(
        "seed {seed} breaks {} promises:\n{}\nThe last that happened:\n{}\n\
         {:?}\nTo run it alone: GANCHO_SIM_SEED={seed} cargo test -p gancho-engine --test simulation",
        report.faults.len(),
        broken.join("\n"),
        trace.join("\n"),
        Scenario::of(seed),
    )
}

#[test]
fn every_seed_keeps_the_promises() {
    if let Some(seed) = number("GANCHO_SIM_SEED") {
        let report = run::seed(seed, Sabotage::None);
        assert!(report.faults.is_empty(), "{}", explain(seed, &report));
        return;
    }
    let max = number("GANCHO_SIM_SEEDS").unwrap_or(2_000);
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= max {
                        return;
                    }
                    let report = run::seed(seed, Sabotage::None);
                    if !report.faults.is_empty() {
                        next.store(max, Ordering::Relaxed);
                        panic!("{}", explain(seed, &report));
                    }
                }
            });
        }
    });
}

// faults.md 0
#[test]
fn healthy_targets_do_not_notice_a_crowd_that_hangs() {
    let seeds = match number("GANCHO_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("GANCHO_SIM_SEEDS").unwrap_or(2_000).div_ceil(40),
    };
    for seed in seeds {
        let report = run::crowd(seed, Sabotage::None);
        assert!(report.faults.is_empty(), "beside a crowd, {}", explain(seed, &report));
    }
    let notices = |seed| {
        let report = run::crowd(seed, Sabotage::OnePool);
        report.faults.iter().any(|fault| fault.promise == Promise::NobodyStarves)
    };
    assert!((0..5).any(notices), "that all targets share one pool was not noticed");
}

// faults.md 0
#[test]
fn healthy_tenants_do_not_notice_hundreds_that_hang() {
    let seeds = match number("GANCHO_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("GANCHO_SIM_SEEDS").unwrap_or(2_000).div_ceil(200),
    };
    for seed in seeds {
        let report = run::crowd_of_tenants(seed, Sabotage::None);
        assert!(report.faults.is_empty(), "beside a crowd of tenants, {}", explain(seed, &report));
    }
    let notices = |seed| {
        let report = run::crowd_of_tenants(seed, Sabotage::OnePool);
        report.faults.iter().any(|fault| fault.promise == Promise::NobodyStarves)
    };
    assert!((0..5).any(notices), "that all targets share one pool was not noticed");
}

/// Turns keep a tenant with a backlog from delaying others where targets answer at once; where they take longer, its share
/// of the pool does.
#[test]
fn tenants_that_publish_little_do_not_wait_behind_backlogs() {
    for (behavior, sabotage) in
        [(Behavior::Fast, Sabotage::NoTurns), (Behavior::Moderate, Sabotage::OneTenant)]
    {
        let seeds = match number("GANCHO_SIM_SEED") {
            Some(seed) => seed..seed + 1,
            None => 0..number("GANCHO_SIM_SEEDS").unwrap_or(2_000).div_ceil(400),
        };
        for seed in seeds {
            let report = run::backlogs(seed, behavior, Sabotage::None);
            assert!(report.faults.is_empty(), "beside backlogs, {}", explain(seed, &report));
        }
        let notices = |seed| {
            let report = run::backlogs(seed, behavior, sabotage);
            report.faults.iter().any(|fault| fault.promise == Promise::NobodyStarves)
        };
        assert!((0..5).any(notices), "{sabotage:?} was not noticed");
    }
}

#[test]
fn the_same_seed_is_the_same_run() {
    for seed in 0..20 {
        let (first, second) = (run::seed(seed, Sabotage::None), run::seed(seed, Sabotage::None));
        assert_eq!(first.log, second.log, "seed {seed}");
    }
}

/// A check that cannot fail is no check: each must notice the fault that it exists for.
#[test]
fn every_check_can_fail() {
    for (sabotage, promise) in [
        (Sabotage::LoseAccepted, Promise::NothingLost),
        (Sabotage::DropSettle, Promise::NothingLeft),
        (Sabotage::SettleTwice, Promise::AttemptsTrue),
        (Sabotage::NoFence, Promise::DuplicatesExcused),
        (Sabotage::DropHeartbeat, Promise::LeaseRespected),
        (Sabotage::OwnLeaseTime, Promise::LeaseRespected),
        (Sabotage::OwnClock, Promise::NothingEarly),
        (Sabotage::ClaimTwice, Promise::DuplicatesExcused),
        (Sabotage::IgnoreOrder, Promise::InOrder),
        (Sabotage::Starve, Promise::NobodyStarves),
        (Sabotage::Overfill, Promise::MemoryBounded),
    ] {
        let notices = |seed| {
            let report = run::seed(seed, sabotage);
            report.faults.iter().any(|fault| fault.promise == promise)
        };
        let mut seeds = (0..1_000).filter(|seed| sabotage.matters_to(&Scenario::of(*seed)));
        assert!(seeds.any(notices), "{sabotage:?} was not noticed as {promise:?}");
    }
}
