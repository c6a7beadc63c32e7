//! `GET /v1/sources/{partner}/receipts/{receipt_id}/proof`: that a signed checkpoint covers the receipt.

use gancho_domain::ReceiptId;
use gancho_inbound::checkpoints::ProofError;
use serde::Serialize;
use utoipa::ToSchema;

use super::{TAG, find, inbound, receipts::receipts};
use crate::{
    answer::Answer,
    codes,
    input::field::ResourceKind,
    operations::ledger,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

/// Proof that a receipt is in the ledger.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReceiptProof {
    /// Format of the proof: `gancho-ledger-proof/1`.
    pub form: String,
    /// The line of the ledger: its number and its text.
    pub line: crate::render::Json,
    /// The size of the ledger that the checkpoint covers, and the hashes from the line to its root (RFC 6962).
    pub inclusion: crate::render::Json,
    /// The checkpoint, as a signed note.
    pub checkpoint: String,
    /// The public key that signed it, as a JWK.
    pub key: crate::render::Json,
}

pub const ROUTE: Route = Route {
    path: "/sources/{partner}/receipts/{receipt_id}/proof",
    operation_id: "getReceiptProof",
    needs: Needs::Operator,
    gives: Gives::ok::<ReceiptProof>("The proof."),
    refuses: &[&codes::RECEIVING_OFF, &codes::CONFLICT, &codes::LEDGER_BROKEN],
    tag: TAG,
    summary: "Prove a receipt",
    about: "Proves that a signed checkpoint covers the line of the receipt, and verifies the ledger up to there. `gancho ledger check-proof` checks the proof without the gateway. For ledgers of more than 200,000 lines, use `gancho ledger prove`.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let source = find(&call).await?;
    let id: ReceiptId = call.id("receipt_id")?;
    let found = receipts(&call).detail(source.scope(), id).await?;
    found.ok_or_else(|| Problem::not_found(ResourceKind::Receipt))?;
    let proof = inbound(&call)?.checkpointer.prove(id).await;
    Answer::ok(&proof.map_err(problem)?)
}

fn problem(error: ProofError) -> Problem {
    let hint = match &error {
        ProofError::NotInLedger => "only receipts that were accepted have a line",
        ProofError::NotCovered(_) => "create a checkpoint with `POST /v1/ledger/checkpoint`",
        ProofError::TooLong(_) => "use `gancho ledger prove`",
        ProofError::Checkpointer(_) => "",
    };
    match error {
        ProofError::Checkpointer(error) => ledger::problem(error),
        error => Problem::new(&codes::CONFLICT, format!("{error}; {hint}")),
    }
}
