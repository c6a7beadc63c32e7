//! Several stores on one database, as several processes would be.

use std::{
    collections::{BTreeMap, HashSet},
    process::Command,
    sync::Arc,
    time::Duration,
};

use gancho_domain::{State, TenantScope};
use gancho_store::{
    Accept, AcceptOutcome, Claiming, Deliveries, Nodes, Settle, SettleOutcome, Store, StoreError,
    Upkeep,
};
use gancho_store_postgres::PostgresStore;
use gancho_testkit::{postgres::fresh_database, wait_for};

use crate::world::{ParcelGenerator, accept, claim, delivered, now, open};

/// Long enough that no node of a test is taken for silent by accident.
const LONG: Duration = Duration::from_secs(600);

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_nodes_work_is_taken_over_and_it_is_fenced() {
    let database = fresh_database().await.unwrap();
    let (first, second) = (open(&database).await, open(&database).await);
    let make = ParcelGenerator::new();
    let (tenant, target) = (make.tenant(), make.target());
    let dying = first.join("dying", now()).await.unwrap();
    let id = accept(&first, make.event(tenant, target), dying).await;
    let job = claim(&first, dying).await.jobs.remove(0);
    let living = second.join("living", now()).await.unwrap();
    assert_ne!(dying, living);

    let nothing = second.rescue(living, LONG, now()).await.unwrap();
    assert_eq!((nothing.nodes, nothing.deliveries), (0, 0), "its heart beats");
    let rescued = second.rescue(living, Duration::ZERO, now()).await.unwrap();
    assert_eq!((rescued.nodes, rescued.deliveries, rescued.given_up), (1, 1, 0));

    let late = first.settle(dying, vec![delivered(&job)]).await.unwrap();
    assert_eq!(late, [SettleOutcome::LeaseLost]);
    assert_eq!(first.heartbeat(dying, now()).await, Err(StoreError::Fenced));
    let again = claim(&second, living).await.jobs;
    assert_eq!(again[0].delivery, id);
    let done = second.settle(living, vec![delivered(&again[0])]).await.unwrap();
    assert_eq!(done, [SettleOutcome::Done { follow: vec![] }]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_zombie_leases_later_is_taken_too() {
    let database = fresh_database().await.unwrap();
    let (first, second) = (open(&database).await, open(&database).await);
    let make = ParcelGenerator::new();
    let zombie = first.join("zombie", now()).await.unwrap();
    let living = second.join("living", now()).await.unwrap();
    second.rescue(living, Duration::ZERO, now()).await.unwrap();

    let mut held = make.event(make.tenant(), make.target());
    held.deliveries[0].hold = true;
    accept(&first, held, zombie).await;
    let rescued = second.rescue(living, LONG, now()).await.unwrap();
    assert_eq!((rescued.nodes, rescued.deliveries), (0, 1));
    // A node that joins later is not taken for dead, although its number is higher.
    let later = first.join("later", now()).await.unwrap();
    assert!(later > living);
    assert_eq!(claim(&first, later).await.jobs.len(), 1);
    assert_eq!(second.rescue(living, LONG, now()).await.unwrap().deliveries, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_delivery_is_leased_twice() {
    let database = fresh_database().await.unwrap();
    let stores = [open(&database).await, open(&database).await];
    let make = ParcelGenerator::new();
    let tenant = make.tenant();
    let targets: Vec<_> = (0..10).map(|_| make.target()).collect();
    let batch = (0..2_000).map(|n| make.event(tenant, targets[n % 10])).collect();
    let node = stores[0].join("accepts", now()).await.unwrap();
    stores[0].accept(batch, node).await.unwrap();

    let mut claiming = Vec::new();
    for n in 0..6 {
        let store = stores[n % 2].clone();
        claiming.push(tokio::spawn(async move {
            let node = store.join("claims", now()).await.unwrap();
            let mut taken = Vec::new();
            loop {
                let claimed = claim(&store, node).await;
                if claimed.jobs.is_empty() && !claimed.more {
                    return taken;
                }
                taken.extend(claimed.jobs.iter().map(|job| job.delivery));
            }
        }));
    }
    let mut taken = Vec::new();
    for one in claiming {
        taken.extend(one.await.unwrap());
    }
    let distinct: HashSet<_> = taken.iter().collect();
    assert_eq!(taken.len(), 2_000);
    assert_eq!(distinct.len(), 2_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_have_no_hole_and_no_double() {
    let database = fresh_database().await.unwrap();
    let stores = [open(&database).await, open(&database).await];
    let make = Arc::new(ParcelGenerator::new());
    let (tenant, target) = (make.tenant(), make.target());
    let mut accepting = Vec::new();
    for n in 0..8 {
        let (store, make) = (stores[n % 2].clone(), make.clone());
        accepting.push(tokio::spawn(async move {
            let node = store.join("accepts", now()).await.unwrap();
            let mut numbers = Vec::new();
            for round in 0..20 {
                // In another order each time, so that they compete.
                let mut subjects = ["a", "b", "c", "d"];
                subjects.rotate_left((n + round) % 4);
                let batch = subjects.map(|subject| make.about(tenant, target, subject)).to_vec();
                let answers = store.accept(batch, node).await.unwrap();
                for (subject, answer) in subjects.iter().zip(answers) {
                    let AcceptOutcome::New { number, .. } = answer else { panic!("{answer:?}") };
                    numbers.push((*subject, number.unwrap()));
                }
            }
            numbers
        }));
    }
    let mut by_subject: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for one in accepting {
        for (subject, number) in one.await.unwrap() {
            by_subject.entry(subject).or_default().push(number);
        }
    }
    for (subject, mut numbers) in by_subject {
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=160).collect::<Vec<_>>(), "{subject}");
    }
}

/// Two nodes accept and settle in the same lines at once. A line may never have two active deliveries, nor
/// stop with waiting deliveries but no active one.
#[tokio::test(flavor = "multi_thread")]
async fn strict_order_holds_between_nodes() {
    let database = fresh_database().await.unwrap();
    let stores = [open(&database).await, open(&database).await];
    let make = Arc::new(ParcelGenerator::new());
    let (tenant, target) = (make.tenant(), make.target());
    let mut working = Vec::new();
    for n in 0..4_usize {
        let (store, make) = (stores[n % 2].clone(), make.clone());
        working.push(tokio::spawn(async move {
            let node = store.join("works", now()).await.unwrap();
            for round in 0..40_usize {
                let subject = ["a", "b", "c"][(n + round) % 3];
                accept(&store, make.about(tenant, target, subject), node).await;
                let jobs = claim(&store, node).await.jobs;
                let subjects: HashSet<_> = jobs.iter().map(|job| &job.parcel.subject).collect();
                assert_eq!(subjects.len(), jobs.len(), "one of each subject at a time");
                let done = jobs.iter().map(delivered).collect();
                for one in store.settle(node, done).await.unwrap() {
                    assert_eq!(one, SettleOutcome::Done { follow: vec![] });
                }
            }
        }));
    }
    let watch = database.client().await.unwrap();
    while working.iter().any(|one| !one.is_finished()) {
        let sql = "select count(*) from deliveries where state in (2, 3) group by order_key";
        for row in watch.query(sql, &[]).await.unwrap() {
            assert!(row.get::<_, i64>(0) <= 1, "two of one subject move");
        }
    }
    for one in working {
        one.await.unwrap();
    }
    let node = stores[0].join("finishes", now()).await.unwrap();
    loop {
        let jobs = claim(&stores[0], node).await.jobs;
        if jobs.is_empty() {
            break;
        }
        stores[0].settle(node, jobs.iter().map(delivered).collect()).await.unwrap();
    }
    let depth = &stores[0].depths().await.unwrap()[0];
    assert_eq!((depth.pending, depth.leased, depth.waiting), (0, 0, 0));
}

/// Checks that what one accepts wakes the other.
async fn wakes(first: &PostgresStore, second: &PostgresStore) {
    let make = ParcelGenerator::new();
    let node = first.join("first", now()).await.unwrap();
    let bell = second.bell();
    let rung = async {
        loop {
            // A ring from the time of the connection does not count.
            bell.notified().await;
            let joined = second.join("second", now()).await.unwrap();
            if !claim(second, joined).await.jobs.is_empty() {
                return;
            }
        }
    };
    let told = async {
        // The connection may not be established yet, and a ring may be missed: so it is rung until it is
        // received.
        loop {
            accept(first, make.event(make.tenant(), make.target()), node).await;
            // Sleeps between two rings.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let heard = async {
        tokio::select! { () = rung => true, () = told => false }
    };
    assert!(tokio::time::timeout(Duration::from_secs(20), heard).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bell_rings_at_the_other_node() {
    let database = fresh_database().await.unwrap();
    wakes(&*open(&database).await, &*open(&database).await).await;
}

/// The connections that wait for notifications are open, but nothing answers there any more.
#[tokio::test(flavor = "multi_thread")]
async fn the_bell_rings_again_after_its_connections_went_silent() {
    let database = fresh_database().await.unwrap();
    let (first, second) = (open(&database).await, open(&database).await);
    let client = database.client().await.unwrap();
    let listeners = async |others: &[i32]| {
        let sql = "select pid from pg_stat_activity where datname = current_database()
            and state = 'idle' and query like 'listen %' and not pid = any ($1)";
        wait_for("both listen", || async {
            let rows = client.query(sql, &[&others]).await.unwrap();
            (rows.len() == 2).then(|| rows.iter().map(|row| row.get(0)).collect::<Vec<i32>>())
        })
        .await
    };
    let silent = listeners(&[]).await;
    let signal = |name: &str| {
        let pids = silent.iter().map(i32::to_string);
        assert!(Command::new("kill").arg(name).args(pids).status().unwrap().success());
    };
    signal("-STOP");
    listeners(&silent).await;
    signal("-CONT");
    wakes(&first, &second).await;
}

/// A caller that gives up during a claim must not leave its deliveries leased to a node that does not know
/// it.
#[tokio::test(flavor = "multi_thread")]
async fn a_claim_given_up_loses_nothing() {
    let database = fresh_database().await.unwrap();
    let store = open(&database).await;
    let make = ParcelGenerator::new();
    let tenant = make.tenant();
    let node = store.join("impatient", now()).await.unwrap();
    let id = accept(&store, make.event(tenant, make.target()), node).await;
    for micros in (0..4_000).step_by(50) {
        let waited = Duration::from_micros(micros);
        let claimed = tokio::time::timeout(waited, claim(&store, node)).await;
        if let Ok(mut claimed) = claimed
            && let Some(job) = claimed.jobs.pop()
        {
            store.release(node, vec![(job.tenant, job.delivery).into()]).await.unwrap();
        }
    }
    // The next claim releases what an abandoned claim has leased.
    let found = wait_for("it can be claimed", || async { claim(&store, node).await.jobs.pop() });
    assert_eq!(found.await.delivery, id);
    let view = store.delivery(TenantScope::internal(tenant), id).await.unwrap().unwrap();
    assert_eq!(view.row.state, State::Leased);
}

/// The same for a caller that gives up while its parcel is being accepted with deliveries to hold.
#[tokio::test(flavor = "multi_thread")]
async fn an_accept_given_up_leaves_nothing_held() {
    let database = fresh_database().await.unwrap();
    let store = open(&database).await;
    let make = ParcelGenerator::new();
    let node = store.join("impatient", now()).await.unwrap();
    let (mut sent, mut heard) = (0, 0);
    for micros in (0..8_000).step_by(100) {
        let mut held = make.event(make.tenant(), make.target());
        held.deliveries[0].hold = true;
        // Sent at the first poll, however short the wait.
        let accepted = store.accept(vec![held], node);
        let waited = tokio::time::timeout(Duration::from_micros(micros), accepted).await;
        sent += 1;
        heard += u64::from(waited.is_ok());
    }
    let mut taken = 0;
    let all_known = async {
        while heard + taken < sent {
            taken += claim(&store, node).await.jobs.len() as u64;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), all_known).await.expect("each is someone's");
    let depth = &store.depths().await.unwrap()[0];
    assert_eq!((depth.leased, depth.pending), (sent, 0));
}
