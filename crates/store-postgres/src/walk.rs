//! Which targets a claim takes from, and how many from each. The walk itself is the function
//! `claim_walk` in the database, because it asks the index hundreds of questions in a row.

use std::collections::BTreeMap;

use deadpool_postgres::ClientWrapper;
use gancho_domain::{Id, TenantId};
use gancho_store::{Claim, ClaimCursor, TargetId};
use uuid::Uuid;

use crate::{
    fault::Fault,
    rows::{self, uuid},
    session::query,
};

/// A claim looks at no more targets than this; the next one goes on from there.
const MOST_LOOKS: i32 = 1_000;
/// Where the walk looked far and found little, so many of those due longest are taken by time.
const OLDEST: i64 = 1_024;

#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// In the order of their turns.
    pub takes: Vec<Take>,
    pub cursor: ClaimCursor,
    /// Something due may have been left.
    pub more: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Take {
    pub tenant: TenantId,
    pub target: TargetId,
    pub most: i32,
}

pub(crate) const WALK: &str =
    "select * from claim_walk($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";

pub(crate) async fn plan(session: &ClientWrapper, claim: &Claim) -> Result<Plan, Fault> {
    let skip_tenants: Vec<Uuid> = claim.skip.tenants.iter().map(|id| uuid(*id)).collect();
    let skip_targets: Vec<Uuid> = claim.skip.targets.iter().map(|id| uuid(*id)).collect();
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
            &skip_tenants,
            &skip_targets,
        ],
    )
    .await?;
    let mut plan = Plan { cursor: claim.cursor.clone(), ..Plan::default() };
    let mut far = false;
    for step in &steps {
        far |= plan.follow(step)?;
    }
    if far {
        let oldest = oldest(session, claim, &skip_tenants, &skip_targets).await?;
        plan.add(claim, oldest);
    }
    Ok(plan)
}

impl Plan {
    /// Takes in one row of the walk. Says whether the walk ended because it had looked far enough.
    fn follow(&mut self, step: &tokio_postgres::Row) -> Result<bool, Fault> {
        let tenant: Option<Uuid> = rows::get(step, 0)?;
        let target: Option<Uuid> = rows::get(step, 1)?;
        let tenant = tenant.map(|tenant| Id::from_bytes(tenant.into_bytes()));
        let target = target.map(|target| Id::from_bytes(target.into_bytes()));
        let take: Option<i32> = rows::get(step, 2)?;
        let ends: Option<&str> = rows::get(step, 3)?;
        match (tenant, target, take, ends) {
            (Some(tenant), Some(target), Some(most), _) => {
                // A tenant that has a turn begins anew next time, unless it is cut short below.
                self.cursor.targets.remove(&tenant);
                self.cursor.tenant = Some(tenant);
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

    /// Adds targets with due work that the walk did not come to, within the same shares.
    fn add(&mut self, claim: &Claim, oldest: Vec<(TenantId, TargetId)>) {
        let mut room = small(claim.most) - self.takes.iter().map(|take| take.most).sum::<i32>();
        let mut turns: BTreeMap<TenantId, i32> = BTreeMap::new();
        for take in &self.takes {
            *turns.entry(take.tenant).or_default() += take.most;
        }
        let mut by_target: BTreeMap<(TenantId, TargetId), usize> = BTreeMap::new();
        for (place, take) in self.takes.iter().enumerate() {
            by_target.insert((take.tenant, take.target), place);
        }
        let walked = self.takes.len();
        for (tenant, target) in oldest {
            let turn = turns.entry(tenant).or_default();
            if room <= 0 || *turn >= small(claim.per_tenant.max(1)) {
                continue;
            }
            let place = *by_target.entry((tenant, target)).or_insert_with(|| {
                self.takes.push(Take { tenant, target, most: 0 });
                self.takes.len() - 1
            });
            let take = &mut self.takes[place];
            // What the walk found has its share already.
            if place >= walked && take.most < small(claim.per_target.max(1)) {
                take.most += 1;
                *turn += 1;
                room -= 1;
            }
        }
    }
}

/// The targets of those that have been due longest, one entry for each delivery.
async fn oldest(
    session: &ClientWrapper,
    claim: &Claim,
    skip_tenants: &[Uuid],
    skip_targets: &[Uuid],
) -> Result<Vec<(TenantId, TargetId)>, Fault> {
    let found = query(
        session,
        "select d.tenant_id, d.target_id from deliveries d
         where d.state = 2 and d.lane = $1 and d.due_at <= $2
           and d.tenant_id <> all ($3::uuid[]) and d.target_id <> all ($4::uuid[])
         order by d.due_at limit $5",
        &[&claim.lane.number(), &claim.now.micros(), &skip_tenants, &skip_targets, &OLDEST],
    )
    .await?;
    found.iter().map(|row| Ok((rows::id(row, 0)?, rows::id(row, 1)?))).collect()
}

fn small(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX / 2)
}
