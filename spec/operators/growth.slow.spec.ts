import { appendFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { from, of } from 'rxjs';
import type { Observable } from 'rxjs';
import type { Chunk } from '../../lib/core/chunk.js';
import type { StreamEvent } from '../../lib/core/event.js';
import { startState } from '../../lib/core/event.js';
import { repairHistory } from '../../lib/core/history.js';
import { toJson } from '../../lib/core/json/toJson.js';
import type { JsonObject, JsonValue } from '../../lib/core/json/json.js';
import { modelMessage, userMessage } from '../../lib/core/message.js';
import type { Message, Part } from '../../lib/core/message.js';
import { accumulateToolCalls } from '../../lib/operators/accumulateToolCalls.js';
import { consolidate } from '../../lib/operators/consolidate.js';
import { endRun } from '../../lib/operators/endRun.js';
import { endTurn } from '../../lib/operators/endTurn.js';
import { unwrapOutput } from '../../lib/operators/unwrapOutput.js';
import { validateText } from '../../lib/agent/outputRepair.js';
import { createConversationFilter } from '../../lib/protocol/conversationFilter.js';
import { KnownSecrets } from '../../lib/tools/mcp/knownSecrets.js';
import { connectionError } from '../../lib/protocol/connectionError.js';
import { decodeFrames } from '../../lib/protocol/decodeFrames.js';
import { statusError } from '../../lib/protocol/errorResponse.js';
import { redactThrown } from '../../lib/protocol/redact.js';
import { joinUrl } from '../../lib/protocol/request.js';
import { displayUrl, findSecrets, secretsOf, spellings } from '../../lib/protocol/secrets.js';
import { ndjson } from '../../lib/protocol/ndjson.js';
import { sse } from '../../lib/protocol/sse.js';
import type { Wire } from '../../lib/protocol/wire.js';
import { createSourceDecoder } from '../../lib/providers/aiSdk/sources.js';
import { decodeAnthropic } from '../../lib/providers/anthropic/decode.js';
import { encodeMessages as encodeAnthropic } from '../../lib/providers/anthropic/messages.js';
import { compatible } from '../../lib/providers/chatCompletions/compatible.js';
import { chatCompletions } from '../../lib/providers/chatCompletions/chatCompletions.js';
import { decodeCohere } from '../../lib/providers/cohere/decode.js';
import { decodeGoogle } from '../../lib/providers/google/decode.js';
import { encodeContents } from '../../lib/providers/google/messages.js';
import { decodeOllama } from '../../lib/providers/ollama/decode.js';
import { decodeResponses } from '../../lib/providers/openaiResponses/decode.js';
import { encodeInput } from '../../lib/providers/openaiResponses/messages.js';
import { findSession } from '../../lib/providers/openaiResponses/session.js';
import { extractTextCalls } from '../../lib/providers/shared/textCalls.js';
import { extractThinking } from '../../lib/providers/shared/thinkTags.js';
import { collectGarbage } from '../support/collectGarbage.js';
import { shortestTime } from '../support/cost.js';

// Whatever a model, a server or a tool sends, the work grows linearly with its length. Each row is a text or a sequence
// that was, or may become, the worst case of a loop or of a regular expression. It is measured at n and at 4n: linear work
// takes four times as long, quadratic work sixteen times.

const utf8 = (text: string) => new TextEncoder().encode(text);
const noWire = { encode: () => ({ path: '/', body: {} }) } as const;
const wires = {
  anthropic: { framing: sse, ...noWire, decode: decodeAnthropic },
  chat: chatCompletions('m', { ...compatible, provider: 'chat' }),
  cohere: { framing: sse, ...noWire, decode: decodeCohere },
  google: { framing: sse, ...noWire, decode: decodeGoogle },
  ollama: { framing: ndjson, ...noWire, decode: decodeOllama },
  responses: { framing: sse, ...noWire, decode: decodeResponses },
} as const satisfies Record<string, Wire>;

const run = <T>(source: Observable<T>): void => {
  source.subscribe({ error: () => undefined });
};
const list = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));

const hideKey = (n: number) => () => findSecrets('sk-p'.repeat(n), spellings([`${'sk-p'.repeat(8)}X`]));
const hideToken = (bytes: string) => {
  const known = new KnownSecrets();
  known.add(['abcd'.repeat(8), 'access/secret+1~A=']);
  const blob = btoa(bytes);
  return () => known.hide({ blob, text: bytes });
};
const hideConversation = (n: number) => () => createConversationFilter(['ab'.repeat(n)])('ab'.repeat(500));

/** The last frames of an Anthropic message. */
const endOfMessage = [{ type: 'message_delta', delta: { stop_reason: 'end_turn' } }, { type: 'message_stop' }];

/** A response, from its bytes to the events of a run. */
function respond(wire: keyof typeof wires, frames: readonly (JsonObject | string)[]): () => void {
  const { framing } = wires[wire];
  const texts = frames.map((frame) => (typeof frame === 'string' ? frame : JSON.stringify(frame)));
  const body = utf8(texts.map((text) => (framing === sse ? `data: ${text}\n\n` : `${text}\n`)).join(''));
  return () =>
    run(
      of(body).pipe(
        decodeFrames(wires[wire], {
          provider: wire,
          redaction: () => ({ provider: wire, secrets: ['sk-secret-key'] }),
        }),
        asTurn(),
      ),
    );
}
const asTurn = () => (source: Observable<Chunk>) =>
  source.pipe(accumulateToolCalls<StreamEvent>(), consolidate(), endTurn(startState([])), endRun());

const chat = (delta: JsonObject): JsonObject => ({ choices: [{ index: 0, delta, finish_reason: null }] });
const chatEnd = [{ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }, '[DONE]'];
const chatOf = (deltas: readonly JsonObject[]) => respond('chat', [...deltas.map(chat), ...chatEnd]);
const google = (parts: readonly JsonObject[], fields: JsonObject = {}): JsonObject => ({
  candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', ...fields }],
});
const responsesEnd = (output: readonly JsonObject[] = []): JsonObject => ({
  type: 'response.completed',
  response: { id: 'r', status: 'completed', output },
});

/** Chunks, from the operators to the end of a run. */
const turnOf = (chunks: readonly Chunk[]) => () => run(from([...chunks, finish]).pipe(asTurn()));
const finish: Chunk = { type: 'finish', reason: 'stop' };

const textsOf = (texts: string[]) => from([...texts.map((text): Chunk => ({ type: 'text', text })), finish]);
const offered = [{ name: 'f', description: '', parameters: {} }];
const throughUnwrapper = (texts: string[]) => () => run(textsOf(texts).pipe(unwrapOutput()));
const throughTags = (texts: string[]) => () => run(textsOf(texts).pipe(extractThinking()));
const throughCalls = (texts: string[]) => () =>
  run(textsOf(texts).pipe(extractTextCalls({ messages: [], tools: offered })));

/** The error of a response with this body. */
const failWith = (body: string, headers: Record<string, string> = {}) => {
  const bytes = utf8(body);
  return () => run(statusError('p', new Response(null, { status: 400, headers }), of(bytes)));
};

/** A history with one turn of many calls. */
function callsHistory(count: number, id = (index: number) => `call ${index}`): readonly Message[] {
  const calls = list(count, (at): Part => ({ type: 'toolCall', id: id(at), name: 'f', arguments: { at } }));
  const results = list(count, (at): Part => ({ type: 'toolResult', id: id(at), name: 'f', result: at }));
  return [userMessage('go'), modelMessage(calls), userMessage(results.reverse())];
}
const schema = { type: 'object' } as const;

/** Growing input: its name, the smaller size, and a function that makes the work for a size. */
type Row = readonly [name: string, size: number, make: (n: number) => () => unknown];

const rows: readonly Row[] = [
  ['line feeds after a code fence', 5_000, (n) => () => run(validateText(schema, `\`\`\`json\n${'\n'.repeat(n)}x`))],
  ['blanks before a code fence', 5_000, (n) => () => run(validateText(schema, `${' '.repeat(n)}x\`\`\``))],
  ['fences in a code fence', 5_000, (n) => () => run(validateText(schema, '```\n'.repeat(n)))],

  ['slashes in a base URL', 5_000, (n) => () => joinUrl(`http://h${'/'.repeat(n)}x`, '/path')],
  ['colons in a base URL', 5_000, (n) => () => secretsOf(`http://${':'.repeat(n)}`, {})],
  ['at signs in a base URL', 5_000, (n) => () => secretsOf(`http://u:${'@'.repeat(n)}`, {})],
  ['colons in a URL that is shown', 5_000, (n) => () => displayUrl(`http://${':'.repeat(n)}/@${'key-1'.repeat(n)}`)],
  [
    'beginnings of tokens in an error',
    5_000,
    (n) => () => redactThrown({ data: '-eyJ'.repeat(n) }, { provider: 'p', debug: true }),
  ],
  [
    'repeats of the conversation in an error',
    5_000,
    (n) => () =>
      redactThrown(
        { data: 'a text of the conversation '.repeat(n) },
        { provider: 'p', conversation: () => list(n, (at) => `a text of the conversation ${at}`) },
      ),
  ],
  [
    'words of an error and of a conversation, which are not the same',
    10_000,
    (n) => {
      const words = (word: string) => list(n, (at) => `${word}${at * 7919}`).join(' ');
      return () => redactThrown({ data: words('this') }, { provider: 'p', conversation: () => [words('that')] });
    },
  ],
  [
    'words of an error message, and of a conversation without them',
    20_000,
    (n) => () =>
      redactThrown(new Error('q'.repeat(n)), {
        provider: 'p',
        conversation: () => [list(n, (at) => `that${at * 7919}`).join(' ')],
      }),
  ],
  [
    'backslashes in an error and in a conversation',
    20_000,
    (n) => () =>
      redactThrown(new Error('\\'.repeat(n)), {
        provider: 'p',
        conversation: () => [`a conversation${'\\'.repeat(n)}`],
      }),
  ],
  [
    'one letter in an error and in a conversation',
    100_000,
    (n) => () => redactThrown(new Error('a'.repeat(n)), { provider: 'p', conversation: () => ['a'.repeat(n)] }),
  ],
  [
    'beginnings of tokens with dots',
    20_000,
    (n) => () => redactThrown({ data: 'eyJ-aaaaaaaaaa.eyJ'.repeat(n) }, { provider: 'p', debug: true }),
  ],
  ...Object.entries({
    'characters of arguments, to which a server returns': (n: number, wide: boolean) =>
      wide ? `{"a":[${'1,'.repeat(n)}1]}` : ' ',
    'fields of arguments, to which a server returns': (n: number, wide: boolean) =>
      wide ? Object.fromEntries(list(n, (at) => [`k${at}`, 1])) : { k0: 1 },
  }).map(([name, args]): Row => [
    name,
    8_000,
    (n) =>
      turnOf([
        { type: 'toolCallFragment', id: 'x', index: 0, name: 'f', arguments: args(n, true) },
        ...list(n / 4, (at): Chunk[] => [
          { type: 'toolCallFragment', id: `y${at}`, index: at, arguments: '{"a":1}' },
          { type: 'toolCallFragment', id: 'x', index: at + 1, arguments: args(n, false) },
        ]).flat(),
      ]),
  ]),
  [
    'repeated announcements of a call with other arguments',
    6_000,
    (n) =>
      turnOf([
        { type: 'toolCallFragment', id: 'x', index: 0, name: 'f', arguments: `{"a":[${'1,'.repeat(n)}1]}` },
        ...list(n / 4, (at): Chunk => ({ type: 'toolCallFragment', id: 'x', index: at + 1, name: 'f' })),
        ...list(n / 4, (at): Chunk => {
          return { type: 'toolCallFragment', index: at + 1, arguments: `{"a":[${at}]}`, done: true };
        }),
      ]),
  ],
  [
    'brackets in arguments',
    100_000,
    (n) => turnOf([{ type: 'toolCallFragment', name: 'f', arguments: '['.repeat(n) }]),
  ],
  ['quotes in arguments', 50_000, (n) => turnOf([{ type: 'toolCallFragment', name: 'f', arguments: '"'.repeat(n) }])],
  [
    'slashes in the URL of an error',
    5_000,
    (n) => () => connectionError({ provider: 'p', url: `http:${'/'.repeat(n)}`, headers: {} }, 'x'),
  ],
  ['the first characters of the key, repeated', 4_000, hideKey],
  ['an error that repeats a conversation', 50_000, hideConversation],
  ['the bytes of a file of an MCP server', 500_000, (n) => hideToken('x'.repeat(n))],
  ['bytes that repeat the beginning of a token', 200_000, (n) => hideToken('abc'.repeat(n))],
  ['bytes that repeat a token', 20_000, (n) => hideToken('1access/secret+1~A='.repeat(n))],
  ['values that JSON does not have', 5_000, (n) => () => expect(() => toJson(list(n, () => ({ x: NaN })))).toThrow()],
  ['hyphens in the name of a header', 5_000, (n) => () => secretsOf('', { ['a-'.repeat(n)]: 'x' })],
  [
    'the key in an error, many times',
    20_000,
    (n) => () =>
      redactThrown({ data: 'sk-secret-key'.repeat(n) }, { provider: 'p', secrets: ['sk-secret-key'], debug: true }),
  ],
  [
    'the beginning of the key in an error',
    50_000,
    (n) => () => redactThrown({ data: 'sk-s'.repeat(n) }, { provider: 'p', secrets: ['sk-secret-key'], debug: true }),
  ],

  ['blanks after event: in an error body', 4_000, (n) => failWith(`event:${' '.repeat(n)}`)],
  ['line feeds after event: in an error body', 4_000, (n) => failWith(`event:${'\n'.repeat(n)}x`)],
  ['blanks in an error body', 16_000, (n) => failWith(`${' \n'.repeat(n / 2)}x`)],
  ['retryDelay in an error body', 4_000, (n) => failWith(JSON.stringify(list(n, () => ({ retryDelay: '1' }))))],
  ['digits in retry-after', 50_000, (n) => failWith('x', { 'retry-after': `${'1'.repeat(n)}x` })],

  [
    'fields of an event stream that are unknown',
    50_000,
    (n) =>
      respond(
        'chat',
        list(n, () => 'x'),
      ),
  ],
  ['blanks in a frame', 200_000, (n) => respond('chat', [`${' '.repeat(n)}x`])],

  [
    'objects without a name for one call',
    10_000,
    (n) =>
      turnOf(
        list(n, (at): Chunk => ({
          type: 'toolCallFragment',
          arguments: { [`k${at}`]: at },
          ...(at === 0 ? { name: 'f' } : {}),
        })),
      ),
  ],
  [
    'objects for one call, each with an id',
    4_000,
    (n) =>
      turnOf(
        list(n, (at): Chunk => ({
          type: 'toolCallFragment',
          id: `i${at}`,
          index: 0,
          arguments: { [`k${at}`]: at },
          ...(at === 0 ? { name: 'f' } : {}),
        })),
      ),
  ],
  [
    'repeats of arguments with much white space',
    500,
    (n) => {
      const first: Chunk = {
        type: 'toolCallFragment',
        id: 'a',
        index: 0,
        name: 'f',
        arguments: `{"a":1${' '.repeat(n * 50)}}`,
      };
      const repeat: Chunk = { type: 'toolCallFragment', id: 'a', index: 0, name: 'f', arguments: '{"a":1}' };
      return turnOf([first, ...list(n, () => repeat)]);
    },
  ],
  [
    'repeats of arguments in one text',
    5_000,
    (n) =>
      turnOf([
        { type: 'toolCallFragment', name: 'f', arguments: `{"a":1${' '.repeat(n * 20)}}${'{"a":1}'.repeat(n)}` },
      ]),
  ],
  [
    'blanks and null before arguments',
    50_000,
    (n) => turnOf([{ type: 'toolCallFragment', name: 'f', arguments: `${' '.repeat(n)}null${' '.repeat(n)}x` }]),
  ],
  [
    'digits in arguments',
    100_000,
    (n) => turnOf([{ type: 'toolCallFragment', name: 'f', arguments: `{"a":${'1'.repeat(n)}}` }]),
  ],
  [
    'integers in arguments',
    20_000,
    (n) =>
      turnOf([
        { type: 'toolCallFragment', name: 'f', arguments: JSON.stringify({ a: list(n, () => '1'.repeat(17)) }) },
      ]),
  ],
  [
    'levels in arguments',
    50_000,
    (n) => turnOf([{ type: 'toolCallFragment', name: 'f', arguments: `${'{"a":'.repeat(n)}1${'}'.repeat(n)}` }]),
  ],
  ['levels in a frame', 50_000, (n) => respond('chat', [`${'{"a":'.repeat(n)}1${'}'.repeat(n)}`])],
  [
    'fragments of a name',
    20_000,
    (n) => turnOf(list(n, () => ({ type: 'toolCallFragment', index: 0, id: 'a', name: 'fg' }))),
  ],
  [
    'calls',
    10_000,
    (n) => turnOf(list(n, (at) => ({ type: 'toolCallFragment', index: at, id: `i${at}`, name: 'f', arguments: '{}' }))),
  ],
  [
    'calls with one id',
    5_000,
    (n) =>
      turnOf(list(n, (at) => ({ type: 'toolCallFragment', index: 0, id: 'i', name: 'f', arguments: `{"a":${at}}` }))),
  ],
  [
    'provider parts',
    5_000,
    (n) =>
      turnOf([
        { type: 'text', text: 'x' },
        ...list(n, (at): Chunk => ({ type: 'provider', provider: 'p', data: { list: [at] } })),
      ]),
  ],
  [
    'metadata of server tools',
    5_000,
    (n) =>
      turnOf(
        list(n, (at): Chunk => ({
          type: 'metadata',
          metadata: { serverTools: [{ id: `t${at}`, name: 's', status: 'done' }] },
        })),
      ),
  ],
  [
    'metadata with keys',
    10_000,
    (n) => turnOf(list(n, (at): Chunk => ({ type: 'metadata', metadata: { [`k${at}`]: at } }))),
  ],

  ['deltas of a wrapped output', 50_000, (n) => throughUnwrapper(['{"value":"', ...list(n, () => 'a"b\\'), '"}'])],
  [
    'blanks around a wrapped output',
    50_000,
    (n) => throughUnwrapper([...list(n, () => ' '), '{"value":1', ' '.repeat(n), '}']),
  ],
  ['brackets of a wrapped output', 50_000, (n) => throughUnwrapper(['{"value":', ...list(n, () => '[')])],
  ['text after a wrapped output', 50_000, (n) => throughUnwrapper(['{"value":1}', ...list(n, () => ' }'), 'x'])],

  ['blank deltas before think tags', 20_000, (n) => throughTags(list(n, () => ' '))],
  ['deltas inside think tags', 20_000, (n) => throughTags(['<think>', ...list(n, () => '<')])],
  ['blank deltas before calls as text', 20_000, (n) => throughCalls(list(n, () => ' '))],
  ['blank deltas in calls as text', 20_000, (n) => throughCalls(['<|python_tag|>', ...list(n, () => ' ')])],
  ['tags in one delta', 20_000, (n) => throughCalls(['<|python_tag|>'.repeat(n)])],
  ['calls as text', 10_000, (n) => throughCalls(['<|python_tag|>', ...list(n, () => '{"name":"f"};')])],
  ['brackets in calls as text', 200_000, (n) => throughCalls([`<|python_tag|>${'{'.repeat(n)}`])],

  [
    'chat: citations',
    10_000,
    (n) => respond('chat', [{ choices: [], citations: list(n, (at) => `http://u/${at}`) }, ...chatEnd]),
  ],
  [
    'chat: citations in each frame',
    200,
    (n) =>
      respond('chat', [
        ...list(20, () => ({ choices: [], citations: list(n * 10, (at) => `http://u/${at}`) })),
        ...chatEnd,
      ]),
  ],
  [
    'chat: annotations',
    10_000,
    (n) =>
      chatOf(list(n, (at) => ({ annotations: [{ type: 'url_citation', url_citation: { url: `http://u/${at}` } }] }))),
  ],
  [
    'chat: parsed files',
    10_000,
    (n) => chatOf(list(n, (at) => ({ content: 'x', annotations: [{ type: 'file', file: { hash: `${at}` } }] }))),
  ],
  [
    'chat: reasoning details',
    2_000,
    (n) => chatOf(list(n, (at) => ({ reasoning_details: [{ type: 'reasoning.text', text: 'x', index: at }] }))),
  ],
  [
    'chat: fragments of one reasoning detail',
    10_000,
    (n) => chatOf(list(n, () => ({ reasoning_details: [{ type: 'reasoning.text', text: 'thinking', index: 0 }] }))),
  ],
  [
    'chat: thinking parts',
    10_000,
    (n) => chatOf(list(n, () => ({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'thinking' }] }] }))),
  ],
  [
    'chat: messages between deltas',
    10_000,
    (n) =>
      respond('chat', [
        ...list(n, (at) =>
          at % 2
            ? chat({ content: 'some text and more of it' })
            : { choices: [{ index: 0, message: { content: '' } }] },
        ),
        ...chatEnd,
      ]),
  ],
  [
    'chat: calls',
    5_000,
    (n) =>
      chatOf(
        list(n, (at) => ({ tool_calls: [{ index: at, id: `i${at}`, function: { name: 'f', arguments: '{"a":1}' } }] })),
      ),
  ],
  [
    'chat: deltas of arguments',
    20_000,
    (n) =>
      chatOf([
        { tool_calls: [{ index: 0, id: 'i', function: { name: 'f', arguments: '{"a":"' } }] },
        ...list(n, () => ({ tool_calls: [{ index: 0, function: { arguments: 'xx' } }] })),
      ]),
  ],

  [
    'anthropic: citations of one text',
    5_000,
    (n) =>
      respond('anthropic', [
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        ...list(n, (at) => ({
          type: 'content_block_delta',
          index: 0,
          delta: { type: 'citations_delta', citation: { url: `http://u/${at}` } },
        })),
        ...endOfMessage,
      ]),
  ],
  [
    'anthropic: blocks that start',
    5_000,
    (n) =>
      respond('anthropic', [
        ...list(n, (at) => ({
          type: 'content_block_start',
          index: at,
          content_block: { type: 'tool_use', id: `i${at}`, name: 'f', input: {} },
        })),
        ...endOfMessage,
      ]),
  ],
  [
    'anthropic: server tools',
    5_000,
    (n) =>
      respond('anthropic', [
        ...list(n, (at) => ({
          type: 'content_block_start',
          index: at,
          content_block: { type: 'server_tool_use', id: `i${at}`, name: 'f', input: {} },
        })),
        ...endOfMessage,
      ]),
  ],
  [
    'anthropic: deltas of an unknown block',
    10_000,
    (n) =>
      respond('anthropic', [
        { type: 'content_block_start', index: 0, content_block: { type: 'new' } },
        ...list(n, (at) => ({
          type: 'content_block_delta',
          index: 0,
          delta: { type: 'new_delta', [`k${at}`]: 'x', all: 'xx' },
        })),
        ...endOfMessage,
      ]),
  ],

  [
    'cohere: citations',
    5_000,
    (n) =>
      respond('cohere', [
        ...list(n, (at) => ({
          type: 'citation-start',
          delta: { message: { citations: { sources: [{ id: `${at}`, document: { url: 'x' } }] } } },
        })),
        { type: 'message-end', delta: { finish_reason: 'COMPLETE' } },
      ]),
  ],
  [
    'google: grounding chunks',
    10_000,
    (n) =>
      respond('google', [
        google([{ text: 'x' }], {
          groundingMetadata: { groundingChunks: list(n, (at) => ({ web: { uri: `http://u/${at}` } })) },
        }),
      ]),
  ],
  [
    'google: calls',
    5_000,
    (n) => respond('google', [google(list(n, (at) => ({ functionCall: { name: 'f', args: { at } } })))]),
  ],
  [
    'google: signed thoughts',
    10_000,
    (n) =>
      respond(
        'google',
        list(n, () => google([{ text: 'x', thought: true, thoughtSignature: 's' }])),
      ),
  ],
  [
    'google: partial arguments',
    4_000,
    (n) =>
      respond('google', [
        google([{ functionCall: { name: 'f', willContinue: true } }]),
        ...list(n, (at) =>
          google([
            { functionCall: { partialArgs: [{ jsonPath: `$.a${at % 100}`, stringValue: 'xy' }], willContinue: true } },
          ]),
        ),
        google([{ functionCall: {} }]),
      ]),
  ],
  [
    'google: backslashes in a path',
    50_000,
    (n) =>
      respond('google', [
        google([{ functionCall: { name: 'f', willContinue: true } }]),
        google([{ functionCall: { partialArgs: [{ jsonPath: `$['${'\\\\'.repeat(n)}`, stringValue: 'x' }] } }]),
      ]),
  ],
  [
    'ollama: calls',
    5_000,
    (n) =>
      respond('ollama', [
        ...list(n, (at) => ({ message: { tool_calls: [{ function: { name: 'f', arguments: { at } } }] } })),
        { done: true, done_reason: 'stop' },
      ]),
  ],

  [
    'responses: annotations',
    10_000,
    (n) =>
      respond('responses', [
        ...list(n, (at) => ({
          type: 'response.output_text.annotation.added',
          item_id: 'm',
          output_index: 0,
          annotation: { type: 'url_citation', url: `http://u/${at}` },
        })),
        responsesEnd(),
      ]),
  ],
  [
    'responses: calls, each found by its id',
    2_000,
    (n) =>
      respond('responses', [
        ...list(n, (at) => ({
          type: 'response.output_item.added',
          output_index: at,
          item: { type: 'function_call', id: `i${at}`, call_id: `c${at}`, name: 'f' },
        })),
        ...list(n, (at) => ({
          type: 'response.function_call_arguments.delta',
          output_index: at,
          item_id: `i${at}`,
          delta: '{}',
        })),
        responsesEnd(
          list(n, (at) => ({ type: 'function_call', id: `i${at}`, call_id: `c${at}`, name: 'f', arguments: '{}' })),
        ),
      ]),
  ],
  [
    'responses: calls, each with other ids at the end',
    1_000,
    (n) =>
      respond('responses', [
        ...list(n, (at) => ({
          type: 'response.output_item.done',
          item: { type: 'function_call', id: `i${at}`, call_id: `c${at}`, name: 'f', arguments: `{"a":${at}}` },
        })),
        responsesEnd(
          list(n, (at) => ({
            type: 'function_call',
            id: `j${at}`,
            call_id: `d${at}`,
            name: 'f',
            arguments: `{"a":${n - at}}`,
          })),
        ),
      ]),
  ],
  [
    'responses: messages, each with other ids at the end',
    1_000,
    (n) =>
      respond('responses', [
        ...list(n, (at) => ({
          type: 'response.output_text.delta',
          item_id: `i${at}`,
          output_index: at,
          content_index: 0,
          delta: `${at};`,
        })),
        responsesEnd(
          list(n, (at) => ({ type: 'message', id: `j${at}`, content: [{ type: 'output_text', text: `${n - at};` }] })),
        ),
      ]),
  ],
  [
    'responses: indexes of texts',
    2_000,
    (n) =>
      respond('responses', [
        ...list(n, (at) => ({
          type: 'response.output_text.done',
          item_id: 'm',
          output_index: 0,
          content_index: at,
          text: `${at};`,
        })),
        responsesEnd(),
      ]),
  ],
  [
    'responses: blanks in arguments',
    50_000,
    (n) =>
      respond('responses', [
        { type: 'response.output_item.added', output_index: 0, item: { type: 'function_call', id: 'i', name: 'f' } },
        { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'i', delta: `${' '.repeat(n)}x` },
        responsesEnd([{ type: 'function_call', id: 'j', call_id: 'c', name: 'f', arguments: `${' '.repeat(n)}y` }]),
      ]),
  ],
  [
    'responses: the name of an event',
    50_000,
    (n) => respond('responses', [{ type: `response.${'_call'.repeat(n)}!` }, responsesEnd()]),
  ],
  [
    'responses: a content index beyond the texts',
    50_000,
    (n) =>
      respond('responses', [
        responsesEnd([
          {
            type: 'message',
            id: 'm',
            content: [...list(n, (): JsonValue => ({ type: 'x' })), { type: 'output_text', text: 'x' }],
          },
        ]),
      ]),
  ],

  [
    'AI SDK: sources inside a text, each cited',
    2_000,
    (n) => {
      const sources = list(
        n,
        (at) => ({ type: 'source', sourceType: 'url', id: `${at}`, url: `http://u/${at}` }) as const,
      );
      return () => {
        const decoder = createSourceDecoder('p', () => undefined);
        for (const source of sources) decoder.add(source, true);
        decoder.addCitations(sources.map((source) => ({ source, citedText: 'x' }) as never));
        decoder.endText();
      };
    },
  ],

  ['history: results in another order', 10_000, (n) => () => repairHistory(callsHistory(n))],
  [
    'history: results in several messages',
    2_000,
    (n) => () =>
      repairHistory([
        userMessage('go'),
        modelMessage(callsHistory(n)[1]?.parts ?? []),
        ...(callsHistory(n)[2]?.parts ?? []).map((part) => userMessage([part])),
      ]),
  ],
  ['google: results of many calls', 2_500, (n) => () => encodeContents('gemini-3', callsHistory(n))],
  [
    'anthropic: ids that become the same',
    5_000,
    (n) => () => encodeAnthropic(callsHistory(n, (at) => `${String.fromCodePoint(0x4e00 + at)}x`)),
  ],
  [
    'responses: responses that cannot be continued',
    500,
    (n) => {
      const unanswered = [{ type: 'local_shell_call', id: 's', call_id: 'c' }];
      const messages = list(n, (at): Message[] => [
        userMessage(`question ${at}`),
        { ...modelMessage([]), metadata: { openai: { responseId: `r${at}`, output: unanswered } } },
      ]);
      return () => findSession(messages.flat());
    },
  ],
  [
    'responses: stored calls',
    2_500,
    (n) => {
      const calls = callsHistory(n)[1]?.parts ?? [];
      const output = list(n, (at) => ({ type: 'function_call', id: `i${at}`, call_id: `call ${n - at}` }));
      return () => encodeInput([{ role: 'model', parts: calls, metadata: { openai: { output } } }], { stored: true });
    },
  ],
];

it.each(rows)('The work grows linearly with the number of %s', (name, size, make) => {
  let report = '';
  for (let attempt = 0; attempt < 5; attempt++) {
    if (attempt > 0) collectGarbage();
    const small = shortestTime(make(size), 3);
    const large = small > 2000 ? Infinity : shortestTime(make(4 * size), small > 100 ? 1 : 2);
    report = `${name}: ${small.toFixed(1)} ms, four times as many ${large.toFixed(1)} ms`;
    if (process.env['GROWTH']) appendFileSync(process.env['GROWTH'], `${(large / small).toFixed(1)} ${report}\n`);
    // 25 ms of collections and of other processes; sixteen times the work would be far more.
    if (large <= 8 * small + 25) return;
    if (large > 10_000) break;
  }
  throw new Error(report);
});
