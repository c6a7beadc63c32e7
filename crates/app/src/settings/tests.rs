//! Settings as operators write them, right and wrong.

use std::path::PathBuf;

use super::{
    Flags, LoadedSettings, Origin, companies::Company, environment::Environment, load_from,
    reference, secret::Secret, show,
};

fn with(file: &str, variables: &[(&str, &str)], flags: Flags) -> Result<LoadedSettings, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gancho.toml");
    std::fs::write(&path, file).unwrap();
    let flags = Flags { config: Some(path), ..flags };
    let shown = |problems: super::SettingsError| {
        problems.to_string().replace(&format!("{}/", folder.path().display()), "")
    };
    load_from(&flags, &Environment::of(variables)).map_err(shown)
}

fn alone(file: &str) -> Result<LoadedSettings, String> {
    with(file, &[], Flags::default())
}

#[test]
fn nothing_written_is_enough() {
    let loaded = alone("").unwrap();
    assert_eq!(loaded.settings.api_listen.to_string(), "127.0.0.1:3000");
    assert_eq!(loaded.settings.retention.as_secs(), 30 * 86_400);
    assert_eq!(loaded.settings.data_dir, PathBuf::from(".gancho"));
    assert!(!loaded.settings.allow_http);
    assert!(loaded.origins.values().all(|origin| *origin == Origin::Default));
}

#[test]
fn flags_cover_variables_and_variables_cover_the_file() {
    let file = "api_listen = \"127.0.0.1:1\"\nretention = \"1d\"\nconcurrency = 7\n";
    let variables = [("GANCHO_API_LISTEN", "127.0.0.1:2"), ("GANCHO_RETENTION", "2d")];
    let flags = Flags {
        api_listen: Some("127.0.0.1:3".to_owned()),
        set: vec!["publish_rate=5/s".to_owned()],
        ..Flags::default()
    };
    let loaded = with(file, &variables, flags).unwrap();
    assert_eq!(loaded.settings.api_listen.port(), 3);
    assert_eq!(loaded.settings.retention.as_secs(), 2 * 86_400);
    assert_eq!(loaded.settings.concurrency, 7);
    assert_eq!(loaded.settings.publish_rate.unwrap().count, 5);
    assert_eq!(loaded.origins["api_listen"].to_string(), "flag --api-listen");
    assert_eq!(loaded.origins["retention"].to_string(), "environment variable GANCHO_RETENTION");
    assert!(loaded.origins["concurrency"].to_string().ends_with("gancho.toml:3"));
}

#[test]
fn every_error_is_reported_at_once_with_its_place() {
    let file = "\
api_listn = \"127.0.0.1:3000\"
allow_http = \"perhaps\"
allow_cidrs = [\"10.0.0.0/8\", \"10.0.0.0/99\"]
retention = \"soon\"

[profiles.Bad]
envelope = \"bare\"
signature = { header = \"Host\", scheme = \"sha256\" }

[profiles.worse]
envelop = \"bare\"

[plans.pro]
endpoint = 3
";
    let variables = [
        ("GANCHO_ADMIN_TOKEN", "hunter2"),
        ("GANCHO_DATABASE_URL", "mysql://root:hunter2@db"),
        ("WEBHOOK_URL_M2", "https://10.0.0.1/x"),
        ("WEBHOOK_SECRET_M2", "hunter2"),
        ("WEBHOOK_SECRET_GONE", "whsec_a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6"),
    ];
    let flags = Flags { api_listen: Some("localhost".to_owned()), ..Flags::default() };
    let shown = with(file, &variables, flags).unwrap_err();
    assert!(!shown.contains("hunter2"), "a secret is repeated: {shown}");
    let expected = "\
invalid configuration: 14 problems

  api_listn (gancho.toml:1)
    unknown setting
    hint: did you mean `api_listen`?
  database_url (environment variable GANCHO_DATABASE_URL)
    not a database URL
    hint: write sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME
  api_listen (flag --api-listen)
    `localhost` is not an address and port
    hint: for example, 127.0.0.1:3000
  allow_http (gancho.toml:2)
    `perhaps` is not a boolean
    hint: use true or false
  allow_cidrs (gancho.toml:3)
    `10.0.0.0/99` is not a network in CIDR notation
    hint: for example, 10.0.0.0/8
  retention (gancho.toml:4)
    `soon` is not a duration
    hint: for example, 30s, 5m, 2h, 1h30m or 30d
  profiles.Bad (gancho.toml:6)
    `Bad` is not a valid profile name
    hint: use 1 to 64 characters of a-z, 0-9, `-` and `_`
  profiles.Bad (gancho.toml:6)
    the header `Host` is reserved
    hint: choose another name
";
    assert!(shown.starts_with(expected), "{shown}\n---\n{expected}");
    for part in [
        "profiles.worse (gancho.toml:11)",
        "plans.pro (gancho.toml:14)",
        "unknown field",
        "WEBHOOK_URL_M2 (",
        "WEBHOOK_SECRET_M2 (",
        "WEBHOOK_SECRET_GONE (",
        "admin_token (",
    ] {
        assert!(shown.contains(part), "`{part}` is not in {shown}");
    }
}

#[test]
fn what_does_not_fit_together_is_reported_too() {
    let file = "\
admin_token = \"short\"
master_key = \"1 AAAA\"
master_key_file = \"/a\"
notify_secret = \"whsec_a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6\"
email_via = \"smtp\"
email_concurrency = 0
message_id_domain = \"a b\"
ingest_listen = \"127.0.0.1:3000\"
concurrency = 0
publish_body_limit = \"1GiB\"
stop_timeout = \"2h\"
nat64_prefixes = [\"10.0.0.0/8\"]
proxy = \"https://proxy\"
log_level = \"loud,=\"
portal_name = \" \"
portal_logo = \"/nowhere/logo.svg\"
portal_frame_origins = [\"https://app.example\"]
";
    let shown = alone(file).unwrap_err();
    for key in [
        "admin_token (",
        "master_key (",
        "notify_secret (",
        "email_via (",
        "email_concurrency (",
        "message_id_domain (",
        "ingest_listen (",
        "concurrency (",
        "publish_body_limit (",
        "stop_timeout (",
        "nat64_prefixes (",
        "proxy (",
        "log_level (",
        "portal_name (",
        "portal_logo (",
        "portal_frame_origins (",
    ] {
        assert!(shown.contains(key), "`{key}` is not in {shown}");
    }
    assert!(!shown.contains("AAAA"));
}

#[test]
fn broken_toml_is_reported_with_its_line() {
    let shown = alone("allow_http = true\napi_listen = \n").unwrap_err();
    assert!(shown.contains("TOML (gancho.toml:2)"), "{shown}");
    let missing = Flags { config: Some("/nowhere/gancho.toml".into()), ..Flags::default() };
    let shown = load_from(&missing, &Environment::default()).unwrap_err().to_string();
    assert!(shown.contains("config (flag --config)"), "{shown}");
}

#[test]
fn a_variable_that_is_no_setting_is_warned_of() {
    let loaded = with("", &[("GANCHO_API_LISEN", "x"), ("GANCHO_LOG", "x")], Flags::default());
    let warnings = loaded.unwrap().warnings;
    assert_eq!(
        warnings,
        [
            "ignored the environment variable GANCHO_API_LISEN: unknown setting; did you mean GANCHO_API_LISTEN?"
        ]
    );
}

#[test]
fn plans_profiles_and_companies_are_read() {
    let file = "\
[plans.pro]
endpoints = 9

[profiles.acme]
envelope = \"bare\"
signature = { header = \"X-Sign\", scheme = \"sha256\" }
schedule = [\"1s\"]
";
    let variables = [
        ("WEBHOOK_URL_M2", "https://m2.example.com/hook"),
        ("WEBHOOK_SECRET_M2", "whsec_a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6"),
        ("WEBHOOK_URL_TRUSTCLOUD", "https://trust.example.com/hook"),
    ];
    let loaded = with(file, &variables, Flags::default()).unwrap();
    assert_eq!(loaded.plans["pro"].endpoints, Some(9));
    assert_eq!(loaded.plans["pro"].events, None);
    assert_eq!(loaded.profiles[0].name, "acme");
    assert_eq!(
        loaded.companies,
        [
            Company {
                slug: "m2".to_owned(),
                url: "https://m2.example.com/hook".to_owned(),
                secret: Some(Secret::new("whsec_a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6")),
            },
            Company {
                slug: "trustcloud".to_owned(),
                url: "https://trust.example.com/hook".to_owned(),
                secret: None,
            },
        ]
    );
    let built_in = alone(
        "[profiles.saas]\nenvelope = \"bare\"\nsignature = { header = \"S\", scheme = \"sha256\" }\n",
    );
    assert!(built_in.unwrap_err().contains("a built-in profile has this name"));
}

#[test]
fn other_addresses_of_the_database_are_for_postgresql() {
    let server = "database_url = \"postgres://db/g\"\n";
    for name in ["database_direct_url", "database_read_url"] {
        let good = format!("{name} = \"postgres://u:hunter2@other/g\"\n");
        assert!(alone(&format!("{server}{good}")).is_ok());
        let refused = alone(&good).unwrap_err();
        assert!(refused.contains(name) && !refused.contains("hunter2"), "{refused}");
        let refused = alone(&format!("{server}{name} = \"sqlite:x.db\"\n")).unwrap_err();
        assert!(refused.contains("PostgreSQL only"), "{refused}");
    }
}

#[test]
fn what_is_shown_can_be_written_again_and_hides_secrets() {
    let file = "\
admin_token = \"hunter2hunter2hunter2\"
database_url = \"postgres://u:hunter2@db/g\"
proxy = \"http://u:hunter2@proxy:3128\"
allow_cidrs = [\"10.0.0.0/8\"]
";
    let loaded = alone(file).unwrap();
    let shown = show::text(&loaded);
    assert!(!shown.contains("hunter2"), "{shown}");
    assert!(!format!("{loaded:?}").contains("hunter2"));
    assert!(!show::json(&loaded).to_string().contains("hunter2"));
    assert!(shown.contains("allow_cidrs = [\"10.0.0.0/8\"]"), "{shown}");
    assert!(shown.contains("retention = \"30d\""), "{shown}");
    let plain = alone("allow_cidrs = [\"10.0.0.0/8\"]").unwrap();
    let again = alone(&show::text(&plain)).unwrap();
    assert_eq!(plain.settings.masked_values(), again.settings.masked_values());
    assert_eq!(show::json(&plain)["settings"]["concurrency"]["value"], 512);
}

#[test]
fn the_reference_in_docs_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/config.md");
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == reference::text(),
        "docs/config.md is stale: run `cargo run -- config --reference > docs/config.md`"
    );
}

// The names that container platforms and older deployments set.
#[test]
fn plain_names_count_where_nothing_else_does() {
    let variables = [
        ("PORT", "9461"),
        ("DATABASE_URL", "postgres://ops:hunter2@127.0.0.1/ubl"),
        ("DISPATCH_URL", "http://127.0.0.1:9999/hooks"),
        ("RETRY_MAX", "7"),
        ("RETRY_BASE_SECONDS", "3"),
    ];
    let loaded = with("", &variables, Flags::default()).unwrap();
    let settings = &loaded.settings;
    assert_eq!(settings.ingest_listen.to_string(), "127.0.0.1:9461");
    assert_eq!(settings.dispatch_url.as_str(), "http://127.0.0.1:9999/hooks");
    assert_eq!(settings.dispatch_max_attempts, 7);
    assert_eq!(settings.dispatch_base_delay.as_secs(), 3);
    assert!(settings.database_url.as_ref().unwrap().reveal().ends_with("/ubl"));
    assert_eq!(loaded.origins["database_url"].to_string(), "environment variable DATABASE_URL");
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
}

#[test]
fn plain_names_are_covered_by_all_else_and_that_is_said() {
    let file = "database_url = \"sqlite:own.db\"\n";
    let variables = [
        ("DATABASE_URL", "postgres://ops:hunter2@127.0.0.1/ubl"),
        ("PORT", "9461"),
        ("GANCHO_INGEST_LISTEN", "127.0.0.1:9462"),
        ("RETRY_MAX", "7"),
        ("GANCHO_DISPATCH_MAX_ATTEMPTS", "7"),
        ("DLQ_R2_BUCKET", "ubl-dlq"),
        ("GANCHO_ARCHIVE_URL", "s3://own-dlq/a"),
    ];
    let loaded = with(file, &variables, Flags::default()).unwrap();
    assert_eq!(loaded.settings.ingest_listen.port(), 9462);
    assert_eq!(loaded.settings.database_url.as_ref().unwrap().reveal(), "sqlite:own.db");
    let warnings = loaded.warnings.join("\n");
    for part in [
        "environment variable PORT: ingest_listen is set by environment variable GANCHO_INGEST_LISTEN",
        "environment variable DATABASE_URL: database_url is set by ",
        "environment variable DLQ_R2_BUCKET: archive_url is set by environment variable GANCHO_ARCHIVE_URL",
    ] {
        assert!(warnings.contains(part), "`{part}` is missing: {warnings}");
    }
    assert!(!warnings.contains("RETRY_MAX") && !warnings.contains("hunter2"), "{warnings}");
}

#[test]
fn a_plain_name_that_is_wrong_is_a_fault_like_any_other() {
    let variables =
        [("PORT", "web"), ("RETRY_MAX", "0"), ("DATABASE_URL", "mysql://root:hunter2@db")];
    let shown = with("", &variables, Flags::default()).unwrap_err();
    for part in [
        "environment variable PORT",
        "environment variable RETRY_MAX",
        "environment variable DATABASE_URL",
    ] {
        assert!(shown.contains(part), "`{part}` is missing: {shown}");
    }
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[test]
fn an_archive_in_a_bucket_needs_what_belongs_together() {
    let variables = [
        ("GANCHO_ARCHIVE_URL", "s3://dead-letters/a"),
        ("GANCHO_ARCHIVE_ENDPOINT", "http://minio.internal:9000"),
        ("GANCHO_ARCHIVE_ACCESS_KEY_ID", "AKID"),
        ("GANCHO_ARCHIVE_SECRET_ACCESS_KEY", "hunter2"),
    ];
    let loaded = with("", &variables, Flags::default()).unwrap();
    let shown = show::text(&loaded);
    assert!(shown.contains("archive_url = \"s3://dead-letters/a\""), "{shown}");
    assert!(!shown.contains("hunter2") && !format!("{:?}", loaded.settings).contains("hunter2"));
    let loaded = with("", &[("DLQ_R2_BUCKET", "ubl-dlq")], Flags::default()).unwrap();
    assert_eq!(loaded.settings.archive_url.unwrap().to_string(), "s3://ubl-dlq");
    for (variables, said) in [
        (
            &[("GANCHO_ARCHIVE_URL", "s3://dead-letters"), ("GANCHO_ARCHIVE_DIR", "/a")][..],
            "both archive_url and archive_dir are set",
        ),
        (
            &[
                ("GANCHO_ARCHIVE_URL", "s3://dead-letters"),
                ("GANCHO_ARCHIVE_SECRET_ACCESS_KEY", "hunter2"),
            ],
            "set both archive_access_key_id and archive_secret_access_key",
        ),
        (&[("GANCHO_ARCHIVE_REGION", "eu-west-1")], "archive_region is set without archive_url"),
        (&[("GANCHO_ARCHIVE_URL", "https://dead-letters")], "begins with s3://"),
        (&[("GANCHO_ARCHIVE_URL", "s3://A")], "not a bucket name"),
    ] {
        let refused = with("", variables, Flags::default()).unwrap_err();
        assert!(refused.contains(said) && !refused.contains("hunter2"), "{refused}");
    }
}
