//! `gancho dlq export`: dead letters as JSON lines.

use clap::Args;

use super::{Filter, total};
use crate::commands::{client::AnyTenantArgs, download::Download};

#[derive(Debug, Args)]
pub struct Export {
    #[command(flatten)]
    download: Download,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

impl Export {
    pub async fn run(self) -> anyhow::Result<()> {
        let remote = self.acting.gateway().await?;
        let expected = total(&remote, &self.filter).await?;
        let path = self.filter.path("/v1/dlq/export");
        self.download.run(&remote, &path, "dead letter", expected).await
    }
}
