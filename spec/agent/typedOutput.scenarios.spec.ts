import { describe, expect, it } from '@jest/globals';
import { firstValueFrom } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Capabilities } from '../../lib/core/model.js';
import { userMessage } from '../../lib/core/message.js';
import type { Message } from '../../lib/core/message.js';
import { toolCall, scriptedModel } from '../../lib/testing/index.js';
import { typed } from '../../lib/agent/typed.js';

const Tree = z.object({
  name: z.string(),
  get children() {
    return z.array(Tree);
  },
});

/** Every kind of schema, with a value that it holds. */
const kinds: readonly (readonly [string, z.ZodType, unknown])[] = [
  [
    'primitives',
    z.object({ s: z.string(), n: z.number(), i: z.number().int(), b: z.boolean(), z: z.null() }),
    { s: 'a', n: 1.5, i: 2, b: true, z: null },
  ],
  ['an enum', z.object({ colour: z.enum(['red', 'green']) }), { colour: 'green' }],
  ['limits', z.object({ n: z.number().min(0).max(10), s: z.string().min(1).max(3) }), { n: 10, s: 'abc' }],
  ['nested objects', z.object({ a: z.object({ b: z.object({ c: z.string() }) }) }), { a: { b: { c: 'deep' } } }],
  ['a recursive type', Tree, { name: 'root', children: [{ name: 'leaf', children: [] }] }],
  ['an array', z.array(z.object({ n: z.number() })), [{ n: 1 }, { n: 2 }]],
  ['a choice', z.object({ of: z.union([z.string(), z.object({ n: z.number() })]) }), { of: { n: 1 } }],
  [
    'empty collections',
    z.object({ list: z.array(z.string()), map: z.record(z.string(), z.number()) }),
    { list: [], map: {} },
  ],
  ['unicode', z.object({ s: z.string() }), { s: 'Ålesund 🏔 "quoted"\n' }],
  ['large numbers', z.object({ n: z.number() }), { n: 9007199254740991 }],
  ['an optional property with a value', z.object({ a: z.string(), b: z.number().optional() }), { a: 'x', b: 1 }],
  ['an optional property without a value', z.object({ a: z.string(), b: z.number().optional() }), { a: 'x' }],
  ['a text', z.string(), 'just text'],
];

const transports: readonly (readonly [string, Capabilities])[] = [
  ['a schema', { tools: true, typedOutput: true, typedOutputWithTools: true }],
  ['return_result', { tools: true, typedOutput: false }],
  ['instruction', { tools: false, typedOutput: false }],
];

describe.each(transports)('typedOutput by %s', (transport, capabilities) => {
  it.each(kinds)('returns %s', async (_, schema, value) => {
    const isObject = typeof value === 'object' && !Array.isArray(value);
    const model = scriptedModel(
      [
        transport === 'return_result'
          ? [toolCall('return_result', (isObject ? value : { value }) as never)]
          : JSON.stringify(isObject || transport === 'instruction' ? value : { value }),
      ],
      { capabilities },
    );
    const { output, text } = await firstValueFrom(
      createAgent({ model, output: typed(schema), maxRepairs: 0 }).run('go'),
    );
    expect(output).toEqual(value);
    expect(JSON.parse(text)).toEqual(value);
  });

  it('treats the null of an optional property as absent, since strict modes have no optional properties', async () => {
    const value = { a: 'x', b: null };
    const model = scriptedModel(
      [transport === 'return_result' ? [toolCall('return_result', value)] : JSON.stringify(value)],
      { capabilities },
    );
    const schema = z.object({ a: z.string(), b: z.number().optional() });
    expect(
      (await firstValueFrom(createAgent({ model, output: typed(schema), maxRepairs: 0 }).run('go'))).output,
    ).toEqual({
      a: 'x',
    });
  });

  it('continues in a second run with the history of the first', async () => {
    const lines = ['one', 'two'].map((name) =>
      transport === 'return_result' ? [toolCall('return_result', { name })] : JSON.stringify({ name }),
    );
    const agent = createAgent({
      model: scriptedModel(lines, { capabilities }),
      output: typed(z.object({ name: z.string() })),
    });
    const history: Message[] = [];
    const names: string[] = [];
    for (const question of ['First?', 'Second?']) {
      const asked = userMessage(question);
      const { output, messages } = await firstValueFrom(agent.run(asked, { history: history }));
      history.push(asked, ...messages);
      names.push(output.name);
    }
    expect(names).toEqual(['one', 'two']);
  });
});
