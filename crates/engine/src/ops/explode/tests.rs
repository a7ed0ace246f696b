//! Drawings of `explode`, and its laws.

use model::Compare;

use super::*;
use crate::driver::attach::attach;
use crate::testing::{check_law, check_steps, table_of};

fn options(columns: &[&str]) -> ExplodeOptions {
    let columns = columns.iter().map(|name| (*name).to_owned()).collect();
    ExplodeOptions { columns, empty_as_null: false, keep_nulls: true, null_fill: false }
}

fn exploded(options: ExplodeOptions) -> impl Fn(&Table) -> Result<Table, Error> {
    move |table| attach(&Explode::new("explode", table, &options)?, std::slice::from_ref(table))
}

const START: &str = "K:str V:list: 0 A [1,2] | 1 B [] | 2 C null";

#[test]
fn a_row_for_each_value() {
    let key = |at: u64| (1 << 62) + at;
    check_steps(
        exploded(options(&["V"])),
        START,
        &[
            ("+ 3 D [7]", &format!("+ {} D 7", key(10))),
            ("~ 0 . [1,5,6]", &format!("+ {} A 6 | ~ {} . 5", key(6), key(4))),
            ("~ 0 Z .", &format!("~ {} Z . | ~ {} Z . | ~ {} Z .", key(0), key(4), key(6))),
            ("> [0..3]+5", ""),
            ("~ 5 Y [2]", &format!("- {} | - {} | ~ {} Y 2", key(4), key(6), key(0))),
            ("~ 5 X []", &format!("- {}", key(0))),
            ("~ 7 . [null]", ""),
        ],
    );
}

#[test]
fn lists_of_several_lengths() {
    let both = options(&["V", "W"]);
    let told =
        "!in the row with key 1, \"V\" gives 2 rows and \"W\" 1; lists that are taken apart together are of one length";
    check_steps(exploded(both.clone()), "K:str V:list W:list: 0 A [1] [2]", &[("+ 1 B [1,2] [3]", told)]);
    let filled = ExplodeOptions { null_fill: true, ..both };
    check_steps(
        exploded(filled),
        "K:str V:list W:list: 0 A [1] [2]",
        &[("~ 0 . [1,3] .", &format!("+ {} A 3 null", (1u64 << 62) + 2))],
    );
}

#[test]
fn law() {
    let spec = table_of("k:str l:list v:int x:float");
    for (empty_as_null, keep_nulls) in [(false, true), (false, false), (true, true), (true, false)] {
        let how = ExplodeOptions { empty_as_null, keep_nulls, ..options(&["l"]) };
        let wanted = model::ops::Explode { columns: how.columns.clone(), empty_as_null, keep_nulls, fill: false };
        check_law(&spec, 150, Compare::ByPosition, exploded(how), move |input| model::ops::explode(input, &wanted));
    }
}

#[test]
fn law_of_several_lists() {
    let spec = table_of("k:str l:list m:list v:int");
    for null_fill in [true, false] {
        let how = ExplodeOptions { null_fill, ..options(&["m", "l"]) };
        let wanted = model::ops::Explode {
            columns: how.columns.clone(),
            empty_as_null: false,
            keep_nulls: true,
            fill: null_fill,
        };
        check_law(&spec, 200, Compare::ByPosition, exploded(how), move |input| model::ops::explode(input, &wanted));
    }
}
