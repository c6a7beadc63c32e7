//! The operator's brand in the portal: a name, a color and a logo.

use aws_lc_rs::digest;
use bytes::Bytes;
use data_encoding::HEXLOWER;

use crate::color::{Color, MIN_CONTRAST};

/// The surfaces of links and marks in the color of the brand.
const LIGHT: [Color; 2] = [Color::new(0xff, 0xff, 0xff), Color::new(0xf4, 0xf6, 0xf9)];
const DARK: [Color; 2] = [Color::new(0x12, 0x18, 0x23), Color::new(0x0b, 0x0f, 0x16)];
/// Minimum contrast of drawings.
const MIN_DRAWING: f64 = 3.0;

#[derive(Debug, Clone)]
pub struct Brand {
    pub name: String,
    /// The color, which has enough contrast, see [`check`].
    pub color: Option<Color>,
    pub logo: Option<Logo>,
}

impl Default for Brand {
    fn default() -> Self {
        Self { name: "Gancho".to_owned(), color: None, logo: None }
    }
}

/// Why a color cannot be used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContrastError {
    pub contrast: f64,
    /// The nearest usable color of the same hue.
    pub nearest: Color,
}

/// Checks that white text on the color, and text in the color on light pages, can be read.
pub fn check(color: Color) -> Result<(), ContrastError> {
    let nearest = color.darker_until(MIN_CONTRAST, &LIGHT);
    if nearest == color {
        return Ok(());
    }
    let contrast = LIGHT.map(|ground| color.contrast(ground)).into_iter().fold(21.0, f64::min);
    Err(ContrastError { contrast, nearest })
}

impl Brand {
    /// Returns the stylesheet with the colors that follow from that of the brand, for light and dark. The
    /// colors of states stay unchanged.
    pub fn stylesheet(&self) -> Option<String> {
        let color = self.color?;
        let soft = [color.mixed_into(LIGHT[0], 0.1), color.mixed_into(DARK[0], 0.24)];
        let on_light = color.darker_until(MIN_CONTRAST, &[LIGHT[0], LIGHT[1], soft[0]]);
        let on_dark = color.lighter_until(MIN_CONTRAST + 0.5, &[DARK[0], DARK[1], soft[1]]);
        let fill_on_dark =
            color.lighter_until(1.8, &DARK).darker_until(MIN_CONTRAST, &[Color::WHITE]);
        let black = Color::new(0, 0, 0);
        let pair = |light: Color, dark: Color| format!("light-dark({light}, {dark})");
        let lines = [
            ("accent", pair(on_light, on_dark)),
            ("accent-fill", pair(color, fill_on_dark)),
            (
                "accent-fill-hover",
                pair(color.mixed_into(black, 0.82), fill_on_dark.mixed_into(black, 0.86)),
            ),
            ("accent-soft", pair(soft[0], soft[1])),
            (
                "bar-delivered",
                pair(
                    color.mixed_into(LIGHT[0], 0.7).darker_until(MIN_DRAWING, &LIGHT[..1]),
                    color.lighter_until(MIN_DRAWING + 0.5, &DARK),
                ),
            ),
        ];
        let lines: String = lines.map(|(name, value)| format!("  --{name}: {value};\n")).concat();
        Some(format!(":root {{\n{lines}}}\n"))
    }
}

/// An image on pages of the portal. The gateway itself serves it, so that pages load nothing from elsewhere.
#[derive(Debug, Clone)]
pub struct Logo {
    pub media_type: &'static str,
    pub content: Bytes,
}

/// Maximum size of a logo.
pub const MAX_LOGO_BYTES: usize = 32 * 1024;

/// Why a file cannot be the logo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogoError {
    TooLarge,
    /// The file is neither PNG nor SVG.
    UnknownFormat,
}

impl Logo {
    pub fn read(content: Vec<u8>) -> Result<Self, LogoError> {
        if content.len() > MAX_LOGO_BYTES {
            return Err(LogoError::TooLarge);
        }
        let start = content.trim_ascii_start();
        let is_svg = std::str::from_utf8(&content).is_ok_and(|text| text.contains("<svg"))
            && start.starts_with(b"<");
        let media_type = if content.starts_with(b"\x89PNG\r\n\x1a\n") {
            "image/png"
        } else if is_svg {
            "image/svg+xml"
        } else {
            return Err(LogoError::UnknownFormat);
        };
        Ok(Self { media_type, content: content.into() })
    }
}

/// Returns a short hash of a content, for URLs that browsers may cache.
pub fn version(content: &[u8]) -> String {
    HEXLOWER.encode(&digest::digest(&digest::SHA256, content).as_ref()[..6])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hue_can_be_read_in_both_themes() {
        for hue in ["#0b6b57", "#2347b8", "#b3261e", "#7a2fb5", "#000000", "#3b3b00", "#c24a00"] {
            let color: Color = hue.parse().unwrap();
            assert_eq!(check(color), Ok(()), "{hue}");
            let brand = Brand { color: Some(color), ..Brand::default() };
            let css = brand.stylesheet().unwrap();
            let pair = |name: &str| -> [Color; 2] {
                let line = css.lines().find(|line| line.contains(&format!("--{name}:"))).unwrap();
                let colors = line.split('(').nth(1).unwrap().trim_end_matches(");");
                let mut colors = colors.split(", ").map(|text| text.parse().unwrap());
                [colors.next().unwrap(), colors.next().unwrap()]
            };
            for (theme, surfaces) in [LIGHT, DARK].iter().enumerate() {
                let soft = pair("accent-soft")[theme];
                for ground in surfaces.iter().chain([&soft]) {
                    let contrast = pair("accent")[theme].contrast(*ground);
                    assert!(contrast >= MIN_CONTRAST, "{hue} on {ground}: {contrast}");
                }
                for fill in [pair("accent-fill")[theme], pair("accent-fill-hover")[theme]] {
                    assert!(fill.contrast(Color::WHITE) >= MIN_CONTRAST, "white on {fill}");
                }
                assert!(pair("bar-delivered")[theme].contrast(surfaces[0]) >= MIN_DRAWING, "{hue}");
            }
        }
    }

    #[test]
    fn a_color_that_is_too_light_is_refused_with_one_that_is_not() {
        let error = check("#ffcc00".parse().unwrap()).unwrap_err();
        assert!(error.contrast < 2.0);
        assert_eq!(check(error.nearest), Ok(()));
    }

    #[test]
    fn a_logo_is_a_small_image() {
        let svg = b"<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_vec();
        assert_eq!(Logo::read(svg).unwrap().media_type, "image/svg+xml");
        let png = b"\x89PNG\r\n\x1a\nrest".to_vec();
        assert_eq!(Logo::read(png).unwrap().media_type, "image/png");
        for content in [&b""[..], b"GIF89a", b"<html></html>", b"text <svg>"] {
            assert_eq!(Logo::read(content.to_vec()).unwrap_err(), LogoError::UnknownFormat);
        }
        let large = vec![b' '; MAX_LOGO_BYTES + 1];
        assert_eq!(Logo::read(large).unwrap_err(), LogoError::TooLarge);
    }
}
