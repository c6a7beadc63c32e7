//! Alerts of the gateway: what fires, what is silenced, what happened.

pub mod history;
pub mod list;
pub mod silences;
pub mod test;
pub mod view;

use std::sync::Arc;

use gancho_alerts::AlertService;

use crate::{codes, problem::Problem, state::Api};

pub(crate) const TAG: &str = "Alerts";

/// The service, where alerts are on.
pub(crate) fn service(api: &Api) -> Result<&Arc<AlertService>, Problem> {
    api.alerts.as_ref().ok_or_else(|| {
        Problem::new(&codes::ALERTS_OFF, "alerts are off on this gateway; set `alert_interval`")
    })
}
