//! The e-mail outbox, from the submission to the tenant's events: with a real engine on both stores, a real
//! mail server, and moto as SES. The clock is manual.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

/// Runs each test on an SQLite file and on a PostgreSQL server.
macro_rules! on_both {
    ($($name:ident)*) => {
        mod sqlite {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(gancho_testkit::stores::StoreKind::Sqlite).await;
            }
        )*}
        mod postgres {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(gancho_testkit::stores::StoreKind::Postgres).await;
            }
        )*}
    };
}

mod emails {
    mod expire;
    mod hanging;
    mod limits;
    mod list;
    mod notices;
    mod retry;
    mod send;
    mod submit;
}
mod mail_server;
mod ses {
    mod feedback;
    mod send;
}
mod smtp {
    mod injection;
    mod refusals;
    mod replies;
    mod tls;
}
mod stage;
mod suppressions {
    mod suppress;
}
