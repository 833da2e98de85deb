import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastValueFrom } from 'rxjs';
import { createAgent, tool } from 'rivulet';
import { providerContract } from 'rivulet/testing';
import { acme } from './acme.mjs';

const body = (...events) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
const text = body(
  { type: 'begin', id: 'r1' },
  { type: 'text', text: 'Grüße' },
  { type: 'text', text: ' from Acme.' },
  { type: 'end', why: 'stop', tokens: { in: 9, out: 3 } },
);
const twoCalls = body(
  { type: 'begin', id: 'r2' },
  { type: 'thinking', text: 'Both are needed.' },
  { type: 'call', n: 0, id: 'c1', name: 'add' },
  { type: 'call', n: 1, id: 'c2', name: 'add' },
  { type: 'arguments', n: 0, json: '{"a":1,' },
  { type: 'arguments', n: 1, json: '{"a":3,"b":4}' },
  { type: 'arguments', n: 0, json: '"b":2}' },
  { type: 'call_end', n: 0 },
  { type: 'call_end', n: 1 },
  { type: 'end', why: 'tool_calls', tokens: { in: 20, out: 10 } },
);
const failure = body(
  { type: 'text', text: 'Half' },
  { type: 'error', message: 'The engine is on fire.', code: 'fire' },
);

const cases = providerContract({
  provider: 'acme',
  model: (options) => acme('large', options),
  answers: [
    { title: 'a text', body: text, text: 'Grüße from Acme.', usage: { input: 9, output: 3, total: 12 } },
    {
      title: 'two interleaved calls',
      body: twoCalls,
      thinking: 'Both are needed.',
      calls: [
        { name: 'add', arguments: { a: 1, b: 2 } },
        { name: 'add', arguments: { a: 3, b: 4 } },
      ],
    },
    { title: 'an error', body: failure, text: 'Half', error: 'The engine is on fire.' },
  ],
});
assert.ok(cases.length > 15);
for (const { title, run } of cases) test(`acme ${title}`, run);

test('an agent runs with a model of acme', async () => {
  const responses = [twoCalls, text];
  const requests = [];
  const fetch = (url, { headers, body: sent }) => {
    requests.push({ url: String(url), key: new Headers(headers).get('x-acme-key'), body: JSON.parse(sent) });
    return Promise.resolve(
      new Response(responses[requests.length - 1], { headers: { 'content-type': 'text/event-stream' } }),
    );
  };
  const add = tool({
    name: 'add',
    description: 'Adds two numbers.',
    parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
    execute: ({ a, b }) => a + b,
  });
  const agent = createAgent({ model: acme('large', { apiKey: 'k', fetch }), tools: [add] });
  const result = await lastValueFrom(agent.run('1 + 2 and 3 + 4?'));
  assert.equal(result.text, 'Grüße from Acme.');
  assert.deepEqual(result.usage, { input: 29, output: 13, total: 42 });
  assert.deepEqual(
    requests.map(({ url, key }) => [url, key]),
    Array(2).fill(['https://api.acme.example/v1/generate', 'k']),
  );
  assert.deepEqual(requests[1].body.turns.slice(1), [
    {
      role: 'model',
      text: '',
      calls: [
        { id: 'c1', name: 'add', args: { a: 1, b: 2 } },
        { id: 'c2', name: 'add', args: { a: 3, b: 4 } },
      ],
    },
    { role: 'result', call: 'c1', text: '3' },
    { role: 'result', call: 'c2', text: '7' },
  ]);
});
