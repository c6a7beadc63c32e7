//! The icons. A page contains the used ones once, as symbols of one drawing.

use std::{collections::BTreeSet, fmt::Write};

/// Where templates have room for the symbols.
const PLACE: &str = "<!--icons-->";

/// Inserts the symbols that a page uses.
pub fn insert(html: &str) -> String {
    let uses = html.split("<use href=\"#icon-").skip(1);
    let names: BTreeSet<&str> = uses.filter_map(|rest| rest.split('"').next()).collect();
    let mut sprite = String::from("<svg hidden>");
    for (name, drawing) in ICONS {
        if names.contains(name) {
            let _ = write!(
                sprite,
                "<symbol id=\"icon-{name}\" viewBox=\"0 0 16 16\">{drawing}</symbol>"
            );
        }
    }
    sprite.push_str("</svg>");
    html.replacen(PLACE, &sprite, 1)
}

/// Names and drawings, 16 units wide and high.
const ICONS: &[(&str, &str)] = &[
    (
        "alerts",
        r#"<path d="M8 2a4 4 0 0 1 4 4c0 4 1.5 5 1.5 5h-11S4 10 4 6a4 4 0 0 1 4-4ZM6.5 13.5a1.7 1.7 0 0 0 3 0"/>"#,
    ),
    ("audit", r#"<path d="M4 2.5h8v11H4zM6.5 5.5h3M6.5 8h3M6.5 10.5h1.5"/>"#),
    (
        "catalog",
        r#"<path d="M3 2.5h7.5a2 2 0 0 1 2 2v9H5a2 2 0 0 1-2-2v-9Zm0 8.8a2 2 0 0 1 2-1.5h7.5M6 5.5h3.5"/>"#,
    ),
    ("chevron", r#"<path d="m4.5 6.5 3.5 3.5 3.5-3.5"/>"#),
    (
        "copy",
        r#"<rect x="5.5" y="5.5" width="8" height="8" rx="1.5"/><path d="M3.5 10.5h-.3a.7.7 0 0 1-.7-.7V3.2c0-.4.3-.7.7-.7h6.6c.4 0 .7.3.7.7v.3"/>"#,
    ),
    (
        "dead",
        r#"<path d="M2 9.5 4 3.5h8l2 6v2a1.5 1.5 0 0 1-1.5 1.5h-9A1.5 1.5 0 0 1 2 11.5v-2Zm0 0h3.5a2.5 2.5 0 0 0 5 0H14"/>"#,
    ),
    (
        "delivered",
        r#"<path fill-rule="evenodd" d="M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1Zm3.53 4.97a.75.75 0 0 0-1.06 0L7 9.44 5.53 7.97a.75.75 0 1 0-1.06 1.06l2 2a.75.75 0 0 0 1.06 0l4-4a.75.75 0 0 0 0-1.06Z"/>"#,
    ),
    ("deliveries", r#"<path d="M2.5 8h8M7 4.5 10.5 8 7 11.5M13.5 3v10"/>"#),
    ("disabled", r#"<circle cx="8" cy="8" r="6"/><path d="m3.9 12.1 8.2-8.2"/>"#),
    ("down", r#"<path d="M8 2.5v8M4.5 7.5 8 11l3.5-3.5M3 13.5h10"/>"#),
    (
        "emails",
        r#"<rect x="1.8" y="3" width="12.4" height="10" rx="1.5"/><path d="m2.3 4.3 5.7 4.4 5.7-4.4"/>"#,
    ),
    ("endpoints", r#"<circle cx="8" cy="8" r="2.2"/><circle cx="8" cy="8" r="6"/>"#),
    ("events", r#"<path d="M8.7 1.5 3 9h4.5l-.7 5.5L12.5 7H8l.7-5.5Z"/>"#),
    (
        "failed",
        r#"<path fill-rule="evenodd" d="M4 1h8a3 3 0 0 1 3 3v8a3 3 0 0 1-3 3H4a3 3 0 0 1-3-3V4a3 3 0 0 1 3-3Zm1.53 3.47a.75.75 0 0 0-1.06 1.06L6.94 8l-2.47 2.47a.75.75 0 1 0 1.06 1.06L8 9.06l2.47 2.47a.75.75 0 1 0 1.06-1.06L9.06 8l2.47-2.47a.75.75 0 0 0-1.06-1.06L8 6.94 5.53 4.47Z"/>"#,
    ),
    ("filter", r#"<path d="M2 4h12M4.5 8h7M7 12h2"/>"#),
    ("inflight", r#"<path d="M2 8h11M8.8 3.8 13 8l-4.2 4.2"/>"#),
    (
        "ledger",
        r#"<path d="M6.5 9.5 9.5 6.5M7 4.5l1.6-1.6a3 3 0 0 1 4.3 4.3L11.3 8.8M8.8 11.3l-1.6 1.6a3 3 0 0 1-4.3-4.3L4.5 7"/>"#,
    ),
    ("menu", r#"<path d="M2.5 4h11M2.5 8h11M2.5 12h11"/>"#),
    (
        "more",
        r#"<circle cx="3.5" cy="8" r="1.3"/><circle cx="8" cy="8" r="1.3"/><circle cx="12.5" cy="8" r="1.3"/>"#,
    ),
    (
        "nodes",
        r#"<rect x="2.5" y="2.5" width="11" height="4.5" rx="1"/><rect x="2.5" y="9" width="11" height="4.5" rx="1"/><path d="M5 4.75h.2M5 11.25h.2"/>"#,
    ),
    ("overview", r#"<path d="M2 13V9m4 4V5m4 8V7m4 6V3"/>"#),
    (
        "paused",
        r#"<path d="M4 2.5h2.2a.8.8 0 0 1 .8.8v9.4a.8.8 0 0 1-.8.8H4a.8.8 0 0 1-.8-.8V3.3a.8.8 0 0 1 .8-.8Zm5.8 0H12a.8.8 0 0 1 .8.8v9.4a.8.8 0 0 1-.8.8H9.8a.8.8 0 0 1-.8-.8V3.3a.8.8 0 0 1 .8-.8Z"/>"#,
    ),
    ("pending", r#"<circle cx="8" cy="8" r="5.5"/>"#),
    ("plus", r#"<path d="M8 3v10M3 8h10"/>"#),
    ("queues", r#"<path d="M2 4h12M2 8h12M2 12h7"/>"#),
    ("replays", r#"<path d="M8 3v5l3 2M2.5 8a5.5 5.5 0 1 0 1.7-4L2.5 5.5M2.5 2.5v3h3"/>"#),
    ("retrying", r#"<path d="M13.3 9.2A5.5 5.5 0 1 1 12 4.2l1.5 1.6M13.7 2.4v3.5h-3.5"/>"#),
    ("save", r#"<path d="M4 2.5h8v11l-4-3-4 3v-11Z"/>"#),
    ("search", r#"<circle cx="7" cy="7" r="4.5"/><path d="m10.4 10.4 3.3 3.3"/>"#),
    ("send", r#"<path d="m2.5 3 11 5-11 5 1.8-5L2.5 3Zm1.8 5h4.2"/>"#),
    ("sources", r#"<path d="M13.5 2.5 7 9m0-5v5h5M2.5 8v4a1.5 1.5 0 0 0 1.5 1.5h8"/>"#),
    (
        "tenants",
        r#"<path d="M2.5 13.5v-10h6v10M8.5 6.5h5v7M1.5 13.5h13M5 6h1M5 8.5h1M5 11h1M11 9h.5M11 11.5h.5"/>"#,
    ),
    (
        "theme",
        r#"<circle cx="8" cy="8" r="5.5"/><path d="M8 2.5v11a5.5 5.5 0 0 0 0-11Z" fill="currentColor"/>"#,
    ),
    (
        "users",
        r#"<circle cx="6" cy="5.5" r="2.7"/><path d="M1.5 13.5c0-2.8 2-4.5 4.5-4.5s4.5 1.7 4.5 4.5M10.5 3a2.7 2.7 0 0 1 0 5M12 9.4c1.6.5 2.5 2 2.5 4.1"/>"#,
    ),
    ("warn", r#"<path d="M8 2 1.8 13h12.4L8 2Zm0 4.6v3M8 11.4v.1"/>"#),
    ("x", r#"<path d="m4 4 8 8m0-8-8 8"/>"#),
];
