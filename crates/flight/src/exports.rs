//! What a session holds by numbers that its client chose, also before there is anything behind them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use rowset::RowSet;
use tokio::sync::{mpsc, watch};
use tonic::Status;

use crate::catalog::Object;
use crate::frames::{Message, framed};
use crate::logins::{Lease, Login, What};
use crate::proto::{ExportNotification, Ticket};
use crate::tickets::Named;
use graph::lock;

/// Notifications that may wait for a listener.
const WAITING: usize = 1 << 14;

const PENDING: i32 = 1;
const EXPORTED: i32 = 5;
const RELEASED: i32 = 6;
const FAILED: i32 = 8;

enum State {
    /// Begun, and not there yet.
    Pending,
    Ready(Object),
    Failed,
}

impl State {
    fn number(&self) -> i32 {
        match self {
            State::Pending => PENDING,
            State::Ready(_) => EXPORTED,
            State::Failed => FAILED,
        }
    }
}

#[derive(Default)]
struct Held {
    /// Each with its place among those of the login.
    states: HashMap<i32, (State, Lease)>,
    released: RowSet,
    listeners: Vec<mpsc::Sender<Result<Message, Status>>>,
    /// The last number that the server chose, below 0.
    handed: i32,
    closed: bool,
}

/// A number that was taken. Whoever waits for it is told, also if the call that took it is cut off.
pub(crate) struct Begun<'a> {
    exports: &'a Exports,
    id: i32,
    ended: bool,
}

impl Begun<'_> {
    /// Says what stands behind it; nothing, if it could not be made.
    pub(crate) fn end(mut self, made: Option<Object>) {
        self.ended = true;
        self.exports.define(self.id, made);
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.exports.define(self.id, None);
        }
    }
}

/// The exports of a session.
pub(crate) struct Exports {
    held: Mutex<Held>,
    /// Counts changes, for those who wait.
    changed: watch::Sender<u64>,
    most: usize,
    login: Arc<Login>,
}

fn notification(id: i32, state: i32, context: &str) -> Message {
    framed(&ExportNotification {
        ticket: Some(Ticket { ticket: Named::Export(id).ticket() }),
        export_state: state,
        context: context.to_owned(),
        dependent_handle: String::new(),
    })
}

fn gone() -> Status {
    Status::unauthenticated("Authentication details invalid")
}

impl Exports {
    pub(crate) fn new(most: usize, login: Arc<Login>) -> Exports {
        Exports { held: Mutex::default(), changed: watch::Sender::new(0), most, login }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        lock(&self.held)
    }

    /// Takes a number that the client has not used.
    pub(crate) fn begin(&self, id: i32) -> Result<Begun<'_>, Status> {
        if id <= 0 {
            return Err(Status::invalid_argument(format!("a client's exports are numbered from 1, not {id}")));
        }
        let mut held = self.lock();
        if held.closed {
            return Err(gone());
        }
        if held.states.contains_key(&id) || held.released.contains(id as u64) {
            return Err(Status::invalid_argument(format!("export {id} is used already")));
        }
        if held.states.len() >= self.most {
            return Err(Status::resource_exhausted(format!("a session has at most {} exports", self.most)));
        }
        let place = self.login.take(What::Exports, 1)?;
        held.states.insert(id, (State::Pending, place));
        self.tell(&mut held, id, PENDING);
        Ok(Begun { exports: self, id, ended: false })
    }

    /// Says what stands behind a number that was begun; nothing, if it could not be made.
    fn define(&self, id: i32, table: Option<Object>) {
        let mut held = self.lock();
        // It may be released meanwhile.
        if let Some((held_state, _)) = held.states.get_mut(&id) {
            *held_state = table.map_or(State::Failed, State::Ready);
            let number = held_state.number();
            self.tell(&mut held, id, number);
        }
        drop(held);
        self.changed.send_modify(|count| *count += 1);
    }

    fn tell(&self, held: &mut Held, id: i32, state: i32) {
        // A listener that does not read is let go.
        held.listeners.retain(|listener| listener.try_send(Ok(notification(id, state, ""))).is_ok());
    }

    /// Gives something of the server's a number of its own, below those of clients.
    pub(crate) fn hand_out(&self, object: Object) -> Result<i32, Status> {
        let mut held = self.lock();
        if held.closed {
            return Err(gone());
        }
        if held.states.len() >= self.most {
            return Err(Status::resource_exhausted(format!("a session has at most {} exports", self.most)));
        }
        let id = held.handed.checked_sub(1).ok_or_else(|| Status::resource_exhausted("no number is left"))?;
        let place = self.login.take(What::Exports, 1)?;
        held.handed = id;
        held.states.insert(id, (State::Ready(object), place));
        self.tell(&mut held, id, EXPORTED);
        Ok(id)
    }

    /// What is behind each number now, and what tells of changes.
    pub(crate) fn ready(&self) -> Vec<(i32, Object)> {
        let held = self.lock();
        let ready = held.states.iter().filter_map(|(id, (state, _))| match state {
            State::Ready(object) => Some((*id, object.clone())),
            _ => None,
        });
        ready.collect()
    }

    /// Hears of changes.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// What is behind a number, as soon as there is something.
    pub(crate) async fn object(&self, id: i32) -> Result<Object, Status> {
        if id == 0 {
            return Err(Status::failed_precondition("export 0 is none"));
        }
        let mut changed = self.changed.subscribe();
        loop {
            if let Some(found) = self.look(id) {
                return found;
            }
            changed.changed().await.map_err(|_| gone())?;
        }
    }

    fn look(&self, id: i32) -> Option<Result<Object, Status>> {
        let held = self.lock();
        if held.closed {
            return Some(Err(gone()));
        }
        match held.states.get(&id).map(|(state, _)| state) {
            Some(State::Ready(table)) => Some(Ok(table.clone())),
            Some(State::Failed) => Some(Err(Status::failed_precondition("Export in state DEPENDENCY_FAILED"))),
            Some(State::Pending) => None,
            // What the server numbers is there from the first, or is gone.
            None if u64::try_from(id).map_or(true, |id| held.released.contains(id)) => {
                Some(Err(Status::failed_precondition(format!(
                    "Export in state DEPENDENCY_RELEASED (related parent export id: {id})"
                ))))
            }
            None => None,
        }
    }

    /// Lets go of what stands behind a number.
    pub(crate) fn release(&self, id: i32) -> Result<Option<Object>, Status> {
        let mut held = self.lock();
        let Some((state, _)) = held.states.remove(&id) else {
            let known = match u64::try_from(id) {
                Ok(id) => held.released.contains(id),
                Err(_) => id >= held.handed,
            };
            return if known { Ok(None) } else { Err(Status::unavailable("Export not yet defined")) };
        };
        if let Ok(id) = u64::try_from(id) {
            held.released.insert(id);
        }
        self.tell(&mut held, id, RELEASED);
        drop(held);
        self.changed.send_modify(|count| *count += 1);
        Ok(match state {
            State::Ready(table) => Some(table),
            _ => None,
        })
    }

    /// What is there, then that this was all, then what happens.
    pub(crate) fn listen(&self) -> mpsc::Receiver<Result<Message, Status>> {
        let mut held = self.lock();
        let (send, receive) = mpsc::channel(WAITING.max(held.states.len() + 16));
        for (id, (state, _)) in &held.states {
            _ = send.try_send(Ok(notification(*id, state.number(), "")));
        }
        _ = send.try_send(Ok(notification(0, EXPORTED, "run is complete")));
        held.listeners.retain(|listener| !listener.is_closed());
        if !held.closed {
            held.listeners.push(send);
        }
        receive
    }

    /// Ends all: who waits is told, what was held is given back.
    pub(crate) fn close(&self) -> Vec<Object> {
        let mut held = self.lock();
        held.closed = true;
        held.listeners.clear();
        let states = std::mem::take(&mut held.states);
        drop(held);
        self.changed.send_modify(|count| *count += 1);
        states
            .into_values()
            .filter_map(|(state, _)| if let State::Ready(table) = state { Some(table) } else { None })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Int64Array};
    use arrow_schema::{DataType, Field, Schema};
    use bytes::Bytes;
    use engine::Table;
    use prost::Message as _;
    use tonic::Code;

    use super::*;
    use crate::frames::FRAME;
    use crate::limits::Limits;

    fn table() -> Table {
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, true)]));
        let cells: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
        engine::sources::from_chunks(schema, vec![vec![cells]], 3).expect("a table")
    }

    /// What a future gives now; None if it waits.
    fn now<T>(future: impl Future<Output = T>) -> Option<T> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match std::pin::pin!(future).poll(&mut context) {
            std::task::Poll::Ready(given) => Some(given),
            std::task::Poll::Pending => None,
        }
    }

    /// As if the call that took the number ran still.
    fn held(begun: Begun<'_>) {
        std::mem::forget(begun);
    }

    fn code(found: Option<Result<Object, Status>>) -> Option<Code> {
        found.map(|found| found.err().map_or(Code::Ok, |status| status.code()))
    }

    fn told(listener: &mut mpsc::Receiver<Result<Message, Status>>) -> Vec<(Bytes, i32)> {
        let mut all = Vec::new();
        while let Ok(Ok(message)) = listener.try_recv() {
            let message = ExportNotification::decode(&message[0][FRAME..]).expect("a notification");
            all.push((message.ticket.expect("a ticket").ticket, message.export_state));
        }
        all
    }

    #[test]
    fn an_export_is_waited_for_before_it_exists() {
        let exports = Exports::new(10, Login::nobody());
        assert_eq!(code(now(exports.object(7))), None);
        held(exports.begin(7).expect("a free number"));
        assert_eq!(code(now(exports.object(7))), None);
        exports.define(7, Some(table().into()));
        assert_eq!(code(now(exports.object(7))), Some(Code::Ok));
    }

    #[test]
    fn who_waits_is_woken_by_each_end() {
        let ends: [fn(&Exports); 4] = [
            |exports| exports.define(7, Some(table().into())),
            |exports| exports.define(7, None),
            |exports| drop(exports.release(7)),
            |exports| drop(exports.close()),
        ];
        let codes = [Code::Ok, Code::FailedPrecondition, Code::FailedPrecondition, Code::Unauthenticated];
        for (end, code) in ends.iter().zip(codes) {
            let exports = Exports::new(10, Login::nobody());
            held(exports.begin(7).expect("a free number"));
            let mut waiting = Box::pin(exports.object(7));
            assert!(now(waiting.as_mut()).is_none());
            end(&exports);
            let found = now(waiting.as_mut()).expect("it was woken");
            assert_eq!(found.err().map_or(Code::Ok, |status| status.code()), code);
        }
    }

    #[test]
    fn a_number_is_used_once() {
        let exports = Exports::new(2, Login::nobody());
        for wrong in [0, -1, i32::MIN] {
            assert_eq!(exports.begin(wrong).map(drop).map_err(|status| status.code()), Err(Code::InvalidArgument));
        }
        held(exports.begin(1).expect("a free number"));
        held(exports.begin(i32::MAX).expect("a free number"));
        assert_eq!(exports.begin(1).map(drop).map_err(|status| status.code()), Err(Code::InvalidArgument));
        assert_eq!(exports.begin(2).map(drop).map_err(|status| status.code()), Err(Code::ResourceExhausted));
        assert!(exports.release(1).expect("it was there").is_none());
        assert!(exports.release(1).expect("a second release is none").is_none());
        assert_eq!(exports.begin(1).map(drop).map_err(|status| status.code()), Err(Code::InvalidArgument));
        assert_eq!(exports.release(3).err().map(|status| status.code()), Some(Code::Unavailable));
        held(exports.begin(2).expect("there is room again"));
        // What was released while it was made is not held.
        drop(exports.release(2));
        exports.define(2, Some(table().into()));
        assert_eq!(code(now(exports.object(2))), Some(Code::FailedPrecondition));
    }

    #[test]
    fn what_all_sessions_of_a_login_hold_is_bounded_together() {
        let limits = Limits { login_exports: 3, ..Limits::default() };
        let (login, other) = (Login::new("ann".to_owned(), &limits), Login::new("bob".to_owned(), &limits));
        let sessions = [Exports::new(10, login.clone()), Exports::new(10, login.clone())];
        held(sessions[0].begin(1).expect("there is room"));
        held(sessions[1].begin(1).expect("there is room"));
        sessions[0].hand_out(table().into()).expect("there is room");
        let refused = sessions[1].begin(2).err().expect("there is none");
        assert_eq!(refused.message(), "a login has at most 3 exports, and this one 'ann' has them");
        assert!(sessions[0].hand_out(table().into()).is_err());
        held(Exports::new(10, other).begin(1).expect("another has its own"));
        drop(sessions[0].release(1));
        held(sessions[1].begin(2).expect("there is room again"));
        drop(sessions[1].close());
        assert_eq!(login.holds(What::Exports), 1);
    }

    #[test]
    fn a_session_that_ends_gives_its_tables_back() {
        let exports = Exports::new(10, Login::nobody());
        let weak = {
            let table = table();
            held(exports.begin(1).expect("a free number"));
            exports.define(1, Some(table.clone().into()));
            table.downgrade()
        };
        assert!(weak.upgrade().is_some());
        drop(exports.close());
        assert!(weak.upgrade().is_none());
        assert_eq!(code(now(exports.object(1))), Some(Code::Unauthenticated));
        assert_eq!(exports.begin(2).map(drop).map_err(|status| status.code()), Err(Code::Unauthenticated));
        assert_eq!(told(&mut exports.listen()), [(Bytes::from_static(b"e\0\0\0\0"), EXPORTED)]);
    }

    #[test]
    fn a_listener_hears_what_is_there_and_what_happens() {
        let exports = Exports::new(10, Login::nobody());
        held(exports.begin(1).expect("a free number"));
        let mut listener = exports.listen();
        exports.define(1, None);
        held(exports.begin(2).expect("a free number"));
        exports.define(2, Some(table().into()));
        drop(exports.release(2));
        let [none, one, two] = [0, 1, 2].map(|id| Named::Export(id).ticket());
        let all =
            [(&one, PENDING), (&none, EXPORTED), (&one, FAILED), (&two, PENDING), (&two, EXPORTED), (&two, RELEASED)];
        assert_eq!(told(&mut listener), all.map(|(ticket, state)| (ticket.clone(), state)));
    }

    #[test]
    fn a_listener_that_does_not_read_is_let_go() {
        let exports = Exports::new(WAITING * 2, Login::nobody());
        let listener = exports.listen();
        for id in 1..=WAITING as i32 + 1 {
            held(exports.begin(id).expect("a free number"));
        }
        assert!(exports.lock().listeners.is_empty());
        drop(listener);
    }

    #[test]
    fn a_number_whose_call_is_cut_off_has_failed() {
        let exports = Exports::new(10, Login::nobody());
        drop(exports.begin(3).expect("a free number"));
        assert_eq!(code(now(exports.object(3))), Some(Code::FailedPrecondition));
        exports.begin(4).expect("a free number").end(Some(table().into()));
        assert_eq!(code(now(exports.object(4))), Some(Code::Ok));
    }
}
