//! `gancho emails send`: from flags, or from the JSON body of the API.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use data_encoding::BASE64;
use serde_json::{Value, json};

use crate::{
    commands::{
        Failure,
        client::TenantArgs,
        input::{self, Draft},
        table::{self, text},
    },
    paint::DIM,
};

#[derive(Debug, Args)]
pub struct Send {
    /// File with the JSON body of POST /v1/email/send, or `-` for standard input, instead of the flags below.
    #[arg(conflicts_with_all = ["from", "to", "subject", "text", "text_file", "html_file", "reply_to", "attach", "external_id", "idempotency_key"])]
    file: Option<PathBuf>,
    /// Sender, e.g. "Shop <shop@example.com>".
    #[arg(long, value_name = "ADDRESS")]
    from: Option<String>,
    /// Recipient. An e-mail has exactly one.
    #[arg(long, value_name = "ADDRESS")]
    to: Option<String>,
    /// Subject line.
    #[arg(long)]
    subject: Option<String>,
    /// Plain-text body.
    #[arg(long, conflicts_with = "text_file")]
    text: Option<String>,
    /// File with the plain-text body, or `-` for standard input.
    #[arg(long, value_name = "FILE")]
    text_file: Option<PathBuf>,
    /// File with the HTML body, or `-` for standard input.
    #[arg(long, value_name = "FILE")]
    html_file: Option<PathBuf>,
    /// Reply-To address.
    #[arg(long, value_name = "ADDRESS")]
    reply_to: Option<String>,
    /// File to attach. Can be repeated.
    #[arg(long, value_name = "FILE")]
    attach: Vec<PathBuf>,
    /// Your own id for the e-mail, included in every event about it.
    #[arg(long, value_name = "ID")]
    external_id: Option<String>,
    /// Idempotency key: the same key within 24 hours sends no second e-mail.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    acting: TenantArgs,
}

impl Send {
    pub async fn run(self) -> anyhow::Result<()> {
        let remote = self.acting.gateway().await?;
        let made = match &self.file {
            Some(path) => remote.post("/v1/email/send", &input::json(path)?).await?,
            None => remote.post("/v1/email/send", &self.draft()?).await?,
        };
        if self.acting.client.json {
            return table::json(&made);
        }
        let id = text(&made["outboxId"]);
        table::say(&id)?;
        anstream::eprintln!("{DIM}Follow it with `gancho emails show {id}`{DIM:#}");
        Ok(())
    }

    fn draft(&self) -> anyhow::Result<Draft> {
        let needed = |value: &Option<String>, flag: &str| {
            value.clone().ok_or_else(|| {
                Failure::usage(format!(
                    "--{flag} is required. hint: alternatively, pass a file with JSON"
                ))
            })
        };
        let mut draft = Draft::default();
        draft.put("from", needed(&self.from, "from")?)?;
        draft.put("to", needed(&self.to, "to")?)?;
        draft.put("subject", needed(&self.subject, "subject")?)?;
        let text = match &self.text_file {
            Some(path) => Some(input::text(path)?),
            None => self.text.clone(),
        };
        draft.maybe("text", text)?;
        draft.maybe("html", self.html_file.as_deref().map(input::text).transpose()?)?;
        draft.maybe("replyTo", self.reply_to.as_ref())?;
        if !self.attach.is_empty() {
            let files = self.attach.iter().map(|path| attachment(path));
            draft.put("attachments", files.collect::<anyhow::Result<Vec<_>>>()?)?;
        }
        draft.maybe("externalId", self.external_id.as_ref())?;
        draft.maybe("idempotencyKey", self.idempotency_key.as_ref())?;
        Ok(draft)
    }
}

fn attachment(path: &Path) -> anyhow::Result<Value> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(json!({ "filename": name.unwrap_or_default(), "content": BASE64.encode(&bytes) }))
}
