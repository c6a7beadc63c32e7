//! Prints deliveries signed by every profile at the current time, as one line of JSON each, for other
//! implementations to verify: see `tests/verifiers`.

use std::{
    error::Error,
    time::{SystemTime, UNIX_EPOCH},
};

use gancho_domain::Time;
use gancho_wire::{
    AttemptMetadata, Content, Profile, Scheme, SigningKey, new_key_pair, new_secret, sign,
};
use serde_json::{Map, Value, json};

type Outcome<T> = Result<T, Box<dyn Error>>;

const RAW_SECRET: &str = "a secret that is plain text, ç";

fn main() -> Outcome<()> {
    #[expect(clippy::disallowed_methods, reason = "an example has no clock to take")]
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let now = Time::from_millis(i64::try_from(since_1970.as_millis())?);
    for (name, data) in bodies() {
        for profile in Profile::built_in() {
            for secrets in secrets(&profile)? {
                println!("{}", sample(&profile, &secrets, name, &data, now)?);
            }
        }
    }
    Ok(())
}

fn bodies() -> [(&'static str, String); 5] {
    [
        ("ascii", r#"{"id": "u_1", "amount": 1.0}"#.to_owned()),
        ("unicode", r#"{"name": "João Gómez", "sign": "🪝 ☂"}"#.to_owned()),
        ("escapes", r#"{"a":"\u0000\n\/\u00e9\"","a":1e400}"#.to_owned()),
        ("empty object", "{}".to_owned()),
        ("20 KiB", format!(r#"{{"text":"{}"}}"#, "0123456789abcdef".repeat(1280))),
    ]
}

/// Returns the keys to sign with: one of each kind, and two as during a rotation.
fn secrets(profile: &Profile) -> Outcome<Vec<Vec<String>>> {
    let mut all =
        vec![vec![new_secret()?], vec![RAW_SECRET.to_owned()], vec![new_secret()?, new_secret()?]];
    if profile.signature.scheme == Scheme::Standard {
        all.push(vec![new_key_pair()?.private_key]);
    }
    Ok(all)
}

fn sample(
    profile: &Profile,
    secrets: &[String],
    name: &str,
    data: &str,
    now: Time,
) -> Outcome<Value> {
    let (event_id, event_type) = ("evt_01HQXYZ123ABCDEFGH00000000", "user.created");
    let body = profile.envelope.render(&Content {
        event_id,
        event_type,
        created_at: now,
        number: Some(1),
        data: data.as_bytes(),
    });
    let mut keys = Vec::new();
    for secret in secrets {
        keys.push(SigningKey::for_profile(profile, secret)?);
    }
    let sending = AttemptMetadata { event_id, endpoint_id: "wh_1", event_type, at: now, retry: 0 };
    let headers: Map<String, Value> = sign(profile, &sending, &body, &keys)?
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();

    // If there is room for only one signature, the holder of the old key cannot verify.
    let has_room = !matches!(profile.signature.scheme, Scheme::Sha256 | Scheme::Hex | Scheme::V0);
    let verifiable = if has_room { keys.len() } else { 1 };
    let verifiers: Vec<Value> = secrets
        .iter()
        .zip(&keys)
        .take(verifiable)
        .map(|(secret, key)| {
            let (format, public_key) = (key.format().as_str(), key.public_key());
            json!({"secret": secret, "format": format, "public_key": public_key})
        })
        .collect();
    Ok(json!({
        "name": name,
        "profile": profile.name,
        "keys": verifiers,
        "headers": headers,
        "body": std::str::from_utf8(&body)?,
    }))
}
