// What each consumer does with the package, whichever build it got: a run over a scripted model, a run over HTTP, and an error.
const assert = require('node:assert/strict');

module.exports = async function scenario({ rxjs, z, rivulet, registry, mcp, testing, server }) {
  const { createAgent, openaiChat, tool } = rivulet;
  const { scriptedModel, toolCall } = testing;
  const { firstValueFrom, lastValueFrom, of, toArray } = rxjs;

  const add = tool({
    name: 'add',
    description: 'Adds two numbers.',
    parameters: z.object({ a: z.number(), b: z.number() }),
    execute: async ({ a, b }) => a + b,
  });
  const count = tool({ name: 'count', description: 'Counts to three.', execute: () => of(1, 2, 3) });
  const script = [
    ['Let me see.', toolCall('add', { a: 1, b: 2 }), toolCall('add', { a: 'one' }), toolCall('count')],
    'That makes 3.',
  ];

  async function runs(model) {
    const agent = createAgent({ model, system: 'Be brief.', tools: [add, count] });
    const events = await lastValueFrom(agent.stream('1 + 2?').pipe(toArray()));
    const results = events.filter(({ type }) => type === 'toolResult');
    assert.equal(results[0].result, 3);
    assert.match(results[1].error, /number/);
    assert.equal(results[2].result, 3);
    assert.deepEqual(
      events.filter(({ type }) => type === 'toolProgress').map(({ value }) => value),
      [1, 2],
    );
    const { result } = events.at(-1);
    assert.equal(result.text.endsWith('That makes 3.'), true, result.text);
    assert.equal(result.finishReason, 'stop');
    assert.equal(result.turns, 2);
  }

  async function failsWith(expected, run) {
    const error = await firstValueFrom(run).then(
      () => assert.fail('it should have failed'),
      (thrown) => thrown,
    );
    assert.deepEqual(Object.fromEntries(Object.keys(expected).map((key) => [key, error[key]])), expected);
    return error;
  }

  await runs(scriptedModel(script));

  const loopback = await server.serveModel(script, { apiKey: 'the-key' });
  const at = (apiKey) => openaiChat('gpt-5', { baseUrl: loopback.url, apiKey });
  try {
    await runs(at('the-key'));
    assert.equal(loopback.requests.length, 2);
    const error = await failsWith(
      { code: 'http', status: 401, retryable: false },
      createAgent({ model: at('not-the-key') }).run('Hello?'),
    );
    assert.equal(error instanceof rivulet.RivuletError, true);
    assert.equal(error.message.includes('not-the-key'), false);
  } finally {
    await loopback.close();
  }
  const unscripted = await failsWith(
    { code: 'configuration' },
    createAgent({ model: scriptedModel([]) }).run('Hello?'),
  );

  // All entries of a build share one copy of what more than one of them needs: their errors are instances of the main entry's classes.
  const { ConfigurationError, RivuletError } = rivulet;
  assert.equal(unscripted instanceof RivuletError, true, 'rivulet/testing');
  assert.throws(() => registry.modelByName('nobody:nothing'), ConfigurationError, 'rivulet/registry');
  await assert.rejects(rxjs.lastValueFrom(mcp.mcpTools({})), ConfigurationError, 'rivulet/mcp');
  assert.throws(() => loopback.urlFor('nobody'), ConfigurationError, 'rivulet/testing/server');
  // And what is shared keeps its name, in stack traces and `error.constructor.name`.
  for (const [name, exported] of Object.entries({ ...rivulet, ...registry, ...mcp, ...testing, ...server })) {
    if (typeof exported === 'function') assert.equal(exported.name, name);
  }
};
