//! The text of an alert in the reader's language, and its subject as a link.

use std::collections::{HashMap, hash_map::Entry};

use crate::{
    endpoint_names, escape::Text, params::segment, sentence::Html, texts::Texts, visit::Visit,
};

/// The texts as the gateway writes them, and their keys in the catalog. More specific ones come first.
const SENTENCES: [(&str, &str); 19] = [
    ("{} dead letters in the store", "alerts.detail_dead"),
    ("{} of {} deliveries became dead letters within an hour", "alerts.detail_rate"),
    ("{} dead letters of {}", "alerts.detail_tenant"),
    ("{} % of the store is used", "alerts.detail_store_share"),
    ("{} % of the disk is used", "alerts.detail_disk_share"),
    ("the oldest {} delivery has been due for {} s", "alerts.detail_queue"),
    ("all {} attempts to {} ({}) of {} failed", "alerts.detail_endpoint"),
    ("{} more endpoints fail every attempt", "alerts.detail_more_endpoints"),
    ("key {} of {} ends at {}", "alerts.detail_key"),
    ("{} has had no valid key since {} ended at {}", "alerts.detail_key_ended"),
    ("{} has no valid key", "alerts.detail_no_key"),
    ("API key {} of {} expires at {}", "alerts.detail_api_key"),
    ("the clock of {} is not trusted", "alerts.detail_clock"),
    ("{} events, webhooks or e-mails were refused", "alerts.detail_refused"),
    ("{} nodes were lost", "alerts.detail_nodes"),
    ("declared dead: {}", "alerts.detail_dead_nodes"),
    ("it began at {}", "alerts.detail_began"),
    ("{} cannot reach the database: {}", "alerts.detail_store"),
    ("cell {} does not respond", "alerts.detail_cell"),
];

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// Translates a text. An unknown one stays unchanged, in English.
pub fn text(t: &Texts, detail: &Text) -> Html {
    let found = SENTENCES.iter().find_map(|(sentence, key)| {
        let values = captures(sentence, detail.as_str())?;
        let named = NAMES.iter().zip(values);
        Some(named.fold(t.say(key), |said, (name, value)| said.with(name, value)))
    });
    match found {
        Some(said) => said.into(),
        None => Html::trusted(format!("<span lang=\"en\">{}</span>", Html::text(detail))),
    }
}

/// Returns the parts of a text at the positions of `{}` in a pattern.
fn captures<'a>(pattern: &str, text: &'a str) -> Option<Vec<&'a str>> {
    let mut parts = pattern.split("{}");
    let mut rest = text.strip_prefix(parts.next()?)?;
    let mut values = Vec::new();
    for part in parts {
        if part.is_empty() {
            values.push(std::mem::take(&mut rest));
            continue;
        }
        let (value, after) = rest.split_once(part)?;
        values.push(value);
        rest = after;
    }
    rest.is_empty().then_some(values)
}

/// Returns the subjects of alerts by rule and subject: with a name, and a link to its page.
pub async fn about<'a>(
    visit: &Visit,
    subjects: impl Iterator<Item = (&'a String, Option<&'a Text>)>,
) -> HashMap<(String, String), Html> {
    let mut about = HashMap::new();
    for (rule, subject) in subjects.filter_map(|(rule, subject)| Some((rule, subject?.as_str()))) {
        let key = (rule.clone(), subject.to_owned());
        if let Entry::Vacant(vacant) = about.entry(key) {
            vacant.insert(link(visit, rule, subject).await);
        }
    }
    about
}

async fn link(visit: &Visit, rule: &str, subject: &str) -> Html {
    match rule {
        // A target of a partner.
        "endpoint_failing" if subject.contains('/') => {
            let partner = subject.split('/').next().unwrap_or_default();
            Html::link(visit.page(format!("/sources/{}", segment(partner))), subject)
        }
        "endpoint_failing" => {
            let id = subject.to_owned();
            let names = endpoint_names::read(visit, std::iter::once(&id)).await;
            let name = names.get(&id).map_or("", Text::as_str);
            let page = visit.page(format!("/endpoints/{}", segment(subject)));
            Html::link(page, if name.is_empty() { subject } else { name })
        }
        "tenant_dead_letters_high" => {
            let page = visit.page("/dead-letters");
            match visit.dashboard.backend.tenant(subject).await {
                Ok(Some(tenant)) => Html::link(page.with("tenant", subject), &tenant.name),
                _ => Html::link(page.with("partner", subject), subject),
            }
        }
        "queue_delayed" => Html::link(visit.page("/queues"), subject),
        "source_key_expiring" => {
            let partner = subject.split('/').next().unwrap_or_default();
            Html::link(visit.page(format!("/sources/{}", segment(partner))), subject)
        }
        "api_key_expiring" => {
            let tenant = subject.split('/').next().unwrap_or_default();
            Html::link(visit.page(format!("/tenants/{}", segment(tenant))), subject)
        }
        "archive_failing" | "clock_off" | "ledger_check_failed" => {
            Html::link(visit.page("/nodes"), subject)
        }
        _ => Html::code(subject),
    }
}

#[cfg(test)]
mod tests {
    use gancho_domain::Time;

    use super::*;
    use crate::language::Language;

    #[test]
    fn sentences_of_alerts_are_translated() {
        let t = Texts { language: Language::Portuguese, now: Time::from_secs(0), is_portal: false };
        let said = |detail: &str| text(&t, &detail.into()).into_string();
        assert_eq!(said("12 dead letters of acme"), "12 dead letters de acme");
        assert_eq!(said("something new"), "<span lang=\"en\">something new</span>");
        let key = said("key k1 of <b> ends at 2026-11-17T00:00:00Z");
        assert!(key.contains("k1") && key.contains("&lt;b&gt;"), "{key}");
    }

    /// The gateway writes all of these texts, and no others.
    #[test]
    fn every_sentence_is_one_that_the_gateway_writes() {
        let sources = [
            include_str!("../../../alerts/src/condition.rs"),
            include_str!("../../../alerts/src/service.rs"),
            include_str!("../../../alerts/src/book.rs"),
        ];
        for (sentence, key) in SENTENCES {
            let longest = sentence.split("{}").max_by_key(|part| part.len()).unwrap();
            assert!(sources.iter().any(|source| source.contains(longest)), "{key}: {longest}");
        }
        let written =
            sources[0].split("format!(\"").skip(1).filter_map(|rest| rest.split('"').next());
        for format in written.filter(|format| format.contains(' ')) {
            let known = SENTENCES.iter().any(|(sentence, _)| {
                sentence.split("{}").filter(|part| part.len() > 3).all(|part| format.contains(part))
            });
            assert!(known, "no translation of `{format}`");
        }
    }
}
