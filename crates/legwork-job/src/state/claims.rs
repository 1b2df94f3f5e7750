//! How one of many gets something that only one may have.
//!
//! A claim is a file. Whoever makes it has it: making is exclusive, and the file is whole when it
//! is seen. A claim whose job is over is stale, and so is one that is torn or not legwork's. It is
//! taken over under the folder's lock, after a second look: of two who find the same stale claim,
//! the second finds the first one's. Files are replaced and removed under that lock alone; without
//! it they are only made where there is none.
//!
//! For this to hold **a job must count as alive before it claims**: its folder made, its lock taken.
//! Otherwise a claim is stale from its first moment and the next caller takes it away.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::StateError;
use super::folder::{Content, Durability, Folder, Published};
use crate::JobId;

/// The format of a claim.
pub(super) const VERSION: u32 = 1;

/// Makes the claim, or gives what `holder` says of the one that is in force. `holder` gives nothing
/// for a claim that is stale; it is asked again under the lock.
pub(super) fn take<C: DeserializeOwned, T>(
    folder: &Folder,
    file: &str,
    claim: &impl serde::Serialize,
    holder: impl Fn(C) -> Option<T>,
) -> Result<Option<T>, StateError> {
    let content = || serde_json::to_vec(claim).map_err(|error| folder.error("write", file, error));
    let publish = || folder.publish(file, &content()?, Durability::WhenItComes);
    // Looking first is cheaper than making a file to no avail.
    match look(folder, file)? {
        Seen::Claim(claim) => {
            if let Some(holder) = holder(claim) {
                return Ok(Some(holder));
            }
        }
        Seen::Nothing => {
            if publish()? == Published::Made {
                return Ok(None);
            }
        }
        Seen::Junk => {}
    }
    let _lock = folder.lock()?;
    loop {
        match look(folder, file)? {
            Seen::Claim(claim) => {
                if let Some(holder) = holder(claim) {
                    return Ok(Some(holder));
                }
            }
            Seen::Nothing => match publish()? {
                Published::Made => return Ok(None),
                // One who needed no lock, because there was no claim.
                Published::AlreadyThere => continue,
            },
            Seen::Junk => {}
        }
        folder.replace(file, &content()?)?;
        return Ok(None);
    }
}

/// Removes the claim if it is still the one that `ours` knows.
pub(super) fn release<C: DeserializeOwned>(
    folder: &Folder,
    file: &str,
    ours: impl Fn(&C) -> bool,
) -> Result<(), StateError> {
    let is_ours = || Ok(matches!(look(folder, file)?, Seen::Claim(claim) if ours(&claim)));
    // Most often it is another's by now, or nobody's, and the lock is not needed to see that.
    if !is_ours()? {
        return Ok(());
    }
    let _lock = folder.lock()?;
    if is_ours()? { folder.remove(file) } else { Ok(()) }
}

/// The claim, where there is one that means something.
pub(super) fn find<C: DeserializeOwned>(
    folder: &Folder,
    file: &str,
) -> Result<Option<C>, StateError> {
    Ok(match look(folder, file)? {
        Seen::Claim(claim) => Some(claim),
        Seen::Nothing | Seen::Junk => None,
    })
}

/// Removes the claims of jobs that are gone. Those that mean nothing are left to whoever claims next.
pub(super) fn sweep(folder: &Folder, exists: impl Fn(&JobId) -> bool) -> Result<(), StateError> {
    #[derive(Deserialize)]
    struct Claimant {
        id: JobId,
    }
    for (file, _) in folder.entries()? {
        let Some(file) = file.to_str() else { continue };
        // One of a newer format may be in force.
        let Ok(Some(Claimant { id })) = find(folder, file) else { continue };
        if !exists(&id) {
            release(folder, file, |claimant: &Claimant| claimant.id == id)?;
        }
    }
    Ok(())
}

enum Seen<C> {
    Nothing,
    /// Torn, or not legwork's.
    Junk,
    Claim(C),
}

fn look<C: DeserializeOwned>(folder: &Folder, file: &str) -> Result<Seen<C>, StateError> {
    #[derive(Deserialize)]
    struct Versioned {
        v: u32,
    }
    let bytes = match folder.read(file)? {
        Content::Missing => return Ok(Seen::Nothing),
        Content::Foreign => return Ok(Seen::Junk),
        Content::Bytes(bytes) => bytes,
    };
    match serde_json::from_slice::<Versioned>(&bytes) {
        // It may well be in force; to take it away would make two of what must be one.
        Ok(Versioned { v }) if v > VERSION => Err(StateError::FromTheFuture {
            path: folder.path().join(file),
            found: v,
            known: VERSION,
        }),
        Ok(_) => Ok(serde_json::from_slice(&bytes).map_or(Seen::Junk, Seen::Claim)),
        Err(_) => Ok(Seen::Junk),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::directory::StateDir;
    use crate::state::folder::Kind;
    use std::fs;

    #[derive(Deserialize)]
    struct Who {
        who: String,
    }

    fn on_file(who: &str) -> String {
        format!("{{\"v\":1,\"who\":\"{who}\"}}")
    }

    /// A claim at whose writing another is quicker, after one has looked and before one has made it.
    struct Overtaken<'a> {
        folder: &'a Folder,
    }

    impl serde::Serialize for Overtaken<'_> {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            fs::write(self.folder.path().join("file"), on_file("quicker")).unwrap();
            serializer.serialize_unit()
        }
    }

    fn quicker_one_found(before: Option<&str>) -> Option<String> {
        let place = tempfile::tempdir().unwrap();
        let state = StateDir::at(place.path().join("state")).unwrap();
        let folder = state.folder(Kind::Names).unwrap();
        let file = folder.path().join("file");
        if let Some(who) = before {
            fs::write(&file, on_file(who)).unwrap();
        }
        take(&folder, "file", &Overtaken { folder: &folder }, |found: Who| {
            if found.who == "gone" {
                // The last one gives it back while we look at it.
                fs::remove_file(&file).unwrap();
                return None;
            }
            Some(found.who)
        })
        .unwrap()
    }

    #[test]
    fn one_who_is_overtaken_yields_without_the_lock() {
        assert_eq!(quicker_one_found(None).as_deref(), Some("quicker"));
    }

    #[test]
    fn one_who_is_overtaken_yields_with_the_lock() {
        assert_eq!(quicker_one_found(Some("gone")).as_deref(), Some("quicker"));
    }
}
