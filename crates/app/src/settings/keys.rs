//! The one table of settings. The struct, the names in the file and the environment, the defaults
//! and the reference in `docs/config.md` are all made from it.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use gancho_domain::Rate;
use ipnet::IpNet;

use super::{
    amount::Size,
    fault::Fault,
    hidden::{DatabaseUrl, Hidden, Link, MailUrl},
    layers::Layers,
    value::{Egress, EmailVia, LogFormat, Role, Setting},
};

/// One setting, for whoever wants to tell of it.
#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    pub group: &'static str,
    /// What may be written.
    pub form: &'static str,
    pub is_list: bool,
    /// As it would be written; empty where there is none.
    pub default: &'static str,
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
            /// Where one is wrong its default stands in, and the fault is told.
            pub fn read(layers: &Layers, faults: &mut Vec<Fault>) -> Option<Self> {
                // Read all before any is asked for, so that no fault hides another.
                $($(let $name = layers.value(stringify!($name), $default, faults);)+)+
                Some(Self { $($($name: $name?,)+)+ })
            }

            /// Names and values as they would be written, secrets covered.
            pub fn shown(&self) -> Vec<(&'static str, String)> {
                vec![$($((stringify!($name), self.$name.show()),)+)+]
            }
        }
    };
}

const fn is_list(kind: &str) -> bool {
    matches!(kind.as_bytes(), [b'V', b'e', b'c', ..])
}

settings! {
    "Where things are" {
        /// The folder of the database, the key ring, the admin token and the ledger's checkpoints. Made
        /// if it is not there.
        data_dir: PathBuf = ".gancho",
        /// The database: a SQLite file, or PostgreSQL 15 or later for several nodes.
        /// Left out: `gancho.db` in the data folder.
        database_url: Option<DatabaseUrl> = "",
        /// The key ring that seals secrets in the database; all nodes of a database need the same one. Left
        /// out: `master.key` in the data folder, made with mode 0600 together with a new database. A ring
        /// that its group or others may read is refused.
        /// Keep a copy apart from the database: without it, no secret can be read again.
        master_key_file: Option<PathBuf> = "",
        /// The key ring itself instead of a file: one key a line, its number and the base64 of 32 bytes.
        master_key: Option<Hidden> = "",
    }
    "Listening" {
        /// Which parts run in this process; left out, all that there are. `worker` delivers, `api`
        /// answers on `api_listen`, `ingest` receives from partners on `ingest_listen`.
        roles: Vec<Role> = "",
        /// The address of the API, the documentation, health and metrics. Keep it off the Internet,
        /// or put TLS in front of it.
        api_listen: SocketAddr = "127.0.0.1:3000",
        /// The address where partners post webhooks. Meant for the Internet, with TLS in front of it.
        ingest_listen: SocketAddr = "127.0.0.1:9460",
        /// What the operator proves itself with: `Authorization: Bearer …`, at least 16 characters; 32 random
        /// ones or more are advised. Nodes of one database should have the same.
        /// Left out, one is made and kept in `admin.token` in the data folder with mode 0600.
        admin_token: Option<Hidden> = "",
        /// Names under which the API may be called while it listens on this machine only, besides
        /// those of this machine: so no web page reaches it by a name of its own.
        allowed_hosts: Vec<String> = "",
        /// The address under which people reach the API, for links in notices and portal links.
        /// Left out: `http://` and `api_listen`.
        public_url: Option<Link> = "",
        /// Connections to the API at once. Beyond that, those that have been idle longest are closed; a
        /// new one is refused with 503 only if all others are being served.
        max_connections: usize = "4096",
        /// Connections of partners at once, in the same way.
        ingest_max_connections: usize = "16384",
        /// Connections of one address (of IPv6, one /64) at once, to each of the two. Beyond that, its own
        /// idle ones are closed first. Trusted proxies are exempt.
        max_connections_per_address: usize = "1024",
        /// Networks of the proxies and load balancers in front of the gateway. Limits by address then count
        /// the last address in `X-Forwarded-For` that is not in this list. Nobody else is believed.
        trusted_proxies: Vec<IpNet> = "127.0.0.0/8, ::1/128",
        /// How long what is in flight may take to finish when the process is asked to stop.
        stop_timeout: Duration = "30s",
    }
    "Which addresses may be delivered to" {
        /// Allow `http://` endpoints besides `https://`.
        allow_http: bool = "false",
        /// Private networks that tenants' endpoints may be in. Everything private, local or special is
        /// refused otherwise. What the gateway gets back is shown to tenants, so name no network that
        /// they must not look into; for your own targets there is `operator_allow_cidrs`.
        allow_cidrs: Vec<IpNet> = "",
        /// Private networks that your own targets may be in: the core, SES, SNS and `notify_url`. Tenants'
        /// endpoints may not be there. This machine is always allowed.
        operator_allow_cidrs: Vec<IpNet> = "",
        /// Names that look private and that your own targets may have, each with all names below it.
        operator_allow_names: Vec<String> = "",
        /// Public networks that endpoints may not be in, such as the gateway's own.
        deny_cidrs: Vec<IpNet> = "",
        /// Names that look private and are allowed, each with all names below it.
        allow_names: Vec<String> = "",
        /// Ports that are refused by default (those of databases and the like) and are allowed.
        allow_ports: Vec<u16> = "",
        /// NAT64 prefixes of this network, so that the IPv4 address inside is judged.
        nat64_prefixes: Vec<IpNet> = "",
        /// Addresses or networks from which deliveries leave, as tenants need them for their firewalls. Only
        /// shown, at `GET /v1/egress-addresses`; the gateway does not choose its address by them.
        egress_addresses: Vec<Egress> = "",
        /// Who is asked for addresses. Left out: the servers of this machine.
        nameservers: Vec<SocketAddr> = "",
        /// An HTTP proxy for all deliveries: `http://user:password@host:port`. Keeping away from
        /// private addresses is then its job. Proxies in the environment are never used.
        proxy: Option<Link> = "",
    }
    "Receiving webhooks" {
        /// Where what partners post is sent, for sources that are made without a `target_url`.
        dispatch_url: Link = "http://127.0.0.1:9458/core/hooks/ingest",
        /// Attempts to deliver what partners post, for sources without a retry plan of their own.
        dispatch_max_attempts: u32 = "10",
        /// The delay after the first of these attempts. It doubles after each one, up to sixteen times as
        /// long.
        dispatch_base_delay: Duration = "2s",
        /// The policy pack: which webhooks may pass, as data. Read again on SIGHUP and by
        /// `POST /_reload`. Left out: what is verified and within its rate passes.
        policy_file: Option<PathBuf> = "",
        /// Hosts, or `host:port`, besides Amazon's where SNS may have its certificates and be told
        /// that a subscription is wanted: for services that speak as SNS does.
        sns_hosts: Vec<String> = "",
    }
    "E-mail" {
        /// By whom e-mails are sent. `sink` sends nothing and keeps the last letters to look at.
        /// Left out: by the mail server, if `smtp_url` names one. With `off`, none are accepted; those that
        /// wait are sent if it is switched on again, and become dead letters (`EXPIRED`) after 25 hours.
        email_via: Option<EmailVia> = "",
        /// The mail server. TLS is required unless `?tls=opportunistic` or `?tls=none` says otherwise;
        /// `?hello=NAME` is what the gateway calls itself.
        smtp_url: Option<MailUrl> = "",
        /// Certificates in PEM form that the mail server's may be signed by, besides those that this
        /// machine trusts.
        smtp_ca_file: Option<PathBuf> = "",
        /// The region of Amazon SES. Left out: `AWS_REGION`. The credentials are those of
        /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`.
        ses_region: Option<String> = "",
        /// Another address of the SES API than Amazon's own.
        ses_endpoint: Option<Link> = "",
        /// The configuration set that e-mails are sent with, for bounces and complaints.
        ses_configuration_set: Option<String> = "",
        /// E-mails on their way at once, on this node.
        email_concurrency: u32 = "5",
        /// E-mails in how long on this node, each retry counted. `none`: as fast as it can.
        email_rate: Option<Rate> = "100/1m",
        /// Of each tenant, e-mails on their way at once. Left out: as many as in all.
        email_tenant_concurrency: Option<u32> = "",
        /// Of each tenant, e-mails in how long. Left out: as many as in all.
        email_tenant_rate: Option<Rate> = "",
        /// What stands behind the @ of Message-IDs. Left out: the sender's domain.
        message_id_domain: Option<String> = "",
    }
    "Limits" {
        /// The largest body of a call; a batch of events may be eight times as large.
        publish_body_limit: Size = "1MiB",
        /// How fast a tenant may publish that has no rate of its own. Left out: as fast as it can.
        publish_rate: Option<Rate> = "",
        /// How many deliveries a second a replay sends again that names no rate of its own.
        replay_rate: u32 = "100",
        /// Deliveries on the wire at once, over all endpoints.
        concurrency: u32 = "512",
        /// Deliveries of one tenant in a row while those of others wait.
        tenant_batch: u32 = "3",
        /// Publishing is refused when the database has grown to this size (SQLite only). Left out:
        /// when the disk is nearly full.
        store_max_bytes: Option<Size> = "",
    }
    "How long things are kept" {
        /// How long delivered events stay in the log.
        retention: Duration = "30d",
        /// How long dead letters can be replayed.
        dead_letter_ttl: Duration = "7d",
        /// Dead letters that a tenant may have. The oldest of those beyond go to the archive.
        dead_letters_per_tenant: u32 = "10000",
        /// The folder where dead letters go when their time is over or there are too many, as
        /// `webhooks/TENANT/DATE/ID.json`. Nothing leaves the store before it is there. Left out:
        /// `archive` in the data folder with SQLite. With PostgreSQL, dead letters then stay in the
        /// database until they are replayed or purged: name a folder that all nodes share and that
        /// outlasts them.
        archive_dir: Option<PathBuf> = "",
        /// An endpoint that has only failed for so long is switched off. Its owner is warned at half
        /// that time.
        failing_for: Duration = "5d",
    }
    "Notices" {
        /// Where the operator's notices go: endpoints switched off, deliveries given up.
        notify_url: Option<Link> = "",
        /// What they are signed with, in the form of Standard Webhooks.
        notify_secret: Option<Hidden> = "",
    }
    "Watching" {
        /// How log lines look; `auto` is pretty on a terminal and JSON elsewhere.
        log_format: LogFormat = "auto",
        /// Which log lines there are: `error`, `warn`, `info`, `debug` or `trace`, or by part, such as
        /// `info,gancho_engine=debug`.
        log_level: String = "info",
        /// Show `/metrics` to everyone. Otherwise it takes the admin token.
        metrics_public: bool = "false",
        /// Show `/metrics` to programs on this machine without the token, while the API listens on this
        /// machine only and the request carries no header of a proxy (`X-Forwarded-For`, `Forwarded`,
        /// `Via`). Set it to false where a proxy on this machine passes requests on without one.
        metrics_local: bool = "true",
    }
}
