//! `GET /v1/egress-addresses`: the addresses that a tenant's firewall must allow.

use gancho_access::Right;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    answer::Answer,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

/// The addresses that deliveries come from.
#[derive(Serialize, ToSchema)]
pub struct EgressAddresses {
    /// IP addresses and networks (CIDR). Empty if the operator has not configured any.
    pub addresses: Vec<String>,
}

pub const ROUTE: Route = Route {
    path: "/egress-addresses",
    operation_id: "listEgressAddresses",
    needs: Needs::Anyone(Right::Read),
    gives: Gives::ok::<EgressAddresses>("The egress addresses."),
    tag: "Webhooks",
    summary: "List egress addresses",
    about: "The IP addresses that deliveries come from, for firewall allow lists, as configured in `egress_addresses`. \
            An address is no proof of origin: verify signatures as well.",
    run: |call| Box::pin(std::future::ready(run(&call))),
    ..Route::DEFAULT
};

fn run(call: &Call) -> Result<Answer, Problem> {
    Answer::ok(&EgressAddresses { addresses: call.api.settings.egress_addresses.clone() })
}
