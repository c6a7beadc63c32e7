//! `GET /v1/egress-addresses`: what a tenant must let through its firewall.

use gancho_access::Right;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    answer::Answer,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

#[derive(Serialize, ToSchema)]
pub struct EgressAddresses {
    /// IP addresses and networks (CIDR). Empty if the operator has not stated any.
    pub addresses: Vec<String>,
}

pub const ROUTE: Route = Route {
    path: "/egress-addresses",
    needs: Needs::Anyone(Right::Read),
    gives: Gives::ok::<EgressAddresses>("The addresses."),
    tag: "Webhooks",
    summary: "List the addresses that deliveries come from",
    about: "For firewalls that let known addresses through. As the operator states them in `egress_addresses`; \
            a signature proves more than an address does, so verify that as well.",
    run: |call| Box::pin(std::future::ready(run(&call))),
    ..Route::PLAIN
};

fn run(call: &Call) -> Result<Answer, Problem> {
    Answer::ok(&EgressAddresses { addresses: call.api.settings.egress_addresses.clone() })
}
