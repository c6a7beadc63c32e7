//! Passwords that attackers guess first. Short ones are refused by their length.

/// Minimum number of different characters: programs guess repetitions.
const MIN_DIFFERENT: usize = 5;

/// In lower case, without common additions at the end.
const COMMON: [&str; 48] = [
    "1234567890",
    "12345678901",
    "123456789012",
    "0987654321",
    "1q2w3e4r5t6y",
    "1qaz2wsx3edc",
    "abcdefghijkl",
    "abcd1234abcd",
    "adminadmin",
    "administrator",
    "alexandre",
    "basketball",
    "changeme",
    "changemenow",
    "chocolate",
    "computer",
    "correcthorsebatterystaple",
    "dragondragon",
    "football",
    "gancho",
    "ganchogancho",
    "iloveyou",
    "iloveyouiloveyou",
    "letmein",
    "letmeinletmein",
    "liverpool",
    "master",
    "masterpassword",
    "michael",
    "mustang",
    "mypassword",
    "mysecretpassword",
    "operator",
    "p@ssword",
    "p@ssw0rd",
    "passw0rd",
    "password",
    "passwordpassword",
    "princess",
    "qwerty",
    "qwertyqwerty",
    "qwertyuiop",
    "qwertyuiopasdf",
    "secretsecret",
    "starwars",
    "sunshine",
    "superman",
    "welcome",
];

/// Whether a password is a common one, even with digits and signs around it, or little more than a
/// repetition.
pub fn is_common(password: &str) -> bool {
    let lower = password.to_lowercase();
    let different: std::collections::BTreeSet<char> = lower.chars().collect();
    let is_added = |symbol: char| !symbol.is_alphabetic();
    let core = lower.trim_matches(is_added);
    different.len() < MIN_DIFFERENT || COMMON.contains(&lower.as_str()) || COMMON.contains(&core)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_guessed_first_is_common() {
        for common in [
            "password1234",
            "Password123!",
            "!!qwertyuiop",
            "aaaaaaaaaaaa",
            "123412341234",
            "123456789012",
            "CorrectHorseBatteryStaple",
            "welcome12345",
        ] {
            assert!(is_common(common), "{common}");
        }
        for good in
            ["correct horse battery", "a long passphrase", "k7#pQz!m2Lw9", "password of the house"]
        {
            assert!(!is_common(good), "{good}");
        }
    }
}
