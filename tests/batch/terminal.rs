//! Colour and progress are for terminals only, and nowhere else unless asked for.

use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::process::{Command, Stdio};

use super::Desk;
use super::captures::{damaged, small};

fn desk() -> Desk {
    let desk = Desk::new();
    desk.put("a.bin", &damaged(1));
    desk.put("b.bin", &small(2));
    desk.put("c.bin", b"");
    desk
}

/// A pseudo-terminal: bytes written to the second are read from the first.
fn terminal() -> (File, File) {
    use std::ptr::{null, null_mut};
    let (mut master, mut slave) = (0, 0);
    // SAFETY: both descriptors are valid places for the results, and the other pointers may be null (openpty(3)).
    let opened = unsafe { libc::openpty(&raw mut master, &raw mut slave, null_mut(), null(), null()) };
    assert_eq!(opened, 0);
    // SAFETY: they were just opened, and nobody else owns them.
    unsafe { (File::from_raw_fd(master), File::from_raw_fd(slave)) }
}

/// Removes the variables about colour from the environment of the tests; a CI's terminal has colour whatever its TERM is.
fn plain(command: &mut Command) {
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
        command.env_remove(name);
    }
    command.env("TERM", "xterm");
}

/// The output of the program on a terminal.
fn on_terminal(desk: &Desk, line: &str, variables: &[(&str, &str)]) -> String {
    let (mut master, slave) = terminal();
    let mut command = desk.command(line);
    plain(&mut command);
    let mut child = command.envs(variables.iter().copied()).stdout(Stdio::null()).stderr(slave).spawn().unwrap();
    // Or the terminal would never end.
    drop(command);
    let mut text = Vec::new();
    let mut piece = [0; 4096];
    // The end is reported as an error (EIO).
    while let Ok(len @ 1..) = master.read(&mut piece) {
        text.extend_from_slice(&piece[..len]);
    }
    child.wait().unwrap();
    String::from_utf8(text).unwrap()
}

fn piped(desk: &Desk, line: &str, variables: &[(&str, &str)]) -> String {
    let mut command = desk.command(line);
    plain(&mut command);
    String::from_utf8(command.envs(variables.iter().copied()).output().unwrap().stderr).unwrap()
}

const LINE: &str = "a.bin b.bin c.bin -o out/";

#[test]
fn colour_is_for_terminals_or_on_demand() {
    let desk = desk();
    let red = "\u{1b}[1m\u{1b}[31merror:";
    let terminal =
        |options: &str, variables: &[(&str, &str)]| on_terminal(&desk, &format!("{LINE} {options}"), variables).contains(red);
    let pipe = |options: &str, variables: &[(&str, &str)]| {
        let text = piped(&desk, &format!("{LINE} {options}"), variables);
        assert_eq!(text.contains(red), text.contains('\u{1b}'), "{text}");
        text.contains(red)
    };
    assert!(terminal("", &[]) && !pipe("", &[]));
    assert!(terminal("--color always", &[("NO_COLOR", "1")]) && pipe("--color always", &[("NO_COLOR", "1")]));
    assert!(!terminal("--color never", &[("CLICOLOR_FORCE", "1")]) && !pipe("--color never", &[("CLICOLOR_FORCE", "1")]));
    assert!(!terminal("", &[("NO_COLOR", "1")]) && !terminal("", &[("TERM", "dumb")]) && !terminal("", &[("CLICOLOR", "0")]));
    assert!(terminal("", &[("TERM", "dumb"), ("CI", "true")]) && !pipe("", &[("CI", "true")]));
    assert!(pipe("", &[("CLICOLOR_FORCE", "1")]) && !pipe("", &[("CLICOLOR_FORCE", "0")]));
    let text = piped(&desk, &format!("{LINE} --color always"), &[]);
    assert!(text.contains("\u{1b}[32mconverted\u{1b}[0m") && text.contains("\u{1b}[31mfailed\u{1b}[0m"), "{text}");
    assert!(piped(&desk, "dump --color always c.bin", &[]).contains(red));
}

#[test]
fn progress_is_for_terminals_or_on_demand() {
    let desk = desk();
    assert!(!piped(&desk, LINE, &[]).contains('%'));
    assert!(piped(&desk, &format!("{LINE} --progress always"), &[]).contains("progress: "));
    let single = piped(&desk, "b.bin -o out/ --progress always", &[]);
    assert!(single.starts_with("progress: ") && single.contains(" %"), "{single}");
    // A bar with share and files, which goes away. The rate and the time left come when they are known.
    let bar = on_terminal(&desk, &format!("{LINE} --progress always --color never"), &[]);
    assert!(bar.contains(" %, ") && bar.contains(" of 3 files  "), "{bar:?}");
    assert!(bar.contains("3 inputs: 2 converted, 1 failed"), "{bar:?}");
    assert!(!on_terminal(&desk, &format!("{LINE} --progress never"), &[]).contains('%'));
    // Short work is not worth a bar.
    assert!(!on_terminal(&desk, LINE, &[]).contains('%'));
}
