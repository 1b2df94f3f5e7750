//! What the user's login shell would export: asked once, non-interactively, with a time limit.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::OnceLock;
use std::time::Duration;

use super::{EnvMode, Vars};
use crate::error::InvalidInput;

/// How long the shell may take; profile scripts that ask the network or a person would hang.
const LIMIT: Duration = Duration::from_secs(10);

/// Printed before the variables, since profile scripts print things of their own.
const MARK: &[u8] = b"\0legwork-login-env\0";

/// The environment of a login shell, and where it differs from the caller's.
///
/// ```
/// let login = legwork::LoginEnv::get()?;
/// assert!(login.vars().any(|(name, _)| name == "PATH"));
/// for (name, change) in login.differences() {
///     println!("{}: {:?} here, {:?} in a login shell", name.display(), change.0, change.1);
/// }
/// # Ok::<(), legwork::InvalidInput>(())
/// ```
#[derive(Debug)]
pub struct LoginEnv {
    pub(super) vars: Vars,
    shell: OsString,
}

impl LoginEnv {
    /// Asks the login shell; the answer is kept for the life of this process.
    ///
    /// # Errors
    /// Where the shell cannot be run, fails, takes longer than ten seconds, or prints no variables.
    ///
    /// ```
    /// assert!(legwork::LoginEnv::get().is_ok());
    /// ```
    pub fn get() -> Result<&'static LoginEnv, InvalidInput> {
        cached()
    }

    /// The shell that was asked.
    ///
    /// ```
    /// assert!(!legwork::LoginEnv::get().unwrap().shell().is_empty());
    /// ```
    pub fn shell(&self) -> &OsStr {
        &self.shell
    }

    /// Name and value of each variable.
    ///
    /// ```
    /// assert!(legwork::LoginEnv::get().unwrap().vars().count() > 0);
    /// ```
    pub fn vars(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.vars.iter()
    }

    /// By name, the value here and the value in a login shell, where the two differ.
    ///
    /// ```
    /// let login = legwork::LoginEnv::get().unwrap();
    /// assert!(login.differences().values().all(|(here, there)| here != there));
    /// ```
    pub fn differences(&self) -> BTreeMap<OsString, (Option<OsString>, Option<OsString>)> {
        let here = Vars::of_this_process();
        let names = here.iter().chain(self.vars.iter()).map(|(name, _)| name);
        names
            .map(|name| {
                let value = |vars: &Vars| vars.get(name).map(OsStr::to_owned);
                (name.to_owned(), (value(&here), value(&self.vars)))
            })
            .filter(|(_, (here, there))| here != there)
            .collect()
    }
}

pub(super) fn cached() -> Result<&'static LoginEnv, InvalidInput> {
    static CACHE: OnceLock<LoginEnv> = OnceLock::new();
    if let Some(login) = CACHE.get() {
        return Ok(login);
    }
    // A failure is not kept: the next call may fare better.
    let login = ask()?;
    Ok(CACHE.get_or_init(|| login))
}

fn ask() -> Result<LoginEnv, InvalidInput> {
    let own = Vars::of_this_process();
    let shell = own
        .get("SHELL")
        .filter(|shell| !shell.is_empty())
        .map_or_else(|| OsString::from("/bin/sh"), OsStr::to_owned);
    let complaint = |problem: String| {
        let hint = "check that it starts without a terminal, or use another env mode";
        InvalidInput::new("env_mode", format!("login shell {shell:?}: {problem}"), hint)
    };

    let mut command = crate::cmd([
        shell.as_os_str(),
        OsStr::new("-l"),
        OsStr::new("-c"),
        OsStr::new("printf '\\0legwork-login-env\\0'; exec env -0"),
    ])
    .env_mode(EnvMode::Empty)
    .propagate_context(false)
    .survivors(crate::Survivors::End)
    .timeout(LIMIT);
    // What a login has before the shell's own files are read.
    for name in ["HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM"] {
        if let Some(value) = own.get(name) {
            command = command.env(name, value);
        }
    }
    let outcome = command.capture().map_err(|error| complaint(error.to_string()))?;
    if !outcome.success() {
        return Err(complaint(outcome.ending.to_string()));
    }
    let printed = outcome.stdout.as_ref().map_or(&[][..], |stdout| stdout.bytes());
    let vars = parse(printed).ok_or_else(|| complaint("it printed no variables".into()))?;
    Ok(LoginEnv { vars, shell })
}

fn parse(printed: &[u8]) -> Option<Vars> {
    let at = printed.windows(MARK.len()).position(|window| window == MARK)?;
    let mut vars: Vars = printed[at + MARK.len()..]
        .split(|b| *b == 0)
        .filter_map(|entry| {
            let equals = entry.iter().position(|b| *b == b'=')?;
            let (name, value) = (&entry[..equals], &entry[equals + 1..]);
            (!name.is_empty())
                .then(|| (OsString::from_vec(name.to_vec()), OsString::from_vec(value.to_vec())))
        })
        .collect();
    // Of the shell that answered, not of a login.
    vars.retain(|name| {
        let own = crate::containment::MARKER.as_bytes();
        name != "_"
            && name != "SHLVL"
            && name != "PWD"
            && name != "OLDPWD"
            && name.as_bytes() != own
    });
    let any = vars.iter().next().is_some();
    any.then_some(vars)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_profile_scripts_print_is_passed_over() {
        let printed =
            b"welcome, A=nonsense\n\0legwork-login-env\0PATH=/bin\0X=a=b\nc\0_=/bin/env\0";
        let vars = parse(printed).unwrap();
        assert_eq!(vars, super::super::vars(&[("PATH", "/bin"), ("X", "a=b\nc")]));
        assert!(parse(b"PATH=/bin\0").is_none());
    }
}
