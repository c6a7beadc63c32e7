//! Another algorithm, another message, another sender's key.

use data_encoding::BASE64;
use gancho_wire::{
    HeaderPart, KeyError, Preset, Profile, SecretEncoding, SigningKey, Token, VerifyError,
    VerifyingKey, sign_as_partner,
};

use crate::{
    request::{Request, SECRET, hmac, raw_key, recipe},
    standard_request::{BODY, TIME, answer, answer_to, bad, good, mac_by, request},
};

#[test]
fn the_key_decides_the_algorithm() {
    let signing = SigningKey::ed25519(&BASE64.encode(&[7; 32])).unwrap();
    let public = signing.public_key().unwrap();
    let keys = [signing.verifying_key()];
    let public_bytes = BASE64.decode(&public.as_bytes()[5..]).unwrap();
    let base = format!("msg_1.{TIME}.{BODY}");
    for known in [public_bytes, public.clone().into_bytes(), public.as_bytes()[5..].to_vec()] {
        let forged = format!("v1,{}", BASE64.encode(&hmac(&known, &base)));
        let request = request().set("webhook-signature", forged);
        assert_eq!(request.key(&recipe(&Preset::Standard), &keys), Err(VerifyError::NoMatch));
    }

    let partner = |signature: &str, keys: &[VerifyingKey]| {
        let request = Request::new(BODY).add("X-Timestamp", TIME).add("X-Signature", signature);
        request.key(&recipe(&Preset::Partner), keys)
    };
    let ed25519 = sign_as_partner(&signing, TIME, BODY.as_bytes());
    assert_eq!(partner(&ed25519, &keys), Ok(0));
    assert_eq!(partner(&ed25519, &[raw_key(SECRET)]), Err(VerifyError::NoMatch));
    let by_hmac = SigningKey::hmac(SECRET, SecretEncoding::Raw).unwrap();
    let by_hmac = sign_as_partner(&by_hmac, TIME, BODY.as_bytes());
    assert_eq!(partner(&by_hmac, &keys), Err(VerifyError::NoMatch));
    let relabeled = by_hmac.replace("hmac-sha256=", "ed25519=");
    assert_eq!(partner(&relabeled, &keys), Err(VerifyError::MalformedSignature));
    for label in ["none=", "hmac-sha512=", "HMAC-SHA256=", "scheme=none,sig="] {
        let text = by_hmac.replace("hmac-sha256=", label);
        assert_eq!(
            partner(&text, &[raw_key(SECRET)]),
            Err(VerifyError::MalformedSignature),
            "{text}"
        );
    }
}

#[test]
fn weak_secrets_are_refused_when_configured() {
    let whsec = |n: usize| format!("whsec_{}", BASE64.encode(&vec![7; n]));
    let errors = [
        (String::new(), KeyError::Empty),
        ("whsec_".to_owned(), KeyError::PrefixOnly),
        ("fifteen letters".to_owned(), KeyError::TooShort(15)),
        (whsec(15), KeyError::TooShort(15)),
        (whsec(65), KeyError::TooLong(65, 64)),
        ("x".repeat(257), KeyError::TooLong(257, 256)),
        (format!("whpk_{}", BASE64.encode(&[7; 32])), KeyError::PublicKeyAsSecret),
        (format!("{SECRET}\n"), KeyError::WhiteSpace),
    ];
    for (secret, error) in errors {
        let ours = SigningKey::for_profile(&Profile::standard(), &secret).unwrap_err();
        assert_eq!(ours, error);
        let theirs = Preset::Standard.hmac_key(&secret, SecretEncoding::Raw).unwrap_err();
        assert_eq!(theirs, error);
    }
    for (secret, encoding, error) in [
        ("", SecretEncoding::Raw, KeyError::Empty),
        ("whsec_", SecretEncoding::Raw, KeyError::PrefixOnly),
        ("", SecretEncoding::Base64, KeyError::PrefixOnly),
        ("not base64 at all!", SecretEncoding::Base64, KeyError::NotBase64),
        ("AAAAAAAAAAAAAAAAAAAAAB==", SecretEncoding::Base64, KeyError::StrayBits),
        ("zz", SecretEncoding::Hex, KeyError::NotHex),
        ("00ff", SecretEncoding::Hex, KeyError::TooShort(2)),
    ] {
        let answer = Preset::Partner.hmac_key(secret, encoding).unwrap_err();
        assert_eq!(answer, error, "{secret}");
    }
}

#[test]
fn the_parts_cannot_be_cut_elsewhere() {
    let signature = format!("v1,{}", BASE64.encode(&mac_by(SECRET, &format!("a.{TIME}.{TIME}.x"))));
    let shifted = Request::new("x")
        .add("webhook-id", format!("a.{TIME}"))
        .add("webhook-timestamp", TIME)
        .add("webhook-signature", &signature);
    let verify_error = answer_to(&shifted).unwrap_err();
    assert_eq!(verify_error, VerifyError::MalformedId);
    assert!(verify_error.is_malformed());
    let honest = shifted.set("webhook-id", "a").body(format!("{TIME}.x"));
    assert_eq!(answer_to(&honest), Ok(0));
}

#[test]
fn a_body_changed_in_the_least() {
    let original = "{\"a\":\"\u{e9}\",\r\n\"b\":1.0}";
    let signature =
        format!("v1,{}", BASE64.encode(&mac_by(SECRET, &format!("msg_1.{TIME}.{original}"))));
    let signed = request().set("webhook-signature", signature).body(original);
    assert_eq!(answer_to(&signed), Ok(0));
    for body in [
        format!("{original} "),
        format!("{original}\0"),
        format!("\u{feff}{original}"),
        original.replace("\r\n", "\n"),
        original.replace("1.0", "1"),
        original.replace('\u{e9}', "\\u00e9"),
        original.replace('\u{e9}', "e\u{301}"),
        String::new(),
    ] {
        assert_eq!(answer_to(&signed.clone().body(&body)), Err(VerifyError::NoMatch), "{body:?}");
    }
    let latin_1 = b"{\"a\":\"\xe9\",\r\n\"b\":1.0}";
    assert_eq!(answer_to(&signed.body(latin_1)), Err(VerifyError::NoMatch));
}

#[test]
fn anothers_signature() {
    let other = format!("whsec_{}", BASE64.encode(&[9; 32]));
    let base = format!("msg_1.{TIME}.{BODY}");
    let theirs = format!("v1,{}", BASE64.encode(&mac_by(&other, &base)));
    assert_eq!(answer(&theirs), Err(VerifyError::NoMatch));
    assert_eq!(request().key(&recipe(&Preset::Standard), &[]), Err(VerifyError::NoMatch));
    // The decoy key gives no access.
    let zero = format!("v1,{}", BASE64.encode(&hmac(&[0; 32], &base)));
    let request = request().set("webhook-signature", zero);
    assert_eq!(request.key(&recipe(&Preset::Standard), &[]), Err(VerifyError::NoMatch));
}

#[test]
fn fixed_tokens() {
    let token = Token::new("a token of some length").unwrap();
    let verify = |value: &[u8]| token.verify(&[("X-Token", value)], "x-token");
    assert_eq!(verify(b"a token of some length"), Ok(()));
    for wrong in [&b""[..], b"a", b"a token of some lengti", b"a token of some length "] {
        assert_eq!(verify(wrong), Err(VerifyError::NoMatch));
    }
    assert_eq!(token.verify(&[], "x-token"), Err(VerifyError::Missing(HeaderPart::Signature)));
    assert!(Token::new("").is_err());
    assert_eq!(format!("{token:?}"), "Token(redacted)");
}

#[test]
fn rotation() {
    let other = format!("whsec_{}", BASE64.encode(&[9; 32]));
    let (new, old) =
        (VerifyingKey::standard(SECRET).unwrap(), VerifyingKey::standard(&other).unwrap());
    let base = format!("msg_1.{TIME}.{BODY}");
    let by_old = format!("v1,{}", BASE64.encode(&mac_by(&other, &base)));
    let by_new = good();
    let by_both = format!("{by_new} {by_old}");
    // The caller passes the keys that are valid now: both within the overlap, only the new one after it.
    let table = [
        (&by_new, Ok(0), Ok(0), Err(VerifyError::NoMatch)),
        (&by_old, Ok(1), Err(VerifyError::NoMatch), Ok(0)),
        (&by_both, Ok(0), Ok(0), Ok(0)),
        (&bad(), Err(VerifyError::NoMatch), Err(VerifyError::NoMatch), Err(VerifyError::NoMatch)),
    ];
    for (signature, within, after, before) in table {
        let request = request().set("webhook-signature", signature);
        let answer = |keys: &[VerifyingKey]| request.key(&recipe(&Preset::Standard), keys);
        assert_eq!(answer(&[new.clone(), old.clone()]), within);
        assert_eq!(answer(std::slice::from_ref(&new)), after);
        assert_eq!(answer(std::slice::from_ref(&old)), before);
    }
}
