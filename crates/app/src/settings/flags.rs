//! Settings on the command line. They cover what the file and the environment say.

use std::path::PathBuf;

use clap::Args;

use super::{
    fault::{Fault, Origin, Wrong},
    layers::{Layers, Written},
};

/// The flags that every command with settings takes.
#[derive(Debug, Default, Clone, Args)]
#[command(next_help_heading = "Settings")]
pub struct Flags {
    /// The settings file. Left out: gancho.toml here, or else in the data folder, if it is there.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where the database, the key ring and the admin token are kept.
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<String>,
    /// Another database than the one in the data folder: sqlite:PATH or postgres://…
    #[arg(long, value_name = "URL")]
    pub database_url: Option<String>,
    /// The address of the API.
    #[arg(long, value_name = "ADDRESS")]
    pub api_listen: Option<String>,
    /// Allow http:// endpoints.
    #[arg(long)]
    pub allow_http: bool,
    /// Networks that endpoints may be in although they are private.
    #[arg(long, value_name = "CIDR", value_delimiter = ',')]
    pub allow_cidrs: Vec<String>,
    /// How log lines look: auto, pretty or json.
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<String>,
    /// Which log lines there are: error, warn, info, debug, trace.
    #[arg(long, value_name = "LEVEL")]
    pub log_level: Option<String>,
    /// Any other setting (see `gancho config --reference`); may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Parts to run, from the commands that have such a flag.
    #[arg(skip)]
    pub roles: Vec<String>,
}

impl Flags {
    pub fn add_to(&self, layers: &mut Layers, faults: &mut Vec<Fault>) {
        let flag = |name: &str| Origin::Flag(format!("--{}", name.replace('_', "-")));
        for (name, value) in [
            ("data_dir", &self.data_dir),
            ("database_url", &self.database_url),
            ("api_listen", &self.api_listen),
            ("log_format", &self.log_format),
            ("log_level", &self.log_level),
        ] {
            if let Some(value) = value {
                layers.put(name, flag(name), Written::One(value.clone()), faults);
            }
        }
        if self.allow_http {
            layers.put("allow_http", flag("allow_http"), Written::One("true".into()), faults);
        }
        for (name, list, flag) in
            [("allow_cidrs", &self.allow_cidrs, "--allow-cidrs"), ("roles", &self.roles, "--role")]
        {
            if !list.is_empty() {
                let origin = Origin::Flag(flag.to_owned());
                layers.put(name, origin, Written::Many(list.clone()), faults);
            }
        }
        for pair in &self.set {
            let origin = Origin::Flag("--set".to_owned());
            match pair.split_once('=') {
                Some((name, value)) => {
                    layers.put(name.trim(), origin, Written::One(value.to_owned()), faults);
                }
                // What stands there may be a secret without its key.
                None => faults.push(
                    Wrong::new("this is not KEY=VALUE", "write --set publish_rate=100/s")
                        .at("--set", origin),
                ),
            }
        }
    }
}
