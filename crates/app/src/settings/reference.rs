//! `docs/config.md`, made from the table of settings. A test fails while the file says something
//! else: `gancho config --reference > docs/config.md` brings it up to date.

use std::fmt::Write;

use super::{
    keys::{KEYS, Key},
    plain_names,
};

const HEAD: &str = "\
# Settings

<!-- Made by `gancho config --reference`. Change crates/app/src/settings/keys.rs instead. -->

Settings come from three places; a later one covers an earlier one:

1. the file `gancho.toml`: the one named by `--config` or `GANCHO_CONFIG`, or else the one in the current
   folder, or else the one in the data folder;
2. variables of the environment: `GANCHO_` and the name in capitals, such as `GANCHO_API_LISTEN`. One that is
   empty counts as not set. Lists are separated by commas;
3. flags: `--config`, `--data-dir`, `--database-url`, `--api-listen`, `--allow-http`, `--allow-cidrs`,
   `--log-format`, `--log-level`, `--role`, and `--set KEY=VALUE` for any other.

Where none of them sets a setting, a few variables without the prefix do: `PORT` (the port of `ingest_listen`, on
127.0.0.1), `DATABASE_URL`, `DISPATCH_URL`, `RETRY_MAX` (`dispatch_max_attempts`) and `RETRY_BASE_SECONDS`
(`dispatch_base_delay`). One that is set and does not count is reported at the start. `DLQ_R2_BUCKET` is reported as
not used: dead letters go to the folder `archive_dir`.

Everything that is wrong is reported at once, with the place where it was written. `gancho config` shows what
counts and where it comes from, with secrets covered; `gancho config --json` does so for programs.

Lengths of time are written `250ms`, `30s`, `5m`, `2h`, `30d` or together, `1h30m`. Sizes are written `64KiB`,
`1MiB` or as bytes. Rates are written `100/s` or `600/1m`.

A small file:

```toml
database_url = \"postgres://gancho@db.internal/gancho?sslmode=require\"
api_listen = \"10.0.0.5:3000\"
allow_cidrs = [\"10.20.0.0/16\"]
retention = \"14d\"

[plans.pro]
endpoints = 10
events = 50000
```
";

const TAIL: &str = r#"
## Plans

What tenants may use, by the name of their plan. Built in are `free` and `starter` (no endpoints, no events),
`pro` (5 endpoints, 10,000 events a month), `enterprise` (20 and 100,000) and `unlimited`. A table of a
built-in name changes that plan; what is left out has no limit.

```toml
[plans.pro]
endpoints = 10      # at once
events = 50000      # a calendar month, UTC
```

## Profiles

How deliveries look on the wire. Built in are `standard`, `email-gateway`, `auracore` and `saas`; a tenant or
an endpoint names the one it wants. Others are written so:

```toml
[profiles.acme]
envelope = "standard"                 # standard, email-gateway, auracore, or bare: the data alone
headers = [
  { name = "X-Acme-Id", value = "event_id" },
  { name = "X-Acme-Try", value = "retry_count" },
]
signature = { header = "X-Acme-Signature", scheme = "timed-seconds" }
user_agent = "Acme-Hooks/1"           # left out: Gancho and its version
timeout = "10s"                       # for one attempt; left out: 15s
schedule = ["30s", "5m", "1h"]        # between attempts; left out: that of standard
```

A header's value is `event_id`, `endpoint_id`, `event_type`, `time_seconds`, `time_millis` or `retry_count`.
A scheme is `standard` (Standard Webhooks; needs headers for `event_id` and `time_seconds`), `sha256` (GitHub's
form), `timed-seconds` or `timed-millis` (Stripe's form).

## The key ring

Secrets of endpoints and partners, custom headers and the gateway's own signing keys are sealed in the database with the newest key of the ring, and opened with the
key that sealed them. `gancho keys rotate` adds a key and seals everything with it; it can be killed and run again,
and asks the gateway to do it where one runs with the same settings. `gancho keys list` shows which keys are in use,
and `gancho keys drop 1` removes one that is not. Nodes that share a ring's file take a new key on within seconds.
Nodes with files of their own need the new file, and a restart, before `gancho keys rotate --no-new-key` is run.

All nodes of one database share one ring and should share one operator's token: copy `master.key` and `admin.token`
(mode 0600) from the first node to the others, or set `master_key_file` or `master_key`, and `admin_token`. A ring is
made only together with a new database. Where the database holds sealed secrets and the ring is missing, every
command says which file it needs and makes nothing: put `master.key` back from the other node or from the backup. A
backup is the database and, kept apart from it, `master.key`.

## Tenants by environment

`WEBHOOK_URL_<COMPANY>` makes the tenant of that name, in lower case, and its one endpoint in the profile
`email-gateway`; `WEBHOOK_SECRET_<COMPANY>` is what it signs with, or one is made. They are kept in step at each
start: another URL or secret replaces the one before, and a variable that is gone switches the endpoint off.

```sh
WEBHOOK_URL_M2=https://m2.example.com/webhooks/email-gateway
WEBHOOK_SECRET_M2=whsec_a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6
```
"#;

pub fn text() -> String {
    let mut text = HEAD.to_owned();
    let mut group = "";
    for key in KEYS {
        if key.group != group {
            group = key.group;
            let _ = write!(text, "\n## {group}\n");
        }
        text += &of_key(key);
    }
    text + TAIL
}

fn of_key(key: &Key) -> String {
    let form = if key.is_list { format!("list; each {}", key.form) } else { key.form.to_owned() };
    let default = match key.default {
        "" => "none".to_owned(),
        default => format!("`{default}`"),
    };
    let help: Vec<&str> = key.help.iter().map(|line| line.trim()).collect();
    let plain = plain_names::variable_of(key.name);
    let or = plain.map_or_else(String::new, |name| format!(", or else `{name}`"));
    format!(
        "\n### `{}`\n\n{}\n\n- form: {form}\n- default: {default}\n- variable: `{}`{or}\n",
        key.name,
        help.join("\n"),
        key.variable()
    )
}
