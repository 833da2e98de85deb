import type { FinishReason } from './chunk.js';
import type { Checkpoint, OpenCalls } from './checkpoint.js';
import { checkpointError } from './errors.js';
import { asArray, isRecord, objectOrEmpty } from './json/json.js';
import { toolCallsOf } from './message.js';

/** Raise it when an older version of the library cannot read a checkpoint any more. */
const VERSION = 1;

/** Unknown keys are ignored. @throws ConfigurationError `checkpoint`, with the first invalid field. */
export function readCheckpoint(value: unknown, orchestrator: string): Checkpoint {
  record(value, 'The value');
  const checkpoint = value as Record<string, unknown>;
  if (checkpoint['version'] !== VERSION) throw wrongVersion(checkpoint['version']);
  text(checkpoint['orchestrator'], 'orchestrator');
  if (checkpoint['orchestrator'] !== orchestrator) throw foreign(String(checkpoint['orchestrator']), orchestrator);
  checkFields(checkpoint, '', checkpointFields);
  const { open, ended } = checkpoint as unknown as Checkpoint;
  if (open) checkIds(open);
  check(!open || !ended, 'ended', 'absent');
  return checkpoint as unknown as Checkpoint;
}

type Check = (value: unknown, path: string) => void;

/** A field `name?` may be absent, and a field `name[]` is a list. */
interface Fields {
  readonly [field: string]: Check | Fields;
}

const innerTask: Fields = { kind: text, name: text, arguments: text, order: count };

const checkpointFields: Fields = {
  state: { 'messages[]': message, turn: count, usage, 'memo?': record },
  emitted: { text, thinking: text, 'messages[]': message, 'metadata?': record, needsSeparator: boolean },
  'open?': {
    'messages[]': message,
    finish: { reason: finishReason, 'rawReason?': text, 'usage?': usage },
    'metadata?': record,
    'results[]': toolResult,
    'waiting[]': { id: text, name: text, arguments: record, 'question?': record, 'path[]?': text },
    'edited?': record,
    'approved[]?': text,
    'nested?': record, // each is checked when it is resumed
  },
  'runId?': text,
  'task?': innerTask,
  'begun[]?': innerTask,
  'background?': { turns: record },
  'ended?': { finishReason, 'rawReason?': text },
};

const partFields: Readonly<Record<string, Fields>> = {
  text: { text },
  file: { mediaType: text, 'name?': text, 'url?': text },
  source: { 'id?': text, 'url?': text, 'title?': text, 'text?': text },
  provider: { provider: text, data: record },
  toolCall: { id: text, name: text, arguments: record },
  toolResult: { id: text, name: text, 'code?': text },
};

const roles: readonly unknown[] = ['system', 'user', 'model'];

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

function checkFields(value: unknown, path: string, fields: Fields): void {
  record(value, path);
  for (const [key, expected] of Object.entries(fields)) {
    const name = key.replace(/\W+$/, '');
    const field = objectOrEmpty(value)[name];
    const fieldPath = path === '' ? name : `${path}.${name}`;
    if (field === undefined && key.endsWith('?')) continue;
    if (key.includes('[]')) {
      check(Array.isArray(field), fieldPath, 'an array');
      for (const [index, entry] of asArray(field).entries()) checkValue(entry, `${fieldPath}[${index}]`, expected);
    } else checkValue(field, fieldPath, expected);
  }
}

function checkValue(value: unknown, path: string, expected: Check | Fields): void {
  if (typeof expected === 'function') expected(value, path);
  else checkFields(value, path, expected);
}

function message(value: unknown, path: string): void {
  checkFields(value, path, { role: text, 'parts[]': part, 'metadata?': record, 'providerOptions?': record });
  check(roles.includes(objectOrEmpty(value)['role']), `${path}.role`, 'a role');
}

function part(value: unknown, path: string): void {
  checkFields(value, path, { type: text, 'providerData?': record, 'providerOptions?': record });
  const { type, url, data, result, error } = objectOrEmpty(value);
  const fields = typeof type === 'string' && Object.hasOwn(partFields, type) ? partFields[type] : undefined;
  check(fields !== undefined, `${path}.type`, 'the type of a part');
  checkFields(value, path, fields ?? {});
  if (type === 'file' && url === undefined) text(data, `${path}.data`);
  if (type !== 'toolResult') return;
  if (result === undefined) text(error, `${path}.error`);
  else check(error === undefined, `${path}.error`, 'absent beside a result');
}

function toolResult(value: unknown, path: string): void {
  part(value, path);
  check(objectOrEmpty(value)['type'] === 'toolResult', `${path}.type`, 'toolResult');
}

/** Each result, waiting call and inner run belongs to another call of the turn. */
function checkIds({ messages, results, waiting, nested = {} }: OpenCalls): void {
  const open = new Set(messages.flatMap(toolCallsOf).map(({ id }) => id));
  for (const [index, { id }] of results.entries())
    check(open.delete(id), `open.results[${index}].id`, 'the id of a call of the turn');
  for (const id of Object.keys(nested))
    check(open.delete(id), 'open.nested', 'an object with the ids of calls without a result');
  for (const [index, { id, path: [outer = ''] = [] }] of waiting.entries()) {
    const isOpen = outer === '' ? open.delete(id) : Object.hasOwn(nested, outer);
    check(isOpen, `open.waiting[${index}].id`, 'the id of a call without a result');
  }
}

function usage(value: unknown, path: string): void {
  record(value, path);
  for (const [field, tokens] of Object.entries(objectOrEmpty(value))) count(tokens, `${path}.${field}`);
}

function finishReason(value: unknown, path: string): void {
  check(typeof value === 'string' && Object.hasOwn(reasons, value), path, 'a finish reason');
}

function record(value: unknown, path: string): void {
  check(isRecord(value), path, 'an object');
}

function text(value: unknown, path: string): void {
  check(typeof value === 'string', path, 'a string');
}

function boolean(value: unknown, path: string): void {
  check(typeof value === 'boolean', path, 'a boolean');
}

function count(value: unknown, path: string): void {
  check(typeof value === 'number' && value >= 0, path, 'a number of at least 0');
}

function check(isValid: boolean, path: string, expected: string): void {
  if (!isValid) throw invalid(path, expected);
}

const invalid = (path: string, expected: string) =>
  checkpointError(
    `The checkpoint is not valid: ${path} must be ${expected}.`,
    'Pass it as it was stored: JSON.parse(JSON.stringify(checkpoint)).',
  );

const wrongVersion = (version: unknown) =>
  typeof version === 'number'
    ? checkpointError(
        `The checkpoint has version ${version}, and this version of Rivulet reads version ${VERSION}.`,
        'Resume the run with the version of Rivulet that stored it.',
      )
    : invalid('version', 'a number');

const foreign = (stored: string, orchestrator: string) =>
  checkpointError(
    `The checkpoint is of the orchestrator "${stored}", and this agent uses "${orchestrator}".`,
    'Resume the run with an agent that has the same orchestrator, tools and output.',
  );
