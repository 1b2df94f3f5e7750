//! Placeholder for the merge.
use serde::{Deserialize, Serialize};
/// Where evidence points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WaitsFor {
    /// Input.
    Input,
}
/// How sure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// A blocked read.
    Strong,
    /// A poll, select or epoll.
    Weak,
}
/// What a job waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockedOn {
    /// What.
    pub what: WaitsFor,
    /// How sure.
    pub evidence: Evidence,
    /// Echo off means a password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub echo: Option<bool>,
    /// Who.
    pub pid: i32,
    /// Its argv.
    pub command: Vec<String>,
}
/// Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// v4
    Tcp,
    /// v6
    Tcp6,
}
/// A socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listening {
    /// Protocol.
    pub protocol: Protocol,
    /// Address.
    pub address: String,
    /// Port.
    pub port: u16,
    /// Who.
    pub pid: i32,
}
