//! `gancho login` and `gancho logout`: servers and keys as named profiles in the user's own file.

use std::{
    io::{IsTerminal, Write},
    path::PathBuf,
};

use clap::Args;
use serde_json::json;

use super::{
    Failure, client, input,
    table::{self, Table, cell, flexible},
};
use crate::{
    login_profiles::{self, LoginProfile, LoginProfiles},
    remote::{Remote, ServerUrl},
    settings::Secret,
};

/// Store a server and a key, so that the other commands call it.
///
/// The key is asked for, or read from standard input, a file or GANCHO_API_KEY. It is checked first, and
/// stored in a file that only you can read.
#[derive(Debug, Args)]
pub struct Login {
    /// URL of the server, e.g. https://gancho.example.com.
    #[arg(long, env = "GANCHO_URL", value_name = "URL")]
    server: Option<String>,
    /// Name of the profile. The profile `default` is used by commands that name none.
    #[arg(long, env = "GANCHO_PROFILE", value_name = "NAME", default_value = login_profiles::DEFAULT)]
    profile: String,
    /// Read the API key or operator token from this file, or from standard input if it is `-`.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Tenant to act for with the operator token, if a command names none.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
    /// Certificate authority (PEM) to trust in addition to the system's.
    #[arg(long, env = "GANCHO_CA_FILE", value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// List the profiles, without their keys, and exit.
    #[arg(long)]
    list: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Remove a profile and its key from this machine.
///
/// The key itself stays valid.
#[derive(Debug, Args)]
pub struct Logout {
    /// Name of the profile.
    #[arg(long, env = "GANCHO_PROFILE", value_name = "NAME", default_value = login_profiles::DEFAULT)]
    profile: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Login {
    pub async fn run(self) -> anyhow::Result<()> {
        let mut profiles = LoginProfiles::load()?;
        if self.list {
            return list(&profiles, self.json);
        }
        if self.profile == login_profiles::LOCAL {
            return Err(Failure::usage(
                "`local` is the gateway of this machine, which needs no login. hint: choose another name",
            ));
        }
        let Some(server) = &self.server else {
            return Err(Failure::usage(
                "no server is named. hint: gancho login --server https://gancho.example.com",
            ));
        };
        let server: ServerUrl =
            server.parse().map_err(|error| Failure::usage(format!("{error}")))?;
        let ca_file = self.ca_file.as_ref().map(std::path::absolute).transpose()?;
        let trust = client::trust(ca_file.as_deref())?;
        let key = self.key(&server)?;
        let remote = Remote::new(server.clone(), Some(key.clone()), &trust);
        let is_operator = check(&remote).await?;
        if let Some(tenant) = &self.tenant {
            // The tenant must exist, and be the key's own.
            remote.acting_for(tenant)?.get("/v1/usage").await?;
        }
        let profile = LoginProfile {
            server: server.to_string(),
            key: key.reveal().to_owned(),
            tenant: self.tenant,
            ca_file,
        };
        profiles.put(&self.profile, profile)?;
        let who = if is_operator { "operator" } else { "api_key" };
        if self.json {
            let server = server.to_string();
            return table::json(&json!({ "profile": self.profile, "server": server, "as": who }));
        }
        let who = if is_operator { "as the operator" } else { "with an API key" };
        table::say(&format!("Logged in to {server} {who}."))?;
        let how = match self.profile.as_str() {
            login_profiles::DEFAULT => "Commands use it from now on".to_owned(),
            name => format!("Use it with --profile {name}, or GANCHO_PROFILE={name}"),
        };
        table::say(&format!("{how}; it is stored in {}.", profiles.path().display()))
    }

    fn key(&self, server: &ServerUrl) -> anyhow::Result<Secret> {
        let key = match &self.key_file {
            Some(path) => input::secret(path)?,
            None => match client::key_of_environment() {
                Some(key) => return Ok(key),
                None if std::io::stdin().is_terminal() => {
                    anstream::eprint!("API key or operator token of {server}: ");
                    std::io::stderr().flush()?;
                    let key = input::hidden_line()?;
                    anstream::eprintln!();
                    key
                }
                None => input::secret("-".as_ref())?,
            },
        };
        match key.trim() {
            "" => {
                Err(Failure::usage("the key is empty. hint: type it, or pass it on standard input"))
            }
            key => Ok(Secret::new(key)),
        }
    }
}

/// Calls the server with the key. Returns whether it is the operator's token.
async fn check(remote: &Remote) -> anyhow::Result<bool> {
    if !remote.has_api_key() {
        remote.get("/v1/tenants?limit=1").await?;
        return Ok(true);
    }
    match remote.get("/v1/usage").await {
        // A key that may only publish is valid too.
        Err(error) if error.code() != "missing_scope" => Err(error.into()),
        _ => Ok(false),
    }
}

fn list(profiles: &LoginProfiles, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        let one = |(name, profile): (&String, &LoginProfile)| json!({ "profile": name, "server": profile.server, "tenant": profile.tenant, "ca_file": profile.ca_file });
        return table::json(&json!({ "data": profiles.all().map(one).collect::<Vec<_>>() }));
    }
    let mut shown = Table::new(&["profile", "server", "key", "tenant"]);
    for (name, profile) in profiles.all() {
        let kind = if profile.key.starts_with("gk_") { "API key" } else { "operator token" };
        let tenant = profile.tenant.as_deref().unwrap_or_default();
        shown.row([cell(name), flexible(&profile.server), cell(kind), cell(tenant)]);
    }
    if profiles.all().next().is_none() {
        return table::say("There are no profiles yet. Make one with `gancho login --server URL`.");
    }
    shown.print()
}

impl Logout {
    pub fn run(self) -> anyhow::Result<()> {
        let had = LoginProfiles::load()?.remove(&self.profile)?;
        if self.json {
            return table::json(&json!({ "profile": self.profile, "removed": had }));
        }
        if had {
            return table::say(&format!("Removed the profile {} and its key.", self.profile));
        }
        table::say(&format!("There is no profile {}.", self.profile))
    }
}
