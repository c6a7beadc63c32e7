//! Converts between the uid of an application and the slug of its tenant. A uid may have capital letters and
//! dots, which a slug may not, so such a uid is escaped reversibly: nothing needs to be stored.

use gancho_domain::tenant::{RESERVED_SLUGS, is_slug};

/// Marks a slug that is an escaped uid.
const ESCAPED: &str = "u_";
/// Marks the slug of an application that was created without a uid, before a ULID.
pub const WITHOUT_UID: &str = "app_";
const ULID_LENGTH: usize = 26;
const MAX_UID: usize = 256;

/// Whether a text may be a uid at Svix.
pub fn is_uid(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=MAX_UID).contains(&text.len()) && text.bytes().all(plain)
}

/// Returns the slug of the application with this uid; `None` if it would be too long, or is not a uid.
pub fn slug_of(uid: &str) -> Option<String> {
    if !is_uid(uid) {
        return None;
    }
    let is_plain = is_slug(uid)
        && !RESERVED_SLUGS.contains(&uid)
        && !uid.starts_with(ESCAPED)
        && !is_without_uid(uid);
    let slug = if is_plain { uid.to_owned() } else { escaped(uid) };
    is_slug(&slug).then_some(slug)
}

/// Returns the uid of the application whose tenant has this slug; `None` if it was created without one.
pub fn uid_of(slug: &str) -> Option<String> {
    if is_without_uid(slug) {
        return None;
    }
    // A tenant that was not created here may have a slug that only looks escaped.
    let read = slug.strip_prefix(ESCAPED).and_then(unescaped);
    let read = read.filter(|uid| slug_of(uid).as_deref() == Some(slug));
    Some(read.unwrap_or_else(|| slug.to_owned()))
}

fn is_without_uid(slug: &str) -> bool {
    slug.strip_prefix(WITHOUT_UID).is_some_and(|rest| {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        rest.len() == ULID_LENGTH && rest.bytes().all(plain)
    })
}

fn escaped(uid: &str) -> String {
    let mut slug = ESCAPED.to_owned();
    for letter in uid.chars() {
        match letter {
            '_' => slug.push_str("__"),
            '.' => slug.push_str("_-"),
            'A'..='Z' => {
                slug.push('_');
                slug.push(letter.to_ascii_lowercase());
            }
            _ => slug.push(letter),
        }
    }
    slug
}

fn unescaped(text: &str) -> Option<String> {
    let mut uid = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '_' => uid.push(match letters.next()? {
                '_' => '_',
                '-' => '.',
                lower @ 'a'..='z' => lower.to_ascii_uppercase(),
                _ => return None,
            }),
            _ => uid.push(letter),
        }
    }
    Some(uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uid_is_read_back() {
        for uid in [
            "acme",
            "customer-42",
            "org_2NxYAbCdEf",
            "a.b",
            "-a",
            "_",
            "u_a",
            "admin",
            "operator",
            "Ab__-.C",
            "0f8fad5b-d9cb-469f-a165-70867728950e",
            "app_01hqxyz123abcdefgh00000000",
        ] {
            let slug = slug_of(uid).unwrap();
            assert!(is_slug(&slug) && !RESERVED_SLUGS.contains(&&*slug), "{uid}: {slug}");
            assert_eq!(uid_of(&slug).as_deref(), Some(uid), "{slug}");
        }
    }

    #[test]
    fn no_two_uids_share_a_slug() {
        let uids = ["a_b", "a.b", "aB", "A_b", "a-b", "u_a_b", "u_a__b", "_a", "A", "u_A", "u__a"];
        let slugs: std::collections::BTreeSet<_> = uids.iter().map(|uid| slug_of(uid)).collect();
        assert_eq!(slugs.len(), uids.len(), "{slugs:?}");
    }

    #[test]
    fn what_is_no_uid_has_no_slug() {
        for text in ["", "a b", "a/b", "ü", "a\0", &"a".repeat(257), &"A".repeat(40)] {
            assert_eq!(slug_of(text), None, "{text}");
        }
    }

    #[test]
    fn slugs_of_others_are_their_uids() {
        assert_eq!(uid_of("u_foo").as_deref(), Some("u_foo"), "`foo` needs no escape");
        assert_eq!(uid_of("u_").as_deref(), Some("u_"));
        assert_eq!(uid_of("acme").as_deref(), Some("acme"));
        assert_eq!(uid_of("app_01hqxyz123abcdefgh00000000"), None);
    }
}
