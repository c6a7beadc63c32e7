//! `/ui/dead-letters/export`: the dead letters of the filter as a file of JSON lines.

use super::filter::Filter;
use crate::{handlers::PageResult, pages::download, visit::Visit};

pub async fn download(visit: Visit) -> PageResult {
    let link = Filter::read(&visit.params).to_api("/v1/dlq/export");
    download::json_lines(&visit, link, "attachment; filename=\"dead-letters.ndjson\"").await
}
