import { from, map, of } from 'rxjs';
import type { Observable } from 'rxjs';
import type { ToolCallPart } from '../../core/message.js';
import { validate } from '../../core/schema.js';
import type { Validation } from '../../core/schema.js';
import { invalidArgumentsTexts, isInvalidArguments } from '../../core/invalidArguments.js';
import type { Tool } from '../../core/tool.js';
import { ToolFailure } from './toolFailure.js';

/**
 * The validated arguments of a call. Synchronous if the schema is synchronous: a Promise would delay the call, and
 * virtual time does not control Promises.
 *
 * @throws ToolFailure `invalid_arguments`, also as an error notification.
 */
export function validArguments(tool: Tool, call: ToolCallPart): Observable<unknown> {
  if (isInvalidArguments(call.arguments)) {
    throw new ToolFailure('invalid_arguments', invalidArgumentsTexts[call.arguments._error]);
  }
  const validation = validate(tool.parameters, call.arguments);
  return (validation instanceof Promise ? from(validation) : of(validation)).pipe(map(validValue));
}

function validValue(validation: Validation<unknown>): unknown {
  if ('invalid' in validation) throw new ToolFailure('invalid_arguments', `Invalid arguments: ${validation.invalid}`);
  return validation.value;
}
