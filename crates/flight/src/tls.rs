//! Encryption: who a server is, and whom a client believes.

use std::sync::Arc;

use thiserror::Error;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore, ServerConfig};

/// What is spoken within: HTTP/2, or what browsers' calls may come by.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Why there is no encryption.
#[derive(Debug, Error)]
pub enum TlsError {
    /// No certificate in what was given.
    #[error("there is no certificate in PEM form: {0}")]
    Certificate(String),
    /// No private key in what was given.
    #[error("there is no private key in PEM form, or it is encrypted: {0}")]
    Key(String),
    /// Certificate and key do not belong together, or are of a kind that is not used.
    #[error("certificate and key: {0}")]
    Pair(rustls::Error),
    /// The system has no certificates that could be believed.
    #[error("this system has no certificates to believe: {0}")]
    System(String),
    /// None of the protocol's versions is there.
    #[error("{0}")]
    Version(rustls::Error),
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let all = all.map_err(|error| TlsError::Certificate(error.to_string()))?;
    if all.is_empty() { Err(TlsError::Certificate("it holds none".to_owned())) } else { Ok(all) }
}

/// Who a server is: its certificate, with those that vouch for it behind, and the key to it.
#[derive(Clone)]
pub struct Identity(pub(crate) Arc<ServerConfig>);

impl Identity {
    /// Both in PEM form.
    pub fn of(chain: &[u8], key: &[u8]) -> Result<Identity, TlsError> {
        let chain = certificates(chain)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| TlsError::Key(error.to_string()))?;
        let config = ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
        let config = config.map_err(TlsError::Version)?.with_no_client_auth().with_single_cert(chain, key);
        let mut config = config.map_err(TlsError::Pair)?;
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
        Ok(Identity(Arc::new(config)))
    }
}

/// Whom a client believes.
#[derive(Clone)]
pub struct Trust(pub(crate) Arc<ClientConfig>);

impl Trust {
    /// Those for whom these certificates vouch, in PEM form; without any, those for whom the system's do.
    pub fn of(roots: Option<&[u8]>) -> Result<Trust, TlsError> {
        let mut store = RootCertStore::empty();
        match roots {
            Some(pem) => {
                for certificate in certificates(pem)? {
                    store.add(certificate).map_err(|error| TlsError::Certificate(error.to_string()))?;
                }
            }
            None => {
                let found = rustls_native_certs::load_native_certs();
                let (added, _) = store.add_parsable_certificates(found.certs);
                if added == 0 {
                    let why = found.errors.first().map_or("none is installed".to_owned(), ToString::to_string);
                    return Err(TlsError::System(why));
                }
            }
        }
        let config = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
        let config = config.map_err(TlsError::Version)?;
        let mut config = config.with_root_certificates(store).with_no_client_auth();
        config.alpn_protocols = vec![PROTOCOLS[0].to_vec()];
        Ok(Trust(Arc::new(config)))
    }
}
