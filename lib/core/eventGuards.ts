import type { OpenCallsEvent } from './checkpoint.js';
import type {
  Chunk,
  FileChunk,
  FinishChunk,
  ProviderChunk,
  RetractChunk,
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

export const isText = (event: StreamEvent): event is TextChunk => event.type === 'text';

export const isThinking = (event: StreamEvent): event is ThinkingChunk => event.type === 'thinking';

export const isToolCallFragment = (event: StreamEvent): event is ToolCallFragment => event.type === 'toolCallFragment';

export const isFile = (event: StreamEvent): event is FileChunk => event.type === 'file';

export const isProviderPart = (event: StreamEvent): event is ProviderChunk => event.type === 'provider';

export const isRetract = (event: StreamEvent): event is RetractChunk => event.type === 'retract';

export const isFinish = (event: StreamEvent): event is FinishChunk => event.type === 'finish';

export const isToolCall = (event: StreamEvent): event is ToolCallEvent => event.type === 'toolCall';

export const isToolWaiting = (event: StreamEvent): event is ToolWaitingEvent => event.type === 'toolWaiting';

export const isToolStart = (event: StreamEvent): event is ToolStartEvent => event.type === 'toolStart';

export const isToolProgress = (event: StreamEvent): event is ToolProgressEvent => event.type === 'toolProgress';

export const isToolUsage = (event: StreamEvent): event is ToolUsageEvent => event.type === 'toolUsage';

export const isNested = (event: StreamEvent): event is NestedEvent => event.type === 'nested';

export const isToolResult = (event: StreamEvent): event is ToolResultEvent => event.type === 'toolResult';

export const isMessage = (event: StreamEvent): event is TurnMessageEvent => event.type === 'message';

export const isModelMessage = (event: StreamEvent): event is TurnMessageEvent =>
  isMessage(event) && event.message.role === 'model';

export const isTurn = (event: StreamEvent): event is TurnEvent => event.type === 'turn';

export const isResult = (event: StreamEvent): event is ResultEvent => event.type === 'result';

export const isCheckpoint = (event: StreamEvent): event is CheckpointEvent => event.type === 'checkpoint';

export const isOpenCalls = (event: StreamEvent): event is OpenCallsEvent => event.type === 'openCalls';
