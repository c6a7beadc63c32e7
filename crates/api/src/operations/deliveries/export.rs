//! `GET /v1/deliveries/export`: a stream of JSON lines.

use std::sync::Arc;

use gancho_access::Right;
use gancho_store::PageRequest;

use super::{TAG, select::DeliverySelection, view::Delivery};
use crate::{
    answer::Answer,
    codes,
    input::Request,
    json_lines,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

const PAGE: usize = 200;

pub const ROUTE: Route = Route {
    path: "/deliveries/export",
    operation_id: "exportDeliveries",
    needs: Needs::Anyone(Right::Read),
    query: DeliverySelection::FIELDS,
    refuses: &[
        &codes::TENANT_REQUIRED,
        &codes::NOT_FOUND,
        &codes::RECEIVING_OFF,
        &codes::RATE_LIMITED,
    ],
    gives: Gives {
        media_type: json_lines::MEDIA_TYPE,
        ..Gives::ok::<Delivery>(
            "Deliveries as JSON lines, newest first. A response that breaks off is incomplete.",
        )
    },
    tag: TAG,
    summary: "Export deliveries",
    about: "Takes the filters of the list, and returns all that match, without payloads and attempts. At most 8 exports per tenant, and 8 of the operator, are open on a node, those of dead letters included; further requests get 429 with `Retry-After`.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let query: DeliverySelection = call.parse_query()?;
    let selected = query.resolve()?;
    let slot = call.api.exports.take(call.limited_tenant())?;
    let source = Arc::new((call, selected));
    json_lines::stream(slot, move |after| {
        let source = source.clone();
        async move {
            let (call, selected) = &*source;
            selected.page(call, PageRequest::new(PAGE, after)).await
        }
    })
    .await
}
