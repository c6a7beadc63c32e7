//! Unauthenticated callers that are refused as fast as they send.

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use gancho_testkit::until;

use crate::{gateway::Gateway, http, receiver};

/// The cost of unauthenticated callers is bounded, whatever they request, and no other caller at their
/// address waits for it.
#[test]
fn a_flood_of_refusals_is_slowed_down_and_others_are_not() {
    const FLOOD: Duration = Duration::from_secs(3);
    let folder = tempfile::tempdir().unwrap();
    let (target, seen) = receiver::start();
    let served = Gateway::start(folder.path(), &[]);
    let key = served.tenant("acme");
    served.endpoint(&key, &format!("http://{target}/hook"));
    let (api, ingest) = (served.address, served.ingest.unwrap());
    let floods: [(SocketAddr, &str, &str); 4] = [
        (api, "GET", "/nothing/here"),
        (api, "POST", "/v1/events"),
        (ingest, "POST", "/webhooks/nobody"),
        (ingest, "GET", "/wp-login.php"),
    ];
    for (address, method, path) in floods {
        let (refused, began) = (AtomicUsize::new(0), Instant::now());
        thread::scope(|scope| {
            for _ in 0..24 {
                scope.spawn(|| {
                    while began.elapsed() < FLOOD {
                        let status = http::call(address, method, path, &[], "").status;
                        assert!((400..500).contains(&status), "{method} {path}: {status}");
                        refused.fetch_add(1, Relaxed);
                    }
                });
            }
            for _ in 0..20 {
                let id = served.publish(&key, "invoice.paid", "{}");
                until("it arrives", || seen.body(&id).is_some());
            }
        });
        // A burst of 200, 100 per second, and one per second for each that waits the longest.
        let max = 200 + 100 * 4 + 24 * 5;
        assert!(refused.load(Relaxed) <= max, "{method} {path}: {refused:?}");
    }
    served.stop();
}
