//! `gancho dlq export`: dead letters as JSON lines.

use std::{
    fs::File,
    io::{BufWriter, ErrorKind, Write},
    path::PathBuf,
};

use anyhow::Context;
use clap::Args;

use super::{Filter, letters_of, total};
use crate::commands::{Failure, client::AnyTenantArgs, progress::Progress};

#[derive(Debug, Args)]
pub struct Export {
    /// File to write to, which must not exist yet. Default: standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

impl Export {
    pub async fn run(self) -> anyhow::Result<()> {
        let remote = self.acting.gateway().await?;
        let expected = total(&remote, &self.filter).await?;
        let mut stream = remote.stream(&self.filter.path("/v1/dlq/export")).await?;
        let mut out: Box<dyn Write> = match &self.output {
            Some(path) => {
                let file = File::create_new(path);
                let file = file.with_context(|| format!("cannot create {}", path.display()))?;
                Box::new(BufWriter::new(file))
            }
            None => Box::new(BufWriter::new(std::io::stdout())),
        };
        let mut written = 0;
        let mut progress = Progress::new("exporting", expected);
        loop {
            let piece = match stream.next().await {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                Err(error) => {
                    out.flush()?;
                    drop(progress);
                    return Err(Failure::partly(format!(
                        "{error}; {} were written",
                        letters_of(written)
                    )));
                }
            };
            written += piece.split(|byte| *byte == b'\n').count() as u64 - 1;
            match out.write_all(&piece) {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
                other => other.context("cannot write the dead letters")?,
            }
            progress.at(written);
        }
        match out.flush() {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            other => other.context("cannot write the dead letters")?,
        }
        drop(progress);
        anstream::eprintln!("{} written", letters_of(written));
        Ok(())
    }
}
