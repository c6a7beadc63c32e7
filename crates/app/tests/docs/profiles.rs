//! docs/profiles.md shows the built-in profiles, by sending one event with each. `GANCHO_WRITE_DOCS=1` writes
//! it.

use std::{env, fmt::Write, fs, time::Duration};

use gancho_domain::{Time, span};
use gancho_wire::{AttemptMetadata, Content, Envelope, Profile, Scheme, SigningKey, sign};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/profiles.md");
const BEGIN: &str = "<!-- generated: profiles -->\n";
const END: &str = "<!-- end -->\n";

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const DATA: &str = r#"{"id":"inv_1","amount":42.00}"#;
const EVENT: &str = "evt_01KDZAAAAB0008JYBGQ7QJFKWJ";
const ENDPOINT: &str = "wh_01KDZAAAAA0008JYBGQ7QJFKWJ";

/// Returns who uses the profile.
fn purpose(profile: &Profile) -> &'static str {
    match &*profile.name {
        "standard" => "The default, and the right one for new receivers: Standard Webhooks 1.0.0.",
        "email-gateway" => {
            "For receivers of the e-mail gateway's events, in its envelope with a number for each event of a subject."
        }
        "auracore" => "For receivers that were written for AuraCore's accounts.",
        "saas" => {
            "For receivers of the SaaS platform, which get the data without an envelope. The id in its headers is that of the endpoint."
        }
        "svix" => {
            "For receivers that verify with Svix's libraries. [Moving from Svix](moving/from-svix.md) selects it."
        }
        "convoy" => {
            "For receivers that verify Convoy's simple signatures. [Moving from Convoy](moving/from-convoy.md) selects it."
        }
        "outpost" => {
            "For receivers that verify Outpost's signatures. [Moving from Outpost](moving/from-outpost.md) selects it."
        }
        other => panic!("say who chooses {other}"),
    }
}

fn signed(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Standard => {
            "`id.seconds.body`, as `v1,<base64>` (HMAC-SHA256) or `v1a,<base64>` (Ed25519)"
        }
        Scheme::Sha256 => "the body, as `sha256=<hex>` (HMAC-SHA256)",
        Scheme::Hex => "the body, as `<hex>` (HMAC-SHA256)",
        Scheme::V0 => "the body, as `v0=<hex>` (HMAC-SHA256)",
        Scheme::TimedSeconds => "`seconds.body`, as `t=<seconds>,v1=<hex>` (HMAC-SHA256)",
        Scheme::TimedMillis => "`milliseconds.body`, as `t=<milliseconds>,v1=<hex>` (HMAC-SHA256)",
    }
}

fn envelope(envelope: Envelope) -> &'static str {
    match envelope {
        Envelope::Standard => "`standard`",
        Envelope::EmailGateway => "`email-gateway`",
        Envelope::Auracore => "`auracore`",
        Envelope::Bare => "`bare`: the data itself",
    }
}

fn sections() -> String {
    let mut text = String::new();
    for profile in Profile::built_in() {
        let at = Time::from_millis(1_767_225_600_000);
        let content = Content {
            event_id: EVENT,
            event_type: "invoice.paid",
            created_at: at,
            number: None,
            data: DATA.as_bytes(),
        };
        let body = profile.envelope.render(&content);
        let sending = AttemptMetadata {
            event_id: EVENT,
            endpoint_id: ENDPOINT,
            event_type: "invoice.paid",
            at,
            retry: 0,
        };
        let key = SigningKey::for_profile(&profile, SECRET).unwrap();
        let headers = sign(&profile, &sending, &body, &[key]).unwrap();
        let Profile { name, user_agent, timeout, schedule, signature, .. } = &profile;
        let version = concat!("/", env!("CARGO_PKG_VERSION"));
        let user_agent = user_agent.replace(version, "/<version>");
        write!(text, "\n### `{name}`\n\n{}\n\n```text\n", purpose(&profile)).unwrap();
        for (name, value) in headers {
            writeln!(text, "{name}: {value}").unwrap();
        }
        writeln!(text, "user-agent: {user_agent}\n\n{}\n```\n", str::from_utf8(&body).unwrap())
            .unwrap();
        let delays: Vec<_> = schedule.iter().map(|delay| span::write(*delay)).collect();
        let total: Duration = schedule.iter().sum();
        writeln!(text, "- Envelope: {}", envelope(profile.envelope)).unwrap();
        writeln!(text, "- Signed: {}", signed(signature.scheme)).unwrap();
        writeln!(text, "- Timeout: {}", span::write(*timeout)).unwrap();
        writeln!(
            text,
            "- Attempts: {}, the retries after {}; about {} hours in all",
            profile.attempts(),
            delays.join(", "),
            total.as_secs().div_ceil(3_600),
        )
        .unwrap();
    }
    text
}

#[test]
fn the_profiles_are_as_the_page_says() {
    let document = fs::read_to_string(PATH).unwrap();
    let (before, rest) = document.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let fresh = format!("{before}{BEGIN}{}\n{END}{after}", sections());
    #[expect(clippy::disallowed_methods, reason = "how the documents are written")]
    if env::var_os("GANCHO_WRITE_DOCS").is_some() {
        fs::write(PATH, &fresh).unwrap();
    }
    assert!(
        document == fresh || fs::read_to_string(PATH).unwrap() == fresh,
        "docs/profiles.md is stale: run this test with GANCHO_WRITE_DOCS=1"
    );
}
