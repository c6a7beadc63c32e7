//! Counters of the API: requests by route and status class, panics and authentication failures.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use http::{Method, StatusCode};
use parking_lot::Mutex;

/// Status classes that are counted: 2xx, 3xx, 4xx, 5xx.
const CLASSES: usize = 4;

#[derive(Default)]
pub struct Meter {
    routes: Mutex<Vec<Arc<RouteMeter>>>,
    panics: AtomicU64,
    failed_logins: AtomicU64,
    audit_skipped: AtomicU64,
    pub(crate) traffic: Arc<ConnectionCounters>,
}

/// The responses of one route.
pub struct RouteMeter {
    method: Method,
    path: &'static str,
    answers: [AtomicU64; CLASSES],
}

impl RouteMeter {
    pub(crate) fn answered(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).clamp(2, 5) - 2;
        self.answers[class].fetch_add(1, Ordering::Relaxed);
    }
}

/// The connections of one listener.
#[derive(Default)]
pub struct ConnectionCounters {
    shed: AtomicU64,
    open: AtomicU64,
}

impl ConnectionCounters {
    pub(crate) fn shed_one(&self) {
        self.shed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn connected(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn disconnected(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns how many connections were refused because too many were open.
    pub fn shed(&self) -> u64 {
        self.shed.load(Ordering::Relaxed)
    }

    /// Returns the number of open connections.
    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }
}

/// One counter of [`Meter::answers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseCount {
    pub method: &'static str,
    pub path: &'static str,
    /// `2xx`, `3xx`, `4xx` or `5xx`.
    pub class: &'static str,
    pub count: u64,
}

impl Meter {
    /// Returns the meter of a route, which all routers share.
    pub(crate) fn route(&self, method: &Method, path: &'static str) -> Arc<RouteMeter> {
        let mut routes = self.routes.lock();
        if let Some(known) = routes.iter().find(|it| it.path == path && it.method == *method) {
            return known.clone();
        }
        let meter = RouteMeter { method: method.clone(), path, answers: Default::default() };
        let meter = Arc::new(meter);
        routes.push(meter.clone());
        meter
    }

    pub(crate) fn panicked(&self) {
        self.panics.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn login_failed(&self) {
        self.failed_logins.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn audit_skipped(&self) {
        self.audit_skipped.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many actions were not recorded in the audit log, because there were too many.
    pub fn unrecorded_acts(&self) -> u64 {
        self.audit_skipped.load(Ordering::Relaxed)
    }

    /// Returns the number of invalid API keys, operator tokens and portal tokens.
    pub fn failed_logins(&self) -> u64 {
        self.failed_logins.load(Ordering::Relaxed)
    }

    /// Returns all counters that are not zero.
    pub fn answers(&self) -> Vec<ResponseCount> {
        const NAMES: [&str; CLASSES] = ["2xx", "3xx", "4xx", "5xx"];
        let mut all = Vec::new();
        for route in &*self.routes.lock() {
            for (class, count) in NAMES.into_iter().zip(&route.answers) {
                let count = count.load(Ordering::Relaxed);
                if count > 0 {
                    let method = method_name(&route.method);
                    all.push(ResponseCount { method, path: route.path, class, count });
                }
            }
        }
        all
    }

    /// Returns the number of panics in handlers.
    pub fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    /// Returns how many connections were refused because too many were open.
    pub fn shed(&self) -> u64 {
        self.traffic.shed()
    }

    /// Returns the number of open connections.
    pub fn connections(&self) -> u64 {
        self.traffic.open()
    }
}

fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "OTHER",
    }
}
