//! Which deliveries a list or an export has, and a page of them.

use gancho_access::Principal;
use gancho_domain::{EndpointId, Lane, Pattern, Status, Time, id::IdParseError};
use gancho_store::{DeliveryFilter, DeliveryRow, PageRequest};

use super::{all_tenants, dispatch_lane, view::Delivery, waiting_for::WaitContext};
use crate::{
    codes,
    input::{field::ResourceKind, request, time_range},
    problem::Problem,
    route::Call,
};

request! {
    /// The filters of every list.
    pub(super) struct DeliveryFilterQuery {
        /// Only deliveries with this status.
        optional status: Status as status(),
        /// Only deliveries of events of this type, or of all types with a prefix: `invoice.*`.
        optional event_type: String as id(ResourceKind::EventType),
        /// Only deliveries of this event.
        optional event_id: String as id(ResourceKind::Event),
        /// Only deliveries of events with this external id.
        optional external_id: String as text(1, 256),
        /// Only deliveries of events with this subject.
        optional subject: String as text(1, 256),
        /// Only deliveries that failed with this code, e.g. `TIMEOUT`: at their last attempt, or when they were given
        /// up.
        optional error_code: String as text(1, 64),
        /// Only deliveries whose last attempt got this response status.
        optional response_status: u64 as count(100, 599),
        /// Only deliveries whose payload contains this text, byte for byte, in its first 64 KiB. A page searches about
        /// 2,000 payloads.
        optional text: String as text(1, 256),
        /// Only deliveries created at or after this time.
        optional since: Time as time(),
        /// Only deliveries created before this time.
        optional until: Time as time(),
    }
}

request! {
    /// What the list and the export of a tenant's deliveries, or of all, take.
    pub(super) struct DeliverySelection {
        flatten filter: DeliveryFilterQuery,
        /// Only deliveries to this webhook.
        optional webhook_id: String as id(ResourceKind::Webhook),
        /// Only deliveries in this lane. Default: `webhook`.
        optional lane: Lane as lane(),
        /// Only deliveries of receipts from this partner, in the lane `dispatch`. Operator only.
        optional partner: String as id(ResourceKind::Source),
    }
}

impl DeliverySelection {
    pub fn resolve(self) -> Result<ResolvedSelection, Problem> {
        let endpoint = self.webhook_id.as_deref().map(str::parse).transpose();
        let endpoint = endpoint.map_err(|error: IdParseError| {
            Problem::field("", format!("`webhook_id` is {error}"))
        })?;
        let lane = self.lane.unwrap_or(Lane::Webhook);
        ResolvedSelection::new(self.filter, endpoint, lane, self.partner)
    }
}

/// The deliveries that were asked for.
pub(super) struct ResolvedSelection {
    filter: DeliveryFilter,
    lane: Lane,
    partner: Option<String>,
}

impl ResolvedSelection {
    pub fn new(
        query: DeliveryFilterQuery,
        endpoint: Option<EndpointId>,
        lane: Lane,
        partner: Option<String>,
    ) -> Result<Self, Problem> {
        let event = query.event_id.as_deref().map(str::parse).transpose();
        let event = event
            .map_err(|error: IdParseError| Problem::field("", format!("`event_id` is {error}")))?;
        time_range::check(query.since, query.until)?;
        let (event_type, event_type_prefix) = types(query.event_type);
        let filter = DeliveryFilter {
            lane: Some(lane),
            endpoint,
            status: query.status,
            event_type,
            event_type_prefix,
            event,
            external_id: query.external_id,
            subject: query.subject,
            error_code: query.error_code,
            response_status: query.response_status.and_then(|status| u16::try_from(status).ok()),
            text: query.text,
            since: query.since,
            until: query.until,
        };
        Ok(Self { filter, lane, partner })
    }

    /// Those that the caller may see, newest first, and the position of the next page.
    pub async fn page(
        &self,
        call: &Call,
        request: PageRequest,
    ) -> Result<(Vec<Delivery>, Option<[u8; 32]>), Problem> {
        let (filter, partner) = (self.filter.clone(), self.partner.as_deref());
        match &call.principal {
            Principal::Operator(_) if self.lane == Lane::Dispatch => {
                dispatch_lane::page(call, partner, filter, request).await
            }
            Principal::Operator(_) if partner.is_some() => {
                let message = "`partner` filters deliveries of receipts; add `lane=dispatch`";
                Err(Problem::field("", message))
            }
            Principal::Operator(operator) => {
                all_tenants::page(call, operator, filter, request).await
            }
            Principal::Tenant(_) if partner.is_some() => Err(partner_refused()),
            Principal::Tenant(principal) => {
                let scope = principal.scope();
                // Of an event that was just published, they are there.
                let is_of_event = filter.event.is_some() || filter.external_id.is_some();
                let store = if is_of_event { &call.api.store } else { &call.api.reader };
                let found = store.deliveries(scope, filter, request).await?;
                let context = WaitContext::new(&call.api);
                let render = |row: DeliveryRow| {
                    let waiting_for = context.on(&call.api, scope.tenant(), &row);
                    Delivery::from(row).waiting(waiting_for)
                };
                Ok((found.rows.into_iter().map(render).collect(), found.next))
            }
        }
    }
}

/// The type that is asked for, or the prefix of many. `*` is any.
fn types(asked: Option<String>) -> (Option<String>, Option<String>) {
    match asked.as_deref().map(str::parse::<Pattern>) {
        Some(Ok(Pattern::All)) => (None, None),
        Some(Ok(Pattern::Prefix(prefix))) => (None, Some(prefix.into())),
        _ => (asked, None),
    }
}

fn partner_refused() -> Problem {
    let detail = "only the operator can filter by partner; leave out `partner`";
    Problem::new(&codes::OPERATOR_ONLY, detail)
}
