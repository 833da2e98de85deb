import { expect } from '@jest/globals';
import { throwError } from 'rxjs';
import type { Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import type { Chunk } from '../../lib/core/chunk.js';
import { StreamInterruptedError } from '../../lib/core/errors.js';
import { userMessage } from '../../lib/core/message.js';
import type { Capabilities, ModelRequest } from '../../lib/core/model.js';
import { scriptedModel } from '../../lib/testing/index.js';
import type { ScriptedModel } from '../../lib/testing/index.js';
import type { ScriptedOutput } from '../../lib/testing/script.js';

/** Runs a test in virtual time. */
export const inVirtualTime = <T>(test: (helpers: Parameters<Parameters<TestScheduler['run']>[0]>[0]) => T): T =>
  new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(test);

export const request: ModelRequest = { messages: [userMessage('Hi')] };

/** A retryable error, and one that is not. */
export const lost = new StreamInterruptedError('p', 'lost');
export const broken = new Error('broken');

/** Chunks by letter, for marbles. */
export const chunks = {
  a: { type: 'text', text: 'a' },
  b: { type: 'text', text: 'b' },
  t: { type: 'thinking', text: 't' },
  c: { type: 'toolCallFragment', id: 'c1', name: 'f', arguments: '{' },
  i: { type: 'metadata', metadata: { responseId: 'r1' } },
  x: { type: 'retract' },
  f: { type: 'finish', reason: 'stop', usage: { input: 3, output: 2 } },
} as const satisfies Readonly<Record<string, Chunk>>;

/** A model of the provider `p` whose responses are these, one for each request. */
export const modelOf = (
  name: string,
  script: readonly (ScriptedOutput | Observable<Chunk>)[],
  capabilities?: Capabilities,
): ScriptedModel => scriptedModel(script, { provider: 'p', name, ...(capabilities && { capabilities }) });

/** A model of the provider `p` all of whose requests fail. */
export const failingModel = (name: string, error: Error = lost, capabilities?: Capabilities): ScriptedModel =>
  scriptedModel(() => throwError(() => error), { provider: 'p', name, ...(capabilities && { capabilities }) });

/** The metadata that says which model answers. */
export const answeredBy = (name: string) => ({ type: 'metadata', metadata: { answeredBy: { provider: 'p', name } } });

/** The notice of a retry after `lost`. */
export const retrying = (attempt: number, delay: number, error: { toJSON(): unknown } = lost) => ({
  type: 'retry',
  attempt,
  delay,
  error: error.toJSON(),
});
