//! Validates a draft and applies it to a source. All errors are reported, and nothing changes if there is
//! one.

use std::time::Duration;

use gancho_domain::{FieldError, Rate, RateDraft, RetryDraft, nearest, span};
use gancho_schema::Schema;
use gancho_vault::Secret;
use gancho_wire::{
    Profile, SigningKey, Token, new_secret,
    strict_json::{MAX_DEPTH, Pointer},
};
use serde_json::value::RawValue;

use super::{SourceDraft, SourceError, SourceService, seal, targets};
use crate::{Partner, Source, internal_target::InternalTarget, preset::Preset};

const MAX_TARGETS: usize = 10;
const MAX_PER_PERIOD: u32 = 1_000_000;
const MAX_POINTER_LENGTH: usize = 256;

impl SourceService {
    /// Returns the source with the draft applied, and the secret if a new one was given or generated.
    pub(super) fn apply(
        &self,
        mut source: Source,
        draft: &SourceDraft,
        is_new: bool,
    ) -> Result<(Source, Option<Secret>), SourceError> {
        let mut errors = Vec::new();
        if let Some(active) = draft.is_active {
            source.is_active = active;
        }
        if let Some(preset) = &draft.preset {
            match checked_preset(preset) {
                Ok(()) => source.set_preset(preset.clone()),
                Err(error) => errors.push(error),
            }
        }
        self.targets(&mut source, draft, is_new, &mut errors);
        if let Some(schema) = &draft.schema {
            let checked = schema.as_ref().map(|text| Schema::compile(text.get())).transpose();
            match checked {
                Ok(_) => source.schema.clone_from(schema),
                Err(error) => errors.push(error),
            }
        }
        match draft.rate_limit.as_ref().map(|rate| rate.as_ref().map(checked_rate).transpose()) {
            Some(Ok(rate)) => source.set_rate(rate),
            Some(Err(error)) => errors.push(error),
            None => {}
        }
        if let Some(pointer) = &draft.event_id_pointer {
            match pointer.as_deref().map(checked_pointer).transpose() {
                Ok(_) => source.event_id_pointer.clone_from(pointer),
                Err(error) => errors.push(error),
            }
        }
        match draft.retry.as_ref().map(|retry| retry.as_ref().map(RetryDraft::check).transpose()) {
            Some(Ok(plan)) => source.set_retry(plan.as_ref()),
            Some(Err(more)) => errors.extend(more),
            None => {}
        }
        let secret = self.secrets(&mut source, draft, is_new, &mut errors)?;
        if errors.is_empty() { Ok((source, secret)) } else { Err(SourceError::Faulty(errors)) }
    }

    fn targets(
        &self,
        source: &mut Source,
        draft: &SourceDraft,
        is_new: bool,
        errors: &mut Vec<FieldError>,
    ) {
        let (urls, is_one) = match (&draft.target_url, &draft.targets) {
            (Some(_), Some(_)) => {
                let message = "set either `target_url` or `targets`, not both";
                return errors.push(FieldError::new("contradiction", "/targets", message));
            }
            (Some(url), None) => (vec![url.clone()], true),
            (None, Some(urls)) => (urls.clone(), false),
            (None, None) if is_new => (vec![self.sources.defaults().target_url.clone()], true),
            (None, None) => return,
        };
        if urls.is_empty() || urls.len() > MAX_TARGETS {
            let message = format!("must have 1 to {MAX_TARGETS} URLs");
            return errors.push(FieldError::new("out_of_range", "/targets", message));
        }
        let mut checked: Vec<String> = Vec::new();
        for (index, url) in urls.iter().enumerate() {
            let pointer =
                if is_one { "/target_url".to_owned() } else { format!("/targets/{index}") };
            let parse = || self.client.policy().parse(url).map(String::from);
            let parsed = match InternalTarget::named(url) {
                Some(internal_target) => internal_target.map(|_| url.clone()),
                None => parse().map_err(|refused| refused.to_string()),
            };
            match parsed {
                Ok(url) if checked.contains(&url) => {
                    errors.push(FieldError::new("repeated", pointer, "duplicate URL"));
                }
                Ok(url) => checked.push(url),
                Err(refused) => errors.push(FieldError::new("url_refused", pointer, refused)),
            }
        }
        targets::replace(source, checked, || self.ids.make());
    }

    fn secrets(
        &self,
        source: &mut Source,
        draft: &SourceDraft,
        is_new: bool,
        errors: &mut Vec<FieldError>,
    ) -> Result<Option<Secret>, SourceError> {
        if let Some(token) = &draft.verify_token {
            match token.as_deref().map(Token::new).transpose() {
                Ok(_) => seal::seal_verify_token(&self.ring, source, token.as_deref())
                    .map_err(SourceError::Vault)?,
                Err(error) => {
                    errors.push(FieldError::new(
                        "secret_refused",
                        "/verify_token",
                        error.with_hint(),
                    ));
                }
            }
        }
        let secret = match &draft.dispatch_secret {
            Some(given) => Secret::new(given.clone()),
            None if is_new => new_secret()
                .map(Secret::new)
                .map_err(|error| SourceError::Vault(error.to_string()))?,
            None => return Ok(None),
        };
        if let Err(error) = SigningKey::for_profile(&Profile::standard(), &secret) {
            errors.push(FieldError::new("secret_refused", "/dispatch_secret", error.with_hint()));
            return Ok(None);
        }
        seal::seal_dispatch(&self.ring, source, &secret).map_err(SourceError::Vault)?;
        Ok(Some(secret))
    }
}

/// Returns the name of a new source.
pub(super) fn name(draft: &SourceDraft) -> Result<Partner, SourceError> {
    let error = match &draft.partner {
        None => FieldError::missing("partner", "set the partner name of the URL path"),
        Some(name) => match name.parse() {
            Ok(partner) => return Ok(partner),
            Err(error) => FieldError::new("partner_malformed", "/partner", error),
        },
    };
    Err(SourceError::Faulty(vec![error]))
}

fn checked_preset(text: &RawValue) -> Result<(), FieldError> {
    let preset: Preset = serde_json::from_str(text.get()).map_err(|error| {
        FieldError::new("preset_unknown", "/preset", unknown_preset(text, &error))
    })?;
    preset
        .proof()
        .map(|_| ())
        .map_err(|error| FieldError::new("preset_malformed", "/preset", error))
}

fn unknown_preset(text: &RawValue, error: &serde_json::Error) -> String {
    let what = match serde_json::from_str::<String>(text.get()) {
        Ok(name) if ["sns", "generic", "token"].contains(&&*name) => {
            format!("the preset `{name}` takes settings")
        }
        Ok(name) => match nearest(&name, Preset::NAMES) {
            Some(meant) => return format!("there is no preset `{name}`: did you mean `{meant}`?"),
            None => format!("there is no preset `{name}`"),
        },
        Err(_) => error.to_string(),
    };
    let names = Preset::NAMES.join(", ");
    let others = "{\"sns\": {\"topics\": […]}}, {\"generic\": {…}} or {\"token\": {\"header\": …}}";
    format!("{what}; use {names}, {others}")
}

fn checked_rate(draft: &RateDraft) -> Result<Rate, FieldError> {
    if !(1..=MAX_PER_PERIOD).contains(&draft.count) {
        let message = format!("must be between 1 and {MAX_PER_PERIOD}");
        return Err(FieldError::new("out_of_range", "/rate_limit/count", message));
    }
    let per = span::parse(&draft.per)
        .map_err(|error| FieldError::new("span_malformed", "/rate_limit/per", error))?;
    if !(Duration::from_secs(1)..=Duration::from_hours(24)).contains(&per) {
        let message = "must be between 1s and 24h";
        return Err(FieldError::new("out_of_range", "/rate_limit/per", message));
    }
    Ok(Rate { count: draft.count, per })
}

fn checked_pointer(text: &str) -> Result<Pointer, FieldError> {
    let fits = text.len() <= MAX_POINTER_LENGTH && text.matches('/').count() <= MAX_DEPTH;
    Pointer::parse(text).filter(|_| fits).ok_or_else(|| {
        let message = "not a JSON pointer: use the form /event/id";
        FieldError::new("pointer_malformed", "/event_id_pointer", message)
    })
}
