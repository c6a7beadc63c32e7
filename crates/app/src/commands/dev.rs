//! `gancho dev`: everything on embedded defaults, with a first delivery to look at.

use std::{
    io::{IsTerminal, Write},
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::Context;
use bytes::Bytes;
use clap::Args;
use gancho_domain::TenantScope;
use gancho_engine::Limits;
use gancho_outbound::{NewEvent, deliver};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::task::TaskTracker;

use crate::{
    gateway::{Gateway, Setup, key_ring},
    paint::{BOLD, DIM, GREEN, RED},
    receiver::{Arrival, Receiver},
};

/// Start everything on embedded defaults and deliver a first signed event.
#[derive(Debug, Args)]
pub struct Dev {
    /// Where to keep the database and the key ring.
    #[arg(long, env = "GANCHO_DATA_DIR", default_value = ".gancho")]
    data_dir: PathBuf,
    /// Deliver the first event, then stop.
    #[arg(long)]
    once: bool,
}

impl Dev {
    pub async fn run(self) -> anyhow::Result<()> {
        let started = Instant::now();
        std::fs::create_dir_all(&self.data_dir)
            .with_context(|| format!("cannot make the folder {}", self.data_dir.display()))?;
        let database = self.data_dir.join("dev.db");
        let gateway = Gateway::start(Setup {
            database_url: &format!("sqlite:{}", database.display()),
            ring: key_ring(&self.data_dir)?,
            client: deliver::Settings::for_dev(),
            limits: Limits::default(),
            concurrency: 512,
        })
        .await?;

        let tasks = TaskTracker::new();
        let secret = gancho_wire::new_secret()?;
        let (receiver, mut arrivals) = Receiver::start(&secret, &tasks).await?;
        // The receiver's port is new each time, and so is its endpoint.
        let scope = gateway.tenant("demo").await?;
        for old in gateway.store.endpoints(scope).await? {
            gateway.store.delete_endpoint(scope, old.id).await?;
        }
        let url = format!("http://{}/webhooks", receiver.address);
        let endpoint = gateway.add_endpoint(scope, &url, &secret).await?;

        anstream::println!(
            "{BOLD}Gancho is running.{BOLD:#} {DIM}Everything is in {}{DIM:#}\n",
            database.display()
        );
        anstream::println!("  tenant    demo ({})", scope.tenant());
        anstream::println!("  endpoint  {url} ({endpoint})");
        anstream::println!("  receiver  the same address, built in: it checks every signature\n");

        publish(&gateway, scope, 1).await?;
        let first = tokio::time::timeout(Duration::from_secs(10), arrivals.recv())
            .await
            .context("nothing arrived within 10 seconds")?
            .context("the receiver has stopped")?;
        show(&first);
        anstream::println!(
            "  {DIM}first delivery {} ms after the start{DIM:#}\n",
            started.elapsed().as_millis()
        );

        if !self.once {
            converse(&gateway, scope, &receiver, arrivals).await?;
        }
        let stopped = gateway.engine.stop(Duration::from_secs(20)).await;
        anyhow::ensure!(
            stopped.unfinished == 0,
            "{} deliveries were not finished",
            stopped.unfinished
        );
        anstream::println!("Stopped; nothing was left in the air.");
        Ok(())
    }
}

async fn publish(gateway: &Gateway, scope: TenantScope, number: u64) -> anyhow::Result<()> {
    let data = format!(r#"{{"userId":"u_{number}","email":"ana@example.com"}}"#);
    let published = gateway
        .publisher
        .publish(
            scope,
            NewEvent {
                event_type: "user.created".parse()?,
                data: Bytes::from(data),
                subject: None,
                external_id: None,
                once: None,
                deliver_at: None,
                is_test: false,
            },
        )
        .await?;
    anstream::println!(
        "{BOLD}→{BOLD:#} published user.created as {}, on stable storage",
        published.id
    );
    Ok(())
}

fn show(arrival: &Arrival) {
    match arrival.refusal {
        None if arrival.answered < 300 => {
            anstream::println!(
                "{GREEN}✓{GREEN:#} {} arrived, signature verified, answered {}",
                arrival.id,
                arrival.answered
            );
        }
        None => anstream::println!(
            "{RED}✗{RED:#} {} arrived, signature verified, answered {} as asked",
            arrival.id,
            arrival.answered
        ),
        Some(why) => {
            anstream::println!("{RED}✗{RED:#} {} arrived and was not trusted: {why}", arrival.id);
        }
    }
    anstream::println!("  {DIM}{}{DIM:#}", String::from_utf8_lossy(&arrival.body));
}

const HELP: &str = "Type and press Enter:
  p     publish another event
  f     let the receiver fail the next one: it is retried by plan, 5 seconds later
  s     show what the engine has done
  q     stop (so does Ctrl-C)
";

async fn converse(
    gateway: &Gateway,
    scope: TenantScope,
    receiver: &Receiver,
    mut arrivals: UnboundedReceiver<Arrival>,
) -> anyhow::Result<()> {
    anstream::print!("{HELP}");
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let typed = std::io::stdin().is_terminal();
    let mut is_open = true;
    let mut number = 1;
    let stop = crate::lifecycle::stop_asked();
    tokio::pin!(stop);
    loop {
        if typed {
            anstream::print!("{BOLD}> {BOLD:#}");
            std::io::stdout().flush()?;
        }
        tokio::select! {
            biased;
            () = &mut stop => return Ok(()),
            fatal = gateway.engine.failed() => return Err(fatal.into()),
            arrived = arrivals.recv() => match arrived {
                Some(arrival) => show(&arrival),
                None => return Ok(()),
            },
            line = lines.next_line(), if is_open => match line?.as_deref().map(str::trim) {
                Some("p") => {
                    number += 1;
                    publish(gateway, scope, number).await?;
                }
                Some("f") => {
                    receiver.fail_next(1);
                    number += 1;
                    publish(gateway, scope, number).await?;
                }
                Some("s") => stats(gateway),
                Some("q") => return Ok(()),
                Some("") => {}
                Some(_) => anstream::print!("{HELP}"),
                // Nobody is typing: run until asked to stop.
                None => is_open = false,
            },
        }
    }
}

fn stats(gateway: &Gateway) {
    if let Some(stats) = gateway.engine.stats(gancho_domain::Lane::Webhook) {
        anstream::println!("  {stats:?}");
    }
}
