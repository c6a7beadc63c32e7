//! `GET /v1/emails`: newest first.

use gancho_access::{Principal, Right};
use gancho_domain::Time;
use gancho_mail::{EmailFilter, EmailStatus, Mailbox};

use super::{TAG, view::EmailSummary};
use crate::{
    answer::Answer,
    codes,
    input::{Request, query::Paging, request, time_range},
    page::Page,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

request! {
    struct EmailsQuery {
        flatten page: Paging,
        /// Only e-mails with this status. An e-mail that bounced after it was sent is `FAILED`. With this filter a page
        /// may have fewer items than `limit`: continue until `next_cursor` is null.
        optional status: String as choice(&["PENDING", "SENT", "FAILED", "RETRY_SCHEDULED"]),
        /// Only e-mails with this external id.
        optional external_id = "externalId": String as text(1, 256),
        /// Only e-mails to this address. A page searches about 2,000 e-mails, and may have fewer items than `limit`,
        /// even none: continue until `next_cursor` is null.
        optional recipient: String as text(3, 320),
        /// Only e-mails submitted at or after this time.
        optional since: Time as time(),
        /// Only e-mails submitted before this time.
        optional until: Time as time(),
    }
}

pub const ROUTE: Route = Route {
    path: "/emails",
    operation_id: "listEmails",
    needs: Needs::Anyone(Right::Read),
    query: EmailsQuery::FIELDS,
    gives: Gives::ok::<List<EmailSummary>>("A page of e-mails, newest first."),
    refuses: &[&codes::EMAIL_OFF, &codes::TENANT_REQUIRED],
    tag: TAG,
    summary: "List e-mails",
    about: "The operator without `X-Tenant` sees those of all tenants, and cannot filter by `externalId`; those that bounced after they were sent are `FAILED` in their tenant's list only.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let query: EmailsQuery = call.parse_query()?;
    let page = Page::of(&call, call.owner().tenant(), &query.page)?;
    time_range::check(query.since, query.until)?;
    let status = query.status.as_deref();
    let recipient = query.recipient.as_deref().map(str::parse::<Mailbox>).transpose();
    let recipient = recipient.map_err(|why| {
        Problem::field("", format!("`recipient` is not a valid e-mail address: {why}"))
    })?;
    let filter = EmailFilter {
        recipient,
        status: EmailStatus::ALL.into_iter().find(|known| Some(known.name()) == status),
        external_id: query.external_id,
        since: query.since,
        until: query.until,
    };
    let outbox = &super::mail(&call.api)?.outbox;
    let request = page.request()?;
    let found = match &call.principal {
        Principal::Tenant(principal) => outbox.emails(principal.scope(), filter, request).await?,
        Principal::Operator(_) if filter.external_id.is_some() => {
            let detail = "`externalId` is unique per tenant only; name the tenant with `X-Tenant`";
            return Err(Problem::new(&codes::TENANT_REQUIRED, detail));
        }
        Principal::Operator(_) => outbox.all_emails(filter, request).await?,
    };
    page.answer(found.rows.into_iter().map(EmailSummary::from).collect(), found.next)
}
