//! File handles: every connection uses one. The limit is raised as far as the system allows and divided, so
//! that incoming connections never use the handles that deliveries, the store and the API need.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{
    gateway::{Lanes, Setup, has_role},
    settings::{Role, Settings},
};

/// Handles for the store, the logs, the listeners, name servers and the runtime itself.
const RESERVE: usize = 96;
/// Used if the system sets no limit.
const UNLIMITED: usize = 1 << 20;

/// Raises the soft limit to the hard limit, and returns the current limit.
pub fn raise() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(UNLIMITED as u64);
    if current.is_some_and(|current| current < wanted) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
    let current = getrlimit(Resource::Nofile).current;
    current.map_or(UNLIMITED, |current| usize::try_from(current).unwrap_or(UNLIMITED))
}

/// Returns how many file handles the settings need.
pub fn wanted(settings: &Settings, setup: &Setup) -> usize {
    connections(settings, &setup.lanes, idle(setup)).total() + RESERVE
}

fn connections(settings: &Settings, lanes: &Lanes, idle: usize) -> Connections {
    let has = |role, count: usize| if has_role(settings, role) { count } else { 0 };
    Connections {
        // Every node answers health and metrics.
        api: settings.max_connections,
        ingest: has(Role::Ingest, settings.ingest_max_connections),
        deliveries: has(Role::Worker, lanes.connections()),
        idle: has(Role::Worker, idle),
    }
}

fn idle(setup: &Setup) -> usize {
    setup.client.idle_in_all + setup.own_client.idle_in_all
}

/// Reduces the connection limits of the settings to what the open-file limit allows, with a warning.
pub fn share_out(limit: usize, settings: &mut Settings, setup: &mut Setup) {
    let wanted = connections(settings, &setup.lanes, idle(setup));
    let shares = wanted.within(limit);
    if shares == wanted {
        return;
    }
    settings.max_connections = shares.api.max(1);
    settings.ingest_max_connections = shares.ingest.max(1);
    setup.lanes.scale(|concurrency| shares.scale(wanted, concurrency));
    setup.client.idle_in_all = shares.idle / 2;
    setup.own_client.idle_in_all = shares.idle / 2;
    tracing::warn!(
        limit,
        wanted = wanted.total() + RESERVE,
        max_connections = shares.api,
        ingest_max_connections = shares.ingest,
        deliveries = shares.deliveries,
        hint = "raise it with `ulimit -Hn` or `LimitNOFILE=`",
        "open-file limit is lower than the settings require; connection limits were reduced"
    );
}

/// Returns the lanes of the settings, as far as the open-file limit allows.
pub fn fitting_lanes(settings: &Settings, idle: usize) -> Lanes {
    let mut lanes = Lanes::of(settings);
    let wanted = connections(settings, &lanes, idle);
    let shares = wanted.within(raise());
    lanes.scale(|concurrency| shares.scale(wanted, concurrency));
    lanes
}

/// Maximum concurrent connections by purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connections {
    /// Connections to the API.
    pub api: usize,
    /// Connections of partners, which are unauthenticated until a signature is verified.
    pub ingest: usize,
    /// Deliveries of every lane in flight.
    pub deliveries: usize,
    /// Idle connections for the next delivery.
    pub idle: usize,
}

impl Connections {
    pub fn total(self) -> usize {
        self.api + self.ingest + self.deliveries + self.idle
    }

    /// Returns the part of this that fits into `limit`. Deliveries come first, up to a third; the API and
    /// partners share the rest, at least a quarter of it for the API.
    pub fn within(self, limit: usize) -> Self {
        if self.total() + RESERVE <= limit {
            return self;
        }
        let available = limit.saturating_sub(RESERVE.min(limit / 2));
        let deliveries = self.deliveries.min(available / 3);
        let idle = self.idle.min((available - deliveries) / 8);
        let rest = available - deliveries - idle;
        let ingest = self.ingest.min(rest - self.api.min(rest / 4));
        let api = self.api.min(rest - ingest);
        Self { api, ingest, deliveries, idle }
    }

    /// Returns the part of `count` deliveries that remains when all are reduced to the share in `self`.
    pub fn scale(self, wanted: Self, count: u32) -> u32 {
        if self.deliveries >= wanted.deliveries {
            return count;
        }
        let share = u64::from(count) * self.deliveries as u64 / wanted.deliveries.max(1) as u64;
        u32::try_from(share).unwrap_or(count).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: Connections =
        Connections { api: 4_096, ingest: 16_384, deliveries: 1_029, idle: 4_096 };

    // faults.md 10
    #[test]
    fn what_is_shared_out_fits_and_everyone_has_some() {
        for limit in [128, 200, 256, 500, 1_024, 4_096, 20_000, 25_700, 65_536] {
            for wanted in [
                WANTED,
                Connections { ingest: 100_000, ..WANTED },
                Connections { api: 100_000, ..WANTED },
                Connections { deliveries: 40_000, ..WANTED },
                Connections { api: 10, ingest: 10, deliveries: 10, idle: 10 },
            ] {
                let shares = wanted.within(limit);
                assert!(shares.total() + RESERVE.min(limit / 2) <= limit, "{limit}: {shares:?}");
                let fair = |share: usize, wanted: usize, part: usize| {
                    share == wanted || share >= (limit - RESERVE.min(limit / 2)) / part
                };
                assert!(fair(shares.deliveries, wanted.deliveries, 3), "{limit}: {shares:?}");
                assert!(fair(shares.api, wanted.api, 10), "{limit}: {shares:?}");
                assert!(fair(shares.ingest, wanted.ingest, 3), "{limit}: {shares:?}");
                assert!(shares.scale(wanted, 512) >= 1);
            }
        }
        assert_eq!(WANTED.within(UNLIMITED), WANTED);
        assert_eq!(WANTED.within(UNLIMITED).scale(WANTED, 512), 512);
    }

    #[test]
    fn the_limit_is_raised_as_far_as_it_goes() {
        let limit = raise();
        let now = getrlimit(Resource::Nofile);
        assert_eq!(
            now.current.map(|current| current as usize),
            Some(limit).filter(|_| now.current.is_some())
        );
        assert_eq!(now.current, now.maximum.or(now.current));
    }
}
