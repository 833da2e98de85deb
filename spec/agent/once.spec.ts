import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as z from 'zod';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { RunEvent } from '../../lib/core/event.js';
import type { Capabilities } from '../../lib/core/model.js';
import { tool } from '../../lib/core/tool.js';
import type { Orchestrator } from '../../lib/agent/orchestrator.js';
import { toolLoop } from '../../lib/agent/toolLoop.js';
import { twoPhase } from '../../lib/agent/twoPhase.js';
import { typedOutput } from '../../lib/agent/typedOutput.js';
import { toolCall, scriptedModel } from '../../lib/testing/index.js';
import type { Step } from '../../lib/testing/index.js';
import { typed } from '../../lib/agent/typed.js';
import { research } from '../../examples/research/research.js';
import { observe } from '../support/observe.js';

const schema = z.object({ n: z.number() });
const look = tool({ name: 'look', description: 'Looks.', execute: () => 'seen' });

type Kind = 'text' | 'thinking' | 'metadata' | 'file' | 'source' | 'call';

/** A turn of marked pieces, each different from all others of the run. */
function stepsOf(kinds: readonly Kind[], mark: () => string): Step[] {
  return kinds.map((kind): Step => {
    const id = mark();
    if (kind === 'text' || kind === 'thinking') return { type: kind, text: `<${id}>` };
    if (kind === 'metadata') return { type: 'metadata', metadata: { id } };
    if (kind === 'file') return { type: 'file', file: { type: 'file', mediaType: 'image/png', data: id } };
    if (kind === 'source') return { type: 'source', source: { type: 'source', url: `https://example.org/${id}` } };
    return toolCall('look');
  });
}

const piece = fc.constantFrom<Kind>('text', 'thinking', 'metadata', 'file', 'source');
const round = fc.tuple(
  fc.array(piece, { maxLength: 6 }),
  fc.integer({ min: 1, max: 3 }),
  fc.array(piece, { maxLength: 2 }),
);
const scripts = fc.record({ rounds: fc.array(round, { maxLength: 3 }), last: fc.array(piece, { maxLength: 6 }) });

interface Setup {
  readonly name: string;
  readonly orchestrator: Orchestrator;
  readonly capabilities?: Capabilities;
  /** What ends the run, after the last words. */
  readonly ending: (last: readonly Step[]) => readonly (readonly Step[])[];
  readonly typed?: boolean;
}

const withoutText = (steps: readonly Step[]) =>
  steps.filter((step) => !(typeof step === 'object' && 'type' in step && step.type === 'text'));
const setups: readonly Setup[] = [
  { name: 'toolLoop', orchestrator: toolLoop, ending: (last) => [[...last, 'end']] },
  {
    name: 'typedOutput by schema',
    orchestrator: typedOutput,
    typed: true,
    ending: (last) => [[...withoutText(last), 'no json'], ['{"n":1}']],
  },
  {
    name: 'typedOutput by return_result',
    orchestrator: typedOutput,
    typed: true,
    capabilities: { tools: true, typedOutput: false },
    ending: (last) => [[...last, toolCall('return_result', {})], [toolCall('return_result', { n: 1 })]],
  },
  { name: 'twoPhase', orchestrator: twoPhase, typed: true, ending: (last) => [[...last, 'done'], ['{"n":1}']] },
  {
    name: 'a custom orchestrator',
    orchestrator: research,
    ending: (last) => [[...last, 'analysed'], ['found'], ['so']],
  },
];

describe.each(setups)('a run of $name', ({ orchestrator, capabilities, ending, typed: isTyped }) => {
  it('emits metadata, thinking, files, sources and usage exactly once, in order', () => {
    fc.assert(
      fc.property(scripts, ({ rounds, last }) => {
        let marks = 0;
        const mark = () => `m${++marks}`;
        const tooled = rounds.map(([before, calls, after]) =>
          stepsOf([...before, ...Array.from({ length: calls }, (): Kind => 'call'), ...after], mark),
        );
        const turns = [...tooled, ...ending(stepsOf(last, mark))];
        const finished = turns.map((steps, at): Step[] => [
          ...steps,
          { type: 'finish', reason: 'stop', usage: { input: 10 ** at } },
        ]);
        const model = scriptedModel(finished, { ...(capabilities ? { capabilities } : {}) });
        const { values, error } = observe(
          createAgent({
            model,
            tools: [look],
            orchestrator,
            maxTurns: 99,
            ...(isTyped ? { output: typed(schema) } : {}),
          }).stream('go'),
        );
        expect(error).toBeUndefined();
        const events = values as readonly RunEvent[];
        const sent = turns
          .flat()
          .filter((step): step is Extract<Step, { type: string }> => typeof step === 'object' && 'type' in step);
        for (const type of ['thinking', 'metadata', 'file', 'source'] as const) {
          const own = events.filter(
            (event) => event.type === type && !('metadata' in event && 'suppressedText' in event.metadata),
          );
          expect(own).toEqual(sent.filter((step) => step.type === type));
        }
        // A text is shown once: as text, or, where the orchestrator suppresses it, as the metadata that says so.
        const shown = events
          .map((event) =>
            event.type === 'text'
              ? event.text
              : event.type === 'metadata'
                ? JSON.stringify(event.metadata['suppressedText'] ?? '')
                : '',
          )
          .join('');
        const marked = sent.flatMap((step) => (step.type === 'text' ? [step.text] : []));
        expect(shown.match(/<m\d+>/g) ?? []).toEqual(marked);
        const usages = events.flatMap((event) => (event.type === 'turn' ? [event.usage?.input] : []));
        expect(usages).toEqual(turns.map((_, at) => 10 ** at));
        const result = events.at(-1);
        expect(result?.type === 'result' && result.result.usage.input).toBe(
          turns.reduce((sum, _, at) => sum + 10 ** at, 0),
        );
        expect(events.filter((event) => 'usage' in event).every(({ type }) => type === 'turn')).toBe(true);
      }),
      { numRuns: 60 },
    );
  });
});
