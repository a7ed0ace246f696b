//! What browsers speak: calls whose trailers are in the body (gRPC-web), over HTTP/2 and HTTP/1.1, from pages that were named.
//!
//! A browser says of which page a call is. Calls of pages that nobody named are refused before anything is read of them; what
//! is no browser names no page.

use bytes::{BufMut, Bytes, BytesMut};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response, StatusCode, Version};
use tonic::Status;
use tonic::body::Body;

use crate::trouble::fitting;

/// What marks the frame that holds trailers.
const TRAILERS: u8 = 0x80;
const WEB: &str = "application/grpc-web+proto";

/// How a call is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speech {
    Grpc,
    Web,
}

impl Speech {
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Speech::Grpc => "application/grpc",
            Speech::Web => WEB,
        }
    }
}

/// How a call is framed; none if it is no call. Trailers are no part of HTTP/1.1 as it is spoken here.
pub(crate) fn speech(of: &Parts) -> Option<Speech> {
    let kind = of.headers.get("content-type")?.as_bytes();
    match kind {
        b"application/grpc-web" | b"application/grpc-web+proto" => Some(Speech::Web),
        _ if kind.starts_with(b"application/grpc-web") => None,
        _ if kind.starts_with(b"application/grpc") && of.version == Version::HTTP_2 => Some(Speech::Grpc),
        _ => None,
    }
}

/// The page of which a call is, if a browser says so; what those of pages that nobody named are answered.
pub(crate) fn origin(known: &[String], headers: &HeaderMap) -> Result<Option<HeaderValue>, StatusCode> {
    let Some(origin) = headers.get("origin") else { return Ok(None) };
    if known.iter().any(|known| known.as_bytes() == origin.as_bytes()) {
        return Ok(Some(origin.clone()));
    }
    Err(StatusCode::FORBIDDEN)
}

/// An answer that is no call's.
pub(crate) fn refused(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// The answer to a browser that asks what a page may do.
pub(crate) fn allowed(origin: Option<&HeaderValue>) -> Response<Body> {
    let mut response = refused(if origin.is_some() { StatusCode::NO_CONTENT } else { StatusCode::METHOD_NOT_ALLOWED });
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        headers.insert("access-control-allow-methods", HeaderValue::from_static("POST"));
        let names = "authorization, content-type, x-grpc-web, x-user-agent, grpc-timeout";
        headers.insert("access-control-allow-headers", HeaderValue::from_static(names));
        headers.insert("access-control-max-age", HeaderValue::from_static("600"));
        shown(&mut response, Some(origin.clone()));
    }
    response
}

/// Lets the page see an answer.
pub(crate) fn shown(response: &mut Response<Body>, origin: Option<HeaderValue>) {
    let Some(origin) = origin else { return };
    let headers = response.headers_mut();
    headers.insert("access-control-allow-origin", origin);
    headers.insert("vary", HeaderValue::from_static("origin"));
    let names = "authorization, grpc-status, grpc-message, grpc-status-details-bin";
    headers.insert("access-control-expose-headers", HeaderValue::from_static(names));
}

/// An answer that is an error alone.
pub(crate) fn failed(status: Status, speech: Speech) -> Response<Body> {
    let mut response = fitting(status).into_http();
    response.headers_mut().insert("content-type", HeaderValue::from_static(speech.content_type()));
    response
}

/// Trailers as the frame that ends a body.
pub(crate) fn framed(trailers: &HeaderMap) -> Bytes {
    let mut text = Vec::new();
    for (name, value) in trailers {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            text.extend_from_slice(part);
        }
    }
    let mut frame = BytesMut::with_capacity(5 + text.len());
    frame.put_u8(TRAILERS);
    frame.put_u32(text.len() as u32);
    frame.put_slice(&text);
    frame.freeze()
}
