//! The gateway, put together: store, engine, publisher and carriers.

use std::{path::Path, sync::Arc};

use anyhow::Context;
use gancho_domain::{
    Clock, Endpoint, EndpointId, Health, IdMaker, Lane, Ordering, Pattern, Random, SystemClock,
    SystemRandom, Tenant, TenantScope,
};
use gancho_engine::{Engine, EngineSetup, LaneSetup, Limits};
use gancho_outbound::{Publisher, Registry, WebhookCarrier, deliver, registry};
use gancho_store::Store;
use gancho_vault::KeyRing;
use gancho_wire::Profile;

use crate::database;

pub struct Gateway {
    pub store: Arc<dyn Store>,
    pub engine: Arc<Engine>,
    pub publisher: Arc<Publisher>,
    ring: Arc<KeyRing>,
    ids: Arc<IdMaker>,
    clock: Arc<dyn Clock>,
}

pub struct Setup<'a> {
    pub database_url: &'a str,
    pub ring: KeyRing,
    pub client: deliver::Settings,
    pub limits: Limits,
    /// Deliveries on the wire at once.
    pub concurrency: u32,
}

impl Gateway {
    pub async fn start(setup: Setup<'_>) -> anyhow::Result<Self> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let random: Arc<dyn Random> = Arc::new(SystemRandom);
        let store = database::open(setup.database_url).await?;
        let ids = Arc::new(IdMaker::new(clock.clone(), random.clone()));
        ids.rise_above(store.highest_lead().await?);
        let ring = Arc::new(setup.ring);
        let registry =
            Arc::new(Registry::new(store.clone(), ring.clone(), Profile::built_in().into()));
        let client = deliver::Client::new(setup.client).context("the HTTP client")?;
        let carrier = WebhookCarrier { registry: registry.clone(), client, clock: clock.clone() };
        let lane = LaneSetup {
            concurrency: setup.concurrency,
            ..LaneSetup::new(Lane::Webhook, Arc::new(carrier))
        };
        let engine = Engine::start(EngineSetup {
            store: store.clone(),
            clock: clock.clone(),
            random,
            lanes: vec![lane],
            limits: setup.limits,
            name: format!("gancho-{}", std::process::id()),
        })
        .await?;
        let publisher = Arc::new(Publisher {
            store: store.clone(),
            engine: engine.clone(),
            registry,
            ids: ids.clone(),
            clock: clock.clone(),
        });
        Ok(Self { store, engine, publisher, ring, ids, clock })
    }

    /// The tenant of that slug, made if it is not there.
    pub async fn tenant(&self, slug: &str) -> anyhow::Result<TenantScope> {
        if let Some(tenant) = self.store.tenant_by_slug(slug).await? {
            return Ok(TenantScope::granted(tenant.id));
        }
        let tenant = Tenant::new(self.ids.make(), slug, self.clock.now());
        let scope = TenantScope::granted(tenant.id);
        self.store.create_tenant(tenant).await?;
        Ok(scope)
    }

    /// A new endpoint that wants everything, in the standard profile.
    pub async fn add_endpoint(
        &self,
        scope: TenantScope,
        url: &str,
        secret: &str,
    ) -> anyhow::Result<EndpointId> {
        let id: EndpointId = self.ids.make();
        let sealed_secret =
            self.ring.seal(registry::place(scope.tenant(), id).as_place(), secret)?;
        let now = self.clock.now();
        let endpoint = Endpoint {
            id,
            tenant: scope.tenant(),
            name: String::new(),
            url: url.to_owned(),
            events: vec![Pattern::All],
            sealed_secret,
            old_secrets: Vec::new(),
            sealed_headers: None,
            metadata: "{}".to_owned(),
            profile: "standard".to_owned(),
            is_active: true,
            ordering: Ordering::BestEffort,
            plan: None,
            timeout: None,
            max_in_flight: None,
            rate: None,
            health: Health::default(),
            created_at: now,
            updated_at: now,
            version: 1,
        };
        self.save(scope, endpoint).await?;
        Ok(id)
    }

    /// Saves an endpoint that was changed, with a secret that may be new.
    pub async fn reseal(
        &self,
        scope: TenantScope,
        mut endpoint: Endpoint,
        secret: &str,
    ) -> anyhow::Result<()> {
        let place = registry::place(scope.tenant(), endpoint.id);
        endpoint.sealed_secret = self.ring.seal(place.as_place(), secret)?;
        self.save(scope, endpoint).await
    }

    async fn save(&self, scope: TenantScope, endpoint: Endpoint) -> anyhow::Result<()> {
        self.store.save_endpoint(scope, endpoint).await?;
        self.publisher.registry.forget(scope.tenant());
        Ok(())
    }
}

/// The key ring in the data folder, made with mode 0600 if it is not there.
pub fn key_ring(folder: &Path) -> anyhow::Result<KeyRing> {
    use std::{io::Write, os::unix::fs::OpenOptionsExt};
    let path = folder.join("master.key");
    let read =
        || -> anyhow::Result<KeyRing> { Ok(KeyRing::parse(&std::fs::read_to_string(&path)?)?) };
    if path.exists() {
        return read().with_context(|| format!("the key ring {}", path.display()));
    }
    let ring = KeyRing::generate()?;
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .with_context(|| format!("cannot make the key ring {}", path.display()))?;
    file.write_all(ring.text().as_bytes())?;
    // Without the key every secret is lost: it must survive a power cut too.
    file.sync_all()?;
    std::fs::File::open(folder)?.sync_all()?;
    Ok(ring)
}
