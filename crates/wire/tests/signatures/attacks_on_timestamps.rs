//! Timestamps at the edges and in other spellings.

use data_encoding::BASE64;
use gancho_domain::Time;
use gancho_wire::{Preset, TimestampError, VerifyError, VerifyingKey};

use crate::request::{NOW, Request, SECRET, hmac, raw_key, recipe};

/// Returns a request whose signature is valid for the timestamp's text, whatever that is.
fn signed_at(timestamp: impl AsRef<[u8]>) -> Request {
    let timestamp = timestamp.as_ref();
    let key = BASE64.decode(&SECRET.as_bytes()[6..]).unwrap();
    let signature = hmac(&key, [b"msg_1.", timestamp, b".{}"].concat());
    Request::new("{}")
        .add("webhook-id", "msg_1")
        .add("webhook-timestamp", timestamp)
        .add("webhook-signature", format!("v1,{}", BASE64.encode(&signature)))
}

fn answer(request: &Request) -> Result<usize, VerifyError> {
    request.key(&recipe(&Preset::Standard), &[VerifyingKey::standard(SECRET).unwrap()])
}

const MALFORMED: VerifyError = VerifyError::MalformedTimestamp(TimestampError::SecondsExpected);

#[test]
fn within_the_tolerance_inclusive() {
    for offset in [0, 299, 300, -299, -300] {
        let request = signed_at((NOW.secs() + offset).to_string());
        assert_eq!(answer(&request), Ok(0), "{offset}");
        // A fraction of a second on this clock does not narrow the window.
        let late = request.at(Time::from_millis(NOW.millis() + 999));
        assert_eq!(answer(&late), Ok(0), "{offset}");
    }
}

#[test]
fn outside_the_tolerance_or_the_range() {
    for offset in [301, -301] {
        let request = signed_at((NOW.secs() + offset).to_string());
        assert_eq!(answer(&request), Err(VerifyError::Stale), "{offset}");
    }
    for text in ["1", "2147483648", "4294967296", "253402300800", "999999999999"] {
        assert_eq!(answer(&signed_at(text)), Err(VerifyError::Stale), "{text}");
    }
    for text in ["0", "-1", "-9223372036854775808", "9223372036854775807", "18446744073709551616"] {
        assert_eq!(answer(&signed_at(text)), Err(MALFORMED), "{text}");
    }
    for now in [Time::MAX, Time::ZERO, Time::from_micros(i64::MIN)] {
        assert_eq!(answer(&signed_at("1706012345").at(now)), Err(VerifyError::Stale), "{now:?}");
    }
}

#[test]
fn finer_units_are_named_in_the_refusal() {
    for text in ["1706012345000", "1706012345000000", "1706012345000000000"] {
        let verify_error = answer(&signed_at(text)).unwrap_err();
        assert_eq!(verify_error, MALFORMED, "{text}");
        assert!(verify_error.is_malformed());
        assert!(verify_error.to_string().contains("expected seconds"), "{verify_error}");
    }
}

#[test]
fn one_spelling_of_a_number() {
    for text in [
        "+1706012345",
        "01706012345",
        "001706012345",
        " 1706012345",
        "1706012345 ",
        "1706012345\n",
        "1e9",
        "0x65afb0b9",
        "１７０６０１２３４５",
        "1706012345.0",
        "1706012345,0",
        "1_706_012_345",
        "2024-01-23T12:19:05Z",
        "Tue, 23 Jan 2024 12:19:05 +0000",
        "",
    ] {
        assert_eq!(answer(&signed_at(text)), Err(MALFORMED), "{text}");
    }
    assert_eq!(answer(&signed_at(b"\xff\x00")), Err(MALFORMED));
}

#[test]
fn the_signature_covers_the_text_as_sent() {
    let recipe = recipe(&Preset::Partner);
    let sign = |text: &str| {
        let signature = BASE64.encode(&hmac(SECRET.as_bytes(), format!("{text}.{{}}")));
        Request::new("{}").add("X-Signature", format!("hmac-sha256={signature}"))
    };
    let spellings = [
        "1706012345",
        "2024-01-23T12:19:05Z",
        "2024-01-23T12:19:05.000Z",
        "2024-01-23T09:19:05-03:00",
    ];
    for signed in spellings {
        for sent in spellings {
            let answer = sign(signed).add("X-Timestamp", sent).key(&recipe, &[raw_key(SECRET)]);
            let expected = if signed == sent { Ok(0) } else { Err(VerifyError::NoMatch) };
            assert_eq!(answer, expected, "signed as {signed}, sent as {sent}");
        }
    }
}
