import { expect } from '@jest/globals';
import { mergeMap } from 'rxjs';
import type { Observable } from 'rxjs';
import type { JsonObject, JsonValue } from '../../lib/core/json/json.js';
import { isToolProgress, isToolResult } from '../../lib/core/eventGuards.js';
import type { Tool } from '../../lib/core/tool.js';
import { executeTools } from '../../lib/operators/executeTools.js';
import { callOf, turnOf } from '../support/toolCalls.js';

/** Calls a tool in a turn, and emits its progress and its result or error. */
export const callTool = (tool: Tool, args: JsonObject = {}, id?: string): Observable<JsonValue> =>
  turnOf(callOf(tool.name, args, id)).pipe(
    executeTools([tool]),
    mergeMap((event) => {
      if (isToolProgress(event)) return [event.value];
      return isToolResult(event) ? [event.error ?? event.result] : [];
    }),
  );

// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- identical types, not only assignable ones
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles only if the types are the same. */
export const sameType = <A, B>(equal: Equal<A, B>) => expect(equal).toBe(true);
