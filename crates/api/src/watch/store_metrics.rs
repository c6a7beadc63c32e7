//! Metrics read from the store, and the scheduler's shares of tenants.

use std::fmt::Error;

use gancho_domain::Lane;
use gancho_engine::{TenantCount, scheduler::Share};
use gancho_store::LaneDepth;

use super::{
    metric::Writer,
    observe::{DeadLetterSnapshot, StoreSnapshot},
};

pub fn encode(snapshot: &StoreSnapshot, to: &mut Writer<'_>) -> Result<(), Error> {
    queues(snapshot, to)?;
    dead(&snapshot.dead, to)?;
    tenants(snapshot, to)?;
    store(snapshot, to)?;
    cells(snapshot, to)
}

fn queues(snapshot: &StoreSnapshot, to: &mut Writer<'_>) -> Result<(), Error> {
    let depths = snapshot.depths.iter().flat_map(|depth| by_state(&depth.of));
    to.gauge(
        "gancho_queue_depth",
        "Deliveries in the store: pending (due now or later), leased (held by a node), waiting (behind an earlier one of their subject).",
        depths,
    )?;
    let ages = snapshot
        .depths
        .iter()
        .map(|depth| (vec![("lane", depth.of.lane.name())], depth.age.as_secs_f64()));
    to.gauge(
        "gancho_queue_age_seconds",
        "How long the oldest pending delivery has been due.",
        ages,
    )?;
    let intake = [("waiting", snapshot.intake.waiting), ("rejected", snapshot.intake.rejected)];
    to.gauge(
        "gancho_intake_events",
        "Events published from SQL: waiting to be accepted, and rejected; each counted up to 100,000.",
        intake.map(|(state, count)| (vec![("state", state)], count as f64)),
    )
}

type Sample<'a> = (Vec<(&'static str, &'a str)>, f64);

fn by_state(of: &LaneDepth) -> [Sample<'static>; 3] {
    [("pending", of.pending), ("leased", of.leased), ("waiting", of.waiting)]
        .map(|(state, count)| (vec![("lane", of.lane.name()), ("state", state)], count as f64))
}

fn dead(dead: &DeadLetterSnapshot, to: &mut Writer<'_>) -> Result<(), Error> {
    let sizes = Lane::ALL.into_iter().map(|lane| {
        let count = dead.by_lane.get(&lane).copied().unwrap_or(0);
        (vec![("lane", lane.name())], count as f64)
    });
    to.gauge("dlq_size", "Dead letters in the store.", sizes)?;
    let age = [(vec![], dead.age.as_secs_f64())];
    to.gauge("gancho_dlq_oldest_age_seconds", "Age of the oldest dead letter.", age)?;
    let ages = dead.ages.clone().map(|ages| (vec![], ages));
    to.histogram("dlq_age_seconds", "Ages of the dead letters in the store.", ages)?;
    let codes =
        dead.by_code.iter().map(|(code, count)| (vec![("code", code.as_str())], *count as f64));
    to.gauge(
        "gancho_dead_letters_by_code",
        "Dead letters in the store by failure code; the rest as `other`.",
        codes,
    )?;
    let names =
        dead.by_name.iter().map(|(name, count)| (vec![(name.label, &*name.text)], *count as f64));
    to.gauge(
        "gancho_dead_letters_by_tenant",
        "Dead letters in the store by tenant or partner, for those with the most; the rest as `other`.",
        names,
    )
}

/// The scheduler's shares of the busiest tenants.
fn tenants(snapshot: &StoreSnapshot, to: &mut Writer<'_>) -> Result<(), Error> {
    let rows = |pick: fn(&Share) -> f64| {
        snapshot.shares.iter().flat_map(move |(lane, shares)| {
            shares.iter().map(move |one| {
                let name = (one.name.label, &*one.name.text);
                (vec![("lane", lane.name()), name], pick(&one.share))
            })
        })
    };
    counted_tenants(snapshot, to)?;
    to.gauge(
        "tenant_current_priority",
        "Scheduling priority of a tenant, from 5 (just served) to 1 (most urgent).",
        rows(|share| f64::from(share.priority)),
    )?;
    to.gauge(
        "tenant_consecutive_batch",
        "Consecutive deliveries dispatched for a tenant.",
        rows(|share| f64::from(share.consecutive)),
    )?;
    to.gauge(
        "tenant_rounds_without_processing",
        "Turns of other tenants since a tenant was last served.",
        rows(|share| share.rounds_waited as f64),
    )
}

/// What this node did for the busiest tenants.
fn counted_tenants(snapshot: &StoreSnapshot, to: &mut Writer<'_>) -> Result<(), Error> {
    let rows = |pick: fn(&TenantCount) -> u64| {
        snapshot.tenants.iter().flat_map(move |(lane, tenants)| {
            tenants.iter().map(move |(name, count)| {
                (vec![("lane", lane.name()), (name.label, &*name.text)], pick(count))
            })
        })
    };
    to.counter(
        "tenant_jobs_processed",
        "Attempts made for a tenant or partner; those without a name of their own as `other`.",
        rows(|count| count.processed),
    )?;
    to.counter(
        "dlq_by_company",
        "Deliveries that became dead letters, by tenant or partner.",
        rows(|count| count.dead_letters),
    )?;
    let times = snapshot.tenants.iter().flat_map(|(lane, tenants)| {
        tenants.iter().filter_map(move |(name, count)| {
            let at = count.last_processed_at?.micros() as f64 / 1e6;
            Some((vec![("lane", lane.name()), (name.label, &*name.text)], at))
        })
    });
    to.gauge(
        "tenant_last_processed_timestamp_seconds",
        "When the last attempt for a tenant or partner ended, as a Unix time.",
        times,
    )
}

fn store(snapshot: &StoreSnapshot, to: &mut Writer<'_>) -> Result<(), Error> {
    let space = snapshot.space;
    to.gauge("gancho_store_used_bytes", "Size of the store.", [(vec![], space.used as f64)])?;
    let limit = space.limit.map(|limit| (vec![], limit as f64));
    to.gauge("gancho_store_limit_bytes", "Size limit of the store.", limit)?;
    to.gauge(
        "gancho_store_observed_age_seconds",
        "Age of the figures read from the store.",
        [(vec![], snapshot.at.elapsed().as_secs_f64())],
    )
}

/// Writes the metrics of a gateway with several databases.
fn cells(snapshot: &StoreSnapshot, to: &mut Writer<'_>) -> Result<(), Error> {
    let cells = &snapshot.cells;
    let up = cells.iter().map(|cell| {
        let is_up = if cell.depths.is_some() { 1.0 } else { 0.0 };
        (vec![("cell", &*cell.name)], is_up)
    });
    to.gauge(
        "gancho_cell_up",
        "Whether a cell responds to this node. Only with several cells.",
        up,
    )?;
    let depths = cells.iter().flat_map(|cell| {
        let samples = cell.depths.iter().flatten().flat_map(by_state);
        samples.map(|(mut labels, count)| {
            labels.push(("cell", &*cell.name));
            (labels, count)
        })
    });
    to.gauge(
        "gancho_cell_queue_depth",
        "Deliveries in a cell, by lane and state as in gancho_queue_depth. Only with several cells.",
        depths,
    )?;
    let used = cells
        .iter()
        .filter_map(|cell| Some((vec![("cell", &*cell.name)], cell.used_bytes? as f64)));
    to.gauge("gancho_cell_used_bytes", "Size of a cell. Only with several cells.", used)?;
    let moves = cells.iter().flat_map(|cell| {
        let moves = cell.moves.into_iter();
        let samples = moves
            .flat_map(|moves| [("ok", moves.open - moves.troubled), ("delayed", moves.troubled)]);
        samples.map(|(state, count)| (vec![("cell", &*cell.name), ("state", state)], count as f64))
    });
    to.gauge(
        "gancho_cell_moves",
        "Tenants that are being moved from a cell to another. Only with several cells.",
        moves,
    )
}
