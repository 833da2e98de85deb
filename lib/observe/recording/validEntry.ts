import { finiteNumber, isRecord } from '../../core/json/json.js';
import type { RecordingEntry } from './entries.js';

type Check = (value: unknown) => boolean;
type Shape = Readonly<Record<string, Check>>;

const isText: Check = (value) => typeof value === 'string';
const isNumber: Check = (value) => finiteNumber(value) !== undefined;
const listOf =
  (isItem: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(isItem);
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const hasShape = (value: unknown, shape: Shape): boolean =>
  isRecord(value) && Object.entries(shape).every(([field, check]) => check(value[field]));
const shaped =
  (shape: Shape): Check =>
  (value) =>
    hasShape(value, shape);

const call: Shape = { id: isText, name: isText };

const partShapes: Readonly<Record<string, Shape>> = {
  text: { text: isText },
  toolCall: { id: isText, name: isText, arguments: isRecord },
  toolResult: call,
};

const isPart: Check = (value) => hasShape(value, { type: isText }) && hasShape(value, shapeOf(partShapes, value));
const isMessage = /* @__PURE__ */ shaped({ role: isText, parts: /* @__PURE__ */ listOf(isPart) });

function createValueShapes(): Readonly<Record<string, Shape>> {
  return {
    text: { text: isText },
    thinking: { text: isText },
    file: { file: isRecord },
    source: { source: isRecord },
    metadata: { metadata: isRecord },
    retry: { attempt: isNumber, delay: isNumber, error: isRecord },
    finish: { reason: isText, usage: optional(isRecord) },
    toolCall: { ...call, arguments: isRecord },
    toolWaiting: { ...call, arguments: isRecord, question: optional(isRecord) },
    toolStart: { ...call, arguments: isRecord },
    toolProgress: call,
    toolUsage: { ...call, usage: isRecord },
    nested: { ...call, event: isValue },
    toolResult: call,
    message: { message: isMessage },
    turn: { turn: isNumber, finishReason: isText, usage: optional(isRecord) },
    result: { result: shaped({ messages: listOf(isMessage), finishReason: isText, usage: isRecord }) },
  };
}

const valueShapes = /* @__PURE__ */ createValueShapes();

function isValue(value: unknown): boolean {
  return hasShape(value, { type: isText }) && hasShape(value, shapeOf(valueShapes, value));
}

function shapeOf(shapes: Readonly<Record<string, Shape>>, value: unknown): Shape {
  const type = isRecord(value) ? value['type'] : undefined;
  const shape = typeof type === 'string' && Object.hasOwn(shapes, type) ? shapes[type] : undefined;
  return shape ?? {};
}

/** In characters of JSON: of consecutive deltas, what they share is copied for each. */
export const MAX_DELTA = 1000;

/** A function, so that a bundler can leave the table out. */
function createEntryShapes(): Readonly<Record<string, Shape>> {
  const ofRun: Shape = { at: isNumber, run: isNumber, recorder: optional(isText) };
  const ofRequest: Shape = { ...ofRun, request: isNumber };
  const value: Shape = { ...ofRun, request: optional(isNumber), value: isValue };
  const ending: Shape = { outcome: isText, error: optional(isRecord) };

  return {
    recording: {},
    start: {
      ...ofRun,
      kind: isText,
      name: optional(isText),
      input: optional(listOf(isMessage)),
      history: optional(listOf(isMessage)),
      answers: optional(isRecord),
    },
    agent: ofRun,
    request: {
      ...ofRequest,
      model: shaped({ provider: isText, name: isText }),
      earlier: isNumber,
      messages: listOf(isMessage),
      tools: optional(listOf(shaped({ name: isText, description: isText, parameters: isRecord }))),
      settings: optional(isRecord),
    },
    chunk: value,
    event: value,
    both: value,
    deltas: {
      ...ofRun,
      request: optional(isNumber),
      of: (of) => of === 'chunk' || of === 'event' || of === 'both',
      value: (each) => isValue(each) && JSON.stringify(each).length <= MAX_DELTA,
      field: (field) => field === 'text' || field === 'arguments',
      texts: listOf(isText),
      after: listOf(isNumber),
    },
    requestEnd: { ...ofRequest, ...ending },
    stop: ofRun,
    prompt: { ...ofRun, messages: listOf(isMessage) },
    end: { ...ofRun, ...ending },
    exchange: {
      at: isNumber,
      after: listOf(isNumber),
      exchange: shaped({ method: isText, url: isText, frames: listOf(isText) }),
    },
  };
}

const entryShapes = /* @__PURE__ */ createEntryShapes();

/** Whether a line is an entry that has what readers depend on. An entry of an unknown type has. */
export const isEntry = (line: unknown): line is RecordingEntry =>
  hasShape(line, { type: isText }) && hasShape(line, shapeOf(entryShapes, line));
