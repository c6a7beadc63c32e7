//! Which dead letters are meant: in the part of a URL after `?`, or, where something is done to them,
//! in the body.

use gancho_store::DeadFilter;

use crate::{
    auth::Who,
    codes,
    input::{Field, Kind, Values, field::Noun},
    problem::Problem,
    route::Call,
};

pub const LANE: Field =
    Field::new("lane", Kind::Choice(&["webhook", "dispatch", "email"]), "Only of this lane.");
pub const TENANT: Field = Field::new(
    "tenant",
    Kind::Id(Noun::Tenant),
    "Only of this tenant, by slug or id. For the operator.",
);
pub const CODE: Field = Field::new(
    "code",
    Kind::Text { least: 1, most: 64 },
    "Only given up for this reason, such as `HTTP_503`.",
);
pub const SINCE: Field = Field::new("since", Kind::Time, "Given up at or after.");
pub const UNTIL: Field = Field::new("until", Kind::Time, "Given up before.");

pub const FIELDS: &[Field] = &[LANE, TENANT, CODE, SINCE, UNTIL];

/// A tenant's filter is never about another tenant, whatever it says.
pub async fn filter(call: &Call, values: &Values<'_>) -> Result<DeadFilter, Problem> {
    let tenant = match &call.who {
        Who::Tenant(acting) => {
            let own = acting.tenant();
            let is_own = |name: &str| name == own.slug || name.parse() == Ok(own.id);
            if values.text("tenant").is_some_and(|name| !is_own(name)) {
                return Err(unknown_tenant());
            }
            Some(own.id)
        }
        Who::Operator(_) => match values.text("tenant") {
            Some(name) => {
                let found = call.api.tenants.find(name).await?;
                Some(found.ok_or_else(unknown_tenant)?.id)
            }
            None => None,
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

/// A tenant learns nothing of whether there is such a tenant.
fn unknown_tenant() -> Problem {
    Problem::new(
        &codes::UNKNOWN_TENANT,
        "there is no such tenant here: leave `tenant` out, or correct it",
    )
}

/// From the URL or from the body, not from both.
pub async fn from_either(call: &Call, values: &Values<'_>) -> Result<DeadFilter, Problem> {
    if !call.query.is_empty() && FIELDS.iter().any(|field| values.is_given(field.name)) {
        return Err(Problem::field(
            "",
            "filters are given in the URL and in the body: give them in one place",
        ));
    }
    let source = if call.query.is_empty() { values } else { &call.query };
    filter(call, source).await
}
