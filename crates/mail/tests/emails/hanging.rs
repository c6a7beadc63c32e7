//! E-mails that hang hold half of the slots at most, and what may have been accepted is never cut short.

use std::time::Duration;

use gancho_domain::{Clock, Tenant, TenantScope};
use gancho_engine::LaneSetup;
use gancho_mail::{EmailDraft, EmailStatus, SmtpTransport, smtp::SmtpSettings};
use gancho_testkit::wait_for;

use crate::{
    mail_server::{MailServer, address, mail_server},
    stage::{Setup, Stage, StoreKind, draft},
};

on_both! { those_that_hang_end_for_those_who_wait }

async fn those_that_hang_end_for_those_who_wait(on: StoreKind) {
    let server = mail_server();
    let settings = server.settings("smtp://", "plain", "?tls=none");
    let settings = SmtpSettings { deadline: Duration::from_mins(10), ..settings };
    let transport = SmtpTransport::new(settings).unwrap();
    let lane = |mut lane: LaneSetup| {
        (lane.terms.concurrency, lane.terms.rate) = (3, None);
        lane
    };
    let setup = Setup { lane, ..Setup::default() };
    let stage = Stage::with(on, std::sync::Arc::new(transport), setup).await;
    let other = Tenant::new(stage.outbox.ids.make(), "m3", stage.clock.now());
    stage.store.create_tenant(other.clone()).await.unwrap();
    let submit_other = async |draft: EmailDraft| {
        let scope = TenantScope::internal(other.id);
        stage.outbox.submit(scope, &other, draft).await.unwrap().id
    };
    // Both have proven themselves.
    let first = stage.submit(draft(&address("ana"))).await;
    stage.until(first, EmailStatus::Sent).await;
    let to = address("bia");
    submit_other(draft(&to)).await;
    server.first_mail(&to).await;

    // One tenant holds all slots: one with content that the server may have accepted, two without.
    let [accepted, tarpit, tarpit_too] = ["hang", "tarpit", "tarpit"].map(address);
    let sealed = stage.submit(draft(&accepted)).await;
    server.first_mail(&accepted).await;
    let hung = [stage.submit(draft(&tarpit)).await, stage.submit(draft(&tarpit_too)).await];
    wait_for("both in the tarpit", async || {
        (is_tarred(server, &tarpit) && is_tarred(server, &tarpit_too)).then_some(())
    })
    .await;
    let waiting = address("bia");
    submit_other(draft(&waiting)).await;
    stage.clock.advance(Duration::from_secs(11));
    // The one that has been out for longest may have been accepted, so another ends.
    server.first_mail(&waiting).await;
    let cut = wait_for("one that was cut", async || {
        for id in hung {
            let view = stage.email(id).await;
            if view.row.attempts > 0 {
                return Some(view);
            }
        }
        None
    })
    .await;
    let reason = cut.attempts[0].failure.as_ref().unwrap().reason().to_owned();
    assert!(reason.contains("did not take the e-mail in time"), "{reason}");
    assert_eq!(stage.email(sealed).await.row.attempts, 0, "its content was sent");
    assert_eq!(server.mails(&accepted).len(), 1);
}

fn is_tarred(server: &MailServer, address: &str) -> bool {
    server.told("tarpit").iter().any(|told| told["recipients"][0] == address)
}
