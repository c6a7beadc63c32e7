//! Several keys, each with its own period of validity, and the import of keys from a key-value store.

use std::{collections::BTreeMap, time::Duration};

use data_encoding::{BASE64, HEXLOWER};
use gancho_domain::{Clock, Time};
use gancho_inbound::{KeyDraft, Reason, SourceDraft, SourceError, keys::reseal};
use gancho_wire::{SigningKey, new_key_pair, sign_as_partner};

use crate::stage::{SECRET, Spoil, Stage, core, hmac_key, mac, name, signed};

const NEW: &str = "the new secret of acme";

/// Only the old key, only the new one, both, neither; and the last second of the overlap.
async fn old_and_new_overlap(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let draft = KeyDraft { replaces: Some("k1".into()), ..hmac_key(NEW) };
    stage.put_key("acme", "k2", draft).await;
    let end = stage.clock.now() + Duration::from_hours(24);
    let keys = stage.node.desk.keys(&name("acme")).await.unwrap();
    assert_eq!(
        keys.iter().map(gancho_inbound::SourceKey::not_after).collect::<Vec<_>>(),
        [Some(end), None]
    );
    let mut n = 0;
    let mut try_both = async |at: Time| {
        stage.clock.set(at);
        n += 1;
        let (time, body) = (at.secs().to_string(), format!("{{\"n\":{n}}}"));
        let old = stage.send(&signed("acme", "k1", SECRET, &time, &body)).await;
        let new = stage.send(&signed("acme", "k2", NEW, &time, &body)).await;
        let neither = stage.send(&signed("acme", "k3", NEW, &time, &body)).await;
        assert!(matches!(neither, gancho_inbound::Outcome::Rejected(_)));
        [old, new].map(|outcome| matches!(outcome, gancho_inbound::Outcome::Accepted(_)))
    };
    assert_eq!(try_both(end - Duration::from_hours(24)).await, [true, true]);
    assert_eq!(try_both(end - Duration::from_secs(1)).await, [true, true]);
    assert_eq!(try_both(end).await, [false, true]);
    assert_eq!(try_both(end + Duration::from_secs(1)).await, [false, true]);
    stage.node.desk.delete_key(&name("acme"), "k2").await.unwrap();
    assert_eq!(try_both(end + Duration::from_secs(2)).await, [false, false]);
}

async fn a_key_begins_when_it_says(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let begin = stage.clock.now() + Duration::from_secs(60);
    let draft = KeyDraft { not_before: Some(begin), ..hmac_key(NEW) };
    stage.put_key("acme", "k2", draft).await;
    let at = |time: Time| signed("acme", "k2", NEW, &time.secs().to_string(), "{}");
    let early = stage.denied(&at(stage.clock.now())).await;
    assert_eq!((early.status, early.reason), (403, Reason::KeyNotYetValid));
    stage.clock.set(begin);
    stage.kept(&at(begin)).await;
}

/// The operator sees that a key has expired, and when; the partner does not.
async fn a_key_that_ran_out_is_called_so(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let end = stage.clock.now() + Duration::from_secs(60);
    stage.put_key("acme", "k2", KeyDraft { not_after: Some(end), ..hmac_key(NEW) }).await;
    stage.clock.set(end);
    let time = end.secs().to_string();
    let expired = stage.denied(&signed("acme", "k2", NEW, &time, "{}")).await;
    let unknown = stage.denied(&signed("acme", "k3", NEW, &time, "{}")).await;
    assert_eq!((expired.reason, unknown.reason), (Reason::KeyExpired, Reason::UnknownKey));
    assert_eq!((expired.status, &expired.detail), (unknown.status, &unknown.detail));
    let noted = &stage.node.inbound.rejections.of("acme")[1];
    assert_eq!(noted.reason, Reason::KeyExpired);
    assert!(noted.detail.as_ref().unwrap().contains(&end.to_string()), "{noted:?}");
}

/// Raw is the default; base64 and hex can be configured.
async fn secrets_are_read_as_they_are_written(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let bytes: Vec<u8> = (0..32).collect();
    for (encoding, secret) in [("base64", BASE64.encode(&bytes)), ("hex", HEXLOWER.encode(&bytes))]
    {
        let draft = KeyDraft { encoding: Some(encoding.into()), ..hmac_key(&secret) };
        stage.put_key("acme", encoding, draft).await;
        let time = stage.clock.now().secs().to_string();
        let body = format!("\"{encoding}\"");
        let text = String::from_utf8(bytes.clone()).unwrap();
        stage.kept(&signed("acme", encoding, &text, &time, &body)).await;
        let as_text = signed("acme", encoding, &secret, &time, &body);
        assert_eq!(stage.denied(&as_text).await.status, 403);
    }
}

/// Secrets that are too short or malformed, and keys that do not belong to the algorithm, are refused.
async fn weak_and_misplaced_secrets_are_refused(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let pair = new_key_pair().unwrap();
    let long = BASE64.encode(&[7; 65]);
    for (secret, encoding) in [
        ("", "raw"),
        ("whsec_", "raw"),
        ("fifteen letters", "raw"),
        (pair.public_key.as_str(), "raw"),
        (pair.private_key.as_str(), "raw"),
        ("not base64 at all!!", "base64"),
        ("abc", "hex"),
        (long.as_str(), "base64"),
        (" a secret of some length", "raw"),
        (SECRET, "rot13"),
    ] {
        let draft = KeyDraft { encoding: Some(encoding.into()), ..hmac_key(secret) };
        let Err(SourceError::Faulty(errors)) =
            stage.node.desk.put_key(&name("acme"), "weak", draft).await
        else {
            panic!("{secret} {encoding}")
        };
        assert!(secret.len() < 10 || !format!("{errors:?}").contains(secret), "{errors:?}");
    }
    for draft in [
        KeyDraft::default(),
        KeyDraft { scheme: Some("rsa".into()), ..hmac_key(SECRET) },
        KeyDraft { secret: None, ..hmac_key(SECRET) },
        KeyDraft { algo: Some("md5".into()), ..hmac_key(SECRET) },
        KeyDraft { public_key: Some(pair.public_key.clone()), ..hmac_key(SECRET) },
        KeyDraft {
            not_before: Some(Time::from_secs(9)),
            not_after: Some(Time::from_secs(9)),
            ..hmac_key(SECRET)
        },
        KeyDraft { overlap: Some("soon".into()), ..hmac_key(SECRET) },
    ] {
        let put = stage.node.desk.put_key(&name("acme"), "odd", draft).await;
        assert!(matches!(put, Err(SourceError::Faulty(_))));
    }
    for key_id in ["", "a/b", "a b", "\u{e9}", &"k".repeat(129)] {
        let put = stage.node.desk.put_key(&name("acme"), key_id, hmac_key(SECRET)).await;
        assert!(matches!(put, Err(SourceError::Faulty(_))), "{key_id}");
    }
    assert_eq!(stage.node.desk.keys(&name("acme")).await.unwrap().len(), 1);
    for n in 0..15 {
        stage.put_key("acme", &format!("k{}", n + 2), hmac_key(SECRET)).await;
    }
    let put = stage.node.desk.put_key(&name("acme"), "one-more", hmac_key(SECRET)).await;
    assert!(matches!(put, Err(SourceError::TooMany { max: 16 })));
    stage.put_key("acme", "k5", hmac_key(NEW)).await;
}

/// In the form that the partners' blueprint uses for its key-value store.
async fn keys_are_imported(stage: &Stage) {
    let pair = new_key_pair().unwrap();
    let public = pair.public_key.strip_prefix("whpk_").unwrap();
    let text = format!(
        r#"{{"webhook:partner:acme:key:k1":{{"scheme":"hmac","algo":"sha256","secret":"{SECRET}"}},
            "webhook:partner:beta:key:k9":{{"scheme":"ed25519","publicKey":"{public}"}}}}"#
    );
    let done = stage.node.desk.import(&text).await.unwrap();
    assert_eq!((done.sources, done.keys), (2, 2));
    let again = stage.node.desk.import(&text).await.unwrap();
    assert_eq!((again.sources, again.keys), (0, 2));
    stage.kept(&stage.signed("{}")).await;
    let time = stage.clock.now().secs().to_string();
    let key = SigningKey::ed25519(&pair.private_key).unwrap();
    let signature = sign_as_partner(&key, &time, b"{}");
    stage.kept(&signed("beta", "k9", SECRET, &time, "{}").with("x-signature", &signature)).await;
    let source = stage.node.desk.get(&name("acme")).await.unwrap();
    assert_eq!(source.targets[0].url, "http://127.0.0.1:9458/core/hooks/ingest");
}

/// Secrets are encrypted, and re-encrypted with a new key of the ring.
async fn secrets_are_sealed(stage: &Stage) {
    let core = core().await;
    let draft = SourceDraft {
        dispatch_secret: Some("a dispatch secret of ours".into()),
        verify_token: Some(Some("a verify token of ours".into())),
        ..SourceDraft::default()
    };
    stage.source("acme", &core, draft).await;
    for kind in ["source", "source_key", "signing_key"] {
        let collection = gancho_store::Collection::operators(kind);
        for document in stage.node.store.documents(collection, None, 10).await.unwrap() {
            let text = String::from_utf8_lossy(&document.body).into_owned();
            for secret in [SECRET, "a dispatch secret of ours", "a verify token of ours"] {
                assert!(!text.contains(secret), "{text}");
            }
        }
    }
    stage.ring.adopt(&stage.ring.with_new_key().unwrap()).unwrap();
    let (store, ring) = (&*stage.node.store, &stage.ring);
    assert_eq!(reseal::in_use(store).await.unwrap(), BTreeMap::from([(1, 3)]));
    assert_eq!(reseal::reseal(store, ring).await.unwrap(), 3);
    assert_eq!(reseal::reseal(store, ring).await.unwrap(), 0);
    assert_eq!(reseal::in_use(store).await.unwrap(), BTreeMap::from([(2, 3)]));
    stage.kept(&stage.signed("{}")).await;
    assert_eq!(mac(SECRET, "").len(), 32);
}

on_both!(
    old_and_new_overlap,
    a_key_begins_when_it_says,
    a_key_that_ran_out_is_called_so,
    secrets_are_read_as_they_are_written,
    weak_and_misplaced_secrets_are_refused,
    keys_are_imported,
    secrets_are_sealed,
);
