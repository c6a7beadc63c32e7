//! The labels of form fields, by their names in the API. The API's messages name fields in its own words,
//! which no page has.

use crate::{catalog, texts::Texts};

/// Returns the label of a field of the API, if a form has it.
fn label(t: &Texts, field: &str) -> Option<&'static str> {
    let key = match field {
        "url" => return Some("URL"),
        "events" => "endpoints.types",
        "name" => "endpoint_form.name",
        "profile" => "endpoint.profile",
        "timeout" => "endpoint.timeout",
        "rate_limit" | "count" => "gate.rate_limit",
        "per" => "endpoint_form.window",
        "max_in_flight" => "endpoint_form.max_in_flight",
        "ordering" => "gate.order",
        "headers" => "endpoint_form.headers",
        "external_id" => "delivery.external_id",
        "metadata" => "endpoint.metadata",
        "retry" => "endpoint_form.retries",
        "schedule" => "endpoint_form.schedule",
        "base" => "endpoint_form.retry_base",
        "max" => "endpoint_form.retry_max",
        "attempts" => "row.attempts_head",
        "overlap" => "secret.overlap",
        "description" => "event_types.description",
        "example" => "event_types.example",
        "schema" => "event_types.schema",
        "current_password" => "users.current_password",
        "password" => "users.password",
        "role" => "users.role",
        "partner" => "delivery.partner",
        "preset" => "source_form.preset",
        "targets" => "sources.targets",
        "event_id_pointer" => "source_form.pointer",
        "verify_token" => "source_form.verify_token",
        "key_id" => "source_key.id",
        "secret" => "source_key.secret",
        "encoding" => "source_key.encoding",
        "publicKey" | "public_key" => "source_key.public_key",
        "replaces" => "source_key.replaces",
        "not_after" => "source_key.not_after",
        "address" => "suppressions.address",
        "slug" => "tenants.slug",
        "plan" => "tenants.plan",
        "default_profile" => "tenants.profile",
        "strict_event_types" => "tenants.strict",
        "scopes" => "tenants.scopes",
        "is_active" => "sources.active",
        "rate" => "dead.rate",
        _ => return None,
    };
    Some(catalog::text(t.language, key))
}

/// Replaces the API's names in a message by labels.
pub fn with_labels(t: &Texts, message: &str) -> String {
    let mut shown = String::with_capacity(message.len());
    for (place, part) in message.split('`').enumerate() {
        match label(t, part).filter(|_| place % 2 == 1) {
            Some(label) => shown.extend(["“", label, "”"]),
            None if place % 2 == 1 => shown.extend(["`", part, "`"]),
            None => shown.push_str(part),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use gancho_domain::Time;

    use super::*;
    use crate::language::Language;

    #[test]
    fn messages_name_the_fields_of_the_form() {
        let t = Texts { language: Language::English, now: Time::from_secs(0), is_portal: false };
        let shown = with_labels(&t, "`count` must be a whole number, and `other` not; a ` alone");
        assert!(shown.starts_with("“Rate limit” must be a whole number"), "{shown}");
        assert!(shown.contains("`other`"), "{shown}");
    }
}
