//! Attacks on signatures, timestamps, bodies and names, through the whole flow: nothing of them reaches the
//! store. Each request would be accepted without the one part that is manipulated.

use std::time::Duration;

use data_encoding::{BASE64, HEXLOWER};
use gancho_domain::Clock;
use gancho_inbound::{KeyDraft, Outcome, Reason, ReceivedRequest, SourceDraft};
use gancho_wire::{AttemptMetadata, Profile, SigningKey, new_key_pair, sign, sign_as_partner};

use crate::stage::{SECRET, Spoil, Stage, core, mac, raw, request, signed};

const BODY: &str = r#"{"event":"ping"}"#;

async fn refused(stage: &Stage, spoiled: &ReceivedRequest, status: u16, what: &str) -> Reason {
    let Outcome::Rejected(denied) = stage.send(spoiled).await else { panic!("{what} was let in") };
    assert_eq!(denied.status, status, "{what}: {denied:?}");
    if status == 403 {
        assert_eq!(denied.code, "deny_invalid_access");
        assert_eq!(denied.detail, "the request could not be verified", "one answer for all");
        assert!(denied.errors.is_empty() && denied.retry_after.is_none());
    }
    denied.reason
}

async fn nothing_was_kept(stage: &Stage, core: &gancho_testkit::receiver::Receiver) {
    assert_eq!(stage.ledger().await.len(), 0);
    assert_eq!(stage.receipts("acme").await.len(), 0);
    assert_eq!(core.accepted(), 0);
}

/// Signatures that are absent, misspelled or encoded differently.
async fn odd_signatures(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let good = stage.signed(BODY);
    let header = good.headers["x-signature"].to_str().unwrap().to_owned();
    let value = header.strip_prefix("hmac-sha256=").unwrap().to_owned();
    let bytes = BASE64.decode(value.as_bytes()).unwrap();
    let mut stray = value.clone().into_bytes();
    stray[42] += 1;
    let longer = [&bytes[..], &[0]].concat();
    for invalid in [
        String::new(),
        "   ".to_owned(),
        "hmac-sha256=".to_owned(),
        "hmac-sha256".to_owned(),
        "=".to_owned(),
        format!("=,{value}"),
        "hmac-sha256=A".to_owned(),
        format!("hmac-sha256={}", &value[..40]),
        format!("hmac-sha256={}", BASE64.encode(&bytes[..31])),
        format!("hmac-sha256={}", BASE64.encode(&longer)),
        format!("hmac-sha1={value}"),
        format!("sha256={value}"),
        format!("ed25519={value}"),
        format!("HMAC-SHA256={value}"),
        format!("hmac-sha256 ={value}"),
        format!("hmac-sha256= {value}"),
        format!("hmac-sha256={value} "),
        format!("hmac-sha256={value},hmac-sha256={value}"),
        format!("hmac-sha256={value}; x"),
        format!("scheme=hmac-sha256, sig={value}"),
        format!("scheme=ed25519,sig={value}"),
        format!("sig={value},scheme=hmac-sha256"),
        format!("hmac-sha256={}", value.trim_end_matches('=')),
        format!("hmac-sha256={}", value.replace('+', "-").replace('/', "_").trim_end_matches('=')),
        format!("hmac-sha256={}", HEXLOWER.encode(&bytes)),
        format!("hmac-sha256={}", String::from_utf8(stray).unwrap()),
        value.clone(),
    ] {
        refused(stage, &good.clone().with("x-signature", &invalid), 403, &invalid).await;
    }
    refused(stage, &good.clone().without("x-signature"), 403, "none").await;
    nothing_was_kept(stage, &core).await;
    stage.kept(&good).await;
}

/// Lists of signatures, repeated headers, and other splits of the signed text.
async fn lists_and_doubles(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let draft = SourceDraft { preset: Some(raw(r#""standard""#)), ..SourceDraft::default() };
    stage.source("std", &core, draft).await;
    let profile = Profile::standard();
    let now = stage.clock.now();
    let key = [SigningKey::for_profile(&profile, SECRET).unwrap()];
    let make = |id: &str| {
        let sending =
            AttemptMetadata { event_id: id, endpoint_id: "", event_type: "", at: now, retry: 0 };
        let headers = sign(&profile, &sending, BODY.as_bytes(), &key).unwrap();
        headers
            .into_iter()
            .fold(request("std", BODY), |request, (name, value)| request.with(name, &value))
    };
    let good = make("msg_1");
    let signature = good.headers["webhook-signature"].to_str().unwrap().to_owned();
    let bad = format!("v1,{}", BASE64.encode(&[7; 32]));
    let behind = |n: usize| format!("{} {signature}", vec![bad.clone(); n].join(" "));
    for (header, status) in [
        (behind(16), 403),
        (behind(60), 403),
        (vec![bad.clone(); 10_000].join(" "), 403),
        (format!("{bad}, {signature}"), 403),
        (format!("{bad}  {signature}"), 403),
        (format!("{bad}\t{signature}"), 403),
        (signature.replace("v1,", "v2,"), 403),
        (signature.replace("v1,", "v1a,"), 403),
        (signature.replace("v1,", "V1,"), 403),
        (signature.replace("v1,", "v1 ,"), 403),
        ("v1,".to_owned(), 403),
        ("v1".to_owned(), 403),
        (",x".to_owned(), 403),
        ("v1,=".to_owned(), 403),
    ] {
        refused(
            stage,
            &good.clone().with("webhook-signature", &header),
            status,
            &header[..header.len().min(60)],
        )
        .await;
    }
    for name in ["webhook-signature", "webhook-id", "webhook-timestamp"] {
        let value = good.headers[name].to_str().unwrap().to_owned();
        for second in [value.as_str(), "other"] {
            let reason = refused(stage, &good.clone().and(name, second), 403, name).await;
            assert_eq!(reason, Reason::DuplicateHeader);
        }
    }
    let time = now.secs();
    let shifted = good.clone().with("webhook-id", &format!("msg_1.{time}"));
    assert_eq!(refused(stage, &shifted, 403, "a dot in the id").await, Reason::MalformedId);
    assert_eq!(stage.ledger().await.len(), 0);
    stage.kept(&good.clone().with("webhook-signature", &behind(15))).await;
    stage.kept(&make("msg_2")).await;
}

/// The key decides the algorithm; the path decides whose keys are tried.
async fn confusion(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let pair = new_key_pair().unwrap();
    let public = pair.public_key.strip_prefix("whpk_").unwrap().to_owned();
    let draft = |public_key: &str| KeyDraft {
        scheme: Some("ed25519".into()),
        public_key: Some(public_key.into()),
        ..KeyDraft::default()
    };
    stage.put_key("acme", "k9", draft(&public)).await;
    stage.source("beta", &core, SourceDraft::default()).await;
    stage.put_key("beta", "other", crate::stage::hmac_key("the secret of beta only")).await;
    let time = stage.clock.now().secs().to_string();

    // An HMAC whose secret is the public key, in text and in bytes, under both names.
    let bytes = BASE64.decode(public.as_bytes()).unwrap();
    for secret in [public.as_bytes(), &bytes] {
        let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, secret);
        let tag = aws_lc_rs::hmac::sign(&key, format!("{time}.{BODY}").as_bytes());
        let tag = BASE64.encode(tag.as_ref());
        for scheme in ["hmac-sha256", "ed25519"] {
            let invalid = signed("acme", "k9", SECRET, &time, BODY)
                .with("x-signature", &format!("{scheme}={tag}"));
            refused(stage, &invalid, 403, scheme).await;
        }
    }
    // The partner's own HMAC key used under the id of the Ed25519 key, and vice versa.
    refused(stage, &signed("acme", "k9", SECRET, &time, BODY), 403, "hmac under k9").await;
    let private = SigningKey::ed25519(&pair.private_key).unwrap();
    let signature = sign_as_partner(&private, &time, BODY.as_bytes());
    let by_ed25519 = signed("acme", "k9", SECRET, &time, BODY).with("x-signature", &signature);
    refused(stage, &by_ed25519.clone().with("x-key-id", "k1"), 403, "ed25519 under k1").await;
    // The name, key id or key of another partner.
    refused(stage, &by_ed25519.clone().to("beta"), 403, "swapped").await;
    let foreign = signed("acme", "other", "the secret of beta only", &time, BODY);
    assert_eq!(refused(stage, &foreign, 403, "foreign key").await, Reason::UnknownKey);
    let foreign = signed("acme", "k1", "the secret of beta only", &time, BODY);
    assert_eq!(refused(stage, &foreign, 403, "foreign").await, Reason::SignatureMismatch);
    for key_id in ["", "../k1", "k1 ", "k1,k9", "K1", "k1\u{e9}"] {
        refused(stage, &stage.signed(BODY).with("x-key-id", key_id), 403, key_id).await;
    }
    refused(stage, &stage.signed(BODY).without("x-key-id"), 403, "no key id").await;
    nothing_was_kept(stage, &core).await;
    stage.kept(&by_ed25519).await;
    // Weak keys are refused when they are created.
    for weak in
        [BASE64.encode(&[0; 32]), BASE64.encode(&[1, 0].repeat(16)), "AA==".into(), String::new()]
    {
        let put = stage.node.desk.put_key(&"acme".parse().unwrap(), "weak", draft(&weak)).await;
        assert!(put.is_err(), "{weak}");
    }
}

/// A body that differs from the signed one is refused, even if it means the same.
async fn changed_bodies(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let body = "{\"a\":1,\n\"b\":\"\u{e9}\"}";
    let good = stage.signed(body);
    for invalid in [
        "{\"a\": 1,\n\"b\":\"\u{e9}\"}",
        "{\"a\":1,\r\n\"b\":\"\u{e9}\"}",
        "{\"a\":1,\"b\":\"\u{e9}\"}",
        "{\"a\":1,\n\"b\":\"\\u00e9\"}",
        "{\"a\":1,\n\"b\":\"e\u{301}\"}",
        "{\"b\":\"\u{e9}\",\n\"a\":1}",
        "{\"a\":1,\n\"b\":\"\u{e9}\"}\0",
        "{\"a\":1,\n\"b\":\"\u{e9}\"}\n",
        "",
    ] {
        let reason = refused(stage, &good.clone().body(invalid), 403, invalid).await;
        assert_eq!(reason, Reason::SignatureMismatch);
    }
    nothing_was_kept(stage, &core).await;
    stage.kept(&good).await;
}

/// Timestamps that are too old, too new, malformed, or not the signed ones.
async fn timestamps(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let now = stage.clock.now().secs();
    let at = |time: &str| signed("acme", "k1", SECRET, time, BODY);
    for time in [now - 301, now + 301, 1, 1 << 31, 1 << 32, 253_402_300_800] {
        let reason = refused(stage, &at(&time.to_string()), 403, &time.to_string()).await;
        assert_eq!(reason, Reason::StaleTimestamp);
    }
    let malformed = [
        "0",
        "-1",
        "-9223372036854775808",
        "9223372036854775807",
        "18446744073709551616",
        &format!("{now}000"),
        &format!("{now}000000"),
        &format!("{now}000000000"),
        &format!("+{now}"),
        &format!("0{now}"),
        &format!(" {now}"),
        &format!("{now} "),
        "1e9",
        "0x6b",
        "\u{ff11}\u{ff12}",
        &format!("{now}.0"),
        "Sun, 15 Nov 2026 06:37:00 GMT",
        "",
        "2026-11-15 06:37:00Z",
        "2026-11-15T06:37:00",
        "20261115T063700Z",
        "2026-W46-7T06:37:00Z",
    ];
    for time in malformed {
        let denied = stage.denied(&at(time)).await;
        assert_eq!((denied.status, denied.reason), (400, Reason::MalformedTimestamp), "{time}");
        assert!(denied.detail.contains("expected seconds"), "{}", denied.detail);
    }
    refused(stage, &at(&now.to_string()).without("x-timestamp"), 403, "none").await;
    // The signature covers the text as sent.
    let iso = stage.clock.now().to_string();
    refused(stage, &at(&now.to_string()).with("x-timestamp", &iso), 403, "rewritten").await;
    let zoned = iso.replace('Z', "+00:00");
    refused(stage, &at(&iso).with("x-timestamp", &zoned), 403, "another zone").await;
    nothing_was_kept(stage, &core).await;
    for time in [now, now - 299, now + 299, now - 300, now + 300] {
        stage.kept(&at(&time.to_string())).await;
    }
    stage
        .kept(&signed(
            "acme",
            "k1",
            SECRET,
            &iso,
            r#"{"at":"2016-12-31T23:59:60Z","week":"2020-W53-7"}"#,
        ))
        .await;
    // While the clock is wrong, requests far from it are refused; when it is right again, they are accepted.
    let request = at(&now.to_string());
    for jump in [3_600, 86_400 * 365] {
        stage.clock.advance(Duration::from_secs(jump));
        refused(stage, &request, 403, "after a jump").await;
        stage.clock.set(stage.clock.now() - Duration::from_secs(jump));
    }
    assert!(stage.kept(&request).await.is_repeat);
}

/// Bodies with a valid signature that are too long, not JSON, or of another media type.
async fn bodies(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let of_size = |size: usize| format!("\"{}\"", "a".repeat(size - 2));
    for (size, status) in [(262_145, 413), (300_000, 413)] {
        refused(stage, &stage.signed(&of_size(size)), status, &size.to_string()).await;
    }
    for (invalid, status) in [
        (stage.signed(BODY).without("content-type"), 415),
        (stage.signed(BODY).with("content-type", "text/plain"), 415),
        (stage.signed(BODY).with("content-type", "application/json; charset=utf-16"), 415),
        (stage.signed(BODY).and("content-type", "text/plain"), 415),
        (stage.signed(BODY).with("content-encoding", "gzip"), 415),
        (stage.signed("\u{feff}{}"), 400),
        (stage.signed("{\"type\":1,\"type\":2}"), 400),
        (stage.signed("{\"a\":1}{\"a\":2}"), 400),
        (stage.signed("{\"a\":NaN}"), 400),
        (stage.signed("{\"a\":\"\0\"}"), 400),
        (stage.signed(""), 400),
        (stage.signed(&"[".repeat(65)), 400),
        (stage.signed(&"[".repeat(100_000)), 400),
    ] {
        refused(
            stage,
            &invalid,
            status,
            &String::from_utf8_lossy(&invalid.body[..invalid.body.len().min(20)]),
        )
        .await;
    }
    let mut invalid = stage.signed("\"a\"");
    invalid.body = b"\"\xff\"".as_slice().into();
    let time = stage.clock.now().secs();
    let signature = mac(SECRET, [format!("{time}.").as_bytes(), b"\"\xff\""].concat());
    let invalid =
        invalid.with("x-signature", &format!("hmac-sha256={}", BASE64.encode(&signature)));
    assert_eq!(refused(stage, &invalid, 400, "not UTF-8").await, Reason::BadJson);
    // An unverified caller learns nothing about its JSON.
    refused(stage, &stage.signed("{}").body("{"), 403, "bad JSON, not proved").await;
    nothing_was_kept(stage, &core).await;
    for size in [262_143, 262_144] {
        stage.kept(&stage.signed(&of_size(size))).await;
    }
    for body in ["null", "[]", &format!("{}{}", "[".repeat(64), "]".repeat(64))] {
        stage.kept(&stage.signed(body)).await;
    }
}

/// Invalid names are refused, and an unknown partner cannot be distinguished from a known one.
async fn names(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let unknown = stage.denied(&stage.signed(BODY).to("nobody")).await;
    let known = stage.denied(&stage.signed(BODY).with("x-key-id", "nothing")).await;
    let shown = |d: &gancho_inbound::ReceiveError| {
        (d.status, d.code, d.detail.clone(), d.errors.clone(), d.retry_after)
    };
    assert_eq!(shown(&unknown), shown(&known));
    assert_eq!((unknown.reason, known.reason), (Reason::UnknownPartner, Reason::UnknownKey));
    let odd_time = |partner: &str| stage.signed(BODY).to(partner).with("x-timestamp", "soon");
    assert_eq!(
        shown(&stage.denied(&odd_time("nobody")).await),
        shown(&stage.denied(&odd_time("acme")).await)
    );
    for invalid in
        ["..", "%2e%2e", "a/b", "acme/", "ACME", "acme.", "acme ", "", "acme\0", "_health"]
    {
        refused(stage, &stage.signed(BODY).to(invalid), 403, invalid).await;
    }
    // A paused source looks the same to others. Its partner loses nothing, and sends the request again.
    let off = SourceDraft { is_active: Some(false), ..SourceDraft::default() };
    stage.node.desk.change(&"acme".parse().unwrap(), off).await.unwrap();
    assert_eq!(
        shown(&stage.denied(&stage.signed(BODY).with("x-key-id", "nothing")).await),
        shown(&unknown)
    );
    let paused = stage.denied(&stage.signed(BODY)).await;
    assert_eq!((paused.status, paused.code), (503, "source_paused"));
    assert!(paused.retry_after.is_some());
    nothing_was_kept(stage, &core).await;
}

on_both!(odd_signatures, lists_and_doubles, confusion, changed_bodies, timestamps, bodies, names);
