//! The supported calls.

use super::{
    Support::{Differs, Same},
    SvixCall,
};
use crate::{
    operations::{
        applications, attempts, background_tasks, endpoint_headers, endpoint_secrets, endpoints,
        event_types, message_create, message_endpoints, messages, portal, recovery, statistics,
    },
    visit::Reply,
};

pub const CALLS: &[SvixCall] = &[
    SvixCall {
        method: "GET",
        path: "/api/v1/health",
        operation: "v1.health.get",
        support: Same(|_| Box::pin(async { Ok(Reply::no_content()) })),
    },
    SvixCall {
        method: "GET",
        path: "/api/v1/app",
        operation: "v1.application.list",
        support: Differs(
            |visit| Box::pin(applications::list(visit)),
            "By uid, ascending only. A tenant's key sees its own application. The `exclude_…` filters are refused",
        ),
    },
    SvixCall {
        method: "POST",
        path: "/api/v1/app",
        operation: "v1.application.create",
        support: Differs(
            |visit| Box::pin(applications::create(visit)),
            "`throttleRate` is refused: set it at endpoints. A uid has at most 63 characters, of which capital letters and dots count twice; a name has at most 128",
        ),
    },
    SvixCall {
        method: "GET",
        path: "/api/v1/app/{app_id}",
        operation: "v1.application.get",
        support: Differs(
            |visit| Box::pin(applications::get(visit)),
            "`updatedAt` is the time of creation. Metadata is shown to the operator token only",
        ),
    },
    SvixCall {
        method: "PUT",
        path: "/api/v1/app/{app_id}",
        operation: "v1.application.upsert",
        support: Differs(
            |visit| Box::pin(applications::upsert(visit)),
            "As for create. The uid of an application cannot be changed",
        ),
    },
    SvixCall {
        method: "PATCH",
        path: "/api/v1/app/{app_id}",
        operation: "v1.application.patch",
        support: Differs(
            |visit| Box::pin(applications::patch(visit)),
            "As for create. The uid of an application cannot be changed",
        ),
    },
    SvixCall {
        method: "DELETE",
        path: "/api/v1/app/{app_id}",
        operation: "v1.application.delete",
        support: Differs(
            |visit| Box::pin(applications::delete(visit)),
            "The tenant is erased in the background; its name is free when that is done",
        ),
    },
    SvixCall {
        method: "GET",
        path: "/api/v1/app/{app_id}/endpoint",
        operation: "v1.endpoint.list",
        support: Differs(|visit| Box::pin(endpoints::list(visit)), "Newest first only"),
    },
    SvixCall {
        method: "POST",
        path: "/api/v1/app/{app_id}/endpoint",
        operation: "v1.endpoint.create",
        support: Differs(
            |visit| Box::pin(endpoints::create(visit)),
            "`channels` are refused. The description has at most 128 characters, `eventTypes` at most 100 entries, a secret at most 64 bytes; `invoice.*` is allowed",
        ),
    },
    SvixCall {
        method: "GET",
        path: "/api/v1/app/{app_id}/endpoint/{endpoint_id}",
        operation: "v1.endpoint.get",
        support: Same(|visit| Box::pin(endpoints::get(visit))),
    },
    SvixCall {
        method: "PUT",
        path: "/api/v1/app/{app_id}/endpoint/{endpoint_id}",
        operation: "v1.endpoint.upsert",
        support: Differs(|visit| Box::pin(endpoints::upsert(visit)), "As for create"),
    },
    SvixCall {
        method: "DELETE",
        path: "/api/v1/app/{app_id}/endpoint/{endpoint_id}",
        operation: "v1.endpoint.delete",
        support: Same(|visit| Box::pin(endpoints::delete(visit))),
    },
    SvixCall {
        method: "PATCH",
        path: "/api/v1/app/{app_id}/endpoint/{endpoint_id}",
        operation: "v1.endpoint.patch",
        support: Differs(|visit| Box::pin(endpoints::patch(visit)), "As for create"),
    },
    SvixCall {
        method: "GET",
        path: "/api/v1/app/{app_id}/endpoint/{endpoint_id}/secret",
        operation: "v1.endpoint.get-secret",
        support: Same(|visit| Box::pin(endpoint_secrets::get(visit))),
    },
    SvixCall {
        method: "POST",
        path: "/api/v1/app/{app_id}/endpoint/{endpoint_id}/secret/rotate",
        operation: "v1.endpoint.rotate-secret",
        support: Differs(
            |visit| Box::pin(endpoint_secrets::rotate(visit)),
            "A secret has at most 64 bytes",
        ),
    },
    SvixCall {
        method: "GET",
        path: "/api/v1/app/{app_id}/endpoint/{endpoint_id}/headers",
        operation: "v1.endpoint.get-headers",
        support: Differs(
            |visit| Box::pin(endpoint_headers::get(visit)),
            "All headers are `sensitive`: their values are stored encrypted and never shown",
        ),
    },
    SvixCall {
        method: "PUT",
        path: "/api/v1/app/{app_id}/endpoint/{endpoint_id}/headers",
        operation: "v1.endpoint.set-headers",
        support: Differs(
            |visit| Box::pin(endpoint_headers::set(visit)),
            "Headers that the gateway sends itself, such as `user-agent`, are refused",
        ),
    },
    SvixCall {
        method: "PATCH",
        path: "/api/v1/app/{app_id}/endpoint/{endpoint_id}/headers",
        operation: "v1.endpoint.patch-headers",
        support: Differs(|visit| Box::pin(endpoint_headers::patch(visit)), "As for set"),
    },
    SvixCall {
        method: "POST",
        path: "/api/v1/app/{app_id}/endpoint/{endpoint_id}/replay-missing",
        operation: "v1.endpoint.replay-missing",
        support: Same(|visit| Box::pin(recovery::replay_missing(visit))),
    },
    SvixCall {
        method: "POST",
        path: "/api/v1/app/{app_id}/endpoint/{endpoint_id}/bulk-replay",
        operation: "v1.endpoint.bulk-replay",
        support: Differs(
            |visit| Box::pin(recovery::bulk_replay(visit)),
            "One event type or all; `status` 0 or 2; `channel`, `tag` and `statusCodeClass` are refused",
        ),
    },
    SvixCall {
        method: "POST",
        path: "/api/v1/app/{app_id}/endpoint/{endpoint_id}/recover",
        operation: "v1.endpoint.recover",
        support: Differs(
            |visit| Box::pin(recovery::recover(visit)),
            "Messages that still wait for a retry are left to it",
        ),
    },
    SvixCall {
        method: "GET",
        path: "/api/v1/app/{app_id}/endpoint/{endpoint_id}/stats",
        operation: "v1.endpoint.get-stats",
        support: Differs(
            |visit| Box::pin(statistics::endpoint(visit)),
            "At most 30 days, in steps of minutes to hours. `pending` is what was accepted and has not ended; `sending` and `canceled` are 0",
        ),
    },
    SvixCall {
        method: "GET",
        path: "/api/v1/app/{app_id}/endpoint/{endpoint_id}/attempt-stats",
        operation: "v1.endpoint.get-attempt-stats",
        support: Differs(
            |visit| Box::pin(statistics::endpoint_attempts(visit)),
            "At most 30 days, in steps of minutes to hours; `canceled` is 0",
        ),
    },
    SvixCall {
        method: "POST",
        path: "/api/v1/app/{app_id}/endpoint/{endpoint_id}/send-example",
        operation: "v1.endpoint.send-example",
        support: Differs(
            |visit| Box::pin(messages::send_example(visit)),
            "The example of the event type; `payload` is refused",
        ),
    },
    SvixCall {
        method: "GET",
        path: "/api/v1/event-type",
        operation: "v1.event-type.list",
        support: Differs(|visit| Box::pin(event_types::list(visit)), "Ascending only"),
    },
    SvixCall {
        method: "POST",
        path: "/api/v1/event-type",
        operation: "v1.event-type.create",
        support: Differs(
            |visit| Box::pin(event_types::create(visit)),
            "A name has at most 128 characters, in parts separated by dots; all schemas together at most 64 KiB",
        ),
    },
    SvixCall {
        method: "GET",
        path: "/api/v1/event-type/{event_type_name}",
        operation: "v1.event-type.get",
        support: Same(|visit| Box::pin(event_types::get(visit))),
    },
    SvixCall {
        method: "PUT",
        path: "/api/v1/event-type/{event_type_name}",
        operation: "v1.event-type.upsert",
        support: Differs(|visit| Box::pin(event_types::upsert(visit)), "As for create"),
    },
    SvixCall {
        method: "DELETE",
        path: "/api/v1/event-type/{event_type_name}",
        operation: "v1.event-type.delete",
        support: Same(|visit| Box::pin(event_types::delete(visit))),
    },
    SvixCall {
        method: "PATCH",
        path: "/api/v1/event-type/{event_type_name}",
        operation: "v1.event-type.patch",
        support: Differs(|visit| Box::pin(event_types::patch(visit)), "As for create"),
    },
    SvixCall {
        method: "GET",
        path: "/api/v1/app/{app_id}/msg",
        operation: "v1.message.list",
        support: Differs(
            |visit| Box::pin(messages::list(visit)),
            "`channel` and `tag` are refused. `deliverAt` is not shown",
        ),
    },
    SvixCall {
        method: "POST",
        path: "/api/v1/app/{app_id}/msg",
        operation: "v1.message.create",
        support: Differs(
            |visit| Box::pin(message_create::create(visit)),
            "`channels`, `tags`, `transformationsParams` and `payloadRetention…` are refused. An idempotency key is valid for 24 hours",
        ),
    },
    SvixCall {
        method: "POST",
        path: "/api/v1/app/{app_id}/msg/precheck/active",
        operation: "v1.message.precheck",
        support: Differs(|visit| Box::pin(messages::precheck(visit)), "`channels` are refused"),
    },
    SvixCall {
        method: "GET",
        path: "/api/v1/app/{app_id}/msg/{msg_id}",
        operation: "v1.message.get",
        support: Differs(|visit| Box::pin(messages::get(visit)), "`deliverAt` is not shown"),
    },
    SvixCall {
        method: "GET",
        path: "/api/v1/app/{app_id}/msg/{msg_id}/raw",
        operation: "v1.message.get-raw-payload",
        support: Same(|visit| Box::pin(messages::get_raw(visit))),
    },
    SvixCall {
        method: "GET",
        path: "/api/v1/app/{app_id}/attempt/endpoint/{endpoint_id}",
        operation: "v1.message-attempt.list-by-endpoint",
        support: Differs(
            |visit| Box::pin(attempts::list_by_endpoint(visit)),
            "By delivery, newest first, with all attempts of each; `before` and `after` select by the time of the message; `channel` and `tag` are refused; `triggerType` is 0",
        ),
    },
    SvixCall {
        method: "GET",
        path: "/api/v1/app/{app_id}/attempt/msg/{msg_id}",
        operation: "v1.message-attempt.list-by-msg",
        support: Differs(
            |visit| Box::pin(attempts::list_by_message(visit)),
            "As for list-by-endpoint",
        ),
    },
    SvixCall {
        method: "GET",
        path: "/api/v1/app/{app_id}/endpoint/{endpoint_id}/msg",
        operation: "v1.message-attempt.list-attempted-messages",
        support: Differs(
            |visit| Box::pin(message_endpoints::messages(visit)),
            "`channel` and `tag` are refused",
        ),
    },
    SvixCall {
        method: "GET",
        path: "/api/v1/app/{app_id}/msg/{msg_id}/endpoint",
        operation: "v1.message-attempt.list-attempted-destinations",
        support: Differs(
            |visit| Box::pin(message_endpoints::destinations(visit)),
            "Endpoints that were deleted are left out; metadata is included",
        ),
    },
    SvixCall {
        method: "GET",
        path: "/api/v1/app/{app_id}/msg/{msg_id}/attempt/{attempt_id}/headers",
        operation: "v1.message-attempt.get-headers",
        support: Differs(
            |visit| Box::pin(attempts::get_headers(visit)),
            "Values of secrets are masked",
        ),
    },
    SvixCall {
        method: "GET",
        path: "/api/v1/app/{app_id}/msg/{msg_id}/attempt/{attempt_id}",
        operation: "v1.message-attempt.get",
        support: Same(|visit| Box::pin(attempts::get(visit))),
    },
    SvixCall {
        method: "POST",
        path: "/api/v1/app/{app_id}/msg/{msg_id}/endpoint/{endpoint_id}/resend",
        operation: "v1.message-attempt.resend",
        support: Differs(
            |visit| Box::pin(attempts::resend(visit)),
            "The delivery is attempted again under its id; a disabled endpoint is answered with 409",
        ),
    },
    SvixCall {
        method: "GET",
        path: "/api/v1/background-task",
        operation: "v1.background-task.list",
        support: Differs(
            |visit| Box::pin(background_tasks::list(visit)),
            "Those of one application, with a key of its tenant; with the operator token 501. Newest first only; a bulk replay is listed as `endpoint.recover`",
        ),
    },
    SvixCall {
        method: "GET",
        path: "/api/v1/background-task/{task_id}",
        operation: "v1.background-task.get",
        support: Differs(
            |visit| Box::pin(background_tasks::get(visit)),
            "A bulk replay is shown as `endpoint.recover`; `data` has counts",
        ),
    },
    SvixCall {
        method: "POST",
        path: "/api/v1/auth/app-portal-access/{app_id}",
        operation: "v1.authentication.app-portal-access",
        support: Differs(
            |visit| Box::pin(portal::access(visit)),
            "Valid for 24 hours at most; `readOnly`, `capabilities`, `featureFlags` and `sessionId` are refused",
        ),
    },
    SvixCall {
        method: "POST",
        path: "/api/v1/auth/dashboard-access/{app_id}",
        operation: "v1.authentication.dashboard-access",
        support: Differs(|visit| Box::pin(portal::access(visit)), "As for app-portal-access"),
    },
    SvixCall {
        method: "POST",
        path: "/api/v1/auth/app/{app_id}/expire-all",
        operation: "v1.authentication.expire-all",
        support: Differs(
            |visit| Box::pin(portal::expire_all(visit)),
            "All links of the application, at once; `expiry` above 0 and `sessionIds` are refused",
        ),
    },
];
