//! Several operations in one call. They are one plan: equal steps are one, and tables are made of results that somebody asks for.
//!
//!   filter → update → sort: 7       one table, number 7, of a plan of three operations
//!
//! A step without a number is drawn: it runs over tables without rows, which says what is wrong with it, and stands in the plan of
//! the step that stands on it. A step that several stand on is a table as long as the batch runs. Where a plan fails, its
//! steps run one by one, so that the error is that of a step.

use std::collections::HashMap;

use engine::{Call, Table};
use formula::{Checked, Expr};
use prost::Message as _;
use tonic::{Code, Status};

use super::formulas::Formulas;
use super::messages::{Batch, Created, Operation, Reference, TableReference};
use super::steps::Steps;
use super::{created, operations, run, table_behind, told_of};
use crate::catalog::{Object, Served};
use crate::context::{Context, blocking, changing, engine_error, export};
use crate::exports::Begun;
use crate::frames::{Answer, Answers, answered, framed};
use crate::logins::What;
use crate::pace::while_there;

/// Operations of one batch at most.
const OPERATIONS: usize = 10_000;
/// The rows of a step of which no table is made.
const NOT_COUNTED: i64 = -1;
/// The method of a whole plan; its operations have their own.
const METHOD: &str = "batch";

/// What became of a step.
#[derive(Clone)]
enum Done {
    Made(Served),
    Drawn(Drawn),
}

/// A step that is part of a plan.
#[derive(Clone)]
struct Drawn {
    /// What it gives, without rows; its plan is what was asked for.
    shape: Table,
    /// As its client wrote them.
    formulas: Vec<Checked>,
    is_live: bool,
}

/// The tables that plans stand on, each with its shape.
#[derive(Default)]
struct Sources {
    tables: Vec<Table>,
    shapes: HashMap<usize, Table>,
}

impl Sources {
    /// A table without rows, which plans know by the place of this one.
    fn shape(&mut self, of: &Table) -> Result<Table, Status> {
        if let Some(known) = self.shapes.get(&of.identity()) {
            return Ok(known.clone());
        }
        let shape = of.without_rows().map_err(engine_error)?.named(self.tables.len().to_string());
        self.tables.push(of.clone());
        self.shapes.insert(of.identity(), shape.clone());
        Ok(shape)
    }
}

/// The formulas of an operation over a table, as they were checked; none where one is wrong.
fn checked(operation: &Operation, over: &Table) -> Vec<Checked> {
    use Operation::{LazyUpdate, Select, SelectDistinct, Update, UpdateView, View, Where};
    let mut formulas = Formulas::new(METHOD, over);
    let each: Result<Vec<Expr>, Status> = match operation {
        Where(of) => of.texts.iter().map(|text| formulas.filter(text)).collect(),
        Update(of) | LazyUpdate(of) | View(of) | UpdateView(of) | Select(of) | SelectDistinct(of) => {
            of.texts.iter().map(|text| formulas.column(text)).collect()
        }
        _ => return Vec::new(),
    };
    each.map_or_else(|_| Vec::new(), |_| formulas.call().formulas)
}

/// A batch that runs.
struct Running<'a> {
    context: &'a Context,
    steps: &'a Steps,
    sources: Sources,
    done: Vec<Option<Result<Done, Status>>>,
    told: Vec<bool>,
    first: Option<Status>,
}

/// One message for each operation as it is done; at the end the first error, if there was one.
pub(crate) async fn batch(context: Context, batch: Batch) -> Result<Answers, Status> {
    let lease = context.session.login.take(What::Memory, batch.encoded_len() as u64)?;
    if batch.ops.is_empty() {
        return Err(Status::invalid_argument("the batch has no operations"));
    }
    if batch.ops.len() > OPERATIONS {
        return Err(Status::resource_exhausted(format!("a batch has at most {OPERATIONS} operations")));
    }
    let operations: Option<Vec<Operation>> = batch.ops.into_iter().map(|request| request.operation).collect();
    let operations = operations.ok_or_else(|| Status::invalid_argument("an operation of the batch is empty"))?;
    // Whether they have an order is known before any number is taken.
    let alone = vec![false; operations.len()];
    let steps = Steps::new(operations, &alone)?;
    Ok(answered(alone.len() + 1, |send| async move {
        let _lease = lease;
        // All numbers are taken before anything runs: who asks for one of them meanwhile waits for it.
        let begin = |operation: &Operation| {
            let result = operation.ends().0.cloned();
            result.map(|ticket| export(&ticket).and_then(|id| context.session.exports.begin(id))).transpose()
        };
        let begun: Vec<Result<Option<Begun>, Status>> = steps.operations.iter().map(begin).collect();
        let refused: Vec<bool> = begun.iter().map(Result::is_err).collect();
        let steps = if refused.contains(&true) { Steps::new(steps.operations, &refused)? } else { steps };
        let (done, told) = (vec![None; refused.len()], vec![false; refused.len()]);
        let running =
            Running { context: &context, steps: &steps, sources: Sources::default(), done, told, first: None };
        running.run(begun, &send).await
    }))
}

impl Running<'_> {
    async fn run(mut self, begun: Vec<Result<Option<Begun<'_>>, Status>>, send: &Answer) -> Result<(), Status> {
        let mut begun: Vec<_> = begun.into_iter().map(Some).collect();
        for at in self.steps.order.iter().copied() {
            let number = match begun[at].take().unwrap_or(Ok(None)) {
                Ok(number) => number,
                Err(refused) => {
                    self.done[at] = Some(Err(refused));
                    self.tell(at, send).await;
                    continue;
                }
            };
            let same = self.steps.same[at];
            if same == at {
                let made = if self.steps.asked[at] {
                    self.step(at).await
                } else {
                    let (context, step) = (self.context, self.step(at));
                    while_there(context, send, step).await
                };
                self.done[at] = Some(made);
            }
            if let Some(number) = number {
                number.end(match &self.done[same] {
                    Some(Ok(Done::Made(made))) => Some(Object::Table(made.clone())),
                    _ => None,
                });
            }
            if !matches!(&self.done[same], Some(Ok(Done::Drawn(_)))) {
                self.tell_below(at, send).await;
                self.tell(at, send).await;
            }
        }
        for at in self.steps.order.iter().copied() {
            self.tell(at, send).await;
        }
        self.first.map_or(Ok(()), Err)
    }

    /// Makes a table of a step, or draws it.
    async fn step(&mut self, at: usize) -> Result<Done, Status> {
        let steps = self.steps;
        let is_drawn = |below: usize| matches!(&self.done[below], Some(Ok(Done::Drawn(_))));
        let done = if !steps.made[at] {
            self.drawn(at).await.map(Done::Drawn).ok()
        } else if steps.below(at).any(is_drawn) {
            self.planned(at).await.map(Done::Made).ok()
        } else {
            None
        };
        if let Some(done) = done {
            return Ok(done);
        }
        self.one_by_one(at).await.map(Done::Made)
    }

    /// Draws a step. What is wrong with it is told by the step itself, over tables with their rows.
    async fn drawn(&mut self, at: usize) -> Result<Drawn, Status> {
        let operation = self.steps.operations[at].clone();
        let mut inputs = Vec::new();
        let mut is_live = false;
        for source in operation.ends().1 {
            let made = match self.behind(source)? {
                Some(Done::Drawn(drawn)) => {
                    is_live |= drawn.is_live;
                    inputs.push(drawn.shape);
                    continue;
                }
                Some(Done::Made(made)) => made,
                None => table_behind(self.context, source).await?,
            };
            is_live |= made.table.is_live();
            inputs.push(self.sources.shape(&made.table)?);
        }
        let catalog = self.context.shared.catalog.clone();
        blocking(move || {
            let shape = operations::made(&catalog, &operation, &inputs)?;
            let formulas = inputs.first().map_or_else(Vec::new, |over| checked(&operation, over));
            Ok(Drawn { shape, formulas, is_live })
        })
        .await
    }

    /// What became of the step that a reference names; none if it names a ticket.
    fn behind(&self, reference: Option<&TableReference>) -> Result<Option<Done>, Status> {
        let Some(Reference::Place(place)) = reference.and_then(|reference| reference.reference.as_ref()) else {
            return Ok(None);
        };
        let same = self.steps.same[*place as usize];
        let found = self.done[same].clone().ok_or_else(|| Status::invalid_argument("a step behind this one"))?;
        let failed = |error: Status| {
            Status::new(Code::FailedPrecondition, format!("operation {place} failed: {}", error.message()))
        };
        found.map(Some).map_err(failed)
    }

    /// The table of a step, by the plan of it and of those below it that were drawn.
    async fn planned(&mut self, at: usize) -> Result<Served, Status> {
        let drawn = self.drawn(at).await?;
        let mut formulas = drawn.formulas;
        for below in self.drawn_below(at) {
            if let Some(Ok(Done::Drawn(drawn))) = &self.done[below] {
                formulas.extend(drawn.formulas.iter().cloned());
            }
        }
        let sources = self.sources.tables.clone();
        changing(&self.context.shared, move || {
            let plan = drawn.shape.plan();
            let known = |name: &str| name.parse().ok().and_then(|at: usize| sources.get(at).cloned());
            let given: Vec<(String, Table)> =
                plan.nodes().given().filter_map(|(name, _)| Some((name.to_owned(), known(name)?))).collect();
            let call = Call { method: METHOD.into(), location: None, formulas };
            plan.run(call, &given).map(Served::from).map_err(engine_error)
        })
        .await
    }

    /// The table of a step over the tables of those below it, each of which is made now.
    async fn one_by_one(&mut self, at: usize) -> Result<Served, Status> {
        for below in self.drawn_below(at) {
            let made = self.alone(below).await;
            self.done[below] = Some(made.map(Done::Made));
        }
        self.alone(at).await
    }

    /// The table of a step over tables.
    async fn alone(&self, at: usize) -> Result<Served, Status> {
        let operation = self.steps.operations[at].clone();
        let mut inputs = Vec::new();
        for source in operation.ends().1 {
            inputs.push(match self.behind(source)? {
                Some(Done::Made(made)) => made,
                Some(Done::Drawn(_)) => return Err(Status::internal("a step that was not made")),
                None => table_behind(self.context, source).await?,
            });
        }
        run(self.context, operation, inputs).await
    }

    /// The steps below a step that were drawn, in order.
    fn drawn_below(&self, at: usize) -> Vec<usize> {
        let is_drawn = |at: &usize| matches!(&self.done[*at], Some(Ok(Done::Drawn(_))));
        self.steps.all_below(at, |at| self.steps.below(at).filter(is_drawn).collect())
    }

    /// Tells of the steps below a step that were not told of: what they are is known now.
    async fn tell_below(&mut self, at: usize, send: &Answer) {
        let is_untold = |at: &usize| !self.told[*at];
        let places = |at: usize| self.steps.operations[at].places().map(|place| place as usize);
        for below in self.steps.all_below(at, |at| places(at).filter(is_untold).collect()) {
            self.tell(below, send).await;
        }
    }

    /// Tells of a step, once. A client that is gone wants its tables all the same, until its session ends.
    async fn tell(&mut self, at: usize, send: &Answer) {
        if std::mem::replace(&mut self.told[at], true) {
            return;
        }
        let result = self.steps.operations[at].ends().0.cloned();
        let place = Reference::Place(i32::try_from(at).unwrap_or(i32::MAX));
        let reference = TableReference { reference: Some(result.map_or(place, Reference::Ticket)) };
        let own = match &self.done[at] {
            Some(own) => Some(own),
            None => self.done[self.steps.same[at]].as_ref(),
        };
        let told = match own.cloned() {
            Some(Ok(Done::Made(made))) => created(made, reference.clone()).await,
            Some(Ok(Done::Drawn(Drawn { shape, is_live, .. }))) => {
                told_of(&Served::from(shape), reference.clone(), !is_live, NOT_COUNTED)
            }
            Some(Err(refused)) => Err(refused),
            None => Err(Status::internal("a step that did not run")),
        };
        let told = told.unwrap_or_else(|refused| {
            let error_info = refused.message().to_owned();
            self.first.get_or_insert(refused);
            Created { result_id: Some(reference), success: false, error_info, ..Created::default() }
        });
        _ = send.send(Ok(framed(&told))).await;
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::Pin;
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    use arrow_schema::{DataType, Field, Schema};
    use engine::sources::AppendTable;
    use graph::{Settings, UpdateGraph};
    use http_body::Body;

    use super::super::messages::{Join, OfRows, OfTexts, Plain, Request};
    use super::*;
    use crate::catalog::Catalog;
    use crate::context::Shared;
    use crate::frames::FRAME;
    use crate::limits::Limits;
    use crate::proto::Ticket;
    use crate::scripts::Consoles;
    use crate::sessions::{Access, Sessions};
    use crate::tickets::Named;

    fn rows() -> RecordBatch {
        let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, true)]));
        let cells: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 2, 3]));
        RecordBatch::try_new(schema, vec![cells]).expect("one column")
    }

    fn context(table: Table) -> Context {
        let catalog = Arc::new(Catalog::default());
        catalog.put("t".to_owned(), table);
        let sessions = Sessions::new(Access::Anybody, Limits::default());
        let shared = Shared::new(catalog, sessions, Limits::default(), Consoles::new(None), Vec::new());
        let session = shared.sessions.credential("Anonymous").expect("anybody may").session;
        Context { shared: Arc::new(shared), session }
    }

    fn still() -> Context {
        let rows = rows();
        let table = engine::sources::from_chunks(rows.schema(), vec![vec![rows.column(0).clone()]], 4);
        context(table.expect("a table"))
    }

    fn live() -> (UpdateGraph, Context) {
        let graph = UpdateGraph::new(Settings::default());
        let fed = AppendTable::new(&graph, rows().schema()).expect("a source");
        fed.append(&rows()).expect("it is taken");
        graph.step().expect("a step");
        let context = context(fed.table().clone());
        (graph, context)
    }

    fn served() -> Option<TableReference> {
        let ticket = Ticket { ticket: Named::Scope("t".to_owned()).ticket() };
        Some(TableReference { reference: Some(Reference::Ticket(ticket)) })
    }

    fn on(place: i32) -> Option<TableReference> {
        Some(TableReference { reference: Some(Reference::Place(place)) })
    }

    fn number(id: i32) -> Option<Ticket> {
        (id > 0).then(|| Ticket { ticket: Named::Export(id).ticket() })
    }

    fn texts(id: i32, source: Option<TableReference>, text: &str) -> OfTexts {
        OfTexts { result: number(id), source, texts: vec![text.to_owned()] }
    }

    fn head(id: i32, source: Option<TableReference>) -> Operation {
        Operation::Head(OfRows { result: number(id), source, rows: 2, ..OfRows::default() })
    }

    /// What is told of each operation, and how the call ends.
    fn told(context: Context, operations: Vec<Operation>) -> (Vec<Created>, Option<Status>) {
        let ops = operations.into_iter().map(|operation| Request { operation: Some(operation) }).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let mut answers = batch(context, Batch { ops }).await.expect("it has an order");
            let mut told = Vec::new();
            while let Some(Ok(frame)) = poll_fn(|context| Pin::new(&mut answers).poll_frame(context)).await {
                match frame.into_data() {
                    Ok(message) => told.push(Created::decode(&message[FRAME..]).expect("it is told")),
                    Err(last) => {
                        let ended = last.trailers_ref().and_then(Status::from_header_map);
                        return (told, ended.filter(|status| status.code() != Code::Ok));
                    }
                }
            }
            (told, None)
        })
    }

    /// What a session holds under a number.
    fn held(context: &Context, id: i32) -> Object {
        let ready = context.session.exports.ready();
        ready.into_iter().find(|(known, _)| *known == id).expect("it is there").1
    }

    fn same(context: &Context) -> Context {
        Context { shared: context.shared.clone(), session: context.session.clone() }
    }

    #[test]
    fn no_table_is_made_of_what_has_no_number() {
        let (graph, context) = live();
        let before = graph.counters().nodes;
        // The rows are filtered once, and before anything is computed of them.
        let steps = vec![
            Operation::Update(texts(0, served(), "big = x * 2")),
            Operation::Where(texts(0, on(0), "x > 1")),
            Operation::Where(texts(0, on(1), "x < 3")),
            Operation::View(texts(7, on(2), "x")),
        ];
        let (told, ended) = told(same(&context), steps);
        assert!(ended.is_none(), "{ended:?}");
        let sizes: Vec<i64> = told.iter().map(|one| one.size).collect();
        assert_eq!(sizes, [NOT_COUNTED, NOT_COUNTED, NOT_COUNTED, 2]);
        assert!(told.iter().all(|one| one.success && !one.is_static && !one.schema_header.is_empty()));
        let Some(served) = held(&context, 7).served() else { panic!("it is a table") };
        let mut nodes = Vec::new();
        let mut at = served.table;
        while let Some(below) = at.inputs().first().cloned() {
            nodes.push(at.request().name.clone());
            at = below;
        }
        assert_eq!(nodes, ["view", "update", "where"]);
        assert_eq!(graph.counters().nodes - before, nodes.len());
        drop(at);
        drop(context.session.exports.release(7));
        assert_eq!(graph.counters().nodes, before);
    }

    #[test]
    fn equal_steps_share_a_node() {
        let context = still();
        let filtered = |id| Operation::Where(texts(id, served(), "x > 1"));
        let (told, ended) =
            told(same(&context), vec![filtered(0), filtered(0), head(1, on(0)), head(2, on(1)), filtered(3)]);
        assert!(ended.is_none(), "{ended:?}");
        assert_eq!(told.iter().map(|one| one.size).collect::<Vec<_>>(), [3, 3, 2, 2, 3]);
        assert_eq!(held(&context, 1).identity(), held(&context, 2).identity());
    }

    #[test]
    fn a_failing_step_is_told_of_and_so_is_what_stands_on_it() {
        // Over no rows nothing is wrong with it.
        let joined =
            Operation::ExactJoin(Join { left: served(), right: served(), on: vec!["x".to_owned()], ..Join::default() });
        let (told, ended) = told(still(), vec![joined, head(0, on(0)), head(1, on(1)), head(2, served())]);
        let good: Vec<bool> = told.iter().map(|one| one.success).collect();
        assert_eq!(good, [false, false, false, true]);
        assert!(told[0].error_info.starts_with("exact_join: "), "{}", told[0].error_info);
        assert!(told[1].error_info.starts_with("operation 0 failed: exact_join: "), "{}", told[1].error_info);
        assert!(told[2].error_info.starts_with("operation 1 failed: operation 0 failed: "), "{}", told[2].error_info);
        assert_eq!(ended.expect("it is an error").message(), told[0].error_info);
    }

    #[test]
    fn a_step_that_cannot_be_drawn_is_told_of_as_its_client_wrote_it() {
        let wrong = Operation::Update(texts(0, served(), "y = nothing * 2"));
        let (told, ended) =
            told(still(), vec![wrong, head(1, on(0)), Operation::Flatten(Plain { result: None, source: served() })]);
        assert_eq!(told.iter().map(|one| one.success).collect::<Vec<_>>(), [false, false, true]);
        assert!(told[0].error_info.contains("y = nothing * 2"), "{}", told[0].error_info);
        assert_eq!(ended.expect("it is an error").code(), Code::InvalidArgument);
    }

    #[test]
    fn a_number_that_is_taken_is_an_error_of_its_step_alone() {
        let context = still();
        let filtered = |id| Operation::Where(texts(id, served(), "x > 1"));
        let (told, ended) = told(same(&context), vec![filtered(1), filtered(1), filtered(2), head(3, on(1))]);
        assert_eq!(told.iter().map(|one| one.success).collect::<Vec<_>>(), [true, false, true, false]);
        assert_eq!(ended.expect("it is an error").message(), "export 1 is used already");
        assert_eq!(held(&context, 1).identity(), held(&context, 2).identity());
    }
}
