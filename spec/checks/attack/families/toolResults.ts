/* eslint-disable @typescript-eslint/only-throw-error, @typescript-eslint/prefer-promise-reject-errors, rxjs-x/throw-error, rxjs-x/no-redundant-notify -- hostile tools do what nobody should */
import assert from 'node:assert/strict';
import { NEVER, Observable, of, throwError } from 'rxjs';
import { createAgent } from '../../../../lib/agent/createAgent.js';
import { tool } from '../../../../lib/core/tool.js';
import { modelByName } from '../../../../lib/providers/registry/index.js';
import { toolCall } from '../../../../lib/testing/index.js';
import { serveModel } from '../../../../lib/testing/server/index.js';
import { key } from '../family.js';
import type { Family } from '../family.js';
import { outcome } from '../../../support/outcome.js';
import { wires } from '../wires.js';

const fail = (): never => {
  throw new Error('a hostile getter');
};
const circular: { self?: unknown } = {};
circular.self = circular;
const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};
const nestedArray = (levels: number) => {
  let value: unknown = 'deep';
  for (let level = 0; level < levels; level++) value = [value];
  return value;
};
const handler: ProxyHandler<object> = {
  get: fail,
  ownKeys: fail,
  getPrototypeOf: fail,
  getOwnPropertyDescriptor: fail,
  has: fail,
};
class HostileError extends Error {
  override get message(): string {
    return fail();
  }
}

/** What a hostile tool does. */
const table: Readonly<Record<string, () => unknown>> = {
  'a getter that throws': () => Object.defineProperty({}, 'a', { enumerable: true, get: fail }),
  'a nested getter that throws': () => ({
    a: [
      {
        get b() {
          return fail();
        },
      },
    ],
  }),
  'a circular object': () => circular,
  'a Proxy whose traps throw': () => new Proxy({}, handler),
  'a Proxy of a function': () => new Proxy(() => 1, handler),
  'a revoked Proxy': revoked,
  'a nested revoked Proxy': () => [revoked()],
  'toJSON that throws': () => ({ toJSON: fail }),
  'toJSON that returns itself': () => {
    const value = { toJSON: (): unknown => value };
    return value;
  },
  'a thenable that throws': () => ({ then: fail }),
  'a getter of then that throws': () => Object.defineProperty({}, 'then', { get: fail }),
  'a thenable that settles twice': () => ({
    then: (resolve: (value: unknown) => void, reject: (error: unknown) => void) => {
      resolve('once');
      reject(new Error('twice'));
      resolve('thrice');
    },
  }),
  'Symbol.asyncIterator that throws': () => Object.defineProperty({}, Symbol.asyncIterator, { get: fail }),
  '@@observable that throws': () => Object.defineProperty({}, '@@observable', { get: fail }),
  'an iterator that throws': () => ({ [Symbol.asyncIterator]: () => ({ next: fail }) }),
  'a BigInt': () => 1n,
  'a symbol': () => Symbol('s'),
  'a function': () => fail,
  NaN: () => NaN,
  undefined: () => undefined,
  'an object without a prototype': () => Object.assign(Object.create(null) as object, { a: 1 }),
  '__proto__ as a key': () => JSON.parse('{"__proto__":{"polluted":true}}') as unknown,
  'a sparse array': () => Object.assign([], { length: 1_000_000 }),
  '300 levels': () => nestedArray(300),
  '100,000 levels': () => nestedArray(100_000),
  'lone surrogates': () => '\ud800 \udfff',
  'a megabyte': () => 'x'.repeat(1_000_000),
  'escape sequences': () => '\u001b[2J\u0000',
  'a Map': () => new Map([[1, 2]]),
  'a thrown undefined': () => {
    throw undefined;
  },
  'a thrown Proxy': () => {
    throw new Proxy({}, handler);
  },
  'a thrown revoked Proxy': () => {
    throw revoked();
  },
  'an error with a message that throws': () => {
    throw new HostileError();
  },
  'a rejection with a circular value': () => Promise.reject(circular),
  'an Observable that throws on subscription': () => new Observable(fail),
  'an Observable of nothing': () => of(),
  'an Observable that emits and fails': () =>
    new Observable((out) => {
      out.next(1);
      out.error(circular);
      out.next(2);
    }),
  'an error notification of null': () => throwError(() => null),
  'a tool without end': () => NEVER,
};

/** Hostile tools: the call is answered to the model, the run goes on, and the next request is accepted. */
export const toolResults: Family = {
  name: 'toolResults',
  async run(check, { isShort }) {
    for (const wire of isShort ? wires.slice(0, 1) : wires) {
      const server = await serveModel(({ history }) =>
        history.at(-1)?.parts.at(-1)?.type === 'toolResult' ? 'Done.' : [toolCall('act')],
      );
      const model = modelByName(wire, { baseUrl: server.urlFor(wire), apiKey: key, retry: false });
      for (const [name, execute] of Object.entries(table))
        await check(`${wire}, ${name}`, async () => {
          const act = tool({ name: 'act', description: 'Acts.', execute: execute as () => never });
          const { values, error } = await outcome(
            createAgent({ model, tools: [act], toolDeadline: 300 }).stream('Go.'),
          );
          assert.equal(error, undefined);
          assert.equal(values.filter(({ type }) => type === 'toolResult').length, 1);
          assert.equal(values.at(-1)?.type, 'result');
          JSON.stringify(values);
        });
      await server.close();
    }
  },
};
