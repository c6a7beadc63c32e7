//! Records administrative actions in the audit log: both successful and refused ones.
//!
//! A dry run does nothing and is not recorded, unless it was refused.
//!
//! **Invariant.** The response to a recorded action is sent after its entry is stored. An entry that cannot
//! be stored is logged, and does not undo the action.
//!
//! Unauthenticated callers and tenants can cause only a bounded number of entries, see [`limits`]: beyond a
//! rate, actions are counted, and one entry reports how many were left out. Requests without a valid
//! credential are only counted.

pub(crate) mod limits;

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt;
use gancho_access::{Actor, ActorKind, Principal};
use gancho_domain::{AddressBlock, TenantId};
use gancho_store::AuditEntry;
use http::HeaderValue;
use http_body_util::{BodyExt, Either};
use serde::Deserialize;
use tokio::task::JoinHandle;

use self::limits::{Admission, CounterKey};
use crate::{
    answer::{Answer, AuditDetails},
    codes::Code,
    policy::{AuditScope, Policy},
    problem::Problem,
    route::{PathParts, Route},
    state::Api,
};

/// The operation of a login to the dashboard.
pub const LOG_IN: &str = "log_in";
/// The operation of an entry that represents others, and its code. Its resource has their number.
pub const LEFT_OUT: &str = "left_out";
/// How long left-out actions are counted before they are reported.
const REPORT_AFTER: Duration = Duration::from_mins(10);
/// The code of an action whose caller disconnected before it had an outcome.
const DISCONNECTED: &str = "disconnected";
/// The status that proxies log for it.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// Maximum length of a resource's name. Longer names are truncated.
const MAX_RESOURCE: usize = 128;

/// An action in progress.
pub(crate) struct AuditedAction {
    api: Api,
    route: &'static Route,
    recorded: AuditScope,
    request_id: HeaderValue,
    address: Option<AddressBlock>,
    path: PathParts,
    /// Set once the caller is authenticated.
    actor: Option<Arc<Actor>>,
    tenant: Option<TenantId>,
}

impl AuditedAction {
    /// Starts to record an operation. `None` for one that is never recorded.
    pub fn begin(
        api: &Api,
        route: &'static Route,
        policy: Policy,
        path: Option<&PathParts>,
        request_id: &HeaderValue,
        address: Option<AddressBlock>,
    ) -> Option<Self> {
        (policy.recorded != AuditScope::Never).then(|| Self {
            api: api.clone(),
            route,
            recorded: policy.recorded,
            request_id: request_id.clone(),
            address,
            path: path.cloned().unwrap_or_default(),
            actor: None,
            tenant: None,
        })
    }

    pub fn by(&mut self, principal: &Principal) {
        let actor = principal.actor();
        let is_program = actor.kind == ActorKind::ApiKey;
        if self.recorded == AuditScope::Always || !is_program {
            self.actor = Some(actor.clone());
            self.tenant = principal.tenant();
        }
    }

    /// Stores the entry. Wait for the returned handle before responding. The entry is stored even if the
    /// caller disconnects meanwhile.
    pub fn end(mut self, outcome: &Result<Answer, Problem>) -> Option<JoinHandle<()>> {
        let actor = self.actor.take()?;
        let (status, code) = match outcome {
            Ok(answer) => (answer.status().as_u16(), ""),
            Err(problem) => {
                let Code { status, code, .. } = problem.code();
                (status.as_u16(), *code)
            }
        };
        let answer = outcome.as_ref().ok();
        let AuditDetails { tenant, resource, reason, is_dry_run } =
            answer.and_then(Answer::audit_details).cloned().unwrap_or_default();
        if is_dry_run {
            return None;
        }
        let new = resource.or_else(|| answer.and_then(created));
        let resource =
            self.in_path(false).or(new).or_else(|| self.in_path(true)).unwrap_or_default();
        let tenant = tenant.or(self.tenant);
        let entry = AuditEntry {
            resource,
            reason: reason.unwrap_or_default(),
            ..self.entry(&actor, tenant, status, code)
        };
        self.store(entry)
    }

    /// Returns the last object that the path names: the tenant, or another one.
    fn in_path(&self, is_tenant: bool) -> Option<String> {
        let mut all = self.path.iter().rev();
        let (name, value) = all.find(|(name, _)| (**name == *"tenant") == is_tenant)?;
        // The id of a source's key is unique only within its source.
        let source = all.find(|(owner, _)| **name == *"partner_key" && **owner == *"partner");
        Some(source.map_or_else(|| short(value), |(_, source)| short(&format!("{source}/{value}"))))
    }

    fn entry(
        &self,
        actor: &Actor,
        tenant: Option<TenantId>,
        status: u16,
        code: &str,
    ) -> AuditEntry {
        AuditEntry {
            id: self.api.ids.make(),
            actor: actor.clone(),
            tenant,
            operation: self.route.operation_id.to_owned(),
            resource: String::new(),
            status,
            code: code.to_owned(),
            request_id: self.request_id.to_str().unwrap_or_default().to_owned(),
            address: self.address.map(|address| address.to_string()).unwrap_or_default(),
            reason: String::new(),
        }
    }

    fn store(&self, entry: AuditEntry) -> Option<JoinHandle<()>> {
        let of_path = self.path.iter().find(|(name, _)| **name == *"tenant");
        let of_path = of_path.filter(|_| entry.tenant.is_none()).map(|(_, value)| value.clone());
        record(&self.api, entry, of_path)
    }
}

impl Drop for AuditedAction {
    /// The caller disconnected before the action had an outcome: it may have been done.
    fn drop(&mut self) {
        if let Some(actor) = self.actor.take() {
            let resource = self.in_path(false).or_else(|| self.in_path(true)).unwrap_or_default();
            let entry = self.entry(&actor, self.tenant, CLIENT_CLOSED_REQUEST, DISCONNECTED);
            self.store(AuditEntry { resource, ..entry });
        }
    }
}

/// Records a login. `name` is the account name, if the account exists. Any other text that was typed there
/// may be a password.
pub(crate) async fn record_login(
    api: &Api,
    actor: Option<&Actor>,
    name: &str,
    address: AddressBlock,
    code: Option<&Code>,
) {
    let anonymous = Actor::new(ActorKind::Anonymous, "");
    let entry = AuditEntry {
        id: api.ids.make(),
        actor: actor.unwrap_or(&anonymous).clone(),
        tenant: None,
        operation: LOG_IN.to_owned(),
        resource: name.to_owned(),
        status: code.map_or(200, |code| code.status.as_u16()),
        code: code.map_or("", |code| code.code).to_owned(),
        request_id: String::new(),
        address: address.to_string(),
        reason: String::new(),
    };
    if let Some(storing) = record(api, entry, None) {
        let _ = storing.await;
    }
}

/// Stores the entry, for the tenant of this name if there is one. `None` if there are too many entries.
fn record(api: &Api, mut entry: AuditEntry, tenant: Option<Box<str>>) -> Option<JoinHandle<()>> {
    let (is_done, now) = (entry.code.is_empty(), api.clock.now());
    match api.audit.admit(&entry.actor, entry.tenant, &entry.address, is_done, now) {
        Admission::Record => {}
        Admission::LeaveOut => {
            api.meter.audit_skipped();
            return None;
        }
        Admission::LeaveOutAndReport(counter) => {
            api.meter.audit_skipped();
            report_later(api, entry, counter);
            return None;
        }
    }
    let tasks = api.tasks.clone();
    let api = api.clone();
    Some(tasks.spawn(async move {
        if let Some(name) = tenant {
            let found = api.access.tenants.find(&name).await;
            entry.tenant = found.ok().flatten().map(|tenant| tenant.id);
        }
        append(&api, entry).await;
    }))
}

async fn append(api: &Api, entry: AuditEntry) {
    let retention = api.settings.audit_retention;
    if let Err(error) = api.store.append_audit(vec![entry.clone()], retention).await {
        let AuditEntry { actor, operation, resource, status, request_id, .. } = &entry;
        let (kind, actor) = (actor.kind.name(), &actor.name);
        tracing::error!(%error, kind, actor, operation, resource, status, request_id, "audit entry not stored");
    }
}

/// Reports actions that are left out from `first` on in one entry, after a while or when the gateway stops.
fn report_later(api: &Api, first: AuditEntry, counter: CounterKey) {
    let tasks = api.tasks.clone();
    let api = api.clone();
    tasks.spawn(async move {
        let closing = api.tails.closing();
        let _ = tokio::time::timeout(REPORT_AFTER, closing.cancelled()).await;
        let count = api.audit.take_left_out(counter);
        let entry = AuditEntry {
            id: api.ids.make(),
            operation: LEFT_OUT.to_owned(),
            resource: format!("{count} similar: {}", first.operation),
            code: LEFT_OUT.to_owned(),
            request_id: String::new(),
            reason: String::new(),
            ..first
        };
        append(&api, entry).await;
    });
}

/// Returns the id or name of what was created.
fn created(answer: &Answer) -> Option<String> {
    #[derive(Deserialize)]
    struct CreatedResource {
        id: Option<String>,
        partner: Option<String>,
        name: Option<String>,
        address: Option<String>,
    }
    let Either::Left(body) = answer.body() else { return None };
    let body = body.clone().collect().now_or_never()?.ok()?.to_bytes();
    let CreatedResource { id, partner, name, address } = serde_json::from_slice(&body).ok()?;
    id.or(partner).or(name).or(address).map(|text| short(&text))
}

fn short(text: &str) -> String {
    text.chars().take(MAX_RESOURCE).collect()
}
