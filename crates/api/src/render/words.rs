//! The fixed sets of words in responses, each a named schema, so that generated clients have a type for it.
//! Fields name them by `#[schema(value_type = …)]`.

use gancho_access::{Right, Role};
use gancho_alerts::Rule;
use gancho_domain::{Lane as DomainLane, Status};
use gancho_mail::{EmailStatus as Outcome, SuppressionReason as Reason};
use gancho_store::{ActorKind as Kind, ReplayState as Replay};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        RefOr, Schema,
        schema::{ObjectBuilder, Type},
    },
};

use crate::cells::{CellTenantState as Resident, MoveState as Move};

macro_rules! words {
    ($($(#[doc = $about:literal])* $name:ident: $words:expr;)*) => {$(
        $(#[doc = $about])*
        pub enum $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                ObjectBuilder::new()
                    .schema_type(Type::String)
                    .description(Some(concat!($($about),*).trim_ascii_start()))
                    .enum_values(Some($words))
                    .into()
            }
        }

        impl ToSchema for $name {}
    )*};
}

words! {
    /// Kind of caller. `operator`: the operator token. `user`: a user of the dashboard. `api_key`: an API key of a
    /// tenant. `portal`: a portal link. `anonymous`: someone who failed to log in.
    ActorKind: Kind::ALL.map(Kind::name);
    /// What happened to an alert. `fired`: its condition has held for long enough. `reminder`: it kept firing and was
    /// sent again. `resolved`: its condition no longer holds.
    AlertChangeKind: ["fired", "reminder", "resolved"];
    /// Rule of the gateway. `store_unavailable`: the database does not respond. `writes_refused`: events, webhooks or
    /// e-mails are being refused. `storage_critical`: the storage is almost full. `storage_high`: the storage is
    /// filling up. `ledger_check_failed`: the ledger is no longer signed. `node_lost`: a node stopped without leaving.
    /// `clock_off`: the clock of a node is wrong. `dead_letters_high`: there are many dead letters.
    /// `dead_letter_rate_high`: many deliveries become dead letters. `tenant_dead_letters_high`: one tenant has many
    /// dead letters. `endpoint_failing`: an endpoint fails every attempt. `queue_delayed`: deliveries are late.
    /// `source_key_expiring`: a source has no valid key, or soon will have none. `api_key_expiring`: an API key is
    /// about to expire. `archive_failing`: dead letters cannot be archived.
    AlertRule: Rule::NAMES.iter().copied();
    /// How urgent an alert is. `critical`: act at once. `warning`: act soon.
    AlertSeverity: ["critical", "warning"];
    /// State of an alert. `pending`: its condition holds, but not for long enough. `firing`: its condition has held for
    /// long enough.
    AlertState: ["pending", "firing"];
    /// What a key may be used for. `publish`: publish events and send e-mails. `read`: look up everything but secrets.
    /// `manage`: change webhooks, event types and suppressions, see signing secrets, retry, cancel, replay and erase.
    ApiKeyScope: Right::NAMES.iter().copied();
    /// Whether an action was `done` or `refused`.
    AuditOutcome: ["done", "refused"];
    /// State of a tenant in a cell. `creating`: it is being created. `active`: it lives in the cell. `moving`: it is
    /// being moved to another cell, or was moved and is still being removed from the old one.
    CellTenantState: Resident::ALL.map(Resident::name);
    /// State of the circuit breaker of a webhook. `closed`: attempts are made. `open`: the webhook failed too often in
    /// a row, and attempts are suspended. `half_open`: one delivery is sent to test whether it works again.
    CircuitBreakerState: ["closed", "open", "half_open"];
    /// What happened to a delivery. `accepted`: it was created. `attempt_failed`: an attempt failed, and another one
    /// follows. `delivered`: it succeeded. `failed`: it failed permanently.
    DeliveryChangeKind: ["accepted", "attempt_failed", "delivered", "failed"];
    /// Status of a delivery. `pending`: no attempt was made yet. `retrying`: at least one attempt was made, and another
    /// one follows. `delivered`: the receiver accepted it. `failed`: it failed permanently.
    DeliveryStatus: Status::ALL.map(Status::name);
    /// Status of an e-mail. `PENDING`: no attempt was made yet. `SENT`: the mail server or SES accepted it.
    /// `RETRY_SCHEDULED`: at least one attempt was made, and another one follows. `FAILED`: it failed permanently, or
    /// bounced after it was sent.
    EmailStatus: Outcome::ALL.map(Outcome::name);
    /// How a webhook responds. `untried`: this node has not sent anything to it recently. `prompt`: it responds
    /// quickly. `slow`: it responds slowly. `failing`: it responds with errors or not at all.
    HealthState: ["untried", "prompt", "slow", "failing"];
    /// Kind of delivery. `webhook`: events to webhooks. `dispatch`: receipts to the targets of their source. `email`:
    /// e-mails.
    Lane: DomainLane::ALL.map(DomainLane::name);
    /// State of the move of a tenant. `copying` and `closing`: the tenant lives in the old cell, and the move can be
    /// taken back. `removing`: it lives in the new cell, and is removed from the old one. `done`: the move has ended.
    /// `taking_back`: it stays in the old cell, and its copy is removed. `taken_back`: the move was taken back.
    MoveState: Move::ALL.map(Move::name);
    /// State of a node. `alive`: it sends heartbeats. `silent`: it has sent no heartbeat for 20 seconds. `dead`: its
    /// deliveries were taken over by other nodes.
    NodeState: ["alive", "silent", "dead"];
    /// What a node does. `api`: serves the API. `ingest`: receives webhooks from partners. `worker`: delivers.
    NodeRole: ["api", "ingest", "worker"];
    /// Channel for alerts. `url`: the webhook in `notify_url`. `slack`: `notify_slack_url`. `email`: `notify_emails`.
    NoticeChannel: ["url", "slack", "email"];
    /// In which order events are delivered to a webhook. `best_effort`: in no guaranteed order. `per_subject`: the next
    /// event of a subject waits until the previous one is delivered or has failed permanently.
    Ordering: ["best_effort", "per_subject"];
    /// What is paused: the `webhook`, its `tenant`, or the `lane` for all tenants.
    PausedBy: ["webhook", "tenant", "lane"];
    /// Status of a receipt, which is that of its worst delivery. `received`: not attempted yet. `dispatched`: delivered
    /// to every target. `failed`: an attempt failed, and another one follows. `dlq`: a delivery failed permanently.
    ReceiptStatus: ["received", "dispatched", "failed", "dlq"];
    /// What a replay sends again. `deliveries`: past deliveries. `events`: events, to another webhook. `dead_letters`:
    /// dead letters.
    ReplayKind: ["deliveries", "events", "dead_letters"];
    /// State of a replay. `pending`: it has not started yet. `running`: it is sending. `done`: it has sent everything.
    /// `canceled`: it was stopped. `failed`: it could not continue, see `error`.
    ReplayState: Replay::ALL.map(Replay::name);
    /// Type of an object that a search has found.
    SearchMatchType: crate::operations::search::view::MatchType::ALL.map(crate::operations::search::view::MatchType::name);
    /// Why an address is suppressed. `bounce`: an e-mail to it bounced permanently. `complaint`: the recipient
    /// complained. `manual`: it was added by hand.
    SuppressionReason: Reason::ALL.map(Reason::name);
    /// What a user may do. `read_only`: read everything but secrets. `support`: also retry, replay, test, pause and
    /// resume. `operator`: everything.
    UserRole: Role::ALL.map(Role::name);
}
