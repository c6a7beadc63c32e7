//! `gancho users`: people who log in to the dashboard, and their roles. A running gateway does the work.

use std::{
    io::{IsTerminal, Write},
    path::PathBuf,
};

use clap::{Args, Subcommand};
use gancho_access::Role;
use serde_json::{Value, json};

use super::{
    Failure,
    client::{ClientArgs, rows},
    input::{self, confirmed},
    table::{self, Table, cell, text, when},
};
use crate::remote::part;

/// Manage the people who log in to the dashboard.
#[derive(Debug, Args)]
pub struct Users {
    #[command(subcommand)]
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all users.
    List(ClientArgs),
    /// Create a user. The password is asked for, or read from a file or standard input.
    Create(Create),
    /// Change the role of a user. Their sessions end.
    SetRole(SetRole),
    /// Set a new password for a user. Their sessions end.
    SetPassword(SetPassword),
    /// Delete a user. Their sessions end.
    Delete(Delete),
}

/// The origin of a password. It is never an argument, where the shell history and other users would see it.
#[derive(Debug, Args)]
struct PasswordFrom {
    /// Read the password from this file, or from standard input if it is `-`. A trailing newline is removed.
    /// Default: ask for it.
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct Create {
    /// Name or e-mail address.
    name: String,
    /// What the user may do: operator, support or read-only.
    #[arg(long, value_parser = role)]
    role: Role,
    #[command(flatten)]
    password: PasswordFrom,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
struct SetRole {
    /// Name of the user.
    name: String,
    /// What the user may do: operator, support or read-only.
    #[arg(value_parser = role)]
    role: Role,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
struct SetPassword {
    /// Name of the user.
    name: String,
    #[command(flatten)]
    password: PasswordFrom,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
struct Delete {
    /// Name of the user.
    name: String,
    /// Do not ask for confirmation.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    client: ClientArgs,
}

/// The maximum number of users.
const MAX_USERS: usize = 1_000;

impl Users {
    pub async fn run(self) -> anyhow::Result<()> {
        match self.what {
            Action::List(client) => list(&client).await,
            Action::Create(create) => create.run().await,
            Action::SetRole(set) => set.run().await,
            Action::SetPassword(set) => set.run().await,
            Action::Delete(delete) => delete.run().await,
        }
    }
}

async fn list(client: &ClientArgs) -> anyhow::Result<()> {
    let remote = client.gateway().await?;
    let found = rows(&remote, "/v1/users", MAX_USERS).await?;
    if client.json {
        return table::json(&found.json());
    }
    if found.rows.is_empty() {
        return table::say(
            "There are no users yet. Create one with `gancho users create <NAME> --role support`.",
        );
    }
    let mut shown = Table::new(&["name", "role", "created (UTC)", "password set (UTC)"]);
    for user in &found.rows {
        shown.row([
            cell(text(&user["name"])),
            cell(text(&user["role"]).replace('_', "-")),
            cell(when(&user["created_at"])),
            cell(when(&user["password_changed_at"])),
        ]);
    }
    shown.print()
}

impl Create {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.client.gateway().await?;
        let mut draft = input::Draft::default();
        draft.put("name", &self.name)?;
        draft.put("role", self.role.name())?;
        draft.put("password", self.password.read()?)?;
        let user = remote.post("/v1/users", &draft).await?;
        report(&self.client, &user, "Created", "They can log in to the dashboard.")
    }
}

impl SetRole {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.client.gateway().await?;
        let mut draft = input::Draft::default();
        draft.put("role", self.role.name())?;
        let user = remote.patch(&path(&self.name), &draft).await?;
        report(&self.client, &user, "Changed", "Their sessions have ended.")
    }
}

impl SetPassword {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.client.gateway().await?;
        let mut draft = input::Draft::default();
        draft.put("password", self.password.read()?)?;
        let user = remote.patch(&path(&self.name), &draft).await?;
        report(&self.client, &user, "Set the password of", "Their sessions have ended.")
    }
}

impl Delete {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.client.gateway().await?;
        confirmed(&format!("Delete the user {}? Their sessions end.", self.name), self.yes)?;
        remote.delete(&path(&self.name)).await?;
        if self.client.json {
            return table::json(&json!({ "deleted": self.name }));
        }
        table::say(&format!("Deleted {}.", self.name))
    }
}

impl PasswordFrom {
    fn read(&self) -> anyhow::Result<String> {
        if let Some(path) = &self.password_file {
            return input::secret(path);
        }
        if !std::io::stdin().is_terminal() {
            return Err(Failure::usage(
                "stdin is not a terminal. hint: pass --password-file - to read the password from it",
            ));
        }
        anstream::eprint!("Password (at least 12 characters): ");
        std::io::stderr().flush()?;
        let password = input::hidden_line()?;
        anstream::eprintln!();
        Ok(password)
    }
}

/// Reads `read-only` of the command line, which is `read_only` in the API.
fn role(text: &str) -> Result<Role, String> {
    text.replace('-', "_").parse().map_err(|_| "use operator, support or read-only".to_owned())
}

/// Returns the API path of a user.
fn path(name: &str) -> String {
    format!("/v1/users/{}", part(name))
}

fn report(client: &ClientArgs, user: &Value, done: &str, note: &str) -> anyhow::Result<()> {
    if client.json {
        return table::json(user);
    }
    let (name, role) = (text(&user["name"]), text(&user["role"]).replace('_', "-"));
    table::say(&format!("{done} {name} ({role}). {note}"))
}
