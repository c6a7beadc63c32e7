//! The keyboard of `dev`, and the deliveries that arrive meanwhile.

use std::io::{IsTerminal, Write};

use tokio::{
    io::{AsyncBufReadExt, BufReader},
    sync::mpsc::UnboundedReceiver,
};

use super::{screen, stage::Stage};
use crate::{
    paint::BOLD,
    receiver::{Arrival, Mode},
};

/// Runs until `q` is typed. Without a terminal, runs until the process is asked to stop.
pub async fn run(stage: &Stage, arrivals: &mut UnboundedReceiver<Arrival>) -> anyhow::Result<()> {
    screen::keys();
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let is_typed = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let mut is_open = true;
    let mut number = 1;
    loop {
        if is_typed {
            anstream::print!("{BOLD}>{BOLD:#} ");
            std::io::stdout().flush()?;
        }
        tokio::select! {
            biased;
            arrived = arrivals.recv() => match arrived {
                Some(arrival) => {
                    // Over the prompt.
                    if is_typed {
                        anstream::print!("\r");
                    }
                    screen::arrived(&arrival);
                }
                None => return Ok(()),
            },
            line = lines.next_line(), if is_open => match line?.as_deref().map(str::trim) {
                Some("q") => return Ok(()),
                Some("") => {}
                Some(letter) => answer(stage, letter, &mut number).await?,
                None => is_open = false,
            },
        }
    }
}

async fn answer(stage: &Stage, letter: &str, number: &mut u64) -> anyhow::Result<()> {
    let set = |mode: Mode| {
        stage.receiver.control().set(mode, None);
        screen::mode(mode);
    };
    match letter {
        "p" | "f" => {
            if letter == "f" {
                stage.receiver.control().set(Mode::Fail, Some(1));
            }
            *number += 1;
            screen::published(&stage.publish(*number).await?);
        }
        "d" => set(Mode::Fail),
        "s" => set(Mode::Slow),
        "o" => set(Mode::Ok),
        "i" => screen::figures(stage),
        _ => screen::keys(),
    }
    Ok(())
}
