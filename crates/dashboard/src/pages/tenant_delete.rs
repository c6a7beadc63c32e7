//! `/ui/tenants/{tenant_name}/delete`: what is deleted, and what stays.

use askama::Template;
use http::{Method, StatusCode};
use serde_json::Value;

use super::tenants::{PATH, Tenant};
use crate::{
    handlers::PageResult, page, params::Link, shell::Shell, submission::Submission, texts::Texts,
    visit::Visit,
};

#[derive(Template)]
#[template(path = "tenant_delete.html")]
struct TenantDeletePage {
    t: Texts,
    s: Shell,
    tenant: Tenant,
    is_mistyped: bool,
}

pub async fn form(visit: Visit) -> PageResult {
    show(&visit, false).await
}

async fn show(visit: &Visit, is_mistyped: bool) -> PageResult {
    let t = visit.t;
    let tenant: Tenant = visit.get(api(visit)).await?;
    let s = Shell::new(visit, PATH, t.say("delete.title").with("name", tenant.title())).await;
    let status = if is_mistyped { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    Ok(page::show(status, &TenantDeletePage { t, s, tenant, is_mistyped }))
}

pub async fn submit(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let tenant: Tenant = visit.get(api(&visit)).await?;
    if form.text("confirm") != tenant.slug {
        visit.check_may_configure()?;
        return show(&visit, true).await;
    }
    visit.send::<Value>(Method::DELETE, api(&visit), None).await?;
    let message = visit.t.say("tenant_delete.done").with("name", tenant.title());
    // Not by `visit.link`, which may name the deleted tenant.
    Ok(visit.done(&visit.page(PATH), message))
}

fn api(visit: &Visit) -> Link {
    Link::new(format!("/v1/tenants/{}", visit.segment("tenant_name")))
}
