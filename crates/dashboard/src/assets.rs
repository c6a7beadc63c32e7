//! The files that pages load: style, script, fonts and icon. They are part of the binary, and their address
//! changes with their content, so that browsers keep them for good.

use std::sync::{Arc, LazyLock};

use aws_lc_rs::digest;
use axum::{
    Router,
    body::Body,
    extract::Path,
    response::{IntoResponse, Response},
    routing::get,
};
use data_encoding::HEXLOWER;
use http::{HeaderValue, StatusCode, header};

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

/// A hash of all files.
static HASH: LazyLock<String> = LazyLock::new(|| {
    let mut context = digest::Context::new(&digest::SHA256);
    for asset in &ASSETS {
        context.update(asset.content);
    }
    HEXLOWER.encode(&context.finish().as_ref()[..8])
});

/// The address of a file.
pub fn address(name: &str) -> String {
    format!("/ui/assets/{}/{name}", *HASH)
}

pub fn router() -> Router<Arc<Dashboard>> {
    Router::new().route("/ui/assets/{hash}/{*name}", get(serve))
}

async fn serve(Path((hash, name)): Path<(String, String)>) -> Response {
    let asset = ASSETS.iter().find(|asset| asset.name == name && hash == *HASH);
    let Some(asset) = asset else { return StatusCode::NOT_FOUND.into_response() };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(asset.media_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    (headers, Body::from(asset.content)).into_response()
}
