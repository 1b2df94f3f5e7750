//! What holds for any output and any budget.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;

use legwork_view::{Budget, Diagnostics, Folding, Part, Pieces, Request, Source, Writing};
use proptest::prelude::*;

fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => "[ -~]{0,120}\n".prop_map(String::into_bytes),
        1 => "[äß日✓🙂]{0,40}\n".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..200),
        1 => (1usize..6000).prop_map(|n| "é".repeat(n).into_bytes()),
        1 => (1usize..3000).prop_map(|n| format!("10% {n}\r20% {n}\r\x1b[2K").repeat(n % 40 + 1).into_bytes()),
        1 => (1usize..3000).prop_map(|n| b"the same line again\n".repeat(n)),
        1 => (1usize..3000).prop_map(|n| b"\n".repeat(n)),
        1 => "\x1b\\[[0-9;]{0,6}[mKA][a-z ]{0,60}\x1b\\[0m\n".prop_map(String::into_bytes),
        1 => Just(b"\x1b]0;never ended\n\x1bPnor this\n".to_vec()),
        1 => "error: [a-z ]{0,300}\n".prop_map(String::into_bytes),
        1 => "src/[a-z]{1,9}\\.c:[0-9]{1,4}:1: error: [a-z ]{0,30}\n".prop_map(String::into_bytes),
        1 => Just(b"thread 'main' panicked at src/a.rs:1:1:\nboom\n".to_vec()),
    ]
}

fn output() -> impl Strategy<Value = Vec<u8>> {
    (prop::collection::vec(piece(), 0..25), 1usize..4)
        .prop_map(|(pieces, times)| pieces.concat().repeat(times))
}

/// From 256 bytes to 1 MiB, every size of number alike.
fn budget() -> impl Strategy<Value = usize> {
    (8u32..20, any::<u32>())
        .prop_map(|(bits, low)| (1usize << bits) + (low as usize % (1usize << bits)))
        .prop_map(|budget| budget.min(1 << 20))
}

/// What is left of the output.
#[derive(Debug, Clone)]
struct Log {
    bytes: Vec<u8>,
    kept: Vec<Range<u64>>,
    looked: Cell<u64>,
}

impl Source for Log {
    fn total(&self) -> u64 {
        self.bytes.len() as u64
    }
    fn kept(&self) -> Vec<Range<u64>> {
        self.kept.clone()
    }
    fn read(&self, range: Range<u64>) -> Cow<'_, [u8]> {
        assert!(self.kept.iter().any(|kept| kept.start <= range.start && range.end <= kept.end));
        self.looked.set(self.looked.get() + range.end - range.start);
        self.bytes[range.start as usize..range.end as usize].into()
    }
}

fn log() -> impl Strategy<Value = Log> {
    (output(), prop::collection::vec((0.0..1.0f64, 0.0..1.0f64), 0..3)).prop_map(
        |(bytes, dropped)| {
            let at = |share: f64| (share * bytes.len() as f64) as u64;
            let mut dropped: Vec<(u64, u64)> =
                dropped.into_iter().map(|(a, b)| (at(a.min(b)), at(a.max(b)))).collect();
            dropped.sort_unstable();
            let mut ranges = Vec::new();
            let mut from = 0;
            for (start, end) in dropped {
                ranges.push(from..start.max(from));
                from = end.max(from);
            }
            ranges.push(from..bytes.len() as u64);
            ranges.retain(|range| !range.is_empty());
            Log { bytes, kept: ranges, looked: Cell::new(0) }
        },
    )
}

fn part() -> impl Strategy<Value = (u8, f64, f64)> {
    (0u8..6, 0.0..1.0f64, 0.0..1.0f64)
}

fn as_part((kind, a, b): (u8, f64, f64), total: usize) -> Part {
    let at = |share: f64| (share * total as f64) as u64;
    match kind {
        0 => Part::Since(at(a)),
        1 => Part::From(at(a)),
        2 => Part::Between(at(a), at(b)),
        3 => Part::Head,
        4 => Part::Tail,
        _ => Part::Whole,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn every_view_fits_and_accounts_for_every_byte(
        log in log(), budget in budget(), part in part(), raw in any::<bool>(), goes_on in any::<bool>(),
    ) {
        let found = Diagnostics::scan(&log.bytes);
        let folding = if raw { Folding::Raw } else { Folding::Folded };
        let request = Request::new().budget(Budget::Bytes(budget)).folding(folding);
        let writing = if goes_on { Writing::GoesOn } else { Writing::Ended };
        let part = as_part(part, log.bytes.len());
        let view = request.part(part).writing(writing).view(&log, Some(&found)).unwrap();
        prop_assert!(view.text.len() <= budget, "{} > {budget}", view.text.len());
        prop_assert!(log.looked.get() <= 4 * budget as u64, "looked at {} for {budget}", log.looked.get());
        let omitted: u64 = view.gaps.iter().map(|gap| gap.bytes).sum();
        prop_assert_eq!(view.truncated.map_or(0, |truncated| truncated.omitted_bytes), omitted);
        if let Some(truncated) = view.truncated {
            prop_assert_eq!(truncated.retained_bytes + omitted, truncated.original_bytes);
        }
        prop_assert!(view.gaps.is_sorted_by_key(|gap| gap.start));
        prop_assert!(view.gaps.iter().all(|gap| gap.bytes > 0 && gap.end <= log.total()));
    }

    #[test]
    fn the_end_is_never_cut(bytes in output(), budget in budget()) {
        let view = Request::new().budget(Budget::Bytes(budget)).of(&bytes).unwrap();
        // The last line as it would stand alone, and as much of its end as any budget shows.
        let body = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let last = &body[body.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1)..];
        let last = Request::new().budget(Budget::Bytes(1 << 22)).of(last).unwrap().text;
        let mut start = last.len().saturating_sub(16);
        while !last.is_char_boundary(start) {
            start += 1;
        }
        let text = view.text.trim_end_matches('\n');
        // A count of equal lines may stand below it.
        let text = match text.rfind("\n[… repeated ") {
            Some(at) if !text[at + 1..].contains('\n') => &text[..at],
            _ => text,
        };
        prop_assert!(text.ends_with(last[start..].trim_end_matches('\n')), "{:?} in {text:?}", &last[start..]);
    }

    #[test]
    fn a_diagnostic_between_is_shown(
        before in prop::collection::vec("[a-z ]{1,60}", 200..400),
        after in prop::collection::vec("[a-z ]{1,60}", 200..400),
        budget in 512usize..8192,
    ) {
        let output = format!("{}\nsrc/x.c:1:2: error: the one\n{}\n", before.join("\n"), after.join("\n"));
        let view = Request::new().budget(Budget::Bytes(budget)).of(output.as_bytes()).unwrap();
        prop_assert!(view.text.contains("\nsrc/x.c:1:2: error: the one\n"), "{}", view.text);
        prop_assert!(view.text.starts_with(&before[0][..before[0].len().min(20)]));
    }

    #[test]
    fn what_fits_comes_through(text in "([ -~äß日]{0,40}\n){0,40}[ -~]{0,9}") {
        let view = Request::new().folding(Folding::Raw).of(text.as_bytes()).unwrap();
        prop_assert_eq!(&view.text, &text);
        let exactly = Request::new().budget(Budget::Bytes(text.len())).folding(Folding::Raw).of(text.as_bytes()).unwrap();
        prop_assert_eq!(&exactly.text, &text);
        prop_assert!(exactly.truncated.is_none() && exactly.gaps.is_empty());
        // Folded, only runs of equal lines may differ.
        let lines: Vec<&str> = text.split('\n').collect();
        if lines.windows(2).all(|pair| pair[0] != pair[1]) {
            prop_assert_eq!(Request::new().of(text.as_bytes()).unwrap().text, text);
        }
    }

    #[test]
    fn budgets_below_the_smallest_hold_too(bytes in output(), budget in 0usize..256) {
        for part in [Part::Whole, Part::Head, Part::Tail] {
            let view = Request::new().budget(Budget::Bytes(budget)).part(part).of(&bytes).unwrap();
            prop_assert!(view.text.len() <= budget);
        }
    }

    #[test]
    fn a_search_fits(log in log(), budget in budget(), pattern in prop::sample::select(vec!["[a-z]", "error", "^$", "."])) {
        let request = Request::new().budget(Budget::Bytes(budget)).grep(pattern).unwrap();
        let view = request.view(&log, None).unwrap();
        prop_assert!(view.text.len() <= budget);
        let omitted: u64 = view.gaps.iter().map(|gap| gap.bytes).sum();
        prop_assert_eq!(view.truncated.map_or(0, |truncated| truncated.omitted_bytes), omitted);
    }
}

#[test]
fn diagnostics_come_in_order_with_context() {
    let mut output = String::new();
    for n in 0..3000 {
        output += &format!("compiling unit {n}\n");
        if n % 500 == 250 {
            output +=
                &format!("error[E0{n}]: number {n}\n --> src/lib.rs:{n}:1\n  |\n{n} | code\n\n");
        }
    }
    let view = Request::new().budget(Budget::Bytes(8192)).of(output.as_bytes()).unwrap();
    let mut at = 0;
    for n in [250, 750, 1250, 1750, 2250, 2750] {
        let block = format!(
            "compiling unit {n}\nerror[E0{n}]: number {n}\n --> src/lib.rs:{n}:1\n  |\n{n} | code\n"
        );
        let found = view.text.find(&block).unwrap_or_else(|| panic!("{block} in {}", view.text));
        assert!(found > at);
        at = found;
    }
}

#[test]
fn a_long_line_between_short_ones_is_cut_in_its_middle() {
    let output = format!("start\n{}\nend\n", "0123456789".repeat(1_000));
    let view = Request::new().budget(Budget::Bytes(4096)).of(output.as_bytes()).unwrap();
    assert!(view.text.starts_with("start\n0123456789"));
    assert!(view.text.ends_with("0123456789\nend\n"));
    assert!(view.text.contains(" bytes cut]…"));
    assert_eq!(view.gaps.len(), 1);
    assert_eq!(view.gaps[0].bytes, view.truncated.unwrap().omitted_bytes);
}

#[test]
fn dropped_and_elided_are_told_apart() {
    let lines: String = (0..2000).map(|n| format!("line {n}\n")).collect();
    let bytes = lines.as_bytes();
    let log = Pieces::new(bytes.len() as u64).piece(0, &bytes[..6000]).piece(9000, &bytes[9000..]);
    let found = Diagnostics::scan(bytes);
    let view = Request::new().budget(Budget::Bytes(2048)).view(&log, Some(&found)).unwrap();
    assert!(view.text.contains("..6000 and 9000.."), "{}", view.text);
    assert!(view.text.contains(", dropped 6000..9000 …]"), "{}", view.text);
}

#[test]
fn results_are_data() {
    let output = "x\ny\n".repeat(50_000);
    let view = Request::new().of(output.as_bytes()).unwrap();
    let json = serde_json::to_value(&view).unwrap();
    assert_eq!(json["truncated"]["strategy"], "head_tail");
    assert_eq!(json["truncated"]["original_bytes"], 200_000);
    assert_eq!(json["next"], 200_000);
    assert_eq!(json["gaps"][0]["absence"], "elided");
    assert_eq!(serde_json::from_value::<legwork_view::View>(json).unwrap(), view);
}

#[test]
fn context_that_is_read_and_not_shown_counts_as_well() {
    let mut output = String::new();
    for n in 0..60_000 {
        output += &format!("{}\n", n % 10);
        if n % 1000 == 0 {
            output += &format!("a.c:{n}: error: number {n}\n");
        }
    }
    let bytes = output.into_bytes();
    let kept = vec![Range { start: 0, end: bytes.len() as u64 }];
    let found = Diagnostics::scan(&bytes);
    let log = Log { bytes, kept, looked: Cell::new(0) };
    for budget in [256, 1000, 4096, 20_000, 32_768, 65_536] {
        log.looked.set(0);
        Request::new().budget(Budget::Bytes(budget)).view(&log, Some(&found)).unwrap();
        assert!(
            log.looked.get() <= 4 * budget as u64,
            "looked at {} for {budget}",
            log.looked.get()
        );
    }
}

#[test]
fn empty_lines_at_the_end_do_not_hide_the_last_word() {
    let errors: String =
        (0..500).map(|n| format!("error: number {n} of many that fill the view\n")).collect();
    let last = "finished: 499 of 500 steps done, one is left to do by hand";
    let output = format!("start\n{errors}{last}\n{}", "\n".repeat(100));
    for budget in [256, 300, 512, 1024, 4096] {
        let view = Request::new().budget(Budget::Bytes(budget)).of(output.as_bytes()).unwrap();
        assert!(view.text.contains(last), "{budget}: {}", view.text);
    }
}
