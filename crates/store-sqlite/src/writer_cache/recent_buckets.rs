//! The last [time bucket](crate::time_buckets) that was written for each target, so that most deliveries need
//! no look-up in the table.

use std::cell::RefCell;

use gancho_domain::{IdMap, Lane, TenantId};
use gancho_store::TargetId;

/// A target and a lane of its deliveries. A target usually has one lane.
pub(crate) type LaneTarget = (TargetId, Lane);

/// Cleared whenever a transaction is rolled back, because what it wrote is discarded.
#[derive(Default)]
pub(crate) struct RecentBuckets(RefCell<IdMap<(TenantId, LaneTarget), i64>>);

/// Maximum targets. Beyond it the cache starts over, which costs each of them one needless look-up.
const MAX_TARGETS: usize = 50_000;

impl RecentBuckets {
    pub fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    /// Notes that the bucket is no longer in the table.
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
