//! The filters of dead letters: in the URL, or, for operations that change them, in the body.

use gancho_access::Principal;
use gancho_domain::{Lane, Time};
use gancho_store::DeadFilter;

use crate::{
    codes::{self, Code},
    input::{field::ResourceKind, request, time_range},
    operations::sources,
    problem::Problem,
    route::Call,
};

request! {
    /// The filters of dead letters.
    #[derive(Default, PartialEq)]
    pub struct DeadLetterFilter {
        /// Only dead letters of this lane.
        optional lane: Lane as lane(),
        /// Only dead letters of this tenant (slug or id). Operator only.
        optional tenant: String as id(ResourceKind::Tenant),
        /// Only dead letters of this partner, also if its source was deleted. Operator only.
        optional partner: String as id(ResourceKind::Source),
        /// Only dead letters with this failure code, e.g. `HTTP_503`. Canceled deliveries are included only with
        /// `CANCELED`.
        optional code: String as text(1, 64),
        /// Only deliveries that became dead letters at or after this time.
        optional since: Time as time(),
        /// Only deliveries that became dead letters before this time.
        optional until: Time as time(),
    }
}

impl DeadLetterFilter {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Errors of a filter by partner.
pub const REFUSALS: &[&Code] = &[&codes::NOT_FOUND, &codes::RECEIVING_OFF];

/// A tenant's filter never matches another tenant's dead letters.
pub async fn filter(call: &Call, query: DeadLetterFilter) -> Result<DeadFilter, Problem> {
    let (tenant, partner) = (query.tenant.as_deref(), query.partner.as_deref());
    let tenant = match &call.principal {
        Principal::Tenant(_) if partner.is_some() => return Err(partner_refused()),
        Principal::Tenant(principal) => {
            let own = principal.tenant();
            let is_own = |name: &str| name == own.slug || name.parse() == Ok(own.id);
            if tenant.is_some_and(|name| !is_own(name)) {
                return Err(unknown_tenant());
            }
            Some(own.id)
        }
        Principal::Operator(_) => match (tenant, partner) {
            (Some(_), Some(_)) => {
                let message = "`tenant` and `partner` are mutually exclusive; give one of them";
                return Err(Problem::field("", message));
            }
            (Some(name), None) => {
                let found = call.api.access.tenants.find(name).await?;
                Some(found.ok_or_else(unknown_tenant)?.id)
            }
            (None, Some(partner)) => Some(sources::tenant_by_name(call, partner).await?),
            (None, None) => None,
        },
    };
    time_range::check(query.since, query.until)?;
    Ok(DeadFilter {
        tenant,
        delivery: None,
        lane: query.lane,
        code: query.code,
        since: query.since,
        until: query.until,
        only_sendable: false,
    })
}

/// Does not reveal whether another tenant exists.
fn unknown_tenant() -> Problem {
    Problem::new(
        &codes::UNKNOWN_TENANT,
        "the tenant named by `tenant` does not exist; correct it, or leave it out",
    )
}

fn partner_refused() -> Problem {
    let detail = "only the operator can filter by partner; leave out `partner`";
    Problem::new(&codes::OPERATOR_ONLY, detail)
}

/// Takes the filters from the URL or from the body, not from both.
pub async fn from_either(call: &Call, body: DeadLetterFilter) -> Result<DeadFilter, Problem> {
    let query: DeadLetterFilter = call.parse_query()?;
    if !query.is_empty() && !body.is_empty() {
        return Err(Problem::field(
            "",
            "filters are given both in the URL and in the body; give them in one place",
        ));
    }
    filter(call, if query.is_empty() { body } else { query }).await
}
