//! Password hashes by Argon2id.
//!
//! Hashing takes memory and time on purpose, so it runs off the async threads, one at a time and with pauses:
//! password guesses, from however many addresses, use at most a quarter of one core. Those who wait take turns
//! by network, so that a network with very many addresses does not keep others from logging in; and networks from which
//! somebody has logged in since the start have every second turn, so that a guesser with very many networks does not either.

use std::{
    net::IpAddr,
    time::{Duration, Instant},
};

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString},
};
use aws_lc_rs::rand;
use gancho_vault::Secret;
use thiserror::Error;
use tokio::sync::{OnceCell, oneshot};

use crate::{
    RecentSet,
    turns::{Origin, Turns},
};

/// The parameters that OWASP recommends: 19 MiB, two passes, one lane.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
/// How long to pause after each hash, as a multiple of its duration.
const REST: u32 = 3;
/// Maximum wait for a turn.
const MAX_WAIT: Duration = Duration::from_secs(5);

pub const MIN_LENGTH: usize = 12;
/// Maximum length in bytes. Longer passwords only cost time.
pub const MAX_LENGTH: usize = 256;

#[derive(Debug, Clone, Copy, Error, PartialEq, Eq)]
pub enum PasswordError {
    #[error("too many logins at a time; retry")]
    Busy,
    #[error("the password could not be hashed")]
    Failed,
}

#[derive(Default)]
pub struct Hasher {
    turns: Turns,
    /// The networks from which somebody has logged in.
    proven: RecentSet,
    /// Verified for users that do not exist, so that they cost the same.
    decoy: OnceCell<String>,
}

impl Hasher {
    /// Hashes a password with a new salt. The result names its parameters (PHC string format).
    pub async fn hash(&self, password: Secret) -> Result<String, PasswordError> {
        self.run(Origin::CALLER, move || hash(&password)).await?
    }

    /// Whether the password matches. Without a hash it does the same work and returns false. `network` is where the
    /// caller comes from; `None` for callers who have proven who they are.
    pub async fn verify(
        &self,
        network: Option<IpAddr>,
        password: Secret,
        hash: Option<String>,
    ) -> Result<bool, PasswordError> {
        let is_known = hash.is_some();
        let hash = match hash {
            Some(hash) => hash,
            None => self.decoy().await?,
        };
        let is_proven = network.is_none_or(|network| self.proven.contains(&network));
        let origin = Origin::new(network, is_proven);
        let is_right = self.run(origin, move || verify(&password, &hash)).await? && is_known;
        if let Some(network) = network.filter(|_| is_right) {
            self.proven.insert(&network);
        }
        Ok(is_right)
    }

    /// Makes the first login as fast as the others, so that its time reveals nothing.
    pub async fn warm_up(&self) -> Result<(), PasswordError> {
        self.decoy().await.map(|_| ())
    }

    async fn decoy(&self) -> Result<String, PasswordError> {
        let decoy = self.decoy.get_or_try_init(|| async {
            let mut bytes = [0; 32];
            rand::fill(&mut bytes).map_err(|_| PasswordError::Failed)?;
            let password = Secret::new(data_encoding::HEXLOWER.encode(&bytes));
            self.hash(password).await
        });
        decoy.await.cloned()
    }

    async fn run<T: Send + 'static>(
        &self,
        origin: Origin,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PasswordError> {
        let turn = tokio::time::timeout(MAX_WAIT, self.turns.acquire(origin)).await;
        let turn = turn.ok().flatten().ok_or(PasswordError::Busy)?;
        let (done, result) = oneshot::channel();
        // Runs to its end even if the caller has gone away.
        tokio::task::spawn_blocking(move || {
            let begin = Instant::now();
            // The caller may have gone away.
            let _ = done.send(work());
            std::thread::sleep(begin.elapsed() * REST);
            drop(turn);
        });
        result.await.map_err(|_| PasswordError::Failed)
    }
}

fn argon2() -> Result<Argon2<'static>, PasswordError> {
    let params = Params::new(MEMORY_KIB, PASSES, 1, None).map_err(|_| PasswordError::Failed)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn hash(password: &Secret) -> Result<String, PasswordError> {
    let mut salt = [0; 16];
    rand::fill(&mut salt).map_err(|_| PasswordError::Failed)?;
    let salt = SaltString::encode_b64(&salt).map_err(|_| PasswordError::Failed)?;
    let hash = argon2()?.hash_password(password.as_bytes(), &salt);
    hash.map(|hash| hash.to_string()).map_err(|_| PasswordError::Failed)
}

fn verify(password: &Secret, hash: &str) -> bool {
    let Ok(hash) = PasswordHash::new(hash) else { return false };
    // The parameters are those of the hash.
    Argon2::default().verify_password(password.as_bytes(), &hash).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::new(text.to_owned())
    }

    #[tokio::test]
    async fn only_the_password_matches() {
        let hasher = Hasher::default();
        let hash = hasher.hash(secret("correct horse battery")).await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        let again = hasher.hash(secret("correct horse battery")).await.unwrap();
        assert_ne!(hash, again, "each has its own salt");
        let is_right =
            hasher.verify(None, secret("correct horse battery"), Some(hash.clone())).await;
        assert_eq!(is_right, Ok(true));
        for wrong in ["", "correct horse batter", "Correct horse battery"] {
            assert_eq!(hasher.verify(None, secret(wrong), Some(hash.clone())).await, Ok(false));
            assert_eq!(hasher.verify(None, secret(wrong), None).await, Ok(false));
        }
        let malformed = Some("not a hash".to_owned());
        assert_eq!(hasher.verify(None, secret(""), malformed).await, Ok(false));
    }

    #[tokio::test]
    async fn after_each_there_is_a_rest_that_its_caller_does_not_wait_for() {
        let hasher = Hasher::default();
        hasher.hash(secret("correct horse battery")).await.unwrap();
        assert!(hasher.turns.is_taken(), "it rests");
        hasher.hash(secret("correct horse battery")).await.unwrap();
    }

    // A real login under a flood of more guesses than can be checked in the longest wait.
    #[tokio::test]
    async fn a_network_with_a_login_gets_through_a_flood_from_thousands() {
        let hasher = std::sync::Arc::new(Hasher::default());
        let hash = hasher.hash(secret("correct horse battery")).await.unwrap();
        let network = |number: u32| Some(std::net::Ipv4Addr::from_bits(number).into());
        let log_in =
            |from| hasher.verify(from, secret("correct horse battery"), Some(hash.clone()));
        assert_eq!(log_in(network(1)).await, Ok(true));
        assert_eq!(hasher.verify(network(2), secret("wrong"), Some(hash.clone())).await, Ok(false));
        let mut flood = tokio::task::JoinSet::new();
        for number in 2..5_000 {
            let (hasher, hash) = (hasher.clone(), hash.clone());
            flood.spawn(async move {
                hasher.verify(network(number), secret("wrong"), Some(hash)).await
            });
        }
        while !hasher.turns.is_full() {
            tokio::task::yield_now().await;
        }
        assert_eq!(log_in(network(9_999_999)).await, Err(PasswordError::Busy), "nobody knows it");
        for _ in 0..3 {
            assert_eq!(log_in(network(1)).await, Ok(true));
        }
        let changed = hasher.hash(secret("another long password")).await;
        assert!(changed.is_ok(), "a user who is logged in changes the password");
        flood.abort_all();
    }

    #[tokio::test(start_paused = true)]
    async fn a_crowd_is_refused_rather_than_let_in() {
        let hasher = Hasher::default();
        let held = hasher.turns.acquire(Origin::CALLER).await.unwrap();
        assert_eq!(hasher.hash(secret("correct horse battery")).await, Err(PasswordError::Busy));
        drop(held);
    }
}
