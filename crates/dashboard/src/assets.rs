//! The files that pages load: style, script, fonts and icon. They are part of the binary, and their URLs
//! change with their content, so that browsers cache them forever.

use std::{
    io::Write,
    sync::{Arc, LazyLock},
};

use aws_lc_rs::digest;
use axum::{
    Router,
    body::Body,
    extract::Path,
    response::{IntoResponse, Response},
    routing::get,
};
use bytes::Bytes;
use data_encoding::HEXLOWER;
use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::dashboard::Dashboard;

struct Asset {
    name: &'static str,
    media_type: &'static str,
    content: &'static [u8],
}

static ASSETS: [Asset; 6] = [
    Asset {
        name: "style.css",
        media_type: "text/css; charset=utf-8",
        content: include_bytes!("../assets/style.css"),
    },
    Asset {
        name: "app.js",
        media_type: "text/javascript; charset=utf-8",
        content: include_bytes!("../assets/app.js"),
    },
    Asset {
        name: "live.js",
        media_type: "text/javascript; charset=utf-8",
        content: include_bytes!("../assets/live.js"),
    },
    Asset {
        name: "icon.svg",
        media_type: "image/svg+xml",
        content: include_bytes!("../assets/icon.svg"),
    },
    Asset {
        name: "fonts/geist.woff2",
        media_type: "font/woff2",
        content: include_bytes!("../assets/fonts/geist.woff2"),
    },
    Asset {
        name: "fonts/geist-mono.woff2",
        media_type: "font/woff2",
        content: include_bytes!("../assets/fonts/geist-mono.woff2"),
    },
];

/// Texts are compressed for browsers that accept it. Fonts are compressed already.
static COMPRESSED: LazyLock<[Option<Bytes>; 6]> = LazyLock::new(|| {
    ASSETS.each_ref().map(|asset| {
        let is_text = !asset.media_type.starts_with("font/");
        is_text.then(|| compress(asset.content)).flatten()
    })
});

fn compress(content: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

/// A hash of all files.
static HASH: LazyLock<String> = LazyLock::new(|| {
    let mut context = digest::Context::new(&digest::SHA256);
    for asset in &ASSETS {
        context.update(asset.content);
    }
    HEXLOWER.encode(&context.finish().as_ref()[..8])
});

/// Returns the URL of a file.
pub fn address(name: &str) -> String {
    format!("/ui/assets/{}/{name}", *HASH)
}

pub fn router() -> Router<Arc<Dashboard>> {
    Router::new().route("/ui/assets/{hash}/{*name}", get(serve))
}

async fn serve(Path((hash, name)): Path<(String, String)>, request: HeaderMap) -> Response {
    let place = ASSETS.iter().position(|asset| asset.name == name && hash == *HASH);
    let Some(place) = place else { return StatusCode::NOT_FOUND.into_response() };
    let asset = &ASSETS[place];
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(asset.media_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    let compressed = COMPRESSED[place].as_ref();
    let vary = (header::VARY, HeaderValue::from_static("accept-encoding"));
    match compressed.filter(|_| accepts_gzip(&request)) {
        Some(content) => {
            let encoding = (header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            (headers, [vary, encoding], Body::from(content.clone())).into_response()
        }
        None if compressed.is_some() => {
            (headers, [vary], Body::from(asset.content)).into_response()
        }
        None => (headers, Body::from(asset.content)).into_response(),
    }
}

/// Whether gzip is among the accepted encodings, and not refused by `q=0`.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter();
    values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).any(|one| {
        let (name, quality) = one.split_once(';').unwrap_or((one, ""));
        let quality: String = quality.chars().filter(|symbol| !symbol.is_whitespace()).collect();
        let is_refused = matches!(quality.as_str(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000");
        name.trim().eq_ignore_ascii_case("gzip") && !is_refused
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_compressed_and_fonts_are_not() {
        for (asset, compressed) in ASSETS.iter().zip(&*COMPRESSED) {
            assert_eq!(compressed.is_none(), asset.name.starts_with("fonts/"), "{}", asset.name);
        }
        let transferred = |(asset, compressed): (&Asset, &Option<Bytes>)| {
            compressed.as_ref().map_or(asset.content.len(), Bytes::len)
        };
        let all: usize = ASSETS.iter().zip(&*COMPRESSED).map(transferred).sum();
        assert!(all < 80 * 1024, "{all} bytes");
    }

    #[test]
    fn gzip_is_sent_to_those_who_accept_it() {
        for (value, accepted) in [
            ("gzip, br", true),
            ("br;q=1.0, GZIP;q=0.8", true),
            ("gzip; q=0", false),
            ("br", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(value));
            assert_eq!(accepts_gzip(&headers), accepted, "{value}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }
}
