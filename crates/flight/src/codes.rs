//! Codes that let somebody in once: what a browser is given in place of the token.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use graph::lock;
use tonic::Status;

use crate::limits::Limits;
use crate::trouble::random;

/// What codes begin with; a token that does is a token all the same.
const MARK: &str = "once-";

/// Why there is no code.
#[derive(Debug, thiserror::Error)]
pub enum CodeError {
    /// Anybody may call.
    #[error("the server asks nobody for a token, and so nobody for a code")]
    Nobody,
    /// Nobody has this name.
    #[error("there is no login {0:?}; the logins are {1:?}")]
    Login(String, Vec<String>),
    /// So many wait already.
    #[error("{0} codes wait to be used already")]
    Many(usize),
    /// The system gives no random numbers.
    #[error("the system has no random numbers")]
    Random,
}

struct Code {
    text: String,
    /// Whom it lets in, by the place among those who may call.
    member: usize,
    until: Instant,
}

/// The codes that wait.
pub(crate) struct Codes {
    waiting: Mutex<Vec<Code>>,
    most: usize,
    life: Duration,
}

/// Takes as long for wrong text as for right text of the same length.
pub(crate) fn equal(left: &str, right: &str) -> bool {
    let differ = left.bytes().zip(right.bytes()).fold(0, |all, (left, right)| all | (left ^ right));
    left.len() == right.len() && std::hint::black_box(differ) == 0
}

/// Whether somebody means to bring a code.
pub(crate) fn is_code(text: &str) -> bool {
    text.starts_with(MARK)
}

/// What is said of a code that lets nobody in.
pub(crate) fn refused() -> Status {
    Status::unauthenticated("this code lets nobody in: it was used, or is too old; each lets in once")
}

/// Whether this was said of a code.
pub(crate) fn is_refused(status: &Status) -> bool {
    status.message() == refused().message()
}

impl Codes {
    pub(crate) fn new(limits: &Limits) -> Codes {
        Codes { waiting: Mutex::default(), most: limits.codes, life: limits.code }
    }

    /// A new code, of 128 random bits of the system.
    pub(crate) fn draw(&self, member: usize) -> Result<String, CodeError> {
        let text = format!("{MARK}{}", random::<16>().map_err(|_| CodeError::Random)?);
        let now = Instant::now();
        let mut waiting = lock(&self.waiting);
        waiting.retain(|code| code.until > now);
        if waiting.len() >= self.most {
            return Err(CodeError::Many(waiting.len()));
        }
        waiting.push(Code { text: text.clone(), member, until: now + self.life });
        Ok(text)
    }

    /// Whom a code lets in, which it does not again. All that wait are looked at, whichever it is.
    pub(crate) fn redeem(&self, text: &str) -> Option<usize> {
        let now = Instant::now();
        let mut waiting = lock(&self.waiting);
        waiting.retain(|code| code.until > now);
        let same = waiting.iter().map(|code| equal(&code.text, text)).collect::<Vec<bool>>();
        let at = same.iter().enumerate().fold(None, |found, (at, same)| if *same { Some(at) } else { found });
        at.map(|at| waiting.swap_remove(at).member)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn each_lets_in_once() {
        let codes = Codes::new(&Limits::default());
        let drawn: Vec<String> = (0..8).map(|member| codes.draw(member).expect("there is room")).collect();
        for (member, code) in drawn.iter().enumerate().rev() {
            assert!(is_code(code) && code.len() == MARK.len() + 32, "{code}");
            for wrong in ["", MARK, &code[..code.len() - 1], &format!("{code}0"), &code.to_uppercase()] {
                assert_eq!(codes.redeem(wrong), None);
            }
            assert_eq!(codes.redeem(code), Some(member));
            assert_eq!(codes.redeem(code), None);
        }
        let unlike: std::collections::BTreeSet<String> = drawn.into_iter().collect();
        assert_eq!(unlike.len(), 8);
    }

    #[test]
    fn no_more_wait_than_may_and_none_for_long() {
        let codes = Codes::new(&Limits { codes: 2, code: Duration::from_millis(40), ..Limits::default() });
        let first = codes.draw(0).expect("there is room");
        let second = codes.draw(0).expect("there is room");
        assert!(matches!(codes.draw(0), Err(CodeError::Many(2))));
        assert_eq!(codes.redeem(&second), Some(0));
        codes.draw(0).expect("there is room again");
        std::thread::sleep(Duration::from_millis(60));
        assert_eq!(codes.redeem(&first), None);
        // What is too old takes no room.
        assert!(codes.draw(0).is_ok() && codes.draw(0).is_ok());
    }

    #[test]
    fn of_many_who_bring_one_at_once_one_is_let_in() {
        let codes = Codes::new(&Limits::default());
        for _ in 0..200 {
            let (code, in_) = (codes.draw(3).expect("there is room"), AtomicUsize::new(0));
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| in_.fetch_add(usize::from(codes.redeem(&code).is_some()), Ordering::Relaxed));
                }
            });
            assert_eq!(in_.into_inner(), 1);
        }
    }
}
