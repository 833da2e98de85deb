import { describe, expect, it } from '@jest/globals';
import type { AttributeValue, Attributes } from '@opentelemetry/api';
import { lastValueFrom, throwError } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import type { Chunk } from '../../../lib/core/chunk.js';
import { traceAgent, traceModel } from '../../../lib/observe/opentelemetry/index.js';
import { ProviderError } from '../../../lib/core/errors.js';
import { userMessage } from '../../../lib/core/message.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import { observe } from '../../support/observe.js';
import { anyTool } from '../../support/toolCalls.js';
import { record } from './recording.js';

const hostileKey = `sk-proj-${'Zq83'.repeat(8)}`;

/** Names, and what becomes of them. */
const names: readonly (readonly [what: string, name: string, expected: string])[] = [
  ['line breaks', 'a\nb\r\nc', 'a b c'],
  ['the syntax of Prometheus', String.raw`a"b\c{d="e"} 1`, String.raw`a"b\c{d="e"} 1`],
  ['NUL and the escape of a terminal', 'a\0b\u001B[2Jc', 'abc'],
  ['other separators of lines', 'a\u2028b\u0085c', 'a bc'],
  ['half a character', 'a\uD800', 'a '],
  ['1 MB', 'x'.repeat(2 ** 20), 'x'.repeat(256)],
  ['a character that is cut', `${'x'.repeat(255)}😀`, `${'x'.repeat(255)} `],
  ['a key', `a ${hostileKey} b`, 'a [key] b'],
  ['a key that a control character splits', `a ${hostileKey.replace('-', '-\u0007')} b`, 'a [key] b'],
  ['a key that the sequence of a terminal splits', `a ${hostileKey.replace('Zq', 'Z\u001B[1mq')} b`, 'a [key] b'],
  ['a key that a mark of direction splits', `a ${hostileKey.replace('Zq', 'Z\u202Eq')} b`, 'a [key] b'],
  ['a key at the end of the line', `${'x '.repeat(120)}${hostileKey}`, `${'x '.repeat(120)}[key]`],
  ['a key across the end of the line', `${'x '.repeat(126)}${hostileKey}`, `${'x '.repeat(126)}[key`],
  ['__proto__', '__proto__', '__proto__'],
  ['constructor', 'constructor', 'constructor'],
  ['no character', '', ''],
];

const finish = (reason: string): Chunk => ({
  type: 'finish',
  reason: reason as 'stop',
  usage: { input: 1, output: 1 },
});
const metadata = (name: string): Chunk => ({
  type: 'metadata',
  metadata: { responseId: name, model: name, answeredBy: { provider: name, name } },
});

async function trace(name: string) {
  const recorded = record();
  const model = scriptedModel(
    [
      [metadata(name), toolCall('look', {}, `known ${name}`), toolCall('unknown', {}, `other ${name}`)],
      [metadata(name), { type: 'text', text: 'Hi' }, finish(name)],
    ],
    { provider: name, name },
  );
  const description = name.repeat(4);
  const agent = createAgent({ model, tools: [{ ...anyTool('look', () => 1), description }] });
  await lastValueFrom(traceAgent(agent, { ...recorded.options, name }).stream('Hi', { runId: name }));
  return { spans: recorded.ended(), metrics: await recorded.metrics() };
}

const textsOf = (attributes: Attributes = {}) =>
  Object.values(attributes)
    .flatMap((value): readonly (AttributeValue | null | undefined)[] => (Array.isArray(value) ? value : [value]))
    .filter((value) => typeof value !== 'number' && typeof value !== 'boolean');

describe('names in spans and metrics', () => {
  it.each(names)('traceAgent writes a name with %s as one short line', async (_, name, expected) => {
    const { spans, metrics } = await trace(name);
    const events = spans.flatMap((span) => span.events);
    const texts = [
      ...spans.flatMap((span) => [span.name, ...textsOf(span.attributes)]),
      ...events.flatMap((event) => textsOf(event.attributes)),
      ...metrics.flatMap(({ attributes }) => textsOf(attributes)),
    ];
    expect(texts.join(' ')).not.toContain(hostileKey);
    for (const each of texts) expect(each).toMatch(/^[^\p{Cc}\p{Cs}\u2028\u2029]{0,1024}$/u);
    const long = texts.filter((each) => String(each).length > 256);
    expect(long.length).toBeLessThan(2); // the description of a tool

    const named = { 'gen_ai.provider.name': expected, 'gen_ai.request.model': expected };
    const chat = spans.findLast((span) => span.name.startsWith('chat'));
    expect(chat?.attributes).toMatchObject({
      ...named,
      'gen_ai.response.id': expected,
      'gen_ai.response.model': expected,
      'gen_ai.response.finish_reasons': [expected],
    });
    expect(spans.at(-1)?.attributes).toMatchObject({ 'gen_ai.agent.name': expected, 'rivulet.run': expected });
    expect(events.map((event) => event.name)).toEqual(['rivulet.tool_not_executed']);
    const durations = metrics.filter((metric) => metric.name === 'gen_ai.client.operation.duration');
    expect(durations[0]?.attributes).toMatchObject({ ...named, 'gen_ai.response.model': expected });
  });

  it.each(['1.41', 'latest'] as const)(
    'traceModel has a bounded number of values, whatever a server names its models and errors (%s)',
    async (conventions) => {
      const { options, metrics } = record();
      for (let index = 0; index < 1500; index++) {
        const answers = [metadata(`model ${index}`), finish('stop')];
        const error = new ProviderError('p', 'failed', { retryable: false, providerCode: `code_${index}` });
        const model = scriptedModel((request) => (request.messages.length === 1 ? answers : throwError(() => error)));
        const traced = traceModel(model, { ...options, conventions });
        observe(traced.stream({ messages: [userMessage('Hi')] }));
        observe(traced.stream({ messages: [userMessage('Hi'), userMessage('Hi')] }));
      }
      const points = await metrics();
      for (const attribute of ['gen_ai.response.model', 'gen_ai.request.model', 'gen_ai.provider.name', 'error.type']) {
        const values = new Set(points.map(({ attributes }) => attributes[attribute]));
        expect(values.size).toBeLessThanOrEqual(1002); // `_OTHER`, and none
      }
      const counts = points.filter(({ name }) => name.endsWith('.duration')).map(({ count }) => count);
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(3000);
    },
  );
});
