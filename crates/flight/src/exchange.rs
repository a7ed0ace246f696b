//! Barrage over `DoExchange`: a table for one client, and what happens to it from then on.
//!
//! A listener lays each step's update down; the cycle does nothing else for it. The server's threads merge updates into
//! one, which waits for the client. When it is due, its cells are read at one settled step and sent, message by message,
//! as the client reads. A client that does not read has one update on its way, and row sets that wait.

use std::sync::Arc;
use std::time::{Duration, Instant};

use barrage::{
    BarrageError, BlinkRows, Cells, Follower, Layout, Limits, Metadata, News, Next, Outgoing, Preview, SnapshotRequest,
    Steps, Subscriber, SubscriptionRequest, Train, WireSchema,
};
use bytes::Bytes;
use engine::{Failure, Listener, Part, Subscription, Table, UpdateEvent, View};
use hyper::body::Incoming;
use rowset::RowSet;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tonic::Status;

use crate::context::{Context, changing, engine_error};
use crate::frames::{Answer, Answers, Message, Requests, answered, drain_messages, requests, said};
use crate::ipc::barrage_message;
use crate::logins::What;
use crate::pace::{Pieces, Sending, deliver, over, read, while_there};
use crate::proto::FlightData;
use crate::race::{First, first};
use crate::tickets::of_ticket;

/// Messages that wait for a client to read.
const AHEAD: usize = 2;
/// After so long a step is looked for again whose listener has not been called.
const SOON_WAIT: Duration = Duration::from_millis(5);
/// A wait without an end: whoever waits is woken.
const IDLE_WAIT: Duration = Duration::from_secs(3600);

fn told(error: BarrageError) -> Status {
    Status::invalid_argument(format!("DoExchange: {error}"))
}

/// Talks with one client.
pub(crate) fn exchange(context: Context, body: Incoming) -> Answers {
    answered(AHEAD, |send| async move {
        let mut messages: Requests<FlightData> = requests(body, context.shared.limits.control_message);
        let ended = match said(&context.shared.limits, opening(&mut messages)).await {
            Ok(Metadata::Subscription(request)) => follow(&context, &mut messages, &send, request).await,
            Ok(Metadata::Snapshot(request)) => snapshot(&context, &mut messages, &send, request).await,
            Ok(_) => Err(Status::invalid_argument("DoExchange: ask for a subscription or for a snapshot")),
            Err(refused) => Err(refused),
        };
        drain_messages(messages);
        ended
    })
}

fn no_metadata() -> Status {
    Status::invalid_argument("failed to receive Barrage request metadata")
}

/// The first request; one message without metadata may stand before it.
async fn opening(messages: &mut Requests<FlightData>) -> Result<Metadata, Status> {
    for _ in 0..2 {
        let data = messages.message().await?.ok_or_else(no_metadata)?;
        if !data.app_metadata.is_empty() {
            return Metadata::read(&data.app_metadata).map_err(told);
        }
    }
    Err(no_metadata())
}

/// How a client wants its messages.
#[derive(Clone)]
struct Form {
    schema: Arc<WireSchema>,
    layout: Layout,
    limits: Limits,
    /// Of lists so many elements: the first, or if it is negative the last; 0 for all.
    elements: i64,
}

async fn table_of(context: &Context, ticket: &[u8]) -> Result<Table, Status> {
    context.table("ticket", of_ticket("ticket", &Bytes::copy_from_slice(ticket))?).await
}

/// What a table calls.
struct ExchangeListener {
    follower: Arc<Follower>,
    news: Arc<Notify>,
    runtime: Handle,
    /// Of a blink table, how many columns are read of each step.
    blink: Option<usize>,
}

impl Listener for ExchangeListener {
    fn on_update(&self, event: Arc<UpdateEvent>) {
        let news = match self.blink {
            None => Some(News::Update(event.update().clone())),
            // A column that cannot be read fails its table, which is told.
            Some(width) => {
                let columns: Result<Vec<_>, _> = (0..width).map(|column| event.read(Part::Added, column)).collect();
                columns.ok().map(News::Rows)
            }
        };
        if self.follower.hear(event.step() as i64, news) {
            let follower = self.follower.clone();
            self.runtime.spawn_blocking(move || follower.merge());
        }
        self.news.notify_one();
    }

    fn on_failure(&self, failure: Arc<Failure>) {
        self.follower.fail(failure);
        self.news.notify_one();
    }
}

/// A table as a follower asks it.
struct Followed(Table);

impl Steps for Followed {
    type View = View;
    type Error = Status;

    fn view(&self) -> Result<Option<(View, i64)>, Status> {
        let view = self.0.view().map_err(engine_error)?;
        if view.pin_all().is_err() {
            return Ok(None);
        }
        let moment = view.moment().number() as i64;
        Ok(Some((view, moment)))
    }

    fn rows(view: &View) -> &RowSet {
        view.rows()
    }

    fn changed(&self) -> Option<i64> {
        self.0.is_live().then(|| self.0.last_step() as i64)
    }
}

/// What there is to send now, read as far as it is sent soon.
fn next(table: &Followed, follower: &Follower, form: &Form, now: u64) -> Result<Next<Sending<Rows>>, Status> {
    follower.next(now, table)?.try_map(|(Outgoing { train, cells }, view)| {
        let source = cells.map_or(Source::Table(view), Source::Blink);
        Sending::begin(Rows { train, source, form: form.clone() })
    })
}

/// What cells are read from.
enum Source {
    Table(View),
    Blink(BlinkRows),
}

impl Source {
    fn cells(&self) -> &dyn Cells {
        match self {
            Source::Table(view) => view,
            Source::Blink(rows) => rows,
        }
    }
}

/// The messages of a train, whose cells are not read yet.
struct Rows {
    train: Train,
    source: Source,
    form: Form,
}

impl Pieces for Rows {
    const CALL: &'static str = "DoExchange";

    fn next(&mut self) -> Result<Option<Vec<Message>>, Status> {
        let Rows { train, source, form } = self;
        let cells = Preview { cells: source.cells(), elements: form.elements };
        let message = train.next(&form.schema, &cells, form.layout, form.limits).map_err(told)?;
        Ok(message.map(|message| vec![barrage_message(&message.batch.header, &message.metadata, message.batch.body)]))
    }

    fn holds(&self) -> bool {
        matches!(self.source, Source::Table(_))
    }
}

async fn begin(context: &Context, send: &Answer, form: &Form) -> Result<bool, Status> {
    let header = form.schema.header(form.layout.columns_as_list).map_err(told)?;
    deliver(context, send, barrage_message(&header, &[], Vec::new())).await
}

async fn follow(
    context: &Context,
    messages: &mut Requests<FlightData>,
    send: &Answer,
    request: SubscriptionRequest,
) -> Result<(), Status> {
    let _place = context.session.login.take(What::Subscriptions, 1)?;
    let table = while_there(context, send, table_of(context, &request.ticket)).await?;
    let options = &request.options;
    let form = Form {
        schema: Arc::new(WireSchema::of(table.schema()).map_err(told)?),
        layout: Layout { deephaven_nulls: options.use_deephaven_nulls, columns_as_list: options.columns_as_list },
        limits: Limits::from(options),
        elements: options.preview_list_length_limit,
    };
    let (width, is_blink) = (table.width(), table.attributes().blink);
    let subscriber = Subscriber::new(&request, width, is_blink).map_err(told)?;
    let (follower, news) = (Arc::new(Follower::new(subscriber)), Arc::new(Notify::new()));
    let (of, runtime, blink) = (follower.clone(), Handle::current(), is_blink.then_some(width));
    let listener = Arc::new(ExchangeListener { follower: of, news: news.clone(), runtime, blink });
    let listened = table.clone();
    let subscribed = move || listened.is_live().then(|| listened.subscribe(listener, true)).transpose();
    let subscription: Option<Subscription> =
        changing(&context.shared, move || subscribed().map_err(engine_error)).await?;
    let ended = converse(context, messages, send, &table, (&follower, &news), &form).await;
    // What it holds may be the last handle of a table, which takes the lock of its graph.
    crate::sessions::let_go((subscription, table));
    ended
}

async fn converse(
    context: &Context,
    messages: &mut Requests<FlightData>,
    send: &Answer,
    table: &Table,
    (follower, news): (&Arc<Follower>, &Notify),
    form: &Form,
) -> Result<(), Status> {
    if !begin(context, send, form).await? {
        return Ok(());
    }
    let start = Instant::now();
    let now = || start.elapsed().as_millis() as u64;
    let mut open = true;
    loop {
        let (of, by, how, at) = (Followed(table.clone()), follower.clone(), form.clone(), now());
        let pause = match read(context, move || next(&of, &by, &how, at)).await? {
            Next::Send(sending) => {
                if !sending.send(context, send).await? {
                    return Ok(());
                }
                // What was sent is written to the socket before more is looked for.
                tokio::task::yield_now().await;
                continue;
            }
            Next::Failed(failure) => return Err(engine_error(engine::Error::TableFailed(failure))),
            Next::Soon => SOON_WAIT,
            Next::Idle(None) => IDLE_WAIT,
            Next::Idle(Some(due)) => Duration::from_millis(due.saturating_sub(now())),
        };
        let request = async { if open { messages.message().await } else { std::future::pending().await } };
        let quiet = first(news.notified(), tokio::time::sleep(pause));
        let gone = first(send.closed(), over(context));
        match first(request, first(quiet, gone)).await {
            First::Left(Ok(Some(data))) if data.app_metadata.is_empty() => return Err(no_metadata()),
            First::Left(Ok(Some(data))) => match Metadata::read(&data.app_metadata).map_err(told)? {
                Metadata::Subscription(request) => follower.request(&request).map_err(told)?,
                _ => return Err(Status::invalid_argument("DoExchange: a subscription takes subscriptions alone")),
            },
            // The client says nothing more, and hears on.
            First::Left(Ok(None)) => open = false,
            First::Left(Err(cut)) => return Err(cut),
            First::Right(First::Left(_)) => {}
            First::Right(First::Right(First::Left(()))) => return Ok(()),
            First::Right(First::Right(First::Right(status))) => return Err(status),
        }
    }
}

/// Answers requests for the rows that there are, until the client has no more.
async fn snapshot(
    context: &Context,
    messages: &mut Requests<FlightData>,
    send: &Answer,
    request: SnapshotRequest,
) -> Result<(), Status> {
    let table = while_there(context, send, table_of(context, &request.ticket)).await?;
    let layout = Layout { deephaven_nulls: request.options.use_deephaven_nulls, columns_as_list: false };
    let schema = Arc::new(WireSchema::of(table.schema()).map_err(told)?);
    let elements = request.options.preview_list_length_limit;
    let form = Form { schema, layout, limits: Limits::from(&request.options), elements };
    if !begin(context, send, &form).await? {
        return Ok(());
    }
    let mut request = request;
    loop {
        let of = table.clone();
        let wanted = request.clone();
        let how = form.clone();
        let sending = read(context, move || {
            let still = of.snapshot().map_err(engine_error)?;
            let view = still.view().map_err(engine_error)?;
            let step = if of.is_live() { view.moment().number() as i64 } else { -1 };
            let train = Train::of_snapshot(&wanted, of.width(), step, view.rows());
            Sending::begin(Rows { train, source: Source::Table(view), form: how })
        })
        .await?;
        if !sending.send(context, send).await? {
            return Ok(());
        }
        match first(messages.message(), over(context)).await {
            First::Left(Ok(Some(data))) => match Metadata::read(&data.app_metadata).map_err(told)? {
                Metadata::Snapshot(next) => request = next,
                _ => return Err(Status::invalid_argument("DoExchange: a snapshot takes snapshots alone")),
            },
            First::Left(Ok(None)) => return Ok(()),
            First::Left(Err(cut)) => return Err(cut),
            First::Right(status) => return Err(status),
        }
    }
}
