//! The two places of pages: the operator's dashboard, and the portal of a tenant. Both have the same pages.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    Dashboard,
    Portal,
}

impl Base {
    pub const fn path(self) -> &'static str {
        match self {
            Self::Dashboard => "/ui",
            Self::Portal => "/portal",
        }
    }

    /// Returns the place of a request's path.
    pub fn of(path: &str) -> Self {
        if is_below(path, Self::Portal.path()) { Self::Portal } else { Self::Dashboard }
    }

    /// Returns the URL of a page, e.g. of `/deliveries`.
    pub fn address(self, page: &str) -> String {
        format!("{}{page}", self.path())
    }

    /// Whether a URL leads to a page here, and nowhere else.
    pub fn has(self, address: &str) -> bool {
        is_below(address, self.path())
            && !address.contains(|symbol: char| symbol == '\\' || symbol.is_control())
    }
}

fn is_below(address: &str, path: &str) -> bool {
    let rest = address.strip_prefix(path);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_the_base_are_its_own() {
        for address in ["/ui", "/ui/", "/ui/deliveries?status=failed", "/ui?x=1"] {
            assert!(Base::Dashboard.has(address), "{address}");
            assert!(!Base::Portal.has(address), "{address}");
        }
        assert!(Base::Portal.has("/portal/deliveries"));
        for address in [
            "",
            "//evil.example",
            "/\\evil",
            "https://evil.example/ui",
            "/uix",
            "/v1/tenants",
            "/ui/\\..",
            "/ui\n/x",
            "javascript:alert(1)",
            "ui/",
            "//ui/",
            "/portal",
        ] {
            assert!(!Base::Dashboard.has(address), "{address}");
        }
    }

    #[test]
    fn the_path_of_a_request_says_where_it_goes_to() {
        assert_eq!(Base::of("/portal/deliveries"), Base::Portal);
        assert_eq!(Base::of("/portal"), Base::Portal);
        for path in ["/ui/", "/", "/portals", "/ui/portal"] {
            assert_eq!(Base::of(path), Base::Dashboard, "{path}");
        }
        assert_eq!(Base::Portal.address("/deliveries"), "/portal/deliveries");
    }
}
