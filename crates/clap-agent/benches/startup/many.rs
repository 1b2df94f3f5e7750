//! A program of 200 commands in ten groups, each with flags, notes and an output schema.

#![allow(missing_docs)]

use clap::{Arg, ArgAction, Command};
use clap_agent::{Example, Notes, Program, Returns};

#[derive(schemars::JsonSchema)]
#[allow(dead_code)]
struct Item {
    id: u32,
    title: String,
    labels: Vec<String>,
}

fn main() -> std::process::ExitCode {
    let mut root = Command::new("many").version("1.0.0").about("Two hundred commands");
    let mut notes = Vec::new();
    for group in GROUPS {
        let mut node = Command::new(*group).about("A group");
        for leaf in LEAVES {
            node = node.subcommand(
                Command::new(*leaf)
                    .about("Does one of two hundred things")
                    .arg(Arg::new("id").required(true).help("Which one"))
                    .arg(Arg::new("limit").long("limit").default_value("10").help("How many"))
                    .arg(Arg::new("status").long("status").value_parser(["open", "done"]))
                    .arg(
                        Arg::new("all")
                            .long("all")
                            .action(ArgAction::SetTrue)
                            .conflicts_with("limit"),
                    )
                    .arg(Arg::new("token").long("token").env("TOKEN").help("A token")),
            );
            notes.push((
                format!("{group} {leaf}"),
                Notes::read()
                    .when_to_use("when nothing else fits")
                    .returns(Returns::of::<Vec<Item>>("the items"))
                    .example(Example::new("many alpha one 1")),
            ));
        }
        root = root.subcommand(node);
    }
    let mut program = Program::new(root);
    for (path, notes) in notes {
        program = program.at(path, notes);
    }
    program.run_matches(|_, out| out.success("done", "done"))
}

const GROUPS: &[&str] =
    &["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"];
const LEAVES: &[&str] = &[
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
];
