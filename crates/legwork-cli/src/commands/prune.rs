//! `legwork prune`: old jobs, gone with their logs.

use std::time::Duration;

use clap::Args;
use clap_agent::{AgentError, Example, Exit, Notes, Returns, Writer};
use legwork_job::{Place, Pruned, Pruning};

use crate::errors::told;
use crate::options::Session;
use crate::units;

pub(crate) const EXAMPLES: &str = "\
Examples:
  legwork prune --dry-run                 what would go
  legwork prune --older-than 1d --yes
  legwork prune --keep 100 --max-bytes 1GiB

Without --older-than, --keep and --max-bytes: what ended more than 7 days ago.";

/// What goes where nothing was said.
const OLD: Duration = Duration::from_secs(7 * 86_400);

pub(crate) fn notes() -> Notes {
    Notes::destructive()
        .idempotent()
        .dry_run()
        .when_to_use("the disk is full, or the list too long; running jobs are never touched")
        .returns(
            Returns::new("object", "the jobs that are gone, and how many bytes they had")
                .shape([("jobs", "array"), ("bytes", "integer")]),
        )
        .example(Example::new("legwork prune --dry-run"))
        .example(Example::new("legwork prune").says("not confirmed").exits(Exit::UserError))
}

#[derive(Debug, Args)]
pub(crate) struct Prune {
    /// Those that ended longer ago
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    older_than: Option<Duration>,
    /// All but the newest so many
    #[arg(long, value_name = "COUNT")]
    keep: Option<usize>,
    /// The oldest, until the rest takes no more
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    max_bytes: Option<u64>,
    #[command(flatten)]
    session: Session,
}

impl Prune {
    fn pruning(&self, dry_run: bool) -> Pruning {
        let nothing_said = self.keep.is_none() && self.max_bytes.is_none();
        Pruning {
            older_than: self.older_than.or(nothing_said.then_some(OLD)),
            keep: self.keep,
            max_bytes: self.max_bytes,
            session: self.session.get().map(str::to_owned),
            dry_run,
        }
    }
}

pub(crate) fn execute(args: &Prune, place: &dyn Place, out: &Writer) -> Result<Exit, AgentError> {
    let dry_run = out.is_dry_run();
    let pruned = place.prune(&args.pruning(dry_run)).map_err(told)?;
    if dry_run {
        out.plan(text(&pruned, "would be removed"), &pruned)?;
    } else {
        out.success(text(&pruned, "removed"), &pruned)?;
    }
    Ok(Exit::Ok)
}

fn text(pruned: &Pruned, verb: &str) -> String {
    match pruned.jobs.len() {
        0 => format!("nothing {verb}"),
        1 => format!("1 job {verb}, {}", units::shown_bytes(pruned.bytes)),
        many => format!("{many} jobs {verb}, {}", units::shown_bytes(pruned.bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_week_is_old_where_nothing_was_said() {
        let prune = |older_than, keep| Prune {
            older_than,
            keep,
            max_bytes: None,
            session: Session::default(),
        };
        assert_eq!(prune(None, None).pruning(false).older_than, Some(OLD));
        assert_eq!(prune(None, Some(3)).pruning(false).older_than, None);
        let day = Some(Duration::from_secs(86_400));
        assert_eq!(prune(day, None).pruning(true).older_than, day);
        assert!(prune(day, None).pruning(true).dry_run);
    }

    #[test]
    fn what_went_is_counted() {
        assert_eq!(text(&Pruned::default(), "removed"), "nothing removed");
        let one = Pruned { jobs: vec!["k3vq8m2a".parse().unwrap()], bytes: 2048 };
        assert_eq!(text(&one, "would be removed"), "1 job would be removed, 2.0 KiB");
    }
}
