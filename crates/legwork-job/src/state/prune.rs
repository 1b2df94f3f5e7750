//! Which ended jobs are too old, too many or too large to keep. Pure.
//!
//! The oldest go first, whatever the reason. A prune that nobody asked for is gentle: ext4 makes
//! files slowly for a minute or more after thousands were deleted, and a start must not pay for
//! that. What it leaves, the next one takes.

use std::time::Duration;

use crate::JobId;

/// How many jobs a gentle prune removes.
const GENTLE: usize = 128;

/// What may stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PrunePolicy {
    pub(crate) max_age: Option<Duration>,
    pub(crate) max_count: Option<usize>,
    pub(crate) max_bytes: Option<u64>,
    pub(crate) pace: Pace,
}

/// How much is removed at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Some, so that nobody notices.
    Gentle,
    /// All that may not stay.
    AtOnce,
}

impl Default for PrunePolicy {
    /// That of the automatic prune.
    fn default() -> PrunePolicy {
        PrunePolicy {
            max_age: Some(Duration::from_secs(7 * 24 * 60 * 60)),
            max_count: Some(1_000),
            max_bytes: Some(2 << 30),
            pace: Pace::Gentle,
        }
    }
}

/// A job that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Old {
    pub(crate) id: JobId,
    /// In milliseconds since 1970.
    pub(crate) ended_at: u64,
    /// On disk.
    pub(crate) bytes: u64,
}

/// The ended jobs that are to be removed, oldest first. `now` is in milliseconds since 1970; a job
/// that ended later than that, by another clock, has no age.
pub(crate) fn doomed(ended: &[Old], policy: &PrunePolicy, now: u64) -> Vec<JobId> {
    let mut newest_first = ended.to_vec();
    newest_first.sort_by_key(|old| (std::cmp::Reverse(old.ended_at), old.id));
    let mut bytes = 0u64;
    let stay = newest_first.iter().enumerate().take_while(|(newer, old)| {
        bytes = bytes.saturating_add(old.bytes);
        let age = Duration::from_millis(now.saturating_sub(old.ended_at));
        policy.max_age.is_none_or(|max| age <= max)
            && policy.max_count.is_none_or(|max| *newer < max)
            && policy.max_bytes.is_none_or(|max| bytes <= max)
    });
    let stay = stay.count();
    let oldest_first = newest_first[stay..].iter().rev().map(|old| old.id);
    match policy.pace {
        Pace::Gentle => oldest_first.take(GENTLE).collect(),
        Pace::AtOnce => oldest_first.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR: u64 = 60 * 60 * 1000;
    const NOW: u64 = 1_000_000 * HOUR;

    fn keep_all() -> PrunePolicy {
        PrunePolicy { max_age: None, max_count: None, max_bytes: None, pace: Pace::AtOnce }
    }

    /// One job for each age in hours, of ten bytes.
    fn jobs(ages: &[u64]) -> Vec<Old> {
        let old = |age: &u64| Old { id: JobId::random(), ended_at: NOW - age * HOUR, bytes: 10 };
        ages.iter().map(old).collect()
    }

    fn ids(jobs: &[Old], places: &[usize]) -> Vec<JobId> {
        places.iter().map(|place| jobs[*place].id).collect()
    }

    #[test]
    fn by_age_those_over_it_go_oldest_first() {
        let jobs = jobs(&[5, 1, 9, 3]);
        let policy = |hours| PrunePolicy {
            max_age: Some(Duration::from_millis(hours * HOUR)),
            ..keep_all()
        };
        assert_eq!(doomed(&jobs, &policy(3), NOW), ids(&jobs, &[2, 0]));
        assert_eq!(doomed(&jobs, &policy(9), NOW), []);
        assert_eq!(doomed(&jobs, &policy(0), NOW), ids(&jobs, &[2, 0, 3, 1]));
        assert_eq!(doomed(&jobs, &policy(0), 0), [], "ended in the future");
    }

    #[test]
    fn by_count_the_newest_stay() {
        let jobs = jobs(&[5, 1, 9, 3]);
        let policy = |count| PrunePolicy { max_count: Some(count), ..keep_all() };
        assert_eq!(doomed(&jobs, &policy(4), NOW), []);
        assert_eq!(doomed(&jobs, &policy(1), NOW), ids(&jobs, &[2, 0, 3]));
        assert_eq!(doomed(&jobs, &policy(0), NOW).len(), 4);
    }

    #[test]
    fn by_bytes_the_oldest_go_until_the_rest_fits() {
        let mut jobs = jobs(&[5, 1, 9, 3]);
        let policy = |bytes| PrunePolicy { max_bytes: Some(bytes), ..keep_all() };
        assert_eq!(doomed(&jobs, &policy(40), NOW), []);
        assert_eq!(doomed(&jobs, &policy(39), NOW), ids(&jobs, &[2]));
        assert_eq!(doomed(&jobs, &policy(20), NOW), ids(&jobs, &[2, 0]));
        jobs[3].bytes = u64::MAX;
        assert_eq!(doomed(&jobs, &policy(20), NOW), ids(&jobs, &[2, 0, 3]));
    }

    #[test]
    fn the_defaults_are_a_week_a_thousand_jobs_and_two_gibibytes() {
        let policy = PrunePolicy { pace: Pace::AtOnce, ..PrunePolicy::default() };
        let week = jobs(&[7 * 24, 7 * 24 + 1]);
        assert_eq!(doomed(&week, &policy, NOW), ids(&week, &[1]));
        assert_eq!(doomed(&jobs(&[1; 1_002]), &policy, NOW).len(), 2);
        let mut large = jobs(&[1, 2, 3]);
        large[0].bytes = 2 << 30;
        assert_eq!(doomed(&large, &policy, NOW), ids(&large, &[2, 1]));
    }

    #[test]
    fn what_nobody_asked_for_is_gentle_and_begins_with_the_oldest() {
        let ages: Vec<u64> = (1_000..1_200).collect();
        let jobs = jobs(&ages);
        let gone = doomed(&jobs, &PrunePolicy::default(), NOW);
        assert_eq!(gone, ids(&jobs, &(72..200).rev().collect::<Vec<_>>()));
        let all = PrunePolicy { pace: Pace::AtOnce, ..PrunePolicy::default() };
        assert_eq!(doomed(&jobs, &all, NOW).len(), 200);
    }

    proptest! {
        #[test]
        fn what_stays_is_newer_and_fits_and_no_more_is_removed_than_needed(
            jobs in prop::collection::vec((0u64..50, 0u64..100), 0..40),
            max_age in prop::option::of(0u64..50),
            max_count in prop::option::of(0usize..40),
            max_bytes in prop::option::of(0u64..2_000),
        ) {
            let jobs: Vec<Old> = jobs
                .iter()
                .map(|(age, bytes)| {
                    Old { id: JobId::random(), ended_at: NOW - age * HOUR, bytes: *bytes }
                })
                .collect();
            let max_age = max_age.map(|hours| Duration::from_millis(hours * HOUR));
            let policy = PrunePolicy { max_age, max_count, max_bytes, pace: Pace::AtOnce };
            let gone = doomed(&jobs, &policy, NOW);
            let fits = |kept: &[&Old]| {
                kept.iter().all(|old| {
                    max_age.is_none_or(|max| NOW - old.ended_at <= max.as_millis() as u64)
                }) && max_count.is_none_or(|max| kept.len() <= max)
                    && max_bytes.is_none_or(|max| kept.iter().map(|old| old.bytes).sum::<u64>() <= max)
            };
            let kept: Vec<&Old> = jobs.iter().filter(|old| !gone.contains(&old.id)).collect();
            prop_assert!(fits(&kept));
            let newest_gone = gone.last().map(|id| jobs.iter().find(|old| old.id == *id).unwrap());
            if let Some(newest) = newest_gone {
                prop_assert!(kept.iter().all(|old| old.ended_at >= newest.ended_at));
                let one_more = [&kept[..], &[newest]].concat();
                prop_assert!(!fits(&one_more));
            }
        }
    }
}
