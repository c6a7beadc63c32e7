//! The frame around a page of the portal: the operator's brand, the name of the tenant and the tabs.

use gancho_domain::Time;

use crate::{
    cookies,
    display_time::DisplayTime,
    params::Link,
    portal::Portal,
    sentence::{Html, Sentence},
    shell::Shell,
    visitor::Visitor,
};

/// A part of the portal.
pub struct PortalTab {
    pub label: Sentence,
    pub link: Link,
    pub is_current: bool,
}

impl Shell {
    pub fn is_portal(&self) -> bool {
        self.visit.is_portal()
    }

    pub fn portal(&self) -> &Portal {
        &self.visit.dashboard.portal
    }

    /// Returns the URLs of the logo and of the colors, if the operator has set them.
    pub fn portal_logo(&self) -> Option<String> {
        self.portal().logo().filter(|_| self.is_portal())
    }

    pub fn portal_stylesheet(&self) -> Option<String> {
        self.portal().stylesheet().filter(|_| self.is_portal())
    }

    /// Returns the attributes of a cookie that the script sets.
    pub fn cookie_attributes(&self) -> &'static str {
        cookies::attributes(self.visit.base, self.visit.dashboard.is_secure())
    }

    /// Returns the end of the session, as a countdown.
    pub fn portal_end(&self) -> Html {
        let until = match &self.visit.visitor {
            Visitor::Tenant(session) => session.until(),
            Visitor::Operator(_) => Time::MAX,
        };
        self.visit.t.until(&DisplayTime::of(until))
    }

    pub fn portal_tabs(&self) -> Vec<PortalTab> {
        let t = &self.visit.t;
        let tab = |path: &str, label, others: &[&str]| PortalTab {
            label,
            link: self.visit.link(path),
            is_current: self.nav == path || others.contains(&self.nav),
        };
        vec![
            tab("/", t.say("nav.endpoints"), &["/endpoints"]),
            tab("/deliveries", t.say("nav.deliveries"), &[]),
            tab("/events", t.say("nav.events"), &[]),
            tab("/dead-letters", t.say("nav.dead_letters"), &["/replays"]),
            tab("/event-types", t.say("nav.event_types"), &[]),
            tab("/keys", t.say("tenants.keys"), &[]),
            tab("/plan", t.say("portal.plan"), &[]),
        ]
    }
}
