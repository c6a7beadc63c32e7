//! The e-mail outbox from submission to what a tenant is told, with a real engine on both stores, a
//! real mail server, and SES as moto plays it. Time is set by hand.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

/// Each of them on an SQLite file and on a PostgreSQL server.
macro_rules! on_both {
    ($($name:ident)*) => {
        mod sqlite {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::stage::On::Sqlite).await;
            }
        )*}
        mod postgres {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::stage::On::Postgres).await;
            }
        )*}
    };
}

mod answering;
mod expiring;
mod feedback;
mod injecting;
mod limiting;
mod looking;
mod mail_server;
mod refusing;
mod retrying;
mod sending;
mod ses;
mod stage;
mod submitting;
mod suppressing;
mod telling;
mod trusting;
