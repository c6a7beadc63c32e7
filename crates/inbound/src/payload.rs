//! The body of a receipt for display: as it was posted, except that a secret inside it is masked.

use bytes::Bytes;
use gancho_domain::mask::MASK;
use serde_json::Value;

use crate::preset::Preset;

/// Returns the body for display. `preset` is the source's; `None` if the source was deleted, and then it may
/// have been any.
pub fn for_display(preset: Option<&Preset>, body: &Bytes) -> Bytes {
    match preset {
        None | Some(Preset::Microsoft) => {
            without_client_state(body).unwrap_or_else(|| body.clone())
        }
        Some(_) => body.clone(),
    }
}

/// Masks the secret by which Microsoft Graph authenticates each notification. `None` if there is none.
fn without_client_state(body: &[u8]) -> Option<Bytes> {
    const NAME: &str = "clientState";
    let mut document: Value = serde_json::from_slice(body).ok()?;
    let mut is_found = false;
    for notification in document.get_mut("value")?.as_array_mut()? {
        if let Some(state) = notification.get_mut(NAME) {
            *state = MASK.into();
            is_found = true;
        }
    }
    is_found.then(|| document.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_secret_is_masked() {
        let graph = Bytes::from_static(br#"{"value":[{"clientState":"hush","n":1},{"n":2}]}"#);
        let masked = r#"{"value":[{"clientState":"••••","n":1},{"n":2}]}"#;
        assert_eq!(for_display(Some(&Preset::Microsoft), &graph), masked);
        assert_eq!(for_display(None, &graph), masked);
        assert_eq!(for_display(Some(&Preset::Partner), &graph), graph);
        for body in [r#"{"b": 2.00, "a":1}"#, r#"{"value": 7}"#, "[ 1 ]", "not JSON"] {
            let body = Bytes::from(body);
            for preset in [None, Some(&Preset::Microsoft)] {
                assert_eq!(for_display(preset, &body), body);
            }
        }
    }
}
