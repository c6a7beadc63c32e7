//! Why an attempt failed, in the reader's language. The gateway's own text is in English, and more exact than
//! its code.

use crate::{
    escape::Text,
    language::Language,
    sentence::{Html, Sentence},
    texts::Texts,
};

/// Returns the reason in a few words: the gateway's text in English, and in other languages what its code
/// means.
pub fn short(t: &Texts, code: Option<&Text>, reason: &Text) -> Html {
    match known(t, code) {
        Some(sentence) => sentence.into(),
        None => in_english(t, reason),
    }
}

/// Returns the same with the gateway's own text, which has the details.
pub fn full(t: &Texts, code: Option<&Text>, reason: &Text) -> Html {
    match known(t, code) {
        Some(sentence) => {
            Html::trusted(format!("{sentence} <small lang=\"en\">({})</small>", Html::text(reason)))
        }
        None => in_english(t, reason),
    }
}

fn in_english(t: &Texts, reason: &Text) -> Html {
    match t.language {
        Language::English => Html::text(reason),
        _ => Html::trusted(format!("<span lang=\"en\">{}</span>", Html::text(reason))),
    }
}

/// Returns what a code means, for readers of other languages than English.
fn known(t: &Texts, code: Option<&Text>) -> Option<Sentence> {
    let code = code.filter(|_| t.language != Language::English)?.as_str();
    if let Some(status) = code.strip_prefix("HTTP_").and_then(|status| status.parse::<u16>().ok()) {
        let sentence = match status {
            300..400 => t.say("failure.redirect"),
            _ => t.say("failure.http"),
        };
        return Some(sentence.with("status", status));
    }
    Some(match code {
        "TIMEOUT" => t.say("failure.timeout"),
        "CONNECT_FAILED" => t.say("failure.connect"),
        "DNS_FAILED" => t.say("failure.dns"),
        "TLS_FAILED" => t.say("failure.tls"),
        "PROTOCOL_ERROR" => t.say("failure.protocol"),
        "ADDRESS_BLOCKED" => t.say("failure.address"),
        "TARGET_GONE" => t.say("failure.gone"),
        "EXPIRED" => t.say("failure.expired"),
        "CANCELED" => t.say("failure.canceled"),
        "ERASED" => t.say("failure.erased"),
        "CARRIER_PANIC" | "INTERNAL_ERROR" => t.say("failure.internal"),
        "LEASE_LOST" => t.say("failure.lease"),
        "SCHEMA_INVALID" => t.say("failure.schema"),
        "ID_CLASH" => t.say("failure.clash"),
        "INVALID_RECIPIENT" => t.say("failure.recipient"),
        "BOUNCE_PERMANENT" => t.say("failure.bounce"),
        "BOUNCE_TEMPORARY" => t.say("failure.bounce_for_now"),
        "COMPLAINT" => t.say("failure.complaint"),
        "SES_THROTTLE" => t.say("failure.throttle"),
        "SES_ERROR" => t.say("failure.mail_server"),
        "INVALID_CONTENT" => t.say("failure.content"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use gancho_domain::{Code, Time};

    use super::*;

    fn texts(language: Language) -> Texts {
        Texts { language, now: Time::from_secs(0), is_portal: false }
    }

    #[test]
    fn every_code_of_the_engine_has_a_sentence() {
        let codes = [
            Code::TIMEOUT,
            Code::CONNECT_FAILED,
            Code::DNS_FAILED,
            Code::TLS_FAILED,
            Code::PROTOCOL_ERROR,
            Code::ADDRESS_BLOCKED,
            Code::TARGET_GONE,
            Code::EXPIRED,
            Code::CANCELED,
            Code::ERASED,
            Code::CARRIER_PANIC,
            Code::LEASE_LOST,
            Code::http(418),
        ];
        for language in [Language::Portuguese, Language::Spanish] {
            for code in &codes {
                let code = Text::from(code.as_str());
                assert!(known(&texts(language), Some(&code)).is_some(), "{language:?} {code}");
            }
        }
    }

    #[test]
    fn english_readers_get_the_words_of_the_gateway() {
        let (code, reason) = (Text::from("HTTP_503"), Text::from("the endpoint answered <503>"));
        let english = texts(Language::English);
        assert_eq!(
            short(&english, Some(&code), &reason).to_string(),
            "the endpoint answered &lt;503&gt;"
        );
        let spanish = texts(Language::Spanish);
        assert_eq!(short(&spanish, Some(&code), &reason).to_string(), "el endpoint respondió 503");
        let full = full(&spanish, Some(&code), &reason).to_string();
        assert!(
            full.ends_with("<small lang=\"en\">(the endpoint answered &lt;503&gt;)</small>"),
            "{full}"
        );
        let unknown = short(&spanish, Some(&Text::from("NEW_ONE")), &reason).to_string();
        assert!(unknown.starts_with("<span lang=\"en\">"), "{unknown}");
    }
}
