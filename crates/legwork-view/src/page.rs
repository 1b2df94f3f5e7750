//! A page: what fits from a cursor on, nothing skipped.
//!
//! Paging is how a reader gets at what another view elided, so it cuts no line in its middle: a
//! line that is too long for a whole page goes on in the next one. Dropped stretches are passed
//! over and said.

use std::ops::Range;

use crate::compose::{Shown, compose};
use crate::diagnostics::Found;
use crate::fold::{Folding, Line, Runs, fold, fold_runs};
use crate::gap::Width;
use crate::source::{Source, Window};
use crate::summary::{everything, line_numbers};
use crate::view::{Strategy, View, incomplete_at_end, look_limit};

pub(crate) fn page<S: Source + ?Sized>(
    window: &Window<'_, S>,
    found: Option<&Found>,
    budget: usize,
    folding: Folding,
) -> View {
    if let Some(view) = everything(window, budget, folding) {
        return view;
    }
    let width = Width::for_budget(budget);
    let hole = width.longest_marker(window.range.end);
    // The marker at the end is paid for in advance.
    let mut room = budget.saturating_sub(hole);
    let mut looks = look_limit(budget);
    let mut at = window.range.start;
    let mut lines: Vec<Line> = Vec::new();
    while at < window.range.end && looks > 0 {
        let Some(kept) = window.kept_at(at) else {
            let next = window.kept.iter().find(|kept| kept.start > at);
            if room < hole {
                break;
            }
            room -= hole;
            at = next.map_or(window.range.end, |kept| kept.start);
            continue;
        };
        let range = at..kept.end.min(at.saturating_add(looks));
        looks -= range.end - range.start;
        let bytes = window.read(range.clone());
        let taken = take(&bytes, at, range.end < kept.end, room, folding);
        let full = taken.iter().map(|line| line.source.end).next_back() != Some(range.end);
        room -= taken.iter().map(Line::cost).sum::<usize>();
        at = taken.last().map_or(at, |line| line.source.end);
        let nothing_yet = lines.is_empty() && taken.is_empty();
        lines.extend(taken);
        if nothing_yet && let Some(part) = beginning(&bytes, range, room, folding) {
            at = part.source.end;
            lines.push(part);
        }
        if full {
            break;
        }
    }
    let numbers = line_numbers(window, found);
    let mut number = numbers.0.filter(|_| window.kept_at(window.range.start).is_some());
    let mut end = window.range.start;
    let shown: Vec<Shown> = lines
        .into_iter()
        .map(|line| {
            number = number.filter(|_| line.source.start == end);
            end = line.source.end;
            let shown = Shown { number, line };
            number = number.map(|number| number + shown.line.feeds);
            shown
        })
        .collect();
    let mut view = compose(window, shown, numbers, width, Strategy::Head);
    view.next = at;
    view
}

/// The whole lines that fit. `goes_on`: the bytes end before the kept range does.
fn take(bytes: &[u8], at: u64, goes_on: bool, room: usize, folding: Folding) -> Vec<Line> {
    let mut lines = fold(bytes, at, folding);
    if goes_on && lines.last().is_some_and(|line| !line.ended) {
        lines.pop();
    }
    let mut left = room;
    let fitting = lines.iter().take_while(|line| {
        let fits = line.cost() <= left;
        left = left.saturating_sub(line.cost());
        fits
    });
    let count = fitting.count();
    lines.truncate(count);
    lines
}

/// As much of a line as fits, where it is too long for a page of its own.
fn beginning(bytes: &[u8], range: Range<u64>, room: usize, folding: Folding) -> Option<Line> {
    let line_end = memchr::memchr(b'\n', bytes).unwrap_or(bytes.len());
    let mut len = line_end;
    loop {
        let mut part = &bytes[..len];
        if len < bytes.len() || range.start + (bytes.len() as u64) < range.end {
            part = &part[..len - incomplete_at_end(part)];
        }
        let line = fold_runs(part, range.start, folding, Runs::Apart).pop()?;
        if line.cost() <= room {
            return Some(line);
        }
        len = if len > room { room } else { len * 2 / 3 };
        if len == 0 {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Budget, Folding, Part, Pieces, Request, Source};
    use proptest::prelude::*;

    fn pages<S: Source + ?Sized>(source: &S, budget: usize, folding: Folding) -> Vec<String> {
        let request = Request::new().budget(Budget::Bytes(budget)).folding(folding);
        let (mut at, mut pages) = (0, Vec::new());
        while at < source.total() {
            let view = request.clone().part(Part::From(at)).view(source, None).unwrap();
            assert!(view.text.len() <= budget);
            assert!(view.next > at, "stuck at {at}");
            at = view.next;
            pages.push(view.text);
        }
        pages
    }

    fn without_markers(pages: &[String]) -> String {
        let text = pages.iter().map(|page| match page.rfind("[… ") {
            Some(marker) => &page[..marker],
            None => page,
        });
        text.collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn pages_show_every_line(lines in prop::collection::vec("[a-zäß日]{1,60}", 0..200), budget in 256usize..2000) {
            let lines: Vec<String> = lines.iter().enumerate().map(|(n, line)| format!("{n}{line}\n")).collect();
            let output = lines.concat();
            let pages = pages(output.as_bytes(), budget, Folding::Folded);
            prop_assert_eq!(without_markers(&pages), output);
        }

        #[test]
        fn any_bytes_can_be_paged_through(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(b'\r'), Just(0x1b)], 0..4000),
            budget in 256usize..600,
        ) {
            pages(&bytes[..], budget, Folding::Folded);
            pages(&bytes[..], budget, Folding::Raw);
        }
    }

    #[test]
    fn a_line_longer_than_a_page_goes_on_in_the_next() {
        let output = "ä".repeat(5000);
        let pages = pages(output.as_bytes(), 512, Folding::Folded);
        let joined: String =
            pages.iter().flat_map(|page| page.chars().filter(|c| *c == 'ä')).collect();
        assert_eq!(joined, output);
    }

    #[test]
    fn a_dropped_stretch_is_passed_over_and_said() {
        let log = Pieces::head_and_tail(b"first\n", 1000, b"last\n");
        let view = Request::new().part(Part::From(500)).view(&log, None).unwrap();
        assert_eq!(view.text, "[… 506 bytes dropped, cursor 500..1006 …]\nlast\n");
        assert_eq!((view.next, view.truncated.unwrap().omitted_bytes), (1011, 506));
    }
}
