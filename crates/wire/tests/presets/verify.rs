//! Each preset accepts what its sender sends, and refuses it once anything signed is changed.

use data_encoding::{BASE64, HEXLOWER};
use gancho_domain::Time;
use gancho_wire::{
    AttemptMetadata, HeaderLine, HeaderPart, HeaderValue, Preset, Profile, Recipe, Scheme,
    SigningKey, VerifyError, new_secret, sign,
};

use crate::request::{NOW, Request, SECRET, hmac, raw_key, recipe};

const TIME: &str = "1706012345";
const BODY: &str = r#"{"id":"e_1"}"#;

fn accepts_only_the_original(request: &Request, recipe: &Recipe, signed: &[&str]) {
    let keys = [raw_key(SECRET)];
    assert_eq!(request.key(recipe, &keys), Ok(0));
    for spoiled in request.spoiled(signed) {
        assert!(spoiled.key(recipe, &keys).is_err(), "{spoiled:?}");
    }
}

#[test]
fn stripe() {
    let good = HEXLOWER.encode(&hmac(SECRET.as_bytes(), format!("{TIME}.{BODY}")));
    let recipe = recipe(&Preset::Stripe);
    let request = Request::new(BODY).add("Stripe-Signature", format!("t={TIME},v1={good}"));
    accepts_only_the_original(&request, &recipe, &["Stripe-Signature"]);

    let keys = [raw_key(SECRET)];
    let other = "00".repeat(32);
    for header in [
        format!("t={TIME},v1={other},v1={good},v0={other}"),
        format!("v1={good},t={TIME}"),
        format!("t={TIME},v9=whatever,v1={good}"),
    ] {
        assert_eq!(request.clone().set("Stripe-Signature", header).key(&recipe, &keys), Ok(0));
    }
    for (header, verify_error) in [
        (format!("v1={good}"), VerifyError::Missing(HeaderPart::Timestamp)),
        (format!("t={TIME},t={TIME},v1={good}"), VerifyError::MalformedSignature),
        (format!("t={TIME}, v1={good}"), VerifyError::MalformedSignature),
        (format!("t={TIME},v1={}", good.to_uppercase()), VerifyError::MalformedSignature),
        (format!("t={TIME},v0={good}"), VerifyError::NoMatch),
        (format!("t={TIME}"), VerifyError::NoMatch),
    ] {
        let answer = request.clone().set("Stripe-Signature", &header).key(&recipe, &keys);
        assert_eq!(answer, Err(verify_error), "{header}");
    }
}

#[test]
fn github_accepts_only_the_original() {
    let signature = HEXLOWER.encode(&hmac(SECRET.as_bytes(), BODY));
    let request = Request::new(BODY).add("X-Hub-Signature-256", format!("sha256={signature}"));
    accepts_only_the_original(&request, &recipe(&Preset::Github), &["X-Hub-Signature-256"]);
}

#[test]
fn slack_accepts_only_the_original() {
    let signature = HEXLOWER.encode(&hmac(SECRET.as_bytes(), format!("v0:{TIME}:{BODY}")));
    let names = ["X-Slack-Request-Timestamp", "X-Slack-Signature"];
    let request = Request::new(BODY).add(names[0], TIME).add(names[1], format!("v0={signature}"));
    accepts_only_the_original(&request, &recipe(&Preset::Slack), &names);
}

#[test]
fn shopify_accepts_only_the_original() {
    let signature = BASE64.encode(&hmac(SECRET.as_bytes(), BODY));
    let request = Request::new(BODY).add("X-Shopify-Hmac-Sha256", signature);
    accepts_only_the_original(&request, &recipe(&Preset::Shopify), &["X-Shopify-Hmac-Sha256"]);
}

#[test]
fn generic_with_every_part() {
    let preset: Preset = serde_json::from_str(
        r#"{"generic": {
            "header": "X-Sig", "prefix": "mac=", "encoding": "base64",
            "base": "{id}|{timestamp}|{body}",
            "timestamp_header": "X-Time", "timestamp_form": "millis",
            "id_header": "X-Id", "key_id_header": "X-Key"
        }}"#,
    )
    .unwrap();
    let recipe = recipe(&preset);
    let signature = BASE64.encode(&hmac(SECRET.as_bytes(), format!("m_1|{TIME}123|{BODY}")));
    let request = Request::new(BODY)
        .add("x-sig", format!("mac={signature}"))
        .add("x-time", format!("{TIME}123"))
        .add("x-id", "m_1");
    accepts_only_the_original(&request, &recipe, &["x-sig", "x-time", "x-id"]);
    let accepted = request.verify(&recipe, &[raw_key(SECRET)]).unwrap();
    assert_eq!(accepted.message_id.as_deref(), Some("m_1"));
    assert_eq!(accepted.timestamp, Some(Time::from_millis(1_706_012_345_123)));
    assert_eq!(recipe.key_id(&[("X-KEY", b"k1")]), Ok(Some("k1")));
    assert_eq!(recipe.key_id(&[]), Err(VerifyError::Missing(HeaderPart::KeyId)));
}

#[test]
fn the_two_families_of_standard_names_are_not_mixed() {
    let key = gancho_wire::VerifyingKey::standard(SECRET).unwrap();
    let bytes = BASE64.decode(&SECRET.as_bytes()[6..]).unwrap();
    let signature = format!("v1,{}", BASE64.encode(&hmac(&bytes, format!("m_1.{TIME}.{BODY}"))));
    let request = Request::new(BODY)
        .add("svix-id", "m_1")
        .add("svix-timestamp", TIME)
        .add("svix-signature", signature);
    let recipe = recipe(&Preset::Standard);
    let keys = [key];
    assert_eq!(request.key(&recipe, &keys), Ok(0));
    let mixed = request.add("webhook-id", "m_1");
    assert_eq!(mixed.key(&recipe, &keys), Err(VerifyError::Missing(HeaderPart::Signature)));
}

#[test]
fn what_any_profile_signs_its_recipe_verifies() {
    let mut stripe_like = Profile::saas();
    stripe_like.signature.scheme = Scheme::TimedSeconds;
    let mut own_names = Profile::standard();
    own_names.signature.header = "X-Acme-Signature".to_owned();
    own_names.headers = [("X-Acme-Id", HeaderValue::EventId), ("X-At", HeaderValue::TimeSeconds)]
        .map(|(name, value)| HeaderLine { name: name.to_owned(), value })
        .to_vec();

    let secrets = [new_secret().unwrap(), new_secret().unwrap()];
    for profile in Profile::built_in().into_iter().chain([stripe_like, own_names]) {
        let keys = secrets.each_ref().map(|s| SigningKey::for_profile(&profile, s).unwrap());
        let sending = AttemptMetadata {
            event_id: "evt_1",
            endpoint_id: "wh_1",
            event_type: "user.created",
            at: NOW,
            retry: 0,
        };
        let request = sign(&profile, &sending, BODY.as_bytes(), &keys)
            .unwrap()
            .into_iter()
            .fold(Request::new(BODY), |request, (name, value)| request.add(name, value));
        let recipe = Recipe::for_profile(&profile).unwrap();
        let (new, old) = (keys[0].verifying_key(), keys[1].verifying_key());
        assert_eq!(request.key(&recipe, &[new]), Ok(0), "{}", profile.name);
        // The schemes with one signature are signed by the new key only.
        let old_too =
            !matches!(profile.signature.scheme, Scheme::Sha256 | Scheme::Hex | Scheme::V0);
        assert_eq!(request.key(&recipe, &[old]).is_ok(), old_too, "{}", profile.name);
    }
}
