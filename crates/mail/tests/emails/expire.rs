//! E-mails that could not be sent for a day are given up, and reported like every other failure.

use std::{sync::Arc, time::Duration};

use gancho_domain::{Clock, Lane, SystemClock};
use gancho_mail::{EmailStatus, Sink};
use gancho_store::Pause;

use crate::stage::{Setup, Stage, StoreKind, draft};

on_both! { after_a_day_it_is_given_up }

async fn after_a_day_it_is_given_up(on: StoreKind) {
    let sink = Arc::new(Sink::new(Arc::new(SystemClock), 10));
    let stage = Stage::with(on, sink.clone(), Setup::default()).await;
    let pause = Pause::Lane(Lane::Email);
    stage.engine.pause(pause).await.unwrap();
    let id = stage.submit(draft("ana@example.com")).await;
    stage.clock.advance(Duration::from_hours(24));
    assert_eq!(stage.engine.expire_once().await.unwrap(), 0, "nothing ends without being told of");
    stage.engine.resume(pause).await.unwrap();
    let view = stage.until(id, EmailStatus::Failed).await;
    assert_eq!(view.row.attempts, 0);
    assert!(sink.emails().is_empty());
    let [letter] = &stage.dead_letters().await[..] else { panic!("one dead letter") };
    assert_eq!(letter.failure.code().as_str(), "EXPIRED");
    let told = stage.told(id).await;
    assert_eq!((told.len(), told[0].1.as_str()), (1, "email.failed"));
    // The contract has no other code for it.
    assert_eq!(told[0].2["failureCode"], "INTERNAL_ERROR");
    assert_eq!(told[0].2["attempts"], 0);
    assert!(stage.clock.now() >= letter.moved_at);
}
