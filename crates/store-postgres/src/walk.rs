//! Decides which targets a claim takes from, and how many deliveries from each.
//!
//! If few deliveries are due, all of them are read and planned here. If many are due, the function
//! `claim_round` in the database walks the targets in turn, because that takes hundreds of consecutive
//! look-ups in the index: so a claim from a million costs as much as one from a thousand.

use gancho_domain::{Id, TenantId};
use gancho_store::{Claim, ClaimCursor, ClaimProgress, ClaimTurn, TargetId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    claim_plan::{self, ClaimPlan, TargetShare},
    rows::{self, uuid},
    session::{Session, query},
    states::{PENDING, Sql},
    tx_error::{TxError, corrupt},
};

/// Maximum targets that a claim scans; the next one continues from there.
const MAX_SCANNED: i32 = 1_000;

/// The deliveries that have been due for longest. Includes skipped targets: filtering them in SQL could scan
/// a million rows of a paused tenant.
static OLDEST: Sql = Sql::new(|| {
    format!(
        "
select d.tenant_id, d.target_id from deliveries d
where d.state = {PENDING} and d.lane = $1 and d.due_at <= $2
order by d.due_at limit $3"
    )
});

const WALK: &str = "
select * from claim_round($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)";

pub(crate) async fn plan(session: &Session, claim: &Claim) -> Result<ClaimPlan, TxError> {
    let due = oldest(session, claim).await?;
    let few_are_due = due.len() <= claim.max;
    let due = due.into_iter().filter(|(tenant, target)| !claim.skip.covers(*tenant, *target));
    if few_are_due {
        return Ok(claim_plan::plan(claim, due));
    }
    let first = claim_plan::first(claim);
    let max = claim.max - claim_plan::total(&first);
    let (mut plan, far) = walk(session, claim, max).await?;
    plan.first = first;
    plan.first.retain(|share| !plan.takes.iter().any(|take| take.key() == share.key()));
    // The walk continues with the next claim, but the deliveries that have been due for longest need not wait
    // for it.
    if far && !plan.caught_up && claim_plan::add(&mut plan, claim, due) {
        plan.leave();
    }
    Ok(plan)
}

/// Returns one entry for each delivery, at most one more than can be taken.
async fn oldest(session: &Session, claim: &Claim) -> Result<Vec<(TenantId, TargetId)>, TxError> {
    let max = claim.max as i64 + 1;
    let found = query(session, &OLDEST, &[&claim.lane.number(), &claim.now.micros(), &max]).await?;
    found.iter().map(|row| Ok((rows::id(row, 0)?, rows::id(row, 1)?))).collect()
}

/// Walks the targets. Also returns whether the walk ended because it had scanned the maximum number of
/// targets.
pub(crate) async fn walk(
    session: &Session,
    claim: &Claim,
    max: usize,
) -> Result<(ClaimPlan, bool), TxError> {
    let ClaimCursor { tenant, targets: resume, turn, .. } = &claim.cursor;
    let steps = query(
        session,
        WALK,
        &[
            &claim.lane.number(),
            &claim.now.micros(),
            &small(max),
            &small(claim.per_target.max(1)),
            &small(claim.per_proven.max(1)),
            &small(claim.per_tenant.max(1)),
            &MAX_SCANNED,
            &tenant.map(uuid),
            &turn.map(|turn| uuid(turn.tenant)),
            &turn.and_then(|turn| turn.from).map(uuid),
            &turn.and_then(|turn| turn.at).map(uuid),
            &turn.is_some_and(|turn| turn.wrapped),
            &resume.keys().map(|id| uuid(*id)).collect::<Vec<_>>(),
            &resume.values().map(|id| uuid(*id)).collect::<Vec<_>>(),
            &claim.skip.tenants.iter().map(|id| uuid(*id)).collect::<Vec<_>>(),
            &claim.skip.targets.iter().map(|id| uuid(*id)).collect::<Vec<_>>(),
            &claim.proven.iter().map(|id| uuid(*id)).collect::<Vec<_>>(),
        ],
    )
    .await?;
    let mut follower = PlanBuilder::new(claim.cursor.clone());
    for step in &steps {
        follower.follow(step)?;
    }
    Ok(follower.done())
}

/// Makes a plan from the rows of a walk.
struct PlanBuilder {
    takes: Vec<TargetShare>,
    cursor: ClaimCursor,
    progress: ClaimProgress,
    /// The last turn that continued an interrupted one.
    resumed: Option<ClaimTurn>,
    far: bool,
}

impl PlanBuilder {
    fn new(mut cursor: ClaimCursor) -> Self {
        let progress = ClaimProgress::resume(&mut cursor);
        let resumed = cursor.turn.take();
        Self { takes: Vec::new(), cursor, progress, resumed, far: false }
    }

    fn follow(&mut self, step: &Row) -> Result<(), TxError> {
        let id = |place| rows::get::<Option<Uuid>>(step, place);
        let tenant = id(0)?.map(|id| Id::from_bytes(id.into_bytes()));
        let target = id(1)?.map(|id| Id::from_bytes(id.into_bytes()));
        let take: Option<i32> = rows::get(step, 2)?;
        let event: Option<&str> = rows::get(step, 3)?;
        match (event, tenant, target) {
            (None, Some(tenant), Some(target)) => {
                let max = take.and_then(|max| usize::try_from(max).ok()).unwrap_or(0);
                if max > 0 {
                    self.takes.push(TargetShare { tenant, target, max });
                }
            }
            (Some("resumed"), Some(tenant), from) => {
                self.cursor.targets.remove(&tenant);
                self.resumed = Some(ClaimTurn::after(tenant, from));
            }
            (Some("left"), Some(tenant), _) => self.progress.leave(tenant),
            (Some("cut"), Some(tenant), target) => {
                self.progress.leave(tenant);
                self.cursor.targets.extend(target.map(|target| (tenant, target)));
            }
            (Some("wrap"), ..) => self.progress.wrap(),
            (Some("turn"), Some(tenant), at) => self.interrupt(tenant, at, take == Some(1)),
            (Some(end @ ("whole" | "full" | "far")), tenant, _) => {
                self.cursor.tenant = tenant;
                if let Some(tenant) = tenant {
                    self.progress.reach(tenant);
                }
                self.far = end == "far";
            }
            (event, ..) => {
                return Err(corrupt(format!("claim_round answers with {event:?}")).into());
            }
        }
        Ok(())
    }

    /// Notes that the turn continues with the next claim.
    fn interrupt(&mut self, tenant: TenantId, at: Option<TargetId>, wrapped: bool) {
        let from = match self.resumed {
            Some(turn) if turn.tenant == tenant => turn.from,
            _ => None,
        };
        self.cursor.turn = Some(ClaimTurn { tenant, from, at, wrapped });
    }

    fn done(mut self) -> (ClaimPlan, bool) {
        let caught_up = self.progress.is_caught_up();
        self.cursor.round = (!caught_up).then_some(self.progress.round);
        let ends_lap = self.progress.end_lap(&mut self.cursor);
        let Self { takes, cursor, progress: ClaimProgress { left, .. }, .. } = self;
        (ClaimPlan { first: Vec::new(), takes, cursor, caught_up, ends_lap, left }, self.far)
    }
}

fn small(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX / 2)
}
