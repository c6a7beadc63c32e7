//! Ed25519 signatures and keys at the edges of the curve.

use data_encoding::{BASE64, HEXLOWER};
use gancho_wire::{KeyError, Preset, SigningKey, VerifyError, VerifyingKey, sign_as_partner};

use crate::request::{Request, recipe};

const TIME: &str = "1706012345";

/// All points whose order divides 8, in every encoding that decodes to one.
const SMALL_ORDER: [&str; 14] = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000080",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
];

/// The order of the base point, little-endian.
const L: &str = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";

fn bytes(hex: &str) -> [u8; 32] {
    HEXLOWER.decode(hex.as_bytes()).unwrap().try_into().unwrap()
}

fn key() -> SigningKey {
    SigningKey::ed25519(&BASE64.encode(&[7; 32])).unwrap()
}

fn good_signature() -> [u8; 64] {
    let header = sign_as_partner(&key(), TIME, b"{}");
    let text = header.strip_prefix("ed25519=").unwrap();
    BASE64.decode(text.as_bytes()).unwrap().try_into().unwrap()
}

fn answer(signature: &[u8]) -> Result<usize, VerifyError> {
    let request = Request::new("{}")
        .add("X-Timestamp", TIME)
        .add("X-Signature", format!("ed25519={}", BASE64.encode(signature)));
    request.key(&recipe(&Preset::Partner), &[key().verifying_key()])
}

#[test]
fn keys_of_small_order_are_refused_when_configured() {
    for hex in SMALL_ORDER {
        let error = VerifyingKey::ed25519(&BASE64.encode(&bytes(hex))).unwrap_err();
        let refused = matches!(error, KeyError::WeakEd25519 | KeyError::NotEd25519);
        assert!(refused, "{hex}: {error:?}");
    }
}

#[test]
fn keys_in_a_non_canonical_form_are_refused_when_configured() {
    // y = p + 3 to p + 18: the same points as y = 3 to 18, in a second spelling.
    let mut refused = 0;
    for low in 0xf0..=0xff_u8 {
        for sign in [0x7f, 0xff] {
            let mut point = [0xff; 32];
            point[0] = low;
            point[31] = sign;
            assert!(VerifyingKey::ed25519(&BASE64.encode(&point)).is_err(), "{low:x} {sign:x}");
            refused += 1;
        }
    }
    assert_eq!(refused, 32);
}

#[test]
fn signatures_with_r_of_small_order() {
    let good = good_signature();
    assert_eq!(answer(&good), Ok(0));
    for hex in SMALL_ORDER {
        let mut signature = good;
        signature[..32].copy_from_slice(&bytes(hex));
        assert_eq!(answer(&signature), Err(VerifyError::NoMatch), "{hex}");
        signature[32..].fill(0);
        assert_eq!(answer(&signature), Err(VerifyError::NoMatch), "{hex}, S = 0");
    }
    assert_eq!(answer(&[0; 64]), Err(VerifyError::NoMatch));
    assert_eq!(answer(&[0xff; 64]), Err(VerifyError::NoMatch));
}

#[test]
fn signatures_with_s_beyond_the_order() {
    let mut signature = good_signature();
    let mut carry = 0;
    for (byte, more) in signature[32..].iter_mut().zip(bytes(L)) {
        let sum = u16::from(*byte) + u16::from(more) + carry;
        *byte = sum as u8;
        carry = sum >> 8;
    }
    assert_eq!(carry, 0);
    // The same signature modulo the order: lax verifiers accept it as a second valid one.
    assert_eq!(answer(&signature), Err(VerifyError::NoMatch));
}

#[test]
fn signatures_of_another_length() {
    let good = good_signature();
    for wrong in [&good[..63], &good[..32], &good[..0], &[good.as_slice(), &[0]].concat()] {
        assert_eq!(answer(wrong), Err(VerifyError::MalformedSignature));
    }
}
