//! Links that sign in by themselves: once, and only for a short time. Only this process makes them, for
//! instance `gancho dev`, which prints one.

use std::time::Duration;

use aws_lc_rs::{digest, rand};
use data_encoding::BASE64URL_NOPAD;
use gancho_access::Operator;
use gancho_domain::Time;
use parking_lot::Mutex;

type TokenHash = [u8; 32];

/// How long a link is valid.
const TTL: Duration = Duration::from_mins(10);
/// Maximum links. Beyond it, the oldest ends.
const MAX_LINKS: usize = 16;

/// Unused links. Only hashes of their tokens are stored.
#[derive(Default)]
pub struct LoginLinks(Mutex<Vec<LoginLink>>);

struct LoginLink {
    token: TokenHash,
    operator: Operator,
    ends_at: Time,
}

#[derive(Debug)]
pub struct RandomError;

impl LoginLinks {
    /// Returns the path of a new link.
    pub fn create(&self, operator: Operator, now: Time) -> Result<String, RandomError> {
        let token = random()?;
        let mut links = self.0.lock();
        links.retain(|link| now < link.ends_at);
        if links.len() >= MAX_LINKS {
            links.remove(0);
        }
        links.push(LoginLink { token: hash(&token), operator, ends_at: now + TTL });
        Ok(format!("/ui/login/{token}"))
    }

    /// Uses a link up. `None` if it was used, has ended or never existed.
    pub fn take(&self, token: &str, now: Time) -> Option<Operator> {
        let token = hash(token);
        let mut links = self.0.lock();
        let place = links.iter().position(|link| link.token == token)?;
        let link = links.remove(place);
        (now < link.ends_at).then_some(link.operator)
    }
}

/// Returns 128 random bits as text: enough for a link that opens once, and short enough for a line of a terminal.
fn random() -> Result<String, RandomError> {
    let mut bytes = [0; 16];
    rand::fill(&mut bytes).map_err(|_| RandomError)?;
    Ok(BASE64URL_NOPAD.encode(&bytes))
}

fn hash(token: &str) -> TokenHash {
    let mut hash = TokenHash::default();
    hash.copy_from_slice(digest::digest(&digest::SHA256, token.as_bytes()).as_ref());
    hash
}
