//! What a gateway is made from: the settings, or for `pipe` and `bench` little more than a database.

use std::time::Duration;

use gancho_domain::Rate;
use gancho_engine::Limits;
use gancho_outbound::{Plan, Plans, deliver, health};
use gancho_wire::Profile;

use crate::{
    database,
    key_ring::{self, Ring},
    policy,
    settings::{Loaded, Role, Settings},
};

pub struct Setup {
    pub database_url: String,
    pub store: database::Options,
    pub ring: Ring,
    pub client: deliver::Settings,
    pub limits: Limits,
    /// Deliveries on the wire at once.
    pub concurrency: u32,
    /// Besides those that are built in.
    pub profiles: Vec<Profile>,
    pub plans: Plans,
    pub publish_rate: Option<Rate>,
    pub replay_rate: u32,
    pub failing_for: Duration,
    /// Whether the operator wants to be told of what goes wrong.
    pub has_notices: bool,
    /// Whether this node delivers.
    pub is_worker: bool,
    pub node_name: String,
}

impl Setup {
    /// Without settings: everything as it comes.
    pub fn plain(database_url: String, ring: Ring, client: deliver::Settings) -> Self {
        Self {
            database_url,
            store: database::Options::default(),
            ring,
            client,
            limits: Limits::default(),
            concurrency: 512,
            profiles: Vec::new(),
            plans: Plans::default(),
            publish_rate: None,
            replay_rate: 100,
            failing_for: health::FAILING_FOR,
            has_notices: false,
            is_worker: true,
            node_name: format!("gancho-{}", std::process::id()),
        }
    }

    /// As the operator has decided.
    pub fn of(loaded: &Loaded) -> anyhow::Result<Self> {
        let settings = &loaded.settings;
        let plain =
            Self::plain(database_url(settings), key_ring::of(settings)?, policy::client(settings)?);
        let limits = Limits { retention: settings.retention, ..Limits::default() };
        let plans = loaded.plans.iter().fold(Plans::default(), |plans, (name, plan)| {
            plans.with(name, Plan { endpoints: plan.endpoints, events: plan.events })
        });
        Ok(Self {
            store: database::Options {
                max_bytes: settings.store_max_bytes.map(|size| size.0),
                dead_letter_ttl: settings.dead_letter_ttl,
            },
            limits,
            concurrency: settings.concurrency,
            profiles: loaded.profiles.clone(),
            plans,
            publish_rate: settings.publish_rate,
            replay_rate: settings.replay_rate,
            failing_for: settings.failing_for,
            has_notices: settings.notify_url.is_some(),
            is_worker: has_role(settings, Role::Worker),
            ..plain
        })
    }
}

/// Without any named, all there are.
pub fn has_role(settings: &Settings, role: Role) -> bool {
    settings.roles.is_empty() || settings.roles.contains(&role)
}

/// The one that was named, or a file in the data folder.
pub fn database_url(settings: &Settings) -> String {
    match &settings.database_url {
        Some(url) => url.reveal().to_owned(),
        None => format!("sqlite:{}", settings.data_dir.join("gancho.db").display()),
    }
}
