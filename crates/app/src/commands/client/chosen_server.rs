//! Finds the gateway that a command calls, and its key. In this order: `--server` or `--profile`, then
//! `GANCHO_URL` or `GANCHO_PROFILE`, then the profile `default` of `gancho login`, then the gateway that runs
//! with this machine's settings, then that of `gancho dev`.
//!
//! A key is sent only to its own server: that of a profile to the profile's server, the token of a data
//! directory to the gateway of this machine.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use rustls::pki_types::{CertificateDer, pem::PemObject};

use crate::{
    commands::{Failure, input},
    dev_gateway,
    login_profiles::{self, LoginProfile, LoginProfiles},
    logs, operator_token,
    remote::{Remote, ServerUrl, TrustedRoots},
    settings::{self, Flags, Secret, Settings},
};

/// Which gateway to call.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Server")]
pub struct ServerArgs {
    /// URL of the server. Default: the variable GANCHO_URL, or else the profile of `gancho login`, or else the
    /// gateway of this machine.
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Named profile of `gancho login`. `local` is the gateway of this machine. Default: the variable
    /// GANCHO_PROFILE.
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Read the API key or operator token from this file, or from standard input if it is `-`. Default: the
    /// variable GANCHO_API_KEY, or else the key of the profile.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Certificate authority (PEM) to trust in addition to the system's.
    #[arg(long, env = "GANCHO_CA_FILE", value_name = "FILE")]
    ca_file: Option<PathBuf>,
}

/// What the user names.
struct NamedServer {
    server: Option<String>,
    profile: Option<String>,
}

/// A gateway, and the tenant that the profile names.
pub struct ChosenServer {
    pub remote: Remote,
    pub tenant: Option<String>,
}

impl ServerArgs {
    pub async fn choose(&self) -> anyhow::Result<ChosenServer> {
        let profiles = LoginProfiles::load()?;
        let named = self.named();
        let profile = named.profile(&profiles)?;
        let server = named.server.as_deref().or(profile.map(|profile| profile.server.as_str()));
        let Some(server) = server else { return self.of_this_machine().await };
        let server: ServerUrl =
            server.parse().map_err(|error| Failure::usage(format!("{error}")))?;
        if let (Some(profile), Some(_)) = (profile, &named.server)
            && !is_of(profile, &server)
        {
            return Err(Failure::usage(format!(
                "--server ({server}) and --profile ({}) name two servers. hint: pass only one of them",
                profile.server
            )));
        }
        let profile = profile.or_else(|| of_server(&profiles, &server));
        let key = match self.own_key()? {
            Some(key) => key,
            None => match profile {
                Some(profile) => Secret::new(&profile.key),
                None => match token_of_this_machine(&server)? {
                    Some(token) => token,
                    None => dev_gateway::token(&server).ok_or_else(|| no_key(&server))?,
                },
            },
        };
        let ca_file =
            self.ca_file.as_deref().or(profile.and_then(|profile| profile.ca_file.as_deref()));
        logs::start(settings::LogFormat::Auto, logs::QUIET);
        let remote = Remote::new(server, Some(key), &trust(ca_file)?);
        Ok(ChosenServer { remote, tenant: profile.and_then(|profile| profile.tenant.clone()) })
    }

    /// Whether a command is for the gateway of this machine's settings.
    pub fn is_this_machine(&self) -> anyhow::Result<bool> {
        let named = self.named();
        Ok(named.server.is_none() && named.profile(&LoginProfiles::load()?)?.is_none())
    }

    /// Returns what the flags name, or else the environment.
    fn named(&self) -> NamedServer {
        if self.server.is_some() || self.profile.is_some() {
            return NamedServer { server: self.server.clone(), profile: self.profile.clone() };
        }
        NamedServer { server: variable("GANCHO_URL"), profile: variable("GANCHO_PROFILE") }
    }

    /// Returns the key that is given for this call.
    fn own_key(&self) -> anyhow::Result<Option<Secret>> {
        if let Some(path) = &self.key_file {
            return Ok(Some(Secret::new(input::secret(path)?.trim())));
        }
        Ok(key_of_environment())
    }

    async fn of_this_machine(&self) -> anyhow::Result<ChosenServer> {
        let settings = settings::load(&Flags::default())?.settings;
        logs::start(settings.log_format, logs::QUIET);
        let chosen = |remote| Ok(ChosenServer { remote, tenant: None });
        if let Some(key) = self.own_key()? {
            return chosen(Remote::at(settings.api_listen, key));
        }
        if let Some(remote) = find(&settings).await? {
            return chosen(remote);
        }
        if let Some(remote) = dev_gateway::find().await {
            return chosen(remote);
        }
        if Remote::open_to_all(settings.api_listen).get("/healthz").await.is_ok() {
            return Err(Failure::unauthorized(format!(
                "there is no key here for the gateway on {} (api_listen). hint: set GANCHO_API_KEY, or run this in the directory where the gateway was started",
                settings.api_listen
            )));
        }
        Err(Failure::unreachable(format!(
            "no gateway is running on {} (api_listen). hint: start one with `gancho serve` or `gancho dev`, or name another one with --server URL (GANCHO_URL)",
            settings.api_listen
        )))
    }
}

pub fn key_of_environment() -> Option<Secret> {
    let key = variable("GANCHO_API_KEY")?;
    Some(key.trim()).filter(|key| !key.is_empty()).map(Secret::new)
}

impl NamedServer {
    fn profile<'a>(&self, profiles: &'a LoginProfiles) -> anyhow::Result<Option<&'a LoginProfile>> {
        let name = match self.profile.as_deref() {
            Some(login_profiles::LOCAL) => return Ok(None),
            Some(name) => name,
            // A named server takes precedence over the default profile.
            None if self.server.is_some() => return Ok(None),
            None => return Ok(profiles.get(login_profiles::DEFAULT)),
        };
        if let Some(profile) = profiles.get(name) {
            return Ok(Some(profile));
        }
        let names: Vec<&str> = profiles.all().map(|(name, _)| name.as_str()).collect();
        let known = if names.is_empty() { "there are none yet".into() } else { names.join(", ") };
        Err(Failure::usage(format!(
            "there is no profile `{name}`. hint: `gancho login --profile {name} --server URL` makes it; profiles: {known}"
        )))
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a flag overrides it, and clap does not tell them apart"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn of_server<'a>(profiles: &'a LoginProfiles, server: &ServerUrl) -> Option<&'a LoginProfile> {
    profiles.all().map(|(_, profile)| profile).find(|profile| is_of(profile, server))
}

fn is_of(profile: &LoginProfile, server: &ServerUrl) -> bool {
    profile.server.parse::<ServerUrl>().is_ok_and(|own| own == *server)
}

/// Returns the operator's token, if the server is the gateway of this machine's settings.
fn token_of_this_machine(server: &ServerUrl) -> anyhow::Result<Option<Secret>> {
    if !server.is_local() {
        return Ok(None);
    }
    let Ok(loaded) = settings::load(&Flags::default()) else { return Ok(None) };
    if loaded.settings.api_listen.port() == server.port {
        return operator_token::find(&loaded.settings);
    }
    Ok(None)
}

fn no_key(server: &ServerUrl) -> anyhow::Error {
    Failure::unauthorized(format!(
        "there is no key for {server}. hint: run `gancho login --server {server}`, or set GANCHO_API_KEY"
    ))
}

/// Reads the certificate authorities of a PEM file.
pub fn trust(path: Option<&Path>) -> anyhow::Result<TrustedRoots> {
    let Some(path) = path else { return Ok(TrustedRoots::default()) };
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let certificates = read
        .map_err(|error| anyhow::anyhow!("{error}"))
        .with_context(|| format!("cannot read the certificate authority {}", path.display()))?;
    if certificates.is_empty() {
        bail!("{} contains no certificate. hint: it must be PEM", path.display());
    }
    Ok(TrustedRoots(certificates))
}

/// Finds the gateway that is running with these settings: one that accepts the token of this data
/// directory.
pub async fn find(settings: &Settings) -> anyhow::Result<Option<Remote>> {
    let Some(token) = operator_token::find(settings)? else { return Ok(None) };
    let remote = Remote::at(settings.api_listen, token);
    match remote.get("/v1/tenants?limit=1").await {
        Ok(_) => Ok(Some(remote)),
        Err(error) if error.is_unreachable() => Ok(None),
        // Another gateway has the address; that of `gancho dev` is tried next.
        Err(error)
            if error.code() == "invalid_credentials" && dev_gateway::find().await.is_some() =>
        {
            Ok(None)
        }
        Err(error) => Err(error).context(format!(
            "the server on {} (api_listen) is not a gateway with these settings",
            settings.api_listen
        )),
    }
}
