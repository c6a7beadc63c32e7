//! `GET /v1/emails`: newest first.

use gancho_access::Right;
use gancho_mail::{EmailFilter, EmailStatus};

use super::{TAG, view::EmailSummary};
use crate::{
    answer::Answer,
    codes,
    input::{
        Field, Kind,
        query::{CURSOR, LIMIT},
    },
    page::Page,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

pub const ROUTE: Route = Route {
    path: "/emails",
    needs: Needs::Tenant(Right::Read),
    query: &[
        LIMIT,
        CURSOR,
        Field::new(
            "status",
            Kind::Choice(&["PENDING", "SENT", "FAILED", "RETRY_SCHEDULED"]),
            "Only e-mails with this status. An e-mail that bounced after it was sent is `FAILED`. With this filter a page may have fewer items than `limit`: continue until `next_cursor` is null.",
        ),
        Field::new(
            "externalId",
            Kind::Text { min: 1, max: 256 },
            "Only e-mails with this external id.",
        ),
        Field::new("since", Kind::Time, "Only e-mails submitted at or after this time."),
        Field::new("until", Kind::Time, "Only e-mails submitted before this time."),
    ],
    gives: Gives::ok::<List<EmailSummary>>("A page of e-mails, newest first."),
    refuses: &[&codes::EMAIL_OFF],
    tag: TAG,
    summary: "List e-mails",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let (principal, query) = (call.tenant()?, &call.query);
    let page = Page::of(&call, Some(principal.scope().tenant()))?;
    let status = query.text("status");
    let filter = EmailFilter {
        status: EmailStatus::ALL.into_iter().find(|known| Some(known.name()) == status),
        external_id: query.string("externalId"),
        since: query.time("since"),
        until: query.time("until"),
    };
    let outbox = &super::mail(&call.api)?.outbox;
    let found = outbox.emails(principal.scope(), filter, page.request()?).await?;
    page.answer(found.rows.into_iter().map(EmailSummary::from).collect(), found.next)
}
