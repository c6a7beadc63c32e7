//! `gancho emails captured`: e-mails that the sink captured instead of sending them.

use clap::Args;

use crate::{
    commands::{
        client::ClientArgs,
        table::{self, Table, cell, text, when},
    },
    remote::{Remote, part},
};

#[derive(Debug, Args)]
pub struct Captured {
    /// Id of the e-mail (out_…) whose raw message to print. Default: list all captured e-mails.
    outbox_id: Option<String>,
    #[command(flatten)]
    client: ClientArgs,
}

impl Captured {
    pub async fn run(self) -> anyhow::Result<()> {
        let remote = self.client.gateway().await?;
        if let Some(id) = &self.outbox_id {
            return email(&remote, id, self.client.json).await;
        }
        let found = remote.get("/v1/dev/emails").await?;
        if self.client.json {
            return table::json(&found);
        }
        let emails = found["data"].as_array().map(Vec::as_slice).unwrap_or_default();
        if emails.is_empty() {
            return table::say("No e-mails were captured since this gateway started.");
        }
        let mut shown = Table::new(&["e-mail", "captured", "from", "to", "subject", "bytes"]);
        for email in emails {
            shown.row([
                cell(text(&email["outboxId"])),
                cell(when(&email["caughtAt"])),
                cell(text(&email["from"])),
                cell(text(&email["to"])),
                cell(text(&email["subject"])),
                cell(text(&email["size"])),
            ]);
        }
        shown.print()
    }
}

/// Prints the message as it would have been sent, except for the line endings.
pub async fn email(remote: &Remote, id: &str, json: bool) -> anyhow::Result<()> {
    let email = remote.get(&format!("/v1/dev/emails/{}", part(id))).await?;
    if json {
        return table::json(&email);
    }
    let raw = text(&email["raw"]);
    raw.lines().try_for_each(|line| table::say(&table::clean(line)))
}
