//! A person's terminal on a job's terminal.

use legwork_job::{Attached, Attachment, JobError, JobSpec, Place, Writing};

use super::asking::on_terminal;
use crate::support::Jobs;

/// Reads until this has come, or the end.
fn sees(attachment: &dyn Attachment, text: &str) -> String {
    let mut seen = Vec::new();
    while let Attached::Output(bytes) = attachment.next().unwrap() {
        seen.extend(bytes);
        if String::from_utf8_lossy(&seen).contains(text) {
            break;
        }
    }
    String::from_utf8_lossy(&seen).into_owned()
}

#[test]
fn what_it_prints_is_seen_and_what_is_typed_arrives() {
    let jobs = Jobs::new();
    let id = jobs.start(&on_terminal(&["sh", "-c", "echo before; read a; echo got-$a; cat"]));
    jobs.printed(id, "before");
    let attached = jobs.place.attach(id, None).unwrap();
    assert!(sees(&*attached, "before").contains("before"), "the screen as it is");
    attached.send(b"this\r").unwrap();
    assert!(sees(&*attached, "got-this").contains("got-this"));

    attached.detach();
    sees(&*attached, "nothing of the kind");
    assert!(jobs.read(id).running, "it runs on");
    let writing = Writing { bytes: b"later\n".to_vec(), ..Writing::default() };
    jobs.place.write(id, &writing).unwrap();
    jobs.printed(id, "later\nlater");
}

#[test]
fn two_at_once_see_the_same_and_both_type() {
    let jobs = Jobs::new();
    let id = jobs.start(&on_terminal(&["sh", "-c", "while read a; do echo got-$a; done"]));
    let [one, two] = [(); 2].map(|()| jobs.again().attach(id, None).unwrap());
    one.send(b"one\r").unwrap();
    for attached in [&one, &two] {
        assert!(sees(&**attached, "got-one").contains("got-one"));
    }
    one.detach();
    two.send(b"two\r").unwrap();
    assert!(sees(&*two, "got-two").contains("got-two"));
}

#[test]
fn the_end_of_the_job_is_its_end_after_the_last_words() {
    let jobs = Jobs::new();
    let id = jobs.start(&on_terminal(&["sh", "-c", "read a; echo last words"]));
    let attached = jobs.place.attach(id, None).unwrap();
    attached.send(b"\r").unwrap();
    assert!(sees(&*attached, "no such thing").contains("last words"));
    assert_eq!(attached.next().unwrap(), Attached::End);
    let error = jobs.place.attach(id, None).err().unwrap();
    assert!(matches!(error, JobError::NothingLeft { .. }), "{error}");
}

#[test]
fn without_a_terminal_it_is_refused() {
    let jobs = Jobs::new();
    let id = jobs.start(&JobSpec::shell("sleep 300"));
    let error = jobs.place.attach(id, None).err().unwrap();
    assert!(matches!(error, JobError::NotPossible { .. }), "{error}");
}
