//! A simulated Amazon SNS: it signs, serves its certificate and counts confirmations, over real TLS.

use std::sync::Arc;

use gancho_domain::Clock;
use gancho_egress::{Client, Policy, Settings};
use gancho_inbound::{
    Inbound, InboundSetup, Limits, Outcome, PolicyService, Reason, ReceiveError, ReceivedRequest,
    SnsHosts, SourceDraft,
};
use gancho_testkit::{
    receiver::{Receiver, Step},
    sns::{Signer, confirmation, document, notification},
    tls::{Authority, Validity},
};
use serde_json::{Value, json};

use super::TOPIC;
use crate::stage::{Spoil, Stage, core, raw, request, url};

/// A gateway that trusts this SNS.
pub struct Amazon {
    pub signer: Signer,
    pub inbound: Inbound,
    pub certificates: Receiver,
    pub subscriptions: Receiver,
    pub core: Receiver,
}

pub type Script = Box<dyn Fn(usize) -> Vec<Step> + Send + Sync>;

pub fn always(steps: Vec<Step>) -> Script {
    Box::new(move |_| steps.clone())
}

impl Amazon {
    pub async fn new(stage: &Stage) -> Self {
        let signer = Signer::new(Validity::Now).unwrap();
        let script = always(document("200 OK", signer.certificate()));
        Self::serving(stage, signer, script, always(document("200 OK", "<ok/>"))).await
    }

    /// Serves its own certificate at the URL.
    pub async fn with_certificate(stage: &Stage, signer: Signer, text: &str) -> Self {
        let script = always(document("200 OK", text));
        Self::serving(stage, signer, script, always(document("200 OK", "<ok/>"))).await
    }

    pub async fn serving(stage: &Stage, signer: Signer, pem: Script, confirm: Script) -> Self {
        let authority = Authority::new().unwrap();
        let tls = || authority.server(&["127.0.0.1"], Validity::Now, &["http/1.1"]).unwrap();
        let certificates = Receiver::tls(tls(), pem).await.unwrap();
        let subscriptions = Receiver::tls(tls(), confirm).await.unwrap();
        let client = Client::new(Settings {
            policy: Policy::for_dev(),
            extra_roots: vec![authority.root()],
            ..Settings::default()
        });
        let ports = [certificates.port(), subscriptions.port()];
        let node = &stage.node;
        let inbound = Inbound::new(InboundSetup {
            store: node.store.clone(),
            engine: node.engine.clone(),
            sources: node.sources.clone(),
            keys: node.keys.clone(),
            policy: Arc::new(PolicyService::open(None).unwrap()),
            ids: node.desk.ids.clone(),
            clock: stage.clock.clone(),
            limits: Limits::default(),
        });
        let hosts = SnsHosts::with(ports.map(|port| format!("127.0.0.1:{port}")));
        let inbound = inbound.with_sns(client.unwrap(), hosts);
        let core = core().await;
        let amazon = Self { signer, inbound, certificates, subscriptions, core };
        amazon.source(stage, "ses").await;
        amazon
    }

    pub async fn source(&self, stage: &Stage, partner: &str) {
        let draft = SourceDraft {
            partner: Some(partner.into()),
            preset: Some(raw(&json!({ "sns": { "topics": [TOPIC] } }).to_string())),
            target_url: Some(url(&self.core)),
            ..SourceDraft::default()
        };
        stage.node.desk.create(draft).await.unwrap();
    }

    pub fn pem(&self) -> String {
        format!("https://127.0.0.1:{}/SimpleNotificationService-1.pem", self.certificates.port())
    }

    pub fn notification(&self, stage: &Stage, id: &str, text: &str) -> Value {
        let mut message = notification(TOPIC, &stage.clock.now().to_string(), id, text);
        message["SigningCertURL"] = json!(self.pem());
        message
    }

    pub fn greeting(&self, stage: &Stage, kind: &str) -> Value {
        let url = format!("https://127.0.0.1:{}/?Action=Confirm", self.subscriptions.port());
        let mut message = confirmation(kind, TOPIC, &stage.clock.now().to_string(), &url);
        message["SigningCertURL"] = json!(self.pem());
        self.sign(message)
    }

    pub fn sign(&self, mut message: Value) -> Value {
        self.signer.sign(&mut message, "2").unwrap();
        message
    }

    pub async fn send(&self, message: &Value) -> Outcome {
        self.inbound.receive(&posted(message)).await
    }

    pub async fn denied(&self, message: &Value) -> ReceiveError {
        match self.send(message).await {
            Outcome::Rejected(denied) => denied,
            other => panic!("{other:?}: {message}"),
        }
    }

    /// Checks that a message is refused like any unverified one, for this reason.
    pub async fn refused(&self, message: &Value, reason: Reason) {
        let denied = self.denied(message).await;
        let told = (denied.status, denied.code, &*denied.detail);
        assert_eq!(told, (403, "deny_invalid_access", "the request could not be verified"));
        assert_eq!(denied.reason, reason, "{:?}: {message}", denied.note);
        let rejection = self.inbound.rejections.of("ses").into_iter().next().unwrap();
        assert_eq!(rejection.reason, reason);
        assert!(rejection.detail.is_some(), "the operator sees more");
    }

    pub async fn nothing_was_kept(&self, stage: &Stage) {
        assert_eq!(stage.receipts("ses").await.len(), 0);
        assert_eq!(stage.ledger().await.len(), 0);
        assert_eq!(self.core.accepted(), 0);
    }
}

pub fn posted(message: &Value) -> ReceivedRequest {
    request("ses", &message.to_string()).with("content-type", "text/plain; charset=UTF-8")
}
