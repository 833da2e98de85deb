import type { OpenCallsEvent } from './checkpoint.js';
import type {
  Chunk,
  FileChunk,
  FinishChunk,
  MetadataChunk,
  ProviderChunk,
  RetractChunk,
  RetryChunk,
  SourceChunk,
  TextChunk,
  ThinkingChunk,
  ToolCallFragment,
} from './chunk.js';
import type {
  CheckpointEvent,
  NestedEvent,
  TurnMessageEvent,
  ResultEvent,
  RunEvent,
  StreamEvent,
  ToolCallEvent,
  ToolProgressEvent,
  ToolResultEvent,
  ToolStartEvent,
  ToolUsageEvent,
  ToolWaitingEvent,
  TurnEvent,
} from './event.js';
import { hasToolResults } from './message.js';
import type { Plain } from './typesOf.js';

/** Any chunk or event of Rivulet's vocabulary. */
export type KnownEvent = Chunk | RunEvent | Plain<OpenCallsEvent>;

/**
 * Types an event so that a `switch` over its `type` narrows it. There is no check at run time: the event may have any
 * other type, so the `switch` needs a `default`.
 *
 * ```ts
 * const known = asKnownEvent(event);
 * switch (known.type) {
 *   case 'text': return known.text;
 *   case 'message': return messageText(known.message);
 *   default: return '';
 * }
 * ```
 */
export const asKnownEvent = (event: StreamEvent): KnownEvent => event as KnownEvent;

/** Whether an event is visible text. */
export const isText = (event: StreamEvent): event is TextChunk => event.type === 'text';

/** Whether an event is the model's reasoning. */
export const isThinking = (event: StreamEvent): event is ThinkingChunk => event.type === 'thinking';

/** Whether an event is a fragment of a tool call. */
export const isToolCallFragment = (event: StreamEvent): event is ToolCallFragment => event.type === 'toolCallFragment';

/** Whether an event is a file that the model generated. */
export const isFile = (event: StreamEvent): event is FileChunk => event.type === 'file';

/** Whether an event is a source that the model cites. */
export const isSource = (event: StreamEvent): event is SourceChunk => event.type === 'source';

/** Whether an event is metadata for the subscriber. */
export const isMetadata = (event: StreamEvent): event is MetadataChunk => event.type === 'metadata';

/** Whether an event is a part that only the provider can read. */
export const isProviderPart = (event: StreamEvent): event is ProviderChunk => event.type === 'provider';

/** Whether an event voids all chunks since the turn began. */
export const isRetract = (event: StreamEvent): event is RetractChunk => event.type === 'retract';

/** Whether an event announces that a request or a turn is sent again. */
export const isRetry = (event: StreamEvent): event is RetryChunk => event.type === 'retry';

/** Whether an event is the last chunk of a model. */
export const isFinish = (event: StreamEvent): event is FinishChunk => event.type === 'finish';

/** Whether an event is a complete tool call. */
export const isToolCall = (event: StreamEvent): event is ToolCallEvent => event.type === 'toolCall';

/** Whether an event reports that a call waits for a decision or for its result. */
export const isToolWaiting = (event: StreamEvent): event is ToolWaitingEvent => event.type === 'toolWaiting';

/** Whether an event reports that a tool starts. */
export const isToolStart = (event: StreamEvent): event is ToolStartEvent => event.type === 'toolStart';

/** Whether an event is progress of a running tool. */
export const isToolProgress = (event: StreamEvent): event is ToolProgressEvent => event.type === 'toolProgress';

/** Whether an event reports tokens that a running tool itself has used. */
export const isToolUsage = (event: StreamEvent): event is ToolUsageEvent => event.type === 'toolUsage';

/** Whether an event is of an inner run: of an agent that a tool runs. */
export const isNested = (event: StreamEvent): event is NestedEvent => event.type === 'nested';

/** Whether an event is the result or the error of a tool call. */
export const isToolResult = (event: StreamEvent): event is ToolResultEvent => event.type === 'toolResult';

/** Whether an event is a complete message: the model's message, or the message with the results of its tool calls. */
export const isMessage = (event: StreamEvent): event is TurnMessageEvent => event.type === 'message';

/** Whether an event is a complete message of the model. */
export const isModelMessage = (event: StreamEvent): event is TurnMessageEvent =>
  isMessage(event) && event.message.role === 'model';

/** Whether an event is the message with the results of a turn's tool calls. */
export const isResultsMessage = (event: StreamEvent): event is TurnMessageEvent =>
  isMessage(event) && hasToolResults(event.message);

/** Whether an event is the end of a turn. */
export const isTurn = (event: StreamEvent): event is TurnEvent => event.type === 'turn';

/** Whether an event is the end of a run. */
export const isResult = (event: StreamEvent): event is ResultEvent => event.type === 'result';

/** Whether an event is a checkpoint within a turn. */
export const isCheckpoint = (event: StreamEvent): event is CheckpointEvent => event.type === 'checkpoint';

/** Whether an event reports a turn whose calls have not all ended. */
export const isOpenCalls = (event: StreamEvent): event is OpenCallsEvent => event.type === 'openCalls';
