//! Examples from specifications and vendors' documentation.

use gancho_domain::Time;
use gancho_wire::{AttemptMetadata, Preset, Profile, SecretEncoding, SigningKey, sign};

use crate::request::{Request, raw_key, recipe};

fn check_standard(secret: &str, id: &str, time: i64, body: &str, signature: &str) {
    let profile = Profile::standard();
    let key = SigningKey::for_profile(&profile, secret).unwrap();
    let at = Time::from_secs(time);
    let sending =
        AttemptMetadata { event_id: id, endpoint_id: "wh_1", event_type: "t", at, retry: 0 };
    let ours = sign(&profile, &sending, body.as_bytes(), &[key]).unwrap();
    assert_eq!(ours.last().unwrap(), &("webhook-signature", signature.to_owned()));

    let key = Preset::Standard.hmac_key(secret, SecretEncoding::Raw).unwrap();
    for family in ["webhook", "svix"] {
        let request = Request::new(body)
            .at(at)
            .add(&format!("{family}-id"), id)
            .add(&format!("{family}-timestamp"), time.to_string())
            .add(&format!("{family}-signature"), signature);
        let accepted =
            request.verify(&recipe(&Preset::Standard), std::slice::from_ref(&key)).unwrap();
        assert_eq!(accepted.message_id.as_deref(), Some(id));
        assert_eq!(accepted.timestamp, Some(at));
    }
}

#[test]
fn standard_webhooks_example() {
    check_standard(
        "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
        "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk",
        1_649_367_553,
        r#"{"email":"test@example.com","username":"test_user"}"#,
        "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=",
    );
}

#[test]
fn svix_example() {
    check_standard(
        "whsec_plJ3nmyCDGBKInavdOK15jsl",
        "msg_loFOjxBNrRLzqYUf",
        1_731_705_121,
        r#"{"event_type":"ping","data":{"success":true}}"#,
        "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=",
    );
}

#[test]
fn github_example() {
    let request = Request::new("Hello, World!").add(
        "X-Hub-Signature-256",
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    );
    let key = raw_key("It's a Secret to Everybody");
    assert_eq!(request.key(&recipe(&Preset::Github), &[key]), Ok(0));
}

#[test]
fn slack_example() {
    let body = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow\
        &channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner\
        &command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2F\
        commands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN\
        &trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    let request = Request::new(body)
        .at(Time::from_secs(1_531_420_618))
        .add("X-Slack-Request-Timestamp", "1531420618")
        .add(
            "X-Slack-Signature",
            "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
        );
    let key = raw_key("8f742231b10e8888abcd99yyyzzz85a5");
    assert_eq!(request.key(&recipe(&Preset::Slack), &[key]), Ok(0));
}
