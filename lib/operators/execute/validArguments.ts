import { invalidArgumentsTexts, isInvalidArguments } from '../../core/invalidArguments.js';
import { hasInfinity } from '../../core/json/json.js';
import type { ToolCallPart } from '../../core/message.js';
import { validate, type Validation } from '../../core/schema.js';
import type { Tool } from '../../core/tool.js';
import { ToolFailure } from './toolFailure.js';

/** Synchronous with a synchronous schema: virtual time does not control Promises. @throws ToolFailure */
export function validateArguments(tool: Tool, call: ToolCallPart): Validation<unknown> | Promise<Validation<unknown>> {
  if (isInvalidArguments(call.arguments)) {
    throw new ToolFailure('invalid_arguments', invalidArgumentsTexts[call.arguments._error]);
  }
  // Also from a person, a history or a checkpoint: others see null.
  if (hasInfinity(call.arguments)) throw new ToolFailure('invalid_arguments', invalidArgumentsTexts.infinite_number);
  return validate(tool.parameters, call.arguments);
}

/** @throws ToolFailure `invalid_arguments` */
export function validValue(validation: Validation<unknown>): unknown {
  if ('invalid' in validation) throw new ToolFailure('invalid_arguments', `Invalid arguments: ${validation.invalid}`);
  return validation.value;
}
