import assert from 'node:assert/strict';
import { from, of } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../../../lib/agent/createAgent.js';
import type { Chunk } from '../../../../lib/core/chunk.js';
import type { JsonObject } from '../../../../lib/core/json/json.js';
import { tool } from '../../../../lib/core/tool.js';
import { partialArguments } from '../../../../lib/operators/partialArguments.js';
import { scriptedModel } from '../../../../lib/testing/index.js';
import type { Family } from '../family.js';
import { outcome } from '../../../support/outcome.js';

const nested = (levels: number, open: string, inner: string, close: string) =>
  open.repeat(levels) + inner + close.repeat(levels);

/** Arguments as a hostile model writes them. */
const table = Object.entries({
  'deep arrays': `{"a":${nested(100_000, '[', '', ']')}}`,
  'deep objects': nested(100_000, '{"a":', '1', '}'),
  'deep and open': '{"a":'.repeat(100_000),
  'moderately deep': nested(900, '{"a":', '1', '}'),
  proto: '{"__proto__":{"polluted":true},"a":1}',
  'nested __proto__': '{"a":{"__proto__":{"polluted":true}}}',
  constructor: '{"constructor":{"prototype":{"polluted":true}}}',
  'a quoted object with __proto__': JSON.stringify('{"__proto__":{"polluted":true}}'),
  'names of methods': '{"toString":1,"valueOf":2,"hasOwnProperty":3,"then":4,"toJSON":5}',
  'a big integer': '{"id":12345678901234567890}',
  'a big nested integer': '{"ids":[{"id":9007199254740993}]}',
  'a huge number': '{"id":1e400}',
  'a megabyte of text': JSON.stringify({ a: 'x'.repeat(1_000_000) }),
  'a megabyte of escapes': `{"a":"${'\\u0041'.repeat(170_000)}"}`,
  'a megabyte of blanks': `{"a":1${' '.repeat(1_000_000)}}`,
  'fifty thousand keys': JSON.stringify(Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`k${at}`, at]))),
  'equal keys': `{${'"a":1,'.repeat(50_000)}"a":2}`,
  'lone surrogates': '{"a":"\\ud800","\\udfff":1}',
  'control characters': '{"a":"\u0000\u001b[2J"}',
  'open strings': '{"a":"'.repeat(10_000),
  backslashes: `{"a":"${'\\'.repeat(100_000)}`,
  'code fences': '```json\n'.repeat(20_000),
  'not an object': '[1,2,3]',
});

/** The arguments in fragments: at once, or in ten fragments. */
function fragmentsOf(text: string, count: number): readonly Chunk[] {
  const size = Math.ceil(text.length / count);
  return Array.from({ length: Math.ceil(text.length / size) }, (_, at) => ({
    type: 'toolCallFragment',
    index: 0,
    ...(at === 0 ? { id: 'call', name: 'act' } : {}),
    arguments: text.slice(at * size, (at + 1) * size),
  }));
}

/** Hostile arguments of a tool call: each is answered to the model, or reaches the tool exactly as it was sent. */
export const toolArguments: Family = {
  name: 'toolArguments',
  async run(check) {
    for (const [name, text] of table)
      for (const count of [1, 10])
        for (const hasSchema of [false, true])
          await check(`${name}, ${count} fragments, ${hasSchema ? 'zod' : 'no'} schema`, async () => {
            const received: JsonObject[] = [];
            const execute = (args: JsonObject) => {
              received.push(args);
              return 'done';
            };
            const parameters = z.looseObject({ a: z.unknown(), id: z.unknown() });
            const act = tool({
              name: 'act',
              description: 'Acts.',
              ...(hasSchema ? { parameters } : {}),
              execute: execute as never,
            });
            const model = scriptedModel([fragmentsOf(text, count), 'Done.']);
            const run = createAgent({ model, tools: [act] }).stream('Go.', { fragments: true });
            const { values, error } = await outcome(run);
            assert.equal(error, undefined);
            assert.equal(values.filter(({ type }) => type === 'toolResult').length, 1);
            assert.equal(values.at(-1)?.type, 'result');
            JSON.stringify(values.at(-1));
            const growing = await outcome(from(values).pipe(partialArguments()));
            assert.equal(growing.error, undefined);
            const integers = text.length < 100 ? (text.match(/\d{16,}/g) ?? []) : [];
            for (const integer of received.length > 0 ? integers : [])
              assert.ok(JSON.stringify(received).includes(integer), `${integer} became ${JSON.stringify(received)}`);
          });
    await check('a call without end', async () => {
      const { error } = await outcome(of<Chunk[]>(...fragmentsOf('{"a":'.repeat(1000), 1000)).pipe(partialArguments()));
      assert.equal(error, undefined);
    });
  },
};
