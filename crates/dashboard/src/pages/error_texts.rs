//! The texts of errors: what happened, and what to do.

use crate::{problem::Problem, sentence::Sentence, texts::Texts};

pub fn texts(t: &Texts, problem: &Problem) -> (Sentence, Sentence) {
    match (problem.code.as_str(), problem.status) {
        ("form_expired", _) => (t.say("error.form_expired"), t.say("error.form_expired_advice")),
        ("cross_site", _) => (t.say("error.cross_site"), t.say("error.cross_site_advice")),
        ("unknown_tenant", _) => {
            (t.say("error.unknown_tenant"), t.say("error.unknown_tenant_advice"))
        }
        ("unknown_range", _) => (t.say("error.unknown_range"), t.say("error.unknown_range_advice")),
        ("no_page", _) => (t.say("error.no_page"), t.say("error.no_page_advice")),
        ("receiving_off" | "email_off", _) => (t.say("error.off"), t.say("error.off_advice")),
        ("storage_full", _) => (t.say("error.full"), t.say("error.full_advice")),
        ("method_not_allowed", _) => (t.say("error.method"), t.say("error.method_advice")),
        ("plan_limit", _) => (t.say("error.plan"), t.say("error.plan_advice")),
        (_, 429) => (t.say("error.too_many"), t.say("error.too_many_advice")),
        ("missing_role", _) => (t.say("error.role"), t.say("error.role_advice")),
        (_, 403) => (t.say("error.forbidden"), t.say("error.forbidden_advice")),
        (_, 404) => (t.say("error.not_found"), t.say("error.not_found_advice")),
        (_, 409) => (t.say("error.conflict"), t.say("error.conflict_advice")),
        ("session_not_ended", _) => {
            (t.say("error.session_not_ended"), t.say("error.session_not_ended_advice"))
        }
        (_, 503) => (t.say("error.unavailable"), t.say("error.unavailable_advice")),
        (_, 400..500) => (t.say("error.refused"), t.say("error.refused_advice")),
        _ => (t.say("error.internal"), t.say("error.internal_advice")),
    }
}
