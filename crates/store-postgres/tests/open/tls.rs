//! TLS to a server with its own certificate.

use std::fs;

use gancho_store::Nodes;
use gancho_store_postgres::{Options, PostgresStore};
use gancho_testkit::{
    postgres::{Postgres, fresh_database_on},
    tls::Authority,
};

use crate::world::now;

#[tokio::test(flavor = "multi_thread")]
async fn the_server_is_known_by_its_root_and_its_name() {
    let (authority, stranger) = (Authority::new().unwrap(), Authority::new().unwrap());
    let (certificate, key) = authority.pem(&["localhost"]).unwrap();
    let server = Postgres::start_with_tls(&certificate, &key).unwrap();
    let database = fresh_database_on(&server.url("postgres")).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (good, bad) = (folder.path().join("root.pem"), folder.path().join("stranger.pem"));
    fs::write(&good, authority.root_pem()).unwrap();
    fs::write(&bad, stranger.root_pem()).unwrap();
    let url = |host: &str, mode: &str, root: &std::path::Path| {
        let url = database.url().replace("127.0.0.1", host);
        let (head, _) = url.split_once('?').unwrap();
        format!("{head}?sslmode={mode}&sslrootcert={}", root.display())
    };
    for mode in ["verify-full", "require"] {
        let store = PostgresStore::connect(&url("localhost", mode, &good), Options::default())
            .await
            .unwrap();
        store.join("a", now()).await.unwrap();
        let client = database.client().await.unwrap();
        let sql = "select count(*) filter (where s.ssl), count(*) filter (where not s.ssl)
            from pg_stat_ssl s join pg_stat_activity a using (pid)
            where a.datname = current_database() and a.application_name like 'gancho%'";
        let row = client.query_one(sql, &[]).await.unwrap();
        let (with, without): (i64, i64) = (row.get(0), row.get(1));
        assert!(with >= 1 && without == 0, "{with} {without}");
    }
    for (url, why) in [
        (url("localhost", "verify-full", &bad), "UnknownIssuer"),
        (url("127.0.0.1", "verify-full", &good), "NotValidForName"),
        (url("localhost", "verify-full", &folder.path().join("none.pem")), "sslrootcert"),
    ] {
        let refused = PostgresStore::connect(&url, Options::default()).await;
        let text = refused.err().expect("it is refused").to_string();
        assert!(text.contains(why) || text.contains("certificate"), "{why}: {text}");
    }
}
