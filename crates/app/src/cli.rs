//! The command line.

use std::fmt::Write;

use clap::{Parser, Subcommand};

use crate::commands;

/// Webhook gateway: sends signed webhooks, receives and verifies partners' webhooks, and sends e-mail.
#[derive(Debug, Parser)]
#[command(name = "gancho", version, propagate_version = true, after_long_help = exit_status())]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The exit codes, for the help and the manual page.
fn exit_status() -> String {
    let mut text = String::from("Exit status:");
    for (code, meaning) in commands::EXIT_CODES {
        // A string takes everything.
        let _ = write!(text, "\n  {code}  {meaning}");
    }
    text
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(commands::serve::Serve),
    Dev(commands::dev::Dev),
    Login(commands::login::Login),
    Logout(commands::login::Logout),
    Publish(Box<commands::publish::Publish>),
    Trigger(commands::trigger::Trigger),
    Listen(Box<commands::listen::Listen>),
    Tenants(commands::tenants::Tenants),
    ApiKeys(commands::api_keys::ApiKeys),
    Endpoints(commands::endpoints::Endpoints),
    EventTypes(commands::event_types::EventTypes),
    Events(commands::events::Events),
    Erase(commands::erase::Erase),
    Deliveries(commands::deliveries::Deliveries),
    Dlq(commands::dlq::Dlq),
    Replays(commands::replays::Replays),
    Queues(commands::queues::Queues),
    Alerts(commands::alerts::Alerts),
    Nodes(commands::nodes::Nodes),
    Cells(commands::cells::Cells),
    Stats(commands::stats::Stats),
    Sources(commands::sources::Sources),
    Emails(commands::emails::Emails),
    Apply(commands::apply::Apply),
    Diff(commands::apply::Diff),
    Export(commands::apply::Export),
    Import(commands::import::Import),
    Sign(commands::sign::Sign),
    Verify(commands::verify::Verify),
    Ledger(commands::ledger::Ledger),
    Keys(commands::keys::Keys),
    Users(commands::users::Users),
    Audit(commands::audit::Audit),
    Config(commands::config::Config),
    Doctor(commands::doctor::Doctor),
    Migrate(commands::migrate::Migrate),
    Backup(commands::backup::Backup),
    Restore(commands::restore::Restore),
    Pipe(commands::pipe::Pipe),
    Bench(commands::bench::Bench),
    Completions(commands::completions::Completions),
    Man(commands::completions::Man),
    Version(commands::version::Version),
}

impl Cli {
    pub async fn run(self) -> anyhow::Result<()> {
        match self.command {
            Command::Serve(serve) => serve.run().await,
            Command::Dev(dev) => Box::pin(dev.run()).await,
            Command::Login(login) => login.run().await,
            Command::Logout(logout) => logout.run(),
            Command::Publish(publish) => publish.run().await,
            Command::Trigger(trigger) => trigger.run().await,
            Command::Listen(listen) => listen.run().await,
            Command::Tenants(tenants) => tenants.run().await,
            Command::ApiKeys(api_keys) => api_keys.run().await,
            Command::Endpoints(endpoints) => endpoints.run().await,
            Command::EventTypes(event_types) => event_types.run().await,
            Command::Events(events) => events.run().await,
            Command::Erase(erase) => erase.run().await,
            Command::Deliveries(deliveries) => deliveries.run().await,
            Command::Dlq(dlq) => dlq.run().await,
            Command::Replays(replays) => replays.run().await,
            Command::Queues(queues) => queues.run().await,
            Command::Alerts(alerts) => alerts.run().await,
            Command::Nodes(nodes) => nodes.run().await,
            Command::Cells(cells) => cells.run().await,
            Command::Stats(stats) => stats.run().await,
            Command::Sources(sources) => sources.run().await,
            Command::Emails(emails) => emails.run().await,
            Command::Apply(apply) => apply.run().await,
            Command::Diff(diff) => diff.run().await,
            Command::Export(export) => export.run().await,
            Command::Import(import) => import.run().await,
            Command::Sign(sign) => sign.run(),
            Command::Verify(verify) => verify.run(),
            Command::Ledger(ledger) => ledger.run().await,
            Command::Keys(keys) => keys.run().await,
            Command::Users(users) => users.run().await,
            Command::Audit(audit) => audit.run().await,
            Command::Config(config) => config.run(),
            Command::Doctor(doctor) => doctor.run().await,
            Command::Migrate(migrate) => migrate.run().await,
            Command::Backup(backup) => backup.run().await,
            Command::Restore(restore) => restore.run().await,
            Command::Pipe(pipe) => pipe.run().await,
            Command::Bench(bench) => bench.run().await,
            Command::Completions(completions) => completions.run(),
            Command::Man(man) => man.run(),
            Command::Version(version) => version.run(),
        }
    }
}

#[cfg(test)]
mod tests;
