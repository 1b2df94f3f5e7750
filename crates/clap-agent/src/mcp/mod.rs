//! `tool mcp`: the program's commands as MCP tools over stdio.
//!
//! A tool call runs the program itself, in a process of its own, through the same front door as
//! every other caller: same parsing, same gate, same envelope. So a command that prints, changes
//! its directory or dies can do the server no harm, and nothing is decided twice. Its progress
//! lines become progress notifications; a refusal by the gate becomes a question to the person at
//! the client, where the client can ask.
//!
//! No call outlives its server: when stdin is closed or SIGTERM or SIGINT comes, what runs is
//! ended, each call with all it started. (A server that is killed has no chance to.)

mod answer;
mod call;
mod ending;
mod group;
mod inputs;
mod line;
mod stderr;
mod tools;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Command;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ElicitRequest, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationSchema, Implementation, InputRequest,
    InputRequests, InputRequiredResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer, ServerInitializeError};
use rmcp::{ErrorData, ServerHandler, ServiceExt};

use crate::error::AgentError;
use crate::exit::Exit;
use crate::format::Protocol;
use crate::mode::Mode;
use crate::program::Settings;
use crate::writer::Writer;
use call::Ended;
use ending::{Stop, Watched};
use line::Word;
use tools::Catalogue;

/// Serves until the client closes stdin. After a signal it ends the process itself: the error is
/// written without waiting for a stdout that nobody may be reading.
pub(crate) fn serve(root: &Command, settings: &Settings) -> Result<(), AgentError> {
    let described = settings.describe(root, Protocol::default());
    let program = std::env::current_exe()
        .map_err(|error| AgentError::tool(format!("cannot find the program itself: {error}")))?;
    let mut signals = ending::signals()?;
    let stop = Stop::new();
    let notes = settings.notes(&[], root);
    let is_sensitive =
        |arg: &clap::Arg| inputs::noted(arg, notes).is_some_and(|noted| noted.sensitive);
    let given = line::given(root, std::env::args_os(), is_sensitive);
    let server = Server {
        program,
        catalogue: Arc::new(Catalogue::new(root, &described, settings, &given)),
        info: Implementation::new(described.name.clone(), version(&described.tool_version)),
        instructions: described.summary,
        stop: stop.clone(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        let served = serve_stdio(server, &stop);
        tokio::pin!(served);
        let signal = tokio::select! {
            served = &mut served => return served.map(|()| None),
            signal = signals.recv() => signal,
        };
        // The calls end, then the service; a second signal does not wait for them.
        stop.now();
        tokio::select! {
            _ = served => {}
            _ = signals.recv() => {}
            () = tokio::time::sleep(LONGEST_END) => {}
        }
        Ok(signal)
    });
    // A read of stdin that nobody waits for any more must not keep the process alive; calls that
    // are still there are killed with their tasks.
    runtime.shutdown_background();
    if let Some(signal) = served? {
        let mode = if std::io::stderr().is_terminal() { Mode::Person } else { Mode::Agent };
        let writer = Writer::builder(std::io::sink(), std::io::stderr())
            .mode(mode)
            .tool_version(root.get_version().unwrap_or_default())
            .build();
        writer.error(&crate::signals::cancelled(signal));
        std::process::exit(i32::from(Exit::Cancelled.code()));
    }
    Ok(())
}

/// The most the end of the service may take after a signal.
const LONGEST_END: Duration = Duration::from_secs(3);

async fn serve_stdio(server: Server, stop: &Stop) -> Result<(), AgentError> {
    let stdin = Watched { inner: tokio::io::stdin(), stop: stop.clone() };
    let started = tokio::select! {
        started = server.serve((stdin, tokio::io::stdout())) => started,
        () = stop.told() => return Ok(()),
    };
    let running = match started {
        Ok(running) => running,
        // A client that goes before it has said anything is no failure of ours.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(AgentError::tool(format!("cannot serve MCP: {error}"))),
    };
    let cancel = running.cancellation_token();
    let waiting = running.waiting();
    tokio::pin!(waiting);
    let ended = tokio::select! {
        ended = &mut waiting => ended,
        () = stop.told() => {
            // stdin may be open still; answers that are there already are written.
            cancel.cancel();
            waiting.await
        }
    };
    ended.map(drop).map_err(|error| AgentError::tool(format!("the MCP server ended: {error}")))
}

fn version(tool_version: &str) -> &str {
    if tool_version.is_empty() { "0.0.0" } else { tool_version }
}

#[derive(Clone)]
struct Server {
    program: PathBuf,
    catalogue: Arc<Catalogue>,
    info: Implementation,
    instructions: String,
    stop: Stop,
}

/// The key under which a person's answer comes back.
const CONFIRM: &str = "confirm";

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_instructions(self.instructions.clone());
        info.server_info = self.info.clone();
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.catalogue.tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(entry) = self.catalogue.find(&request.name) else {
            let message = format!("there is no tool '{}'", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        let arguments = request.arguments.unwrap_or_default();
        let answered = request
            .input_responses
            .and_then(|mut responses| responses.remove(CONFIRM))
            .and_then(|answer| serde_json::from_value::<ElicitResult>(answer).ok());
        let confirmed = match answered.map(|answer| is_yes(&answer)) {
            Some(false) => return Ok(declined().into()),
            Some(true) => true,
            None => false,
        };
        let words = |confirmed| {
            entry
                .words(&arguments, confirmed)
                .map_err(|message| ErrorData::invalid_params(message, None))
        };
        let line = words(confirmed)?;
        let ended = self.run(&line, &context).await?;
        let question = match &ended {
            Ended::Failed(error) if error["error"] == "confirmation_required" => {
                let why = error["message"].as_str().unwrap_or("it needs confirmation");
                format!("{why}:\n{}\nGo on?", entry.shown(&line))
            }
            _ => return Ok(entry.answer(ended).into()),
        };
        if !entry.can_confirm() {
            return Ok(entry.answer(ended).into());
        }
        match self.ask(question, &context).await? {
            Asked::Cannot => Ok(entry.answer(ended).into()),
            Asked::Later(request) => Ok(CallToolResponse::from(request)),
            Asked::Answered(false) => Ok(declined().into()),
            Asked::Answered(true) => {
                let ended = self.run(&words(true)?, &context).await?;
                Ok(entry.answer(ended).into())
            }
        }
    }
}

/// What came of asking the person at the client.
enum Asked {
    /// The client cannot ask, or tried and failed.
    Cannot,
    /// The client asks and calls again (protocol 2026-07-28 and later).
    Later(InputRequiredResult),
    /// The person answered.
    Answered(bool),
}

impl Server {
    async fn run(
        &self,
        words: &[Word],
        context: &RequestContext<RoleServer>,
    ) -> Result<Ended, ErrorData> {
        let argv = words.iter().map(|word| word.text.clone()).collect();
        call::run(&self.program, argv, context, &self.stop).await
    }

    async fn ask(
        &self,
        message: String,
        context: &RequestContext<RoleServer>,
    ) -> Result<Asked, ErrorData> {
        let capable = context.client_capabilities().and_then(|can| can.elicitation);
        let forms = capable.is_some_and(|can| can.form.is_some() || can.url.is_none());
        if !forms {
            return Ok(Asked::Cannot);
        }
        let requested_schema = ElicitationSchema::builder()
            .required_bool_property(CONFIRM, |property| property.description("Go on?"))
            .build()
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let params =
            ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
        let stateless = context
            .protocol_version()
            .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        if stateless {
            let request = InputRequest::Elicitation(ElicitRequest::new(params));
            let requests = InputRequests::from([(CONFIRM.to_owned(), request)]);
            return Ok(Asked::Later(InputRequiredResult::from_input_requests(requests)));
        }
        let answer = tokio::select! {
            answer = context.peer.create_elicitation(params) => answer,
            () = self.stop.told() => return Ok(Asked::Cannot),
            () = context.ct.cancelled() => return Ok(Asked::Cannot),
        };
        Ok(answer.map_or(Asked::Cannot, |answer| Asked::Answered(is_yes(&answer))))
    }
}

/// Only a ticked box is a yes: a client that accepts what nobody filled in has asked nobody.
fn is_yes(answer: &ElicitResult) -> bool {
    let content = answer.content.as_ref();
    let ticked = content.and_then(|content| content.get(CONFIRM));
    answer.action == ElicitationAction::Accept && ticked.is_some_and(|ticked| *ticked == true)
}

fn declined() -> CallToolResult {
    answer::failed(&serde_json::json!({
        "code": 9,
        "error": "cancelled",
        "message": "not confirmed; nothing was changed",
        "recoverable": false,
    }))
}
