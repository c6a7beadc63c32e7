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

use crate::cells::MoveState as Move;

macro_rules! words {
    ($($name:ident: $words:expr;)*) => {$(
        pub enum $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                ObjectBuilder::new().schema_type(Type::String).enum_values(Some($words)).into()
            }
        }

        impl ToSchema for $name {}
    )*};
}

words! {
    ActorKind: Kind::ALL.map(Kind::name);
    AlertChangeKind: ["fired", "reminder", "resolved"];
    AlertRule: Rule::NAMES.iter().copied();
    AlertSeverity: ["critical", "warning"];
    AlertState: ["pending", "firing"];
    ApiKeyScope: Right::NAMES.iter().copied();
    AuditOutcome: ["done", "refused"];
    CircuitBreakerState: ["closed", "open", "half_open"];
    DeliveryChangeKind: ["accepted", "attempt_failed", "delivered", "failed"];
    DeliveryStatus: Status::ALL.map(Status::name);
    EmailStatus: Outcome::ALL.map(Outcome::name);
    HealthState: ["untried", "prompt", "slow", "failing"];
    Lane: DomainLane::ALL.map(DomainLane::name);
    MoveState: Move::ALL.map(Move::name);
    NodeState: ["alive", "silent", "dead"];
    NodeRole: ["api", "ingest", "worker"];
    NoticeChannel: ["url", "slack", "email"];
    Ordering: ["best_effort", "per_subject"];
    PausedBy: ["webhook", "tenant", "lane"];
    ReceiptStatus: ["received", "dispatched", "failed", "dlq"];
    ReplayKind: ["deliveries", "events", "dead_letters"];
    ReplayState: Replay::ALL.map(Replay::name);
    SearchMatchType: crate::operations::search::view::MatchType::ALL.map(crate::operations::search::view::MatchType::name);
    SuppressionReason: Reason::ALL.map(Reason::name);
    UserRole: Role::ALL.map(Role::name);
}
