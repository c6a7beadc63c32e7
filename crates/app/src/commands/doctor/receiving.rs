//! Checks the policy pack and the ledger.

use gancho_inbound::PolicyService;

use super::report::Report;
use crate::{
    commands::ledger,
    database,
    gateway::database_url,
    settings::{Flags, Settings},
};

pub fn policy(report: &mut Report, settings: &Settings) {
    const CHECK: &str = "policy pack";
    let Some(path) = &settings.policy_file else { return };
    match PolicyService::open(Some(path.clone())) {
        Ok(_) => report.ok(CHECK, format!("{} is valid", path.display())),
        Err(error) => {
            report.fail(
                CHECK,
                error.to_string(),
                "correct policy_file; the gateway does not start with it",
            );
        }
    }
}

/// Verifies the ledger as `gancho ledger verify` does, if it is short enough to wait for.
pub async fn ledger(report: &mut Report, flags: &Flags, settings: &Settings) {
    const CHECK: &str = "ledger";
    const MAX_LINES: u64 = 200_000;
    // An older schema is migrated at the next start; `store` reports it.
    let schema = database::schema(&database_url(settings)).await;
    if !schema.is_ok_and(|schema| schema.found > 0 && schema.found == schema.known) {
        return;
    }
    match ledger::doctor(flags, MAX_LINES).await {
        Ok(Ok(None)) => {}
        Ok(Ok(Some(text))) => report.ok(CHECK, text),
        Err(error) => report.warn(
            CHECK,
            format!("could not be verified: {error:#}"),
            "make the store and the checkpoints readable for this user",
        ),
        Ok(Err(what)) => report.fail(
            CHECK,
            what,
            "keep this database and its checkpoints as evidence; `gancho ledger verify` names the first line",
        ),
    }
}
