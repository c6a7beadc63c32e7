//! Masks secrets with [`MASK`], and parts of e-mail addresses (`joao@example.com` → `j***@e***le.com`).

/// Shown in place of a secret.
pub const MASK: &str = "••••";

/// Keeps the first letter of each side, the last two letters of the domain's name, and what follows
/// the domain's last dot.
pub fn email(address: &str) -> String {
    let Some((local, domain)) = address.rsplit_once('@') else {
        return "***".to_owned();
    };
    let (name, ending) = domain.rsplit_once('.').map_or((domain, ""), |(name, end)| (name, end));
    let mut masked = String::with_capacity(24);
    masked.extend(local.chars().next());
    masked.push_str("***@");
    masked.extend(name.chars().next());
    masked.push_str("***");
    // The last two letters would reveal a name of three letters or fewer.
    let letters = name.chars().count();
    if letters > 3 {
        masked.extend(name.chars().skip(letters - 2));
    }
    if !ending.is_empty() {
        masked.push('.');
        masked.push_str(ending);
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::email;

    #[test]
    fn as_in_the_contract() {
        assert_eq!(email("joao@example.com"), "j***@e***le.com");
        assert_eq!(email("a@b.co"), "a***@b***.co");
        assert_eq!(email("ana@mail.example.com.br"), "a***@m***om.br");
        assert_eq!(email("\"odd@local\"@example.com"), "\"***@e***le.com");
        assert_eq!(email("no address"), "***");
        assert_eq!(email("@"), "***@***");
    }
}
