//! `gancho import`: imports endpoints with their secrets from Svix, Convoy or Outpost.
//!
//! `record` is an imported object, and the line of an export file; `svix`, `convoy` and `outpost` read the
//! API of a service; `write` creates what the gateway does not have yet.

mod convoy;
mod outpost;
mod record;
mod svix;
mod write;

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};

use super::{Failure, client::ClientArgs};
use crate::{
    remote::{Remote, ServerUrl, TrustedRoots},
    settings::Secret,
};
use record::Record;
use write::Writer;

/// Import endpoints with their secrets from Svix, Convoy or Outpost.
///
/// What exists is left as it is, so that an import can be repeated. Endpoints keep their secrets and the format that
/// their receivers verify. Takes the operator's token.
#[derive(Debug, Args)]
pub struct Import {
    #[command(subcommand)]
    from: From,
}

#[derive(Debug, Subcommand)]
enum From {
    /// Import applications, endpoints and event types from Svix.
    Svix(SourceArgs),
    /// Import the endpoints of a project from Convoy.
    Convoy(ConvoyArgs),
    /// Import tenants and webhook destinations from Outpost.
    Outpost(SourceArgs),
}

#[derive(Debug, Args)]
struct ConvoyArgs {
    /// Id of the project.
    #[arg(long, value_name = "ID", required_unless_present = "file")]
    project: Option<String>,
    #[command(flatten)]
    source: SourceArgs,
}

#[derive(Debug, Args)]
struct SourceArgs {
    /// URL of the service's API.
    #[arg(long, value_name = "URL", conflicts_with = "file")]
    from_url: Option<ServerUrl>,
    /// API token of the service.
    #[arg(long, env = "GANCHO_IMPORT_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// File to read instead: JSON lines.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Profile of the endpoints. Default: the one that receivers of the service verify.
    #[arg(long, value_name = "NAME")]
    wire_profile: Option<String>,
    /// Show what would be created, and create nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    client: ClientArgs,
}

impl SourceArgs {
    fn source(&self) -> anyhow::Result<Remote> {
        let Some(url) = self.from_url.clone() else {
            return Err(Failure::usage("nothing to read from. hint: pass --from-url or --file"));
        };
        let token = self.token.as_deref().map(str::trim).filter(|token| !token.is_empty());
        let Some(token) = token else {
            return Err(Failure::usage(
                "no token for the service. hint: pass --token, or set GANCHO_IMPORT_TOKEN",
            ));
        };
        Ok(Remote::new(url, Some(Secret::new(token)), &TrustedRoots::default()))
    }

    fn records_of_file(&self) -> anyhow::Result<Option<Vec<Record>>> {
        self.file.as_deref().map(read_file).transpose()
    }

    async fn write(self, records: Vec<Record>, profile: &str) -> anyhow::Result<()> {
        let gateway = self.client.gateway().await?;
        let profile = self.wire_profile.as_deref().unwrap_or(profile);
        Writer::new(gateway, profile, self.dry_run).run(&records, self.client.json).await
    }
}

fn read_file(path: &Path) -> anyhow::Result<Vec<Record>> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = |(number, line): (usize, &str)| {
        let record: anyhow::Result<Record> = serde_json::from_str(line).map_err(Into::into);
        record
            .and_then(|record| record.check().map(|()| record))
            .with_context(|| format!("line {} of {} is not valid", number + 1, path.display()))
    };
    lines.map(read).collect()
}

impl Import {
    pub async fn run(self) -> anyhow::Result<()> {
        match self.from {
            From::Svix(args) => {
                let records = match args.records_of_file()? {
                    Some(records) => records,
                    None => svix::read(&args.source()?).await?,
                };
                args.write(records, "svix").await
            }
            From::Convoy(ConvoyArgs { project, source }) => {
                let records = match source.records_of_file()? {
                    Some(records) => records,
                    None => convoy::read(&source.source()?, &project.unwrap_or_default()).await?,
                };
                source.write(records, "convoy").await
            }
            From::Outpost(args) => {
                let records = match args.records_of_file()? {
                    Some(records) => records,
                    None => outpost::read(&args.source()?).await?,
                };
                args.write(records, "outpost").await
            }
        }
    }
}
