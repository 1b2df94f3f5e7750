//! How fast the scanner lets output go by, and what a view costs.
//!
//! `cargo bench -p legwork-view`

use divan::counter::BytesCount;
use legwork_view::{Diagnostics, Request};

fn main() {
    divan::main();
}

const SIZE: usize = 16 << 20;

fn filled(mut line: impl FnMut(usize) -> String) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(SIZE + 4096);
    let mut n = 0;
    while bytes.len() < SIZE {
        bytes.extend_from_slice(line(n).as_bytes());
        n += 1;
    }
    bytes
}

/// A build: compiler command lines and crate names, the word `error` in one of four lines.
fn build() -> Vec<u8> {
    filled(|n| match n % 4 {
        0 => format!("cc -O2 -Wall -Werror -Iinclude -c src/part_{n}.c -o out/part_{n}.o\n"),
        1 => format!("   Compiling serde_derive v1.0.{n}\n"),
        2 => format!("[{n}/99999] Building CXX object CMakeFiles/app.dir/src/unit_{n}.cpp.o\n"),
        _ => format!("test module::tests::case_{n} ... ok\n"),
    })
}

/// Prose without any of the words.
fn prose() -> Vec<u8> {
    filled(|n| {
        format!("{n} the quick brown fox jumps over the lazy dog and then goes home again\n")
    })
}

/// Every line has the word and none means it.
fn decoys() -> Vec<u8> {
    filled(|n| format!("test handles_error_{n}_and_failed_input ... ok\n"))
}

/// Every line is a diagnostic, all of them different.
fn flood() -> Vec<u8> {
    filled(|n| format!("src/part_{n}.c:{n}:3: error: expected ';' before '}}' token\n"))
}

fn letter_soup() -> Vec<u8> {
    let mut state = 1u64;
    (0..SIZE)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            b" etaoinshrdlcumwfgypbvkjxqz\n"[(state >> 33) as usize % 28]
        })
        .collect()
}

#[divan::bench(args = ["prose", "build", "soup", "decoys", "flood"])]
fn scan(bencher: divan::Bencher<'_, '_>, kind: &str) {
    let bytes = match kind {
        "prose" => prose(),
        "build" => build(),
        "soup" => letter_soup(),
        "decoys" => decoys(),
        _ => flood(),
    };
    bencher.counter(BytesCount::new(bytes.len())).bench(|| {
        let mut diagnostics = Diagnostics::new();
        // As a supervisor reads them from a pipe.
        for (n, chunk) in bytes.chunks(64 * 1024).enumerate() {
            diagnostics.push(n as u64 * 64 * 1024, chunk);
        }
        diagnostics.count()
    });
}

#[divan::bench]
fn view_of_32_kib(bencher: divan::Bencher<'_, '_>) {
    let bytes = flood();
    let found = Diagnostics::scan(&bytes);
    let request = Request::new();
    bencher.bench(|| request.view(&bytes[..], Some(&found)));
}
