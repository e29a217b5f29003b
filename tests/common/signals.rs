//! Programs that are started with the default actions of signals, however the tests themselves were started: a shell ignores SIGINT
//! in what it runs in the background, and an ignored signal stays ignored.

use std::process::Command;

/// The command, to be run with the default actions of HUP, INT and TERM.
pub fn with_default_signals(mut command: Command) -> Command {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        // SAFETY: `signal` may be called between fork and exec.
        unsafe {
            command.pre_exec(|| {
                for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
                    libc::signal(signal, libc::SIG_DFL);
                }
                Ok(())
            });
        }
    }
    command
}
