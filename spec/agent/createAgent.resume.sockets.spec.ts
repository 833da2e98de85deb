import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Checkpoint } from '../../lib/core/checkpoint.js';
import { tool } from '../../lib/core/tool.js';
import { modelByName, registeredProviders } from '../../lib/providers/registry/index.js';
import { toolCall } from '../../lib/testing/index.js';
import { serveModel } from '../../lib/testing/server/index.js';
import type { LoopbackServer } from '../../lib/testing/server/index.js';

/**
 * A checkpoint that leaves the server: its text is signed, so that nobody else can change what the run does next.
 * docs/checkpoints.md shows these lines.
 */
async function createSigner(secret: string) {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const algorithm = { name: 'HMAC', hash: 'SHA-256' } as const;
  const key = await crypto.subtle.importKey('raw', bytes(secret), algorithm, false, ['sign', 'verify']);
  return {
    async sign(checkpoint: Checkpoint): Promise<string> {
      const text = JSON.stringify(checkpoint);
      const signature = new Uint8Array(await crypto.subtle.sign('HMAC', key, bytes(text)));
      return `${btoa(String.fromCharCode(...signature))}.${text}`;
    },
    async read(signed: string): Promise<Checkpoint> {
      const [signature = '', ...rest] = signed.split('.');
      const text = rest.join('.');
      const expected = Uint8Array.from(atob(signature), (character) => character.charCodeAt(0));
      if (!(await crypto.subtle.verify('HMAC', key, expected, bytes(text))))
        throw new Error('The checkpoint was changed.');
      return JSON.parse(text) as Checkpoint;
    },
  };
}

/** The agent of one process. Nothing is shared with that of another process, except the code. */
function makeAgent(server: LoopbackServer, provider: string) {
  const paid: number[] = [];
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ amount: z.number() }),
    needsApproval: true,
    execute: ({ amount }) => (paid.push(amount), 'paid'),
  });
  const locate = tool({ name: 'locate', description: 'Asks the browser.', result: z.object({ city: z.string() }) });
  const model = modelByName(provider, { apiKey: 'sk-secret', baseUrl: server.urlFor(provider), retry: false });
  return { agent: createAgent({ model, tools: [pay, locate] }), paid };
}

describe('a run that waits, over real sockets', () => {
  let server: LoopbackServer;
  beforeAll(async () => {
    server = await serveModel(({ turn }) =>
      turn % 2 === 1 ? ['I pay. ', toolCall('pay', { amount: 5 }), toolCall('locate')] : 'Done.',
    );
  });
  afterAll(() => server.close());

  it.each(registeredProviders().map(({ name }) => name))('%s: a second process resumes it', async (provider) => {
    const first = makeAgent(server, provider);
    const requests = server.requests.length;
    const waiting = await lastValueFrom(first.agent.run('Pay!'));
    expect(waiting).toMatchObject({ finishReason: 'waiting', waiting: [{ name: 'pay' }, { name: 'locate' }] });
    const [pay, locate] = waiting.waiting ?? [];
    if (!waiting.checkpoint || !pay || !locate) throw new Error('The run does not wait.');
    const signer = await createSigner('secret');
    const signed = await signer.sign(waiting.checkpoint);
    expect(signed).not.toContain('sk-secret');
    const forged = signed.replace('"amount":5', '"amount":500');
    expect(forged).not.toBe(signed);
    await expect(signer.read(forged)).rejects.toThrow('The checkpoint was changed.');

    const second = makeAgent(server, provider);
    const answers = { decisions: { [pay.id]: { approve: true } }, results: { [locate.id]: { city: 'Oslo' } } } as const;
    const events = await lastValueFrom(second.agent.resume(await signer.read(signed), answers).pipe(toArray()));
    expect(first.paid).toEqual([]);
    expect(second.paid).toEqual([5]);
    expect(server.requests).toHaveLength(requests + 2);
    expect(events.at(-1)).toMatchObject({
      result: { text: 'I pay. \nDone.', finishReason: 'stop', turns: 2, messages: [{}, { parts: [{}, {}] }, {}] },
    });
    expect(server.connections).toBe(0);
  });
});
