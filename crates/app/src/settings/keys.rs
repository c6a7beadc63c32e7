//! The table of settings. The struct, the names in the file and the environment, the defaults and the
//! reference in `docs/config.md` are all generated from it.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use gancho_archive::s3::S3Location;
use gancho_domain::Rate;
use ipnet::IpNet;

use super::{
    amount::Size,
    error::SettingError,
    layers::Layers,
    portal::{BrandColor, FrameOrigin},
    secret::{DatabaseUrl, Link, MailUrl, Secret},
    value::{Egress, EmailVia, LogFormat, Role, Setting},
};

/// Describes one setting.
#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    pub group: &'static str,
    /// The type of the value, for the reference.
    pub form: &'static str,
    pub is_list: bool,
    /// The default as it would be written in the file; empty if there is none.
    pub default: &'static str,
    /// The lines of the description. A default that depends on other settings comes last: `Default: …`.
    pub help: &'static [&'static str],
}

impl Key {
    pub fn variable(&self) -> String {
        format!("GANCHO_{}", self.name.to_ascii_uppercase())
    }
}

macro_rules! settings {
    ($($group:literal {
        $($(#[doc = $help:literal])+ $name:ident: $kind:ty = $default:literal,)+
    })+) => {
        #[derive(Debug, Clone)]
        pub struct Settings {
            $($($(#[doc = $help])+ pub $name: $kind,)+)+
        }

        pub const KEYS: &[Key] = &[$($(Key {
            name: stringify!($name),
            group: $group,
            form: <$kind as Setting>::FORM,
            is_list: is_list(stringify!($kind)),
            default: $default,
            help: &[$($help),+],
        },)+)+];

        impl Settings {
            /// Reports every invalid value and uses its default instead.
            pub fn read(layers: &Layers, problems: &mut Vec<SettingError>) -> Option<Self> {
                // All values are read before any is unwrapped, so that every error is reported.
                $($(let $name = layers.value(stringify!($name), $default, problems);)+)+
                Some(Self { $($($name: $name?,)+)+ })
            }

            /// Names and values as they would be written in the file, with secrets masked.
            pub fn masked_values(&self) -> Vec<(&'static str, String)> {
                vec![$($((stringify!($name), self.$name.show()),)+)+]
            }
        }
    };
}

const fn is_list(kind: &str) -> bool {
    matches!(kind.as_bytes(), [b'V', b'e', b'c', ..])
}

settings! {
    "Storage and keys" {
        /// Data directory: database, key ring, operator token and ledger checkpoints. Created if it does not
        /// exist.
        data_dir: PathBuf = ".gancho",
        /// Database URL: a SQLite file (`sqlite:PATH`), or PostgreSQL 15 or later, which several nodes can
        /// share.
        /// Default: `gancho.db` in the data directory.
        database_url: Option<DatabaseUrl> = "",
        /// Schema of the tables in PostgreSQL. It is created if it does not exist. The same as `schema` in the database URL.
        /// Default: where the tables are, or the first schema of the role's search path, which is usually `public`.
        database_schema: Option<String> = "",
        /// URL of the same PostgreSQL database, if `database_url` leads to a pooler such as pgbouncer in transaction mode:
        /// an address of the server itself, for migrations and for one connection per node over which nodes wake each
        /// other.
        /// Default: none; behind a pooler, nodes poll for new work every second.
        database_direct_url: Option<DatabaseUrl> = "",
        /// URL of a read replica of the PostgreSQL database. Lists, searches and statistics of the API and the dashboard are
        /// read from it while it responds and is less than 10 s behind; otherwise from the primary.
        database_read_url: Option<DatabaseUrl> = "",
        /// File of the key ring that encrypts secrets in the database. All nodes of a database need the same
        /// ring. A file that its group or others can read is refused. Back it up separately from the database:
        /// without it, no secret can be decrypted.
        /// Default: `master.key` in the data directory, created with mode 0600 together with a new database.
        master_key_file: Option<PathBuf> = "",
        /// The key ring itself, instead of a file: one key per line, its number and 32 bytes in base64.
        master_key: Option<Secret> = "",
    }
    "Network" {
        /// Roles of this process: `worker` delivers, `api` serves `api_listen`, `ingest` receives webhooks from
        /// partners on `ingest_listen`.
        /// Default: all roles.
        roles: Vec<Role> = "",
        /// Listen address of the API, its documentation, health checks and metrics. Keep it off the Internet,
        /// or put TLS in front of it.
        api_listen: SocketAddr = "127.0.0.1:3000",
        /// Listen address for partners' webhooks. Meant for the Internet, with TLS in front of it.
        ingest_listen: SocketAddr = "127.0.0.1:9460",
        /// The operator's token, sent as `Authorization: Bearer …`. At least 16 characters; 32 random ones or
        /// more are recommended. Nodes of one database should have the same token.
        /// Default: generated, and stored in `admin.token` in the data directory with mode 0600.
        admin_token: Option<Secret> = "",
        /// Host names that the API accepts while it listens on the loopback interface, in addition to
        /// `localhost`, the loopback addresses and the host of `public_url`. This prevents DNS rebinding by web pages.
        allowed_hosts: Vec<String> = "",
        /// Base URL under which people reach the API, for links in notices and portal links.
        /// Default: `http://` and `api_listen`.
        public_url: Option<Link> = "",
        /// Maximum number of open connections to the API. Beyond it, the connections that have been idle longest
        /// are closed; a new one is refused with 503 only if all others are serving a request.
        max_connections: usize = "4096",
        /// Maximum number of open connections to `ingest_listen`, enforced in the same way.
        ingest_max_connections: usize = "16384",
        /// Maximum number of open connections per client address (for IPv6, per /64), on each listener. Beyond
        /// it, the client's own idle connections are closed first. Trusted proxies are exempt.
        max_connections_per_address: usize = "1024",
        /// Networks of the proxies and load balancers in front of the gateway. Per-address limits then use the
        /// last address in `X-Forwarded-For` that is not in one of these networks. The header is ignored when it
        /// comes from elsewhere.
        trusted_proxies: Vec<IpNet> = "127.0.0.0/8, ::1/128",
        /// Maximum time for in-flight work to finish after the process was asked to stop.
        stop_timeout: Duration = "30s",
        /// How long the listeners stay open after the process was asked to stop, while `/readyz` responds 503, so that
        /// load balancers send requests elsewhere before connections are refused. Set it to a little more than the
        /// interval of their health checks. It comes before `stop_timeout`.
        lame_duck: Duration = "0s",
    }
    "Outgoing requests" {
        /// Allow `http://` endpoints in addition to `https://`.
        allow_http: bool = "false",
        /// Private networks that tenants' endpoints may be in. All other private, local and reserved addresses
        /// are refused. Responses are shown to tenants, so list no network that they must not see; for your own
        /// targets use `operator_allow_cidrs`.
        allow_cidrs: Vec<IpNet> = "",
        /// Private networks that only your own targets may be in: dispatch targets, SES, SNS and `notify_url`.
        /// Loopback addresses are always allowed for them.
        operator_allow_cidrs: Vec<IpNet> = "",
        /// Internal host names that only your own targets may have, each including its subdomains.
        operator_allow_names: Vec<String> = "",
        /// Public networks that no endpoint may be in, such as the gateway's own.
        deny_cidrs: Vec<IpNet> = "",
        /// Internal host names that endpoints may have, each including its subdomains.
        allow_names: Vec<String> = "",
        /// Ports to allow that are refused by default, such as those of databases.
        allow_ports: Vec<u16> = "",
        /// NAT64 prefixes of this network. The IPv4 address inside is checked as well.
        nat64_prefixes: Vec<IpNet> = "",
        /// Source addresses or networks of deliveries, for tenants' firewalls. Shown at
        /// `GET /v1/egress-addresses` and not used otherwise: the gateway does not bind to them.
        egress_addresses: Vec<Egress> = "",
        /// DNS servers to query.
        /// Default: the system resolvers.
        nameservers: Vec<SocketAddr> = "",
        /// HTTP proxy for all deliveries: `http://user:password@host:port`. The proxy is then responsible for
        /// refusing private addresses. `HTTP_PROXY` and similar variables are never used.
        proxy: Option<Link> = "",
    }
    "Customer portal" {
        /// Name of your product, as the portal shows it to tenants.
        portal_name: String = "Gancho",
        /// Color of your brand, for links, buttons and charts of the portal. White text on it must have a contrast
        /// of 4.5 or more (WCAG AA); the colors of the dark theme are derived from it.
        /// Default: Gancho's.
        portal_color: Option<BrandColor> = "",
        /// SVG or PNG file with your logo, at most 32 KiB, read at startup. It is shown 28 pixels high.
        /// Default: the name alone.
        portal_logo: Option<PathBuf> = "",
        /// Origins whose pages may embed the portal in a frame. Cookies of embedded pages need HTTPS, so set
        /// `public_url` to an `https://` address.
        /// Default: none (embedding is refused).
        portal_frame_origins: Vec<FrameOrigin> = "",
    }
    "Receiving webhooks" {
        /// Target of received webhooks, for sources without a `target_url`.
        dispatch_url: Link = "http://127.0.0.1:9458/core/hooks/ingest",
        /// Maximum number of attempts to dispatch a received webhook, for sources without a retry plan.
        dispatch_max_attempts: u32 = "10",
        /// Delay after the first failed dispatch. It doubles after each attempt, up to sixteen times this value.
        dispatch_base_delay: Duration = "2s",
        /// Maximum number of received webhooks that are dispatched at the same time to targets that respond promptly; slower ones
        /// are counted apart, as for `concurrency`.
        dispatch_concurrency: u32 = "512",
        /// Maximum dispatch rate of this node, retries included, e.g. `500/1s`.
        /// Default: no limit.
        dispatch_rate: Option<Rate> = "",
        /// A received webhook that could not be dispatched within this time becomes a dead letter (`EXPIRED`).
        /// Default: the retry plan alone decides.
        dispatch_expiry: Option<Duration> = "",
        /// Policy pack: the rules that decide which verified webhooks are accepted. Reloaded on SIGHUP and by
        /// `POST /v1/_reload`.
        /// Default: every webhook that is verified and within its rate limit is accepted.
        policy_file: Option<PathBuf> = "",
        /// How often every line of the ledger is verified again, besides at startup and before it is signed. A line that was
        /// changed raises the alert `ledger_check_failed`. `0s`: never.
        ledger_check_interval: Duration = "1h",
        /// Hosts (`host` or `host:port`) other than Amazon's from which SNS certificates are fetched and at which
        /// SNS subscriptions are confirmed: for services that are compatible with SNS.
        sns_hosts: Vec<String> = "",
    }
    "E-mail" {
        /// E-mail transport: `smtp`, `ses`, `sink` or `off`. `sink` sends nothing and captures the most recent
        /// e-mails for inspection. `off` accepts no e-mails; those that are waiting are sent if a transport is set
        /// again, and become dead letters (`EXPIRED`) an hour after `email_expiry`.
        /// Default: `smtp` if `smtp_url` is set, otherwise `off`.
        email_via: Option<EmailVia> = "",
        /// SMTP server. TLS is required unless the URL has `?tls=opportunistic` or `?tls=none`; `?hello=NAME` sets
        /// the name that is sent with EHLO.
        smtp_url: Option<MailUrl> = "",
        /// CA certificates (PEM) to trust for the SMTP server, in addition to the system's.
        smtp_ca_file: Option<PathBuf> = "",
        /// AWS region of SES. Credentials are read from `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and
        /// `AWS_SESSION_TOKEN`.
        /// Default: `AWS_REGION`.
        ses_region: Option<String> = "",
        /// Base URL of the SES API.
        /// Default: Amazon's endpoint for the region.
        ses_endpoint: Option<Link> = "",
        /// SES configuration set to send with. Needed to receive bounces and complaints.
        ses_configuration_set: Option<String> = "",
        /// Maximum number of e-mails that are sent at the same time, at least one by each node.
        email_concurrency: u32 = "5",
        /// Maximum send rate of all nodes, retries included. `none` disables the limit.
        email_rate: Option<Rate> = "100/1m",
        /// An e-mail that could not be sent within this time becomes a dead letter (`EXPIRED`).
        email_expiry: Duration = "24h",
        /// Maximum number of e-mails that are sent at the same time per tenant.
        /// Default: half of `email_concurrency`, rounded up.
        email_tenant_concurrency: Option<u32> = "",
        /// Maximum send rate per tenant, e.g. `100/1m`.
        /// Default: `email_rate`.
        email_tenant_rate: Option<Rate> = "",
        /// Domain part of generated Message-IDs.
        /// Default: the sender's domain.
        message_id_domain: Option<String> = "",
    }
    "Limits" {
        /// Maximum size of a request body. A batch of events may be eight times as large.
        publish_body_limit: Size = "1MiB",
        /// Maximum publish rate of a tenant that has no rate of its own.
        /// Default: no limit.
        publish_rate: Option<Rate> = "",
        /// Deliveries per second of a replay that does not set its own rate.
        replay_rate: u32 = "100",
        /// Maximum number of webhook deliveries of this node in flight to endpoints that respond promptly. Attempts that
        /// wait longer for a response are counted apart, up to ten times as many, so that slow endpoints do not hold up the
        /// others.
        concurrency: u32 = "512",
        /// Maximum rate of webhook deliveries of this node, retries included, e.g. `2000/1s`.
        /// Default: no limit.
        delivery_rate: Option<Rate> = "",
        /// A webhook delivery that did not succeed within this time becomes a dead letter (`EXPIRED`). It counts from when the
        /// event was accepted; one that was scheduled with `deliver_at` is tried at least once, at its time.
        /// Default: the retry plan alone decides.
        delivery_expiry: Option<Duration> = "",
        /// Maximum number of deliveries of one tenant in a row while other tenants are waiting.
        tenant_batch: u32 = "3",
        /// Maximum size of the database (SQLite only). Publishing is refused above it.
        /// Default: publishing is refused when the disk is nearly full.
        store_max_bytes: Option<Size> = "",
    }
    "Retention" {
        /// How long delivered events are stored, between `1h` and `3660d`.
        retention: Duration = "30d",
        /// How long entries of the audit log are stored, between `1h` and `3660d`.
        audit_retention: Duration = "365d",
        /// How long dead letters are stored before they are archived, between `1h` and `3660d`. Until then they can be replayed.
        dead_letter_ttl: Duration = "7d",
        /// Maximum number of dead letters per tenant. The oldest ones beyond it are archived.
        dead_letters_per_tenant: u32 = "10000",
        /// Archive directory of dead letters that are too old or too many, written as
        /// `webhooks/TENANT/DATE/ID.json`. A dead letter is deleted from the store only after it was written there.
        /// With PostgreSQL, name a directory that all nodes share and that outlives them, or use `archive_url`.
        /// Default: with SQLite, `archive` in the data directory, unless `archive_url` is set. With PostgreSQL, none: dead
        /// letters stay in the database until they are replayed or purged.
        archive_dir: Option<PathBuf> = "",
        /// Archive in a bucket of Amazon S3 or of a compatible service, instead of a directory: `s3://BUCKET/PREFIX`. The
        /// names of objects are those of files in `archive_dir`. A dead letter is deleted from the store only after the
        /// service has confirmed its object. The key must be allowed to list the bucket, and to read, write and delete
        /// its objects.
        archive_url: Option<S3Location> = "",
        /// Base URL of the service of `archive_url`, e.g. `https://ACCOUNT.r2.cloudflarestorage.com` for Cloudflare R2 or
        /// `http://minio.internal:9000`. It may be in a private network.
        /// Default: Amazon's endpoint for the region.
        archive_endpoint: Option<Link> = "",
        /// Region of the bucket.
        /// Default: `AWS_REGION`; with `archive_endpoint`, `us-east-1`, which R2 and MinIO accept.
        archive_region: Option<String> = "",
        /// Access key id for the bucket.
        /// Default: `AWS_ACCESS_KEY_ID`, with `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`.
        archive_access_key_id: Option<String> = "",
        /// Secret access key for the bucket.
        archive_secret_access_key: Option<Secret> = "",
        /// An endpoint whose deliveries have all failed for this long is disabled. Its owner is warned after half
        /// of this time.
        failing_for: Duration = "5d",
    }
    "Notices" {
        /// URL that receives the operator's notices: disabled endpoints, dead letters.
        notify_url: Option<Link> = "",
        /// Signing secret of the notices, as in Standard Webhooks (`whsec_…`).
        /// Default: generated.
        notify_secret: Option<Secret> = "",
        /// Slack incoming webhook that receives the operator's notices and alerts as messages. Other chat systems accept
        /// the same form (`{"text": "…"}`).
        notify_slack_url: Option<Secret> = "",
        /// E-mail addresses that receive the operator's notices and alerts. Needs an e-mail transport (`email_via`).
        notify_emails: Vec<String> = "",
        /// Sender address of these e-mails.
        /// Default: `gancho@` and the host of `public_url`.
        notify_email_from: Option<String> = "",
    }
    "Alerts" {
        /// How often the alert rules are evaluated, by one of the nodes. `0s` turns alerts off.
        alert_interval: Duration = "15s",
        /// How long a condition must hold before its alert fires, and be over before it is resolved. Refused writes, a
        /// storage that is almost full, lost nodes, an invalid ledger and expiring keys are reported at once.
        alert_after: Duration = "2m",
        /// Dead letters in the store above which `dead_letters_high` fires.
        alert_dead_letters: u32 = "100",
        /// Dead letters per hundred deliveries that ended within an hour above which `dead_letter_rate_high` fires.
        alert_dead_letter_percent: u32 = "2",
        /// Dead letters of one tenant above which `tenant_dead_letters_high` fires.
        alert_tenant_dead_letters: u32 = "50",
        /// How late the oldest delivery of a lane may be before `queue_delayed` fires.
        alert_queue_age: Duration = "5m",
    }
    "Observability" {
        /// Log format. `auto` is `pretty` on a terminal and `json` otherwise.
        log_format: LogFormat = "auto",
        /// Log level: `error`, `warn`, `info`, `debug` or `trace`, optionally per module, e.g.
        /// `info,gancho_engine=debug`.
        log_level: String = "info",
        /// Serve `/metrics` without authentication. Otherwise it requires the operator token.
        metrics_public: bool = "false",
        /// Serve `/metrics` without authentication to programs on this machine, while the API listens on the
        /// loopback interface only and the request has no proxy header (`X-Forwarded-For`, `Forwarded`, `Via`).
        /// Disable it if a proxy on this machine forwards requests without such a header.
        metrics_local: bool = "true",
        /// OpenTelemetry collector that gets traces: the base URL of its OTLP receiver (HTTP with protobuf), to which
        /// `/v1/traces` is appended, e.g. `http://127.0.0.1:4318`. If it is in a private network, add that to
        /// `operator_allow_cidrs`.
        /// Default: no traces.
        otlp_endpoint: Option<Link> = "",
        /// Headers of the requests to the collector, as `name=value`, separated by commas.
        otlp_headers: Option<Secret> = "",
    }
}
