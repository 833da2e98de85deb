import { describe, expect, it } from '@jest/globals';
import { from } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import { conversation } from '../../lib/chat/conversation.js';
import type { Chunk } from '../../lib/core/chunk.js';
import type { Input } from '../../lib/core/input.js';
import type { Model } from '../../lib/core/model.js';
import { fallback } from '../../lib/models/fallback.js';
import { guardModel } from '../../lib/models/guardModel.js';
import { pipeModel } from '../../lib/models/pipeModel.js';
import { retryModel } from '../../lib/models/retryModel.js';
import { observe } from '../support/observe.js';

const chunks: readonly Chunk[] = [
  { type: 'text', text: 'hi' },
  { type: 'finish', reason: 'stop' },
];

/** Streams of other libraries. */
const foreign: Readonly<Record<string, () => unknown>> = {
  Promise: () => Promise.resolve(from(chunks)),
  Array: () => chunks,
  AsyncGenerator: async function* () {
    await Promise.resolve();
    yield* chunks;
  },
  PlatformObservable: () => new PlatformObservable(),
};
class PlatformObservable {
  subscribe(observer: { complete?: () => void }): void {
    observer.complete?.();
  }
}

const wrappers: Readonly<Record<string, (model: Model) => Model>> = {
  agent: (model) => model,
  pipeModel: (model) => pipeModel(model),
  retryModel: (model) => retryModel(model),
  fallback: (model) => fallback([model]),
  guardModel: (model) => guardModel(model, () => true),
};

describe('a stream of another library', () => {
  const cases = Object.keys(wrappers).flatMap((wrapper) =>
    Object.keys(foreign).map((kind) => [wrapper, kind] as const),
  );

  it.each(cases)('is refused in the model of %s with a sentence (%s)', (wrapper, kind) => {
    const model = { provider: 'p', name: 'm', stream: foreign[kind] } as unknown as Model;
    const { error } = observe(createAgent({ model: wrappers[wrapper]?.(model) ?? model }).run('Hi'));
    expect(error).toMatchObject({
      name: 'ConfigurationError',
      subject: 'model',
      message: expect.stringContaining(
        'What `stream` of the model p m returned is not an Observable of RxJS',
      ) as unknown,
    });
  });

  it('is refused where a model returns nothing', () => {
    const model = { provider: 'p', name: 'm', stream: () => undefined } as unknown as Model;
    expect(observe(createAgent({ model }).run('Hi')).error).toMatchObject({
      message: expect.stringContaining('(it is: Undefined)') as unknown,
    });
  });

  it.each(Object.keys(foreign))('is refused as the prompts of a conversation (%s)', (kind) => {
    const agent = createAgent({ model: { provider: 'p', name: 'm', stream: () => from(chunks) } });
    const prompts = foreign[kind]?.() as Observable<Input>;
    expect(() => conversation(agent, prompts)).toThrow('prompts$ is not an Observable of RxJS');
  });
});
