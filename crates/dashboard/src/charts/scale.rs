//! Converts values to lengths.

/// Returns the next number with one or two digits and zeros that is not below the largest value.
pub fn round_up(max: u64) -> u64 {
    const STEPS: [u64; 10] = [10, 12, 15, 20, 25, 30, 40, 50, 60, 80];
    if max <= 10 {
        return max.max(1);
    }
    let mut unit = 1_u64;
    while max / unit >= 100 {
        unit = unit.saturating_mul(10);
    }
    let fits = |step: &&u64| step.saturating_mul(unit) >= max;
    STEPS.iter().find(fits).map_or(unit.saturating_mul(100), |step| step.saturating_mul(unit))
}

/// Returns the length of a value. A value above zero is always visible.
pub fn length(value: u64, max: u64, room: f64) -> f64 {
    const MIN_VISIBLE: f64 = 1.5;
    if value == 0 {
        return 0.0;
    }
    (value as f64 / max.max(1) as f64 * room).clamp(MIN_VISIBLE, room)
}

/// Powers of ten, in milliseconds, around durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decades {
    /// The exponent at the bottom.
    bottom: i32,
    pub count: i32,
}

impl Decades {
    const MIN: i32 = 3;
    const MAX: i32 = 6;

    /// Returns at least three decades, up to the largest value. Values below them are drawn at the bottom.
    pub fn around(values: impl IntoIterator<Item = f64>) -> Self {
        let (mut min, mut max) = (f64::INFINITY, 0.0_f64);
        for value in values {
            (min, max) = (min.min(value), max.max(value));
        }
        if max <= 0.0 {
            return Self { bottom: 0, count: Self::MIN };
        }
        let top = (max.log10().ceil() as i32).max(1);
        let lowest = min.max(1.0).log10().floor() as i32;
        let count = (top - lowest).clamp(Self::MIN, Self::MAX);
        Self { bottom: top - count, count }
    }

    /// Returns a position from 0 at the bottom to 1 at the top.
    pub fn place(self, value: f64) -> f64 {
        let exponent = value.max(f64::MIN_POSITIVE).log10() - f64::from(self.bottom);
        (exponent / f64::from(self.count)).clamp(0.0, 1.0)
    }

    /// Returns the value at the upper end of each, from the top.
    pub fn tops(self) -> Vec<f64> {
        (1..=self.count).rev().map(|above| 10_f64.powi(self.bottom + above)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_end_at_round_numbers() {
        for (max, rounded) in [
            (0, 1),
            (1, 1),
            (7, 7),
            (11, 12),
            (69, 80),
            (81, 100),
            (1_201, 1_500),
            (68_400, 80_000),
        ] {
            assert_eq!(round_up(max), rounded, "{max}");
        }
        assert!(round_up(u64::MAX) > 0);
    }

    #[test]
    fn lengths_stay_inside_and_visible() {
        assert!((length(0, 10, 100.0)).abs() < 1e-9);
        assert!((length(5, 10, 100.0) - 50.0).abs() < 1e-9);
        assert!((length(1, 1_000_000, 100.0) - 1.5).abs() < 1e-9);
        assert!((length(20, 10, 100.0) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn decades_surround_the_values() {
        let decades = Decades::around([84.0, 430.0, 1_100.0]);
        assert_eq!(decades.tops(), [10_000.0, 1_000.0, 100.0]);
        assert!((decades.place(10_000.0) - 1.0).abs() < 1e-9);
        assert!((decades.place(100.0) - 1.0 / 3.0).abs() < 1e-9);
        assert!(decades.place(0.0).abs() < 1e-9);
        assert_eq!(Decades::around([1.2, 600_000.0]).count, 6);
        assert_eq!(Decades::around([]).tops(), [1_000.0, 100.0, 10.0]);
    }
}
