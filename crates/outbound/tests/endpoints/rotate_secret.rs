//! Rotating a secret: both secrets sign during the overlap, as the signatures that arrive show.

use std::time::Duration;

use gancho_domain::{Clock, Time};
use gancho_outbound::{EndpointDraft, EndpointError};
use gancho_testkit::http_request::{HttpRequest, arrived};
use gancho_wire::{
    DEFAULT_TOLERANCE, GenericHmac, Preset, Recipe, SecretEncoding, VerifyError, VerifyingKey,
    new_key_pair,
};

use crate::stage::{DAY, Stage, draft, event, ok};

fn verified(
    seen: &HttpRequest,
    preset: &Preset,
    secret: &str,
    now: Time,
) -> Result<(), VerifyError> {
    let recipe: Recipe = preset.recipe().unwrap();
    let key: VerifyingKey = preset.hmac_key(secret, SecretEncoding::Raw).unwrap();
    let headers: Vec<(&str, &[u8])> =
        seen.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    recipe.verify(&[key], &headers, seen.body.as_bytes(), now, DEFAULT_TOLERANCE).map(|_| ())
}

/// Computed with the library alone.
fn hmac(secret: &str, message: &str) -> String {
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, secret.as_bytes());
    data_encoding::HEXLOWER.encode(aws_lc_rs::hmac::sign(&key, message.as_bytes()).as_ref())
}

#[tokio::test]
async fn both_secrets_sign_until_the_overlap_is_over() {
    let stage = Stage::new().await;
    let receiver = ok().await;
    let created = stage.create(draft(&receiver, &["*"])).await;
    let (id, old) = (created.endpoint.id, created.secret);
    let rotated = stage.desk.rotate(stage.scope, id, None, None).await.unwrap();
    let until = stage.clock.now() + DAY;
    assert_eq!(rotated.old_until, Some(until));
    assert_ne!(*rotated.secret, *old);
    assert_eq!(stage.desk.reveal(stage.scope, id).await.unwrap().old_until, [until]);

    for (number, (at, old_signs)) in [
        (stage.clock.now(), true),
        (until - Duration::from_secs(1), true),
        (until, false),
        (until + Duration::from_secs(1), false),
    ]
    .into_iter()
    .enumerate()
    {
        stage.clock.set(at);
        stage.publish(event("a.b", "{}")).await;
        let seen = &arrived(&receiver, number + 1).await[number];
        let signatures = seen.one("webhook-signature").split(' ').count();
        assert_eq!(signatures, 1 + usize::from(old_signs), "{at}");
        assert_eq!(verified(seen, &Preset::Standard, &rotated.secret, at), Ok(()));
        assert_eq!(verified(seen, &Preset::Standard, &old, at).is_ok(), old_signs, "{at}");
    }
}

/// A short overlap after a long one: each old secret ends at its own time.
#[tokio::test]
async fn each_old_secret_ends_at_its_own_time() {
    let stage = Stage::new().await;
    let receiver = ok().await;
    let created = stage.create(draft(&receiver, &["*"])).await;
    let (id, first) = (created.endpoint.id, created.secret);
    let rotate = async |overlap: u64| {
        let overlap = Some(Duration::from_hours(overlap));
        stage.desk.rotate(stage.scope, id, None, overlap).await.unwrap().secret
    };
    let second = rotate(48).await;
    let third = rotate(1).await;
    let fourth = rotate(0).await;
    for (number, (hours, sign)) in [
        (0, [true, true, false, true]),
        (2, [true, false, false, true]),
        (48, [false, false, false, true]),
    ]
    .into_iter()
    .enumerate()
    {
        stage.clock.advance(Duration::from_hours(hours));
        stage.publish(event("a.b", "{}")).await;
        let seen = &arrived(&receiver, number + 1).await[number];
        let now = stage.clock.now();
        let signed = [&first, &second, &third, &fourth]
            .map(|secret| verified(seen, &Preset::Standard, secret, now).is_ok());
        assert_eq!(signed, sign, "after {hours} h");
    }
}

#[tokio::test]
async fn one_value_headers_sign_with_the_new_one_and_saas_with_both() {
    let stage = Stage::new().await;
    for profile in ["saas", "auracore", "email-gateway"] {
        let receiver = ok().await;
        let made = EndpointDraft {
            profile: Some(profile.into()),
            secret: Some("the old secret of length".into()),
            ..draft(&receiver, &[&format!("{profile}.x")])
        };
        let id = stage.create(made).await.endpoint.id;
        let new = "the new secret of length".to_owned();
        stage.desk.rotate(stage.scope, id, Some(new), None).await.unwrap();
        stage.publish(event(&format!("{profile}.x"), "{\"a\":1}")).await;
        let seen = &arrived(&receiver, 1).await[0];
        let form = |json: &str| Preset::Generic(serde_json::from_str::<GenericHmac>(json).unwrap());
        let header = if profile == "email-gateway" { "x-signature" } else { "x-webhook-signature" };
        if profile == "saas" {
            let time = seen.one("x-webhook-timestamp");
            let [new, old] = ["the new secret of length", "the old secret of length"]
                .map(|secret| hmac(secret, &format!("{time}.{}", seen.body)));
            assert_eq!(seen.one(header), format!("t={time},v1={new},v1={old}"));
            continue;
        }
        let preset =
            form(&format!(r#"{{"header":"{header}","prefix":"sha256=","encoding":"hex"}}"#));
        let now = stage.clock.now();
        assert_eq!(verified(seen, &preset, "the new secret of length", now), Ok(()), "{profile}");
        assert!(verified(seen, &preset, "the old secret of length", now).is_err(), "{profile}");
    }
}

/// faults.md B6: receivers that verify with a public key continue to do so.
#[tokio::test]
async fn a_key_pair_is_followed_by_a_key_pair() {
    let stage = Stage::new().await;
    let receiver = ok().await;
    let first = new_key_pair().unwrap();
    let made = EndpointDraft { secret: Some(first.private_key), ..draft(&receiver, &["*"]) };
    let created = stage.create(made).await;
    assert_eq!(created.public_key.as_ref(), Some(&first.public_key));
    let id = created.endpoint.id;
    let mut keys = vec![first.public_key];
    for _ in 0..2 {
        let rotated = stage.desk.rotate(stage.scope, id, None, None).await.unwrap();
        assert_eq!(rotated.secret_format.as_str(), "ed25519");
        assert!(rotated.secret.starts_with("whsk_"));
        keys.push(rotated.public_key.unwrap());
    }
    let revealed = stage.desk.reveal(stage.scope, id).await.unwrap();
    assert_eq!(revealed.public_key.as_ref(), keys.last());
    stage.publish(event("a.b", "{}")).await;
    let seen = &arrived(&receiver, 1).await[0];
    assert_eq!(seen.one("webhook-signature").matches("v1a,").count(), 3);
    let recipe = Preset::Standard.recipe().unwrap();
    let headers: Vec<(&str, &[u8])> =
        seen.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    for key in keys {
        let key = VerifyingKey::ed25519(&key).unwrap();
        let now = stage.clock.now();
        let judged =
            recipe.verify(&[key], &headers, seen.body.as_bytes(), now, DEFAULT_TOLERANCE).map(drop);
        assert_eq!(judged, Ok(()));
    }
    // A named secret changes it to HMAC, and later ones stay HMAC.
    let named = Some("a text of good length".to_owned());
    stage.desk.rotate(stage.scope, id, named, None).await.unwrap();
    let made = stage.desk.rotate(stage.scope, id, None, None).await.unwrap();
    assert_eq!((made.secret_format.as_str(), made.public_key), ("base64", None));
}

#[tokio::test]
async fn rotations_that_are_refused_change_nothing() {
    let stage = Stage::new().await;
    let receiver = ok().await;
    let id = stage.endpoint(&receiver, &["*"]).await;
    let before = stage.read(id).await;
    let long = stage.desk.rotate(stage.scope, id, None, Some(8 * DAY)).await.map(|_| ());
    assert!(matches!(long, Err(EndpointError::Faulty(errors)) if errors[0].pointer == "/overlap"));
    let short = stage.desk.rotate(stage.scope, id, Some("short".into()), None).await.map(|_| ());
    assert!(matches!(short, Err(EndpointError::Faulty(errors)) if errors[0].pointer == "/secret"));
    assert_eq!(stage.read(id).await, before);
}

#[tokio::test]
async fn many_rotations_keep_the_header_short() {
    let stage = Stage::new().await;
    let receiver = ok().await;
    let id = stage.endpoint(&receiver, &["*"]).await;
    for _ in 0..10 {
        stage.desk.rotate(stage.scope, id, None, None).await.unwrap();
    }
    stage.publish(event("a.b", "{}")).await;
    let seen = &arrived(&receiver, 1).await[0];
    assert_eq!(seen.one("webhook-signature").split(' ').count(), 5);
    stage.clock.advance(2 * DAY);
    stage.desk.rotate(stage.scope, id, None, None).await.unwrap();
    assert_eq!(stage.read(id).await.old_secrets.len(), 1, "those that are over are dropped");
}
