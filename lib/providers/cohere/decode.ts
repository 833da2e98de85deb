import type { Chunk, FinishReason } from '../../core/chunk.js';
import { ProviderError } from '../../core/errors.js';
import {
  omitUndefined,
  isJsonObject,
  isRecord,
  asArray,
  finiteNumber,
  objectOrEmpty,
  nonEmptyString,
} from '../../core/json/json.js';
import type { JsonObject } from '../../core/json/json.js';
import { usageOf } from '../../core/usage.js';
import type { Usage } from '../../core/usage.js';
import { errorDetails, inParentheses, providerError } from '../../protocol/errorDetails.js';
import type { Decoder } from '../../protocol/wire.js';
import { createChunkEmitter } from '../shared/chunkEmitter.js';
import { finishReasonOf as anyReason } from '../shared/finishReasons.js';
import { createCallFragments } from '../shared/callFragments.js';
import { sourcesIn } from './sources.js';

/**
 * Reads one streamed answer of the Chat API (docs.cohere.com, "A Guide to Streaming Responses" and "Streaming for tool use"). Events are told
 * apart by their `type`, which the `event:` field repeats; those that are not known are passed over. `message-end` is the end.
 *
 * @param emit Takes the chunks, in order.
 */
export function decodeChat(emit: (chunk: Chunk) => void): Decoder {
  const answer = createChunkEmitter('cohere', emit);
  const tell = (chunk: Chunk) => answer.emit(chunk);
  const calls = createCallFragments(tell);
  const known = new Set<string>();
  let plan = '';
  let thinking = '';
  let called = false;

  const say = (content: unknown) => {
    for (const piece of asArray(content)) {
      const thought = nonEmptyString(objectOrEmpty(piece)['thinking']);
      if (thought !== undefined) {
        thinking += thought;
        tell({ type: 'thinking', text: thought });
      }
      const text = isRecord(piece) ? nonEmptyString(piece['text']) : nonEmptyString(piece);
      if (text !== undefined) tell({ type: 'text', text });
    }
  };
  const cite = (citations: unknown) => {
    for (const source of asArray(citations).flatMap(sourcesIn)) {
      const key = JSON.stringify(source.id ?? source);
      if (known.has(key)) continue;
      known.add(key);
      tell({ type: 'source', source });
    }
  };
  const begin = (index: unknown, toolCalls: unknown) => {
    for (const call of asArray(toolCalls).filter(isJsonObject)) {
      called = true;
      calls.start(index, callIn(call));
    }
  };
  /** Calls that stand in the first event, as some gateways send them: without an index they are numbered by their place. */
  const beginAll = (toolCalls: unknown) => {
    asArray(toolCalls).forEach((call, at) => {
      begin(at, [call]);
    });
  };
  const grow = (index: unknown, toolCalls: unknown) => {
    for (const { function: called } of asArray(toolCalls).filter(isJsonObject)) {
      if (isRecord(called) && typeof called['arguments'] === 'string') calls.fragment(index, called['arguments']);
    }
  };
  const readers: Readonly<Record<string, (message: JsonObject, index: unknown) => void>> = {
    'message-start': (message) => {
      plan += nonEmptyString(message['tool_plan']) ?? '';
      say(message['content']);
      beginAll(message['tool_calls']);
    },
    'content-start': ({ content }) => say(content),
    'content-delta': ({ content }) => say(content),
    'tool-plan-delta': (message) => {
      plan += nonEmptyString(message['tool_plan']) ?? '';
    },
    'tool-call-start': (message, index) => begin(index, message['tool_calls']),
    'tool-call-delta': (message, index) => grow(index, message['tool_calls']),
    'tool-call-end': (_, index) => calls.end(index),
    'citation-start': ({ citations }) => cite(citations),
  };

  return {
    next(frame, event) {
      const type = nonEmptyString(frame['type']) ?? event;
      const delta = objectOrEmpty(frame['delta']);
      if (type === 'error' || frame['error'] || (type === undefined && frame['message']))
        throw providerError('cohere', frame);
      answer.addMetadata('responseId', nonEmptyString(frame['id']));
      if (type === 'message-end') {
        const word = nonEmptyString(delta['finish_reason']);
        const failure = failureIn(delta, word);
        if (failure) throw failure;
        if (word !== undefined) answer.setFinishReason(finishReasonOf(word), word);
        answer.setUsage(usageIn(delta['usage']));
        return 'end';
      }
      const read = type !== undefined && Object.hasOwn(readers, type) ? readers[type] : undefined;
      read?.(objectOrEmpty(delta['message']), frame['index']);
      return undefined;
    },
    end(terminal) {
      answer.finishReason(terminal);
      if (called && plan + thinking !== '') {
        tell({
          type: 'providerData',
          provider: 'cohere',
          data: omitUndefined({ tool_plan: nonEmptyString(plan), thinking: nonEmptyString(thinking) }),
        });
      }
      answer.emitFinish();
    },
  };
}

function callIn({ id, function: called }: JsonObject) {
  const { name, arguments: args } = objectOrEmpty(called);
  return omitUndefined({
    id: nonEmptyString(id),
    name: nonEmptyString(name),
    arguments: isJsonObject(args) ? args : nonEmptyString(args),
  });
}

/** What version 1 sent, beside the words that other APIs have too. */
const reasons: ReadonlyMap<string, FinishReason> = new Map([
  ['ERROR_LIMIT', 'length'],
  ['ERROR_TOXIC', 'contentFilter'],
]);

const finishReasonOf = (word: string): FinishReason => reasons.get(word.toUpperCase()) ?? anyReason(word);

/** `ERROR` is "an internal error" by the reference, so that asking again may help, and so does it after a time-out. */
function failureIn(delta: JsonObject, word: string | undefined): ProviderError | undefined {
  const failed = /^(ERROR|TIMEOUT)$/i.test(word ?? '');
  if (!failed && !delta['error']) return undefined;
  const told = errorDetails(delta['error']).message ?? 'no explanation';
  return new ProviderError('cohere', `cohere reported an error in its stream: ${told}${inParentheses(word)}`, {
    retryable: failed,
    providerCode: word,
    data: delta,
  });
}

/** `billed_units` leave out what Cohere adds to a prompt; `tokens` is what the model read. */
function usageIn(usage: unknown): Usage {
  if (!isRecord(usage) || !isRecord(usage['tokens'])) return {};
  const { tokens } = usage;
  return usageOf({
    input: finiteNumber(tokens['input_tokens']),
    output: finiteNumber(tokens['output_tokens']),
    cachedInput: finiteNumber(usage['cached_tokens']),
  });
}
