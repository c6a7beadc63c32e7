//! The built-in profiles. Each is a contract that receivers rely on: a change here changes what they get.

use std::time::Duration;

use crate::{
    Envelope, HeaderLine, HeaderValue, Profile, Scheme, SignatureLine, profile::default_user_agent,
};

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;

impl Profile {
    /// Standard Webhooks 1.0.0: the default.
    pub fn standard() -> Self {
        Self {
            name: "standard".to_owned(),
            envelope: Envelope::Standard,
            headers: lines(&[
                ("webhook-id", HeaderValue::EventId),
                ("webhook-timestamp", HeaderValue::TimeSeconds),
            ]),
            signature: signature("webhook-signature", Scheme::Standard),
            user_agent: default_user_agent(),
            timeout: Duration::from_secs(15),
            schedule: delays(&[
                5,
                5 * MINUTE,
                30 * MINUTE,
                2 * HOUR,
                5 * HOUR,
                10 * HOUR,
                14 * HOUR,
                20 * HOUR,
                24 * HOUR,
            ]),
        }
    }

    /// The contract of the e-mail gateway's clients.
    pub fn email_gateway() -> Self {
        Self {
            name: "email-gateway".to_owned(),
            envelope: Envelope::EmailGateway,
            headers: lines(&[
                ("X-Event-Id", HeaderValue::EventId),
                ("X-Retry-Count", HeaderValue::RetryCount),
                ("X-Sent-At", HeaderValue::TimeMillis),
            ]),
            signature: signature("X-Signature", Scheme::Sha256),
            user_agent: "EmailGateway/1.0".to_owned(),
            timeout: Duration::from_secs(5),
            schedule: delays(&[MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 24 * HOUR]),
        }
    }

    /// The contract of AuraCore's accounts.
    pub fn auracore() -> Self {
        Self {
            name: "auracore".to_owned(),
            envelope: Envelope::Auracore,
            headers: lines(&[
                ("X-Webhook-ID", HeaderValue::EventId),
                ("X-Webhook-Timestamp", HeaderValue::TimeSeconds),
            ]),
            signature: signature("X-Webhook-Signature", Scheme::Sha256),
            user_agent: default_user_agent(),
            timeout: Duration::from_secs(5),
            schedule: delays(&[30, 2 * MINUTE, 10 * MINUTE, HOUR]),
        }
    }

    /// The contract of the SaaS platform's tenants. Its id header names the endpoint.
    pub fn saas() -> Self {
        Self {
            name: "saas".to_owned(),
            envelope: Envelope::Bare,
            headers: lines(&[
                ("X-Webhook-Id", HeaderValue::EndpointId),
                ("X-Webhook-Event", HeaderValue::EventType),
                ("X-Webhook-Timestamp", HeaderValue::TimeMillis),
            ]),
            signature: signature("X-Webhook-Signature", Scheme::TimedMillis),
            user_agent: default_user_agent(),
            timeout: Duration::from_secs(30),
            schedule: delays(&[MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR]),
        }
    }

    /// The format of Svix: the payload unchanged, with the headers of Svix.
    pub fn svix() -> Self {
        Self {
            name: "svix".to_owned(),
            envelope: Envelope::Bare,
            headers: lines(&[
                ("svix-id", HeaderValue::EventId),
                ("svix-timestamp", HeaderValue::TimeSeconds),
            ]),
            signature: signature("svix-signature", Scheme::Standard),
            user_agent: default_user_agent(),
            timeout: Duration::from_secs(15),
            schedule: delays(&[
                5,
                5 * MINUTE,
                30 * MINUTE,
                2 * HOUR,
                5 * HOUR,
                10 * HOUR,
                10 * HOUR,
            ]),
        }
    }

    /// The format of Convoy, with its simple signatures.
    pub fn convoy() -> Self {
        Self {
            name: "convoy".to_owned(),
            envelope: Envelope::Bare,
            headers: lines(&[("X-Convoy-Event-Id", HeaderValue::EventId)]),
            signature: signature("X-Convoy-Signature", Scheme::Hex),
            ..Self::svix()
        }
    }

    /// The format of Outpost, with its default settings.
    pub fn outpost() -> Self {
        Self {
            name: "outpost".to_owned(),
            envelope: Envelope::Bare,
            headers: lines(&[
                ("x-outpost-event-id", HeaderValue::EventId),
                ("x-outpost-timestamp", HeaderValue::TimeSeconds),
                ("x-outpost-topic", HeaderValue::EventType),
            ]),
            signature: signature("x-outpost-signature", Scheme::V0),
            ..Self::svix()
        }
    }

    /// Returns all built-in profiles, the default first.
    pub fn built_in() -> [Self; 7] {
        [
            Self::standard(),
            Self::email_gateway(),
            Self::auracore(),
            Self::saas(),
            Self::svix(),
            Self::convoy(),
            Self::outpost(),
        ]
    }
}

fn lines(list: &[(&str, HeaderValue)]) -> Vec<HeaderLine> {
    list.iter().map(|&(name, value)| HeaderLine { name: name.to_owned(), value }).collect()
}

fn signature(header: &str, scheme: Scheme) -> SignatureLine {
    SignatureLine { header: header.to_owned(), scheme }
}

fn delays(seconds: &[u64]) -> Vec<Duration> {
    seconds.iter().copied().map(Duration::from_secs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_profiles_are_sound() {
        for profile in Profile::built_in() {
            assert_eq!(profile.errors(), [], "{}", profile.name);
        }
    }

    #[test]
    fn attempts_are_as_promised() {
        let attempts = Profile::built_in().map(|profile| profile.attempts());
        assert_eq!(attempts, [10, 6, 5, 5, 8, 8, 8]);
        let total: Duration = Profile::standard().schedule.iter().sum();
        assert_eq!(total.as_secs(), 75 * HOUR + 35 * MINUTE + 5);
    }
}
