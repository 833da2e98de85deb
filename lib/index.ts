// The public names of `rivulet`, maintained by hand: spec/index.spec.ts asserts the list, and limits its length. The
// members of unions and the options of functions have no names of their own: OfType<RunEvent, 'toolResult'> and
// OptionsOf<typeof hedge> say them. What a server needs is in rivulet/service, what a page needs in rivulet/chat, and
// what a new provider needs in rivulet/provider; what vendors add (tools that they run or define) is in rivulet/openai,
// rivulet/anthropic and rivulet/google.

export { createAgent } from './agent/createAgent.js';
export type { Agent, AgentOptions, Input } from './agent/createAgent.js';

export type { OfType, OptionsOf } from './core/typesOf.js';
export type { Approve, CallAnswers, Decision, Question, WaitingCall } from './core/approval.js';
export type { Checkpoint } from './core/checkpoint.js';
export type { Chunk, FinishReason } from './core/chunk.js';
export type { DeepPartial } from './core/json/partialJson.js';
export { ConfigurationError, RivuletError } from './core/errors.js';
export { isRunError } from './core/runErrors.js';
export type { RunError } from './core/runErrors.js';
export { failedRunOf } from './core/failedRun.js';
export type { FailedRun } from './core/failedRun.js';
export { keepRecent } from './core/keepRecent.js';
export { estimateTokens } from './core/tokens.js';
export { startState } from './core/event.js';
export { asKnownEvent } from './core/eventGuards.js';
export type { KnownEvent } from './core/eventGuards.js';
export type { RunEvent, RunResult, RunState, StreamEvent } from './core/event.js';
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
export type { Message, Part, ToolErrorCode } from './core/message.js';
export type { Capabilities, Model, ModelRequest } from './core/model.js';
export { createOperator } from './core/createOperator.js';
export { textFilter } from './core/textFilter.js';
export type { Schema } from './core/schema.js';
export { progress } from './core/progress.js';
export type { Progress } from './core/progress.js';
export { tool, toolDefinition } from './core/tool.js';
export type { EventsOf, Tool, ToolContext, ToolDefinition } from './core/tool.js';
export { costOf } from './core/prices.js';
export type { Prices } from './core/prices.js';
export { addUsage } from './core/usage.js';
export type { Usage } from './core/usage.js';
export { requireCapabilities } from './core/capabilities.js';

export { cachePrompt } from './models/cachePrompt.js';
export { fallback } from './models/fallback.js';
export { guardModel } from './models/guardModel.js';
export { hedge } from './models/hedge.js';
export { createLimiter, limitModel } from './models/limitModel.js';
export type { Limiter } from './models/limitModel.js';
export { pipeModel } from './models/pipeModel.js';
export { priceModel } from './models/priceModel.js';
export { retryModel } from './models/retryModel.js';
export { summarize } from './models/summarize.js';

export { omitRefused } from './protocol/omitRefused.js';
export { backgroundTool } from './agent/backgroundTool.js';
export { agentTool } from './tools/agentTool.js';
export { askTool } from './tools/askTool.js';
export { cacheTool } from './tools/cacheTool.js';
export { deadlineTool } from './tools/deadlineTool.js';
export { limitRepeatsTool } from './tools/limitRepeatsTool.js';
export { limitTool } from './tools/limitTool.js';
export { retryTool } from './tools/retryTool.js';
export { toolCatalogue } from './tools/toolCatalogue.js';
export type { ToolCatalogue } from './tools/toolCatalogue.js';
export { wrapTool } from './tools/wrapTool.js';

export { accumulateToolCalls } from './operators/accumulateToolCalls.js';
export { consolidate } from './operators/consolidate.js';
export { endRun } from './operators/endRun.js';
export { endTurn } from './operators/endTurn.js';
export { executeTools } from './operators/executeTools.js';
export { followUp } from './operators/followUp.js';
export { holdBack } from './operators/holdBack.js';
export { observeRun } from './operators/observeRun.js';
export { ofType } from './operators/ofType.js';
export { outputElements } from './operators/outputElements.js';
export { partialArguments } from './operators/partialArguments.js';
export type { PartialArguments } from './operators/partialArguments.js';
export { partialOutput } from './operators/partialOutput.js';
export { prefixAfterTools } from './operators/prefixAfterTools.js';
export { smooth } from './operators/smooth.js';
export { stopOn } from './operators/stopOn.js';
export { toText } from './operators/toText.js';
export { toView } from './operators/toView.js';
export { unwrapOutput } from './operators/unwrapOutput.js';
export { viewOf, emptyView } from './operators/view/view.js';
export type { MessageView, PartView, View } from './operators/view/view.js';

export type { Orchestrator, TurnContext } from './agent/orchestrator.js';
export { requestOf } from './agent/requestOf.js';
export { runTurns } from './agent/runTurns.js';
export { selectOrchestrator } from './agent/selectOrchestrator.js';
export { allOf, costBudget, elapsed, repeatedCalls, tokenBudget, toolCalled, turnCount } from './agent/stopWhen.js';
export type { StopCondition } from './agent/stopWhen.js';
export { toolLoop } from './agent/toolLoop.js';
export { twoPhase } from './agent/twoPhase.js';
export { typed } from './agent/typed.js';
export type { TypedOutput } from './agent/typed.js';
export { typedOutput } from './agent/typedOutput.js';

export { anthropic } from './providers/anthropic/anthropic.js';
export { cohere } from './providers/cohere/cohere.js';
export { google } from './providers/google/google.js';
export type { ModelOptions } from './providers/httpModel.js';
export { mistral } from './providers/mistral.js';
export { ollama } from './providers/ollama/ollama.js';
export { openai } from './providers/openai.js';
export { openaiChat } from './providers/openaiChat.js';
export { openaiCompatible } from './providers/openaiCompatible.js';
export { openrouter } from './providers/openrouter.js';
export { together } from './providers/together.js';
