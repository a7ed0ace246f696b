//! A writer is killed 25 times, at whatever it does then: what it had told of is there, nothing is there twice.
#![allow(clippy::unwrap_used, reason = "a test says by its panic what went wrong")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use log::{Body, Entry, Kind, Log};

const FOLDER: &str = "TICKFRAME_LOG_TO_WRITE";

/// The state after batch `number`: for each of five keys the last batch that wrote it.
fn state(number: u64) -> Vec<u8> {
    (0..5).flat_map(|key| (0..=number).rev().find(|batch| batch % 5 == key).unwrap_or(u64::MAX).to_le_bytes()).collect()
}

/// Appends batches, one or three at a time, and all there is after some: as a record, or as a base that another thread
/// writes meanwhile. It tells of each when it is durable.
fn write(folder: &Path) -> ! {
    let mut log = Log::open(folder).expect("nobody else is alive");
    let mut writer = None;
    loop {
        let number = log.last().map_or(0, |last| last + 1);
        let some = 1 + number % 2 * 2;
        let batches: Vec<_> =
            (number..number + some).map(|number| (number, format!("offsets {number}"), number.to_le_bytes())).collect();
        let entries: Vec<Entry<'_>> = batches
            .iter()
            .map(|(number, note, body)| Entry { number: *number, kind: Kind::Change, note, body: Body::Whole(body) })
            .collect();
        log.append_all(&entries).expect("room on the disk");
        let number = number + some - 1;
        if log.len() >= 16 {
            log.append(number, Kind::Whole, &format!("offsets {number}"), &state(number)).expect("room on the disk");
        }
        if writer.as_ref().is_some_and(std::thread::JoinHandle::is_finished) {
            let base = writer.take().map(|writer: std::thread::JoinHandle<_>| writer.join());
            base.into_iter().for_each(|base| log.adopt(base.expect("it wrote")).expect("it is this log's"));
        }
        if writer.is_none() {
            let mut base = log.begin_base(Some(number)).expect("nobody else writes one");
            writer = Some(std::thread::spawn(move || {
                for word in state(number).chunks(8) {
                    base.push("a key", &[word]).expect("room on the disk");
                }
                base.finish().expect("room on the disk")
            }));
        }
        let mut out = std::io::stdout().lock();
        writeln!(out, "told {number}").and_then(|()| out.flush()).expect("somebody listens");
    }
}

fn replayed(log: &Log) -> Vec<u8> {
    let mut found = vec![u64::MAX; 5];
    let parts = log.parts().map(|part| part.expect("the base is sound").body);
    parts.enumerate().for_each(|(key, body)| found[key] = u64::from_le_bytes(body.try_into().unwrap()));
    for record in log.read() {
        let record = record.expect("the log is sound");
        assert_eq!(record.note, format!("offsets {}", record.number));
        let words: Vec<u64> = record.body.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
        match record.kind {
            Kind::Whole => found = words,
            _ => found[(words[0] % 5) as usize] = words[0],
        }
    }
    found.into_iter().flat_map(u64::to_le_bytes).collect()
}

#[test]
fn a_writer_killed_25_times_loses_and_doubles_nothing() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        write(Path::new(&folder));
    }
    let folder = std::env::temp_dir().join(format!("tickframe-kill-{}", std::process::id()));
    let (mut told, mut bases) = (None, 0);
    for round in 0..25 {
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_writer_killed_25_times_loses_and_doubles_nothing", "--nocapture"])
            .env(FOLDER, &folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        let number = |line: String| line.split_once("told ").and_then(|(_, number)| number.trim().parse::<u64>().ok());
        let mut heard = 0;
        while heard < 3 + round % 7 {
            let line = lines.next().expect("the writer lives until it is killed").unwrap();
            if let Some(number) = number(line) {
                (told, heard) = (Some(number), heard + 1);
            }
        }
        writer.kill().unwrap();
        writer.wait().unwrap();
        told = lines.map_while(Result::ok).filter_map(number).last().or(told);
        let log = Log::open(&folder).unwrap();
        let last = log.last().unwrap();
        assert!(Some(last) >= told && Some(last) <= told.map(|told| told + 3), "told of {told:?}, {last} is there");
        assert_eq!(replayed(&log), state(last), "round {round}");
        bases += u64::from(log.base_number().is_some());
    }
    assert!(bases > 5, "{bases} of 25 logs stand on a base");
    std::fs::remove_dir_all(&folder).unwrap();
}
