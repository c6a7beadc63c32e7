//! Compares what a receiver got with what was sent, to find the reason of a rejected signature.

use serde::Deserialize;
use serde_json::json;

use crate::{
    escape::Text,
    params::{Link, Params},
    problem::{FormErrors, Problem},
    sentence::Sentence,
    status_mark::StatusMark,
    texts::Texts,
    visit::Visit,
};

/// The form, and the answer once it was sent.
#[derive(Default)]
pub struct SignatureForm {
    pub headers: String,
    pub body: String,
    pub errors: FormErrors,
    pub report: Option<SignatureReport>,
}

#[derive(Deserialize)]
pub struct SignatureReport {
    is_valid: bool,
    differs: Vec<String>,
    pub parts: Vec<SignaturePart>,
}

#[derive(Deserialize)]
pub struct SignaturePart {
    part: String,
    state: String,
    pub hint: Text,
}

impl SignatureForm {
    pub async fn check(visit: &Visit, form: &Params) -> Result<Self, Problem> {
        // Browsers send line breaks as CRLF, whatever was pasted.
        let pasted = |name| form.get(name).unwrap_or_default().replace("\r\n", "\n");
        let (headers, body) = (pasted("headers"), pasted("body"));
        let link = format!("/v1/deliveries/{}/check-signature", visit.segment("delivery"));
        let mut request = json!({"headers": headers});
        if !body.is_empty() {
            request["body"] = body.as_str().into();
        }
        match visit.post::<SignatureReport>(Link::new(link), request).await {
            Ok(report) => Ok(Self { headers, body, report: Some(report), ..Self::default() }),
            Err(problem) if problem.is_input() => {
                Ok(Self { headers, body, errors: problem.into(), report: None })
            }
            Err(problem) => Err(problem),
        }
    }
}

impl SignatureReport {
    pub fn mark(&self) -> StatusMark {
        if self.is_valid { StatusMark::Delivered } else { StatusMark::Failed }
    }

    pub fn sentence(&self, t: &Texts) -> Sentence {
        let [differs] = self.differs.as_slice() else {
            return match (self.is_valid, self.differs.is_empty()) {
                (true, _) => t.say("signature.valid"),
                (false, true) => t.say("signature.invalid"),
                (false, false) => t.say("signature.differ"),
            };
        };
        match differs.as_str() {
            "id" => t.say("signature.other_id"),
            "timestamp" => t.say("signature.other_timestamp"),
            "body" => t.say("signature.other_body"),
            _ => t.say("signature.other_secret"),
        }
    }
}

impl SignaturePart {
    pub fn name(&self, t: &Texts) -> Sentence {
        match self.part.as_str() {
            "id" => t.say("signature.id"),
            "timestamp" => t.say("signature.timestamp"),
            "body" => t.say("delivery.body"),
            _ => t.say("signature.secret"),
        }
    }

    pub fn mark(&self) -> StatusMark {
        match self.state.as_str() {
            "same" => StatusMark::Delivered,
            "different" => StatusMark::Failed,
            "unknown" => StatusMark::Warning,
            _ => StatusMark::Pending,
        }
    }

    pub fn word(&self, t: &Texts) -> Sentence {
        match self.state.as_str() {
            "same" => t.say("signature.same"),
            "different" => t.say("signature.different"),
            "assumed" => t.say("signature.assumed"),
            "unsigned" => t.say("signature.unsigned"),
            _ => t.say("signature.unknown"),
        }
    }
}
