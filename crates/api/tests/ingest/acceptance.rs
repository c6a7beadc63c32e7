//! The four "proofs of done" of the partners' blueprint, run as written there, with `openssl` and `curl`; and
//! the verification of `X-Policy-Sign` with `openssl` alone.

use std::process::Command;

use data_encoding::{BASE64, BASE64URL_NOPAD, HEXLOWER};
use serde_json::{Value, json};

use crate::{
    ingest::receive::{SECRET, acme},
    stage::{Stage, eventually, receiver},
};

/// Section 12 of the blueprint. Prints the headers, then the status.
const CLIENT: &str = r#"
ts=${TS:-$(date -u +%s)}
base="${ts}.${BODY}"
sig=$(printf "%s" "$base" | openssl dgst -sha256 -hmac "$SECRET" -binary | openssl base64 -A)
curl -s -D - -o /dev/null -X POST "$URL" \
  -H "content-type: application/json" \
  -H "X-Timestamp: $ts" \
  -H "X-Key-Id: k1" \
  -H "X-Signature: hmac-sha256=${sig}" \
  --data "$BODY"
"#;

const BODY: &str = r#"{"event":"ping","id":"e_123"}"#;

async fn send(stage: &Stage, secret: &str, time: Option<i64>) -> (u16, String) {
    let mut command = Command::new("bash");
    command.args(["-euc", CLIENT]).env("BODY", BODY).env("SECRET", secret);
    command.env("URL", format!("http://{}/webhooks/acme", stage.ingest));
    if let Some(time) = time {
        command.env("TS", time.to_string());
    }
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text} {}", String::from_utf8_lossy(&output.stderr));
    let status = text.split(' ').nth(1).unwrap().parse().unwrap();
    (status, text)
}

async fn receipts(stage: &Stage) -> Vec<Value> {
    let page = stage.operator().get("/v1/sources/acme/receipts").await.is(200).json();
    page["data"].as_array().unwrap().clone()
}

async fn proofs(stage: &Stage) {
    let (core, url) = receiver(200).await;
    acme(stage, &url).await;
    #[expect(clippy::disallowed_methods, reason = "a partner signs by a clock of its own")]
    let now = jiff::Timestamp::now().as_second();
    // 1. A valid signature: 204, a line in the ledger, a receipt.
    assert_eq!(send(stage, SECRET, Some(now)).await.0, 204);
    assert_eq!(stage.api.store.ledger_size().await.unwrap(), 1);
    let rows = receipts(stage).await;
    assert_eq!(
        (rows.len(), &rows[0]["partner"], &rows[0]["key_id"]),
        (1, &json!("acme"), &json!("k1"))
    );
    // 2. An invalid one: 403, and nothing is stored.
    assert_eq!(send(stage, "another secret of length", None).await.0, 403);
    assert_eq!(stage.api.store.ledger_size().await.unwrap(), 1);
    let noted = stage.operator().get("/v1/sources/acme/rejections").await.is(200).json();
    assert_eq!(noted["data"][0]["reason"], "signature_mismatch");
    // 3. The same body and timestamp: 204, and no new delivery.
    assert_eq!(send(stage, SECRET, Some(now)).await.0, 204);
    eventually(|| async {
        let rows = receipts(stage).await;
        (rows.len() == 1 && rows[0]["status"] == "dispatched").then_some(())
    })
    .await;
    assert_eq!(core.requests().len(), 1);
    // 4. The core is down: attempts increase until the dead letter.
    let away = {
        // A port that was free a moment ago, on which nothing listens.
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}/", listener.local_addr().unwrap())
    };
    let plan = json!({"base": "10ms", "max": "20ms", "attempts": 3});
    let retry = json!({"target_url": away, "retry": plan});
    stage.operator().patch("/v1/sources/acme", &retry).await.is(200);
    assert_eq!(send(stage, SECRET, Some(now + 1)).await.0, 204);
    let dead = eventually(|| async {
        let page =
            stage.operator().get("/v1/sources/acme/receipts?status=dlq").await.is(200).json();
        page["data"].as_array().unwrap().first().cloned()
    })
    .await;
    assert_eq!(dead["attempts"], 3);
    assert!(dead["last_error"].as_str().unwrap().starts_with("CONNECT_FAILED"), "{dead}");
    let letters = stage.operator().get("/v1/dlq?lane=dispatch").await.is(200).json();
    assert_eq!(letters["data"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_four_proofs_on_sqlite() {
    proofs(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_four_proofs_on_postgres() {
    proofs(&Stage::postgres().await).await;
}

/// The steps of a partner with the header, the body that it sent, and the public key.
const VERIFY: &str = r#"
cd "$FOLDER"
hash=$(printf "%s" "$BODY" | openssl dgst -sha256 -r | cut -d' ' -f1)
printf "%s.%s.%s" "$RECEIPT" "$hash" "$TIME" > message
openssl pkeyutl -verify -pubin -keyform DER -inkey key.der -rawin -in message -sigfile signature
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_partner_checks_the_signature_of_the_answer() {
    let stage = Stage::new().await;
    let (_core, url) = receiver(200).await;
    acme(&stage, &url).await;
    let (status, headers) = send(&stage, SECRET, None).await;
    assert_eq!(status, 204);
    let sign = headers.lines().find_map(|line| line.strip_prefix("x-policy-sign: ")).unwrap();
    let part = |name: &str| {
        let found = sign.split("; ").find_map(|part| part.strip_prefix(&format!("{name}=")));
        found.unwrap().trim().to_owned()
    };
    let jwks = stage.partner().get("/.well-known/jwks.json").await.is(200).json();
    assert_eq!(jwks["keys"][0]["kid"], part("kid"));
    let x = BASE64URL_NOPAD.decode(jwks["keys"][0]["x"].as_str().unwrap().as_bytes()).unwrap();
    // SubjectPublicKeyInfo of an Ed25519 key is these twelve bytes and the key.
    let der = [HEXLOWER.decode(b"302a300506032b6570032100").unwrap(), x].concat();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("key.der"), der).unwrap();
    let signature = BASE64.decode(part("ed25519").as_bytes()).unwrap();
    std::fs::write(folder.path().join("signature"), signature).unwrap();
    for (body, is_good) in [(BODY, true), (r#"{"event":"ping","id":"e_124"}"#, false)] {
        let output = Command::new("bash")
            .args(["-uc", VERIFY])
            .env("FOLDER", folder.path())
            .env("BODY", body)
            .env("RECEIPT", part("receipt"))
            .env("TIME", part("t"))
            .output()
            .unwrap();
        assert_eq!(output.status.success(), is_good, "{}", String::from_utf8_lossy(&output.stderr));
    }
}
