//! Joins of few rows with groups of many: groups that are made of the keys that the join asks for give the table that groups
//! of all rows give, errors too.

use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::ArrayRef;
use engine::plan::{Drawing, EquiOptions, GroupBounds, How, Keep, Matches, Member, Op, Plan, Validate, apply};
use engine::sources::from_chunks;
use engine::testing::{Tape, explore};
use engine::{Error, Table};

use crate::fused::{shown, still};
use crate::registry::SPECS;
use crate::stages::{Shape, Stage, Types};

/// What stands between the rows, their groups and the join.
const LINKS: [&str; 6] = ["filter", "with_columns", "select", "choose", "drop", "rename"];

fn links(tape: &mut Tape, shape: &mut Shape, names: &[&str], most: u64) -> Vec<Stage> {
    let specs: Vec<_> = SPECS.iter().filter(|spec| names.contains(&spec.name)).collect();
    (0..tape.below(1 + most)).map(|_| Stage::draw_of(tape, shape, &specs)).collect()
}

/// Columns of one name and type on both sides, one or two of them.
fn keys(tape: &mut Tape, left: &Table, right: &Table) -> Vec<(String, String)> {
    let is_on_left =
        |name: &str, kind| left.schema().field_with_name(name).is_ok_and(|field| field.data_type() == kind);
    let mut both: Vec<(String, String)> = (right.schema().fields().iter())
        .filter(|field| is_on_left(field.name(), field.data_type()))
        .map(|field| (field.name().clone(), field.name().clone()))
        .collect();
    while both.len() > 2 || (both.len() == 2 && tape.chance(100)) {
        both.remove(tape.below(both.len() as u64) as usize);
    }
    both
}

fn joined(tape: &mut Tape, on: Vec<(String, String)>) -> Op {
    let nulls_equal = tape.chance(100);
    let pairs = |how| EquiOptions {
        on: on.clone(),
        how,
        suffix: "_right".into(),
        nulls_equal,
        validate: Validate::ManyToMany,
        coalesce: true,
    };
    let within = |member| Op::WhereIn { on: on.clone(), member, nulls_equal };
    match tape.below(7) {
        0 | 1 => Op::Join(pairs(How::Inner)),
        2 => Op::Join(pairs(How::Left)),
        // All right rows are there: nothing may be left out.
        3 => Op::Join(pairs(How::Full)),
        4 => within(Member::In),
        5 => within(Member::NotIn),
        _ => Op::NaturalJoin {
            on,
            joins: None,
            suffix: Some("_right".into()),
            matches: if tape.chance(128) { Matches::First } else { Matches::Last },
            nulls_equal,
            on_error: Default::default(),
        },
    }
}

/// The plan of a join of some rows with groups, made over no rows: nothing fails there.
fn plan_of(tape: &mut Tape, types: Types) -> Result<Option<Plan>, Error> {
    let none = || {
        let schema = types.specs()[0].schema();
        from_chunks(schema.clone(), vec![Vec::new(); schema.fields().len()], 0)
    };
    let (left, right) = (none()?, none()?);
    let made = |stages: &[Stage], table: &Table| {
        stages.iter().try_fold(table.clone(), |made, stage| stage.engine(&made, table))
    };
    let mut shape = Shape::left(types);
    let few = made(&links(tape, &mut shape, &["filter"], 1), &left)?;
    let few = apply(Op::Head { rows: tape.below(4) }, "head", &[few])?;
    let mut shape = Shape::left(types);
    let below = made(&links(tape, &mut shape, &LINKS, 2), &right)?;
    let grouped = if tape.chance(60) {
        let keys: Vec<String> = below.schema().fields().iter().map(|field| field.name().clone()).take(2).collect();
        let keep = if tape.chance(128) { Keep::First } else { Keep::Last };
        let limit = Op::GroupLimit { keys: keys.clone(), rows: 2, keep };
        let bounds = GroupBounds { max_groups: tape.chance(64).then_some(2), ..GroupBounds::default() };
        apply(if tape.chance(128) { limit } else { Op::Distinct { keys, keep, bounds } }, "unique", &[below])?
    } else {
        let group: Vec<_> = SPECS.iter().filter(|spec| spec.name == "group").collect();
        Stage::draw_of(tape, &mut shape, &group).engine(&below, &right)?
    };
    let above = made(&links(tape, &mut shape, &["filter", "rename"], 1), &grouped)?;
    let on = keys(tape, &few, &above);
    if on.is_empty() {
        return Ok(None);
    }
    Ok(Some(apply(joined(tape, on), "join", &[few, above])?.plan()))
}

/// The cells of a table, column by column. Rows of a join have keys of their own: only their order counts.
fn cells(table: &Table) -> Result<Vec<ArrayRef>, String> {
    let view = table.view().map_err(|error| error.to_string())?;
    let columns = 0..table.schema().fields().len();
    columns.map(|at| view.read(at, view.rows()).map_err(|error| error.to_string())).collect()
}

#[test]
fn groups_of_the_keys_of_a_join_make_the_table_that_all_groups_make() {
    static REDUCED: AtomicU64 = AtomicU64::new(0);
    explore(1_000, |tape| {
        let types = Types::draw(tape);
        let (left, right) = (still(tape, types)?, still(tape, types)?);
        // What does not fit over no rows is no plan.
        let Ok(Some(plan)) = plan_of(tape, types) else { return Ok(()) };
        let given: Vec<(String, Table)> =
            plan.nodes().given().map(|(name, _)| name.to_owned()).zip([left, right]).collect();
        let (wanted, found) = (plan.run_as_written("run", &given), plan.run("run", &given));
        let judged = match (&wanted, &found) {
            (Err(wanted), Err(found)) if wanted.to_string() == found.to_string() => return Ok(()),
            (Ok(wanted), Ok(found)) => {
                assert_eq!(found.schema(), wanted.schema(), "of {}", plan.nodes());
                let (wanted, found) = (cells(wanted)?, cells(found)?);
                if wanted == found { Ok(()) } else { Err(format!("found {found:?}\n  wanted {wanted:?}")) }
            }
            (wanted, found) => Err(format!("reduced {:?}, as written {:?}", shown(found), shown(wanted))),
        };
        let explained = plan.explain_over(&"run".into(), &given, Drawing::Text).map_err(|error| error.to_string())?;
        REDUCED.fetch_add(u64::from(explained.contains("groups of the keys of a join")), Ordering::Relaxed);
        judged.map_err(|text| format!("{text}\n  of {explained}"))
    });
    let seeds = std::env::var("TICKFRAME_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(1_000_u64);
    let steered =
        ["TICKFRAME_SEED", "TICKFRAME_TAPE", "TICKFRAME_STEPS"].iter().any(|name| std::env::var(name).is_ok());
    assert!(steered || seeds < 200 || REDUCED.load(Ordering::Relaxed) > 0, "no groups were reduced");
}
