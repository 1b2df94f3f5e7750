//! The salt of a state directory: made once, by whoever comes first, and then the same for all.
//!
//! It makes the fingerprints of commands and environments useless to one who has only them. It is
//! synced when it is made, once in a state directory's life, because a salt that is lost makes every
//! running service look changed.

use rustix::rand::{GetRandomFlags, getrandom};

use super::directory::StateDir;
use super::error::StateError;
use super::folder::{Content, Durability};
use super::hash::Salt;

const FILE: &str = "salt";

impl StateDir {
    /// The salt, made where it is missing.
    pub(crate) fn salt(&self) -> Result<Salt, StateError> {
        let top = self.top()?;
        if let Content::Bytes(bytes) = top.read(FILE)? {
            return self.whole(&bytes);
        }
        let mut salt: Salt = [0; 32];
        let filled = getrandom(&mut salt, GetRandomFlags::empty())
            .map_err(|error| top.error("fill", FILE, error))?;
        self.whole(&salt[..filled])?;
        // Where another was first, theirs is the one.
        top.publish(FILE, &salt, Durability::Synced)?;
        match top.read(FILE)? {
            Content::Bytes(bytes) => self.whole(&bytes),
            Content::Missing | Content::Foreign => Err(self.no_salt()),
        }
    }

    fn whole(&self, bytes: &[u8]) -> Result<Salt, StateError> {
        bytes.try_into().map_err(|_| self.no_salt())
    }

    fn no_salt(&self) -> StateError {
        StateError::Damaged { path: self.path().join(FILE), problem: "it is no salt of 32 bytes" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn all_who_come_at_once_have_the_same_and_keep_it() {
        let place = tempfile::tempdir().unwrap();
        let mut seen = std::collections::HashSet::new();
        for round in 0..20 {
            let path = place.path().join(round.to_string());
            let state = StateDir::at(&path).unwrap();
            let salts = std::thread::scope(|scope| {
                let all = [(); 4].map(|()| scope.spawn(|| state.salt().unwrap()));
                all.map(|one| one.join().unwrap())
            });
            assert!(salts.iter().all(|salt| *salt == salts[0]));
            assert_eq!(StateDir::at(&path).unwrap().salt().unwrap(), salts[0]);
            assert_eq!(fs::metadata(path.join(FILE)).unwrap().mode() & 0o777, 0o600);
            assert_eq!(fs::read_dir(&path).unwrap().count(), 1, "nothing is left beside it");
            seen.insert(salts[0]);
        }
        assert_eq!(seen.len(), 20, "no two directories have the same");
    }

    #[test]
    fn a_damaged_one_is_told_with_the_repair() {
        let place = tempfile::tempdir().unwrap();
        let state = StateDir::at(place.path().join("state")).unwrap();
        let file = state.path().join(FILE);
        fs::write(&file, "short").unwrap();
        let error = state.salt().unwrap_err().to_string();
        assert!(error.contains(&format!("`rm {}`", file.display())), "{error}");
        fs::remove_file(&file).unwrap();
        assert!(state.salt().is_ok(), "the repair repairs");
    }
}
