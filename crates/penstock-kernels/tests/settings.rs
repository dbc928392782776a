//! A variable of the environment whose value has no effect is warned of once.

use std::process::Command;
use std::sync::Mutex;

use penstock_data::settings;
use penstock_kernels::{level, pool};

/// What this program says on the standard error stream where it runs `test` with a variable.
fn said(test: &str, name: &str, value: &str) -> String {
    let program = std::env::current_exe().expect("the file of the test");
    let out = Command::new(program).args(["--exact", test, "--ignored", "--nocapture"]).env(name, value).output();
    let out = out.expect("it runs");
    assert!(out.status.success());
    String::from_utf8(out.stderr).expect("text")
}

/// Needs every setting twice.
#[test]
#[ignore = "runs in processes of its own"]
fn settings_are_read() {
    for _ in 0..2 {
        assert!(pool::threads() > 0);
        level();
    }
}

#[test]
#[ignore = "runs in a process of its own"]
fn a_flag_is_read_twice() {
    assert_eq!([true, false].map(|default| settings::flag("PENSTOCK_TESTED", default)), [true, false]);
}

#[test]
#[ignore = "runs in a process of its own"]
fn a_listener_hears_of_a_path() {
    static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());
    settings::on_warning(|text| HEARD.lock().expect("whole").push(text.to_owned()));
    assert!(settings::path("PENSTOCK_TESTED").is_some());
    let heard = ["PENSTOCK_TESTED is '/no/where', and not the path of a file or a folder: it has no effect".to_owned()];
    assert_eq!(HEARD.lock().expect("whole")[..], heard);
}

#[test]
fn a_value_without_effect_is_warned_of_once() {
    for (test, name, wrong, wanted) in [
        ("settings_are_read", "PENSTOCK_THREADS", "many", "a positive number, such as '2'"),
        ("settings_are_read", "PENSTOCK_THREADS", "0", "a positive number, such as '2'"),
        ("settings_are_read", "PENSTOCK_SIMD", "v9", "'base', 'v3' or 'v4'"),
        ("a_flag_is_read_twice", "PENSTOCK_TESTED", "yes", "'1' or '0'"),
    ] {
        let text = format!("penstock: {name} is '{wrong}', and not {wanted}: it has no effect\n");
        assert_eq!(said(test, name, wrong), text);
    }
}

#[test]
fn a_listener_takes_the_warning() {
    assert_eq!(said("a_listener_hears_of_a_path", "PENSTOCK_TESTED", "/no/where"), "");
}

#[test]
fn nothing_is_said_of_values_that_have_an_effect() {
    for (name, right) in [("PENSTOCK_THREADS", "1"), ("PENSTOCK_SIMD", "base"), ("PENSTOCK_SIMD", "v4")] {
        assert_eq!(said("settings_are_read", name, right), "");
    }
}
