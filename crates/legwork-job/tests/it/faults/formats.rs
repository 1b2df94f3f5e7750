//! What lies on disk and was not written by this legwork, or not whole: it is read where it can be,
//! reported where not, and harms nobody else.
//!
//! `data/format-1` is a state directory as the first format wrote it, with one job that has ended:
//! 192,000 bytes of output in a log of 64 KiB, among them one diagnostic that was dropped from the
//! log and kept beside it. It is never written again; a new format gets a folder of its own.

use std::fs;
use std::path::Path;
use std::time::Duration;

use legwork::Cause;
use legwork_job::{Filter, JobError, JobId, JobSpec, Place, Reading, State};

use crate::support::Jobs;

/// A copy of the checked-in state, in use.
fn old_state() -> (Jobs, JobId) {
    let jobs = Jobs::new();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/data/format-1");
    copy(&from, &jobs.state());
    (jobs, "k3vq8m2a".parse().unwrap())
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().unwrap().is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

#[test]
fn a_job_of_the_first_format_is_listed_and_read() {
    let (jobs, id) = old_state();
    let page = jobs.place.list(&Filter::default()).unwrap();
    assert!(page.unreadable.is_empty(), "{:?}", page.unreadable);
    assert_eq!(page.total, 1);
    let job = &page.jobs[0];
    assert_eq!((job.id, job.name.as_deref()), (Some(id), Some("old")));
    assert_eq!((job.state, job.exit_code), (Some(State::Ended), Some(3)));
    assert_eq!(job.ending.as_ref().unwrap().cause(), &Cause::Exited { code: 3 });
    assert_eq!(job.bytes, Some(192_000));
    assert_eq!(job.session.as_deref(), Some("ci/build-7"));
    assert_eq!(job.labels.get("part").map(String::as_str), Some("backend"));
    assert_eq!(job.intent.as_deref(), Some("to be read later"));
    assert_eq!(jobs.place.find("old", None).unwrap(), id);
    assert_eq!(jobs.place.find("k3v", None).unwrap(), id);
}

#[test]
fn the_log_of_the_first_format_is_read_to_the_byte() {
    let (jobs, id) = old_state();
    let line = |number: u64| match number {
        6_000 => "error: it broke\n".to_owned(),
        _ => format!("line {number:010}\n"),
    };
    // 64 KiB: half from the beginning, half from the end.
    for (cursor, kept) in [(0, 0..32_768), (32_768, 159_232..192_000)] {
        let piece = jobs.place.bytes(id, cursor, 1 << 20).unwrap();
        assert_eq!((piece.cursor, piece.next), (kept.start, kept.end));
        let text: String = (kept.start / 16..kept.end / 16).map(line).collect();
        assert_eq!(String::from_utf8(piece.bytes).unwrap(), text);
    }
    let report = jobs.place.read(id, &Reading::default()).unwrap();
    let output = report.output.unwrap();
    assert!(output.starts_with("line 0000000000\n") && output.ends_with("line 0000011999\n"));
    assert!(output.contains("error: it broke"), "what was found is kept, though dropped");
}

#[test]
fn a_request_and_a_name_of_the_first_format_hold() {
    let (jobs, id) = old_state();
    let mut spec = JobSpec::shell("sleep 300");
    spec.session = Some("ci/build-7".into());
    spec.request_id = Some("once".into());
    let error = jobs.place.start(&spec).unwrap_err();
    assert!(matches!(error, JobError::RequestReused { id: other, .. } if other == id), "{error}");
    // Its job has ended: the name is free.
    spec.request_id = None;
    spec.name = Some("old".into());
    let new = jobs.start(&spec);
    assert_eq!(jobs.place.find("old", None).unwrap(), new);
    let claims = super::seen::files(&jobs.state().join("names"));
    assert_eq!(claims.len(), 1, "it was taken over, not taken beside it: {claims:?}");
}

/// What is done to the folder of a job.
type Spoil = Box<dyn Fn(&Path)>;

/// Three jobs that have ended; one of them is spoilt.
fn with_a_spoilt_one(spoil: impl Fn(&Path)) -> (Jobs, JobId) {
    let jobs = Jobs::new();
    let ids = [(); 3].map(|()| jobs.finish(&JobSpec::shell("echo fine")).id.unwrap());
    testkit::wait_until("their supervisors to go", || {
        super::seen::supervisors(&jobs.state()).is_empty()
    });
    spoil(&jobs.folder(ids[1]));
    for id in [ids[0], ids[2]] {
        assert_eq!(jobs.read(id).output.as_deref(), Some("fine\n"));
    }
    (jobs, ids[1])
}

#[test]
fn a_record_from_the_future_and_a_torn_one_are_reported_and_harm_nobody() {
    let future = br#"{"v":99,"all":"different"}"#;
    let spoils: [(&str, &[u8]); 6] = [
        ("newer", future),
        ("damaged", b""),
        ("damaged", b"{\"v\":1,\"id\":\"k3v"),
        ("damaged", b"\0\0\0\0\0\0\0\0"),
        ("damaged", b"{\"v\":1}"),
        ("damaged", b"[]"),
    ];
    for (word, bytes) in spoils {
        let (jobs, id) =
            with_a_spoilt_one(|folder| fs::write(folder.join("record"), bytes).unwrap());
        let page = jobs.place.list(&Filter::default()).unwrap();
        assert_eq!((page.total, page.unreadable.len()), (2, 1));
        let told = &page.unreadable[0];
        assert!(told.contains(id.as_str()) && told.contains(word), "{told}");
        for error in [
            jobs.place.read(id, &Reading::default()).unwrap_err(),
            jobs.place.stop(id, Some(Duration::ZERO)).unwrap_err(),
        ] {
            assert!(matches!(error, JobError::BadRecord { .. }), "{error}");
        }
        assert_eq!(fs::read(jobs.folder(id).join("record")).unwrap(), bytes, "it is left alone");
    }
}

#[test]
fn a_record_of_another_job_is_reported() {
    let (jobs, id) = with_a_spoilt_one(|folder| {
        let record = fs::read_to_string(folder.join("record")).unwrap();
        let own = folder.file_name().unwrap().to_str().unwrap();
        fs::write(folder.join("record"), record.replace(own, "k3vq8m2a")).unwrap();
    });
    let page = jobs.place.list(&Filter::default()).unwrap();
    assert_eq!((page.total, page.unreadable.len()), (2, 1));
    assert!(page.unreadable[0].contains(id.as_str()), "{:?}", page.unreadable);
}

#[test]
fn a_log_that_was_cut_short_or_taken_away_is_said_and_harms_nobody() {
    let cut = |file: &'static str, length: u64| {
        move |folder: &Path| {
            fs::File::options()
                .write(true)
                .open(folder.join(file))
                .unwrap()
                .set_len(length)
                .unwrap();
        }
    };
    let spoils: [(&str, Spoil); 5] = [
        ("cut short", Box::new(cut("log", 2))),
        ("cut short", Box::new(cut("log", 0))),
        ("too short", Box::new(cut("index", 10))),
        ("no log index", Box::new(|folder| fs::write(folder.join("index"), [b'x'; 48]).unwrap())),
        ("No such file", Box::new(|folder| fs::remove_file(folder.join("log")).unwrap())),
    ];
    for (word, spoil) in spoils {
        let (jobs, id) = with_a_spoilt_one(spoil);
        let error = jobs.place.read(id, &Reading::default()).unwrap_err();
        assert!(matches!(error, JobError::Log(_)), "{error}");
        assert!(error.to_string().contains(word), "{error}");
        assert!(jobs.place.bytes(id, 0, 100).is_err());
        // What its record says can still be had.
        let page = jobs.place.list(&Filter::default()).unwrap();
        assert_eq!((page.total, page.unreadable.len()), (3, 0));
        assert!(page.jobs.iter().all(|job| job.exit_code == Some(0)));
    }
}
