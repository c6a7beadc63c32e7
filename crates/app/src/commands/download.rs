//! Writes a stream of JSON lines to a file or to standard output.

use std::{
    io::{BufWriter, ErrorKind, Write},
    path::PathBuf,
};

use anyhow::Context;
use clap::Args;

use super::{Failure, input, progress::Progress, table};
use crate::remote::Remote;

#[derive(Debug, Args)]
pub struct Download {
    /// File to write to, which must not exist yet. Default: standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Download {
    /// Reads the lines at a path. `noun` names a line; `expected` is their number, or 0 if it is unknown.
    pub async fn run(
        self,
        remote: &Remote,
        path: &str,
        noun: &str,
        expected: u64,
    ) -> anyhow::Result<()> {
        let mut stream = remote.stream(path).await?;
        let mut out: Box<dyn Write> = match &self.output {
            Some(path) => Box::new(BufWriter::new(input::new_file(path)?)),
            None => Box::new(BufWriter::new(std::io::stdout())),
        };
        let mut written = 0;
        let lines = |written: u64| table::many(written as usize, noun);
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
                        lines(written)
                    )));
                }
            };
            written += piece.split(|byte| *byte == b'\n').count() as u64 - 1;
            match out.write_all(&piece) {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
                other => other.with_context(|| format!("cannot write {}", lines(written)))?,
            }
            match expected {
                0 => progress.at_bytes(written, 0),
                _ => progress.at(written),
            }
        }
        match out.flush() {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            other => other.with_context(|| format!("cannot write {}", lines(written)))?,
        }
        drop(progress);
        anstream::eprintln!("{} written", lines(written));
        Ok(())
    }
}
