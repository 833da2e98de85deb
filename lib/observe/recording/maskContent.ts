import { isRecord } from '../../core/json/json.js';
import { toolErrorTexts } from '../../core/message.js';
import type { RecordingEntry } from './entries.js';

type Mask = (value: unknown) => unknown;

/** Fields without a mask are content: everything in them is masked. */
type Masks = Readonly<Record<string, Mask>>;

const keep: Mask = (value) => value;

const keeping = (...fields: readonly string[]): Masks => Object.fromEntries(fields.map((field) => [field, keep]));

function maskAll(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(maskAll);
  return isRecord(value) ? maskFields(value, {}) : maskLeaf(value);
}

/** A text keeps its length, so that a drawing shows the same rates. */
function maskLeaf(value: unknown): unknown {
  if (typeof value === 'string') return maskedText(value);
  return typeof value === 'number' ? 0 : value;
}

export const maskedText = (text: string): string => '·'.repeat(text.length);

/** The library itself writes these: they say what happened to a call, not its content. */
const errorBeginnings = () => [
  `${toolErrorTexts.denied} Reason: `,
  'Invalid arguments: ',
  ...Object.values(toolErrorTexts),
];

function maskToolError(error: unknown): unknown {
  if (typeof error !== 'string') return maskAll(error);
  const beginning = errorBeginnings().find((text) => error.startsWith(text)) ?? '';
  return beginning + maskedText(error.slice(beginning.length));
}

/** Ordinary names in the path are kept: `chat`, `gpt-6.1-terra:stream`. */
const maskUrl = (url: string): string =>
  url
    .replace(/[?#].*/s, '')
    .split('/')
    .map((segment, index) => (index < 3 || /^[\w.:-]*$/.test(segment) ? segment : maskedText(segment)))
    .join('/');

const maskFields = (value: Readonly<Record<string, unknown>>, masks: Masks): unknown =>
  Object.fromEntries(
    Object.entries(value).map(([field, inner]) => {
      const mask = Object.hasOwn(masks, field) ? masks[field] : undefined;
      return [field, (mask ?? maskAll)(inner)];
    }),
  );

const fields =
  (masks: Masks): Mask =>
  (value) =>
    isRecord(value) ? maskFields(value, masks) : maskLeaf(value);

const listOf =
  (mask: Mask): Mask =>
  (value) =>
    Array.isArray(value) ? value.map(mask) : maskAll(value);

const byType =
  (table: Readonly<Record<string, Masks | Mask>>): Mask =>
  (value) => {
    const type = isRecord(value) ? value['type'] : undefined;
    const masks = typeof type === 'string' && Object.hasOwn(table, type) ? table[type] : undefined;
    return typeof masks === 'function' ? masks(value) : fields({ ...masks, type: keep })(value);
  };

const valuesOf =
  (mask: Mask): Mask =>
  (value) =>
    isRecord(value)
      ? Object.fromEntries(Object.entries(value).map(([id, inner]) => [id, mask(inner)]))
      : maskAll(value);

const waitingCall = ['id', 'name', 'path'];

function checkpointMask(part: Mask, messages: Mask): Mask {
  const checkpoint: Mask = fields({
    ...keeping('version', 'orchestrator'),
    state: fields({ ...keeping('turn', 'usage'), messages }),
    emitted: fields({ ...keeping('needsSeparator'), messages }),
    open: fields({
      ...keeping('finish', 'approved'),
      messages,
      results: listOf(part),
      waiting: listOf(fields(keeping(...waitingCall))),
      nested: valuesOf((inner) => checkpoint(inner)),
    }),
    ended: fields(keeping('finishReason')),
    beside: listOf((inner) => checkpoint(inner)),
  });
  return checkpoint;
}

/** A function, so that a bundler can leave the masks out. */
function createMasks(): Mask {
  const call = keeping('id', 'name');
  const toolResult: Mask = (result) => {
    // The error of an unknown tool has only names of tools.
    const isUnknown = isRecord(result) && result['code'] === 'unknown_tool';
    return fields({ ...keeping('type', 'id', 'name', 'code'), error: isUnknown ? keep : maskToolError })(result);
  };
  const error = fields(keeping('name', 'code', 'provider', 'status', 'retryable', 'delay'));

  const part = byType({
    file: keeping('mediaType'),
    source: {},
    provider: keeping('provider'),
    toolCall: call,
    toolResult,
  });
  const message = fields({ role: keep, parts: listOf(part) });
  const messages = listOf(message);

  const checkpoint = checkpointMask(part, messages);

  const value = byType({
    // Dots in a part of a JSON text would make it invalid.
    toolCallFragment: {
      ...keeping('index', 'id', 'name', 'done'),
      arguments: (args) => (typeof args === 'string' ? '' : maskAll(args)),
    },
    file: { file: part },
    source: { source: part },
    provider: keeping('provider'),
    retract: keeping('attempt', 'usage'),
    retry: { ...keeping('attempt', 'delay', 'next'), error },
    finish: keeping('reason', 'usage'),
    toolCall: call,
    toolWaiting: keeping(...waitingCall),
    toolStart: call,
    toolProgress: call,
    toolUsage: keeping('id', 'name', 'usage'),
    nested: { ...call, event: (event) => value(event) },
    toolResult,
    message: { message },
    turn: keeping('turn', 'finishReason', 'usage'),
    result: {
      result: fields({
        ...keeping('finishReason', 'usage', 'cost', 'turns'),
        messages,
        prompts: messages,
        waiting: listOf(fields(keeping(...waitingCall))),
      }),
    },
    unrecorded: keeping('of'),
  });

  const ofEntry = keeping('at', 'run', 'request', 'recorder', 'cut');
  const ofValue: Masks = { ...ofEntry, value };
  const ofEnd: Masks = { ...ofEntry, ...keeping('outcome', 'dropped'), error };

  return byType({
    start: { ...ofEntry, ...keeping('kind', 'name', 'resumed'), input: messages, history: messages, checkpoint },
    agent: {
      ...ofEntry,
      ...keeping('orchestrator', 'toolConcurrency', 'eagerTools', 'toolDeadline', 'maxTurns'),
    },
    request: { ...ofEntry, ...keeping('model', 'earlier', 'tools'), messages },
    chunk: ofValue,
    event: ofValue,
    both: ofValue,
    deltas: { ...ofValue, ...keeping('of', 'field', 'after') },
    requestEnd: ofEnd,
    stop: ofEntry,
    prompt: { ...ofEntry, messages },
    end: ofEnd,
    exchange: {
      ...ofEntry,
      after: keep,
      exchange: fields({
        ...keeping('method', 'status', 'headers', 'end', 'dropped'),
        url: (url) => (typeof url === 'string' ? maskUrl(url) : url),
      }),
    },
  });
}

const maskEntry = /* @__PURE__ */ createMasks();

/** Texts become dots of the same length. A field is kept where it has its meaning: the `name` of a tool. */
export const maskContent = (unmasked: RecordingEntry): RecordingEntry => maskEntry(unmasked) as RecordingEntry;
