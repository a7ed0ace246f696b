//! One call from its headers to its answers: who calls is known before any service sees the call.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Request, Response};
use hyper::body::Incoming;
use tonic::Status;
use tonic::body::Body;

use crate::calls::{self, Call};
use crate::codes;
use crate::context::{Context, Shared};
use crate::frames::{Answers, drain, one, read, whole};
use crate::limits::Limits;
use crate::proto::{
    CompletionRequest, ConfigValue, Constants, Empty, FromTicket, HandshakeRequest, HandshakeResponse, ReleaseRequest,
    TerminationNotification, Ticket,
};
use crate::race::{First, first};
use crate::sessions::{Caller, Session, let_go};
use crate::tickets::{self, Named};
use crate::{
    console, counters, exchange, fields, flight, frames, logs, objects, partitions, sizes, storage, tables, web,
};

/// Answers one call.
pub(crate) async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let origin = match web::origin(&shared.origins, &parts.headers) {
        Ok(origin) => origin,
        Err(status) => {
            drain(body);
            return web::refused(status);
        }
    };
    if parts.method == http::Method::OPTIONS {
        drain(body);
        return web::allowed(origin.as_ref());
    }
    let Some(speech) = web::speech(&parts) else {
        drain(body);
        return web::refused(http::StatusCode::UNSUPPORTED_MEDIA_TYPE);
    };
    let mut response = called(shared, parts, body, speech).await;
    web::shown(&mut response, origin);
    response
}

async fn called(shared: Arc<Shared>, parts: Parts, body: Incoming, speech: web::Speech) -> Response<Body> {
    let Some((call, before_login)) = calls::behind(parts.uri.path()) else {
        drain(body);
        return web::failed(Status::unimplemented("there is no such call"), speech);
    };
    let caller = shared.sessions.caller(&parts.headers);
    let (session, new) = match caller {
        Ok(Caller { session, new }) => (Some(session), new),
        // Whoever brings no right may say so in the call; who has taken all there is for it is told, and whose code was used.
        Err(refused)
            if before_login && refused.code() == tonic::Code::Unauthenticated && !codes::is_refused(&refused) =>
        {
            (None, false)
        }
        Err(refused) => {
            drain(body);
            return web::failed(refused, speech);
        }
    };
    // A few bytes would be many.
    if parts.headers.get("grpc-encoding").is_some_and(|encoding| encoding != "identity") {
        drain(body);
        return web::failed(Status::unimplemented(frames::COMPRESSED), speech);
    }
    let token = session.as_ref().filter(|_| new).map(|session| format!("Bearer {}", session.token));
    let whose = session.clone();
    let run = while_open(whose, run(shared.clone(), call, session, body));
    let answers = if call.is_unary() {
        let late = |_| Err(Status::deadline_exceeded("the call took too long"));
        let time = if call == Call::ExecuteCommand { shared.limits.script } else { shared.limits.unary };
        tokio::time::timeout(time, run).await.unwrap_or_else(late)
    } else {
        run.await
    };
    let mut response = match answers {
        Ok(answers) => {
            let mut response = Response::new(Body::new(answers.spoken(speech)));
            response.headers_mut().insert("content-type", HeaderValue::from_static(speech.content_type()));
            response
        }
        Err(status) => web::failed(status, speech),
    };
    if let Some(token) = token.and_then(|token| HeaderValue::try_from(token).ok()) {
        response.headers_mut().insert("authorization", token);
    }
    response
}

/// A call that waits for its request, or for an export that was named before it exists, waits no longer than its session.
pub(crate) async fn while_open<T>(
    session: Option<Arc<Session>>,
    run: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    let Some(session) = session else { return run.await };
    match first(run, session.over()).await {
        First::Left(answers) => answers,
        First::Right(()) => Err(crate::sessions::refused()),
    }
}

async fn run(
    shared: Arc<Shared>,
    call: Call,
    session: Option<Arc<Session>>,
    body: Incoming,
) -> Result<Answers, Status> {
    let Some(session) = session else {
        return match call {
            Call::Handshake => flight::handshake(&shared, body).await,
            Call::GetAuthenticationConstants => {
                let _: Empty = one(body, &shared.limits).await?;
                Ok(Answers::once(&authentication()))
            }
            Call::GetConsoleTypes => {
                let _: Empty = one(body, &shared.limits).await?;
                Ok(Answers::once(&shared.consoles.types()))
            }
            _ => {
                drain(body);
                Err(Status::unauthenticated(""))
            }
        };
    };
    let context = Context { shared, session };
    match call {
        Call::Handshake => flight::shaken(&context, body).await,
        Call::DoPut => Ok(flight::put(context, body)),
        Call::DoExchange => Ok(exchange::exchange(context, body)),
        Call::MessageStream => Ok(objects::stream(context, body)),
        Call::AutoCompleteStream => Ok(console::complete(context, body)),
        _ => {
            let message = whole(body, &context.shared.limits).await?;
            asked(context, call, message).await
        }
    }
}

/// Answers a call of one message.
pub(crate) async fn asked(context: Context, call: Call, message: Bytes) -> Result<Answers, Status> {
    match call {
        Call::Handshake | Call::DoPut | Call::DoExchange | Call::MessageStream | Call::AutoCompleteStream => {
            Err(Status::unimplemented("this call is a stream of messages"))
        }
        Call::ListFlights => flight::list(&context, read(message)?).await,
        Call::GetFlightInfo => flight::info(&context, read(message)?).await,
        Call::PollFlightInfo => flight::poll(&context, read(message)?).await,
        Call::GetSchema => flight::schema(&context, read(message)?).await,
        Call::DoGet => flight::get(context, read(message)?).await,
        Call::DoAction => counters::act(&context, &read(message)?),
        Call::ListActions => {
            let _: Empty = read(message)?;
            Ok(counters::actions())
        }
        Call::NewSession | Call::RefreshSessionToken => {
            let request: HandshakeRequest = read(message)?;
            if request.auth_protocol != 0 {
                return Err(Status::invalid_argument("Protocol version not allowed."));
            }
            Ok(Answers::once(&handed(&context)))
        }
        Call::CloseSession => {
            let request: HandshakeRequest = read(message)?;
            let own = [format!("Bearer {}", context.session.token), context.session.token.clone(), String::new()];
            if !own.iter().any(|own| own.as_bytes() == request.payload) {
                return Err(Status::invalid_argument("a session can only close itself"));
            }
            context.shared.sessions.close(&context.session);
            Ok(Answers::once(&Empty {}))
        }
        Call::Release => {
            let request: ReleaseRequest = read(message)?;
            let Named::Export(id) = named("id", request.id)? else {
                return Err(Status::failed_precondition("only exports can be released"));
            };
            let_go(context.session.exports.release(id)?);
            Ok(Answers::once(&Empty {}))
        }
        Call::ExportFromTicket => {
            let request: FromTicket = read(message)?;
            let source = named("sourceId", request.source_id)?;
            let object = context.object("sourceId", source);
            context.exported(request.result_id.as_ref(), object).await?;
            Ok(Answers::once(&Empty {}))
        }
        Call::PublishFromTicket => {
            let request: FromTicket = read(message)?;
            let source = named("sourceId", request.source_id)?;
            let result = named("resultId", request.result_id)?;
            let is_export = matches!(source, Named::Export(_));
            let object = context.object("sourceId", source).await?;
            match result {
                Named::Shared(_) if !is_export => Err(Status::failed_precondition("only an export can be shared")),
                Named::Shared(name) => context.shared.catalog.publish(name, &object),
                Named::Scope(name) => {
                    let_go(context.shared.catalog.put(name, object.nameable()?));
                    Ok(())
                }
                _ => Err(Status::failed_precondition("resultId must be a shared ticket or one of the scope")),
            }?;
            Ok(Answers::once(&Empty {}))
        }
        Call::ExportNotifications => {
            let _: Empty = read(message)?;
            Ok(Answers::stream(context.session.exports.listen()))
        }
        Call::TerminationNotification => {
            let _: Empty = read(message)?;
            match first(context.session.over(), context.shared.stopped()).await {
                First::Left(()) => Err(crate::sessions::refused()),
                First::Right(()) => {
                    let reason = "the server was stopped".to_owned();
                    Ok(Answers::once(&TerminationNotification { reason, ..TerminationNotification::default() }))
                }
            }
        }
        Call::GetAuthenticationConstants => {
            let _: Empty = read(message)?;
            Ok(Answers::once(&authentication()))
        }
        Call::GetConfigurationConstants => {
            let _: Empty = read(message)?;
            Ok(Answers::once(&configuration(&context.shared.limits)))
        }
        Call::Operation(number) => tables::one(&context, number, message).await,
        Call::Batch => tables::batch(context, read(message)?).await,
        Call::GetExportedTableCreationResponse => tables::told(&context, read(message)?).await,
        Call::AddTableToInputTable => {
            tables::add(&context, read(message)?).await?;
            Ok(Answers::once(&Empty {}))
        }
        Call::DeleteTableFromInputTable => {
            tables::delete(&context, read(message)?).await?;
            Ok(Answers::once(&Empty {}))
        }
        Call::ExportedTableUpdates => {
            let _: Empty = read(message)?;
            Ok(sizes::follow(context))
        }
        Call::SeekRow => tables::seek(&context, read(message)?).await,
        Call::PartitionBy => partitions::partition_by(&context, read(message)?).await,
        Call::MergePartitions => partitions::merge(&context, read(message)?).await,
        Call::GetPartition => partitions::constituent(&context, read(message)?).await,
        Call::FetchObject => objects::fetch(&context, read(message)?).await,
        Call::ListFields => {
            let _: Empty = read(message)?;
            Ok(fields::list(context))
        }
        Call::GetConsoleTypes => {
            let _: Empty = read(message)?;
            Ok(Answers::once(&context.shared.consoles.types()))
        }
        Call::StartConsole => console::start(&context, read(message)?).await,
        Call::ExecuteCommand => console::execute(&context, read(message)?).await,
        Call::CancelCommand => console::cancel(&context, read(message)?).await,
        Call::SubscribeToLogs => Ok(logs::follow(context, read(message)?)),
        Call::CancelAutoComplete => {
            let _: CompletionRequest = read(message)?;
            Ok(Answers::once(&Empty {}))
        }
        Call::BindTableToVariable => {
            console::bind(&context, read(message)?).await?;
            Ok(Answers::once(&Empty {}))
        }
        Call::ListItems => storage::list(&context, read(message)?).await,
        Call::FetchFile => storage::fetch(&context, read(message)?).await,
        Call::SaveFile => storage::save(&context, read(message)?).await,
        Call::MoveItem => storage::rename(&context, read(message)?).await,
        Call::CreateDirectory => storage::create(&context, read(message)?).await,
        Call::DeleteItem => storage::delete(&context, read(message)?).await,
    }
}

fn named(what: &str, ticket: Option<Ticket>) -> Result<Named, Status> {
    tickets::of_ticket(what, &ticket.unwrap_or_default().ticket)
}

fn handed(context: &Context) -> HandshakeResponse {
    let delay = context.shared.limits.session.as_millis() as i64;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as i64;
    HandshakeResponse {
        metadata_header: Bytes::from_static(b"authorization"),
        session_token: format!("Bearer {}", context.session.token).into(),
        token_deadline_time_millis: now.saturating_add(delay),
        token_expiration_delay_millis: delay,
    }
}

fn constants<const N: usize>(known: [(&str, String); N]) -> Constants {
    let value = |(name, value): (&str, String)| (name.to_owned(), ConfigValue { string_value: Some(value) });
    Constants { config_values: HashMap::from(known.map(value)) }
}

fn authentication() -> Constants {
    constants([(
        "AuthHandlers",
        "io.deephaven.auth.AnonymousAuthenticationHandler,io.deephaven.authentication.psk.PskAuthenticationHandler"
            .to_owned(),
    )])
}

fn configuration(limits: &Limits) -> Constants {
    constants([
        ("http.session.durationMs", limits.session.as_millis().to_string()),
        ("barrage.version", "1.0.0".to_owned()),
        ("deephaven.version", "42.7".to_owned()),
        ("tickframe.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("file.separator", "/".to_owned()),
        ("web.flattenViewports", "false".to_owned()),
    ])
}
