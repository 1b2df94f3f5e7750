//! What an agent learns about the program without running anything.

use crate::seen::legwork;

#[test]
fn every_command_is_there_with_its_examples() {
    let described = legwork(["describe"]).seen().json();
    let commands = described["commands"].as_array().unwrap();
    let names: Vec<&str> =
        commands.iter().map(|command| command["name"].as_str().unwrap()).collect();
    for name in [
        "run",
        "start",
        "output",
        "wait",
        "list",
        "signal",
        "stop",
        "input",
        "screen",
        "attach",
        "ensure",
        "prune",
        "doctor",
        "completions",
    ] {
        assert!(names.contains(&name), "{name} is missing: {names:?}");
    }
    for command in commands {
        let name = command["name"].as_str().unwrap();
        assert!(!command["when_to_use"].as_str().unwrap_or_default().is_empty(), "{name}");
        let examples = command["examples"].as_array().map_or(0, Vec::len);
        // Nobody can show an agent how to sit down at a terminal.
        assert!(examples > 0 || name == "attach", "{name} has no example");
    }
    assert!(!names.contains(&"mcp"));
}

#[test]
fn run_says_that_its_numbers_are_the_commands() {
    let schema = legwork(["run", "--schema"]).seen().json();
    assert_eq!(schema["passthrough"], true);
    let properties = &schema["returns"]["output_schema"]["properties"];
    assert!(properties["shell_code"]["type"].to_string().contains("integer"), "{properties}");
}

#[test]
fn a_schema_needs_no_arguments_and_names_every_value() {
    let schema = legwork(["list", "--schema"]).seen().json();
    let flags = schema["flags"].as_array().unwrap();
    let state = flags.iter().find(|flag| flag["name"] == "state").unwrap();
    assert!(state["enum"].as_array().unwrap().contains(&"elsewhere".into()), "{state}");
    assert_eq!(legwork(["signal", "--schema"]).seen().json()["name"], "signal");
}

/// What agents have learnt stays true. With `UPDATE_CONTRACT=1` the promise is written anew.
#[test]
fn the_contract_holds() {
    let contract = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/contract.json");
    clap_agent::testing::assert_contract(crate::seen::LEGWORK, contract);
}
