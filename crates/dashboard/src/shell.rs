//! The data of the frame around a page: navigation, tenant, search and vital signs.

use std::fmt;

use serde::Deserialize;

use crate::{
    assets,
    display_time::DisplayTime,
    escape::Text,
    features::Features,
    flashes::Flash,
    params::{Link, segment},
    sentence::{Html, Sentence},
    statistics::{Bin, Figures, Stats},
    texts::Rate,
    theme::Theme,
    visit::Visit,
};

/// How many tenants the menu lists.
const MAX_TENANTS: usize = 8;

pub struct Shell {
    pub visit: Visit,
    /// The entry of the navigation that the page belongs to.
    pub nav: &'static str,
    pub title: Sentence,
    pub flash: Option<Flash>,
    pub vitals: Vitals,
    pub tenants: Vec<TenantItem>,
    pub has_more_tenants: bool,
    /// How many things need a person, if the page counts them.
    pub needs: Option<u64>,
    pub features: Features,
}

/// The figures on every page.
#[derive(Default)]
pub struct Vitals {
    /// `None` if the store cannot be read.
    pub undelivered: Option<u64>,
    pub oldest: Option<DisplayTime>,
    pub dead: Option<u64>,
    /// Deliveries in the last minutes, and the share at the first attempt.
    pub delivered: Option<Rate>,
    pub first_share: Option<String>,
}

/// Minutes of statistics in the vital signs, including the current one.
const MINUTES: usize = 6;

#[derive(Deserialize)]
pub struct TenantItem {
    pub slug: Text,
    pub name: Text,
}

#[derive(Deserialize)]
struct Tenants {
    data: Vec<TenantItem>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct Queues {
    data: Vec<Queue>,
}

#[derive(Deserialize)]
struct Queue {
    depth: u64,
    oldest_due_at: Option<DisplayTime>,
}

#[derive(Deserialize)]
struct DeadStats {
    total: u64,
}

impl Shell {
    /// Creates the frame. Never fails: what cannot be read is left out.
    pub async fn new(visit: &Visit, nav: &'static str, title: Sentence) -> Self {
        let link = Link::new("/v1/tenants").with("limit", MAX_TENANTS);
        let tenants = visit.get_as_operator(link).await;
        let tenants = tenants.unwrap_or(Tenants { data: Vec::new(), next_cursor: None });
        Self {
            visit: visit.clone(),
            nav,
            title,
            flash: visit.take_flash(),
            vitals: Vitals::read(visit).await,
            has_more_tenants: tenants.next_cursor.is_some(),
            tenants: tenants.data,
            needs: None,
            features: Features::read(visit).await,
        }
    }

    pub fn link(&self, path: &str) -> Link {
        self.visit.link(path)
    }

    /// Returns the URL of a page, without the tenant of this one.
    pub fn page(&self, path: &str) -> String {
        self.visit.base.address(path)
    }

    /// Returns the page of one object.
    pub fn of(&self, path: &str, id: impl fmt::Display) -> Link {
        self.visit.link(format!("{path}/{}", segment(&id.to_string())))
    }

    /// Returns the URL that changes one object.
    pub fn act(&self, path: &str, id: impl fmt::Display, action: &str) -> Link {
        self.visit.link(format!("{path}/{}/{action}", segment(&id.to_string())))
    }

    /// For parts that take a URL that a page does not have.
    pub fn no_link(&self) -> Link {
        Link::new("")
    }

    pub fn asset(&self, name: &str) -> String {
        assets::address(name)
    }

    pub fn csrf(&self) -> &str {
        self.visit.visitor.csrf()
    }

    pub fn theme(&self) -> Theme {
        self.visit.theme
    }

    pub fn may_change(&self) -> bool {
        self.visit.visitor.may_change()
    }

    /// Whether the user may change the configuration: endpoints and keys, and the operator tenants and users.
    pub fn may_configure(&self) -> bool {
        self.visit.visitor.may_configure()
    }

    /// Returns who is logged in.
    pub fn account(&self) -> Html {
        match self.user() {
            Some(name) => Html::text(name),
            None => self.visit.t.say("shell.operator").into(),
        }
    }

    /// Returns the name of the user; `None` for the owner of the operator token.
    pub fn user(&self) -> Option<&str> {
        self.visit.visitor.operator().and_then(gancho_access::Operator::user)
    }

    pub fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// Returns the tenant that pages are limited to.
    pub fn tenant(&self) -> Option<TenantItem> {
        let tenant = self.visit.tenant.as_ref()?;
        Some(TenantItem { slug: tenant.slug.as_str().into(), name: tenant.name.as_str().into() })
    }

    pub fn is_nav(&self, name: &str) -> bool {
        self.nav == name
    }

    /// Whether something in this part of the navigation needs a person.
    pub fn is_alarming(&self, name: &str) -> bool {
        name == "/dead-letters" && self.vitals.dead.is_some_and(|dead| dead > 0)
    }

    /// Returns the list of tenants, to choose one that limits this page.
    pub fn choose_tenant(&self) -> Link {
        Link::new("/ui/tenants").with("for", self.for_tenant("").path())
    }

    /// Returns the same page, limited to another tenant. A page about one object leads to its list, the form
    /// of a new one to itself.
    pub fn for_tenant(&self, slug: &str) -> Link {
        let parts = self.visit.path.split('/').enumerate();
        let kept = parts.take_while(|(place, part)| *place < 3 || (*place == 3 && *part == "new"));
        let parts: Vec<_> = kept.map(|(_, part)| part).collect();
        Link::new(parts.join("/")).with("tenant", slug)
    }

    /// Returns the URL of this page, to return to it. In the portal it has only its path, because a tenant in
    /// a URL means nothing there.
    pub fn here(&self) -> Link {
        if self.is_portal() {
            return Link::new(&self.visit.path);
        }
        Link::again(&self.visit.path, &self.visit.params)
    }
}

impl Vitals {
    async fn read(visit: &Visit) -> Self {
        let queues: Option<Queues> = visit.get_as_operator(Link::new("/v1/queues")).await.ok();
        let stats: Option<DeadStats> = visit.get_as_operator(Link::new("/v1/dlq/stats")).await.ok();
        let is_lost = queues.is_none();
        let queues = queues.map_or_else(Vec::new, |queues| queues.data);
        let link = Link::new("/v1/stats").with("range", "15m");
        let recent: Option<Stats> = visit.get_as_operator(link).await.ok();
        let recent = recent.map_or_else(Vec::new, |stats| stats.bins);
        let recent = &recent[recent.len().saturating_sub(MINUTES)..];
        let counts = Figures::sum(recent);
        let rate = |first: &Bin| visit.t.rate(counts.delivered, visit.t.now.since(first.at.time()));
        Self {
            delivered: recent.first().filter(|_| counts.delivered > 0).map(rate),
            first_share: counts.first_share().map(|share| visit.t.percent(share)),
            undelivered: (!is_lost).then(|| queues.iter().map(|queue| queue.depth).sum()),
            oldest: queues.iter().filter_map(|queue| queue.oldest_due_at).min(),
            dead: stats.map(|stats| stats.total),
        }
    }
}
