//! The arithmetic of fairness between tenants.

/// Maximum number of deliveries of one tenant in a row while others wait.
pub const TURN: u32 = 3;

/// 5 for a tenant that was just served, down to 1 (most urgent) for one that waited four rounds.
pub const fn priority(rounds_waited: u64) -> u8 {
    if rounds_waited >= 4 { 1 } else { 5 - rounds_waited as u8 }
}

#[cfg(test)]
mod tests {
    #[test]
    fn waiting_makes_urgent() {
        let by_rounds: Vec<u8> = (0..7).map(super::priority).collect();
        assert_eq!(by_rounds, [5, 4, 3, 2, 1, 1, 1]);
    }
}
