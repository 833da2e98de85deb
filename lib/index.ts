// The public names, maintained by hand: spec/index.spec.ts asserts the list.

export { createAgent } from './agent.js';
export type { Agent, AgentOptions, Input, ResumeOptions, RunArguments, RunOptions } from './agent.js';

export type { Answers, ApprovalRequest, Approve, Decision, WaitingCall } from './core/approval.js';
export type { Checkpoint, Emitted, Ended, OpenCalls, OpenCallsEvent, ResumedTurn } from './core/checkpoint.js';
export type {
  Chunk,
  FileChunk,
  FinishChunk,
  FinishReason,
  MetadataChunk,
  ProviderDataChunk,
  RetractChunk,
  RetryChunk,
  SourceChunk,
  TextChunk,
  ThinkingChunk,
  ToolCallFragment,
} from './core/chunk.js';
export type { DeepPartial } from './core/json/partialJson.js';
export {
  ConfigurationError,
  ConnectionError,
  HttpError,
  ProtocolError,
  ProviderError,
  RivuletError,
  StreamInterruptedError,
  TextTooLongError,
} from './core/errors.js';
export { TimeoutError } from './core/timeoutError.js';
export type { TimeoutPhase } from './core/timeoutError.js';
export { ContextLengthError } from './core/contextLengthError.js';
export { keepRecent } from './core/keepRecent.js';
export type { KeepRecentOptions } from './core/keepRecent.js';
export { RateLimitError } from './core/rateLimitError.js';
export { estimateTokens } from './core/tokens.js';
export type { CountTokens } from './core/tokens.js';
export { AllModelsFailedError, ElementError, GuardError, OutputError } from './core/runErrors.js';
export type { RunError } from './core/runErrors.js';
export { runOf } from './core/failedRun.js';
export type { FailedRun } from './core/failedRun.js';
export { startState } from './core/event.js';
export {
  asKnownEvent,
  isCheckpoint,
  isFile,
  isFinish,
  isMessage,
  isMetadata,
  isModelMessage,
  isOpenCalls,
  isProviderData,
  isResult,
  isResultsMessage,
  isRetract,
  isRetry,
  isSource,
  isText,
  isThinking,
  isToolCall,
  isToolCallFragment,
  isToolProgress,
  isToolResult,
  isToolStart,
  isToolUsage,
  isToolWaiting,
  isTurn,
} from './core/eventGuards.js';
export type { KnownEvent } from './core/eventGuards.js';
export type {
  CheckpointEvent,
  MessageEvent,
  ResultEvent,
  RunEvent,
  RunResult,
  RunState,
  StreamEvent,
  ToolCallEvent,
  ToolEvent,
  ToolProgressEvent,
  ToolResultEvent,
  ToolStartEvent,
  ToolUsageEvent,
  ToolWaitingEvent,
  TurnEvent,
} from './core/event.js';
export { toolCallIds, repairHistory } from './core/history.js';
export type { JsonObject, JsonSchema, JsonValue } from './core/json/json.js';
export {
  filePart,
  hasToolResults,
  messageText,
  modelMessage,
  systemMessage,
  toolCallsOf,
  userMessage,
} from './core/message.js';
export type {
  FilePart,
  Message,
  Metadata,
  Part,
  ProviderData,
  ProviderOptions,
  Role,
  SourcePart,
  TextPart,
  ToolCallPart,
  ToolErrorCode,
  ToolResultPart,
} from './core/message.js';
export type {
  Capabilities,
  Model,
  Request,
  RequestSettings,
  Thinking,
  ThinkingEffort,
  ToolChoice,
  ToolChoiceOption,
} from './core/model.js';
export type { ServerTool } from './core/metadata.js';
export { createOperator } from './core/createOperator.js';
export type { OperatorHandlers } from './core/createOperator.js';
export type { Infer, PlainSchema, Schema, StandardSchema } from './core/schema.js';
export { progress } from './core/progress.js';
export type { Progress } from './core/progress.js';
export { tool, toolDefinition } from './core/tool.js';
export type { ApprovalContext, NeedsApproval, ToolContext } from './core/tool.js';
export type { EventsOf, Tool, ToolDefinition, UserContextOf } from './core/tool.js';
export type { ToolOutput } from './core/toolOutput.js';
export { costOf } from './core/prices.js';
export type { Prices } from './core/prices.js';
export { addUsage } from './core/usage.js';
export type { Usage } from './core/usage.js';

export { summarize } from './models/summarize.js';
export type { SummarizeOptions } from './models/summarize.js';
export { createLimiter, limit } from './models/limit.js';
export type { Limiter, LimiterOptions } from './models/limit.js';

export { agentTool } from './tools/agentTool.js';
export type { AgentToolOptions, AnyAgent } from './tools/agentTool.js';
export { cacheTool } from './tools/cacheTool.js';
export type { CacheToolOptions } from './tools/cacheTool.js';
export { deadlineTool } from './tools/deadlineTool.js';
export { limitRepeatedCalls } from './tools/limitRepeatedCalls.js';
export type { LimitRepeatedCallsOptions } from './tools/limitRepeatedCalls.js';
export { limitTool } from './tools/limitTool.js';
export type { LimitToolOptions } from './tools/limitTool.js';
export { retryTool } from './tools/retryTool.js';
export type { RetryToolOptions } from './tools/retryTool.js';
export { wrapTool } from './tools/wrapTool.js';
export type { ArgumentsOf, ContextOf, ToolValue } from './tools/wrapTool.js';

export { fallback } from './models/fallback.js';
export type { FallbackOptions } from './models/fallback.js';
export { guard } from './models/guard.js';
export type { GuardedCall, GuardedText, GuardOptions } from './models/guard.js';
export { hedge } from './models/hedge.js';
export type { HedgeOptions } from './models/hedge.js';
export { race } from './models/race.js';
export { retryTurn } from './models/retryTurn.js';
export type { RetryTurnOptions } from './models/retryTurn.js';
export { withOperators } from './models/withOperators.js';

export { accumulateToolCalls } from './operators/accumulateToolCalls.js';
export { endRun } from './operators/endRun.js';
export type { EndRunOptions } from './operators/endRun.js';
export { consolidate } from './operators/consolidate.js';
export { observeRun } from './operators/observeRun.js';
export type { InTurn, ObservedEnd, Outcome, RunObserver } from './operators/runObserver.js';
export { outputElements } from './operators/outputElements.js';
export type { OutputElementsOptions } from './operators/outputElements.js';
export { endTurn } from './operators/endTurn.js';
export type { EndTurnOptions } from './operators/endTurn.js';
export { executeTools } from './operators/executeTools.js';
export type { ExecuteToolsOptions } from './operators/executeTools.js';
export { partialArguments } from './operators/partialArguments.js';
export type { PartialArguments } from './operators/partialArguments.js';
export { partialOutput } from './operators/partialOutput.js';
export { followUp } from './operators/followUp.js';
export type { FollowUpOptions } from './operators/followUp.js';
export { holdBack } from './operators/holdBack.js';
export type { HoldBackOptions } from './operators/holdBack.js';
export { ofType } from './operators/ofType.js';
export type { EventOfType } from './operators/ofType.js';
export { prefixAfterTools } from './operators/prefixAfterTools.js';
export { smooth } from './operators/smooth.js';
export type { SmoothOptions } from './operators/smooth.js';
export { text } from './operators/text.js';
export { unwrapOutput } from './operators/unwrapOutput.js';
export { stopOn } from './operators/stopOn.js';
export type { AccumulateOptions } from './operators/toolCalls/accumulator.js';

export type { Orchestrator, TurnContext, TurnOptions } from './orchestrators/orchestrator.js';
export { runTurns } from './orchestrators/runTurns.js';
export type { RunTurnsOptions, TurnPosition } from './orchestrators/runTurns.js';
export { selectOrchestrator } from './orchestrators/selectOrchestrator.js';
export {
  allOf,
  costBudget,
  elapsed,
  repeatedCalls,
  tokenBudget,
  toolCalled,
  turnCount,
} from './orchestrators/stopWhen.js';
export type { StopCondition, StopWhen } from './orchestrators/stopWhen.js';
export type { PromptOptions } from './orchestrators/prompts.js';
export type { StopOptions } from './orchestrators/stoppable.js';
export type { PrepareTurn, TurnChanges } from './orchestrators/prepareTurn.js';
export { requestOf, toolLoop } from './orchestrators/toolLoop.js';
export { twoPhase } from './orchestrators/twoPhase.js';
export { typedOutput } from './orchestrators/typedOutput.js';

export { requireCapabilities } from './core/capabilities.js';
export type { Capability } from './core/capabilities.js';
export { anthropic } from './providers/anthropic/anthropic.js';
export type { AnthropicOptions } from './providers/anthropic/anthropic.js';
export { anthropicTools } from './providers/anthropic/serverTools.js';
export type {
  AnthropicBashInput,
  AnthropicClientToolOptions,
  AnthropicMemoryInput,
  AnthropicTextEditorInput,
} from './providers/anthropic/clientTools.js';
export type { AnthropicComputerAction, AnthropicComputerOptions } from './providers/anthropic/computer.js';
export type {
  AnthropicCodeExecutionOptions,
  AnthropicTool,
  AnthropicWebFetchOptions,
  AnthropicWebSearchOptions,
} from './providers/anthropic/serverTools.js';
export { cohere } from './providers/cohere/cohere.js';
export { google } from './providers/google/google.js';
export type { GoogleOptions } from './providers/google/google.js';
export { googleTools } from './providers/google/serverTools.js';
export type { GoogleSearchOptions, GoogleTool } from './providers/google/serverTools.js';
export { httpModel } from './providers/httpModel.js';
export type { ModelOptions, OpenModelOptions } from './providers/httpModel.js';
export { mistral } from './providers/mistral.js';
export { ollama } from './providers/ollama/ollama.js';
export { openai } from './providers/openai.js';
export { openaiCompatible } from './providers/openaiCompatible.js';
export { openaiResponses } from './providers/openaiResponses/openaiResponses.js';
export type { ResponsesOptions } from './providers/openaiResponses/openaiResponses.js';
export type {
  ComputerAction as ResponsesComputerAction,
  CustomToolOptions as ResponsesCustomToolOptions,
  LocalShellAction as ResponsesLocalShellAction,
  PatchOperation as ResponsesPatchOperation,
  SafetyCheck as ResponsesSafetyCheck,
  ShellAction as ResponsesShellAction,
  ShellOutput as ResponsesShellOutput,
  ShellToolOptions as ResponsesShellToolOptions,
  ToolSearchOptions as ResponsesToolSearchOptions,
} from './providers/openaiResponses/clientToolOptions.js';
export { mcpApproval } from './providers/openaiResponses/serverTools.js';
export type {
  CodeInterpreterOptions as ResponsesCodeInterpreterOptions,
  FileSearchOptions as ResponsesFileSearchOptions,
  ImageGenerationOptions as ResponsesImageGenerationOptions,
  McpOptions as ResponsesMcpOptions,
  WebSearchOptions as ResponsesWebSearchOptions,
} from './providers/openaiResponses/serverToolOptions.js';
export { responsesTools } from './providers/openaiResponses/serverTools.js';
export type { ResponsesTool } from './providers/openaiResponses/serverTools.js';
export { openrouter } from './providers/openrouter.js';
export { together } from './providers/together.js';
export type { HttpTimeoutOptions, IdleTimeoutOptions } from './protocol/idleTimeout.js';
export type { RetryOptions } from './protocol/retry.js';
export type { Decoder, Framing, Wire, WireRequest } from './protocol/wire.js';

export { viewOf, emptyView } from './ui/view.js';
export type {
  MessageView,
  PartView,
  ServerToolView,
  TextView,
  ThinkingView,
  ToolCallView,
  View,
  ViewStatus,
} from './ui/view.js';
export { toView } from './ui/toView.js';
export { shareRun, RunAbandonedError } from './ui/shareRun.js';
export type { RunReading, RunReceiver, SharedRun, SharedRunStatus, ShareRunOptions } from './ui/shareRun.js';
export { createRuns, RunNotFoundError } from './ui/createRuns.js';
export type { RegisteredRun, Runs, RunsOptions } from './ui/createRuns.js';
export type { Envelope } from './ui/eventLog.js';
export type { ServerSentEvent, ServerSentEventsOptions } from './ui/serverSentEvents.js';
export { toServerSentEvents } from './ui/toServerSentEvents.js';
export { joinRun } from './ui/joinRun.js';
export type { JoinedRun, RequestHeaders } from './ui/joinRun.js';
export { runResponse, sendRun } from './ui/sendRun.js';
export type { NodeResponse, SendRunOptions } from './ui/sendRun.js';
export { fromServerSentEvents, RemoteRunError, RUN_ID_HEADER } from './ui/fromServerSentEvents.js';
export type { FromServerSentEventsOptions, RunRequest } from './ui/fromServerSentEvents.js';
export { conversation } from './ui/conversation.js';
export type { Conversation, ConversationOptions, ConversationView } from './ui/conversationTypes.js';
export type { ConversationAgent, ConversationRunOptions, EarlierRun } from './ui/conversationAgent.js';
export type { WhenBusy } from './ui/commandQueue.js';
export type { Exchange, ExchangeView, SavedConversation } from './ui/exchanges.js';
export { remoteAgent } from './ui/remoteAgent.js';
export type { RemoteAgentOptions } from './ui/remoteAgent.js';
export { agentHandler } from './ui/agentHandler.js';
export type { AgentHandler } from './ui/agentHandler.js';
export type { AgentHandlerOptions, HandledAgent, HandledRunOptions } from './ui/agentHandlerOptions.js';
export type { RunRecord, RunStore } from './ui/runStore.js';
export { nodeListener } from './ui/nodeListener.js';
export type { ListenedRequest, ListenedResponse } from './ui/nodeListener.js';
