//! Compares the `--help` of every command with a page in `snapshots/` for each command.

use std::process::Command;

use crate::pipe_process::GANCHO;

/// Returns the help of a command and of all its subcommands, in the order in which they are listed.
fn pages(command: &[&str]) -> String {
    let page = help(command);
    let mut all = format!("$ gancho {} --help\n", command.join(" "));
    // These are the same for every command.
    let shared = [("Settings", &["serve"][..]), ("Server", &["tenants", "list"])];
    let found = shared.iter().find(|(heading, _)| page.contains(&format!("\n{heading}:\n")));
    match found {
        Some((heading, shown)) if command != *shown => {
            all += page.split_once(&format!("\n{heading}:\n")).unwrap().0;
            let line = format!("\n{heading}: [as for `gancho {}`]\n", shown.join(" "));
            all.push_str(&line);
        }
        _ => all += &page,
    }
    for name in subcommands(&page) {
        all += "\n";
        all += &pages(&[command, &[name]].concat());
    }
    all
}

/// Runs without variables, because the help shows those that are set.
fn help(command: &[&str]) -> String {
    let ran = Command::new(GANCHO).args(command).arg("--help").env_clear().output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

/// Returns the subcommands that a page lists, without `help`.
fn subcommands(page: &str) -> Vec<&str> {
    let listed = page.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").collect()
}

#[test]
fn the_help_of_every_command() {
    let root = help(&[]);
    let commands = subcommands(&root);
    assert!(commands.len() >= 9, "{commands:?}");
    insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("help", root);
        for command in commands {
            insta::assert_snapshot!(format!("help-{command}"), pages(&[command]));
        }
    });
}
