//! Signals: those of files (one that is truncated while it is mapped, and one that may not grow any further), and those that the caller
//! had set to be ignored.
//!
//! By default both kill the process, at once and without a word, and in a batch the other inputs with it. So the first is answered by
//! reading zeros (and the input whose file it was fails with a message, see [`crate::input::mapped`]), and the second is ignored, so
//! that writing gives an error as on a full disk.

/// Installs the handlers.
#[cfg(unix)]
pub(super) fn install() {
    // SAFETY: A `sigaction` of zeros is a valid one. The handler has the signature that SA_SIGINFO asks for, and does nothing but what
    // a handler may do. Nobody else in this process handles these signals.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_bus_error as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigemptyset(&raw mut action.sa_mask);
        // A handler that cannot be installed leaves the system's default.
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

#[cfg(not(unix))]
pub(super) fn install() {}

/// Runs `install`, which sets handlers for the signals that end a process. A signal that was ignored before stays ignored: `nohup`
/// and shells that start jobs in the background ask for that.
#[cfg(unix)]
pub(super) fn keep_ignored_signals(install: impl FnOnce()) {
    let ending = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM];
    let ignored = ending.map(|signal| {
        // SAFETY: A `sigaction` of zeros is a valid one. Without a new action the call only fills in the present one.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
        }
    });
    install();
    for (signal, _) in ending.into_iter().zip(ignored).filter(|(_, is_ignored)| *is_ignored) {
        // SAFETY: It replaces a handler by none.
        unsafe {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
}

#[cfg(not(unix))]
pub(super) fn keep_ignored_signals(install: impl FnOnce()) {
    install();
}

#[cfg(unix)]
extern "C" fn on_bus_error(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: The system gives a valid pointer to a handler with SA_SIGINFO, and SIGBUS has an address.
    let address = unsafe { (*info).si_addr() } as usize;
    #[cfg(feature = "mmap")]
    let is_replaced = crate::input::mapped::replace(address);
    #[cfg(not(feature = "mmap"))]
    let is_replaced = {
        let _ = address;
        false
    };
    if !is_replaced {
        // Something else. The instruction is tried again, and then ends the process as it would without this handler.
        // SAFETY: `signal` may be called by a handler.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
}
