use std::{future::pending, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{EndpointId, IdMaker, ManualClock, SeededRandom};
use gancho_engine::Preemption;
use gancho_mail::{Acceptance, OutgoingMessage, Transport, TransportError};
use gancho_store::Precondition;
use gancho_store_sqlite::SqliteStore;

use super::*;

fn notice(number: u32) -> Notice {
    let data = json!({
        "is_digest": false,
        "delivery_id": format!("dlv_{number}"),
        "event_id": "evt_1",
        "webhook_id": "wh_1",
        "url": "https://example.com/hook",
        "failed_attempts": 6,
        "last_failure_code": "HTTP_500",
    });
    let data = Bytes::from(data.to_string());
    Notice { event_type: "webhook.delivery.exhausted", data, about: EndpointId::from_bits(1) }
}

#[test]
fn a_flood_is_one_digest_and_nothing_is_counted_twice() {
    let messenger = NoticeMessenger::default();
    let tenant = TenantId::from_bits(7);
    for number in 0..1_500 {
        messenger.take(tenant, &notice(number));
        messenger.take(tenant, &notice(number));
    }
    let collected = messenger.0.lock().take();
    let (title, text) = digest(&collected.lines(), collected.count());
    assert_eq!(&*title, "Gancho: 1500 notices about webhooks");
    assert!(text.ends_with("and 1480 more\n"), "{text}");
    assert!(text.contains("dlv_0 of evt_1 to wh_1 (https://example.com/hook)"), "{text}");
}

/// Accepts messages, except to `hangs.example`: those end after a minute.
#[derive(Default)]
struct Mailer(Mutex<Vec<String>>);

#[async_trait]
impl Transport for Mailer {
    fn name(&self) -> &'static str {
        "sink"
    }

    async fn send(
        &self,
        message: &OutgoingMessage,
        _: &Preemption,
    ) -> Result<Acceptance, TransportError> {
        if message.to.domain() == "hangs.example" {
            timeout(Duration::from_mins(1), pending::<()>()).await.ok();
            return Err(TransportError::NoResponse { text: "timed out".to_owned() });
        }
        self.0.lock().push(format!("{}: {}", message.to.address(), message.subject));
        Ok(Acceptance { message_id: String::new(), status: 250, text: String::new() })
    }
}

#[tokio::test(start_paused = true)]
async fn floods_and_addresses_that_hang_do_not_keep_a_notice_from_another_tenant() {
    let store: Arc<dyn Store> = SqliteStore::inline().unwrap();
    let clock = Arc::new(ManualClock::at_secs(1_763_000_000));
    let mailer = Arc::new(Mailer::default());
    let email = EmailChannel {
        transport: mailer.clone(),
        from: "gancho@example.com".parse().unwrap(),
        to: Vec::new(),
        ids: Arc::new(IdMaker::new(clock.clone(), Arc::new(SeededRandom::new(1)))),
        clock,
        operator: None,
        accepted: Arc::default(),
    };
    for number in 1..=41 {
        let domain = if number == 41 { "example.com" } else { "hangs.example" };
        let of = addresses_of(TenantScope::internal(TenantId::from_bits(number)));
        let address = format!("t{number}@{domain}");
        store.put_document(of, &address, Bytes::new(), Precondition::Anything).await.unwrap();
    }
    let messenger = NoticeMessenger::default();
    for number in 0..1_000 {
        messenger.take(TenantId::from_bits(1), &notice(number));
    }
    for tenant in 2..=41 {
        messenger.take(TenantId::from_bits(tenant), &notice(1));
    }
    let routes = NoticeRoutes { store, slack: None, email: Some(email), operator: Vec::new() };
    let stop = CancellationToken::new();
    let running = messenger.run(routes, stop);
    let ended = timeout(Duration::from_secs(30), running).await;
    assert!(ended.is_err(), "it runs until it is stopped");
    let sent = mailer.0.lock().clone();
    let one = "t41@example.com: Gancho: delivery dlv_1 of evt_1 to wh_1 (https://example.com/hook) became a \
        dead letter after 6 attempts: HTTP_500";
    assert_eq!(sent, [one]);
}
