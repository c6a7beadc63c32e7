//! Signatures that are missing, misplaced or misspelled.

use data_encoding::{BASE64, BASE64_NOPAD, BASE64URL, HEXLOWER};
use gancho_wire::{
    HeaderPart, MAX_ED25519_SIGNATURES, Preset, SigningKey, VerifyError, sign_as_partner,
};

use crate::{
    request::{Request, SECRET, hmac, raw_key, recipe},
    standard_request::{BODY, TIME, answer, answer_to, bad, good, mac, request},
};

#[test]
fn missing_empty_or_cut_signatures() {
    assert_eq!(answer(good()), Ok(0));
    let missing = answer_to(&request().without("webhook-signature"));
    assert_eq!(missing, Err(VerifyError::Missing(HeaderPart::Signature)));
    let cut = &good()[..good().len() - 4];
    let long = format!("v1,{}", BASE64.encode(&[mac(), vec![0]].concat()));
    for text in ["", " ", "   ", "v1,", "v1", ",x", ",", "v1,=", "v1,AA==", "x", cut, &long] {
        assert_eq!(answer(text), Err(VerifyError::MalformedSignature), "{text:?}");
    }
    assert_eq!(answer([0xff, 0xfe]), Err(VerifyError::MalformedSignature));
}

#[test]
fn a_good_mac_under_another_version() {
    let value = BASE64.encode(&mac());
    for version in ["v2", "V1", "v0", "v11"] {
        assert_eq!(answer(format!("{version},{value}")), Err(VerifyError::NoMatch), "{version}");
    }
    for version in ["v1a", "v1 ", " v1", "", "v1,v1"] {
        let verify_error = Err(VerifyError::MalformedSignature);
        assert_eq!(answer(format!("{version},{value}")), verify_error, "{version}");
    }
}

#[test]
fn many_signatures() {
    let list = |before: usize| {
        let mut entries = vec![bad(); before];
        entries.push(good());
        entries.join(" ")
    };
    assert_eq!(answer(list(15)), Ok(0));
    assert_eq!(answer(list(16)), Err(VerifyError::TooManySignatures));
    assert_eq!(answer(list(10_000)), Err(VerifyError::TooLong(HeaderPart::Signature)));
    assert_eq!(answer(vec![b' '; 4096]), Err(VerifyError::MalformedSignature));
    assert_eq!(answer("v9,x ".repeat(800)), Err(VerifyError::TooManySignatures));
}

#[test]
fn ed25519_signatures_cost_more_so_fewer_are_tried() {
    let key = SigningKey::ed25519(&BASE64.encode(&[7; 32])).unwrap();
    let partner = sign_as_partner(&key, &format!("msg_1.{TIME}"), BODY.as_bytes());
    let good = format!("v1a,{}", partner.strip_prefix("ed25519=").unwrap());
    let bad = format!("v1a,{}", BASE64.encode(&[0; 64]));
    for before in 0..10 {
        let list = [vec![bad.clone(); before], vec![good.clone()]].concat().join(" ");
        let request = request().set("webhook-signature", list);
        let answer = request.key(&recipe(&Preset::Standard), &[key.verifying_key()]);
        assert_eq!(answer.is_ok(), before < MAX_ED25519_SIGNATURES, "{before}");
    }
}

#[test]
fn duplicated_headers() {
    for (name, part) in [
        ("webhook-signature", HeaderPart::Signature),
        ("webhook-id", HeaderPart::Id),
        ("webhook-timestamp", HeaderPart::Timestamp),
    ] {
        let same = request().header(name).to_vec();
        for value in [same, b"other".to_vec()] {
            let verify_error = answer_to(&request().add(&name.to_uppercase(), value)).unwrap_err();
            assert_eq!(verify_error, VerifyError::Duplicated(part));
            assert!(verify_error.is_malformed());
        }
    }
}

#[test]
fn lists_joined_by_anything_but_one_space() {
    let (good, bad) = (good(), bad());
    assert_eq!(answer(format!("{bad} {good}")), Ok(0));
    for joint in [", ", ",", "\t", "  ", " \t", ";", "\n", " , "] {
        for list in [format!("{bad}{joint}{good}"), format!("{good}{joint}{bad}")] {
            assert_eq!(answer(&list), Err(VerifyError::MalformedSignature), "{list:?}");
        }
    }
    assert_eq!(answer(format!("{good} ")), Err(VerifyError::MalformedSignature));
    // Nor does a skipped version hide a joint.
    for list in [format!("v2,AAAA, {good}"), format!("v2,AAAA,{bad} {good}")] {
        assert_eq!(answer(&list), Err(VerifyError::MalformedSignature), "{list:?}");
    }
}

#[test]
fn only_the_canonical_encoding() {
    // This body's MAC has `+` and `/` and ends in a character with room for stray bits.
    let mac = (0..1000)
        .map(|n| (n, hmac(SECRET.as_bytes(), n.to_string())))
        .find(|(_, mac)| BASE64.encode(mac).contains('+') && BASE64.encode(mac).contains('/'));
    let (body, mac) = mac.unwrap();
    let canonical = BASE64.encode(&mac);
    let shopify = |signature: &str| {
        Request::new(body.to_string())
            .add("X-Shopify-Hmac-Sha256", signature)
            .key(&recipe(&Preset::Shopify), &[raw_key(SECRET)])
    };
    assert_eq!(shopify(&canonical), Ok(0));
    let mut stray = canonical.clone().into_bytes();
    stray[42] += 1;
    for text in [
        BASE64URL.encode(&mac),
        BASE64_NOPAD.encode(&mac),
        String::from_utf8(stray).unwrap(),
        format!("{}\n{}", &canonical[..20], &canonical[20..]),
        format!(" {canonical}"),
        format!("{canonical}\n"),
        format!("{canonical}="),
        HEXLOWER.encode(&mac),
    ] {
        assert_eq!(shopify(&text), Err(VerifyError::MalformedSignature), "{text:?}");
    }

    let hex = HEXLOWER.encode(&mac);
    let github = |signature: &str| {
        Request::new(body.to_string())
            .add("X-Hub-Signature-256", signature)
            .key(&recipe(&Preset::Github), &[raw_key(SECRET)])
    };
    assert_eq!(github(&format!("sha256={hex}")), Ok(0));
    for text in [
        format!("sha256={}", hex.to_uppercase()),
        format!(
            "sha256={}{}",
            hex[..1].to_uppercase(),
            hex[1..].replacen(char::is_lowercase, "A", 1)
        ),
        format!("sha1={hex}"),
        format!("SHA256={hex}"),
        format!("sha256= {hex}"),
        format!("sha256={hex},sha256={hex}"),
        hex,
    ] {
        assert_eq!(github(&text), Err(VerifyError::MalformedSignature), "{text:?}");
    }
}
