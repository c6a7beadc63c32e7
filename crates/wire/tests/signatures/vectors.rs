//! Signatures of other implementations: this crate makes the same, accepts theirs, and refuses them once
//! anything is changed.

use data_encoding::BASE64;
use gancho_domain::Time;
use gancho_wire::{
    AttemptMetadata, Preset, Profile, Recipe, SecretEncoding, SigningKey, VerifyingKey, sign,
    sign_as_partner,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::request::{Request, recipe};

/// An entry of an unknown form fails to parse, so that none is skipped.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    profile: Option<String>,
    inbound: Option<String>,
    scheme: Option<String>,
    secret: Option<String>,
    encoding: Option<SecretEncoding>,
    private_seed_base64: Option<String>,
    public_key_base64: Option<String>,
    id: Option<String>,
    timestamp: Option<Value>,
    timestamp_ms: Option<i64>,
    body: String,
    headers: Map<String, Value>,
    dedupe_sha256: Option<String>,
}

const COUNT: usize = 54;

fn vectors() -> Vec<Vector> {
    serde_json::from_str(include_str!("../vectors/signatures.json")).unwrap()
}

#[test]
fn all_vectors_agree() {
    let mut handled = 0;
    for (index, vector) in vectors().iter().enumerate() {
        match (vector.profile.as_deref(), vector.inbound.as_deref()) {
            (Some(name), None) => check_profile(index, name, vector),
            (None, Some("partner")) => check_partner(index, vector),
            other => panic!("vector {index} has an unknown shape: {other:?}"),
        }
        handled += 1;
    }
    assert_eq!(handled, COUNT);
}

fn check_profile(index: usize, name: &str, vector: &Vector) {
    let profile = Profile::built_in().into_iter().find(|p| p.name == name).unwrap();
    let secret = match vector.scheme.as_deref() {
        Some("v1a") => format!("whsk_{}", vector.private_seed_base64.as_ref().unwrap()),
        Some("v1") | None => vector.secret.clone().unwrap(),
        other => panic!("vector {index} has an unknown scheme: {other:?}"),
    };
    let at = match (&vector.timestamp, vector.timestamp_ms) {
        (Some(seconds), None) => Time::from_secs(seconds.as_i64().unwrap()),
        (None, Some(millis)) => Time::from_millis(millis),
        (None, None) => Time::ZERO,
        _ => panic!("vector {index} has two times"),
    };
    let sending = AttemptMetadata {
        event_id: vector.id.as_deref().unwrap_or("evt_1"),
        endpoint_id: "wh_1",
        event_type: "user.created",
        at,
        retry: 0,
    };
    let key = SigningKey::for_profile(&profile, &secret).unwrap();
    let ours =
        sign(&profile, &sending, vector.body.as_bytes(), std::slice::from_ref(&key)).unwrap();
    for (name, value) in &vector.headers {
        let found = ours.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        assert_eq!(found, value.as_str(), "vector {index}, {name}");
    }

    let verifying = match &vector.public_key_base64 {
        Some(public) => {
            assert_eq!(key.public_key(), Some(format!("whpk_{public}")));
            VerifyingKey::ed25519(public).unwrap()
        }
        None => key.verifying_key(),
    };
    let recipe = Recipe::for_profile(&profile).unwrap();
    // Only signed parts are changed: the other headers of these profiles prove nothing.
    let signed: &[&str] = match name {
        "standard" => &["webhook-id", "webhook-timestamp", "webhook-signature"],
        "email-gateway" => &["X-Signature"],
        _ => &["X-Webhook-Signature"],
    };
    check(index, vector, at, &recipe, &verifying, signed);
}

fn check_partner(index: usize, vector: &Vector) {
    let text = vector.timestamp.as_ref().unwrap().as_str().unwrap();
    let header = |name: &str| vector.headers[name].as_str().unwrap();
    assert_eq!(header("X-Timestamp"), text);
    let (signing, verifying) = match vector.scheme.as_deref() {
        Some("hmac-sha256") => {
            let (secret, encoding) = (vector.secret.as_ref().unwrap(), vector.encoding.unwrap());
            let signing = SigningKey::hmac(secret, encoding).unwrap();
            (signing, Preset::Partner.hmac_key(secret, encoding).unwrap())
        }
        Some("ed25519") => {
            let public = vector.public_key_base64.as_ref().unwrap();
            (private_half_of(public), Preset::Partner.ed25519_key(public).unwrap())
        }
        other => panic!("vector {index} has an unknown scheme: {other:?}"),
    };
    let ours = sign_as_partner(&signing, text, vector.body.as_bytes());
    assert_eq!(ours, header("X-Signature"), "vector {index}");

    let recipe = recipe(&Preset::Partner);
    let now = Time::from_secs(1_706_012_345);
    check(index, vector, now, &recipe, &verifying, &["X-Timestamp", "X-Signature"]);

    let (scheme, signature) = ours.split_once('=').unwrap();
    let request =
        request(vector, now).set("X-Signature", format!("scheme={scheme},sig={signature}"));
    assert_eq!(request.key(&recipe, &[verifying]), Ok(0), "vector {index}, the long form");
}

/// The partner entries have no private key, but use one that other entries have.
fn private_half_of(public: &str) -> SigningKey {
    let same = |v: &Vector| v.public_key_base64.as_deref() == Some(public);
    let mut pairs = vectors().into_iter().filter(same);
    SigningKey::ed25519(&pairs.find_map(|v| v.private_seed_base64).unwrap()).unwrap()
}

fn request(vector: &Vector, now: Time) -> Request {
    vector.headers.iter().fold(Request::new(&vector.body).at(now), |request, (name, value)| {
        request.add(name, value.as_str().unwrap())
    })
}

fn check(
    index: usize,
    vector: &Vector,
    now: Time,
    recipe: &Recipe,
    key: &VerifyingKey,
    signed: &[&str],
) {
    let request = request(vector, now);
    let other = SigningKey::ed25519(&BASE64.encode(&[3; 32])).unwrap().verifying_key();
    let accepted = request.verify(recipe, &[other.clone(), key.clone()]).unwrap();
    assert_eq!(accepted.key, 1, "vector {index}");
    if let Some(expected) = &vector.dedupe_sha256 {
        assert_eq!(&accepted.base_sha256, expected, "vector {index}");
    }
    assert!(request.key(recipe, &[other]).is_err(), "vector {index}, another's key");
    assert!(request.key(recipe, &[]).is_err(), "vector {index}, no key");
    for spoiled in request.spoiled(signed) {
        let answer = spoiled.key(recipe, std::slice::from_ref(key));
        assert!(answer.is_err(), "vector {index} is accepted as {spoiled:?}");
    }
}
