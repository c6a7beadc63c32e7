//! `GET` and `PUT /v1/tenants/{tenant}/metadata`: a JSON object of the operator's own, stored with a tenant.

use bytes::Bytes;
use gancho_store::{Collection, Precondition};
use http::Method;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{TAG, find};
use crate::{
    answer::Answer,
    codes,
    input::{Request, request},
    problem::Problem,
    render::Json,
    route::{Call, Gives, Needs, Route, Takes},
};

const KIND: &str = "tenant_metadata";
const KEY: &str = "metadata";

request! {
    struct MetadataBody {
        /// Custom JSON object. It replaces the one that is stored.
        required metadata: Box<RawValue> as json_object(16 * 1024),
    }
}

/// Metadata of a tenant, for the operator's own use.
#[derive(Debug, Serialize, ToSchema)]
pub struct TenantMetadata {
    /// Custom JSON object; empty if none was set.
    pub metadata: Json,
}

pub const GET: Route = Route {
    path: "/tenants/{tenant}/metadata",
    operation_id: "getTenantMetadata",
    needs: Needs::Operator,
    gives: Gives::ok::<TenantMetadata>("The metadata."),
    refuses: &[&codes::UNKNOWN_TENANT],
    tag: TAG,
    summary: "Get the metadata of a tenant",
    run: |call| Box::pin(get(call)),
    ..Route::DEFAULT
};

pub const PUT: Route = Route {
    method: Method::PUT,
    path: "/tenants/{tenant}/metadata",
    operation_id: "replaceTenantMetadata",
    needs: Needs::Operator,
    takes: Takes::Body(MetadataBody::FIELDS),
    gives: Gives::ok::<TenantMetadata>("The metadata."),
    refuses: &[&codes::UNKNOWN_TENANT, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Set the metadata of a tenant",
    about: "The metadata is for the operator's own use. Tenants do not see it.",
    run: |call| Box::pin(put(call)),
    ..Route::DEFAULT
};

async fn get(call: Call) -> Result<Answer, Problem> {
    let collection = collection(&call).await?;
    let found = call.api.store.document(collection, KEY).await?;
    let metadata = found.map_or_else(|| Json::of(b"{}"), |document| Json::of(&document.body));
    Answer::ok(&TenantMetadata { metadata })
}

async fn put(call: Call) -> Result<Answer, Problem> {
    let collection = collection(&call).await?;
    let body: MetadataBody = call.parse_body()?;
    let bytes = Bytes::copy_from_slice(body.metadata.get().as_bytes());
    call.api.store.put_document(collection, KEY, bytes, Precondition::Anything).await?;
    Answer::ok(&TenantMetadata { metadata: Json(body.metadata) })
}

async fn collection(call: &Call) -> Result<Collection, Problem> {
    let tenant = find(call).await?;
    Ok(Collection::of(call.operator()?.act_for(tenant).scope(), KIND))
}
