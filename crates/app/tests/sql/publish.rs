//! `gancho.publish` in the transactions of an application, with the binary that accepts what they commit.

use std::{
    collections::{BTreeMap, HashSet},
    time::{Duration, Instant},
};

use gancho_testkit::{
    postgres::{Client, Database, Error, fresh_database},
    until,
};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::{
    browser::Browser,
    docs::blocks::{block, blocks},
    gateway::Gateway,
    receiver,
};

const TEXT: &str = "select gancho.publish($1, $2, $3::text::json, idempotency_key => $4)";

/// A database with a gateway, and an application with a role that may only call the function.
struct Stage {
    runtime: Runtime,
    database: Database,
    folder: TempDir,
    role: String,
}

impl Stage {
    fn new() -> Self {
        let runtime = Runtime::new().unwrap();
        let database = runtime.block_on(fresh_database()).unwrap();
        let role = format!("app_{}", database.name());
        Self { runtime, folder: tempfile::tempdir().unwrap(), role, database }
    }

    fn start(&self, variables: &[(&str, &str)]) -> Gateway {
        let url = self.database.url();
        let all: Vec<_> =
            [("GANCHO_DATABASE_URL", url.as_str())].iter().chain(variables).copied().collect();
        Gateway::start(self.folder.path(), &all)
    }

    fn admin(&self) -> Client {
        self.runtime.block_on(self.database.client()).unwrap()
    }

    /// Grants the rights as docs/publish-from-sql.md says.
    fn grant(&self) {
        let role = &self.role;
        let [_, granted] = page_sql();
        let granted = granted.replace(" to app;", &format!(" to {role};"));
        let grants = format!(
            "create role {role} login; {granted}
             create table orders (id int primary key, total int); grant all on orders to {role}"
        );
        self.runtime.block_on(self.admin().batch_execute(&grants)).unwrap();
    }

    fn application(&self) -> Client {
        self.run(self.database.client_as(&self.role)).unwrap()
    }

    fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // Roles belong to the server, and outlive the database.
        let _ = self.run(async {
            let client = self.database.client().await?;
            let drop =
                format!("drop table if exists orders; drop owned by {0}; drop role {0}", self.role);
            Ok::<_, anyhow::Error>(client.batch_execute(&drop).await?)
        });
    }
}

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/publish-from-sql.md");
    std::fs::read_to_string(path).unwrap()
}

/// The transaction of the page, and its grants.
fn page_sql() -> [String; 2] {
    let found = blocks(&page()).into_iter().filter(|block| block.language == "sql");
    found.map(|block| block.text).collect::<Vec<_>>().try_into().unwrap()
}

#[test]
fn the_transaction_of_the_page_publishes_with_the_function_that_it_describes() {
    let stage = Stage::new();
    let gateway = stage.start(&[]);
    stage.grant();
    let (address, seen) = receiver::start();
    let key = gateway.tenant("acme");
    gateway.endpoint(&key, &format!("http://{address}/hook"));
    let [transaction, _] = page_sql();
    stage.run(stage.application().batch_execute(&transaction)).unwrap();
    until("it is delivered", || !seen.counts().is_empty());
    let id = seen.counts().into_keys().next().unwrap();
    let body = String::from_utf8(seen.body(&id).unwrap()).unwrap();
    assert!(body.contains(r#""data":{"id": 42, "total": 4200}"#), "{body}");

    let sql = "select 'gancho.publish(' || pg_get_function_arguments(oid) || ') returns ' ||
        pg_get_function_result(oid) from pg_proc where oid = 'gancho.publish'::regproc";
    let installed: String = stage.run(stage.admin().query_one(sql, &[])).unwrap().get(0);
    let shown = block(&page(), "text").replace("timestamptz", "timestamp with time zone");
    let words = |text: &str| {
        let lines = text.lines().map(|line| line.split("--").next().unwrap());
        let text = lines.collect::<Vec<_>>().join(" ").to_lowercase();
        let text =
            text.replace("null::text", "null").replace("null::timestamp with time zone", "null");
        text.replace(['(', ')', ','], " ").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(words(&shown), words(&installed));
}

async fn publish(
    client: &Client,
    event_type: &str,
    data: &str,
    key: Option<&str>,
) -> Result<String, Error> {
    let row = client.query_one(TEXT, &[&"acme", &event_type, &data, &key]).await?;
    Ok(row.get(0))
}

/// Returns the code in the message, and the SQLSTATE.
fn refusal<T: std::fmt::Debug>(answer: Result<T, Error>) -> (String, String) {
    let error = answer.unwrap_err();
    let error = error.as_db_error().expect("an error of the server");
    let code = error.constraint().expect("a code");
    assert!(error.message().starts_with(&format!("{code}: ")), "{error}");
    (code.to_owned(), error.code().code().to_owned())
}

#[test]
fn an_event_is_stored_if_the_transaction_commits() {
    let stage = Stage::new();
    let gateway = stage.start(&[]);
    stage.grant();
    let (address, seen) = receiver::start();
    let key = gateway.tenant("acme");
    gateway.endpoint(&key, &format!("http://{address}/hook"));
    let client = stage.application();

    // While nothing else happens, so that a poll alone would take a second.
    let mut delays = Vec::new();
    for number in 0..5 {
        let started = Instant::now();
        let data = format!(r#"{{"order": {number}, "keeps":   "its spaces"}}"#);
        let id = stage.run(async {
            client
                .batch_execute(&format!("begin; insert into orders values ({number})"))
                .await
                .unwrap();
            let id = publish(&client, "order.placed", &data, None).await.unwrap();
            client.batch_execute("commit").await.unwrap();
            id
        });
        until("it is delivered", || seen.body(&id).is_some());
        delays.push(started.elapsed());
        let body = String::from_utf8(seen.body(&id).unwrap()).unwrap();
        assert!(body.contains(&data), "byte for byte: {body}");
        let shown = gateway.acting("acme", "GET", &format!("/v1/events/{id}"), "");
        assert_eq!(shown.json()["deliveries"].as_array().unwrap().len(), 1, "{}", shown.body);
    }
    delays.sort();
    assert!(delays[2] < Duration::from_millis(800), "the bell wakes the node: {delays:?}");

    let rolled_back = stage.run(async {
        client.batch_execute("begin; insert into orders values (99)").await.unwrap();
        let id = publish(&client, "order.placed", "{}", None).await.unwrap();
        client.batch_execute("rollback").await.unwrap();
        id
    });
    let last = stage.run(publish(&client, "order.placed", "{}", None)).unwrap();
    until("the next is delivered", || seen.body(&last).is_some());
    assert!(seen.body(&rolled_back).is_none());
    let shown = gateway.acting("acme", "GET", &format!("/v1/events/{rolled_back}"), "");
    assert_eq!(shown.status, 404, "{}", shown.body);
}

#[test]
fn the_role_of_an_application_can_do_nothing_else() {
    let stage = Stage::new();
    let gateway = stage.start(&[]);
    stage.grant();
    gateway.tenant("acme");
    let client = stage.application();
    stage.run(async {
        for sql in [
            "select * from intake",
            "insert into intake_settings values (true, '{}')",
            "select * from tenants",
            "select * from public.schema_migrations",
            "select * from gancho.schema_migrations",
            "create table gancho.intake (id int)",
        ] {
            let error = client.batch_execute(sql).await.unwrap_err();
            assert_eq!(error.code().unwrap().code(), "42501", "{sql}: {error}");
        }
        // The function does not use objects of the caller with the same names.
        let traps =
            "create temp table tenants as select gen_random_uuid() as tenant_id, 'acme' as slug,
            'unlimited' as plan, false as strict_event_types;
            create temp table intake_settings as select '{}'::jsonb as settings;
            set search_path = pg_temp, public";
        client.batch_execute(traps).await.unwrap();
        let id = publish(&client, "a.b", "{}", None).await.unwrap();
        let admin = stage.database.client().await.unwrap();
        let sql = "select t.slug from intake i join tenants t using (tenant_id)
            where intake_id_text('evt', i.id) = $1
            union select t.slug from parcels p join tenants t using (tenant_id)
            where intake_id_text('evt', p.id) = $1";
        let owner: String = admin.query_one(sql, &[&id]).await.unwrap().get(0);
        assert_eq!(owner, "acme");
    });
    drop(gateway);
}

#[test]
fn what_the_api_refuses_is_an_error_of_sql_with_its_code() {
    let stage = Stage::new();
    let gateway = stage.start(&[("GANCHO_PUBLISH_BODY_LIMIT", "2KiB")]);
    stage.grant();
    gateway.tenant("acme");
    let client = stage.application();
    let fails = |sql: &str| refusal(stage.run(client.query_one(sql, &[])));
    for (sql, code, state) in [
        ("select gancho.publish('nobody', 'a.b', '{}')", "unknown_tenant", "WH404"),
        ("select gancho.publish(null, 'a.b', '{}')", "unknown_tenant", "WH404"),
        ("select gancho.publish('acme', 'a..b', '{}')", "invalid_field", "WH422"),
        ("select gancho.publish('acme', E'a.b\\n', '{}')", "invalid_field", "WH422"),
        ("select gancho.publish('acme', repeat('a', 129), '{}')", "invalid_field", "WH422"),
        ("select gancho.publish('acme', null, '{}')", "missing_field", "WH422"),
        ("select gancho.publish('acme', 'a.b', null)", "missing_field", "WH422"),
        ("select gancho.publish('acme', 'webhook.test', '{}')", "reserved_event_type", "WH422"),
        ("select gancho.publish('acme', 'a.b', '{}', subject => '')", "invalid_field", "WH422"),
        (
            "select gancho.publish('acme', 'a.b', '{}', idempotency_key => repeat('x', 257))",
            "invalid_field",
            "WH422",
        ),
        (
            "select gancho.publish('acme', 'a.b', '{}', deliver_at => now() + interval '2 years')",
            "invalid_field",
            "WH422",
        ),
        ("select gancho.publish('acme', 'a.b', to_json(repeat('x', 3000)))", "too_large", "WH413"),
    ] {
        assert_eq!(fails(sql), (code.to_owned(), state.to_owned()), "{sql}");
    }
    let strict = gateway.operator(
        "PATCH",
        "/v1/tenants/acme",
        r#"{"strict_event_types":true,"plan":"pro"}"#,
    );
    assert_eq!(strict.status, 200, "{}", strict.body);
    assert_eq!(fails("select gancho.publish('acme', 'own.type', '{}')").0, "unknown_event_type");
    let own = gateway.acting("acme", "POST", "/v1/webhooks/events", r#"{"name":"own.type"}"#);
    assert_eq!(own.status, 201, "{}", own.body);
    assert!(stage.run(publish(&client, "own.type", "{}", None)).is_ok());
    assert!(stage.run(publish(&client, "invoice.paid", "{}", None)).is_ok(), "a built-in type");
    let spend = "insert into usage select tenant_id, to_char(now() at time zone 'UTC', 'YYYY-MM'), 10000, 0
        from tenants where slug = 'acme' on conflict (tenant_id, period) do update set used = 10000";
    stage.run(stage.admin().batch_execute(spend)).unwrap();
    assert_eq!(
        fails("select gancho.publish('acme', 'own.type', '{}')"),
        ("plan_limit".to_owned(), "WH403".to_owned())
    );
}

#[test]
fn a_key_is_accepted_once_by_sql_and_the_api_together() {
    let stage = Stage::new();
    let gateway = stage.start(&[]);
    stage.grant();
    gateway.tenant("acme");
    let client = stage.application();
    let by_api = |data: &str, key: &str| {
        let body = format!(r#"{{"type":"a.b","data":{data},"idempotency_key":"{key}"}}"#);
        gateway.acting("acme", "POST", "/v1/events", &body)
    };
    let by_sql = |data: &str, key: &str| stage.run(publish(&client, "a.b", data, Some(key)));
    // Twice in one transaction.
    stage.run(client.batch_execute("begin")).unwrap();
    let first = by_sql("{}", "k1").unwrap();
    assert_eq!(by_sql("{}", "k1").unwrap(), first);
    assert_eq!(refusal(by_sql("[]", "k1")).0, "idempotency_mismatch");
    stage.run(client.batch_execute("rollback")).unwrap();
    // Nothing has happened, so the key is free.
    let second = by_sql("[]", "k1").unwrap();
    assert_ne!(first, second);
    let is_there =
        |id: &str| gateway.acting("acme", "GET", &format!("/v1/events/{id}"), "").status == 200;
    until("it is accepted", || is_there(&second));
    assert_eq!(by_sql("[]", "k1").unwrap(), second);
    assert_eq!(refusal(by_sql("{}", "k1")).0, "idempotency_mismatch");
    let again = by_api("[]", "k1");
    assert_eq!((again.status, again.json()["id"].as_str()), (202, Some(second.as_str())));
    assert_eq!(by_api("{}", "k1").status, 422);
    // The other way round.
    let third = by_api("1", "k2").json()["id"].as_str().unwrap().to_owned();
    assert_eq!(by_sql("1", "k2").unwrap(), third);
    assert_eq!(refusal(by_sql("2", "k2")).0, "idempotency_mismatch");
}

#[test]
fn what_only_a_node_can_refuse_is_kept_and_can_be_retried() {
    let stage = Stage::new();
    let gateway = stage.start(&[]);
    stage.grant();
    let key = gateway.tenant("acme");
    let (address, seen) = receiver::start();
    gateway.endpoint(&key, &format!("http://{address}/hook"));
    let schema = r#"{"name":"own.type","schema":{"type":"object","required":["total"]}}"#;
    assert_eq!(gateway.acting("acme", "POST", "/v1/webhooks/events", schema).status, 201);
    let client = stage.application();
    let misfit = stage.run(publish(&client, "own.type", r#"{"sum":1}"#, Some("k"))).unwrap();
    let twice = stage.run(publish(&client, "a.b", r#"{"a":1,"a":2}"#, None)).unwrap();
    let good = stage.run(publish(&client, "own.type", r#"{"total":1}"#, None)).unwrap();
    until("the good one is delivered", || seen.body(&good).is_some());
    let rejected =
        || gateway.acting("acme", "GET", "/v1/rejected-events", "").json()["data"].clone();
    until("both are rejected", || rejected().as_array().unwrap().len() == 2);
    let codes: BTreeMap<String, String> = rejected()
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (row["id"].as_str().unwrap().to_owned(), row["code"].as_str().unwrap().to_owned())
        })
        .collect();
    assert_eq!(codes[&misfit], "schema_mismatch");
    assert_eq!(codes[&twice], "bad_json");
    assert!(gateway.log.lock().unwrap().contains("rejected an event that was published from SQL"));
    let metrics = gateway.operator("GET", "/metrics", "").body;
    assert!(metrics.contains(r#"gancho_intake_events{state="rejected"} 2"#), "{metrics}");
    // The key of a rejected event is free, as after a refusal by the API.
    let other = stage.run(publish(&client, "a.b", "{}", Some("k"))).unwrap();
    assert_ne!(other, misfit);

    let fixed = r#"{"schema":{"type":"object"}}"#;
    let put = gateway.acting("acme", "PUT", "/v1/webhooks/events/own.type", fixed);
    assert!(put.status < 300, "{}", put.body);
    let path = |id: &str, end: &str| format!("/v1/rejected-events/{id}{end}");
    until("the other event of the key is accepted", || {
        gateway.acting("acme", "GET", &format!("/v1/events/{other}"), "").status == 200
    });
    assert_eq!(gateway.acting("acme", "POST", &path(&misfit, "/retry"), "{}").status, 204);
    until("it is rejected for its key", || {
        rejected().as_array().unwrap().iter().any(|row| row["code"] == "idempotency_mismatch")
    });
    assert_eq!(gateway.acting("acme", "DELETE", &path(&misfit, ""), "").status, 204);
    assert_eq!(gateway.acting("acme", "DELETE", &path(&misfit, ""), "").status, 404);
    let second = stage.run(publish(&client, "own.type", r#"{"sum":2}"#, None)).unwrap();
    until("it is valid now", || seen.body(&second).is_some());
    assert_eq!(rejected().as_array().unwrap().len(), 1);

    // The dashboard shows it, with the reason; the list of events links to it as long as there is one.
    let browser = Browser::logged_in(&gateway);
    browser.open("/ui/events").has("href=\"/ui/rejected-events\"");
    browser.open("/ui/rejected-events").has(&twice).has("bad_json").has("acme");
    let deleted = browser.submit_and_follow(&format!("/ui/rejected-events/{twice}/delete"), &[]);
    deleted.has("The rejected event is deleted.").has("No event was rejected");
    browser.open("/ui/events").lacks("rejected-events");
}

#[test]
fn a_rate_limit_delays_and_rejects_nothing() {
    let stage = Stage::new();
    let gateway = stage.start(&[("GANCHO_PUBLISH_RATE", "20/1s")]);
    stage.grant();
    let key = gateway.tenant("acme");
    let (address, seen) = receiver::start();
    gateway.endpoint(&key, &format!("http://{address}/hook"));
    let client = stage.application();
    let many = "select gancho.publish('acme', 'a.b', to_json(n)) from generate_series(1, 60) n";
    let ids: Vec<String> =
        stage.run(client.query(many, &[])).unwrap().iter().map(|row| row.get(0)).collect();
    until("all are delivered", || ids.iter().all(|id| seen.body(id).is_some()));
    let rejected = gateway.acting("acme", "GET", "/v1/rejected-events", "");
    assert_eq!(rejected.json()["data"].as_array().unwrap().len(), 0);
}

/// Two nodes, one of which is killed again and again: nothing is lost, and no event is accepted twice.
#[test]
fn nothing_is_lost_or_doubled_when_nodes_are_killed() {
    let stage = Stage::new();
    let (address, seen) = receiver::start();
    {
        let gateway = stage.start(&[]);
        stage.grant();
        let key = gateway.tenant("acme");
        gateway.endpoint(&key, &format!("http://{address}/hook"));
        gateway.stop();
    }
    let living = stage.start(&[]);
    let client = stage.application();
    let mut ids = HashSet::new();
    for _ in 0..4 {
        let dying = stage.start(&[]);
        for _ in 0..10 {
            let sql =
                "select gancho.publish('acme', 'a.b', to_json(n)) from generate_series(1, 40) n";
            let found = stage.run(client.query(sql, &[])).unwrap();
            ids.extend(found.iter().map(|row| row.get::<_, String>(0)));
        }
        dying.signal("KILL");
        drop(dying);
    }
    assert_eq!(ids.len(), 1_600);
    until("all are accepted", || {
        let sql = "select count(*) from intake";
        stage.run(stage.admin().query_one(sql, &[])).unwrap().get::<_, i64>(0) == 0
    });
    let admin = stage.admin();
    let sql = "select intake_id_text('evt', id), cardinality(deliveries) from parcels where event_type = 'a.b'";
    let accepted = stage.run(admin.query(sql, &[])).unwrap();
    let accepted: Vec<(String, i32)> =
        accepted.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(accepted.len(), ids.len());
    assert!(accepted.iter().all(|(id, deliveries)| ids.contains(id) && *deliveries == 1));
    until("all are delivered", || ids.iter().all(|id| seen.body(id).is_some()));
    living.stop();
}
