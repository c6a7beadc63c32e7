//! The setup of a gateway: from the settings, or for `pipe` and `bench` with defaults for a database.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context;

use gancho_domain::{Rate, RetryPlan};
use gancho_engine::Limits;
use gancho_inbound::{SnsHosts, SourceDefaults};
use gancho_mail::{
    ses::SesSettings,
    smtp::{SmtpServer, SmtpSettings},
};
use gancho_outbound::{Plan, Plans, health};
use gancho_store::NodeFacts;
use gancho_traces::{TraceSettings, TraceSettingsError};
use gancho_wire::Profile;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::{
    AlertSettings, ArchiveSetup,
    lanes::Lanes,
    mailing::{MailSetup, TransportSettings},
    receiving::ReceivingSetup,
};

use crate::{
    database,
    key_ring::{self, RingSource},
    settings::{DatabaseUrl, EmailVia, LoadedSettings, Role, Secret, Settings, address_policy},
};

pub struct Setup {
    pub database_url: String,
    pub store: database::Options,
    pub ring: RingSource,
    /// The HTTP client for tenants' endpoints.
    pub client: gancho_egress::Settings,
    /// The HTTP client for the operator's own targets.
    pub own_client: gancho_egress::Settings,
    pub receiving: Option<ReceivingSetup>,
    pub mail: Option<MailSetup>,
    /// The archive of dead letters. Without one they stay in the store.
    pub archive: Option<ArchiveSetup>,
    pub limits: Limits,
    pub lanes: Lanes,
    /// Profiles in addition to the built-in ones.
    pub profiles: Vec<Profile>,
    pub plans: Plans,
    pub publish_rate: Option<Rate>,
    /// Maximum size of the data of an event that is published from SQL.
    pub max_event_bytes: u64,
    pub replay_rate: u32,
    pub failing_for: Duration,
    /// Whether the operator gets notices as well.
    pub has_notices: bool,
    /// Whether this node delivers.
    pub is_worker: bool,
    pub node_name: String,
    pub node_facts: NodeFacts,
    /// The directory whose disk is measured.
    pub data_dir: Option<PathBuf>,
    /// `None` if neither alerts nor notices are sent.
    pub alerts: Option<AlertSettings>,
    /// `None` if traces are off.
    pub traces: Option<TraceSettings>,
}

impl Setup {
    /// Creates a setup without settings: everything has its default.
    pub fn plain(
        database_url: String,
        ring: impl Into<RingSource>,
        client: gancho_egress::Settings,
    ) -> Self {
        Self {
            database_url,
            store: database::Options::default(),
            ring: ring.into(),
            client,
            own_client: gancho_egress::Settings::for_dev(),
            receiving: None,
            mail: None,
            archive: None,
            limits: Limits::default(),
            lanes: Lanes::default(),
            profiles: Vec::new(),
            plans: Plans::default(),
            publish_rate: None,
            max_event_bytes: 1 << 20,
            replay_rate: 100,
            failing_for: health::FAILING_FOR,
            has_notices: false,
            is_worker: true,
            node_name: format!("gancho-{}", std::process::id()),
            node_facts: node_facts("api,ingest,worker".to_owned()),
            data_dir: None,
            alerts: None,
            traces: None,
        }
    }

    /// Creates a setup from the operator's settings.
    pub fn of(loaded: &LoadedSettings) -> anyhow::Result<Self> {
        let settings = &loaded.settings;
        let plain = Self::plain(
            database_url(settings),
            key_ring::of(settings)?,
            address_policy::client(settings)?,
        );
        let limits = Limits {
            retention: settings.retention,
            dead_letters_per_tenant: settings.dead_letters_per_tenant.into(),
            tenant_batch: settings.tenant_batch,
            ..Limits::default()
        };
        let plans = loaded.plans.iter().fold(Plans::default(), |plans, (name, plan)| {
            plans.with(name, Plan { endpoints: plan.endpoints, events: plan.events })
        });
        Ok(Self {
            store: database::Options {
                max_bytes: settings.store_max_bytes.map(|size| size.0),
                dead_letter_ttl: settings.dead_letter_ttl,
            },
            own_client: address_policy::own_client(settings)?,
            receiving: Some(ReceivingSetup {
                defaults: source_defaults(settings),
                policy_file: settings.policy_file.clone(),
                sns_hosts: SnsHosts::with(settings.sns_hosts.iter().cloned()),
                checkpoints: settings.data_dir.join("checkpoints"),
                ledger_check_interval: settings.ledger_check_interval,
                is_ingest: has_role(settings, Role::Ingest),
            }),
            mail: mail(settings)?,
            archive: ArchiveSetup::of(settings)?,
            limits,
            lanes: Lanes::of(settings),
            profiles: loaded.profiles.clone(),
            plans,
            publish_rate: settings.publish_rate,
            max_event_bytes: settings.publish_body_limit.0,
            replay_rate: settings.replay_rate,
            failing_for: settings.failing_for,
            has_notices: settings.notify_url.is_some(),
            is_worker: has_role(settings, Role::Worker),
            node_facts: node_facts(role_names(settings)),
            data_dir: Some(settings.data_dir.clone()),
            alerts: Some(AlertSettings::of(settings)?),
            traces: traces(settings, &plain.node_name)?,
            ..plain
        })
    }
}

fn source_defaults(settings: &Settings) -> SourceDefaults {
    let base = settings.dispatch_base_delay;
    let plan =
        RetryPlan::Exponential { base, max: base * 16, attempts: settings.dispatch_max_attempts };
    SourceDefaults { target_url: settings.dispatch_url.to_string(), plan: Arc::new(plan) }
}

fn mail(settings: &Settings) -> anyhow::Result<Option<MailSetup>> {
    let via = match settings.email_transport() {
        EmailVia::Off => return Ok(None),
        EmailVia::Sink => TransportSettings::Sink,
        EmailVia::Smtp => TransportSettings::Smtp(Box::new(smtp(settings)?)),
        EmailVia::Ses => TransportSettings::Ses(Box::new(ses(settings)?)),
    };
    Ok(Some(MailSetup { via, message_id_domain: settings.message_id_domain.clone() }))
}

fn smtp(settings: &Settings) -> anyhow::Result<SmtpSettings> {
    let url = settings.smtp_url.as_ref().context("smtp_url is not set")?;
    let server: SmtpServer = url.reveal().parse().context("smtp_url")?;
    let idle = settings.email_concurrency as usize;
    let smtp = SmtpSettings { idle, ..SmtpSettings::new(server) };
    match &settings.smtp_ca_file {
        Some(path) => {
            let read = fs::read(path).map_err(|error| error.to_string());
            let trusting = read.and_then(|pem| smtp.trusting(&pem));
            trusting.map_err(|why| anyhow::anyhow!("smtp_ca_file {}: {why}", path.display()))
        }
        None => Ok(smtp),
    }
}

fn ses(settings: &Settings) -> anyhow::Result<SesSettings> {
    #[expect(clippy::disallowed_methods, reason = "Amazon defines the names of these variables")]
    let look = |name: &str| match name {
        "AWS_REGION" if settings.ses_region.is_some() => settings.ses_region.clone(),
        name => std::env::var(name).ok().filter(|value| !value.is_empty()),
    };
    Ok(SesSettings {
        endpoint: settings.ses_endpoint.as_deref().cloned(),
        configuration_set: settings.ses_configuration_set.clone(),
        ..SesSettings::from_env(look).context("email_via")?
    })
}

fn traces(settings: &Settings, node: &str) -> anyhow::Result<Option<TraceSettings>> {
    let Some(endpoint) = &settings.otlp_endpoint else { return Ok(None) };
    let headers = settings.otlp_headers.as_ref().map(Secret::reveal);
    let read = TraceSettings::new(endpoint, headers, node).map_err(|error| match error {
        TraceSettingsError::Url => anyhow::anyhow!("otlp_endpoint {error}"),
        TraceSettingsError::Headers => anyhow::anyhow!("otlp_headers: {error}"),
    });
    read.map(Some)
}

fn node_facts(roles: String) -> NodeFacts {
    NodeFacts { version: env!("CARGO_PKG_VERSION").to_owned(), roles, ..NodeFacts::default() }
}

/// Returns the roles of this process, separated by commas.
pub fn role_names(settings: &Settings) -> String {
    let all = [(Role::Api, "api"), (Role::Ingest, "ingest"), (Role::Worker, "worker")];
    let active = all.into_iter().filter(|(role, _)| has_role(settings, *role));
    active.map(|(_, name)| name).collect::<Vec<_>>().join(",")
}

/// Whether this process has a role. Without configured roles, it has all of them.
pub fn has_role(settings: &Settings, role: Role) -> bool {
    settings.roles.is_empty() || settings.roles.contains(&role)
}

/// Returns the configured database, or a file in the data directory.
pub fn database_url(settings: &Settings) -> String {
    match &settings.database_url {
        Some(url) if url.reveal().starts_with("sqlite:") => url.reveal().to_owned(),
        Some(url) => with_parameters(url.reveal(), settings),
        None => format!("sqlite:{}", settings.data_dir.join("gancho.db").display()),
    }
}

/// Returns another address of the same database, or of a replica: the tables are in the same schema.
pub fn other_url(url: &str, settings: &Settings) -> String {
    with(url, &[("schema", settings.database_schema.as_deref())])
}

/// Adds settings beside the URL as its parameters, from which the store reads them.
fn with_parameters(url: &str, settings: &Settings) -> String {
    let direct = settings.database_direct_url.as_ref().map(DatabaseUrl::reveal);
    let read = settings.database_read_url.as_ref().map(DatabaseUrl::reveal);
    let schema = settings.database_schema.as_deref();
    with(url, &[("schema", schema), ("direct", direct), ("read", read)])
}

fn with(url: &str, parameters: &[(&str, Option<&str>)]) -> String {
    parameters.iter().fold(url.to_owned(), |url, (name, value)| {
        let Some(value) = value else { return url };
        let sign = if url.contains('?') { '&' } else { '?' };
        format!("{url}{sign}{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC))
    })
}
