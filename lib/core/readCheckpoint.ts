import type { WaitingCall } from './approval.js';
import type { FinishReason } from './chunk.js';
import type { Checkpoint, OpenCalls } from './checkpoint.js';
import { ConfigurationError } from './errors.js';
import { isRecord } from './json/json.js';
import { toolCallsOf } from './message.js';

/** The version of the format. Raise it when an older version of the library cannot read a checkpoint any more. */
const VERSION = 1;

/**
 * Checks that a value from a database is a complete checkpoint from which an orchestrator can resume. The order of keys
 * does not matter, and unknown keys are ignored.
 *
 * @throws ConfigurationError `checkpoint`, with the path of the first invalid field.
 */
export function readCheckpoint(value: unknown, orchestrator: string): Checkpoint {
  const checkpoint = withCurrentNames(record(value, 'The value'));
  if (checkpoint['version'] !== VERSION) throw wrongVersion(checkpoint['version']);
  text(checkpoint['orchestrator'], 'orchestrator');
  if (checkpoint['orchestrator'] !== orchestrator) throw foreign(String(checkpoint['orchestrator']), orchestrator);
  checkState(checkpoint['state'], 'state');
  checkEmitted(checkpoint['emitted'], 'emitted');
  optional(checkpoint['runId'], 'runId', text);
  optional(checkpoint['open'], 'open', checkOpenCalls);
  optional(checkpoint['ended'], 'ended', checkEnded);
  if (checkpoint['open'] !== undefined && checkpoint['ended'] !== undefined) throw invalid('ended', 'absent');
  return checkpoint as unknown as Checkpoint;
}

/** The checkpoint with `needsSeparator`, which was stored as `afterTools` before. */
function withCurrentNames(checkpoint: Record<string, unknown>): Record<string, unknown> {
  const { emitted } = checkpoint;
  if (!isRecord(emitted) || !('afterTools' in emitted)) return checkpoint;
  const { afterTools, ...rest } = emitted;
  return { ...checkpoint, emitted: { needsSeparator: afterTools, ...rest } };
}

type Check = (value: unknown, path: string) => unknown;

function checkState(value: unknown, path: string): void {
  const { messages, turn, usage, memo } = record(value, path);
  each(messages, `${path}.messages`, checkMessage);
  count(turn, `${path}.turn`);
  checkUsage(usage, `${path}.usage`);
  optional(memo, `${path}.memo`, record);
}

function checkEmitted(value: unknown, path: string): void {
  const emitted = record(value, path);
  text(emitted['text'], `${path}.text`);
  text(emitted['thinking'], `${path}.thinking`);
  each(emitted['messages'], `${path}.messages`, checkMessage);
  optional(emitted['metadata'], `${path}.metadata`, record);
  if (typeof emitted['needsSeparator'] !== 'boolean') throw invalid(`${path}.needsSeparator`, 'a boolean');
}

function checkOpenCalls(value: unknown, path: string): void {
  const { messages, finish, metadata, results, waiting, nested } = record(value, path);
  each(messages, `${path}.messages`, checkMessage);
  const { reason, rawReason, usage } = record(finish, `${path}.finish`);
  checkReason(reason, `${path}.finish.reason`);
  optional(rawReason, `${path}.finish.rawReason`, text);
  optional(usage, `${path}.finish.usage`, checkUsage);
  optional(metadata, `${path}.metadata`, record);
  each(results, `${path}.results`, checkResult);
  each(waiting, `${path}.waiting`, checkWaiting);
  optional(nested, `${path}.nested`, record); // each is checked when it is resumed
  checkIds(value as OpenCalls, path);
}

/** Each result, each waiting call and each inner run belongs to another call of the turn. */
function checkIds({ messages, results, waiting, nested = {} }: OpenCalls, path: string): void {
  const open = new Set(messages.flatMap(toolCallsOf).map(({ id }) => id));
  for (const [index, { id }] of results.entries())
    if (!open.delete(id)) throw invalid(`${path}.results[${index}].id`, 'the id of a call of the turn');
  for (const id of Object.keys(nested))
    if (!open.delete(id)) throw invalid(`${path}.nested`, 'an object whose keys are ids of calls without a result');
  for (const [index, { id, path: [outer = ''] = [] }] of waiting.entries())
    if (!(outer === '' ? open.delete(id) : Object.hasOwn(nested, outer)))
      throw invalid(`${path}.waiting[${index}].id`, 'the id of a call without a result');
}

function checkWaiting(value: unknown, path: string): void {
  checkCall(value, path);
  optional((value as Partial<WaitingCall>).path, `${path}.path`, checkTexts);
}

const checkTexts: Check = (value, path) => each(value, path, text);

function checkEnded(value: unknown, path: string): void {
  const { finishReason, rawReason } = record(value, path);
  checkReason(finishReason, `${path}.finishReason`);
  optional(rawReason, `${path}.rawReason`, text);
}

function checkMessage(value: unknown, path: string): void {
  const { role, parts, metadata, providerOptions } = record(value, path);
  if (role !== 'system' && role !== 'user' && role !== 'model') throw invalid(`${path}.role`, 'a role');
  each(parts, `${path}.parts`, checkPart);
  optional(metadata, `${path}.metadata`, record);
  optional(providerOptions, `${path}.providerOptions`, record);
}

function checkPart(value: unknown, path: string): void {
  const part = record(value, path);
  optional(part['providerData'], `${path}.providerData`, record);
  optional(part['providerOptions'], `${path}.providerOptions`, record);
  switch (part['type']) {
    case 'text':
      text(part['text'], `${path}.text`);
      break;
    case 'file':
      text(part['mediaType'], `${path}.mediaType`);
      optional(part['name'], `${path}.name`, text);
      if (part['url'] === undefined) text(part['data'], `${path}.data`);
      else text(part['url'], `${path}.url`);
      break;
    case 'source':
      for (const field of ['id', 'url', 'title', 'text']) optional(part[field], `${path}.${field}`, text);
      break;
    case 'toolCall':
      checkCall(value, path);
      break;
    case 'toolResult':
      checkResult(value, path);
      break;
    default:
      throw invalid(`${path}.type`, 'the type of a part');
  }
}

function checkCall(value: unknown, path: string): void {
  const { id, name, arguments: args } = record(value, path);
  text(id, `${path}.id`);
  text(name, `${path}.name`);
  record(args, `${path}.arguments`);
}

function checkResult(value: unknown, path: string): void {
  const { type, id, name, result, error, code } = record(value, path);
  if (type !== 'toolResult') throw invalid(`${path}.type`, 'toolResult');
  optional(code, `${path}.code`, text);
  text(id, `${path}.id`);
  text(name, `${path}.name`);
  if (result === undefined) text(error, `${path}.error`);
  else if (error !== undefined) throw invalid(`${path}.error`, 'absent beside a result');
}

function checkUsage(value: unknown, path: string): void {
  for (const [field, tokens] of Object.entries(record(value, path))) count(tokens, `${path}.${field}`);
}

const reasons: Readonly<Record<FinishReason, true>> = {
  stop: true,
  length: true,
  toolCalls: true,
  contentFilter: true,
  paused: true,
  stopped: true,
  waiting: true,
  maxTurns: true,
  limit: true,
  error: true,
  other: true,
  unspecified: true,
};

function checkReason(value: unknown, path: string): void {
  text(value, path);
  if (!Object.hasOwn(reasons, String(value))) throw invalid(path, 'a finish reason');
}

function record(value: unknown, path: string): Record<string, unknown> {
  if (!isRecord(value)) throw invalid(path, 'an object');
  return value;
}

function text(value: unknown, path: string): void {
  if (typeof value !== 'string') throw invalid(path, 'a string');
}

function count(value: unknown, path: string): void {
  if (typeof value !== 'number' || !(value >= 0)) throw invalid(path, 'a number of at least 0');
}

function each(value: unknown, path: string, check: Check): void {
  if (!Array.isArray(value)) throw invalid(path, 'an array');
  for (const [index, entry] of value.entries()) check(entry, `${path}[${index}]`);
}

function optional(value: unknown, path: string, check: Check): void {
  if (value !== undefined) check(value, path);
}

const invalid = (path: string, expected: string) =>
  new ConfigurationError(
    'checkpoint',
    `The checkpoint is not valid: ${path} must be ${expected}.`,
    'Pass the checkpoint as it was stored, complete and unchanged: JSON.parse(JSON.stringify(checkpoint)).',
  );

const wrongVersion = (version: unknown) =>
  typeof version === 'number'
    ? new ConfigurationError(
        'checkpoint',
        `The checkpoint has version ${version}, and this version of Rivulet reads version ${VERSION}.`,
        'Resume the run with the version of Rivulet that stored it.',
      )
    : invalid('version', 'a number');

const foreign = (stored: string, orchestrator: string) =>
  new ConfigurationError(
    'checkpoint',
    `The checkpoint is of the orchestrator "${stored}", and this agent uses "${orchestrator}".`,
    'Resume the run with an agent that has the same orchestrator, tools and output.',
  );
