// The public names of `rivulet`, maintained by hand: spec/index.spec.ts asserts the list, and limits its length. What
// vendors add (tools that they run or define) is in rivulet/openai, rivulet/anthropic and rivulet/google; what a new
// provider needs is in rivulet/provider.

export { createAgent } from './agent/createAgent.js';
export type { Agent, AgentOptions, Input, ResumeOptions, RunArguments, RunOptions } from './agent/createAgent.js';

export type { CallAnswers, ApprovalRequest, Approve, Decision, WaitingCall } from './core/approval.js';
export type { Checkpoint, OpenCallsEvent } from './core/checkpoint.js';
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
export { ContextLengthError } from './core/contextLengthError.js';
export { keepRecent } from './core/keepRecent.js';
export type { KeepRecentOptions } from './core/keepRecent.js';
export { RateLimitError } from './core/rateLimitError.js';
export { estimateTokens } from './core/tokens.js';
export type { CountTokens } from './core/tokens.js';
export { AllModelsFailedError, ElementError, GuardError, OutputError } from './core/runErrors.js';
export type { RunError } from './core/runErrors.js';
export { failedRunOf } from './core/failedRun.js';
export type { FailedRun } from './core/failedRun.js';
export { startState } from './core/event.js';
export { asKnownEvent } from './core/eventGuards.js';
export type { KnownEvent } from './core/eventGuards.js';
export type {
  CheckpointEvent,
  TurnMessageEvent,
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
  ModelRequest,
  RequestSettings,
  Thinking,
  ThinkingEffort,
  ToolChoice,
  ToolChoiceOption,
} from './core/model.js';
export { createOperator } from './core/createOperator.js';
export type { OperatorHandlers, OperatorSource } from './core/createOperator.js';
export { textFilter } from './core/textFilter.js';
export type { TextReader } from './core/textFilter.js';
export type { Infer, Schema, StandardSchema } from './core/schema.js';
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
export { createLimiter, limitModel } from './models/limitModel.js';
export type { Limiter, LimiterOptions } from './models/limitModel.js';

export { agentTool } from './tools/agentTool.js';
export type { AgentToolOptions } from './tools/agentTool.js';
export { cacheTool } from './tools/cacheTool.js';
export type { CacheToolOptions } from './tools/cacheTool.js';
export { deadlineTool } from './tools/deadlineTool.js';
export { limitRepeatsTool } from './tools/limitRepeatsTool.js';
export type { LimitRepeatsToolOptions } from './tools/limitRepeatsTool.js';
export { limitTool } from './tools/limitTool.js';
export type { LimitToolOptions } from './tools/limitTool.js';
export { retryTool } from './tools/retryTool.js';
export type { RetryToolOptions } from './tools/retryTool.js';
export { toolCatalogue } from './tools/toolCatalogue.js';
export type { ToolCatalogue, ToolCatalogueOptions } from './tools/toolCatalogue.js';
export { wrapTool } from './tools/wrapTool.js';
export type { ArgumentsOf, ContextOf, ToolValue } from './tools/wrapTool.js';

export { fallback } from './models/fallback.js';
export type { FallbackOptions } from './models/fallback.js';
export { guardModel } from './models/guardModel.js';
export type { GuardedCall, GuardedText, GuardModelOptions } from './models/guardModel.js';
export { hedge } from './models/hedge.js';
export type { HedgeOptions } from './models/hedge.js';
export { priceModel } from './models/priceModel.js';
export { cachePrompt } from './models/cachePrompt.js';
export type { CachePromptOptions } from './models/cachePrompt.js';
export { retryModel } from './models/retryModel.js';
export type { RetryModelOptions } from './models/retryModel.js';
export { pipeModel } from './models/pipeModel.js';

export { accumulateToolCalls } from './operators/accumulateToolCalls.js';
export { endRun } from './operators/endRun.js';
export type { EndRunOptions } from './operators/endRun.js';
export { consolidate } from './operators/consolidate.js';
export { observeRun } from './operators/observeRun.js';
export type { RunObserver } from './operators/runObserver.js';
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
export { prefixAfterTools } from './operators/prefixAfterTools.js';
export { smooth } from './operators/smooth.js';
export type { SmoothOptions } from './operators/smooth.js';
export { toText } from './operators/toText.js';
export { unwrapOutput } from './operators/unwrapOutput.js';
export { stopOn } from './operators/stopOn.js';
export type { AccumulateOptions } from './operators/accumulate/accumulator.js';

export type { Orchestrator, TurnContext, TurnOptions } from './agent/orchestrator.js';
export { runTurns } from './agent/runTurns.js';
export type { RunTurnsOptions, TurnPosition } from './agent/runTurns.js';
export { selectOrchestrator } from './agent/selectOrchestrator.js';
export { allOf, costBudget, elapsed, repeatedCalls, tokenBudget, toolCalled, turnCount } from './agent/stopWhen.js';
export type { StopCondition, StopWhen } from './agent/stopWhen.js';
export type { PrepareTurn, TurnChanges } from './agent/prepareTurn.js';
export { requestOf } from './agent/requestOf.js';
export { toolLoop } from './agent/toolLoop.js';
export { typed } from './agent/typed.js';
export type { TypedOutput } from './agent/typed.js';
export { twoPhase } from './agent/twoPhase.js';
export { typedOutput } from './agent/typedOutput.js';

export { requireCapabilities } from './core/capabilities.js';
export type { Capability } from './core/capabilities.js';
export { anthropic } from './providers/anthropic/anthropic.js';
export { cohere } from './providers/cohere/cohere.js';
export { google } from './providers/google/google.js';
export type { ModelOptions, OpenModelOptions } from './providers/httpModel.js';
export { mistral } from './providers/mistral.js';
export { ollama } from './providers/ollama/ollama.js';
export { openai } from './providers/openai.js';
export { openaiCompatible } from './providers/openaiCompatible.js';
export { openaiResponses } from './providers/openaiResponses/openaiResponses.js';
export { openrouter } from './providers/openrouter.js';
export { together } from './providers/together.js';
export type { HttpTimeoutOptions, IdleTimeoutOptions } from './protocol/idleTimeout.js';
export type { RetryOptions } from './protocol/retryRequest.js';

export { viewOf, emptyView } from './operators/view/view.js';
export type {
  MessageView,
  PartView,
  ServerToolView,
  TextView,
  ThinkingView,
  ToolCallView,
  View,
  ViewStatus,
} from './operators/view/view.js';
export { toView } from './operators/toView.js';
export { shareRun } from './service/runs/shareRun.js';
export { RunAbandonedError } from './service/runs/runErrors.js';
export type { SharedRun, ShareRunOptions } from './service/runs/shareRun.js';
export { createRuns } from './service/runs/createRuns.js';
export type { Runs, RunsOptions } from './service/runs/createRuns.js';
export type { Envelope } from './service/runs/lateReader.js';
export type { ServerSentEvent, ServerSentEventsOptions } from './transport/serverSentEvents.js';
export { toServerSentEvents } from './service/http/toServerSentEvents.js';
export { joinRun } from './service/runs/joinRun.js';
export type { JoinedRun } from './service/runs/joinRun.js';
export { runResponse } from './service/http/runResponse.js';
export type { RunResponseOptions } from './service/http/runResponse.js';
export { fromServerSentEvents, RemoteRunError, RUN_ID_HEADER } from './transport/fromServerSentEvents.js';
export type { FromServerSentEventsOptions, RunRequest } from './transport/fromServerSentEvents.js';
export { conversation } from './chat/conversation.js';
export type { Conversation, ConversationOptions, ConversationView } from './chat/conversation.js';
export { pageTools } from './chat/pageTools.js';
export { persist } from './chat/persist.js';
export type { PageTools } from './chat/pageTools.js';
export type { TabLock } from './chat/tabLock.js';
export type { SavedConversation } from './chat/savedConversation.js';
export type { ConversationAgent, ConversationRunOptions } from './chat/conversationAgent.js';
export type { EarlierRun } from './transport/earlierRun.js';
export type { QueuedPrompt, WhenBusy } from './chat/commandQueue.js';
export type { Exchange, ExchangeView } from './chat/exchanges.js';
export { remoteAgent } from './chat/remoteAgent.js';
export type { ReconnectingEvent, Reconnection } from './core/connectionEvents.js';
export type { RemoteAgentOptions } from './chat/remoteAgent.js';
export { agentHandler } from './service/http/agentHandler.js';
export type { AgentHandler, AgentHandlerOptions } from './service/http/agentHandler.js';
export type { HandledAgent } from './service/handledAgent.js';
export type { ServiceOptions } from './service/serviceOptions.js';
export { memoryStore } from './service/stores/memory/memoryStore.js';
export type { MemoryOptions } from './service/stores/memory/memoryStore.js';
export type { ListedRecord, RecordStore, StorableRecord } from './service/ports/recordStore.js';
export type { RunRecord } from './service/ports/runStore.js';
export { memoryLog } from './service/stores/memory/memoryLog.js';
export { RunNotFoundError, RunTakenError } from './service/ports/runLog.js';
export type { RunLog, RunMessage, SentMessage } from './service/ports/runLog.js';
export { nodeListener } from './service/http/nodeListener.js';
export type { ListenedRequest, ListenedResponse } from './service/http/nodeListener.js';
