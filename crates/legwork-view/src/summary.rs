//! The whole of the output in one view: head, diagnostics with context, tail.
//!
//! What is sure to matter is taken first, the rest shares what is left: the last lines, the
//! first lines, the diagnostics between them, their context, then more of the end and of the
//! beginning. Every line is weighed before it is taken, and a marker is paid for with every hole,
//! so the text cannot outgrow its budget.
//!
//! Of a log that is larger than four budgets the beginning is read (one budget), the end (one
//! and a half) and the surroundings of the diagnostics (one and a quarter), and nothing else.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::compose::{Shown, compose};
use crate::diagnostics::{Diagnostic, Found};
use crate::fold::{Cut, Folding, Line, Runs, fold_runs};
use crate::gap::{Absence, Width};
use crate::recognise::Kind;
use crate::source::{Source, Window};
use crate::view::{Strategy, View, incomplete_at_end};

/// Which ends of the output are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    Both,
    Tail,
}

/// Lines of context after and before a diagnostic, at most.
const AFTER: usize = 16;
const BEFORE: usize = 4;

pub(crate) fn summary<S: Source + ?Sized>(
    window: &Window<'_, S>,
    found: Option<&Found>,
    budget: usize,
    folding: Folding,
    ends: Ends,
) -> View {
    if let Some(view) = everything(window, budget, folding) {
        return view;
    }
    let mut choice = Choice::new(window, found, budget, folding, ends);
    choice.take_ends();
    if ends == Ends::Both && choice.width != Width::Silent {
        choice.take_diagnostics(found);
    }
    choice.extend();
    choice.finish()
}

/// All of it, where that is within the budget and nothing was dropped.
pub(crate) fn everything<S: Source + ?Sized>(
    window: &Window<'_, S>,
    budget: usize,
    folding: Folding,
) -> Option<View> {
    let whole = window.kept.len() == 1 && window.kept[0] == window.range;
    let at_hand = window.range.is_empty() || (whole && window.is_cached());
    if !at_hand {
        return None;
    }
    let bytes =
        if window.range.is_empty() { [][..].into() } else { window.read(window.range.clone()) };
    let missing = window.range.end - window.range.start - bytes.len() as u64;
    let lines = fold_runs(&bytes, window.range.start, folding, runs(folding));
    // One byte less than it seems where the last line has no line feed.
    let cost: usize = lines.iter().map(Line::cost).sum();
    let unended = lines.last().is_some_and(|line| !line.ended);
    if missing > 0 || cost - usize::from(unended) > budget {
        return None;
    }
    let shown = lines.into_iter().map(|line| Shown { line, number: None });
    Some(compose(window, shown, (None, None), Width::Full, Strategy::None))
}

fn runs(folding: Folding) -> Runs {
    match folding {
        Folding::Folded => Runs::Counted,
        Folding::Raw => Runs::Apart,
    }
}

/// The lines chosen so far.
struct Choice<'a, S: Source + ?Sized> {
    window: &'a Window<'a, S>,
    budget: usize,
    folding: Folding,
    ends: Ends,
    width: Width,
    /// What one hole costs at most.
    hole: usize,
    line_limit: usize,
    /// By their first byte; never overlapping.
    chosen: BTreeMap<u64, Shown>,
    /// What they cost, and how many holes lie before, between and behind them.
    cost: usize,
    holes: usize,
    /// Lines at the beginning and at the end that are not chosen yet, nearest to the edge last.
    head: Vec<Shown>,
    tail: Vec<Shown>,
    numbers: (Option<u64>, Option<u64>),
    diagnostics_shown: bool,
    /// How many bytes may still be looked at around diagnostics.
    looks: u64,
}

impl<'a, S: Source + ?Sized> Choice<'a, S> {
    fn new(
        window: &'a Window<'a, S>,
        found: Option<&Found>,
        budget: usize,
        folding: Folding,
        ends: Ends,
    ) -> Choice<'a, S> {
        let width = Width::for_budget(budget);
        let line_limit = match width {
            Width::Silent => budget,
            _ => (budget / 8).clamp(64, 2048),
        };
        let numbers = line_numbers(window, found);
        let mut choice = Choice {
            window,
            budget,
            folding,
            ends,
            width,
            hole: width.longest_marker(window.range.end),
            line_limit,
            chosen: BTreeMap::new(),
            cost: 0,
            holes: usize::from(!window.range.is_empty()),
            head: Vec::new(),
            tail: Vec::new(),
            numbers,
            diagnostics_shown: false,
            // What the two ends leave of four budgets.
            looks: if window.is_cached() { u64::MAX } else { budget as u64 / 4 * 5 },
        };
        choice.tail = choice.lines_at_end();
        if ends == Ends::Both {
            choice.head = choice.lines_at_start();
        }
        choice
    }

    fn lines_at_start(&self) -> Vec<Shown> {
        let Some(first) = self.window.kept.first() else { return Vec::new() };
        let most = if self.window.is_cached() { u64::MAX } else { self.budget as u64 };
        let range = first.start..first.end.min(first.start.saturating_add(most));
        let mut lines = self.lines(range.clone());
        // A line that goes on behind what was looked at.
        if range.end < first.end && lines.len() > 1 && lines.last().is_some_and(|line| !line.ended)
        {
            lines.pop();
        }
        let mut number = self.numbers.0.filter(|_| first.start == self.window.range.start);
        let mut shown = Vec::with_capacity(lines.len());
        for line in lines {
            let feeds = line.feeds;
            shown.push(Shown { line, number });
            number = number.map(|number| number + feeds);
        }
        shown.reverse();
        shown
    }

    fn lines_at_end(&self) -> Vec<Shown> {
        let Some(last) = self.window.kept.last() else { return Vec::new() };
        let most = if self.window.is_cached() { u64::MAX } else { self.budget as u64 / 2 * 3 };
        let range = last.start.max(last.end.saturating_sub(most))..last.end;
        let mut lines = self.lines(range.clone());
        // A line that began before what was looked at.
        if range.start > last.start && lines.len() > 1 {
            lines.remove(0);
        }
        let mut number = self.numbers.1.filter(|_| last.end == self.window.range.end);
        let mut shown = Vec::with_capacity(lines.len());
        for line in lines.into_iter().rev() {
            number = number.and_then(|number| number.checked_sub(line.feeds));
            shown.push(Shown { line, number });
        }
        shown.reverse();
        shown
    }

    /// The lines of a range within one kept range; characters cut at its edges are left out.
    fn lines(&self, range: Range<u64>) -> Vec<Line> {
        let bytes = self.window.read(range.clone());
        let mut bytes = &bytes[..];
        let mut at = range.start;
        if at != self.window.range.start {
            let rest = bytes.iter().take(3).take_while(|b| **b & 0xc0 == 0x80).count();
            bytes = &bytes[rest..];
            at += rest as u64;
        }
        if range.end != self.window.range.end {
            bytes = &bytes[..bytes.len() - incomplete_at_end(bytes)];
        }
        let runs = if self.width == Width::Silent { Runs::Apart } else { runs(self.folding) };
        fold_runs(bytes, at, self.folding, runs)
    }

    /// The last lines (a quarter of the budget) and the first ones (an eighth), one of each at
    /// least.
    fn take_ends(&mut self) {
        let room = self.budget / 4;
        let mut taken = 0;
        let mut said_something = false;
        while let Some(mut last) = self.tail.pop() {
            last.line.shorten(self.line_limit);
            let cost = last.line.cost();
            let fits = taken + cost <= room;
            let needed = !said_something && self.cost_with(&last) <= self.budget;
            if !fits && !needed {
                self.tail.push(last);
                break;
            }
            said_something |= !last.line.text.trim().is_empty();
            taken += cost;
            self.insert(last);
        }
        let room = self.budget / 8;
        let mut taken = 0;
        while let Some(mut first) = self.head.pop() {
            first.line.shorten(self.line_limit.min(room));
            let cost = first.line.cost();
            if taken + cost > room
                || !self.is_free(&first.line.source)
                || self.cost_with(&first) > self.budget
            {
                self.head.push(first);
                break;
            }
            taken += cost;
            self.insert(first);
        }
    }

    /// Half of the budget for diagnostics: first the lines themselves, then what stands around
    /// them.
    fn take_diagnostics(&mut self, found: Option<&Found>) {
        let all: &[Diagnostic] = found.map_or(&[], |found| &found.diagnostics);
        let mut heads: Vec<usize> = Vec::new();
        for (index, diagnostic) in all.iter().enumerate() {
            let inside = diagnostic.cursor < diagnostic.end
                && diagnostic.cursor >= self.window.range.start
                && diagnostic.end <= self.window.range.end;
            if diagnostic.kind != Kind::Context
                && inside
                && self.is_free(&(diagnostic.cursor..diagnostic.end))
            {
                heads.push(index);
            }
        }
        let most = self.cost_of_all() + self.budget / 2;
        let bare = self.cost_of_all() + self.budget * 3 / 10;
        let bare_limit = if heads.len() == 1 { most } else { bare };
        let mut taken = Vec::new();
        for index in first_and_last(&heads) {
            let mut shown = as_shown(&all[index]);
            shown.line.shorten_as(self.line_limit, Cut::Late);
            let cost = self.cost_with(&shown);
            if cost > self.budget || (cost > bare_limit && !taken.is_empty()) {
                break;
            }
            if self.is_free(&shown.line.source) {
                self.insert(shown);
                taken.push(index);
            }
        }
        self.diagnostics_shown = !taken.is_empty();
        let count = taken.len();
        for (nth, index) in taken.into_iter().enumerate() {
            let room = most.min(self.budget).saturating_sub(self.cost_of_all());
            self.take_context(all, index, room / (count - nth));
        }
    }

    fn take_context(&mut self, all: &[Diagnostic], index: usize, room: usize) {
        let diagnostic = &all[index];
        let around = self.read_around(diagnostic, room);
        let (before, after) = if around.is_empty() {
            // Gone from the log; some lines were kept with it.
            let kept = all[index + 1..].iter().take_while(|next| next.kind == Kind::Context);
            (Vec::new(), kept.map(as_shown).collect())
        } else {
            let mut before = around;
            let own = before.partition_point(|shown| shown.line.source.start < diagnostic.cursor);
            let mut after = before.split_off(own);
            self.replace(diagnostic, &mut before, &mut after);
            (before, after)
        };
        let limit = self.cost_of_all() + room;
        let mut end = self.end_at(diagnostic.cursor).unwrap_or(diagnostic.end);
        for shown in after.into_iter().take(AFTER) {
            match self.grow(shown, limit, |source| source.start == end) {
                Ok(source) => end = source.end,
                Err(_) => break,
            }
        }
        let mut start = self.start_at(diagnostic.cursor).unwrap_or(diagnostic.cursor);
        for shown in before.into_iter().rev().take(BEFORE) {
            match self.grow(shown, limit, |source| source.end == start) {
                Ok(source) => start = source.start,
                Err(_) => break,
            }
        }
    }

    /// Adds a line that touches what is chosen, or passes over it where it is shown already.
    /// Given back where it does not touch, or there is no room.
    fn grow(
        &mut self,
        mut shown: Shown,
        limit: usize,
        touches: impl Fn(&Range<u64>) -> bool,
    ) -> Result<Range<u64>, Shown> {
        let source = shown.line.source.clone();
        if !touches(&source) {
            return Err(shown);
        }
        if !self.is_free(&source) {
            return if self.is_covered(&source) { Ok(source) } else { Err(shown) };
        }
        shown.line.shorten_as(self.line_limit, Cut::Late);
        if self.cost_with(&shown) > limit.min(self.budget) {
            return Err(shown);
        }
        self.insert(shown);
        Ok(source)
    }

    /// The line of a diagnostic as the log has it, in place of the one that was kept: it may be
    /// longer, or a run of equal ones.
    fn replace(
        &mut self,
        diagnostic: &Diagnostic,
        before: &mut Vec<Shown>,
        after: &mut Vec<Shown>,
    ) {
        let own = match after.first() {
            Some(first) if first.line.source.start == diagnostic.cursor => after.remove(0),
            // It is within a run that began earlier.
            _ => match before.pop() {
                Some(run) if run.line.source.end >= diagnostic.end => run,
                _ => return,
            },
        };
        let Some(kept) = self.remove(diagnostic.cursor) else { return };
        let mut own = own;
        own.line.shorten_as(self.line_limit, Cut::Late);
        let fits = own.line.source.end >= diagnostic.end
            && self.is_free(&own.line.source)
            && self.cost_with(&own) <= self.budget;
        self.insert(if fits { own } else { kept });
    }

    /// What the log still has around a diagnostic, as whole lines.
    fn read_around(&mut self, diagnostic: &Diagnostic, room: usize) -> Vec<Shown> {
        let Some(kept) = self.window.kept_at(diagnostic.cursor) else { return Vec::new() };
        let (back, ahead) = ((room / 4).min(1024) as u64, room.min(8192) as u64);
        let start = kept.start.max(diagnostic.cursor.saturating_sub(back));
        let end = kept.end.min(diagnostic.end.min(diagnostic.cursor + ahead).saturating_add(ahead));
        let Some(looks) = self.looks.checked_sub(end - start) else { return Vec::new() };
        self.looks = looks;
        let bytes = self.window.read(start..end);
        let own = usize::try_from(diagnostic.cursor - start).unwrap_or(0);
        let Some(before) = bytes.get(..own) else { return Vec::new() };
        let from = match memchr::memchr(b'\n', before) {
            _ if start == self.window.range.start => 0,
            Some(feed) => feed + 1,
            None => own,
        };
        let to = if end == self.window.range.end {
            bytes.len()
        } else {
            memchr::memrchr(b'\n', &bytes).map_or(0, |feed| feed + 1)
        };
        let Some(whole) = bytes.get(from..to) else { return Vec::new() };
        let feeds = memchr::memchr_iter(b'\n', &bytes[from..own]).count() as u64;
        let mut number = diagnostic.line.checked_sub(feeds);
        let mut shown = Vec::new();
        for line in fold_runs(whole, start + from as u64, self.folding, runs(self.folding)) {
            let feeds = line.feeds;
            shown.push(Shown { line, number });
            number = number.map(|number| number + feeds);
        }
        shown
    }

    /// Spends what is left: two thirds on the end, then the beginning, then the end again.
    fn extend(&mut self) {
        let left = self.budget.saturating_sub(self.cost_of_all());
        self.extend_tail(self.budget - left / 3);
        self.extend_head();
        self.extend_tail(self.budget);
    }

    // Both ends are unbroken runs of lines, so that growing them adds no hole.

    fn extend_tail(&mut self, limit: usize) {
        while let Some(last) = self.tail.pop() {
            if let Err(last) = self.grow(last, limit, |_| true) {
                self.tail.push(last);
                return;
            }
        }
    }

    fn extend_head(&mut self) {
        while let Some(first) = self.head.pop() {
            if let Err(first) = self.grow(first, self.budget, |_| true) {
                self.head.push(first);
                return;
            }
        }
    }

    fn finish(self) -> View {
        let strategy = match (self.ends, self.diagnostics_shown) {
            _ if self.width == Width::Silent => Strategy::Tail,
            (Ends::Tail, _) => Strategy::Tail,
            (Ends::Both, true) => Strategy::HeadDiagnosticsTail,
            (Ends::Both, false) => Strategy::HeadTail,
        };
        let mut view =
            compose(self.window, self.chosen.into_values(), self.numbers, self.width, strategy);
        let all_dropped = view.gaps.iter().all(|gap| gap.absence == Absence::Dropped);
        if let Some(truncated) = view.truncated.as_mut().filter(|_| all_dropped) {
            truncated.strategy = Strategy::None;
        }
        view
    }

    // The ledger.

    fn insert(&mut self, shown: Shown) {
        self.cost += shown.line.cost();
        self.holes = self.holes + self.holes_left_by(&shown.line.source) - 1;
        self.chosen.insert(shown.line.source.start, shown);
    }

    fn remove(&mut self, start: u64) -> Option<Shown> {
        let shown = self.chosen.remove(&start)?;
        self.cost -= shown.line.cost();
        self.holes = self.holes + 1 - self.holes_left_by(&shown.line.source);
        Some(shown)
    }

    /// How many holes remain of the one that a free range lies in.
    fn holes_left_by(&self, source: &Range<u64>) -> usize {
        let before = self.chosen.range(..source.start).next_back();
        let before = before.map_or(self.window.range.start, |(_, shown)| shown.line.source.end);
        let after = self.chosen.range(source.end..).next();
        let after = after.map_or(self.window.range.end, |(start, _)| *start);
        usize::from(before < source.start) + usize::from(source.end < after)
    }

    fn cost_of_all(&self) -> usize {
        self.cost + self.holes * self.hole
    }

    /// What all would cost with one more line.
    fn cost_with(&self, shown: &Shown) -> usize {
        let holes = self.holes + self.holes_left_by(&shown.line.source) - 1;
        self.cost + shown.line.cost() + holes * self.hole
    }

    fn is_free(&self, source: &Range<u64>) -> bool {
        self.chosen
            .range(..source.end)
            .next_back()
            .is_none_or(|(_, last)| last.line.source.end <= source.start)
    }

    /// Whether every byte of it is shown by lines already chosen.
    fn is_covered(&self, source: &Range<u64>) -> bool {
        let mut at = source.start;
        while at < source.end {
            match self.end_at(at) {
                Some(end) if end > at => at = end,
                _ => return false,
            }
        }
        at == source.end
    }

    fn line_at(&self, cursor: u64) -> Option<&Shown> {
        let (_, shown) = self.chosen.range(..=cursor).next_back()?;
        shown.line.source.contains(&cursor).then_some(shown)
    }

    fn end_at(&self, cursor: u64) -> Option<u64> {
        self.line_at(cursor).map(|shown| shown.line.source.end)
    }

    fn start_at(&self, cursor: u64) -> Option<u64> {
        self.line_at(cursor).map(|shown| shown.line.source.start)
    }
}

/// The line feeds before the start and before the end of the window.
pub(crate) fn line_numbers<S: Source + ?Sized>(
    window: &Window<'_, S>,
    found: Option<&Found>,
) -> (Option<u64>, Option<u64>) {
    let start = (window.range.start == 0).then_some(0);
    let end = found.filter(|found| found.scanned == window.range.end).map(|found| found.lines);
    let whole = window.is_cached() && window.kept.len() == 1 && window.kept[0] == window.range;
    if !whole {
        return (start, end);
    }
    let feeds = memchr::memchr_iter(b'\n', &window.read(window.range.clone())).count() as u64;
    let from_end = end.and_then(|end| end.checked_sub(feeds));
    (start.or(from_end), end.or(start.map(|start| start + feeds)))
}

fn as_shown(diagnostic: &Diagnostic) -> Shown {
    let source = diagnostic.cursor..diagnostic.end;
    let cut = if diagnostic.is_cut() {
        (source.end - source.start).saturating_sub(diagnostic.text.len() as u64)
    } else {
        0
    };
    let line =
        Line { text: diagnostic.text.clone(), source, feeds: 1, ended: true, cut, tight: false };
    Shown { line, number: Some(diagnostic.line) }
}

/// The order in which diagnostics are taken: three from the beginning, where the cause is, for
/// one from the end, where the result is.
fn first_and_last(all: &[usize]) -> Vec<usize> {
    let mut rest = all;
    let mut order = Vec::with_capacity(all.len());
    while let [first, more @ ..] = rest {
        if order.len() % 4 == 3
            && let [most @ .., last] = rest
        {
            order.push(*last);
            rest = most;
        } else {
            order.push(*first);
            rest = more;
        }
    }
    order
}
