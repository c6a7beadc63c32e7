//! `/ui/deliveries/export`: the deliveries of the filter as a file of JSON lines.

use super::filter::Filter;
use crate::{handlers::PageResult, pages::download, visit::Visit};

pub async fn download(visit: Visit) -> PageResult {
    let link = Filter::read(&visit).to_api("/v1/deliveries/export");
    download::json_lines(&visit, link, "attachment; filename=\"deliveries.ndjson\"").await
}
