//! Applications, which are tenants. The uid is in the slug (see [`crate::uid`]), and the metadata is the
//! tenant's.

use std::collections::BTreeMap;

use futures_util::{StreamExt, TryStreamExt, stream};
use gancho_access::Principal;
use gancho_domain::{Id, Tenant, id::IdKind};
use http::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    fields::{Fields, MaybeField},
    page::{List, ListOut, Paging},
    svix_error::{Names, SvixError},
    svix_metadata,
    uid::{self, WITHOUT_UID},
    visit::{AppContext, Reply, Visit, segment},
};

/// Maximum concurrent calls of the API for a page.
const CONCURRENCY: usize = 8;
const NAMES: Names = &[("slug", "uid"), ("publish_rate", "throttleRate")];

enum ApplicationIdKind {}

impl IdKind for ApplicationIdKind {
    const PREFIX: &'static str = "app";
}

#[derive(Debug, Clone, Deserialize)]
pub struct TenantRow {
    id: String,
    slug: String,
    name: String,
    created_at: String,
}

#[derive(Deserialize)]
struct MetadataRow {
    metadata: Map<String, Value>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationOut {
    id: String,
    uid: Option<String>,
    name: String,
    rate_limit: Option<u32>,
    throttle_rate: Option<u32>,
    created_at: String,
    updated_at: String,
    metadata: BTreeMap<String, String>,
}

/// The requested properties of an application.
#[derive(Debug, Default, Clone)]
pub struct ApplicationIn {
    name: Option<String>,
    uid: MaybeField<String>,
    metadata: Option<BTreeMap<String, String>>,
}

impl From<&Tenant> for TenantRow {
    fn from(tenant: &Tenant) -> Self {
        Self {
            id: tenant.id.to_string(),
            slug: tenant.slug.clone(),
            name: tenant.name.clone(),
            created_at: tenant.created_at.to_string(),
        }
    }
}

impl TenantRow {
    fn into_out(self, metadata: BTreeMap<String, String>) -> ApplicationOut {
        ApplicationOut {
            id: self.id,
            uid: uid::uid_of(&self.slug),
            name: self.name,
            rate_limit: None,
            throttle_rate: None,
            updated_at: self.created_at.clone(),
            created_at: self.created_at,
            metadata,
        }
    }
}

impl ApplicationIn {
    pub fn read(fields: &mut Fields, needs_name: bool) -> Self {
        let name = if needs_name { fields.require("name") } else { fields.take("name") };
        let uid: MaybeField<String> = fields.take_given("uid");
        if uid.iter().flatten().any(|uid| uid::slug_of(uid).is_none()) {
            let text = "a uid has letters, digits, `-`, `_` and `.`, at most 63, of which capital letters and dots count twice";
            fields.invalid("uid", text);
        }
        let metadata: Option<BTreeMap<String, String>> = fields.take("metadata");
        let why = "the rate of deliveries is limited for each endpoint: set it there";
        fields.refuse("throttleRate", why);
        fields.refuse("rateLimit", why);
        Self { name, uid, metadata }
    }
}

pub async fn list(visit: Visit) -> Result<Reply, SvixError> {
    let mut query = visit.query();
    let paging = Paging::read(&mut query);
    query.only_order("ascending");
    let why = "applications are not selected by their endpoints";
    for name in [
        "exclude_apps_with_no_endpoints",
        "exclude_apps_with_disabled_endpoints",
        "exclude_apps_with_svix_play_endpoints",
    ] {
        query.refuse(name, why);
    }
    query.finish()?;
    if let Principal::Tenant(own) = &visit.caller {
        let row = TenantRow::from(&**own.tenant());
        return Reply::ok(&ListOut::new(vec![row.into_out(BTreeMap::new())], None));
    }
    let call = visit.call_as(visit.caller.clone(), Method::GET, "/v1/tenants");
    let found: List<TenantRow> = call.query(&paging.parameters()).run().await?;
    // The operator's own tenant is not an application.
    let rows = found.data.into_iter().filter(|row| row.slug != Tenant::OPERATOR);
    let shown: Vec<_> = stream::iter(rows.map(|row| application_out(&visit, row)))
        .buffered(CONCURRENCY)
        .try_collect()
        .await?;
    Reply::ok(&ListOut::new(shown, found.next_cursor))
}

/// Returns the application with its metadata, which only the operator may read.
async fn application_out(visit: &Visit, row: TenantRow) -> Result<ApplicationOut, SvixError> {
    if matches!(visit.caller, Principal::Tenant(_)) {
        return Ok(row.into_out(BTreeMap::new()));
    }
    let path = format!("/v1/tenants/{}/metadata", segment(&row.id));
    let found: MetadataRow = visit.call_as(visit.caller.clone(), Method::GET, path).run().await?;
    Ok(row.into_out(svix_metadata::own(&found.metadata)))
}

pub async fn create(visit: Visit) -> Result<Reply, SvixError> {
    let mut query = visit.query();
    let get_if_exists = query.flag("get_if_exists").unwrap_or(false);
    query.finish()?;
    let mut fields = visit.fields()?;
    let wanted = ApplicationIn::read(&mut fields, true);
    fields.finish()?;
    let uid = wanted.uid.clone().flatten().filter(|_| get_if_exists);
    if let Some(uid) = &uid
        && let Some(app) = visit.find_app(uid).await?
    {
        return Reply::ok(&application_out(&visit, TenantRow::from(&*app.tenant)).await?);
    }
    match (create_tenant(&visit, wanted).await, uid) {
        (Ok(created), _) => Reply::of(StatusCode::CREATED, &created),
        // Another request has just created it.
        (Err(error), Some(uid)) if error.status() == StatusCode::CONFLICT => {
            let app = visit.find_app(&uid).await?.ok_or(error)?;
            Reply::ok(&application_out(&visit, TenantRow::from(&*app.tenant)).await?)
        }
        (Err(error), _) => Err(error),
    }
}

async fn create_tenant(visit: &Visit, wanted: ApplicationIn) -> Result<ApplicationOut, SvixError> {
    let slug = if let Some(uid) = wanted.uid.flatten() {
        uid::slug_of(&uid).ok_or_else(|| SvixError::field(&["body", "uid"], "invalid"))?
    } else {
        let id: Id<ApplicationIdKind> = visit.svix.ids.make();
        let id = id.to_string().to_ascii_lowercase();
        debug_assert!(id.starts_with(WITHOUT_UID), "{id}");
        id
    };
    let body = json!({"slug": slug, "name": wanted.name, "default_profile": "svix"});
    let call = visit.call_as(visit.caller.clone(), Method::POST, "/v1/tenants").names(NAMES);
    let row: TenantRow = call.json(&body)?.run().await?;
    match wanted.metadata.filter(|metadata| !metadata.is_empty()) {
        Some(metadata) => {
            put_metadata(visit, &row.id, &metadata).await?;
            Ok(row.into_out(metadata))
        }
        None => Ok(row.into_out(BTreeMap::new())),
    }
}

/// Returns the application that a message or a portal link names in its body. Creates it if it does not
/// exist.
pub async fn find_or_create(
    visit: &Visit,
    wanted: Option<ApplicationIn>,
) -> Result<AppContext, SvixError> {
    let name = visit.param("app_id");
    if let Some(app) = visit.find_app(name).await? {
        return Ok(app);
    }
    let not_found = || SvixError::not_found("application");
    let mut wanted = wanted.ok_or_else(not_found)?;
    check_uid(&wanted, name)?;
    wanted.uid = Some(Some(name.to_owned()));
    match create_tenant(visit, wanted).await {
        Ok(_) => {}
        // Another request has just created it.
        Err(error) if error.status() == StatusCode::CONFLICT => {}
        Err(error) => return Err(error),
    }
    visit.find_app(name).await?.ok_or_else(not_found)
}

fn check_uid(wanted: &ApplicationIn, name: &str) -> Result<(), SvixError> {
    match &wanted.uid {
        Some(Some(uid)) if uid != name => {
            let text = "must be the uid in the path: the uid of an application cannot be changed";
            Err(SvixError::field(&["body", "uid"], text))
        }
        _ => Ok(()),
    }
}

async fn put_metadata(
    visit: &Visit,
    id: &str,
    metadata: &BTreeMap<String, String>,
) -> Result<(), SvixError> {
    let path = format!("/v1/tenants/{}/metadata", segment(id));
    let call = visit.call_as(visit.caller.clone(), Method::PUT, path);
    call.json(&json!({"metadata": metadata}))?.done().await
}

pub async fn get(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let app = visit.app().await?;
    Reply::ok(&application_out(&visit, TenantRow::from(&*app.tenant)).await?)
}

pub async fn upsert(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let mut fields = visit.fields()?;
    let mut wanted = ApplicationIn::read(&mut fields, true);
    fields.finish()?;
    let name = visit.param("app_id").to_owned();
    if let Some(app) = visit.find_app(&name).await? {
        // Missing fields are reset.
        wanted.metadata.get_or_insert_default();
        return Reply::ok(&change(&visit, &app, wanted).await?);
    }
    check_uid(&wanted, &name)?;
    if uid::slug_of(&name).is_none() {
        return Err(SvixError::not_found("application"));
    }
    wanted.uid = Some(Some(name.clone()));
    match create_tenant(&visit, wanted.clone()).await {
        Ok(created) => Reply::of(StatusCode::CREATED, &created),
        // Another request has just created it.
        Err(error) if error.status() == StatusCode::CONFLICT => {
            let app = visit.find_app(&name).await?.ok_or(error)?;
            wanted.metadata.get_or_insert_default();
            Reply::ok(&change(&visit, &app, wanted).await?)
        }
        Err(error) => Err(error),
    }
}

pub async fn patch(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let mut fields = visit.fields()?;
    let wanted = ApplicationIn::read(&mut fields, false);
    fields.finish()?;
    let app = visit.app().await?;
    Reply::ok(&change(&visit, &app, wanted).await?)
}

async fn change(
    visit: &Visit,
    app: &AppContext,
    wanted: ApplicationIn,
) -> Result<ApplicationOut, SvixError> {
    let own = uid::uid_of(&app.tenant.slug);
    if wanted.uid.is_some_and(|uid| uid != own) {
        return Err(SvixError::field(
            &["body", "uid"],
            "the uid of an application cannot be changed",
        ));
    }
    let path = format!("/v1/tenants/{}", segment(&app.tenant.id.to_string()));
    let mut body = Map::new();
    body.extend(wanted.name.map(|name| ("name".to_owned(), Value::String(name))));
    let call = visit.call_as(visit.caller.clone(), Method::PATCH, path).names(NAMES);
    let row: TenantRow = call.json(&body)?.run().await?;
    match wanted.metadata {
        Some(metadata) => {
            put_metadata(visit, &row.id, &metadata).await?;
            Ok(row.into_out(metadata))
        }
        None => application_out(visit, row).await,
    }
}

pub async fn delete(visit: Visit) -> Result<Reply, SvixError> {
    visit.no_query()?;
    let app = visit.app().await?;
    let path = format!("/v1/tenants/{}", segment(&app.tenant.id.to_string()));
    visit.call_as(visit.caller.clone(), Method::DELETE, path).done().await?;
    Ok(Reply::no_content())
}
