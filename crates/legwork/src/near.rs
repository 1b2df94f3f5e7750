//! Near misses: which known words a mistyped one may have meant.

/// The known words closest to `word`, best first, at most `most` of them; none where the best
/// would be a guess. For messages that offer what may have been meant.
///
/// ```
/// assert_eq!(legwork::nearest("cagro", ["make", "cargo"], 1), ["cargo"]);
/// ```
pub fn nearest<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Vec<String> {
    // A third of the word may differ: one slip in a short name, three in a long one.
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    let mut found: Vec<(usize, &str)> = known
        .into_iter()
        .filter(|name| name.len().abs_diff(word.len()) <= allowed && *name != word)
        .map(|name| (strsim::osa_distance(word, name), name))
        .filter(|(distance, _)| *distance <= allowed)
        .collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(most).map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_is_found_and_a_stranger_is_not() {
        let known = ["git", "make", "cargo", "rustc"];
        assert_eq!(nearest("gti", known, 3), ["git"]);
        assert_eq!(nearest("cagro", known, 3), ["cargo"]);
        assert!(nearest("zzzzzz", known, 3).is_empty());
        assert!(nearest("git", known, 3).is_empty(), "the word itself is no near miss");
    }
}
