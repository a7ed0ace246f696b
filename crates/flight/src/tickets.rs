//! What a ticket names, as bytes and as the path of a descriptor.

use bytes::Bytes;
use tonic::Status;

use crate::proto::FlightDescriptor;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// An export of the caller's session.
    Export(i32),
    /// A table that all sessions see.
    Scope(String),
    /// A field of an application.
    Field(String, String),
    /// What somebody published under bytes of their own.
    Shared(Bytes),
    /// For a resolver of the user's.
    Other(String),
}

const PATH: i32 = 1;

/// What these bytes name; `what` is the argument, for the message.
pub(crate) fn of_ticket(what: &str, ticket: &Bytes) -> Result<Named, Status> {
    let malformed = |why: &str| Status::failed_precondition(format!("Could not resolve '{what}': {why}"));
    let text = |bytes: &[u8]| {
        let text = std::str::from_utf8(bytes).map_err(|_| malformed("a name is not UTF-8"))?;
        if text.is_empty() { Err(malformed("the name is empty")) } else { Ok(text.to_owned()) }
    };
    match ticket.first() {
        None => Err(malformed("no ticket supplied")),
        Some(b'e') => {
            let bytes: [u8; 4] =
                ticket[1..].try_into().map_err(|_| malformed("an export's ticket has exactly 5 bytes"))?;
            Ok(Named::Export(i32::from_le_bytes(bytes)))
        }
        Some(b'h') => Ok(Named::Shared(ticket.slice(1..))),
        Some(b's') if ticket.get(1) == Some(&b'/') => Ok(Named::Scope(text(&ticket[2..])?)),
        Some(b'a') if ticket.get(1) == Some(&b'/') => {
            let rest = text(&ticket[2..])?;
            let (app, field) = rest.split_once("/f/").ok_or_else(|| malformed("expected a/<application>/f/<field>"))?;
            Ok(Named::Field(app.to_owned(), field.to_owned()))
        }
        Some(_) => text(ticket).map(Named::Other),
    }
}

/// What a descriptor names. Whoever asks by a path is told the ticket and a path of what it named: none may be another's.
pub(crate) fn of_descriptor(what: &str, descriptor: Option<&FlightDescriptor>) -> Result<Named, Status> {
    let descriptor = descriptor.ok_or_else(|| Status::invalid_argument(format!("{what}: no descriptor supplied")))?;
    if descriptor.kind != PATH {
        return Err(Status::invalid_argument(format!("{what}: a descriptor must be a path; commands are not known")));
    }
    let malformed = |why: &str| Status::failed_precondition(format!("Could not resolve '{what}': {why}"));
    let named = of_path(&descriptor.path).map_err(malformed)?;
    let by_ticket = of_ticket(what, &named.ticket()).is_ok_and(|other| other == named);
    let by_path = of_path(&named.descriptor().path).is_ok_and(|other| other == named);
    if by_ticket && by_path { Ok(named) } else { Err(malformed("its ticket would name something else")) }
}

/// What a path names. One of one step is a table of the scope.
fn of_path(path: &[String]) -> Result<Named, &'static str> {
    let steps: Vec<&str> = path.iter().map(String::as_str).collect();
    match steps[..] {
        [] => Err("the path is empty"),
        ["export", number] => number.parse().map(Named::Export).map_err(|_| "an export is named by a whole number"),
        ["scope", name] | [name] => Ok(Named::Scope(name.to_owned())),
        ["app", app, "field", field] => Ok(Named::Field(app.to_owned(), field.to_owned())),
        ["shared", hex] => from_hex(hex).map(Named::Shared).ok_or("a shared name is hexadecimal"),
        _ => Ok(Named::Other(steps.join("/"))),
    }
}

fn from_hex(text: &str) -> Option<Bytes> {
    let digits: Option<Vec<u8>> = text.chars().map(|digit| Some(digit.to_digit(16)? as u8)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

impl Named {
    /// The bytes that name it.
    pub(crate) fn ticket(&self) -> Bytes {
        match self {
            Named::Export(id) => [b"e".as_slice(), &id.to_le_bytes()].concat().into(),
            Named::Scope(name) => format!("s/{name}").into(),
            Named::Field(app, field) => format!("a/{app}/f/{field}").into(),
            Named::Shared(bytes) => [b"h".as_slice(), bytes].concat().into(),
            Named::Other(text) => text.clone().into(),
        }
    }

    /// The path that names it.
    pub(crate) fn descriptor(&self) -> FlightDescriptor {
        let path = match self {
            Named::Export(id) => vec!["export".into(), id.to_string()],
            Named::Scope(name) => vec!["scope".into(), name.clone()],
            Named::Field(app, field) => vec!["app".into(), app.clone(), "field".into(), field.clone()],
            Named::Shared(bytes) => {
                vec!["shared".into(), bytes.iter().map(|byte| format!("{byte:02x}")).collect()]
            }
            Named::Other(text) => text.split('/').map(str::to_owned).collect(),
        };
        FlightDescriptor { kind: PATH, cmd: Bytes::new(), path }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_and_paths_name_alike() {
        let all = [
            Named::Export(1),
            Named::Export(i32::MAX),
            Named::Export(-2),
            Named::Scope("trades".into()),
            Named::Scope("a b/ü".into()),
            Named::Field("risk".into(), "exposure".into()),
            Named::Shared(Bytes::from_static(&[0, 255, 16])),
            Named::Other("db/x/y".into()),
        ];
        for named in all {
            assert_eq!(of_ticket("t", &named.ticket()).ok(), Some(named.clone()));
            assert_eq!(of_descriptor("t", Some(&named.descriptor())).ok(), Some(named));
        }
        assert_eq!(Named::Export(1).ticket(), &b"e\x01\0\0\0"[..]);
        let one = FlightDescriptor { kind: PATH, cmd: Bytes::new(), path: vec!["trades".into()] };
        assert_eq!(of_descriptor("t", Some(&one)).ok(), Some(Named::Scope("trades".into())));
    }

    #[test]
    fn no_path_is_answered_with_the_ticket_of_something_else() {
        let paths: [&[&str]; 9] = [
            &["scope", ""],
            &[""],
            &["s", "trades"],
            &["h", "x"],
            &["e", "abc"],
            &["a", "x", "f", "y"],
            &["app", "a/f/b", "field", "c"],
            &["app/a", "field", "c"],
            &["scope/a", ""],
        ];
        for path in paths {
            let path = path.iter().map(|step| (*step).to_owned()).collect();
            let descriptor = FlightDescriptor { kind: PATH, cmd: Bytes::new(), path };
            if let Ok(named) = of_descriptor("t", Some(&descriptor)) {
                assert_eq!(of_ticket("t", &named.ticket()).ok(), Some(named.clone()), "{descriptor:?}");
                assert_eq!(of_descriptor("t", Some(&named.descriptor())).ok(), Some(named), "{descriptor:?}");
            }
        }
    }

    #[test]
    fn any_bytes_are_a_name_or_an_error() {
        let wrong: [&[u8]; 8] = [b"", b"e", b"e\0\0\0", b"e\0\0\0\0\0", b"s/", b"a/", b"a/x", b"\xff\xfe"];
        for ticket in wrong {
            let refused = of_ticket("t", &Bytes::copy_from_slice(ticket)).expect_err("it names nothing");
            assert_eq!(refused.code(), tonic::Code::FailedPrecondition);
        }
        for path in [vec![], vec!["export", "x"], vec!["export", "99999999999"], vec!["shared", "0"]] {
            let path = path.into_iter().map(str::to_owned).collect();
            assert!(of_descriptor("t", Some(&FlightDescriptor { kind: 1, cmd: Bytes::new(), path })).is_err());
        }
        assert!(of_descriptor("t", None).is_err());
    }
}
