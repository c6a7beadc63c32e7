//! Which targets a claim takes from, and how many from each.
//!
//! Where little is due, all of it is read and dealt out here. Where much is due, the targets are
//! walked in turn, by the function `claim_walk` in the database, because it asks the index hundreds
//! of questions in a row: so a claim from a million costs what a claim from a thousand does.

use deadpool_postgres::ClientWrapper;
use gancho_domain::{Id, TenantId, Time};
use gancho_store::{Claim, ClaimCursor, TargetId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    fault::Fault,
    few,
    rows::{self, uuid},
    session::query,
};

/// A claim looks at no more targets than this; the next one goes on from there.
const MOST_LOOKS: i32 = 1_000;
/// When to go on where so many were looked at and none had anything.
const BREATH: std::time::Duration = std::time::Duration::from_millis(50);

#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// In the order of their turns.
    pub takes: Vec<Take>,
    pub cursor: ClaimCursor,
    /// Something due may have been left.
    pub more: bool,
    /// Come back then, though nothing is known to fall due.
    pub again_at: Option<Time>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Take {
    pub tenant: TenantId,
    pub target: TargetId,
    pub most: usize,
}

impl Plan {
    pub(crate) fn total(&self) -> usize {
        self.takes.iter().map(|take| take.most).sum()
    }
}

/// Those due longest. Skipped ones are among them: to leave them out here could mean to read a
/// million of a paused tenant's.
const OLDEST: &str = "
select d.tenant_id, d.target_id from deliveries d
where d.state = 2 and d.lane = $1 and d.due_at <= $2
order by d.due_at limit $3";

const WALK: &str = "select * from claim_walk($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";

pub(crate) async fn plan(session: &ClientWrapper, claim: &Claim) -> Result<Plan, Fault> {
    let due = oldest(session, claim).await?;
    let few_are_due = due.len() <= claim.most;
    let due = due.into_iter().filter(|(tenant, target)| !claim.skip.covers(*tenant, *target));
    if few_are_due {
        return Ok(few::plan(claim, due));
    }
    let (mut plan, far) = walk(session, claim).await?;
    if far {
        // The walk goes on next time; what has waited longest need not wait for it.
        few::add(&mut plan, claim, due);
        if plan.takes.is_empty() {
            plan.more = false;
            plan.again_at = Some(claim.now + BREATH);
        }
    }
    Ok(plan)
}

/// One entry for each delivery, at most one more than can be taken.
async fn oldest(
    session: &ClientWrapper,
    claim: &Claim,
) -> Result<Vec<(TenantId, TargetId)>, Fault> {
    let most = claim.most as i64 + 1;
    let found = query(session, OLDEST, &[&claim.lane.number(), &claim.now.micros(), &most]).await?;
    found.iter().map(|row| Ok((rows::id(row, 0)?, rows::id(row, 1)?))).collect()
}

/// Says too whether the walk ended because it had looked at enough.
pub(crate) async fn walk(session: &ClientWrapper, claim: &Claim) -> Result<(Plan, bool), Fault> {
    let resume = &claim.cursor.targets;
    let steps = query(
        session,
        WALK,
        &[
            &claim.lane.number(),
            &claim.now.micros(),
            &small(claim.most),
            &small(claim.per_target.max(1)),
            &small(claim.per_tenant.max(1)),
            &MOST_LOOKS,
            &claim.cursor.tenant.map(uuid),
            &resume.keys().map(|id| uuid(*id)).collect::<Vec<_>>(),
            &resume.values().map(|id| uuid(*id)).collect::<Vec<_>>(),
            &claim.skip.tenants.iter().map(|id| uuid(*id)).collect::<Vec<_>>(),
            &claim.skip.targets.iter().map(|id| uuid(*id)).collect::<Vec<_>>(),
        ],
    )
    .await?;
    let mut plan = Plan { cursor: claim.cursor.clone(), ..Plan::default() };
    let mut far = false;
    for step in &steps {
        far |= plan.follow(step)?;
    }
    Ok((plan, far))
}

impl Plan {
    /// Takes in one row of the walk. Says whether the walk ended because it had looked at enough.
    fn follow(&mut self, step: &Row) -> Result<bool, Fault> {
        let tenant = rows::get::<Option<Uuid>>(step, 0)?.map(|id| Id::from_bytes(id.into_bytes()));
        let target = rows::get::<Option<Uuid>>(step, 1)?.map(|id| Id::from_bytes(id.into_bytes()));
        let take: Option<i32> = rows::get(step, 2)?;
        let ends: Option<&str> = rows::get(step, 3)?;
        match (tenant, target, take, ends) {
            (Some(tenant), Some(target), Some(most), _) => {
                // A tenant that has a turn begins anew next time, unless it is cut short below.
                self.cursor.targets.remove(&tenant);
                self.cursor.tenant = Some(tenant);
                let most = usize::try_from(most).unwrap_or(0);
                if most > 0 {
                    self.takes.push(Take { tenant, target, most });
                }
            }
            (Some(tenant), Some(target), _, Some("cut")) => {
                self.more = true;
                self.cursor.targets.insert(tenant, target);
            }
            (_, _, _, Some("left")) => self.more = true,
            (tenant, _, _, Some(ends)) => {
                self.more = true;
                self.cursor.tenant = tenant.or(self.cursor.tenant);
                return Ok(ends == "far");
            }
            _ => {}
        }
        Ok(false)
    }
}

fn small(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX / 2)
}
