//! Users: people with an account. Each has a name, a password and a role. Names are unique: a user is a
//! document under its name.

use std::{sync::Arc, time::Duration};

use aws_lc_rs::rand;
use bytes::Bytes;
use data_encoding::HEXLOWER;
use gancho_domain::{AddressBlock, Clock, Time};
use gancho_store::{
    CachePolicy, Collection, Document, Precondition, ReadCache, Result, Store, StoreError,
};
use gancho_vault::Secret;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    Operator, Role,
    common_passwords::is_common,
    digest::sha256,
    password::{Hasher, MAX_LENGTH, MIN_LENGTH, PasswordError},
};

const COLLECTION: Collection = Collection::operators("user");
/// How long another node may still accept the sessions of a user who was changed.
const CACHE_TTL: Duration = Duration::from_secs(5);
const MAX_CACHED: usize = 1_000;
/// Maximum number of users.
pub const MAX_USERS: usize = 1_000;
/// Attempts to write a change that conflicts with others.
const MAX_TRIES: usize = 5;
pub const MAX_NAME: usize = 128;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub role: Role,
    pub created_at: Time,
    pub password_changed_at: Time,
    /// Changes with the password and the role, and ends older sessions.
    stamp: String,
    hash: String,
}

#[derive(Serialize, Deserialize)]
struct StoredUser {
    role: String,
    hash: String,
    stamp: String,
    created_at: i64,
    password_changed_at: i64,
}

pub struct NewUser {
    pub name: String,
    pub role: Role,
    pub password: Secret,
}

#[derive(Default)]
pub struct UserChange {
    pub role: Option<Role>,
    pub password: Option<Secret>,
}

#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum UserError {
    #[error("no user has this name")]
    NotFound,
    #[error("a user with this name exists already")]
    Taken,
    #[error("there are {MAX_USERS} users already; delete one first")]
    TooMany,
    #[error(
        "a name has 1 to {MAX_NAME} lower-case letters, digits and `. _ - + @`, and begins with a letter or digit"
    )]
    InvalidName,
    #[error("{0}")]
    WeakPassword(&'static str),
    #[error("the current password is wrong")]
    WrongPassword,
    #[error("the user is being changed by others; retry")]
    Busy,
    #[error(transparent)]
    Password(#[from] PasswordError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Creates, changes and authenticates users.
pub struct Users {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    hasher: Hasher,
    /// Only for [`Users::current`], which every page calls.
    cache: ReadCache<[u8; 32], Option<User>>,
}

impl Users {
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        let policy = CachePolicy { ttl: CACHE_TTL, max_entries: MAX_CACHED, is_strict: true };
        Self { store, clock, hasher: Hasher::default(), cache: ReadCache::with(policy) }
    }

    /// Lists users after `after`, by name.
    pub async fn list(&self, after: Option<&str>, max: usize) -> Result<Vec<User>> {
        let documents = self.store.documents(COLLECTION, after, max).await?;
        documents.iter().map(User::of_document).collect()
    }

    pub async fn get(&self, name: &str) -> Result<Option<User>> {
        let Ok(name) = plain_name(name) else { return Ok(None) };
        let document = self.store.document(COLLECTION, &name).await?;
        document.as_ref().map(User::of_document).transpose()
    }

    pub async fn create(&self, new: NewUser) -> Result<User, UserError> {
        let name = plain_name(&new.name)?;
        check_password(&new.password, &name)?;
        if self.store.documents(COLLECTION, None, MAX_USERS).await?.len() == MAX_USERS {
            return Err(UserError::TooMany);
        }
        let now = self.clock.now();
        let user = User {
            name,
            role: new.role,
            created_at: now,
            password_changed_at: now,
            stamp: stamp()?,
            hash: self.hasher.hash(new.password).await?,
        };
        match self.put(&user, Precondition::Nothing).await? {
            Some(_) => Ok(user),
            None => Err(UserError::Taken),
        }
    }

    /// Changes the role, the password or both. Ends the user's sessions, unless nothing changes.
    pub async fn change(&self, name: &str, change: UserChange) -> Result<User, UserError> {
        let name = plain_name(name).map_err(|_| UserError::NotFound)?;
        let hash = match change.password {
            Some(password) => {
                check_password(&password, &name)?;
                Some(self.hasher.hash(password).await?)
            }
            None => None,
        };
        for _ in 0..MAX_TRIES {
            let document = self.store.document(COLLECTION, &name).await?;
            let document = document.ok_or(UserError::NotFound)?;
            let mut user = User::of_document(&document)?;
            if hash.is_none() && change.role.is_none_or(|role| role == user.role) {
                return Ok(user);
            }
            if let Some(role) = change.role {
                user.role = role;
            }
            if let Some(hash) = &hash {
                user.hash.clone_from(hash);
                user.password_changed_at = self.clock.now();
            }
            user.stamp = stamp()?;
            if self.put(&user, Precondition::Version(document.version)).await?.is_some() {
                return Ok(user);
            }
        }
        Err(UserError::Busy)
    }

    /// Changes a user's own password.
    pub async fn change_own_password(
        &self,
        name: &str,
        current: Secret,
        new: Secret,
    ) -> Result<User, UserError> {
        let user = self.get(name).await?.ok_or(UserError::NotFound)?;
        if !self.hasher.verify(None, current, Some(user.hash)).await? {
            return Err(UserError::WrongPassword);
        }
        let change = UserChange { role: None, password: Some(new) };
        self.change(name, change).await
    }

    /// Deletes a user, and ends its sessions.
    pub async fn delete(&self, name: &str) -> Result<(), UserError> {
        let name = plain_name(name).map_err(|_| UserError::NotFound)?;
        let was_there = self.store.delete_document(COLLECTION, &name).await?;
        self.cache.forget(sha256(&name));
        if was_there { Ok(()) } else { Err(UserError::NotFound) }
    }

    /// Checks a password. An unknown user costs the same work as a known one. Logins take turns by the network
    /// that they come `from`.
    pub async fn log_in(
        &self,
        from: Option<AddressBlock>,
        name: &str,
        password: Secret,
    ) -> Result<Option<(User, Operator)>, UserError> {
        self.hasher.warm_up().await?;
        let user = self.get(name).await?;
        let hash = user.as_ref().map(|user| user.hash.clone());
        let origin = from.map(AddressBlock::site);
        let is_right =
            password.len() <= MAX_LENGTH && self.hasher.verify(origin, password, hash).await?;
        let user = user.filter(|_| is_right);
        Ok(user.map(|user| {
            let operator = Operator::of_user(&user);
            (user, operator)
        }))
    }

    /// Returns the user, if nothing has changed since this stamp. Otherwise its sessions end.
    pub async fn current(&self, name: &str, stamp: &str) -> Result<Option<User>> {
        let read = |_| async {
            let document = self.store.document(COLLECTION, name).await?;
            Ok(Arc::new(document.as_ref().map(User::of_document).transpose()?))
        };
        let key = sha256(name);
        let mut user = self.cache.get(key, read).await?;
        if user.as_ref().as_ref().is_none_or(|user| user.stamp != stamp) {
            // The account may have been changed on another node, and the session started after that.
            self.cache.forget(key);
            user = self.cache.get(key, read).await?;
        }
        Ok((*user).clone().filter(|user| user.stamp == stamp))
    }

    async fn put(&self, user: &User, expect: Precondition) -> Result<Option<u64>> {
        let written =
            self.store.put_document(COLLECTION, &user.name, user.to_bytes()?, expect).await;
        self.cache.forget(sha256(&user.name));
        written
    }
}

impl User {
    /// Returns the stamp, which changes with the password and the role.
    pub fn stamp(&self) -> &str {
        &self.stamp
    }

    fn to_bytes(&self) -> Result<Bytes> {
        let stored = StoredUser {
            role: self.role.name().to_owned(),
            hash: self.hash.clone(),
            stamp: self.stamp.clone(),
            created_at: self.created_at.micros(),
            password_changed_at: self.password_changed_at.micros(),
        };
        let bytes = serde_json::to_vec(&stored);
        bytes.map(Bytes::from).map_err(|error| StoreError::Corrupt(error.to_string()))
    }

    fn of_document(document: &Document) -> Result<Self> {
        let read = || -> Option<Self> {
            let stored: StoredUser = serde_json::from_slice(&document.body).ok()?;
            Some(Self {
                name: document.key.clone(),
                role: stored.role.parse().ok()?,
                created_at: Time::from_micros(stored.created_at),
                password_changed_at: Time::from_micros(stored.password_changed_at),
                stamp: stored.stamp,
                hash: stored.hash,
            })
        };
        read().ok_or_else(|| StoreError::Corrupt(format!("user {}", document.key)))
    }
}

/// Returns the name in lower case, in which it is unique.
pub fn plain_name(name: &str) -> Result<String, UserError> {
    let name = name.trim_matches(' ').to_ascii_lowercase();
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_good = (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|byte| is_word(byte) || b"._-+@".contains(&byte))
        && name.bytes().next().is_some_and(is_word);
    if is_good { Ok(name) } else { Err(UserError::InvalidName) }
}

fn check_password(password: &Secret, name: &str) -> Result<(), UserError> {
    if password.chars().count() < MIN_LENGTH {
        return Err(UserError::WeakPassword("a password has at least 12 characters"));
    }
    if password.len() > MAX_LENGTH {
        return Err(UserError::WeakPassword("a password has at most 256 bytes"));
    }
    if password.chars().any(char::is_control) {
        return Err(UserError::WeakPassword("a password has no control characters"));
    }
    if is_common(password) {
        return Err(UserError::WeakPassword(
            "the password is among the most common ones; choose another",
        ));
    }
    if password.to_ascii_lowercase().contains(name) && name.len() >= 4 {
        return Err(UserError::WeakPassword("the password must not contain the name of the user"));
    }
    Ok(())
}

fn stamp() -> Result<String, UserError> {
    let mut bytes = [0; 16];
    rand::fill(&mut bytes).map_err(|_| PasswordError::Failed)?;
    Ok(HEXLOWER.encode(&bytes))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
