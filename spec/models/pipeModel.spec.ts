import { describe, expect, it } from '@jest/globals';
import { filter, map, scan } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { Chunk } from '../../lib/core/chunk.js';
import { pipeModel } from '../../lib/models/pipeModel.js';
import type { Streams } from '../../lib/testing/marbles/runDiagram.js';
import { diagram } from '../support/diagram.js';
import { observe } from '../support/observe.js';
import { modelOf, request } from './models.js';

const shout = map((chunk: Chunk) => (chunk.type === 'text' ? { ...chunk, text: chunk.text.toUpperCase() } : chunk));

describe('pipeModel', () => {
  it('pipeModel applies an operator to each response', () =>
    diagram('pipeModel', ({ response }: Streams<'response', Chunk>) =>
      pipeModel(modelOf('m', [response]), shout).stream(request),
    ));

  it('pipeModel applies the operators in order, and has the description of the model', () => {
    const model = modelOf('m', ['a b'], { tools: true });
    const composed = pipeModel(
      model,
      shout,
      filter(({ type }) => type === 'text'),
      map((chunk) => ({ ...chunk, text: JSON.stringify(chunk) }) as Chunk),
    );
    expect(composed).toMatchObject({ provider: 'p', name: 'm', capabilities: { tools: true } });
    expect(observe(composed.stream(request)).values).toEqual([
      { type: 'text', text: JSON.stringify({ type: 'text', text: 'A B' }) },
    ]);
    expect(model.requests).toEqual([request]);
  });

  it('pipeModel without an operator is the model', () => {
    expect(observe(pipeModel(modelOf('m', ['a'])).stream(request)).values).toHaveLength(2);
    expect('capabilities' in pipeModel(modelOf('m', []))).toBe(false);
  });

  it('pipeModel gives each response its own state, and changes the history of a run', () => {
    const numbered = scan((_: Chunk, chunk: Chunk, index) =>
      chunk.type === 'text' ? { ...chunk, text: `${index}${chunk.text}` } : chunk,
    );
    const agent = createAgent({
      model: pipeModel(
        modelOf('m', [
          ['a', 'b'],
          ['c', 'd'],
        ]),
        numbered,
      ),
    });
    for (const text of ['a1b', 'c1d']) {
      const { values } = observe(agent.run('Hi'));
      expect(values[0]).toMatchObject({ text, messages: [{ parts: [{ type: 'text', text }] }] });
    }
  });
});
