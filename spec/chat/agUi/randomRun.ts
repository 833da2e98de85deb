import * as fc from 'fast-check';
import { defer, take } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../../lib/agent/createAgent.js';
import type { StreamEvent } from '../../../lib/core/event.js';
import { tool } from '../../../lib/core/tool.js';
import { scriptedModel, toolCall } from '../../../lib/testing/index.js';
import type { Step } from '../../../lib/testing/index.js';

const tools = [
  tool({ name: 'add', description: 'Adds.', execute: () => 3 }),
  tool({
    name: 'fail',
    description: 'Fails.',
    execute: () => {
      throw new Error('No.');
    },
  }),
  tool({ name: 'send', description: 'Sends.', needsApproval: true, execute: () => 'sent' }),
  tool({ name: 'ask', description: 'Asks the user.' }),
];

const name = fc.constantFrom('add', 'fail', 'send', 'ask', 'missing');
const id = fc.constantFrom('', 'c1', 'c2', 'c3');
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('', 'a', '\n', 'text ') },
  { weight: 3, arbitrary: fc.constantFrom('', 'b').map((text): Step => ({ type: 'thinking', text })) },
  { weight: 3, arbitrary: fc.tuple(name, id).map(([called, callId]) => toolCall(called, { x: 1 }, callId)) },
  {
    weight: 5,
    arbitrary: fc
      .record({
        index: fc.nat(2),
        id,
        name: fc.option(name, { nil: '' }),
        arguments: fc.constantFrom('', '{', '"x":', '1}', '{}', '{"x":1}'),
      })
      .map((fragment): Step => ({ type: 'toolCallFragment', ...fragment })),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ type: 'retract' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ type: 'retry', attempt: 1, delay: 1, error: { message: 'Busy.' } }) },
  { weight: 1, arbitrary: fc.constant<Step>({ type: 'metadata', metadata: { answeredBy: 'x' } }) },
  { weight: 1, arbitrary: fc.constant<Step>({ error: new Error('The connection broke.') }) },
);
const end: fc.Arbitrary<readonly Step[]> = fc.constantFrom<readonly Step[]>(
  [],
  [],
  [{ type: 'finish', reason: 'length' }],
  [{ type: 'finish', reason: 'contentFilter' }],
);
const turn = fc.tuple(fc.array(step, { maxLength: 12 }), end).map(([steps, last]) => [...steps, ...last]);

/** Any run of an agent: complete, waiting, failed, stopped or left. */
export const randomRun: fc.Arbitrary<Observable<StreamEvent>> = fc
  .record({
    turns: fc.array(turn, { minLength: 1, maxLength: 4 }),
    fragments: fc.boolean(),
    eagerTools: fc.boolean(),
    left: fc.option(fc.nat(20), { nil: undefined }),
  })
  .map(({ turns, fragments, eagerTools, left }) => {
    const run$ = defer((): Observable<StreamEvent> => {
      const model = scriptedModel((request) => turns[request.turn - 1] ?? 'The end.');
      return createAgent({ model, tools, eagerTools }).stream('Go.', { fragments });
    });
    return left === undefined ? run$ : run$.pipe(take(left));
  });
