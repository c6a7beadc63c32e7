//! `gancho emails caught`: e-mails that the sink captured instead of sending them.

use clap::Args;

use crate::{
    commands::{
        client::ClientArgs,
        table::{self, Table, cell, text, when},
    },
    remote::{Remote, part},
};

#[derive(Debug, Args)]
pub struct Caught {
    /// Id of the e-mail (out_…) whose raw message to print. Default: list all captured e-mails.
    outbox_id: Option<String>,
    #[command(flatten)]
    client: ClientArgs,
}

impl Caught {
    pub async fn run(self) -> anyhow::Result<()> {
        let remote = self.client.gateway().await?;
        if let Some(id) = &self.outbox_id {
            return letter(&remote, id, self.client.json).await;
        }
        let found = remote.get("/v1/dev/letters").await?;
        if self.client.json {
            return table::json(&found);
        }
        let letters = found["data"].as_array().map(Vec::as_slice).unwrap_or_default();
        if letters.is_empty() {
            return table::say("No e-mails were captured since this gateway started.");
        }
        let mut shown = Table::new(&["e-mail", "captured", "from", "to", "subject", "bytes"]);
        for letter in letters {
            shown.row([
                cell(text(&letter["outboxId"])),
                cell(when(&letter["caughtAt"])),
                cell(text(&letter["from"])),
                cell(text(&letter["to"])),
                cell(text(&letter["subject"])),
                cell(text(&letter["size"])),
            ]);
        }
        shown.print()
    }
}

/// Prints the message as it would have been sent, except for the line endings.
pub async fn letter(remote: &Remote, id: &str, json: bool) -> anyhow::Result<()> {
    let letter = remote.get(&format!("/v1/dev/letters/{}", part(id))).await?;
    if json {
        return table::json(&letter);
    }
    let raw = text(&letter["raw"]);
    raw.lines().try_for_each(|line| table::say(&table::clean(line)))
}
