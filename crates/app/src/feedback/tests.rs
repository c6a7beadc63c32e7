//! A bounce from SES, all the way: signed by SNS, received, dispatched, reported as `email.failed`, and the
//! address suppressed. With a real store, a real engine, a mail sink and an SNS on loopback.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{sync::Arc, time::Duration};

use gancho_domain::{
    Clock, EmailId, IdMaker, Lane, RetryPlan, SystemClock, SystemRandom, Tenant, TenantScope,
};
use gancho_egress::{Client, Policy, Settings};
use gancho_engine::{Engine, EngineSetup, LaneSetup, Limits};
use gancho_inbound::{
    DispatchCarrier, Inbound, InboundSetup, Outcome, PolicyService, Receipt, ReceiptFilter,
    ReceiptStatus, Receipts, ReceivedRequest, SigningKeys, SnsHosts, SourceDraft, SourceService,
    Sources,
};
use gancho_mail::{
    EmailDraft, EmailStatus, EmailView, FailureCode, FeedbackService, MailCarrier, MailLimits,
    Outbox, Sink, Suppressions, TenantLimits, limits,
};
use gancho_outbound::Registry;
use gancho_store::{EventFilter, PageRequest, Store};
use gancho_testkit::{
    receiver::Receiver,
    sns::{Signer, document, notification},
    stores::{StoreKind, StorePlace},
    tls::{Authority, Validity},
    wait_for,
};
use gancho_vault::KeyRing;
use gancho_wire::Profile;
use hyper::http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

use super::EmailFeedback;

const TOPIC: &str = "arn:aws:sns:eu-west-1:123456789012:ses-feedback";

struct Stage {
    store: Arc<dyn Store>,
    inbound: Inbound,
    outbox: Arc<Outbox>,
    suppressions: Arc<Suppressions>,
    sink: Arc<Sink>,
    desk: SourceService,
    tenant: Tenant,
    scope: TenantScope,
    signer: Signer,
    certificates: Receiver,
    _place: StorePlace,
}

impl Stage {
    async fn new() -> Self {
        let place = StorePlace::new(StoreKind::Sqlite).await;
        let store = place.open().await;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let ids = Arc::new(IdMaker::new(clock.clone(), Arc::new(SystemRandom)));
        let ring = Arc::new(KeyRing::generate().unwrap());
        let registry =
            Arc::new(Registry::new(store.clone(), ring.clone(), Profile::built_in().into()));
        let tenant = Tenant::new(ids.make(), "m2", clock.now());
        store.create_tenant(tenant.clone()).await.unwrap();
        let authority = Authority::new().unwrap();
        let tls = authority.server(&["127.0.0.1"], Validity::Now, &["http/1.1"]).unwrap();
        let signer = Signer::new(Validity::Now).unwrap();
        let served = document("200 OK", signer.certificate());
        let certificates = Receiver::tls(tls, move |_| served.clone()).await.unwrap();
        let client = Client::new(Settings {
            policy: Policy::for_dev(),
            extra_roots: vec![authority.root()],
            ..Settings::default()
        });
        let client = client.unwrap();
        let sink = Arc::new(Sink::new(clock.clone(), 10));
        let suppressions = Arc::new(Suppressions { store: store.clone(), clock: clock.clone() });
        let mail = MailCarrier {
            transport: sink.clone(),
            registry: registry.clone(),
            ids: ids.clone(),
            clock: clock.clone(),
            plan: Arc::new(RetryPlan::EMAIL),
            suppressions: suppressions.clone(),
            limits: Arc::new(TenantLimits::default()),
            message_id_domain: None,
        };
        let feedback = EmailFeedback(FeedbackService {
            store: store.clone(),
            registry: registry.clone(),
            ids: ids.clone(),
            clock: clock.clone(),
            retention: Duration::from_hours(24 * 30),
        });
        let sources = Arc::new(Sources::new(store.clone(), ring.clone()));
        let dispatch = DispatchCarrier::new(sources.clone(), client.clone(), clock.clone())
            .with_internal_sink(Arc::new(feedback));
        let lanes = vec![LaneSetup::new(Lane::Dispatch, Arc::new(dispatch)), limits::lane(mail)];
        let engine = Engine::start(EngineSetup {
            limits: Limits { poll: Duration::from_millis(20), ..Limits::default() },
            ..EngineSetup::new(store.clone(), clock.clone(), Arc::new(SystemRandom), lanes)
        });
        let engine = engine.await.unwrap();
        let keys = SigningKeys::open(store.clone(), ring.clone(), clock.clone()).await.unwrap();
        let inbound = Inbound::new(InboundSetup {
            store: store.clone(),
            engine: engine.clone(),
            sources: sources.clone(),
            keys: Arc::new(keys),
            policy: Arc::new(PolicyService::open(None).unwrap()),
            ids: ids.clone(),
            clock: clock.clone(),
            limits: gancho_inbound::Limits::default(),
        });
        let hosts = SnsHosts::with([format!("127.0.0.1:{}", certificates.port())]);
        let inbound = inbound.with_sns(client.clone(), hosts);
        let outbox = Arc::new(Outbox {
            store: store.clone(),
            engine,
            ids: ids.clone(),
            clock: clock.clone(),
            limits: MailLimits::default(),
        });
        let desk = SourceService { store: store.clone(), ring, sources, ids, clock, client };
        let preset = json!({ "sns": { "topics": [TOPIC] } }).to_string();
        let draft = SourceDraft {
            partner: Some("ses".into()),
            preset: Some(serde_json::value::RawValue::from_string(preset).unwrap()),
            target_url: Some("gancho:email-feedback".into()),
            ..SourceDraft::default()
        };
        desk.create(draft).await.unwrap();
        let scope = TenantScope::internal(tenant.id);
        Self {
            store,
            inbound,
            outbox,
            suppressions,
            sink,
            desk,
            tenant,
            scope,
            signer,
            certificates,
            _place: place,
        }
    }

    async fn submit(&self, to: &str) -> EmailId {
        let draft = EmailDraft {
            from: Some("shop@example.com".into()),
            to: Some(to.into()),
            subject: Some("A fatura".into()),
            text: Some("Olá.\n".into()),
            ..EmailDraft::default()
        };
        self.outbox.submit(self.scope, &self.tenant, draft).await.unwrap().id
    }

    async fn until(&self, id: EmailId, status: EmailStatus) -> EmailView {
        wait_for("it gets there", || async {
            let view = self.outbox.email(self.scope, id).await.unwrap().unwrap();
            (view.row.status == status).then_some(view)
        })
        .await
    }

    /// Sends a report through SNS, and waits for its status. Also returns the outbox's response.
    async fn report(&self, id: &str, text: &str) -> (ReceiptStatus, String) {
        let mut message = notification(TOPIC, &SystemClock.now().to_string(), id, text);
        let url = format!("https://127.0.0.1:{}/S.pem", self.certificates.port());
        message["SigningCertURL"] = json!(url);
        self.signer.sign(&mut message, "1").unwrap();
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("text/plain; charset=UTF-8"));
        let request = ReceivedRequest::post("ses", headers, message.to_string());
        let Outcome::Accepted(kept) = self.inbound.receive(&request).await else { panic!() };
        let receipt = wait_for("it is settled", || async {
            let found = self.receipt(kept.receipt).await;
            (![ReceiptStatus::Received, ReceiptStatus::Failed].contains(&found.status))
                .then_some(found)
        })
        .await;
        let source = self.desk.get(&"ses".parse().unwrap()).await.unwrap();
        let delivery = receipt.deliveries[0].id;
        let view = self.store.delivery(source.scope(), delivery).await.unwrap().unwrap();
        let said = String::from_utf8(view.attempts[0].response_body.to_vec()).unwrap();
        (receipt.status, if said.is_empty() { receipt.last_error.unwrap() } else { said })
    }

    async fn receipt(&self, id: gancho_domain::ReceiptId) -> Receipt {
        let source = self.desk.get(&"ses".parse().unwrap()).await.unwrap();
        let receipts = Receipts { store: self.store.clone() };
        let page = PageRequest::first(100);
        let page = receipts.list(source.scope(), ReceiptFilter::default(), page).await.unwrap();
        page.rows.into_iter().find(|receipt| receipt.id == id).unwrap()
    }

    async fn told(&self, kind: &str) -> Vec<Value> {
        let page = PageRequest::first(100);
        let rows = self.store.events(self.scope, EventFilter::default(), page).await.unwrap().rows;
        let mut told = Vec::new();
        for row in rows.iter().filter(|row| &*row.event_type == kind) {
            let event = self.store.event(self.scope, row.id).await.unwrap().unwrap();
            told.push(serde_json::from_slice(&event.parcel.body).unwrap());
        }
        told
    }

    /// Returns a bounce as SES publishes it, with the tags of the gateway's e-mail.
    fn bounce(&self, id: EmailId) -> String {
        json!({
            "eventType": "Bounce",
            "bounce": {
                "bounceType": "Permanent",
                "bounceSubType": "General",
                "bouncedRecipients": [{ "emailAddress": "ana@example.com" }],
                "feedbackId": "0102-1",
            },
            "mail": { "tags": {
                "outboxId": [id.to_string()],
                "tenantId": [self.tenant.id.to_string()],
            }},
        })
        .to_string()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bounce_becomes_a_failure_and_the_address_is_suppressed() {
    let stage = Stage::new().await;
    let id = stage.submit("ana@example.com").await;
    stage.until(id, EmailStatus::Sent).await;

    let bounce = stage.bounce(id);
    let first = stage.report("m-1", &bounce).await;
    assert_eq!(first, (ReceiptStatus::Dispatched, format!("{id} failed: BOUNCE_PERMANENT")));
    let view = stage.until(id, EmailStatus::Failed).await;
    assert_eq!(view.row.failure_code, Some(FailureCode::BouncePermanent));
    // The same report in another message of SNS is reported once.
    let again = stage.report("m-2", &bounce).await;
    assert_eq!(again, (ReceiptStatus::Dispatched, format!("{id} was already reported")));
    let told = stage.told("email.failed").await;
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["failureCode"], "BOUNCE_PERMANENT");

    let known = stage.suppressions.get(stage.scope, &"ana@example.com".parse().unwrap()).await;
    assert!(known.unwrap().is_some());
    let next = stage.submit("ana@example.com").await;
    stage.until(next, EmailStatus::Failed).await;
    assert_eq!(stage.sink.emails().len(), 1, "nothing more is sent there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_report_of_ours() {
    let stage = Stage::new().await;
    let other = json!({ "eventType": "Delivery", "mail": {} }).to_string();
    let (status, said) = stage.report("m-1", &other).await;
    assert_eq!(status, ReceiptStatus::Dispatched);
    assert!(said.contains("`Delivery`"), "{said}");
    let tried = "Successfully validated SNS topic for Amazon SES event publishing.";
    assert_eq!(stage.report("m-2", tried).await.0, ReceiptStatus::Dispatched);
    let (status, said) = stage.report("m-3", "hello").await;
    assert_eq!(status, ReceiptStatus::Dlq, "someone should look at it");
    assert!(said.starts_with("NOT_FEEDBACK"), "{said}");
    let strangers: EmailId = "out_01HQXYZ123ABC0000000000000".parse().unwrap();
    let said = stage.report("m-4", &stage.bounce(strangers)).await.1;
    assert_eq!(said, "not about an e-mail of this outbox");
    assert!(stage.told("email.failed").await.is_empty());
}
