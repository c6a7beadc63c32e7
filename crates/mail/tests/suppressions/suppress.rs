//! Addresses that get no more e-mails.

use std::sync::Arc;

use gancho_domain::SystemClock;
use gancho_mail::{EmailStatus, Sink, SuppressionReason, suppression::ImportError};

use crate::stage::{Setup, Stage, StoreKind, draft};

on_both! { a_suppressed_address_gets_nothing listed_imported_and_removed }

async fn a_suppressed_address_gets_nothing(on: StoreKind) {
    let sink = Arc::new(Sink::new(Arc::new(SystemClock), 10));
    let stage = Stage::with(on, sink.clone(), Setup::default()).await;
    for (to, reason, code) in [
        ("Ana@Example.com", SuppressionReason::Complaint, "COMPLAINT"),
        ("rui@example.com", SuppressionReason::Bounce, "BOUNCE_PERMANENT"),
        ("eva@example.com", SuppressionReason::Manual, "BOUNCE_PERMANENT"),
    ] {
        let mailbox = to.parse().unwrap();
        assert!(stage.suppressions.add(stage.scope, &mailbox, reason, None).await.unwrap());
        let id = stage.submit(draft(&to.to_ascii_lowercase())).await;
        let view = stage.until(id, EmailStatus::Failed).await;
        assert_eq!(view.row.failure_code.unwrap().name(), code);
        assert_eq!(view.row.attempts, 0, "nothing was tried");
        let told = stage.told(id).await;
        assert_eq!((told.len(), told[0].2["failureCode"].as_str()), (1, Some(code)));
        assert!(stage.suppressions.remove(stage.scope, &mailbox).await.unwrap());
        let id = stage.submit(draft(to)).await;
        stage.until(id, EmailStatus::Sent).await;
    }
    assert_eq!(sink.emails().len(), 3, "only after it was taken off the list");
}

async fn listed_imported_and_removed(on: StoreKind) {
    let stage =
        Stage::with(on, Arc::new(Sink::new(Arc::new(SystemClock), 1)), Setup::default()).await;
    let list = &stage.suppressions;
    let rows = |addresses: &[&str]| {
        let row = |address: &&str| ((*address).to_owned(), SuppressionReason::Bounce);
        addresses.iter().map(row).collect::<Vec<_>>()
    };
    let refused = list.import(stage.scope, rows(&["a@example.com", "nonsense", "b@"])).await;
    match refused {
        Err(ImportError::Faulty(errors)) => {
            let pointers: Vec<_> = errors.iter().map(|error| error.pointer.as_str()).collect();
            assert_eq!(pointers, ["/addresses/1", "/addresses/2"]);
        }
        other => panic!("{other:?}"),
    }
    assert!(list.list(stage.scope, None, 9).await.unwrap().is_empty(), "none of them was written");
    let new = list.import(stage.scope, rows(&["b@example.com", "A@example.com", "a@example.com"]));
    assert_eq!(new.await.unwrap(), 2);
    let listed = list.list(stage.scope, None, 9).await.unwrap();
    let addresses: Vec<_> = listed.iter().map(|one| one.address.as_str()).collect();
    assert_eq!(addresses, ["a@example.com", "b@example.com"]);
    let after = list.list(stage.scope, Some("a@example.com"), 9).await.unwrap();
    assert_eq!(after[0].address, "b@example.com");
    // Neither earlier nor later reasons replace a complaint.
    let mailbox = "a@example.com".parse().unwrap();
    for reason in [SuppressionReason::Complaint, SuppressionReason::Manual] {
        assert!(!list.add(stage.scope, &mailbox, reason, None).await.unwrap());
    }
    let kept = list.get(stage.scope, &mailbox).await.unwrap().unwrap();
    assert_eq!(kept.reason, SuppressionReason::Complaint);
    assert!(list.remove(stage.scope, &mailbox).await.unwrap());
    assert!(!list.remove(stage.scope, &mailbox).await.unwrap());
    // More than one transaction stores. Each address counts once.
    let many: Vec<String> =
        (0..1_000).map(|number| format!("{}@example.org", number % 600)).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(list.import(stage.scope, rows(&many)).await.unwrap(), 600);
    assert_eq!(list.list(stage.scope, None, 1_000).await.unwrap().len(), 601);
}
