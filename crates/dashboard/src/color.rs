//! Colors of the operator's brand: how readable text on them is (WCAG 2), and lighter or darker ones of the
//! same hue (OKLCH).

use std::{fmt, str::FromStr};

/// The minimum contrast of text at level AA.
pub const MIN_CONTRAST: f64 = 4.5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Color {
    red: u8,
    green: u8,
    blue: u8,
}

impl Color {
    pub const WHITE: Self = Self::new(0xff, 0xff, 0xff);

    pub const fn new(red: u8, green: u8, blue: u8) -> Self {
        Self { red, green, blue }
    }

    /// Returns the contrast, from 1 (none) to 21 (black on white).
    pub fn contrast(self, other: Self) -> f64 {
        let (one, two) = (self.luminance(), other.luminance());
        (one.max(two) + 0.05) / (one.min(two) + 0.05)
    }

    fn luminance(self) -> f64 {
        let [red, green, blue] = self.linear();
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    fn linear(self) -> [f64; 3] {
        [self.red, self.green, self.blue].map(|channel| {
            let value = f64::from(channel) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }

    /// Returns the nearest color of this hue, as light as or lighter than this one, that has the contrast on
    /// all of `grounds`.
    #[must_use]
    pub fn lighter_until(self, min: f64, grounds: &[Self]) -> Self {
        self.moved(min, grounds, 0.01)
    }

    /// Returns the nearest color that is as dark as or darker than this one.
    #[must_use]
    pub fn darker_until(self, min: f64, grounds: &[Self]) -> Self {
        self.moved(min, grounds, -0.01)
    }

    fn moved(self, min: f64, grounds: &[Self], step: f64) -> Self {
        let (mut lab, mut color) = (self.oklab(), self);
        let holds = |color: Self| grounds.iter().all(|ground| color.contrast(*ground) >= min);
        while !holds(color) && (0.0..=1.0).contains(&lab[0]) {
            lab[0] += step;
            color = Self::of_oklab(lab);
        }
        color
    }

    /// Returns the mixture with another color, of which `share` is this one.
    #[must_use]
    pub fn mixed_into(self, ground: Self, share: f64) -> Self {
        let mix = |own: u8, other: u8| {
            byte(f64::from(own) / 255.0 * share + f64::from(other) / 255.0 * (1.0 - share))
        };
        Self::new(
            mix(self.red, ground.red),
            mix(self.green, ground.green),
            mix(self.blue, ground.blue),
        )
    }

    fn oklab(self) -> [f64; 3] {
        let [red, green, blue] = self.linear();
        let long = (0.412_221_47 * red + 0.536_332_54 * green + 0.051_445_99 * blue).cbrt();
        let medium = (0.211_903_5 * red + 0.680_699_55 * green + 0.107_396_96 * blue).cbrt();
        let short = (0.088_302_46 * red + 0.281_718_84 * green + 0.629_978_7 * blue).cbrt();
        [
            0.210_454_26 * long + 0.793_617_79 * medium - 0.004_072_05 * short,
            1.977_998_5 * long - 2.428_592_2 * medium + 0.450_593_7 * short,
            0.025_904_04 * long + 0.782_771_77 * medium - 0.808_675_77 * short,
        ]
    }

    fn of_oklab([lightness, a, b]: [f64; 3]) -> Self {
        let long = (lightness + 0.396_337_78 * a + 0.215_803_76 * b).powi(3);
        let medium = (lightness - 0.105_561_35 * a - 0.063_854_17 * b).powi(3);
        let short = (lightness - 0.089_484_18 * a - 1.291_485_5 * b).powi(3);
        let encode = |value: f64| {
            let value = value.clamp(0.0, 1.0);
            let is_dark = value <= 0.003_130_8;
            byte(if is_dark { value * 12.92 } else { 1.055 * value.powf(1.0 / 2.4) - 0.055 })
        };
        Self::new(
            encode(4.076_741_7 * long - 3.307_711_6 * medium + 0.230_969_94 * short),
            encode(-1.268_438 * long + 2.609_757_4 * medium - 0.341_319_4 * short),
            encode(-0.004_196_09 * long - 0.703_418_61 * medium + 1.707_614_7 * short),
        )
    }
}

#[expect(clippy::cast_sign_loss, reason = "clamped to the range of a byte")]
fn byte(value: f64) -> u8 {
    (value.clamp(0.0, 1.0) * 255.0).round() as u8
}

impl FromStr for Color {
    type Err = ();

    /// Parses a color such as `#0b6b57`.
    fn from_str(text: &str) -> Result<Self, ()> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6).ok_or(())?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(());
        }
        let channel = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).map_err(|_| ());
        Ok(Self::new(channel(0)?, channel(2)?, channel(4)?))
    }
}

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.red, self.green, self.blue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn color(text: &str) -> Color {
        text.parse().unwrap()
    }

    #[test]
    fn contrasts_are_those_of_the_standard() {
        for (one, two, expected) in [
            ("#000000", "#ffffff", 21.0),
            ("#ffffff", "#ffffff", 1.0),
            ("#767676", "#ffffff", 4.54),
            ("#2347b8", "#ffffff", 7.9),
        ] {
            let contrast = color(one).contrast(color(two));
            assert!((contrast - expected).abs() < 0.05, "{one} on {two}: {contrast}");
        }
    }

    #[test]
    fn colors_are_moved_as_far_as_needed_and_no_further() {
        assert_eq!(color("#0b6b57").darker_until(MIN_CONTRAST, &[Color::WHITE]), color("#0b6b57"));
        let dark = color("#ffcc00").darker_until(MIN_CONTRAST, &[Color::WHITE]);
        let contrast = dark.contrast(Color::WHITE);
        assert!((MIN_CONTRAST..5.0).contains(&contrast), "{dark} {contrast}");
        let night = color("#121823");
        let light = color("#0b6b57").lighter_until(MIN_CONTRAST, &[night]);
        assert!((MIN_CONTRAST..5.2).contains(&light.contrast(night)), "{light}");
    }

    #[test]
    fn only_six_digits_are_a_color() {
        assert_eq!(color("#0B6b57").to_string(), "#0b6b57");
        for text in ["", "#fff", "0b6b57", "#0b6b5g", "#0b6b577", "#éé6b5", "red"] {
            assert!(text.parse::<Color>().is_err(), "{text}");
        }
    }
}
