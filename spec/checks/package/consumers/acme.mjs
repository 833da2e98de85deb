// A provider outside of the repository, written as docs/write-a-provider.md describes: Acme's invented API streams events of JSON.
import {
  commonFinishReason,
  createCallFragments,
  createChunkEmitter,
  finiteNumber,
  httpModel,
  nonEmptyString,
  objectOrEmpty,
  omitUndefined,
  providerError,
  resultText,
  sse,
  unknownChunk,
  usageOf,
  withMessageOptions,
} from 'rivulet/provider';
import { ConfigurationError, messageText, toolCallsOf } from 'rivulet';

export function acme(name, options = {}) {
  return httpModel(
    {
      provider: 'acme',
      name,
      baseUrl: 'https://api.acme.example/v1',
      apiKey: { variable: 'ACME_API_KEY' },
      authorize: (key) => ({ 'x-acme-key': key }),
      wire: { framing: sse, encode: (request) => encode(name, request), decode },
      capabilities: {
        tools: true,
        multiToolCalls: true,
        typedOutput: false,
        thinking: true,
        vision: false,
        files: false,
      },
    },
    options,
  );
}

function encode(model, { messages, tools = [], temperature, maxOutputTokens, seed }) {
  if (seed !== undefined) throw new ConfigurationError('options', 'acme does not support a seed.', 'Omit seed.');
  const body = omitUndefined({
    model,
    turns: messages.flatMap((message) => withMessageOptions(encodeMessage(message), 'acme', message)),
    tools:
      tools.length > 0
        ? tools.map(({ name, description, parameters }) => ({ name, description, parameters }))
        : undefined,
    temperature,
    max_tokens: maxOutputTokens,
  });
  return { path: '/generate', body };
}

function encodeMessage(message) {
  const text = messageText(message);
  const results = message.parts
    .filter(({ type }) => type === 'toolResult')
    .map((part) => ({ role: 'result', call: part.id, text: resultText(part) }));
  const calls = toolCallsOf(message).map(({ id, name, arguments: args }) => ({ id, name, args }));
  if (text === '' && calls.length === 0) return results;
  return [...results, omitUndefined({ role: message.role, text, calls: calls.length > 0 ? calls : undefined })];
}

function decode(emit) {
  const emitter = createChunkEmitter('acme', emit);
  const calls = createCallFragments(emitter.emit);
  return {
    next(frame) {
      switch (frame.type) {
        case 'begin':
          emitter.addMetadata('responseId', nonEmptyString(frame.id));
          break;
        case 'text':
        case 'thinking':
          emitter.emit({ type: frame.type, text: nonEmptyString(frame.text) ?? '' });
          break;
        case 'call':
          calls.start(frame.n, omitUndefined({ id: nonEmptyString(frame.id), name: nonEmptyString(frame.name) }));
          break;
        case 'arguments':
          calls.fragment(frame.n, nonEmptyString(frame.json) ?? '');
          break;
        case 'call_end':
          calls.end(frame.n);
          break;
        case 'error':
          throw providerError('acme', frame);
        case 'end': {
          const { in: input, out: output } = objectOrEmpty(frame.tokens);
          emitter.setUsage(usageOf({ input: finiteNumber(input), output: finiteNumber(output) }));
          emitter.setFinishReason(commonFinishReason(frame.why), frame.why);
          return 'end';
        }
        default:
          emitter.emit(unknownChunk(frame));
      }
      return undefined;
    },
    end(terminal) {
      emitter.finishReason(terminal); // throws if the response was interrupted
      emitter.emitFinish();
    },
  };
}
