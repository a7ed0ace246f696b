//! Who is let in: whoever brings what is known, in any of its forms, and nobody else, whatever else is brought.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use bytes::Bytes;
use flight::Access;
use flight::testing::credentials::{Door, Guest};
use http::{HeaderMap, HeaderName, HeaderValue};
use prost::encoding::encode_varint;
use tonic::{Code, Status};

use super::reader::Reader;

/// Who may come in, and what each of them brings.
const KNOWN: [(&str, &str); 3] = [("ann", "correct-horse"), ("bob", "battery:staple"), ("eve", "correct-horsf")];
const NAMES: [&str; 5] = ["authorization", "auth-token-bin", "cookie", "x-deephaven-session", "authentication"];
const PSK: &str = "io.deephaven.authentication.psk.PskAuthenticationHandler";
/// What headers are made of.
const PARTS: [&str; 16] = [
    "Bearer ",
    "bearer ",
    "Basic ",
    "bASIC ",
    PSK,
    "Anonymous",
    "deephaven-auth-cookie=",
    "a=b; ",
    ";",
    " ",
    ":",
    "=",
    ",",
    "user:",
    "\t",
    "Bearer Bearer ",
];
const REFUSED: &str = "Authentication details invalid";
/// Callers of one case.
const CALLERS: usize = 12;

/// What lets somebody in: the words of a login, and the tokens of its open sessions.
struct Key {
    words: Vec<String>,
    whose: Guest,
}

/// The header that brings a secret in one of the forms that clients have for it.
fn form(which: usize, secret: &str) -> (&'static str, String) {
    let basic = STANDARD.encode(format!("anybody:{secret}"));
    match which {
        0 => ("authorization", format!("{PSK} {secret}")),
        1 => ("authorization", format!("Bearer {PSK} {secret}")),
        2 => ("authorization", format!("bAsIc {basic}")),
        3 => ("authorization", format!("Bearer Basic {basic}")),
        _ => ("authorization", format!("bearer {secret}")),
    }
}

/// The header that brings the token of a session.
fn of_session(which: usize, token: &str) -> (&'static str, String) {
    match which {
        0 => ("authorization", format!("Bearer {token}")),
        1 => ("auth-token-bin", STANDARD.encode(token)),
        2 => ("auth-token-bin", STANDARD_NO_PAD.encode(token)),
        _ => ("cookie", format!("x=y;deephaven-auth-cookie={token}")),
    }
}

fn headers(name: &'static str, value: &str) -> HeaderMap {
    let value = HeaderValue::from_str(value).expect("a header");
    HeaderMap::from_iter([(HeaderName::from_static(name), value)])
}

fn message(fields: &[(u64, &[u8])]) -> Bytes {
    let mut made = Vec::new();
    for (tag, bytes) in fields {
        encode_varint(tag << 3 | 2, &mut made);
        encode_varint(bytes.len() as u64, &mut made);
        made.extend_from_slice(bytes);
    }
    made.into()
}

/// Whether these bytes have a word in them, as it is or in base 64.
fn carries(bytes: &[u8], word: &str) -> bool {
    let has = |bytes: &[u8]| bytes.windows(word.len()).any(|part| part == word.as_bytes());
    let is_coded = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/".contains(byte);
    has(bytes) || bytes.split(|byte| !is_coded(byte)).any(|run| STANDARD_NO_PAD.decode(run).is_ok_and(|run| has(&run)))
}

/// Who is let in brought what is known of it; who is not is told nothing, whatever was wrong.
fn judged(brought: &[u8], found: Result<Guest, Status>, keys: &[Key]) {
    match found {
        Ok(guest) => {
            let own = keys.iter().filter(|key| key.whose.is(&guest)).flat_map(|key| &key.words);
            assert!(
                own.into_iter().any(|word| carries(brought, word)),
                "{:?} lets in",
                String::from_utf8_lossy(brought)
            );
        }
        Err(refused) => {
            assert_eq!(refused.code(), Code::Unauthenticated);
            assert!(["", REFUSED].contains(&refused.message()), "{refused:?}");
        }
    }
}

/// Some of what is known, some of what is not: the value of a header.
fn value(reader: &mut Reader<'_>, words: &[String]) -> Vec<u8> {
    let mut made = Vec::new();
    for _ in 0..1 + reader.below(5) {
        match reader.below(6) {
            0 => made.extend_from_slice(reader.text(24).as_bytes()),
            1 => made.extend_from_slice(reader.choice(words).as_bytes()),
            2 => made.extend_from_slice(STANDARD.encode(reader.choice(words)).as_bytes()),
            3 => made.extend_from_slice(STANDARD.encode(format!(":{}", reader.choice(words))).as_bytes()),
            4 => {
                let word = reader.choice(words);
                made.extend_from_slice(&word.as_bytes()[..reader.below(word.len() + 1)]);
            }
            _ => made.extend_from_slice(reader.choice(&PARTS).as_bytes()),
        }
    }
    made
}

fn caller(reader: &mut Reader<'_>, door: &Door, words: &[String], keys: &[Key]) {
    if reader.below(3) > 0 {
        let (mut headers, mut brought) = (HeaderMap::new(), Vec::new());
        for _ in 0..1 + reader.below(2) {
            let (name, value) = (*reader.choice(&NAMES), value(reader, words));
            brought.extend_from_slice(&value);
            brought.push(b'\n');
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                headers.append(HeaderName::from_static(name), value);
            }
        }
        judged(&brought, door.caller(&headers), keys);
        return;
    }
    let [name, word] = [(); 2].map(|()| value(reader, words));
    let payload = match reader.below(3) {
        0 => word.clone().into(),
        1 => message(&[(2, &name), (3, &word)]),
        _ => message(&[(4, &name), (5, &word)]),
    };
    judged(&[&name[..], b"\n", &word, b"\n", &payload].concat(), door.introduced(payload), keys);
}

/// Callers at a door that asks for tokens; at one that asks nothing, all are let in but those whose session is over.
pub fn credentials(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    let tokens = KNOWN.map(|(name, token)| (name.to_owned(), token.to_owned()));
    let door = Door::new(Access::Tokens(tokens.into()));
    let mut keys: Vec<Key> = Vec::new();
    for (_, secret) in KNOWN {
        let (name, value) = form(reader.below(5), secret);
        let whose = door.caller(&headers(name, &value)).unwrap_or_else(|_| panic!("{value:?} is right"));
        let by_message = door.introduced(message(&[(4, PSK.as_bytes()), (5, secret.as_bytes())])).expect("it is right");
        assert!(by_message.is(&whose) && by_message.token() != whose.token());
        let words = [secret, whose.token(), by_message.token()].map(str::to_owned).into();
        keys.push(Key { words, whose });
    }
    // Of one guest the session has ended: its token is as good as any other text.
    let over = keys[0].words.remove(2);
    let ended = door.caller(&headers("authorization", &format!("Bearer {over}"))).expect("it is open");
    door.close(&ended);
    for which in 0..4 {
        let (name, value) = of_session(which, &over);
        judged(b"", door.caller(&headers(name, &value)), &keys);
        let (name, value) = of_session(which, &keys[1].words[2]);
        assert!(door.caller(&headers(name, &value)).is_ok_and(|guest| guest.is(&keys[1].whose)));
    }
    let words: Vec<String> = keys.iter().flat_map(|key| key.words.clone()).chain([over.clone()]).collect();
    let free = Door::new(Access::Anybody);
    for _ in 0..CALLERS {
        if reader.is_empty() {
            break;
        }
        caller(&mut reader, &door, &words, &keys);
    }
    let (name, value) = (reader.choice(&NAMES), reader.rest());
    if let Ok(value) = HeaderValue::from_bytes(value) {
        let headers = HeaderMap::from_iter([(HeaderName::from_static(name), value.clone())]);
        judged(value.as_bytes(), door.caller(&headers), &keys);
        _ = free.caller(&headers);
    }
    for which in 0..4 {
        let (name, value) = of_session(which, &over);
        assert!(free.caller(&headers(name, &value)).is_err());
    }
}
