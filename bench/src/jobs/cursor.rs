//! Row 6: reading at a cursor costs the same, however much has been printed.
//!
//! The large log is that of a job which really prints 10 GiB under the usual limit, of which the
//! first 4 MiB and the newest 60 are kept. All places that are read show the same text.

use legwork_job::{JobId, Local, Place as _, Reading};
use legwork_view::Part;

use super::build_log::BLOCK;
use super::ground::{Ground, Supervisor};
use super::library::{for_exit, succeeded};
use super::volume::printing;
use super::{Contender, compare, timed};
use crate::Failure;
use crate::report::{Bar, Line};
use crate::rounds::Options;

const MIB: u64 = BLOCK as u64;
const GIB: u64 = 1 << 30;

/// A place in a block, behind which there is more of it than a page.
const PLACE: u64 = MIB / 4;

/// A page has at least so many bytes before its last line.
const SAME: usize = 32_000;

fn print(place: &Local, bytes: u64) -> Result<JobId, Failure> {
    let id = place.start(&printing(bytes)?)?.id;
    for waited in place.wait(&for_exit(id))? {
        succeeded(&waited.report)?;
    }
    Ok(id)
}

pub(super) fn row(ground: &Ground, options: Options) -> Result<Vec<Line>, Failure> {
    let place = ground.place("cursor", Supervisor::Legwork)?;
    let row = "6 read at a cursor";
    eprintln!("{row}: a job prints 10 GiB");
    let small = print(&place, MIB)?;
    let large = print(&place, 10 * GIB)?;
    let expected = page(&place, small, PLACE)?;
    let read = |id: JobId, cursor: u64| {
        let (seconds, shown) = timed(|| page(&place, id, cursor))?;
        if shown != expected {
            return Err("the pages differ".into());
        }
        Ok(seconds)
    };
    let in_small = || read(small, PLACE);
    let in_tail = || read(large, 10 * GIB - 10 * MIB + PLACE);
    let in_head = || read(large, MIB + PLACE);
    let bar = Bar::RatioAtMost(1.2);
    let contenders = [
        Contender::new("log of 1 MiB", &in_small),
        Contender::new("log of 10 GiB, in its tail", &in_tail).bar(bar),
        Contender::new("log of 10 GiB, in its head", &in_head).bar(bar),
    ];
    compare(row, options.rounds(400), &contenders)
}

/// The text of a page, without the line at its end that says how much more there is.
fn page(place: &Local, id: JobId, cursor: u64) -> Result<String, Failure> {
    let reading = Reading { part: Part::From(cursor), ..Reading::default() };
    let mut text = place.read(id, &reading)?.output.ok_or("there is no output")?;
    text.truncate(SAME);
    Ok(text)
}
