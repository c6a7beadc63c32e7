//! A row that cannot be read delays only itself.

use std::time::Duration;

use gancho_store::{Accept, Claim, ClaimCursor, Claiming, Nodes};
use gancho_testkit::{parcels, postgres::fresh_database};

use crate::world::{ParcelGenerator, now, open};

/// Among a few deliveries, which are found by their time, and among many, whose targets are walked.
#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_delivery_is_postponed_and_the_others_are_claimed() {
    for count in [3, 300] {
        let database = fresh_database().await.unwrap();
        let (store, client) = (open(&database).await, database.client().await.unwrap());
        let make = ParcelGenerator::new();
        let node = store.join("claims", now()).await.unwrap();
        let (tenant, target) = (make.tenant(), make.target());
        // The first of its target's line, with another waiting for it.
        let mut events = vec![make.event(tenant, target)];
        events.extend((0..count).map(|_| make.event(make.tenant(), make.target())));
        events.push(make.event(tenant, target));
        let mut expected: Vec<_> = events.iter().map(|event| event.deliveries[0].id).collect();
        let broken = expected.remove(0);
        store.accept(events, node).await.unwrap();
        let set_kind = |from: i16, to: i16| {
            format!(
                "update parcels set kind = {to} where kind = {from} and id = (select id from parcels
                 where tenant_id = (select tenant_id from parcels group by 1 having count(*) = 2)
                 order by id limit 1)"
            )
        };
        client.batch_execute(&set_kind(2, 99)).await.unwrap();

        let at = now();
        let (mut claimed, mut cursor) = (Vec::new(), ClaimCursor::default());
        loop {
            let result =
                store.claim(Claim { cursor, ..parcels::claim(node, 50, at) }).await.unwrap();
            claimed.extend(result.jobs.iter().map(|job| job.delivery));
            cursor = result.cursor;
            if !result.more {
                break;
            }
        }
        claimed.sort_unstable();
        expected.sort_unstable();
        assert_eq!(claimed, expected, "of {count}");

        // Once it can be read, it is delivered.
        client.batch_execute(&set_kind(99, 2)).await.unwrap();
        let later = parcels::claim(node, 50, at + Duration::from_secs(301));
        let jobs = store.claim(later).await.unwrap().jobs;
        assert_eq!(jobs.iter().map(|job| job.delivery).collect::<Vec<_>>(), [broken]);
    }
}
