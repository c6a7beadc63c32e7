//! What must fit together, and what must lie within bounds.

use std::time::Duration;

use gancho_wire::{Profile, SigningKey};
use tracing_subscriber::EnvFilter;

use super::{
    error::{SettingError, ValueError},
    keys::Settings,
    layers::Layers,
    secret::{DatabaseUrl, Secret},
    value::EmailVia,
};

const MIN_TOKEN_LENGTH: usize = 16;
const MAKE_ONE: &str = "generate one with: openssl rand -hex 32";
const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);
const YEAR: Duration = Duration::from_hours(24 * 366);

/// Every rule is looked at: none hides another.
pub fn run(settings: &Settings, layers: &Layers, problems: &mut Vec<SettingError>) {
    let mut rules = Rules { layers, problems };
    rules.secrets(settings);
    rules.database(settings);
    rules.listening(settings);
    rules.counts(settings);
    rules.durations(settings);
    rules.addresses(settings);
    rules.archive(settings);
    rules.email(settings);
    rules.portal(settings);
}

struct Rules<'a> {
    layers: &'a Layers,
    problems: &'a mut Vec<SettingError>,
}

impl Rules<'_> {
    fn refuse(&mut self, is_wrong: bool, key: &str, what: &str, hint: &str) {
        if is_wrong {
            self.problems.push(ValueError::new(what, hint).at(key, self.layers.origin(key)));
        }
    }

    fn database(&mut self, settings: &Settings) {
        let is_postgres = |url: &DatabaseUrl| url.reveal().starts_with("postgres");
        let server = settings.database_url.as_ref().is_some_and(is_postgres);
        let others = [
            ("database_direct_url", &settings.database_direct_url),
            ("database_read_url", &settings.database_read_url),
        ];
        for (name, other) in others {
            self.refuse(
                other.as_ref().is_some_and(|other| !server || !is_postgres(other)),
                name,
                "it is for PostgreSQL only",
                "set both database_url and this one to postgres://…, or remove this one",
            );
        }
    }

    fn secrets(&mut self, settings: &Settings) {
        let token = settings.admin_token.as_ref().map(Secret::reveal);
        self.refuse(
            token.is_some_and(|token| token.len() < MIN_TOKEN_LENGTH),
            "admin_token",
            "the token is shorter than 16 characters",
            MAKE_ONE,
        );
        self.refuse(
            token.is_some_and(|token| !token.bytes().all(|byte| byte.is_ascii_graphic())),
            "admin_token",
            "the token contains spaces or characters that are not allowed in a header",
            MAKE_ONE,
        );
        self.refuse(
            settings.master_key.is_some() && settings.master_key_file.is_some(),
            "master_key",
            "both master_key and master_key_file are set",
            "remove one of them",
        );
        self.refuse(
            settings.notify_secret.is_some() && settings.notify_url.is_none(),
            "notify_secret",
            "notify_secret is set without notify_url",
            "set notify_url, or remove the secret",
        );
        if let Some(secret) = &settings.notify_secret
            && let Err(error) = SigningKey::for_profile(&Profile::standard(), secret.reveal())
        {
            let hint = "remove the setting to have a secret generated";
            self.refuse(true, "notify_secret", &error.to_string(), hint);
        }
    }

    fn listening(&mut self, settings: &Settings) {
        self.refuse(
            settings.api_listen == settings.ingest_listen && settings.api_listen.port() != 0,
            "ingest_listen",
            "the same address as api_listen",
            "use a different port for each",
        );
        self.refuse(
            EnvFilter::try_new(&settings.log_level).is_err(),
            "log_level",
            "not a log level or filter",
            "use error, warn, info, debug or trace",
        );
    }

    fn counts(&mut self, settings: &Settings) {
        let connections = settings.max_connections as u64;
        let of_address = settings.max_connections_per_address as u64;
        let of_ingest = settings.ingest_max_connections as u64;
        let emails_of_tenant = settings.email_tenant_concurrency.unwrap_or(1).into();
        for (key, value, max) in [
            ("concurrency", settings.concurrency.into(), 20_000),
            ("dispatch_concurrency", settings.dispatch_concurrency.into(), 20_000),
            ("tenant_batch", settings.tenant_batch.into(), 1_000),
            ("email_concurrency", settings.email_concurrency.into(), 1_000),
            ("email_tenant_concurrency", emails_of_tenant, 1_000),
            ("ingest_max_connections", of_ingest, 100_000),
            ("dead_letters_per_tenant", settings.dead_letters_per_tenant.into(), 10_000_000),
            ("replay_rate", settings.replay_rate.into(), 10_000),
            ("max_connections", connections, 100_000),
            ("max_connections_per_address", of_address, 100_000),
            ("dispatch_max_attempts", settings.dispatch_max_attempts.into(), 100),
        ] {
            let hint = format!("use a value between 1 and {max}");
            self.refuse(!(1..=max).contains(&value), key, "out of range", &hint);
        }
        self.refuse(
            !(1 << 10..=16 << 20).contains(&settings.publish_body_limit.0),
            "publish_body_limit",
            "out of range",
            "use a value between 1KiB and 16MiB",
        );
    }

    fn durations(&mut self, settings: &Settings) {
        const TENTH: Duration = Duration::from_millis(100);
        let delivery_expiry = settings.delivery_expiry.unwrap_or(HOUR);
        let dispatch_expiry = settings.dispatch_expiry.unwrap_or(HOUR);
        for (key, value, min, max, range) in [
            ("retention", settings.retention, HOUR, 10 * YEAR, "between 1h and 3660d"),
            ("audit_retention", settings.audit_retention, HOUR, 10 * YEAR, "between 1h and 3660d"),
            ("dead_letter_ttl", settings.dead_letter_ttl, HOUR, 10 * YEAR, "between 1h and 3660d"),
            ("failing_for", settings.failing_for, MINUTE, YEAR, "between 1m and 366d"),
            (
                "dispatch_base_delay",
                settings.dispatch_base_delay,
                TENTH,
                HOUR,
                "between 100ms and 1h",
            ),
            ("email_expiry", settings.email_expiry, MINUTE, YEAR, "between 1m and 366d"),
            ("delivery_expiry", delivery_expiry, MINUTE, YEAR, "between 1m and 366d"),
            ("dispatch_expiry", dispatch_expiry, MINUTE, YEAR, "between 1m and 366d"),
            ("stop_timeout", settings.stop_timeout, Duration::ZERO, HOUR, "of 1h or less"),
            ("lame_duck", settings.lame_duck, Duration::ZERO, HOUR, "of 1h or less"),
        ] {
            let hint = format!("use a duration {range}");
            self.refuse(!(min..=max).contains(&value), key, "out of range", &hint);
        }
    }

    fn archive(&mut self, settings: &Settings) {
        let Some(_) = &settings.archive_url else {
            for (key, is_set) in [
                ("archive_endpoint", settings.archive_endpoint.is_some()),
                ("archive_region", settings.archive_region.is_some()),
                ("archive_access_key_id", settings.archive_access_key_id.is_some()),
                ("archive_secret_access_key", settings.archive_secret_access_key.is_some()),
            ] {
                let what = format!("{key} is set without archive_url");
                self.refuse(
                    is_set,
                    key,
                    &what,
                    "set archive_url to s3://BUCKET/PREFIX, or remove it",
                );
            }
            return;
        };
        self.refuse(
            settings.archive_dir.is_some(),
            "archive_url",
            "both archive_url and archive_dir are set",
            "remove one of them",
        );
        self.refuse(
            settings.archive_access_key_id.is_some()
                != settings.archive_secret_access_key.is_some(),
            "archive_access_key_id",
            "an access key has an id and a secret, and one of them is not set",
            "set both archive_access_key_id and archive_secret_access_key",
        );
    }

    fn email(&mut self, settings: &Settings) {
        self.refuse(
            settings.email_via == Some(EmailVia::Smtp) && settings.smtp_url.is_none(),
            "email_via",
            "the transport is smtp and smtp_url is not set",
            "set smtp_url, for example smtp://user:password@host:587",
        );
        self.refuse(
            settings.smtp_ca_file.is_some() && settings.smtp_url.is_none(),
            "smtp_ca_file",
            "smtp_ca_file is set without smtp_url",
            "set smtp_url, or remove the certificates",
        );
        let is_domain = |name: &String| {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
            (1..=253).contains(&name.len()) && name.bytes().all(fits)
        };
        self.refuse(
            !settings.message_id_domain.iter().all(is_domain),
            "message_id_domain",
            "not a domain name",
            "for example, mail.example.com",
        );
    }

    fn portal(&mut self, settings: &Settings) {
        let name = settings.portal_name.trim();
        self.refuse(
            !(1..=64).contains(&name.chars().count()) || name.chars().any(char::is_control),
            "portal_name",
            "the name is empty, or longer than 64 characters",
            "use the name of your product",
        );
        let is_https = |url: &str| url.starts_with("https://");
        let is_embedded =
            settings.portal_frame_origins.iter().any(|origin| is_https(origin.as_str()));
        self.refuse(
            is_embedded && !settings.public_url.as_ref().is_some_and(|url| is_https(url.as_str())),
            "portal_frame_origins",
            "an HTTPS page cannot embed a portal that is served over plain HTTP",
            "set public_url to the https:// address of the gateway",
        );
        if let Some(Err(error)) = settings.portal_logo.as_deref().map(super::portal::read_logo) {
            self.refuse(true, "portal_logo", &error.what, &error.hint);
        }
    }

    fn addresses(&mut self, settings: &Settings) {
        self.refuse(
            settings.proxy.as_ref().is_some_and(|proxy| proxy.scheme() != "http"),
            "proxy",
            "only http:// proxies are supported",
            "for example, http://proxy.internal:3128",
        );
        let policy = match super::address_policy::own(settings) {
            Ok(policy) => policy,
            Err(error) => {
                let what = error.root_cause().to_string();
                return self.refuse(true, "nat64_prefixes", &what, "for example, 64:ff9b::/96");
            }
        };
        let own = [
            ("notify_url", settings.notify_url.as_ref()),
            ("dispatch_url", Some(&settings.dispatch_url)),
        ];
        for (key, url) in own {
            if let Some(refused) = url.and_then(|url| policy.parse(url.as_str()).err()) {
                self.refuse(true, key, &refused.what(), refused.hint());
            }
        }
    }
}
