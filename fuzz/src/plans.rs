//! Plans as text: read, or refused in words. What is read is written, explained, and run over tables without rows.

use std::collections::HashMap;

use engine::plan::{Drawing, Plan};
use engine::sources::from_chunks;
use engine::{Error, Table};

/// A plan as JSON, with anything in it that its readers might not expect.
pub fn plans(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let plan = match Plan::from_json(text, &HashMap::new()) {
        Ok(plan) => plan,
        Err(error) => {
            assert!(matches!(error, Error::Data { .. }), "{error:?}");
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let written = plan.to_json();
    let again = Plan::from_json(&written, &HashMap::new()).expect("what was written is read");
    // NaN is not equal to itself: compare what is written.
    assert_eq!(again.to_json(), written);
    for drawing in [Drawing::Text, Drawing::Dot, Drawing::Mermaid] {
        assert!(!plan.explain(drawing).is_empty());
    }
    let nodes = plan.nodes();
    let empty = |(name, input): (&str, &engine::plan::Input)| {
        let columns = vec![Vec::new(); input.schema.fields().len()];
        Some((name.to_owned(), from_chunks(input.schema.clone(), columns, 0).ok()?))
    };
    let Some(given) = nodes.given().map(empty).collect::<Option<Vec<(String, Table)>>>() else { return };
    let (asked, better) = (plan.run_as_written("run", &given), plan.run("run", &given));
    match (asked, better) {
        (Ok(asked), Ok(better)) => assert_eq!(asked.schema(), better.schema()),
        (Err(asked), Err(better)) => {
            assert!(!matches!(asked, Error::Internal { .. }), "{asked}");
            assert_eq!(asked.to_string(), better.to_string());
        }
        (asked, better) => {
            let told = |made: Result<Table, Error>| made.map_or_else(|error| error.to_string(), |_| "a table".into());
            panic!("as it is written: {}; as it runs: {}", told(asked), told(better));
        }
    }
}
