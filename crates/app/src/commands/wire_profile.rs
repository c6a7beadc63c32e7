//! Wire formats by their names: built in, or defined in a configuration file.

use std::path::PathBuf;

use clap::Args;
use gancho_wire::Profile;

use super::Failure;
use crate::settings;

/// Where wire formats of the operator's own are defined.
#[derive(Debug, Args)]
pub struct ProfileFile {
    /// Configuration file that defines the wire format, if it is not built in: [profiles.NAME].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl ProfileFile {
    pub fn find(&self, name: &str) -> anyhow::Result<Profile> {
        let own = match &self.config {
            Some(path) => settings::profiles_in(path)?,
            None => Vec::new(),
        };
        let mut all = Profile::built_in().into_iter().chain(own);
        all.find(|profile| profile.name == name).ok_or_else(|| {
            Failure::usage(format!(
                "there is no wire format `{name}`. hint: standard, email-gateway, auracore, saas, svix, convoy or outpost; \
                 for one of your own, name the file that defines it with --config"
            ))
        })
    }
}
