//! The form that pauses something. Its only field is the reason, which may be empty.

use serde_json::{Value, json};

use crate::params::Params;

/// Returns the body of the request that pauses.
pub fn body(form: &Params) -> Option<Value> {
    let reason = form.text("reason");
    (!reason.is_empty()).then(|| json!({ "reason": reason }))
}
