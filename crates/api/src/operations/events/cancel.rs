//! `POST /v1/events/{event_id}/cancel`: what waits is given up, what is in flight finishes.

use gancho_access::Right;
use gancho_domain::State;
use gancho_store::deliveries::MAX_CANCELED;
use http::Method;
use serde::Serialize;
use utoipa::ToSchema;

use super::{TAG, get::find};
use crate::{
    answer::Answer,
    codes,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

/// Result of canceling an event.
#[derive(Debug, Serialize, ToSchema)]
struct CanceledEvent {
    /// Id of the event (`evt_…`).
    id: String,
    /// Number of deliveries that were canceled.
    canceled: u64,
    /// Number of deliveries in flight. They finish, and are retried if they fail.
    in_flight: usize,
}

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/events/{event_id}/cancel",
    operation_id: "cancelEvent",
    needs: Needs::Anyone(Right::Manage),
    gives: Gives::ok::<CanceledEvent>("What was canceled."),
    refuses: &[&codes::CONFLICT],
    tag: TAG,
    summary: "Cancel an event",
    about: "Cancels the deliveries of the event that have not started or wait for a retry, such as those of a scheduled event. They fail with the code `CANCELED`. Lists, counts and replays of dead letters leave them out, unless this code is asked for. Deliveries in flight finish. Answers 409 if nothing is left to cancel.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let (scope, view) = find(&call).await?;
    let in_state = |states: &[State]| {
        let found = view.deliveries.iter().filter(|row| states.contains(&row.state));
        found.map(|row| row.id).collect::<Vec<_>>()
    };
    let in_flight = in_state(&[State::Leased]).len();
    let mut canceled = 0;
    for ids in in_state(&[State::Pending, State::Waiting]).chunks(MAX_CANCELED) {
        canceled += call.api.store.cancel(scope, ids.to_vec(), call.api.clock.now()).await?;
    }
    if canceled == 0 {
        let why =
            "nothing is left to cancel: all deliveries of the event have ended or are in flight";
        return Err(Problem::new(&codes::CONFLICT, why));
    }
    Answer::ok(&CanceledEvent { id: view.parcel.id.to_string(), canceled, in_flight })
}
