//! A gateway with all features, and an operator's commands.

use std::{
    io::Write,
    net::SocketAddr,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::gateway::{Gateway, command};

pub struct Operator {
    pub served: Gateway,
    pub folder: TempDir,
    pub ingest: SocketAddr,
    variables: Vec<(String, String)>,
}

/// The output of a command, and its exit code.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Operator {
    /// Starts a gateway that captures e-mails instead of sending them.
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// Starts it with settings that the commands get too.
    pub fn with(more: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let usual = [("GANCHO_EMAIL_VIA", "sink")];
        let served = Gateway::start(folder.path(), &[&usual[..], more].concat());
        let ingest = served.ingest();
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Self { served, folder, ingest, variables: more.iter().map(owned).collect() }
    }

    /// Runs one of the operator's commands.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, &[], "")
    }

    /// Returns the same command, not started.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments, self.folder.path());
        command.env("GANCHO_API_LISTEN", self.served.address.to_string());
        command.env("GANCHO_INGEST_LISTEN", self.ingest.to_string());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    pub fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)], input: &str) -> Ran {
        let mut command = self.command(arguments);
        command.envs(variables.iter().copied());
        finished(command, input)
    }

    /// Runs a command that must succeed, and returns its JSON.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let with_json: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        self.run(&with_json).ok().json()
    }

    /// Creates a source with a key, and receives this number of test events from it.
    pub fn receive(&self, count: usize) -> Vec<String> {
        if self.run(&["sources", "show", "acme"]).code != 0 {
            self.run(&["sources", "create", "acme"]).ok();
            self.run(&["sources", "keys", "add", "acme", "k1"]).ok();
        }
        let one = |_| {
            let sent = self.json(&["sources", "simulate", "acme"]);
            sent["answer"]["receipt"].as_str().unwrap().to_owned()
        };
        (0..count).map(one).collect()
    }

    pub fn stop(self) -> TempDir {
        self.served.stop();
        self.folder
    }
}

impl Ran {
    pub fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{}{}", self.out, self.err);
        self
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|_| panic!("not JSON: {}", self.out))
    }
}

/// Runs the command without a running gateway.
pub fn alone(folder: &Path, arguments: &[&str]) -> Ran {
    finished(command(arguments, folder), "")
}

fn finished(mut command: Command, input: &str) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that does not read may end before everything was written.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let ended = child.wait_with_output().unwrap();
    Ran {
        code: ended.status.code().unwrap(),
        out: String::from_utf8(ended.stdout).unwrap(),
        err: String::from_utf8(ended.stderr).unwrap(),
    }
}
