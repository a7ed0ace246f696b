//! Deephaven's row set in a JVM: the same shapes and operations, told line by line.

use std::path::Path;
use std::process::{Command, Stdio};

/// What `java/RowSets.java` measured: shape, operation and figure. It is compiled first.
pub fn run(jars: &str, asked: &[String], shapes: &[&str], operations: &[&str]) -> Vec<(usize, usize, f64)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("java/RowSets.java");
    let classes = std::env::temp_dir().join(format!("rowsets-{}", std::process::id()));
    let jars = format!("{jars}/*");
    let compiled = Command::new("javac")
        .args(["-nowarn", "-proc:none", "-cp", &jars, "-d"])
        .arg(&classes)
        .arg(source)
        .status()
        .expect("javac runs");
    assert!(compiled.success(), "RowSets.java compiles against these jars");
    let told = Command::new("java")
        .args(["-Xmx8g", "-XX:+UseParallelGC", "-cp", &format!("{}:{jars}", classes.display()), "RowSets"])
        .args(asked.iter().filter(|word| shapes.iter().any(|shape| shape.contains(word.as_str()))))
        .stderr(Stdio::null())
        .output()
        .expect("java runs");
    std::fs::remove_dir_all(&classes).ok();
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let figure = |line: &str| {
        let mut words = line.split('\t');
        let shape = shapes.iter().position(|shape| Some(*shape) == words.clone().next())?;
        let operation = operations.iter().position(|operation| Some(*operation) == words.clone().nth(1))?;
        Some((shape, operation, words.nth(2)?.parse().ok()?))
    };
    told.lines().filter_map(figure).collect()
}
