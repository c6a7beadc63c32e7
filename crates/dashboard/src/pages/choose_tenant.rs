//! What a page for one tenant shows while none is chosen.

use askama::Template;

use super::list::List;
use crate::{
    handlers::PageResult,
    page,
    params::Link,
    sentence::Sentence,
    shell::{Shell, TenantItem},
    texts::Texts,
    visit::Visit,
};

#[derive(Template)]
#[template(path = "choose_tenant.html")]
struct ChooseTenantPage {
    t: Texts,
    s: Shell,
    tenants: List<TenantItem>,
}

pub async fn show(visit: &Visit, nav: &'static str, title: Sentence) -> PageResult {
    let link = Link::new("/v1/tenants").with("limit", 100);
    let tenants = visit.get_as_operator(link).await?;
    let s = Shell::new(visit, nav, title).await;
    Ok(page::show(http::StatusCode::OK, &ChooseTenantPage { t: visit.t, s, tenants }))
}
