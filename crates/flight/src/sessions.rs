//! Who calls: credentials, sessions, and their end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use tokio::sync::watch;
use tonic::Status;

use crate::catalog::Object;
use crate::codes::{self, CodeError, Codes, equal};
use crate::exports::Exports;
use crate::limits::Limits;
use crate::lines::Logs;
use crate::logins::{Lease, Login, What};
use crate::trouble::random;
use graph::lock;

/// Who may call.
#[derive(Clone)]
pub enum Access {
    /// Whoever sends one of these tokens, in any of the forms in which clients send one: a name for each, and the token.
    Tokens(Vec<(String, String)>),
    /// Anybody.
    Anybody,
}

impl Access {
    /// How many are told from each other.
    pub(crate) fn logins(&self) -> usize {
        match self {
            Access::Tokens(tokens) => tokens.len(),
            Access::Anybody => 1,
        }
    }
}

pub(crate) const PSK: &str = "io.deephaven.authentication.psk.PskAuthenticationHandler";
const COOKIE: &str = "deephaven-auth-cookie";
const TOKEN_HEADER: &str = "auth-token-bin";

/// What is said to whoever has no right, whatever was wrong.
pub(crate) fn refused() -> Status {
    Status::unauthenticated("Authentication details invalid")
}

/// A login, and what it holds.
pub(crate) struct Session {
    pub(crate) token: String,
    /// Whose it is.
    pub(crate) login: Arc<Login>,
    pub(crate) exports: Exports,
    /// What its scripts have said.
    pub(crate) logs: Logs,
    /// True once it is over.
    pub(crate) closed: watch::Sender<bool>,
    last: Mutex<Instant>,
    /// Its place among the sessions of its login, until it is over.
    place: Mutex<Option<Lease>>,
}

impl Session {
    fn new(login: &Arc<Login>, place: Option<Lease>, token: String, limits: &Limits) -> Arc<Session> {
        Arc::new(Session {
            token,
            login: login.clone(),
            exports: Exports::new(limits.exports, login.clone()),
            logs: Logs::default(),
            closed: watch::Sender::new(false),
            last: Mutex::new(Instant::now()),
            place: Mutex::new(place),
        })
    }

    fn idle(&self, now: Instant) -> Duration {
        now.saturating_duration_since(*lock(&self.last))
    }

    /// Comes back when the session is over.
    pub(crate) async fn over(&self) {
        // The sender is in the session: it cannot be gone.
        _ = self.closed.subscribe().wait_for(|closed| *closed).await;
    }

    fn close(&self) -> Vec<Object> {
        self.closed.send_replace(true);
        lock(&self.place).take();
        self.exports.close()
    }
}

/// One who may call.
struct Member {
    /// What it sends; nothing where nothing is asked.
    token: Option<String>,
    login: Arc<Login>,
    /// The session of its calls that bring no session's token.
    plain: Mutex<Option<Arc<Session>>>,
}

/// All sessions of a server.
pub(crate) struct Sessions {
    known: Vec<Member>,
    limits: Limits,
    held: Mutex<HashMap<String, Arc<Session>>>,
    codes: Codes,
}

/// 128 random bits of the system, as text.
pub(crate) fn drawn() -> Result<String, getrandom::Error> {
    let hex = random::<16>()?;
    Ok(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}

/// Who calls, and whether the session was made for this call.
pub(crate) struct Caller {
    pub(crate) session: Arc<Session>,
    pub(crate) new: bool,
}

impl Sessions {
    pub(crate) fn new(access: Access, limits: Limits) -> Sessions {
        let one = |name: String, token| Member { token, login: Login::new(name, &limits), plain: Mutex::default() };
        let known = match access {
            Access::Anybody => vec![one(String::new(), None)],
            Access::Tokens(tokens) => tokens.into_iter().map(|(name, token)| one(name, Some(token))).collect(),
        };
        Sessions { known, codes: Codes::new(&limits), limits, held: Mutex::default() }
    }

    /// A code that opens one session of a login, in any form in which a token does.
    pub(crate) fn code(&self, login: &str) -> Result<String, CodeError> {
        if self.anybody().is_some() {
            return Err(CodeError::Nobody);
        }
        let Some(member) = self.logins().position(|known| known.name() == login) else {
            return Err(CodeError::Login(
                login.to_owned(),
                self.logins().map(|known| known.name().to_owned()).collect(),
            ));
        };
        self.codes.draw(member)
    }

    /// All who may call.
    pub(crate) fn logins(&self) -> impl Iterator<Item = &Login> + Clone {
        self.known.iter().map(|known| &*known.login)
    }

    /// Who calls with these headers.
    pub(crate) fn caller(&self, headers: &HeaderMap) -> Result<Caller, Status> {
        let text = |name: &str| headers.get(name).map(|value| value.to_str().map_err(|_| refused())).transpose();
        if let Some(token) = text(TOKEN_HEADER)? {
            let padded = token.trim_end_matches('=');
            let engine = base64::engine::general_purpose::STANDARD_NO_PAD;
            let token = String::from_utf8(engine.decode(padded).map_err(|_| refused())?).map_err(|_| refused())?;
            return self.known(&token);
        }
        if let Some(cookies) = text("cookie")? {
            let cookie = cookies.split(';').find_map(|cookie| cookie.trim().strip_prefix(COOKIE)?.strip_prefix('='));
            if let Some(token) = cookie {
                return self.known(token);
            }
        }
        match text("authorization")? {
            Some(credential) => self.credential(credential),
            None => match self.anybody() {
                Some(member) => self.plain(member),
                None => Err(Status::unauthenticated("")),
            },
        }
    }

    /// Who brings this, as a header has it.
    pub(crate) fn credential(&self, credential: &str) -> Result<Caller, Status> {
        let credential = credential.trim();
        let (kind, payload) = credential.split_once(' ').unwrap_or((credential, ""));
        let payload = payload.trim();
        if !kind.eq_ignore_ascii_case("bearer") {
            return self.login(kind, payload);
        }
        match payload.split_once(' ') {
            Some((kind, payload)) => self.login(kind, payload),
            None if payload == "Anonymous" => self.login(payload, ""),
            None => match self.known(payload) {
                Ok(known) => Ok(known),
                // Anybody's word is as good as a token, but a session that is over stays over.
                Err(over) => match self.admits(payload).filter(|member| member.token.is_some()) {
                    Some(member) => self.plain(member),
                    None if codes::is_code(payload) => self.admitted(payload).and_then(|member| self.open(member)),
                    None => Err(over),
                },
            },
        }
    }

    /// Where nothing is asked, all are one.
    fn anybody(&self) -> Option<&Member> {
        self.known.first().filter(|member| member.token.is_none())
    }

    /// Whose token this is. All of them are looked at, whichever it is.
    fn admits(&self, secret: &str) -> Option<&Member> {
        let has = |member: &&Member| member.token.as_deref().is_none_or(|token| equal(token, secret));
        self.known.iter().filter(has).fold(None, |found, member| found.or(Some(member)))
    }

    /// Whose token this is, or whom the code lets in.
    fn admitted(&self, secret: &str) -> Result<&Member, Status> {
        match self.admits(secret) {
            Some(member) => Ok(member),
            None if codes::is_code(secret) => {
                self.codes.redeem(secret).and_then(|at| self.known.get(at)).ok_or_else(codes::refused)
            }
            None => Err(refused()),
        }
    }

    fn login(&self, kind: &str, payload: &str) -> Result<Caller, Status> {
        let member = if kind == PSK {
            self.admitted(payload)
        } else if kind.eq_ignore_ascii_case("basic") {
            let decoded = STANDARD.decode(payload).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            let secret = decoded.as_deref().and_then(|text| text.split_once(':'));
            secret.map_or_else(|| Err(refused()), |(_, password)| self.admitted(password))
        } else {
            self.anybody().filter(|_| kind == "Anonymous").ok_or_else(refused)
        };
        self.open(member?)
    }

    /// Who has this name and password.
    pub(crate) fn password(&self, password: &str) -> Result<Caller, Status> {
        self.admitted(password).and_then(|member| self.open(member))
    }

    fn open(&self, member: &Member) -> Result<Caller, Status> {
        self.sweep();
        let token = drawn().map_err(|_| Status::unavailable("the system has no random numbers"))?;
        let place = member.login.take(What::Sessions, 1)?;
        let session = Session::new(&member.login, Some(place), token.clone(), &self.limits);
        let mut held = lock(&self.held);
        if held.len() >= self.limits.sessions {
            return Err(Status::resource_exhausted(format!("there are {} sessions already", held.len())));
        }
        held.insert(token, session.clone());
        Ok(Caller { session, new: true })
    }

    fn plain(&self, member: &Member) -> Result<Caller, Status> {
        let mut plain = lock(&member.plain);
        if let Some(session) = plain.as_ref().filter(|session| !*session.closed.borrow()) {
            return Ok(Caller { session: session.clone(), new: false });
        }
        let token = drawn().map_err(|_| Status::unavailable("the system has no random numbers"))?;
        let session = plain.insert(Session::new(&member.login, None, token, &self.limits)).clone();
        Ok(Caller { session, new: false })
    }

    fn known(&self, token: &str) -> Result<Caller, Status> {
        let session = lock(&self.held).get(token).cloned().ok_or_else(refused)?;
        let now = Instant::now();
        if session.idle(now) > self.limits.session {
            self.close(&session);
            return Err(refused());
        }
        *lock(&session.last) = now;
        Ok(Caller { session, new: false })
    }

    /// Ends a session; nothing of it is left.
    pub(crate) fn close(&self, session: &Session) {
        lock(&self.held).remove(&session.token);
        let tables = session.close();
        let_go(tables);
    }

    /// Ends the sessions that nobody used for long enough.
    pub(crate) fn sweep(&self) {
        let now = Instant::now();
        let idle: Vec<Arc<Session>> =
            lock(&self.held).values().filter(|session| session.idle(now) > self.limits.session).cloned().collect();
        idle.iter().for_each(|session| self.close(session));
    }

    pub(crate) fn close_all(&self) {
        let plain = self.known.iter().filter_map(|member| lock(&member.plain).take());
        let all: Vec<Arc<Session>> = lock(&self.held).values().cloned().chain(plain).collect();
        all.iter().for_each(|session| self.close(session));
    }

    pub(crate) fn count(&self) -> usize {
        lock(&self.held).len()
    }
}

/// Drops tables where it may wait: the last handle of a table takes the lock of its graph.
pub(crate) fn let_go<T: Send + 'static>(held: T) {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(move || drop(held))),
        Err(_) => drop(held),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(http::HeaderName::from_static(name), value.parse().expect("a header"))])
    }

    fn sessions(limits: Limits) -> Sessions {
        Sessions::new(Access::Tokens(vec![("ann".into(), "secret".into()), ("bob".into(), "other".into())]), limits)
    }

    #[test]
    fn each_form_of_the_token_opens_a_session() {
        let sessions = sessions(Limits::default());
        let basic = format!("Basic {}", STANDARD.encode("anybody:secret"));
        for form in [format!("{PSK} secret"), format!("Bearer {PSK} secret"), basic] {
            let caller = sessions.caller(&headers("authorization", &form)).unwrap_or_else(|_| panic!("{form}"));
            assert!(caller.new);
            let bearer = format!("Bearer {}", caller.session.token);
            let coded = STANDARD.encode(&caller.session.token);
            let cookie = format!("a=b; {COOKIE}={}", caller.session.token);
            for (name, value) in [("authorization", &bearer), (TOKEN_HEADER, &coded), ("cookie", &cookie)] {
                let again = sessions.caller(&headers(name, value)).unwrap_or_else(|_| panic!("{name}"));
                assert!(Arc::ptr_eq(&again.session, &caller.session) && !again.new);
            }
        }
        let plain = sessions.caller(&headers("authorization", "Bearer secret")).expect("the token itself");
        assert!(!plain.new);
        let other = sessions.caller(&headers("authorization", "Bearer other")).expect("another's token");
        assert!(!Arc::ptr_eq(&plain.session, &other.session));
    }

    #[test]
    fn a_code_opens_one_session_in_each_form_of_a_token() {
        let sessions = sessions(Limits::default());
        let code = |login: &str| sessions.code(login).expect("there is room");
        let basic = |code: &str| format!("Basic {}", STANDARD.encode(format!("page:{code}")));
        let forms: [&dyn Fn(&str) -> String; 4] = [
            &|code| format!("Bearer {code}"),
            &|code| format!("{PSK} {code}"),
            &|code| format!("Bearer {PSK} {code}"),
            &basic,
        ];
        for form in forms {
            for login in ["ann", "bob"] {
                let form = form(&code(login));
                let caller = sessions.credential(&form).unwrap_or_else(|_| panic!("{form}"));
                assert!(caller.new && caller.session.login.name() == login);
                let again = sessions.credential(&form).err().expect("it was used");
                assert_eq!((again.code(), again.message()), (refused().code(), codes::refused().message()));
                // The session goes on by its own token.
                assert!(sessions.credential(&format!("Bearer {}", caller.session.token)).is_ok());
            }
        }
        assert!(sessions.password(&code("ann")).is_ok_and(|caller| caller.new));
        // In no other place.
        for (name, value) in
            [(TOKEN_HEADER, STANDARD.encode(code("ann"))), ("cookie", format!("{COOKIE}={}", code("ann")))]
        {
            assert_eq!(sessions.caller(&headers(name, &value)).err().map(|no| no.code()), Some(refused().code()));
        }
        let unknown = sessions.code("eve").expect_err("nobody is called so").to_string();
        assert_eq!(unknown, r#"there is no login "eve"; the logins are ["ann", "bob"]"#);
        let open = Sessions::new(Access::Anybody, Limits::default());
        assert!(matches!(open.code(""), Err(CodeError::Nobody)));
    }

    #[test]
    fn a_code_that_is_too_old_lets_nobody_in() {
        let sessions = sessions(Limits { code: Duration::from_millis(20), ..Limits::default() });
        let code = sessions.code("ann").expect("there is room");
        std::thread::sleep(Duration::from_millis(40));
        let refused = sessions.credential(&format!("Bearer {code}")).err().expect("it is too old");
        assert!(refused.message().contains("too old"), "{refused}");
        assert_eq!(sessions.count(), 0);
    }

    #[test]
    fn who_opens_all_sessions_there_are_for_it_leaves_others_theirs() {
        let sessions = sessions(Limits { login_sessions: 3, ..Limits::default() });
        let [mine, theirs] = ["secret", "other"].map(|token| format!("{PSK} {token}"));
        let held: Vec<_> = (0..3).map(|_| sessions.credential(&mine).expect("there is room").session).collect();
        let refused = sessions.credential(&mine).err().expect("there is none");
        assert_eq!(refused.message(), "a login has at most 3 sessions, and this one 'ann' has them");
        assert!(sessions.credential(&theirs).is_ok());
        // Calls that bring the token itself are one session, which is always there.
        assert!(sessions.credential("Bearer secret").is_ok());
        sessions.close(&held[0]);
        assert!(sessions.credential(&mine).is_ok());
    }

    #[test]
    fn anything_else_opens_none() {
        let sessions = sessions(Limits::default());
        let wrong = STANDARD.encode("secret:wrong");
        let forms = [
            "",
            "Anonymous",
            "Bearer",
            "Bearer ",
            "Bearer Anonymous",
            "Bearer wrong",
            "Basic",
            "Basic !",
            "secret",
            PSK,
        ];
        let forms = forms.into_iter().map(str::to_owned).chain([
            format!("{PSK} secre"),
            format!("{PSK} secret2"),
            format!("Basic {wrong}"),
            format!("Bearer {}", drawn().expect("random")),
        ]);
        for form in forms {
            let refused = sessions.caller(&headers("authorization", &form)).err().unwrap_or_else(|| panic!("{form:?}"));
            assert_eq!(refused.code(), tonic::Code::Unauthenticated);
        }
        assert!(sessions.caller(&HeaderMap::new()).is_err());
        assert_eq!(sessions.count(), 0);
    }

    #[test]
    fn a_session_ends_when_it_is_closed_and_when_it_idles() {
        let limits = Limits { session: Duration::from_millis(30), sessions: 1, ..Limits::default() };
        let sessions = sessions(limits);
        let form = format!("{PSK} secret");
        let first = sessions.credential(&form).expect("a session").session;
        assert_eq!(sessions.credential(&form).err().map(|error| error.code()), Some(tonic::Code::ResourceExhausted));
        sessions.close(&first);
        assert!(sessions.credential(&format!("Bearer {}", first.token)).is_err());
        let second = sessions.credential(&form).expect("there is room again").session;
        std::thread::sleep(Duration::from_millis(60));
        assert!(sessions.credential(&format!("Bearer {}", second.token)).is_err());
        assert_eq!(sessions.count(), 0);
    }
}
