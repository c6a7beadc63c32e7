//! A commit whose answer is lost: the transaction is written, and its connection breaks before the answer.
//! The test causes this by ending a session whose commit waits for a standby.

use std::sync::Arc;

use gancho_domain::{State, TenantScope};
use gancho_store::{Claiming, Deliveries, NodeId, Nodes};
use gancho_store_postgres::PostgresStore;
use gancho_testkit::{
    postgres::{Client, Database, Postgres, fresh_database_on},
    wait_for,
};

use crate::world::{ParcelGenerator, accept, claim, delivered, now, open};

struct Server {
    database: Database,
    _server: Postgres,
}

impl Server {
    async fn start() -> (Self, Arc<PostgresStore>) {
        let server = Postgres::start(&[]).unwrap();
        let database = fresh_database_on(&server.url("postgres")).await.unwrap();
        let store = open(&database).await;
        (Self { database, _server: server }, store)
    }

    async fn wait_for_a_standby(&self, name: &str) {
        let client = self.database.client().await.unwrap();
        let sql = format!("alter system set synchronous_standby_names = '{name}'");
        client.batch_execute(&sql).await.unwrap();
        client.batch_execute("select pg_reload_conf()").await.unwrap();
        let shown = "select current_setting('synchronous_standby_names') = $1";
        wait_for("the setting counts", || async {
            client.query_one(shown, &[&name]).await.unwrap().get::<_, bool>(0).then_some(())
        })
        .await;
        if !name.is_empty() {
            wait_for("commits wait", || self.is_waiting(&client)).await;
        }
    }

    /// Whether a commit waits for the standby: the setting applies only once another process of the server
    /// has read it.
    async fn is_waiting(&self, client: &Client) -> Option<()> {
        let probe = self.database.client().await.unwrap();
        let pid: i32 = probe.query_one("select pg_backend_pid()", &[]).await.unwrap().get(0);
        let write = "create table if not exists probe (); insert into probe default values";
        let written = tokio::spawn(async move { probe.batch_execute(write).await });
        let end = "select pg_terminate_backend(pid) from pg_stat_activity
            where pid = $1 and wait_event = 'SyncRep'";
        while !written.is_finished() {
            if !client.query(end, &[&pid]).await.unwrap().is_empty() {
                return Some(());
            }
        }
        None
    }

    /// Ends a session that has committed and waits for the standby.
    async fn lose_an_answer(&self) {
        let client = self.database.client().await.unwrap();
        let sql = "select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and wait_event = 'SyncRep'
              and query ilike any (array['%commit%', '%update deliveries%'])";
        wait_for("something commits", || async {
            (!client.query(sql, &[]).await.unwrap().is_empty()).then_some(())
        })
        .await;
    }
}

/// faults.md 16: otherwise it would be released again, perhaps after the same node has claimed it again.
#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_not_said_to_have_failed_when_it_was_written() {
    let (server, store) = Server::start().await;
    let make = ParcelGenerator::new();
    let tenant = make.tenant();
    let node = store.join("releases", now()).await.unwrap();
    let id = accept(&store, make.event(tenant, make.target()), node).await;
    assert_eq!(claim(&store, node).await.jobs.len(), 1);

    server.wait_for_a_standby("nobody").await;
    let releasing = {
        let store = store.clone();
        tokio::spawn(async move { store.release(node, vec![(tenant, id).into()]).await })
    };
    server.lose_an_answer().await;
    server.wait_for_a_standby("").await;
    assert_eq!(releasing.await.unwrap(), Ok(()));
    let view = store.delivery(TenantScope::internal(tenant), id).await.unwrap().unwrap();
    assert_eq!(view.row.state, State::Pending);
    settle_once(&store, node).await;
}

async fn settle_once(store: &PostgresStore, node: NodeId) {
    use gancho_store::Settle;
    let jobs = claim(store, node).await.jobs;
    assert_eq!(jobs.len(), 1);
    store.settle(node, vec![delivered(&jobs[0])]).await.unwrap();
}
