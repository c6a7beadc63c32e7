//! Secrets stay secret: each is a word that occurs nowhere else, and everything that the gateway shows, logs
//! or stores is searched for it, as it is and in encodings that could hide it.

use std::{fs, path::Path};

use data_encoding::{BASE64, BASE64_NOPAD, BASE64URL_NOPAD, HEXLOWER};
use gancho_testkit::until;

use serde_json::json;

use crate::{
    emails::crash::MailServer,
    gateway::{Gateway, TOKEN},
    http, partner, receiver,
};

const MAIL_PASSWORD: &str = "canary-mail-password-0123456789";
const AMAZON_SECRET: &str = "canary/amazon+secret+0123456789/0123456789";
const AMAZON_TOKEN: &str = "canary-amazon-session-token-0123456789";

/// The searched texts, with the name of the secret.
struct Canary {
    name: &'static str,
    forms: Vec<Vec<u8>>,
}

fn canary(name: &'static str, secret: &str) -> Canary {
    let bytes = secret.as_bytes();
    let mut forms = vec![
        bytes.to_vec(),
        HEXLOWER.encode(bytes).into_bytes(),
        HEXLOWER.encode(bytes).to_uppercase().into_bytes(),
        BASE64URL_NOPAD.encode(bytes).into_bytes(),
        percent_encoded(secret).into_bytes(),
    ];
    // Inside of longer base64 it is at one of three offsets; the part that lies wholly within it is searched.
    for offset in 0..3 {
        let padded = [vec![0; offset], bytes.to_vec()].concat();
        let text = BASE64_NOPAD.encode(&padded);
        forms.push(text.as_bytes()[4..text.len() - 4].to_vec());
    }
    // The key after `whsec_`.
    if let Some(key) = secret.strip_prefix("whsec_") {
        forms.push(key.as_bytes().to_vec());
        let raw = BASE64.decode(key.as_bytes()).unwrap();
        forms.push(HEXLOWER.encode(&raw).into_bytes());
        forms.push(raw);
    }
    Canary { name, forms }
}

fn percent_encoded(secret: &str) -> String {
    let digits = HEXLOWER.encode(secret.as_bytes()).to_uppercase();
    digits.as_bytes().chunks(2).flat_map(|pair| [b"%", pair].concat()).map(char::from).collect()
}

fn search(place: &str, bytes: &[u8], canaries: &[Canary]) {
    for canary in canaries {
        for form in &canary.forms {
            let found = bytes.windows(form.len()).any(|window| window == form.as_slice());
            assert!(!found, "the {} is in {place}", canary.name);
        }
    }
}

fn search_folder(folder: &Path, canaries: &[Canary]) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            search_folder(&path, canaries);
        } else {
            search(&path.display().to_string(), &fs::read(&path).unwrap(), canaries);
        }
    }
}

const TO_THE_OPERATOR: [&str; 9] = [
    "/v1/tenants",
    "/v1/tenants/acme",
    "/v1/tenants/acme/api-keys",
    "/v1/queues",
    "/v1/keys",
    "/v1/sources",
    "/v1/sources/acme",
    "/v1/sources/acme/keys",
    "/v1/sources/acme/rejections",
];

/// `dump` returns the content of a database outside of the directory.
fn keeps_secrets(variables: &[(&str, &str)], dump: impl Fn() -> Option<String>) {
    let folder = tempfile::tempdir().unwrap();
    let (target, seen) = receiver::start();
    let mail = MailServer::start();
    let mail = mail.url(&format!("anyone:{MAIL_PASSWORD}@"));
    let more = [("GANCHO_LOG_LEVEL", "trace"), ("GANCHO_SMTP_URL", &mail)];
    let served = Gateway::start(folder.path(), &[variables, &more].concat());
    let key = served.tenant("acme");
    let given = "whsec_Y2FuYXJ5LWdpdmVuLXNlY3JldC0wMTIzNDU2Nzg5";
    let header = "canary-header-value-0123456789";
    let mine = [("x-api-key", key.as_str())];
    let call = |method: &str, path: &str, body: &str| {
        http::call(served.address, method, path, &mine, body)
    };

    let body = format!(
        r#"{{"url":"http://{target}/hook","events":["*"],"secret":"{given}","headers":{{"x-token":"{header}"}}}}"#
    );
    let made = call("POST", "/v1/webhooks", &body).json();
    let id = made["id"].as_str().unwrap().to_owned();
    assert_eq!(made["secret"], given, "shown once, at creation");
    let event = served.publish(&key, "invoice.paid", "{}");
    until("it arrives", || seen.last(&event).is_some());
    let got = seen.last(&event).unwrap();
    assert!(got.headers.iter().any(|(name, value)| name == "x-token" && value == header));
    let rotated = call("POST", &format!("/v1/webhooks/{id}/rotate-secret"), "{}").json();
    let rotated = rotated["secret"].as_str().unwrap().to_owned();
    let revealed = call("GET", &format!("/v1/webhooks/{id}/secret"), "").json();
    assert_eq!(revealed["secret"], rotated.as_str(), "shown where it is asked for");
    let portal = served.operator("POST", "/v1/portal-links", r#"{"tenant":"acme"}"#).json();
    let portal = portal["token"].as_str().unwrap().to_owned();
    let again = served.publish(&key, "invoice.paid", "{}");
    until("it arrives again", || seen.last(&again).is_some());

    let email = send_email(&served, &key);
    until("it is sent", || {
        call("GET", &format!("/v1/emails/{email}"), "").json()["status"] == "SENT"
    });
    let forged = receive(&served, &format!("http://{target}/core"));

    let (_, key_secret) = key.split_once('_').unwrap().1.split_once('_').unwrap();
    let canaries = [
        canary("operator's token", TOKEN),
        canary("secret that was given", given),
        canary("secret after the rotation", &rotated),
        canary("custom header", header),
        canary("API key", &key),
        canary("API key's secret part", key_secret),
        canary("portal token", &portal),
        canary("mail server's password", MAIL_PASSWORD),
        canary("partner's secret", partner::SECRET),
    ];

    search("what a partner is answered", forged.body.as_bytes(), &canaries);
    // What is shown: everything that can be read, and refusals of invalid requests.
    let delivery = call("GET", &format!("/v1/deliveries?event_id={event}"), "").json();
    let delivery = delivery["data"][0]["id"].as_str().unwrap().to_owned();
    let mut shown = 0;
    for path in [
        "/v1/webhooks",
        &format!("/v1/webhooks/{id}"),
        &format!("/v1/webhooks/{id}/deliveries"),
        &format!("/v1/webhooks/{id}/deliveries/{delivery}"),
        "/v1/deliveries",
        "/v1/events",
        &format!("/v1/events/{event}"),
        "/v1/dlq",
        "/v1/dlq/stats",
        "/v1/replays",
        "/v1/emails",
        &format!("/v1/emails/{email}"),
        "/v1/webhooks/events",
        "/metrics",
        "/readyz",
        "/healthz",
        "/openapi.json",
        "/docs/",
        "/v1/nothing",
    ] {
        let answer = call("GET", path, "");
        search(path, format!("{}{}", answer.head, answer.body).as_bytes(), &canaries);
        shown += 1;
    }
    for path in TO_THE_OPERATOR {
        let answer = served.operator("GET", path, "");
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        search(path, format!("{}{}", answer.head, answer.body).as_bytes(), &canaries);
        shown += 1;
    }
    assert_eq!(shown, 28);
    let secret_refused = format!(
        r#"{{"url":"nowhere","events":[],"secret":"{given}","headers":{{"host":"{header}"}}}}"#
    );
    let refused = call("POST", "/v1/webhooks", &secret_refused);
    assert_eq!(refused.status, 422);
    search("a refusal", refused.body.as_bytes(), &canaries);
    let stranger =
        http::call(served.address, "GET", "/v1/events", &[("x-api-key", &format!("{key}x"))], "");
    assert_eq!(stranger.status, 401);
    search("a refused key", stranger.body.as_bytes(), &canaries);

    let log = served.stop();
    search_what_is_left(&log, &folder.path().join("data"), canaries, dump());
}

/// Searches what is logged, at the finest level, and what is stored: the directory, and the database's own
/// dump.
fn search_what_is_left(
    log: &str,
    data: &Path,
    canaries: impl IntoIterator<Item = Canary>,
    dump: Option<String>,
) {
    assert!(log.contains("\"TRACE\"") || log.contains("\"DEBUG\""), "the log is fine enough");
    let ring = fs::read_to_string(data.join("master.key")).unwrap();
    let of_key = |byte: char| byte.is_ascii_alphanumeric() || "+/=-_".contains(byte);
    let master = ring.split(|byte| !of_key(byte)).max_by_key(|word| word.len()).unwrap();
    let canaries: Vec<_> = canaries.into_iter().chain([canary("master key", master)]).collect();
    search("the log", log.as_bytes(), &canaries);
    fs::remove_file(data.join("master.key")).unwrap();
    search_folder(data, &canaries);
    if let Some(dump) = dump {
        assert!(dump.contains("invoice.paid"), "the dump holds what was kept");
        search("the database", dump.as_bytes(), &canaries);
    }
}

#[test]
fn no_secret_leaks_on_sqlite() {
    keeps_secrets(&[], || None);
}

#[test]
fn no_secret_leaks_on_postgres() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(gancho_testkit::postgres::fresh_database()).unwrap();
    // Every row of every table as text, in which bytes are hexadecimal.
    let dump = async || {
        let client = database.client().await.unwrap();
        let sql = "select string_agg(query_to_xml('select t::text from ' || tablename || ' t', true, false, '')::text, '')
            from pg_tables where schemaname = 'public'";
        client.query_one(sql, &[]).await.unwrap().get::<_, String>(0)
    };
    keeps_secrets(&[("GANCHO_DATABASE_URL", &database.url())], || Some(runtime.block_on(dump())));
}

/// Receives a partner's webhook, and returns the response to a forged one.
fn receive(served: &Gateway, core: &str) -> http::Answer {
    served.source("acme", partner::SECRET, core);
    let ingest = served.ingest.unwrap();
    assert_eq!(partner::post(ingest, r#"{"event_id":"e1"}"#).status, 204);
    let forged = http::call(ingest, "POST", "/webhooks/acme", &[("x-key-id", "k1")], "{}");
    assert_eq!(forged.status, 403);
    forged
}

fn send_email(served: &Gateway, key: &str) -> String {
    let email = json!({
        "from": "shop@example.com", "to": "ana@example.com", "subject": "x", "text": "y",
    });
    let mine = [("x-api-key", key)];
    let sent = http::call(served.address, "POST", "/v1/email/send", &mine, &email.to_string());
    assert_eq!(sent.status, 201, "{}", sent.body);
    sent.json()["outboxId"].as_str().unwrap().to_owned()
}

/// With a mail server that refuses the password, and an invalid response of Amazon.
#[test]
fn of_mail_that_cannot_be_sent() {
    let mail = MailServer::start();
    let (amazon, asked) = receiver::start();
    let (mail, amazon) = (mail.url(&format!("user:{MAIL_PASSWORD}@")), format!("http://{amazon}"));
    let by_smtp = vec![("GANCHO_SMTP_URL", mail.as_str())];
    let by_ses = vec![
        ("GANCHO_EMAIL_VIA", "ses"),
        ("GANCHO_SES_ENDPOINT", amazon.as_str()),
        ("AWS_REGION", "eu-west-1"),
        ("AWS_ACCESS_KEY_ID", "AKIACANARY"),
        ("AWS_SECRET_ACCESS_KEY", AMAZON_SECRET),
        ("AWS_SESSION_TOKEN", AMAZON_TOKEN),
    ];
    for (variables, reason) in [(by_smtp, "SMTP 535"), (by_ses, "SES")] {
        let folder = tempfile::tempdir().unwrap();
        let level = [("GANCHO_LOG_LEVEL", "trace")];
        let served = Gateway::start(folder.path(), &[&variables[..], &level].concat());
        let key = served.tenant("acme");
        let path = format!("/v1/emails/{}", send_email(&served, &key));
        let shown = || http::call(served.address, "GET", &path, &[("x-api-key", &key)], "");
        until("it is refused", || shown().json()["status"] == "RETRY_SCHEDULED");
        let canaries = [
            canary("mail server's password", MAIL_PASSWORD),
            canary("secret for Amazon", AMAZON_SECRET),
            canary("session's token at Amazon", AMAZON_TOKEN),
        ];
        let shown = shown().body;
        assert!(shown.contains(reason), "{shown}");
        search("what is shown of it", shown.as_bytes(), &canaries);
        for path in ["/v1/dlq", "/v1/queues", "/metrics", "/readyz"] {
            search(path, served.operator("GET", path, "").body.as_bytes(), &canaries);
        }
        let log = served.stop();
        search_what_is_left(&log, &folder.path().join("data"), canaries, None);
    }
    // The request to Amazon was signed; the secret itself stays here.
    let got = asked.last("").unwrap();
    let headers = format!("{:?}", got.headers);
    assert!(headers.contains("AWS4-HMAC-SHA256"), "{headers}");
    search("what Amazon gets", headers.as_bytes(), &[canary("secret for Amazon", AMAZON_SECRET)]);
}

#[test]
fn a_canary_is_seen_where_it_is() {
    let canaries = [canary("secret", "whsec_Y2FuYXJ5LWdpdmVuLXNlY3JldC0wMTIzNDU2Nzg5")];
    for form in &canaries[0].forms {
        let place = [b"before ".as_slice(), form, b" after"].concat();
        let seen = std::panic::catch_unwind(|| search("here", &place, &canaries)).is_err();
        assert!(seen, "{}", String::from_utf8_lossy(form));
    }
    search("nowhere", b"nothing to see", &canaries);
}
