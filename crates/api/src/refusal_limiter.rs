//! Slows down unauthenticated callers that are refused again and again, by address, because each refusal
//! takes processor time from others. Only refusals wait: other callers at the same address are not affected.

use std::time::Duration;

use gancho_access::BoundedRecords;
use gancho_domain::AddressBlock;
use http::StatusCode;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::listener::AnswerGuard;

/// Time per refusal of an address that causes no wait.
const SPACING: Duration = Duration::from_millis(10);
/// How much of that time an address may use at once.
const BURST: Duration = Duration::from_secs(2);
const MAX_WAIT: Duration = Duration::from_secs(1);

pub struct RefusalLimiter {
    /// Until when the refusals of an address have used up its share.
    used_until: Mutex<BoundedRecords<AddressBlock, Instant>>,
}

impl Default for RefusalLimiter {
    fn default() -> Self {
        Self { used_until: Mutex::new(BoundedRecords::new(MAX_WAIT)) }
    }
}

impl RefusalLimiter {
    /// Returns when the response may be sent. Until then, the connection may be closed to make room for others.
    pub async fn delay(
        &self,
        answering: Option<AnswerGuard>,
        address: Option<AddressBlock>,
        status: StatusCode,
    ) {
        let (true, Some(answering), Some(address)) = (status.is_client_error(), answering, address)
        else {
            return;
        };
        if answering.is_authenticated() {
            return;
        }
        let wait = self.refuse(address);
        drop(answering);
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }

    /// Counts a refusal, and returns how long it must wait.
    fn refuse(&self, address: AddressBlock) -> Duration {
        let now = Instant::now();
        let mut used_until = self.used_until.lock();
        let until = used_until.get_or_insert(address, now, |until| *until > now, now);
        let used = until.saturating_duration_since(now) + SPACING;
        *until = now + used.min(BURST + MAX_WAIT);
        used.saturating_sub(BURST).min(MAX_WAIT)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn address(number: u32) -> AddressBlock {
        IpAddr::V4(Ipv4Addr::from_bits(number)).into()
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_free_and_then_each_waits_longer() {
        let pace = RefusalLimiter::default();
        assert!((0..200).all(|_| pace.refuse(address(1)).is_zero()));
        assert_eq!(pace.refuse(address(1)), SPACING);
        assert_eq!(pace.refuse(address(1)), 2 * SPACING);
        assert!(pace.refuse(address(2)).is_zero(), "others do not wait");
        let waits: Vec<_> = (0..1_000).map(|_| pace.refuse(address(1))).collect();
        assert_eq!(waits.last(), Some(&MAX_WAIT));
        // It is remembered no longer than it would have lasted.
        tokio::time::advance(BURST + MAX_WAIT).await;
        assert!(pace.refuse(address(1)).is_zero());
    }

    #[tokio::test(start_paused = true)]
    async fn one_after_the_other_they_come_at_a_steady_rate() {
        let (pace, began) = (RefusalLimiter::default(), Instant::now());
        for _ in 0..1_200 {
            tokio::time::sleep(pace.refuse(address(1))).await;
        }
        assert_eq!(began.elapsed(), 1_000 * SPACING);
    }
}
