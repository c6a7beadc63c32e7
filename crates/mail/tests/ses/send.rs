//! SES, simulated by moto.

use std::sync::{Arc, OnceLock};

use data_encoding::BASE64;
use gancho_domain::SystemClock;
use gancho_mail::{
    EmailDraft, EmailStatus, SesTransport,
    ses::{Credentials, SesSettings},
};
use gancho_testkit::python::PythonServer;
use serde_json::Value;
use zeroize::Zeroizing;

use crate::stage::{Stage, StoreKind, client, draft};

on_both! { taken_by_ses refused_by_ses too_much_for_ses }

struct Ses {
    server: PythonServer,
    port: u64,
}

fn ses() -> &'static Ses {
    static SES: OnceLock<Ses> = OnceLock::new();
    SES.get_or_init(|| {
        let server = PythonServer::start("crates/mail/tests/servers/ses.py", &[]).unwrap();
        let ports: Value = serde_json::from_str(&server.first().unwrap()).unwrap();
        Ses { port: ports["ses"].as_u64().unwrap(), server }
    })
}

impl Ses {
    fn transport(&self) -> SesTransport {
        let settings = SesSettings {
            region: "us-east-1".into(),
            endpoint: Some(format!("http://127.0.0.1:{}", self.port).parse().unwrap()),
            credentials: Credentials {
                key_id: "AKIDEXAMPLE".into(),
                secret: Zeroizing::new("secret".into()),
                token: None,
            },
            configuration_set: None,
            deadline: std::time::Duration::from_secs(20),
        };
        SesTransport::new(client(), Arc::new(SystemClock), settings).unwrap()
    }

    fn asked(&self, id: &str) -> Vec<Value> {
        let values = self.server.lines();
        let values = values.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
        values.filter(|value| value["body"]["EmailTags"][0]["Value"] == id).collect()
    }
}

async fn taken_by_ses(on: StoreKind) {
    let ses = ses();
    let stage = Stage::new(on, ses.transport()).await;
    let id = stage.submit(draft("ana@example.com")).await;
    let view = stage.until(id, EmailStatus::Sent).await;
    let message_id = view.message_id.unwrap();
    assert!(!message_id.is_empty() && !message_id.contains("out_"), "SES's own: {message_id}");
    assert_eq!(stage.told(id).await[0].2["messageId"], message_id);
    let asked = ses.asked(&id.to_string());
    let [asked] = &asked[..] else { panic!("asked once: {asked:?}") };
    let signed = asked["authorization"].as_str().unwrap();
    assert!(signed.starts_with("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20"), "{signed}");
    let raw = asked["body"]["Content"]["Raw"]["Data"].as_str().unwrap();
    let raw = String::from_utf8(BASE64.decode(raw.as_bytes()).unwrap()).unwrap();
    assert!(raw.contains(&format!("Message-ID: <{id}@example.com>\r\n")), "{raw}");
}

async fn refused_by_ses(on: StoreKind) {
    let stage = Stage::new(on, ses().transport()).await;
    let unverified =
        EmailDraft { from: Some("eve@unverified.org".into()), ..draft("ana@example.com") };
    let id = stage.submit(unverified).await;
    let view = stage.until(id, EmailStatus::Failed).await;
    assert_eq!(view.row.attempts, 1);
    assert_eq!(view.ses_error.as_deref(), Some("MessageRejected"));
    let (_, _, data) = &stage.told(id).await[0];
    assert_eq!(data["sesError"], "MessageRejected");
    assert_eq!(data["failureCode"], "SES_ERROR");
}

async fn too_much_for_ses(on: StoreKind) {
    let stage = Stage::new(on, ses().transport()).await;
    for (local, code, error) in [
        ("throttle", "SES_THROTTLE", "TooManyRequestsException: Rate exceeded"),
        ("unavailable", "SES_ERROR", "ServiceUnavailable: Try again"),
    ] {
        let id = stage.submit(draft(&format!("{local}@example.com"))).await;
        let view = stage.until(id, EmailStatus::RetryScheduled).await;
        assert_eq!(view.row.failure_code.unwrap().name(), code);
        assert_eq!(stage.told(id).await[0].2["lastError"], error);
    }
}
