import { of } from 'rxjs';
import type { Observable } from 'rxjs';
import { createAgent } from '../../lib/agent/createAgent.js';
import type { StreamEvent } from '../../lib/core/event.js';
import { asKnownEvent } from '../../lib/core/eventGuards.js';
import { filePart } from '../../lib/core/message.js';
import { progress } from '../../lib/core/progress.js';
import { tool } from '../../lib/core/tool.js';
import { scriptedModel, toolCall } from '../../lib/testing/index.js';
import type { Step } from '../../lib/testing/index.js';
import { observe } from './observe.js';

const image = filePart(new Uint8Array([1, 2, 3]), 'image/png');
const usage = { input: 5, output: 3 };

/** Two turns with everything that a model and tools can emit. */
const steps: readonly (readonly Step[])[] = [
  [
    { type: 'thinking', text: 'Which ' },
    { type: 'thinking', text: 'city?' },
    'Let me ',
    'see.',
    { type: 'metadata', metadata: { serverTools: [{ id: 's1', name: 'web_search', status: 'running', raw: {} }] } },
    { type: 'file', file: { ...image, providerData: { scripted: { signature: 'f' } } } },
    { type: 'toolCallFragment', index: 0, id: 'c1', name: 'weather', arguments: '{"city":' },
    { type: 'toolCallFragment', index: 0, arguments: '"Oslo"}', providerData: { scripted: { signature: 's' } } },
    toolCall('missing', {}, 'c2'),
    { type: 'finish', reason: 'toolCalls', usage },
  ],
  [
    'Void',
    { type: 'retract' },
    { type: 'source', source: { type: 'source', url: 'https://example.com', title: 'Weather' } },
    'It is ',
    '7 degrees.',
    { type: 'provider', provider: 'scripted', data: { id: 'r2' } },
    { type: 'finish', reason: 'stop', usage },
  ],
];

const weather = tool({
  name: 'weather',
  description: 'Returns the weather.',
  execute: () => of(progress('asking'), progress('reading'), { degrees: 7 }),
});

/** A run with two turns, tools, progress, a retracted attempt, files, sources and provider data. Synchronous. */
export function exampleRun(
  options: { readonly fragments?: boolean; readonly checkpoints?: boolean } = {},
): Observable<StreamEvent> {
  const { fragments = true, checkpoints = false } = options;
  const agent = createAgent({ model: scriptedModel(steps), tools: [weather] });
  return agent.stream('How warm is it in Oslo?', { fragments, checkpoints });
}

/** The events of the example run. */
export const exampleEvents = (options: Parameters<typeof exampleRun>[0] = {}): readonly StreamEvent[] =>
  observe(exampleRun(options)).values;

/**
 * What a subscriber has received, however deltas are cut: the texts of consecutive deltas of one kind are joined, and
 * all other events are as they are.
 */
export function contentOf(events: readonly StreamEvent[]): readonly StreamEvent[] {
  const content: StreamEvent[] = [];
  for (const event of events) {
    const last = content.at(-1);
    const joined = last && joinDeltas(last, event);
    if (joined) content[content.length - 1] = joined;
    else content.push(event);
  }
  return content;
}

function joinDeltas(first: StreamEvent, second: StreamEvent): StreamEvent | undefined {
  if (first.type !== second.type) return undefined;
  const a = asKnownEvent(first);
  const b = asKnownEvent(second);
  if (a.type === 'text' && b.type === 'text') return withText(a, a.text + b.text);
  if (a.type === 'thinking' && b.type === 'thinking') return withText(a, a.text + b.text);
  if (a.type !== 'toolCallFragment' || b.type !== 'toolCallFragment' || a.index !== b.index) return undefined;
  if (typeof a.arguments !== 'string' || typeof b.arguments !== 'string') return undefined;
  return { ...a, ...{ arguments: a.arguments + b.arguments } };
}

const withText = (event: StreamEvent, text: string): StreamEvent => ({ ...event, ...{ text } });
