import { filter, of } from 'rxjs';
import type { Observable } from 'rxjs';
import type { Answers } from '../core/approval.js';
import type { FinishChunk } from '../core/chunk.js';
import type { MessageEvent, ToolProgressEvent, ToolResultEvent, ToolStartEvent } from '../core/event.js';
import { isToolProgress, isToolResult, isToolStart } from '../core/eventGuards.js';
import { modelMessage } from '../core/message.js';
import type { Tool } from '../core/tool.js';
import { executeTools } from '../operators/executeTools.js';
import type { ExecuteToolsOptions } from '../operators/executeTools.js';
import type { ToolCallView } from './view.js';

/** Executes calls that wait for their result, and emits the events of their tools. */
export function executeCalls(
  calls: readonly ToolCallView[],
  tools: readonly Tool[],
  options: ExecuteToolsOptions,
): Observable<ToolStartEvent | ToolProgressEvent | ToolResultEvent> {
  const parts = calls.map(({ type, id, name, arguments: args }) => ({ type, id, name, arguments: args }));
  const turn: (MessageEvent | FinishChunk)[] = [
    { type: 'message', message: modelMessage(parts) },
    { type: 'finish', reason: 'toolCalls' },
  ];
  return of(...turn).pipe(
    executeTools(tools, options),
    filter((event) => isToolStart(event) || isToolProgress(event) || isToolResult(event)),
  );
}

/** The result of a call, or the error of its tool, as an answer for `resume`. */
export const answerOf = ({ id, result, error }: ToolResultEvent): Answers =>
  error === undefined ? { results: { [id]: result } } : { errors: { [id]: error } };
