//! The filters of dead letters: in the URL, or, for operations that change them, in the body.

use gancho_access::Principal;
use gancho_store::DeadFilter;

use crate::{
    codes::{self, Code},
    input::{Field, Kind, Values, field::Noun},
    operations::sources,
    problem::Problem,
    route::Call,
};

pub const LANE: Field = Field::new(
    "lane",
    Kind::Choice(&["webhook", "dispatch", "email"]),
    "Only dead letters of this lane.",
);
pub const TENANT: Field = Field::new(
    "tenant",
    Kind::Id(Noun::Tenant),
    "Only dead letters of this tenant (slug or id). Operator only.",
);
pub const PARTNER: Field = Field::new(
    "partner",
    Kind::Id(Noun::Source),
    "Only dead letters of this partner. Operator only.",
);
pub const CODE: Field = Field::new(
    "code",
    Kind::Text { min: 1, max: 64 },
    "Only dead letters with this failure code, e.g. `HTTP_503`.",
);
pub const SINCE: Field =
    Field::new("since", Kind::Time, "Only deliveries that failed at or after this time.");
pub const UNTIL: Field =
    Field::new("until", Kind::Time, "Only deliveries that failed before this time.");

pub const FIELDS: &[Field] = &[LANE, TENANT, PARTNER, CODE, SINCE, UNTIL];
/// Errors of a filter by partner.
pub const REFUSALS: &[&Code] = &[&codes::NOT_FOUND, &codes::RECEIVING_OFF];

/// A tenant's filter never matches another tenant's dead letters.
pub async fn filter(call: &Call, values: &Values<'_>) -> Result<DeadFilter, Problem> {
    let tenant = match &call.principal {
        Principal::Tenant(_) if values.is_given("partner") => return Err(partner_refused()),
        Principal::Operator(_) if values.is_given("partner") && values.is_given("tenant") => {
            return Err(Problem::field(
                "",
                "`tenant` and `partner` are mutually exclusive; give one of them",
            ));
        }
        Principal::Tenant(principal) => {
            let own = principal.tenant();
            let is_own = |name: &str| name == own.slug || name.parse() == Ok(own.id);
            if values.text("tenant").is_some_and(|name| !is_own(name)) {
                return Err(unknown_tenant());
            }
            Some(own.id)
        }
        Principal::Operator(_) => match (values.text("tenant"), values.text("partner")) {
            (Some(name), _) => {
                let found = call.api.access.tenants.find(name).await?;
                Some(found.ok_or_else(unknown_tenant)?.id)
            }
            (None, Some(partner)) => Some(sources::find_by_name(call, partner).await?.tenant()),
            (None, None) => None,
        },
    };
    Ok(DeadFilter {
        tenant,
        delivery: None,
        lane: values.text("lane").and_then(|lane| lane.parse().ok()),
        code: values.string("code"),
        since: values.time("since"),
        until: values.time("until"),
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
pub async fn from_either(call: &Call, values: &Values<'_>) -> Result<DeadFilter, Problem> {
    if !call.query.is_empty() && FIELDS.iter().any(|field| values.is_given(field.name)) {
        return Err(Problem::field(
            "",
            "filters are given both in the URL and in the body; give them in one place",
        ));
    }
    let source = if call.query.is_empty() { values } else { &call.query };
    filter(call, source).await
}
