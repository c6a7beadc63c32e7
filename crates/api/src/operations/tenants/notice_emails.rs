//! `GET` and `PUT /v1/tenants/{tenant}/notice-emails`: who is notified by e-mail when a tenant's endpoints fail.

use std::collections::BTreeSet;

use bytes::Bytes;
use gancho_mail::Mailbox;
use gancho_outbound::notify::NOTICE_EMAILS;
use gancho_store::{Collection, Precondition};
use http::Method;
use serde::Serialize;
use utoipa::ToSchema;

use super::{TAG, find};
use crate::{
    answer::Answer,
    codes,
    input::{Request, request},
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

const MAX_ADDRESSES: usize = 10;

request! {
    struct NoticeEmailsBody {
        /// E-mail addresses, at most 10. An empty list stops the e-mails.
        required addresses: Vec<String> as texts(MAX_ADDRESSES, 320),
    }
}

/// The addresses that notices about a tenant are sent to.
#[derive(Debug, Serialize, ToSchema)]
pub struct NoticeEmails {
    /// E-mail addresses; empty if no notices are sent by e-mail.
    pub addresses: Vec<String>,
}

pub const GET: Route = Route {
    path: "/tenants/{tenant}/notice-emails",
    operation_id: "listNoticeEmails",
    needs: Needs::Operator,
    gives: Gives::ok::<NoticeEmails>("The addresses."),
    refuses: &[&codes::UNKNOWN_TENANT],
    tag: TAG,
    summary: "Get the addresses for notices",
    run: |call| Box::pin(get(call)),
    ..Route::DEFAULT
};

pub const PUT: Route = Route {
    method: Method::PUT,
    path: "/tenants/{tenant}/notice-emails",
    operation_id: "replaceNoticeEmails",
    needs: Needs::Operator,
    takes: Takes::Body(NoticeEmailsBody::FIELDS),
    gives: Gives::ok::<NoticeEmails>("The addresses."),
    refuses: &[&codes::UNKNOWN_TENANT, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Set the addresses for notices",
    about: "Notices about dead letters and about failing and disabled endpoints of the tenant are sent to these addresses, gathered into digests. Needs an e-mail transport.",
    run: |call| Box::pin(put(call)),
    ..Route::DEFAULT
};

async fn get(call: Call) -> Result<Answer, Problem> {
    let collection = collection(&call).await?;
    Answer::ok(&NoticeEmails { addresses: stored(&call, collection).await? })
}

async fn put(call: Call) -> Result<Answer, Problem> {
    let collection = collection(&call).await?;
    let body: NoticeEmailsBody = call.parse_body()?;
    let mut wanted = BTreeSet::new();
    for (number, address) in body.addresses.iter().enumerate() {
        let valid = address.parse::<Mailbox>().map_err(|why| {
            let text = format!("address {} is not a valid e-mail address: {why}", number + 1);
            Problem::field(&format!("/addresses/{number}"), text)
        });
        valid?;
        wanted.insert(address.clone());
    }
    for address in stored(&call, collection).await? {
        if !wanted.contains(&address) {
            call.api.store.delete_document(collection, &address).await?;
        }
    }
    for address in &wanted {
        let store = &call.api.store;
        store.put_document(collection, address, Bytes::new(), Precondition::Anything).await?;
    }
    Answer::ok(&NoticeEmails { addresses: wanted.into_iter().collect() })
}

async fn collection(call: &Call) -> Result<Collection, Problem> {
    let tenant = find(call).await?;
    Ok(Collection::of(call.operator()?.act_for(tenant).scope(), NOTICE_EMAILS))
}

async fn stored(call: &Call, collection: Collection) -> Result<Vec<String>, Problem> {
    let found = call.api.store.documents(collection, None, MAX_ADDRESSES).await?;
    Ok(found.into_iter().map(|document| document.key).collect())
}
