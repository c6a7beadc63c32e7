//! Deliveries of receipts, of all sources or of one. Operator only. In the store, each source is a tenant,
//! so a page is merged from a page of each source.

use std::{cmp::Reverse, sync::Arc};

use futures_util::{StreamExt, TryStreamExt, stream};
use gancho_domain::{DeliveryId, Lane, TenantId};
use gancho_inbound::{Source, registry::PreparedSource};
use gancho_store::{DeliveryFilter, DeliveryRow, Page, PageRequest};

use super::{view::Delivery, waiting_for::WaitContext};
use crate::{operations::sources, problem::Problem, route::Call};

/// With more sources than this, `partner` is required.
const MAX_SOURCES: usize = 500;
const AT_ONCE: usize = 4;

type SourceRow = (Arc<PreparedSource>, DeliveryRow);

/// Returns a page, newest first, and the position of the next one.
pub(super) async fn page(
    call: &Call,
    partner: Option<&str>,
    filter: DeliveryFilter,
    request: PageRequest,
) -> Result<(Vec<Delivery>, Option<[u8; 32]>), Problem> {
    let filter = DeliveryFilter { lane: Some(Lane::Dispatch), ..filter };
    if let Some(partner) = partner {
        let source = sources::find_by_name(call, partner).await?;
        let page = call.api.reader.deliveries(source.scope(), filter, request).await?;
        let context = WaitContext::new(&call.api);
        let deliveries =
            page.rows.into_iter().map(|row| render(call, &context, row, &source)).collect();
        return Ok((deliveries, page.next));
    }
    if filter.external_id.is_some() {
        let message = "`external_id` is unique per partner only; name the partner with `partner`";
        return Err(Problem::field("", message));
    }
    let all = sources::inbound(call)?.inbound.sources.all().await?.sources();
    if all.len() > MAX_SOURCES {
        let message = format!(
            "there are {} sources, too many to list at once; name one with `partner`",
            all.len()
        );
        return Err(Problem::field("", message));
    }
    let max = request.max;
    let one = |source: Arc<PreparedSource>| {
        let (filter, request) = (filter.clone(), request.clone());
        async move {
            let page = call.api.reader.deliveries(source.source.scope(), filter, request).await?;
            Ok::<_, Problem>((source, page))
        }
    };
    let pages: Vec<(Arc<PreparedSource>, Page<DeliveryRow>)> =
        stream::iter(all).map(one).buffer_unordered(AT_ONCE).try_collect().await?;
    let (rows, next) = merge(pages, max);
    let context = WaitContext::new(&call.api);
    let rows = rows.into_iter().map(|(source, row)| render(call, &context, row, &source.source));
    Ok((rows.collect(), next))
}

fn render(call: &Call, context: &WaitContext, row: DeliveryRow, source: &Source) -> Delivery {
    let waiting_for = context.on(&call.api, source.tenant(), &row);
    Delivery::of_source(row, source).waiting(waiting_for)
}

/// Merges pages. Rows are ordered by delivery id in each source's list. Rows beyond the end of any source's
/// page may be incomplete, and come with the next page.
fn merge(
    pages: Vec<(Arc<PreparedSource>, Page<DeliveryRow>)>,
    max: usize,
) -> (Vec<SourceRow>, Option<[u8; 32]>) {
    let horizon = pages.iter().filter_map(|(_, page)| page.next).max();
    let mut rows: Vec<SourceRow> = Vec::new();
    for (source, page) in pages {
        let known =
            page.rows.into_iter().filter(|row| horizon.is_none_or(|end| place(row.id) >= end));
        rows.extend(known.map(|row| (source.clone(), row)));
    }
    rows.sort_unstable_by_key(|(_, row)| Reverse(row.id));
    let is_cut = rows.len() > max;
    rows.truncate(max);
    let last = rows.last().map(|(_, row)| place(row.id));
    let next = if is_cut { last } else { horizon };
    (rows, next)
}

fn place(id: DeliveryId) -> [u8; 32] {
    let mut place = [0; 32];
    place[..16].copy_from_slice(&id.bytes());
    place
}

/// The source of a delivery in the lane `dispatch`; `None` if it was deleted.
pub(super) async fn source_of(call: &Call, tenant: TenantId) -> Result<Option<Source>, Problem> {
    let Some(inbound) = &call.api.inbound else { return Ok(None) };
    let source = inbound.inbound.sources.all().await?.of_tenant(tenant);
    Ok(source.map(|ready| ready.source.clone()))
}
