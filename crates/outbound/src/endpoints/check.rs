//! Validates a draft and applies it to an endpoint. All errors are reported, and nothing changes if there
//! is one.

use std::{str::FromStr, sync::Arc};

use gancho_domain::{Endpoint, FieldError, Health, Pattern, field_error::FieldErrors};
use gancho_wire::Profile;
use serde_json::value::RawValue;

use super::{
    EndpointDraft, EndpointError, EndpointService, header_check, seal,
    secret_check::{self, NewSecret},
    terms_check,
};

const MAX_NAME_LENGTH: usize = 128;
const MAX_EXTERNAL_ID_LENGTH: usize = 256;
const MAX_EVENTS: usize = 100;
const MAX_METADATA_LENGTH: usize = 16 * 1024;

impl EndpointService {
    /// Returns the endpoint with the draft applied. With `whole`, fields that the draft does not have are
    /// reset to their defaults.
    pub(super) fn apply(
        &self,
        mut endpoint: Endpoint,
        draft: EndpointDraft,
        whole: bool,
    ) -> Result<(Endpoint, Option<NewSecret>), EndpointError> {
        let mut errors = FieldErrors::default();
        let draft = if whole { filled(draft) } else { draft };
        self.place(&mut endpoint, &draft, whole, &mut errors);
        terms_check::apply(&mut endpoint, &draft, &mut errors);
        if let Some(metadata) = &draft.metadata {
            endpoint.metadata = errors.take(metadata_of(metadata)).unwrap_or_default();
        }
        if let Some(active) = draft.is_active {
            // Enabling it manually resets its health; disabling it manually replaces the gateway's own
            // reason.
            endpoint.health =
                if active || endpoint.is_active { Health::default() } else { endpoint.health };
            endpoint.is_active = active;
        }
        let profile_before = endpoint.profile.clone();
        let profile = self.profile(&mut endpoint, &draft, &mut errors);
        let is_other_profile = endpoint.profile != profile_before;
        let given = match &profile {
            Some(profile) => {
                self.seal_headers(&mut endpoint, &draft, profile, &mut errors)?;
                self.seal_secret(&mut endpoint, &draft, profile, is_other_profile, &mut errors)?
            }
            None => None,
        };
        if errors.0.is_empty() {
            Ok((endpoint, given))
        } else {
            Err(EndpointError::Faulty(errors.0))
        }
    }

    fn place(
        &self,
        endpoint: &mut Endpoint,
        draft: &EndpointDraft,
        whole: bool,
        errors: &mut FieldErrors,
    ) {
        match &draft.url {
            Some(url) => match self.client.policy().parse(url) {
                Ok(url) => endpoint.url = url.into(),
                Err(refused) => errors.add("url_refused", "/url", refused),
            },
            None if whole => errors.0.push(FieldError::missing("url", "set the URL to deliver to")),
            None => {}
        }
        match &draft.events {
            Some(events) => endpoint.events = patterns(events, errors),
            None if whole => {
                errors.0.push(FieldError::missing(
                    "events",
                    "set a list such as [\"invoice.*\"], or [\"*\"]",
                ));
            }
            None => {}
        }
        if let Some(name) = &draft.name {
            if name.chars().count() > MAX_NAME_LENGTH {
                errors.add(
                    "too_long",
                    "/name",
                    format!("the name must not have more than {MAX_NAME_LENGTH} characters"),
                );
            } else if name.chars().any(char::is_control) {
                errors.add("malformed", "/name", "the name must not contain control characters");
            }
            endpoint.name.clone_from(name);
        }
        if let Some(external_id) = &draft.external_id {
            let given = external_id.as_deref().unwrap_or("-");
            if !(1..=MAX_EXTERNAL_ID_LENGTH).contains(&given.chars().count()) {
                let message = format!("must have 1 to {MAX_EXTERNAL_ID_LENGTH} characters");
                errors.add("too_long", "/external_id", message);
            } else if given.chars().any(char::is_control) {
                errors.add("malformed", "/external_id", "must not contain control characters");
            }
            endpoint.external_id.clone_from(external_id);
        }
    }

    fn profile(
        &self,
        endpoint: &mut Endpoint,
        draft: &EndpointDraft,
        errors: &mut FieldErrors,
    ) -> Option<Arc<Profile>> {
        if let Some(profile) = &draft.profile {
            endpoint.profile.clone_from(profile);
        }
        let profile = self.registry.profile(&endpoint.profile);
        if profile.is_none() {
            let known = self.registry.profile_names().join(", ");
            let name: String = endpoint.profile.chars().take(64).collect();
            errors.add(
                "profile_unknown",
                "/profile",
                format!("unknown profile `{name}`: use one of {known}"),
            );
        }
        profile
    }

    fn seal_headers(
        &self,
        endpoint: &mut Endpoint,
        draft: &EndpointDraft,
        profile: &Profile,
        errors: &mut FieldErrors,
    ) -> Result<(), EndpointError> {
        let stored = seal::headers(&self.ring, endpoint).map_err(EndpointError::Vault)?;
        let Some(given) = &draft.headers else {
            // The headers stay, but the profile may have changed.
            if draft.profile.is_some() {
                header_check::against_profile(&stored, profile, errors);
            }
            return Ok(());
        };
        let headers = header_check::check(given, &stored, profile, errors);
        endpoint.sealed_headers =
            seal::seal_headers(&self.ring, endpoint, &headers).map_err(EndpointError::Vault)?;
        Ok(())
    }

    fn seal_secret(
        &self,
        endpoint: &mut Endpoint,
        draft: &EndpointDraft,
        profile: &Profile,
        is_other_profile: bool,
        errors: &mut FieldErrors,
    ) -> Result<Option<NewSecret>, EndpointError> {
        if draft.secret.is_none() && !endpoint.sealed_secret.is_empty() {
            if is_other_profile {
                let secret = seal::secret(&self.ring, endpoint).map_err(EndpointError::Vault)?;
                secret_check::stays_fit(profile, &secret, errors);
            }
            return Ok(None);
        }
        let Some(new) = secret_check::check(draft.secret.as_deref(), None, profile, errors)? else {
            return Ok(None);
        };
        endpoint.sealed_secret =
            seal::seal_secret(&self.ring, endpoint, &new.secret).map_err(EndpointError::Vault)?;
        // Replaced, not rotated: only the new secret signs from now on.
        endpoint.old_secrets.clear();
        Ok(Some(new))
    }
}

/// Returns a draft in which every field is set, with defaults for missing ones. The endpoint keeps what
/// others know: its secret and its external id.
fn filled(draft: EndpointDraft) -> EndpointDraft {
    EndpointDraft {
        name: draft.name.or_else(|| Some(String::new())),
        headers: draft.headers.or_else(|| Some(std::collections::BTreeMap::new())),
        is_active: draft.is_active.or(Some(true)),
        retry: draft.retry.or(Some(None)),
        timeout: draft.timeout.or(Some(None)),
        rate_limit: draft.rate_limit.or(Some(None)),
        max_in_flight: draft.max_in_flight.or(Some(None)),
        ordering: draft.ordering.or_else(|| Some("best_effort".to_owned())),
        metadata: draft.metadata.or_else(|| RawValue::from_string("{}".to_owned()).ok()),
        ..draft
    }
}

fn patterns(events: &[String], errors: &mut FieldErrors) -> Vec<Pattern> {
    if events.is_empty() {
        errors.add(
            "missing_field",
            "/events",
            "the list is empty: add at least one event type, or `*` for all",
        );
    }
    if events.len() > MAX_EVENTS {
        let message = format!(
            "too many patterns: {}, the maximum is {MAX_EVENTS}; use `invoice.*` or `*`",
            events.len()
        );
        errors.add("too_many", "/events", message);
        return Vec::new();
    }
    let mut patterns: Vec<Pattern> = Vec::with_capacity(events.len());
    for (index, text) in events.iter().enumerate() {
        match Pattern::from_str(text) {
            Ok(pattern) if patterns.contains(&pattern) => {}
            Ok(pattern) => patterns.push(pattern),
            Err(error) => errors.add("malformed", format!("/events/{index}"), error),
        }
    }
    patterns
}

fn metadata_of(given: &RawValue) -> Result<String, FieldError> {
    let text = given.get();
    if text.len() > MAX_METADATA_LENGTH {
        let message =
            format!("too large: {} bytes, the maximum is {MAX_METADATA_LENGTH}", text.len());
        return Err(FieldError::new("too_long", "/metadata", message));
    }
    if !text.starts_with('{') {
        return Err(FieldError::new("malformed", "/metadata", "must be a JSON object"));
    }
    Ok(text.to_owned())
}
