//! The path of an archived dead letter: `webhooks/{partner or tenant}/{date}/{id}.json`.

use std::collections::HashMap;

use gancho_domain::{DeliveryId, Lane, ReceiptLabel, TenantId, Time};
use gancho_engine::{ArchiveError, LetterName};
use gancho_store::{DeadLetter, FullDeadLetter, Result, Store, StoreError};

/// The owners of dead letters, with cached slugs of tenants.
pub struct OwnerNames<'a> {
    store: &'a dyn Store,
    slugs: HashMap<TenantId, Option<String>>,
}

impl<'a> OwnerNames<'a> {
    pub fn new(store: &'a dyn Store) -> Self {
        Self { store, slugs: HashMap::new() }
    }

    /// Returns the owner of a dead letter: the partner of a receipt, otherwise the tenant's slug, or the id
    /// of a deleted tenant.
    pub async fn of(&mut self, whole: &FullDeadLetter) -> Result<String> {
        let DeadLetter { tenant, lane, event_type, .. } = &whole.letter;
        self.named(*tenant, *lane, event_type).await
    }

    /// Returns the owner by the parts of a dead letter's name.
    pub async fn named(
        &mut self,
        tenant: TenantId,
        lane: Lane,
        event_type: &str,
    ) -> Result<String> {
        let name = match lane {
            // In the stores a source is its own tenant, and has no slug.
            Lane::Dispatch => Some(ReceiptLabel::read(event_type).partner.to_owned()),
            Lane::Webhook | Lane::Email => self.slug(tenant).await?,
        };
        Ok(name.filter(|name| is_plain(name)).unwrap_or_else(|| tenant.to_string()))
    }

    async fn slug(&mut self, tenant: TenantId) -> Result<Option<String>> {
        if let Some(known) = self.slugs.get(&tenant) {
            return Ok(known.clone());
        }
        let slug = self.store.tenant(tenant).await?.map(|tenant| tenant.slug);
        self.slugs.insert(tenant, slug.clone());
        Ok(slug)
    }
}

/// Returns the directories of these dead letters' owners.
pub async fn folders(
    store: &dyn Store,
    letters: &[LetterName],
) -> Result<Vec<String>, ArchiveError> {
    let mut owners = OwnerNames::new(store);
    let mut folders = Vec::with_capacity(letters.len());
    for letter in letters {
        let owner = owners.named(letter.tenant, letter.lane, &letter.event_type).await;
        folders.push(folder(&owner.map_err(|error| unknown_owner(&error))?));
    }
    Ok(folders)
}

pub(crate) fn unknown_owner(error: &StoreError) -> ArchiveError {
    ArchiveError(format!("whose it is: {error}"))
}

/// Returns the path. The date is the day (UTC) on which it became a dead letter.
pub fn name(owner: &str, whole: &FullDeadLetter) -> String {
    let letter = &whole.letter;
    format!("{}/{}/{}", folder(owner), date(letter.moved_at), file(letter.delivery))
}

/// Returns the directory of an owner, which has a directory for each day.
pub fn folder(owner: &str) -> String {
    format!("webhooks/{owner}")
}

pub fn file(delivery: DeliveryId) -> String {
    format!("{delivery}.json")
}

pub fn date(time: Time) -> String {
    let mut text = time.to_string();
    text.truncate("2026-01-31".len());
    text
}

/// Whether the name is safe as a path segment. Slugs and partners were validated when they were created; any
/// other name must not lead out of the directory, nor to a hidden file.
fn is_plain(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=100).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_become_folders() {
        for plain in ["m2", "acme-corp", "a.b", "A_1"] {
            assert!(is_plain(plain), "{plain}");
        }
        let long = "a".repeat(101);
        for invalid in ["", ".", "..", ".a", "a/b", "../a", "a\\b", "a\0", "a b", "é", &long] {
            assert!(!is_plain(invalid), "{invalid}");
        }
    }

    #[test]
    fn a_date_is_a_day_in_utc() {
        assert_eq!(date(Time::from_secs(1_769_903_999)), "2026-01-31");
        assert_eq!(date(Time::from_secs(1_769_904_000)), "2026-02-01");
    }
}
