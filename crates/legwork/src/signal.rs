//! Signals as a value: a number with the name people know it by.
//!
//! Callers write `TERM`, `SIGTERM`, `15` or `terminate`; all mean one thing, and a word that
//! means nothing is an error that shows what would have been understood.

use std::fmt;
use std::str::FromStr;

use crate::error::InvalidInput;

/// A signal of this system.
///
/// ```
/// use legwork::Signal;
///
/// let signal: Signal = "term".parse()?;
/// assert_eq!(signal, Signal::TERM);
/// assert_eq!(signal.to_string(), "SIGTERM");
/// assert_eq!("9".parse::<Signal>()?, Signal::KILL);
/// assert!("TREM".parse::<Signal>().is_err());
/// # Ok::<(), legwork::InvalidInput>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Signal(i32);

macro_rules! signals {
    ($($name:ident = $number:ident),* $(,)?) => {
        impl Signal {
            $(
                #[doc = concat!("`", stringify!($number), "`")]
                pub const $name: Signal = Signal(libc::$number);
            )*
        }

        /// Every named signal, most common spelling first.
        const NAMES: &[(&str, i32)] = &[$((stringify!($name), libc::$number)),*];
    };
}

signals! {
    HUP = SIGHUP, INT = SIGINT, QUIT = SIGQUIT, ILL = SIGILL, TRAP = SIGTRAP, ABRT = SIGABRT,
    BUS = SIGBUS, FPE = SIGFPE, KILL = SIGKILL, USR1 = SIGUSR1, SEGV = SIGSEGV, USR2 = SIGUSR2,
    PIPE = SIGPIPE, ALRM = SIGALRM, TERM = SIGTERM, STKFLT = SIGSTKFLT, CHLD = SIGCHLD,
    CONT = SIGCONT, STOP = SIGSTOP, TSTP = SIGTSTP, TTIN = SIGTTIN, TTOU = SIGTTOU, URG = SIGURG,
    XCPU = SIGXCPU, XFSZ = SIGXFSZ, VTALRM = SIGVTALRM, PROF = SIGPROF, WINCH = SIGWINCH,
    IO = SIGIO, PWR = SIGPWR, SYS = SIGSYS,
}

/// Other spellings that people and other systems use.
const ALIASES: &[(&str, i32)] = &[
    ("TERMINATE", libc::SIGTERM),
    ("INTERRUPT", libc::SIGINT),
    ("POLL", libc::SIGIO),
    ("CLD", libc::SIGCHLD),
    ("IOT", libc::SIGABRT),
];

/// The largest signal number of Linux.
const LAST: i32 = 64;

impl Signal {
    /// The signal with this number, if the system has one.
    ///
    /// ```
    /// use legwork::Signal;
    /// assert_eq!(Signal::from_number(15), Some(Signal::TERM));
    /// assert_eq!(Signal::from_number(0), None);
    /// ```
    pub const fn from_number(number: i32) -> Option<Signal> {
        if number >= 1 && number <= LAST { Some(Signal(number)) } else { None }
    }

    /// Its number, as the kernel counts.
    ///
    /// ```
    /// assert_eq!(legwork::Signal::KILL.number(), 9);
    /// ```
    pub const fn number(self) -> i32 {
        self.0
    }

    /// Its name without `SIG`; real-time signals are counted from the first one.
    ///
    /// ```
    /// use legwork::Signal;
    /// assert_eq!(Signal::INT.name(), "INT");
    /// assert_eq!(Signal::from_number(36).unwrap().name(), "RTMIN+2");
    /// ```
    pub fn name(self) -> String {
        match NAMES.iter().find(|(_, number)| *number == self.0) {
            Some((name, _)) => (*name).to_owned(),
            None if self.0 == libc::SIGRTMIN() => "RTMIN".to_owned(),
            // The C library keeps a few for itself, without a name.
            None if self.0 < libc::SIGRTMIN() => self.0.to_string(),
            None => format!("RTMIN{:+}", self.0 - libc::SIGRTMIN()),
        }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SIG{}", self.name())
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Signal {
    type Err = InvalidInput;

    fn from_str(text: &str) -> Result<Signal, InvalidInput> {
        let word = text.trim().to_ascii_uppercase();
        let bare = word.strip_prefix("SIG").unwrap_or(&word);
        if let Ok(number) = bare.parse::<i32>() {
            return Signal::from_number(number).ok_or_else(|| unknown(text));
        }
        if let Some((_, number)) = NAMES.iter().chain(ALIASES).find(|(name, _)| *name == bare) {
            return Ok(Signal(*number));
        }
        real_time(bare).ok_or_else(|| unknown(text))
    }
}

fn real_time(word: &str) -> Option<Signal> {
    let (first, last) = (libc::SIGRTMIN(), libc::SIGRTMAX());
    let (base, rest) = if let Some(rest) = word.strip_prefix("RTMIN") {
        (first, rest)
    } else {
        (last, word.strip_prefix("RTMAX")?)
    };
    let offset = if rest.is_empty() { 0 } else { rest.parse::<i32>().ok()? };
    let number = base.checked_add(offset)?;
    (first..=last).contains(&number).then_some(Signal(number))
}

fn unknown(text: &str) -> InvalidInput {
    let word = text.trim().to_ascii_uppercase();
    let near = crate::near::nearest(
        word.strip_prefix("SIG").unwrap_or(&word),
        NAMES.iter().map(|(name, _)| *name),
        1,
    );
    let hint = match near.first() {
        Some(name) => format!("did you mean \"{name}\"?"),
        None => "use a name such as \"TERM\", \"INT\" or \"KILL\", or a number from 1 to 64".into(),
    };
    InvalidInput::new("signal", format!("unknown signal {text:?}"), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_survives_its_own_name() {
        for number in 1..=LAST {
            let signal = Signal::from_number(number).unwrap();
            assert_eq!(signal.name().parse::<Signal>().unwrap(), signal, "{signal}");
        }
    }

    #[test]
    fn words_of_other_places_are_understood() {
        assert_eq!("terminate".parse::<Signal>().unwrap(), Signal::TERM);
        assert_eq!("kill".parse::<Signal>().unwrap(), Signal::KILL);
        assert_eq!(" SIGint ".parse::<Signal>().unwrap(), Signal::INT);
        assert_eq!("RTMAX".parse::<Signal>().unwrap().number(), libc::SIGRTMAX());
    }

    #[test]
    fn an_unknown_word_names_the_field_and_a_near_one() {
        for text in ["", "0", "65", "-9", "999999999999", "TREM", "RTMIN+99", "SIG"] {
            let error = text.parse::<Signal>().unwrap_err();
            assert_eq!(error.field(), "signal", "{text:?}");
        }
        let error = "TREM".parse::<Signal>().unwrap_err().to_string();
        assert!(error.contains("did you mean \"TERM\"?"), "{error}");
    }
}
