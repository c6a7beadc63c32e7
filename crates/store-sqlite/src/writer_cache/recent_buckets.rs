//! The last [time bucket](crate::time_buckets) that was written for each target, so that most deliveries need
//! no look at the table.

use std::cell::RefCell;

use gancho_domain::{IdMap, Lane, TenantId};
use gancho_store::TargetId;

/// A target and a lane of its deliveries. A target has one lane, as a rule.
pub(crate) type LaneTarget = (TargetId, Lane);

/// Cleared whenever a transaction is rolled back: what it wrote is gone then.
#[derive(Default)]
pub(crate) struct RecentBuckets(RefCell<IdMap<(TenantId, LaneTarget), i64>>);

/// With more targets it starts over, which costs each of them one needless look.
const MAX_TARGETS: usize = 50_000;

impl RecentBuckets {
    pub fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    /// The bucket is no longer in the table.
    pub fn removed(&self, of: (TenantId, LaneTarget), bucket: i64) {
        let mut recent = self.0.borrow_mut();
        if recent.get(&of) == Some(&bucket) {
            recent.remove(&of);
        }
    }

    /// Whether the bucket has to be written to the table.
    pub fn is_new(&self, of: (TenantId, LaneTarget), bucket: i64) -> bool {
        let mut recent = self.0.borrow_mut();
        if recent.len() >= MAX_TARGETS {
            recent.clear();
        }
        recent.insert(of, bucket) != Some(bucket)
    }
}
