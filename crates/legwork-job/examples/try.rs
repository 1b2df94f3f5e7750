use legwork_job::*;
use std::time::Duration;
fn main() {
    supervise_if_asked();
    let jobs = Local::from_env().unwrap();
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args[0].as_str() {
        "run" => {
            let r = jobs.execute(&JobSpec::shell(args[1].clone()), Duration::from_secs_f64(args[2].parse().unwrap()), OnTimeout::Background, &Reading::default());
            match r { Ok(r) => println!("{}", serde_json::to_string_pretty(&r).unwrap()), Err(e) => println!("ERR {e}") }
        }
        "list" => println!("{}", serde_json::to_string_pretty(&jobs.list(&Filter{look:true,..Default::default()}).unwrap()).unwrap()),
        "out" => println!("{}", serde_json::to_string_pretty(&jobs.read(jobs.find(&args[1],None).unwrap(), &Reading{look:true,..Default::default()}).unwrap()).unwrap()),
        "stop" => println!("{:?}", jobs.stop(jobs.find(&args[1],None).unwrap(), None).map(|r| r.ending)),
        "bench" => { for _ in 0..args[1].parse().unwrap() { jobs.execute(&JobSpec::argv(["/bin/true"]), Duration::from_secs(5), OnTimeout::Background, &Reading::default()).unwrap(); } }
        _ => {}
    }
}
