//! An e-mail that is retried until it is sent or given up, and the cost of a lost response.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use gancho_domain::Clock;
use gancho_engine::Preemption;
use gancho_mail::{
    Acceptance, EmailStatus, FailureCode, OutgoingMessage, SmtpTransport, Transport, TransportError,
};
use gancho_testkit::wait_for;
use serde_json::{Value, json};

use crate::{
    mail_server::{address, mail_server},
    stage::{Stage, StoreKind, draft},
};

on_both! {
    five_attempts_then_the_dead_letter_queue
    an_email_that_fails_twice_is_sent_at_the_third_attempt
    a_lost_answer_costs_one_duplicate_at_most
    a_server_that_hangs
    what_a_node_lacks_is_no_attempt
}

/// Worker → SES: 421 → backoff 1 s → … → attempt 5: 421 → dead letter with its reason.
async fn five_attempts_then_the_dead_letter_queue(on: StoreKind) {
    let stage = Stage::new(on, mail_server().plain()).await;
    let receiver = stage.receiver().await;
    let accepted_at = stage.clock.now();
    let id = stage.submit(draft(&address("rcpt-421-4_3_2"))).await;
    let view = stage.until(id, EmailStatus::Failed).await;

    assert_eq!(view.row.attempts, 5);
    assert_eq!(view.row.failure_code, Some(FailureCode::SesError));
    for (index, pair) in view.attempts.windows(2).enumerate() {
        let planned = Duration::from_secs(1 << index);
        let ended = pair[0].started_at + pair[0].latency;
        let waited = pair[1].started_at.since(pair[0].started_at);
        // The clock advances in steps, also during an attempt.
        let slack = Duration::from_millis(500) + ended.since(pair[0].started_at);
        assert!(waited >= planned.mul_f64(0.75), "{waited:?} after attempt {}", index + 1);
        assert!(waited <= planned.mul_f64(1.25) + slack, "{waited:?} after attempt {}", index + 1);
    }

    let [letter] = &stage.dead_letters().await[..] else { panic!("one dead letter") };
    assert_eq!(letter.parcel, id.cast());
    assert_eq!(letter.failed_attempts, 5);
    assert!(letter.failure.reason().starts_with("SMTP 421: 4.3.2 "), "{}", letter.failure);
    assert!(!letter.failure.reason().contains("rcpt-421"), "{}", letter.failure);
    assert_eq!(letter.failure.code().as_str(), "SES_ERROR");
    assert_eq!(letter.enqueued_at, accepted_at);
    assert_eq!(letter.expires_at, letter.moved_at + Duration::from_hours(24 * 7));
    let original: Value = serde_json::from_slice(&letter.original).unwrap();
    assert_eq!(original["subject"], "A fatura");

    // Four retries and the final failure, numbered without gaps.
    let told = stage.told(id).await;
    assert_eq!(told.iter().map(|(number, _, _)| *number).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    for (index, (_, event_type, data)) in told[..4].iter().enumerate() {
        assert_eq!(event_type, "email.retry_scheduled");
        assert_eq!(data["status"], "RETRY_SCHEDULED");
        assert_eq!(data["retryAttempt"], index + 1);
        assert_eq!(data["attempts"], index + 1);
        let next = view.attempts[index].next_at.unwrap();
        assert_eq!(data["nextRetryAt"], next.to_string());
        assert!(data["lastError"].as_str().unwrap().starts_with("SMTP 421: "));
        assert_eq!(data.as_object().unwrap().len(), 9);
    }
    let (_, event_type, data) = &told[4];
    assert_eq!(event_type, "email.failed");
    assert_eq!(data["failureCode"], "SES_ERROR");
    assert_eq!(data["sesError"], "421");
    assert_eq!(data["attempts"], 5);
    assert_eq!(data.as_object().unwrap().len(), 10);

    let count = || async { (receiver.requests().len() == 5).then_some(()) };
    wait_for("five webhooks", count).await;
}

async fn an_email_that_fails_twice_is_sent_at_the_third_attempt(on: StoreKind) {
    let server = mail_server();
    let stage = Stage::new(on, server.plain()).await;
    let to = address("flaky-450-2");
    let id = stage.submit(draft(&to)).await;
    let view = stage.until(id, EmailStatus::Sent).await;
    assert_eq!((view.row.attempts, view.row.failure_code), (3, None));
    server.first_mail(&to).await;
    assert_eq!(server.mails(&to).len(), 1);
    let told = stage.told(id).await;
    let kinds: Vec<_> = told.iter().map(|(number, kind, _)| (*number, kind.as_str())).collect();
    let again = "email.retry_scheduled";
    assert_eq!(kinds, [(1, again), (2, again), (3, "email.sent")]);
    assert_eq!(told[2].2["attempts"], 3);
    let took = told[2].2["processingTimeMs"].as_u64().unwrap();
    assert!(took >= 2_250, "it counts from the beginning: {took}");
}

/// The server accepted it and disconnected before it replied: it gets the same message again, with the same
/// Message-ID.
async fn a_lost_answer_costs_one_duplicate_at_most(on: StoreKind) {
    let server = mail_server();
    let stage = Stage::new(on, server.plain()).await;
    let to = address("droponce");
    let id = stage.submit(draft(&to)).await;
    let view = stage.until(id, EmailStatus::Sent).await;
    assert_eq!(view.row.attempts, 2);
    let mails = server.first_mails(&to, 2).await;
    assert_eq!(mails.len(), 2);
    assert_eq!(mails[0].content, mails[1].content);
    assert_eq!(mails[0].header("Message-ID"), Some(format!("<{id}@example.com>")));
}

async fn a_server_that_hangs(on: StoreKind) {
    let server = mail_server();
    let mut settings = server.settings("smtp://", "plain", "?tls=none");
    settings.deadline = Duration::from_millis(300);
    let stage = Stage::new(on, SmtpTransport::new(settings).unwrap()).await;
    let (hanging, after) = (address("hang"), address("ana"));
    let id = stage.submit(draft(&hanging)).await;
    let view = stage.until(id, EmailStatus::RetryScheduled).await;
    let reason = view.row.failure_reason.unwrap();
    assert!(reason.contains("did not finish within 300ms"), "{reason}");
    // The connection on which a reply may still arrive is not used again.
    let second = stage.submit(draft(&after)).await;
    stage.until(second, EmailStatus::Sent).await;
    assert_ne!(server.first_mail(&after).await.session, server.first_mail(&hanging).await.session);
    assert_eq!(stage.told(id).await[0].2["lastError"], json!(reason));
}

/// Lacks a file handle as often as the test says, then uses a real server.
struct Lacking {
    left: AtomicU32,
    server: SmtpTransport,
}

#[async_trait]
impl Transport for Lacking {
    fn name(&self) -> &'static str {
        self.server.name()
    }

    async fn send(
        &self,
        letter: &OutgoingMessage,
        preemption: &Preemption,
    ) -> Result<Acceptance, TransportError> {
        let take_one = |left: u32| left.checked_sub(1);
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take_one).is_ok() {
            return Err(TransportError::Local { text: "too many open files".into() });
        }
        self.server.send(letter, preemption).await
    }
}

/// faults.md 10: nothing is reported, the plan's five attempts are not used up, and the e-mail arrives.
async fn what_a_node_lacks_is_no_attempt(on: StoreKind) {
    let server = mail_server();
    let lacking = Lacking { left: AtomicU32::new(12), server: server.plain() };
    let stage = Stage::new(on, lacking).await;
    let id = stage.submit(draft(&address("ana"))).await;
    let view = stage.until(id, EmailStatus::Sent).await;
    assert_eq!((view.row.attempts, view.attempts.len()), (1, 1));
    let told = stage.told(id).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((told[0].1.as_str(), &told[0].2["attempts"]), ("email.sent", &json!(1)));
}
