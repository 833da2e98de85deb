import { invalidArgumentsTexts, isInvalidArguments } from '../../core/invalidArguments.js';
import type { ToolCallPart } from '../../core/message.js';
import { validate } from '../../core/schema.js';
import type { Validation } from '../../core/schema.js';
import type { Tool } from '../../core/tool.js';
import { ToolFailure } from './toolFailure.js';

/**
 * Validates the arguments of a call. Synchronous if the schema is synchronous: a Promise would delay the call, and
 * virtual time does not control Promises.
 *
 * @throws ToolFailure `invalid_arguments` if the arguments could not be read.
 */
export function validateArguments(tool: Tool, call: ToolCallPart): Validation<unknown> | Promise<Validation<unknown>> {
  if (isInvalidArguments(call.arguments)) {
    throw new ToolFailure('invalid_arguments', invalidArgumentsTexts[call.arguments._error]);
  }
  return validate(tool.parameters, call.arguments);
}

/**
 * The validated arguments.
 *
 * @throws ToolFailure `invalid_arguments` if they are invalid.
 */
export function validValue(validation: Validation<unknown>): unknown {
  if ('invalid' in validation) throw new ToolFailure('invalid_arguments', `Invalid arguments: ${validation.invalid}`);
  return validation.value;
}
