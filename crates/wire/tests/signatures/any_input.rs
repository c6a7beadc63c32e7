//! Verification returns for any input: it never panics, and never accepts what no key signed.

use data_encoding::{BASE64, HEXLOWER};
use gancho_domain::Time;
use gancho_wire::{
    AttemptMetadata, BaseString, Preset, Profile, Recipe, SecretEncoding, SigningKey,
    TimestampFormat, VerifyError, VerifyingKey, sign,
};
use proptest::prelude::*;

use crate::request::{Request, SECRET, raw_key};

fn recipes() -> Vec<Recipe> {
    let generic = r#"{"generic": {
        "header": "X-Signature", "encoding": "hex", "base": "{id}:{timestamp}:{body}",
        "timestamp_header": "X-Timestamp", "timestamp_form": "rfc3339", "id_header": "webhook-id"
    }}"#;
    let generic = serde_json::from_str(generic).unwrap();
    let presets = [
        Preset::Partner,
        Preset::Standard,
        Preset::Stripe,
        Preset::Github,
        Preset::Slack,
        Preset::Shopify,
        generic,
    ];
    let presets = presets.iter().map(|preset| preset.recipe().unwrap());
    let profiles = Profile::built_in();
    presets.chain(profiles.iter().map(|p| Recipe::for_profile(p).unwrap())).collect()
}

const NAMES: &[&str] = &[
    "X-Signature",
    "X-Timestamp",
    "X-Key-Id",
    "webhook-id",
    "webhook-timestamp",
    "webhook-signature",
    "svix-id",
    "svix-timestamp",
    "svix-signature",
    "Stripe-Signature",
    "X-Hub-Signature-256",
    "X-Slack-Signature",
    "X-Slack-Request-Timestamp",
    "X-Shopify-Hmac-Sha256",
    "X-Webhook-Signature",
];

fn keys() -> Vec<VerifyingKey> {
    let ed25519 = SigningKey::ed25519(&BASE64.encode(&[7; 32])).unwrap();
    vec![raw_key(SECRET), VerifyingKey::standard(SECRET).unwrap(), ed25519.verifying_key()]
}

/// Bytes that are nearly valid reach further into the parsers than random ones.
fn value() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop::sample::select(vec![
        "v1,",
        "v1a,",
        "v1=",
        "v0=",
        "t=",
        "sha256=",
        "hmac-sha256=",
        "ed25519=",
        "scheme=",
        "sig=",
        ",",
        " ",
        "=",
        ".",
        "1706012345",
        "1706012345123",
        "2024-01-23T12:19:05",
        "Z",
        "+00:00",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "msg_1",
        "ç",
        "\0",
        "0000000000000000000000000000000000000000000000000000000000000000",
    ]);
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        prop::collection::vec(pieces, 0..12).prop_map(|p| p.concat().into_bytes()),
    ]
}

fn time() -> impl Strategy<Value = Time> {
    prop_oneof![
        any::<i64>().prop_map(Time::from_micros),
        any::<i64>().prop_map(Time::from_secs),
        Just(Time::from_secs(1_706_012_345)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_verifier_accepts_or_panics_on_what_nobody_signed(
        headers in prop::collection::vec((prop::sample::select(NAMES), value()), 0..20),
        body: Vec<u8>,
        now in time(),
        tolerance: u64,
    ) {
        let mut request = Request::new(body).at(now);
        request.tolerance = std::time::Duration::from_secs(tolerance);
        for (name, value) in headers {
            request = request.add(name, value);
        }
        for recipe in recipes() {
            prop_assert!(request.verify(&recipe, &keys()).is_err());
            let headers: Vec<(&str, &[u8])> =
                request.headers.iter().map(|(n, v)| (n.as_str(), v.as_slice())).collect();
            let _ = recipe.key_id(&headers);
        }
    }

    #[test]
    fn one_value_for_every_header_neither(value in value(), body: Vec<u8>, now in time()) {
        let request = NAMES.iter().fold(Request::new(body).at(now), |r, n| r.add(n, &value));
        for recipe in recipes() {
            prop_assert!(request.verify(&recipe, &keys()).is_err());
        }
    }

    #[test]
    fn what_is_signed_is_accepted_whatever_the_body(body: Vec<u8>, seconds in 100_000_000_i64..999_999_999_999) {
        let at = Time::from_secs(seconds);
        let sending = AttemptMetadata {
            event_id: "evt_1", endpoint_id: "wh_1", event_type: "t", at, retry: 0,
        };
        for profile in Profile::built_in() {
            let key = SigningKey::for_profile(&profile, SECRET).unwrap();
            let verifying = key.verifying_key();
            let request = sign(&profile, &sending, &body, &[key])
                .unwrap()
                .into_iter()
                .fold(Request::new(&body).at(at), |r, (name, value)| r.add(name, value));
            let recipe = Recipe::for_profile(&profile).unwrap();
            prop_assert_eq!(request.key(&recipe, &[verifying]), Ok(0));
        }
    }

    #[test]
    fn no_text_makes_reading_a_key_panic(text: String, prefix in "(whsec_|whsk_|whpk_|)") {
        let text = format!("{prefix}{text}");
        for profile in Profile::built_in() {
            let _ = SigningKey::for_profile(&profile, &text);
        }
        for encoding in [SecretEncoding::Raw, SecretEncoding::Base64, SecretEncoding::Hex] {
            let _ = VerifyingKey::hmac(&text, encoding);
        }
        let _ = VerifyingKey::standard(&text);
        let _ = VerifyingKey::ed25519(&text);
    }

    #[test]
    fn no_text_makes_reading_a_template_panic(text in "[{}a-z.]{0,40}") {
        let _ = text.parse::<BaseString>();
        let _ = serde_json::from_value::<TimestampFormat>(text.into());
    }
}

proptest! {
    // Fewer cases, because each is checked to the end with every key.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_verifier_accepts_a_forgery_in_perfect_form(
        bytes in prop::collection::vec(any::<u8>(), 64),
        body: Vec<u8>,
    ) {
        let (hmac, ed25519) = (BASE64.encode(&bytes[..32]), BASE64.encode(&bytes));
        let hex = HEXLOWER.encode(&bytes[..32]);
        let forgeries = [
            ("X-Timestamp", "1706012345", "X-Signature", format!("hmac-sha256={hmac}")),
            ("X-Timestamp", "1706012345", "X-Signature", format!("scheme=ed25519,sig={ed25519}")),
            ("X-Timestamp", "2024-01-23T12:19:05Z", "X-Signature", hex.clone()),
            ("X-Timestamp", "", "X-Signature", format!("sha256={hex}")),
            ("webhook-timestamp", "1706012345", "webhook-signature", format!("v1,{hmac} v1a,{ed25519}")),
            ("svix-timestamp", "1706012345", "svix-signature", format!("v1,{hmac} v1a,{ed25519}")),
            ("t", "", "Stripe-Signature", format!("t=1706012345,v1={hex}")),
            ("t", "", "X-Hub-Signature-256", format!("sha256={hex}")),
            ("X-Slack-Request-Timestamp", "1706012345", "X-Slack-Signature", format!("v0={hex}")),
            ("t", "", "X-Shopify-Hmac-Sha256", hmac.clone()),
            ("t", "", "X-Webhook-Signature", format!("sha256={hex}")),
            ("t", "", "X-Webhook-Signature", format!("t=1706012345123,v1={hex}")),
            ("t", "", "X-Convoy-Signature", hex.clone()),
            ("t", "", "x-outpost-signature", format!("v0={hex}")),
        ];
        let recipes = recipes();
        let mut compared = vec![false; recipes.len()];
        for (time_name, time, name, signature) in forgeries {
            let id_name = if name.starts_with("svix") { "svix-id" } else { "webhook-id" };
            let request = Request::new(&body)
                .add(id_name, "msg_1")
                .add(time_name, time)
                .add(name, signature);
            for (index, recipe) in recipes.iter().enumerate() {
                let verify_error = request.verify(recipe, &keys()).unwrap_err();
                compared[index] |= verify_error == VerifyError::NoMatch;
            }
        }
        // Every recipe reached the comparison of signatures.
        prop_assert_eq!(compared, vec![true; recipes.len()]);
    }
}
