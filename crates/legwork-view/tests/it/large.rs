//! The case the crate exists for.

use std::borrow::Cow;
use std::cell::Cell;
use std::io::Write;
use std::ops::Range;

use legwork_view::{Absence, Budget, Diagnostics, Found, Part, Pieces, Request, Source, Strategy};

const MIB: usize = 1 << 20;

/// A build log of 200 MB whose one error stands in the middle, seen as it was written; of the
/// log itself only the first 4 MiB and the newest 60 MiB are left.
struct Build {
    total: u64,
    lines: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
    found: Found,
}

fn build() -> Build {
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    let mut diagnostics = Diagnostics::new();
    let (mut total, mut lines, mut step) = (0u64, 0u64, 0u64);
    let mut error_is_in = false;
    while total < 200_000_000 {
        let mut chunk = Vec::with_capacity(65 * 1024);
        while chunk.len() < 64 * 1024 {
            // Some lines have the word, as builds do.
            let option = if step.is_multiple_of(8) { "-Werror" } else { "-Wextra" };
            writeln!(
                chunk,
                "[{step}] cc -O2 -Wall {option} -Iinclude -c src/part_{step}/unit.c -o out/{step}.o"
            )
            .unwrap();
            step += 1;
            lines += 1;
        }
        if !error_is_in && total > 100_000_000 {
            error_is_in = true;
            chunk.extend(b"src/part_7/main.c:41:13: error: 'frobnicate' undeclared (first use in this function)\n   41 |     x = frobnicate(3);\n      |         ^~~~~~~~~~\n");
            lines += 3;
        }
        diagnostics.push(total, &chunk);
        total += chunk.len() as u64;
        if head.len() < 4 * MIB {
            let room = 4 * MIB - head.len();
            head.extend_from_slice(&chunk[..chunk.len().min(room)]);
        }
        tail.extend_from_slice(&chunk);
        if tail.len() > 120 * MIB {
            tail.drain(..tail.len() - 60 * MIB);
        }
    }
    let last = b"make: finished with complaints, see above";
    diagnostics.push(total, last);
    tail.extend_from_slice(last);
    total += last.len() as u64;
    tail.drain(..tail.len() - 60 * MIB);
    Build { total, lines, head, tail, found: diagnostics.found() }
}

struct Counted<'a>(Pieces<'a>, Cell<u64>);

impl Source for Counted<'_> {
    fn total(&self) -> u64 {
        self.0.total()
    }
    fn kept(&self) -> Vec<Range<u64>> {
        self.0.kept()
    }
    fn read(&self, range: Range<u64>) -> Cow<'_, [u8]> {
        self.1.set(self.1.get() + (range.end - range.start));
        self.0.read(range)
    }
}

#[test]
fn one_error_in_the_middle_of_200_mb_is_in_the_view() {
    let build = build();
    assert!(build.total > 200_000_000);
    assert_eq!(build.found.lines, build.lines);
    let errors = build.found.diagnostics.iter().filter(|found| found.text.contains("error:"));
    assert_eq!(errors.count(), 1);
    let omitted = build.total - (build.head.len() + build.tail.len()) as u64;
    let log = Counted(Pieces::head_and_tail(&build.head, omitted, &build.tail), Cell::new(0));

    let view = Request::new().view(&log, Some(&build.found)).unwrap();

    assert!(view.text.len() <= 32_768, "{}", view.text.len());
    assert!(view.text.len() > 30_000, "{}", view.text.len());
    assert!(view.text.starts_with("[0] cc -O2 "));
    assert!(view.text.contains("\nsrc/part_7/main.c:41:13: error: 'frobnicate' undeclared"));
    assert!(view.text.contains("\n   41 |     x = frobnicate(3);\n"));
    assert!(view.text.ends_with("\nmake: finished with complaints, see above"));
    assert!(log.1.get() <= 4 * 32_768, "looked at {} bytes", log.1.get());

    let truncated = view.truncated.unwrap();
    assert_eq!(truncated.strategy, Strategy::HeadDiagnosticsTail);
    assert_eq!(truncated.original_bytes, build.total);
    assert_eq!(truncated.retained_bytes + truncated.omitted_bytes, build.total);
    assert_eq!(view.gaps.iter().map(|gap| gap.bytes).sum::<u64>(), truncated.omitted_bytes);
    let dropped: u64 =
        view.gaps.iter().filter(|gap| gap.absence == Absence::Dropped).map(|gap| gap.bytes).sum();
    assert!(dropped <= omitted && omitted - dropped < 1000);

    // The markers account for every line that is not shown.
    let markers: Vec<&str> = view.text.lines().filter(|line| line.starts_with("[… ")).collect();
    assert_eq!(markers.len(), 2, "{markers:#?}");
    let said: u64 = markers
        .iter()
        .map(|marker| {
            let before = marker.split(" lines").next().unwrap();
            before.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
        })
        .sum();
    let shown = view.text.lines().count() as u64 - 2 - 1;
    assert_eq!(said + shown, build.lines);
    println!("{}", markers.join("\n"));

    for budget in [256, 300, 512, 1023, 1024, 4096, 100_000, MIB] {
        log.1.set(0);
        let view =
            Request::new().budget(Budget::Bytes(budget)).view(&log, Some(&build.found)).unwrap();
        assert!(view.text.len() <= budget);
        assert!(view.text.starts_with("[0] cc"), "{budget}: {}", view.text);
        assert!(view.text.ends_with("complaints, see above"), "{budget}: {}", view.text);
        assert!(view.text.contains("41:13: error"), "{budget}: {}", view.text);
        assert!(log.1.get() <= 4 * budget as u64);
    }

    // Reading at a cursor costs the same anywhere.
    for cursor in [0, 4_000_000, 100_000_000, build.total - 3_000_000, build.total] {
        log.1.set(0);
        let view = Request::new().part(Part::From(cursor)).view(&log, Some(&build.found)).unwrap();
        assert!(view.text.len() <= 32_768 && log.1.get() <= 4 * 32_768);
        assert!(view.next > cursor || cursor == build.total);
    }
}
