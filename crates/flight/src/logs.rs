//! Lines that scripts of a login have said, for those of its calls that ask.

use tonic::Status;

use crate::context::Context;
use crate::frames::{Answers, answered, framed};
use crate::lines::Line;
use crate::pace::over;
use crate::proto::{LogMessage, SubscribeToLogs};
use crate::race::{First, first};

/// Messages that wait for a client to read.
const AHEAD: usize = 4;

/// The lines that there are, then those that come.
pub(crate) fn follow(context: Context, of: SubscribeToLogs) -> Answers {
    answered(AHEAD, |send| async move {
        let logs = &context.session.logs;
        let mut changed = logs.changed.subscribe();
        let mut next = 0;
        loop {
            changed.mark_unchanged();
            let (first_line, lines) = logs.since(next);
            let more = !lines.is_empty();
            next = first_line + lines.len() as u64;
            let wanted = |line: &Line| {
                line.micros > of.last_seen_log_timestamp
                    && (of.levels.is_empty() || of.levels.iter().any(|level| level == line.level.name()))
            };
            for line in lines.into_iter().filter(wanted) {
                let Line { micros, level, text } = line;
                let message = framed(&LogMessage { micros, log_level: level.name().to_owned(), message: text });
                match first(send.send(Ok(message)), over(&context)).await {
                    First::Left(Ok(())) => {}
                    First::Left(Err(_)) => return Ok(()),
                    First::Right(status) => return Err::<(), Status>(status),
                }
            }
            if more {
                continue;
            }
            let quiet = async { first(send.closed(), over(&context)).await };
            match first(changed.changed(), quiet).await {
                First::Left(Ok(())) => {}
                First::Left(Err(_)) | First::Right(First::Left(())) => return Ok(()),
                First::Right(First::Right(status)) => return Err(status),
            }
        }
    })
}
