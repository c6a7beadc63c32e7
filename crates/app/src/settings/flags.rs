//! Settings on the command line. They override the file and the environment.

use std::path::PathBuf;

use clap::Args;

use super::{
    error::{Origin, SettingError, ValueError},
    layers::Layers,
    raw_value::RawValue,
};

/// The flags of every command that reads the settings.
#[derive(Debug, Default, Clone, Args)]
#[command(next_help_heading = "Settings")]
pub struct Flags {
    /// Configuration file. Default: gancho.toml in the current directory, then in the data directory.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Data directory: database, key ring and operator token.
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<String>,
    /// Database: sqlite:PATH or postgres://… Default: gancho.db in the data directory.
    #[arg(long, value_name = "URL")]
    pub database_url: Option<String>,
    /// Listen address of the API.
    #[arg(long, value_name = "ADDRESS")]
    pub api_listen: Option<String>,
    /// Allow http:// endpoints in addition to https://.
    #[arg(long)]
    pub allow_http: bool,
    /// Private networks that tenants' endpoints may be in.
    #[arg(long, value_name = "CIDR", value_delimiter = ',')]
    pub allow_cidrs: Vec<String>,
    /// Log format: auto, pretty or json.
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<String>,
    /// Log level: error, warn, info, debug or trace.
    #[arg(long, value_name = "LEVEL")]
    pub log_level: Option<String>,
    /// Set any other setting (see `gancho config --reference`). Can be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Roles to run, from the commands that have such a flag.
    #[arg(skip)]
    pub roles: Vec<String>,
}

impl Flags {
    pub fn add_to(&self, layers: &mut Layers, problems: &mut Vec<SettingError>) {
        let flag = |name: &str| Origin::Flag(format!("--{}", name.replace('_', "-")));
        for (name, value) in [
            ("data_dir", &self.data_dir),
            ("database_url", &self.database_url),
            ("api_listen", &self.api_listen),
            ("log_format", &self.log_format),
            ("log_level", &self.log_level),
        ] {
            if let Some(value) = value {
                layers.put(name, flag(name), RawValue::One(value.clone()), problems);
            }
        }
        if self.allow_http {
            layers.put("allow_http", flag("allow_http"), RawValue::One("true".into()), problems);
        }
        for (name, list, flag) in
            [("allow_cidrs", &self.allow_cidrs, "--allow-cidrs"), ("roles", &self.roles, "--role")]
        {
            if !list.is_empty() {
                let origin = Origin::Flag(flag.to_owned());
                layers.put(name, origin, RawValue::Many(list.clone()), problems);
            }
        }
        for pair in &self.set {
            let origin = Origin::Flag("--set".to_owned());
            match pair.split_once('=') {
                Some((name, value)) => {
                    layers.put(name.trim(), origin, RawValue::One(value.to_owned()), problems);
                }
                // Not repeated in the message: it may be a secret without its key.
                None => problems.push(
                    ValueError::new(
                        "not of the form KEY=VALUE",
                        "for example, --set publish_rate=100/s",
                    )
                    .at("--set", origin),
                ),
            }
        }
    }
}
