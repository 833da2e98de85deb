import { asKnownEvent } from '../../core/eventGuards.js';
import { nonEmptyString, omitUndefined } from '../../core/json/json.js';
import type { RecordedRun, RecordedStep } from '../readRecording.js';
import { callsOf, cancelledCalls, decisionsOf, eventsOf, generatedIdsOf } from '../replayRun.js';
import type { RecordedCall } from '../replayRun.js';
import { toMarbles } from './marbleText.js';
import type { MarbleEnd, Timed } from './marbleText.js';
import { headOf, titleOf } from './specText.js';
import type { SpecRunner } from './specText.js';

/** Writes a spec that contains everything: the model, the tools and the expected events as marble diagrams. */
export function marbleSpec(run: RecordedRun, { runner }: { readonly runner?: SpecRunner | undefined }): string {
  const { imports, it, equal } = headOf(runner);
  const { start, end } = run;
  const duration = (end?.at ?? run.steps.at(-1)?.at ?? start.at) - start.at;
  const settings = settingsOf(run);
  const calls = callsOf(run);
  const decisions = decisionsOf(run);
  const tools = toolLines(run);
  const ids = generatedIdsOf(run);
  const isLeft = end?.outcome === 'unsubscribed';
  const names = [...(calls.length + decisions.length > 0 ? ['EMPTY'] : []), ...(isLeft ? ['takeUntil'] : [])];
  const types = calls.length + decisions.length > 0 ? "import type { Observable } from 'rxjs';\n" : '';
  const ours = ['createAgent', ...(hasProgress(calls) ? ['progress'] : []), ...(tools.length > 0 ? ['tool'] : [])];
  const decisionType = decisions.length > 0 ? ['Decision'] : [];
  const typesOfOurs = ['Chunk', ...decisionType, ...(promptsOf(run) ? ['Message'] : [])];
  const rxjs = names.length > 0 ? `import { ${names.join(', ')} } from 'rxjs';\n` : '';
  const left = playing([{ at: duration, value: json('left') }], { at: duration, mark: '' }, '');
  const callLines = recordOf('calls', 'unknown', calls.map(callLine));
  const decisionLines = recordOf('decisions', 'Decision', decisions.map(decisionLine));
  const mark = { completed: '|', failed: '#', unsubscribed: '|' } as const;
  const expected = toMarbles(
    eventsOf(run).map(({ at, event }) => ({ at, value: event })),
    { at: duration, mark: end ? mark[end.outcome] : '' },
  );
  const run$ = `agent.stream(${json(start.input ?? [])}, {${optionLines(run).join('')}
    })${isLeft ? `.pipe(takeUntil(${left}))` : ''}`;
  return `${imports}
${rxjs}${types}import { ${ours.join(', ')} } from 'rivulet';
import type { ${typesOfOurs.join(', ')} } from 'rivulet';
import { drawInVirtualTime, playMarbles, scriptedModel } from 'rivulet/testing';

// In a marble diagram, a letter stands for everything that was emitted in one millisecond.
${it}(${json(titleOf(run))}, () => {
  const model = scriptedModel([${requestLines(run).join('')}
  ]);${callLines}${decisionLines}${ids.length > 0 ? `\n  const ids = ${json(ids)};` : ''}
  const agent = createAgent({
    model,${tools.length > 0 ? `\n    tools: [${tools.join('')}\n    ],` : ''}${settings.join('')}${
      decisions.length > 0 ? '\n    approve: ({ id }) => decisions[id] ?? EMPTY,' : ''
    }${ids.length > 0 ? "\n    newId: () => ids.shift() ?? 'another id'," : ''}
  });
  const { marbles, values } = drawInVirtualTime(() =>
    ${run$},
  );
  ${equal('marbles', json(expected.marbles))}
  ${equal('values', `{${entries(expected.values, json)}\n  }`)}
});
`;
}

const json = (value: unknown): string => JSON.stringify(value);

/** The lines of the values of a diagram. */
const entries = <T>(values: Readonly<Record<string, readonly T[]>>, textOf: (value: T) => string): string =>
  Object.entries(values)
    .map(([letter, list]) => `\n    ${letter}: [${list.map(textOf).join(', ')}],`)
    .join('');

/** A call of `playMarbles`; the values are expressions. */
function playing(values: readonly Timed<string>[], end: MarbleEnd, type: string, error?: string): string {
  const drawn = toMarbles(values, end);
  const failure = error === undefined ? '' : `, new Error(${json(error)})`;
  return `playMarbles${type}(${json(drawn.marbles)}, {${entries(drawn.values, (value) => value)}\n  }${failure})`;
}

const recordOf = (name: string, type: string, lines: readonly string[]): string =>
  lines.length === 0 ? '' : `\n  const ${name}: Record<string, Observable<${type}>> = {${lines.join('')}\n  };`;

function requestLines(run: RecordedRun): readonly string[] {
  return run.requests.map(({ entry, end }) => {
    const chunks = run.steps.flatMap(({ at, entry: step }): readonly Timed<string>[] =>
      (step.type === 'chunk' || step.type === 'both') && step.request === entry.request
        ? [{ at: at - entry.at, value: json(step.value) }]
        : [],
    );
    const mark = end && { completed: '|' as const, failed: '#' as const, unsubscribed: '' as const }[end.outcome];
    const error = end?.outcome === 'failed' ? (nonEmptyString(end.error?.['message']) ?? '') : undefined;
    return `\n    ${playing(chunks, { at: (end?.at ?? entry.at) - entry.at, mark: mark ?? '' }, '<Chunk>', error)},`;
  });
}

const hasProgress = (calls: readonly RecordedCall[]): boolean => calls.some(({ progress }) => progress.length > 0);

/** What a call emitted after its start. */
function callLine({ id, start, progress, result }: RecordedCall): string {
  const values = progress.map(({ at, value }) => ({ at: at - start, value: `progress(${json(value)})` }));
  const at = (result?.at ?? start) - start;
  const isOpen = result === undefined || result.event.code === 'cancelled' || result.event.code === 'timeout';
  const error = isOpen ? undefined : result.event.error;
  if (!isOpen && error === undefined) values.push({ at, value: json(result.event.result) });
  const mark = isOpen ? '' : error === undefined ? '|' : '#';
  return `\n    ${json(id)}: ${playing(values, { at, mark }, '<unknown>', error)},`;
}

const decisionLine = ({ id, wait, decision }: ReturnType<typeof decisionsOf>[number]): string =>
  `\n    ${json(id)}: ${playing([{ at: wait, value: json(decision) }], { at: wait, mark: '|' }, '<Decision>')},`;

function toolLines(run: RecordedRun): readonly string[] {
  const definitions = new Map(run.requests.flatMap(({ tools }) => tools.map((tool) => [tool.name, tool] as const)));
  const waiting = new Set(eventsOf(run).flatMap(({ event }) => (event.type === 'toolWaiting' ? [event.name] : [])));
  return [...definitions.values()].map(({ name, description, parameters }) => {
    const fields = { name, description, parameters };
    const head = Object.entries(fields).map(([field, value]) => `\n        ${field}: ${json(value)},`);
    const approval = waiting.has(name) ? '\n        needsApproval: true,' : '';
    const execute = '\n        execute: (_args, { call }) => calls[call.id] ?? EMPTY,';
    return `\n      tool({${head.join('')}${approval}${execute}\n      }),`;
  });
}

function settingsOf({ agent }: RecordedRun): readonly string[] {
  const { system, toolConcurrency, eagerTools, toolDeadline, maxTurns } = agent ?? {};
  const settings = omitUndefined({ system, toolConcurrency, eagerTools, toolDeadline, maxTurns });
  return Object.entries(settings).map(
    ([name, value]) =>
      `\n    ${name}: ${value === 'unlimited' && name === 'toolConcurrency' ? 'Infinity' : json(value)},`,
  );
}

const promptsOf = ({ steps }: RecordedRun): boolean => steps.some(({ entry }) => entry.type === 'prompt');

function optionLines(run: RecordedRun): readonly string[] {
  const { start, steps } = run;
  const timed = (type: 'stop' | 'prompt', valueOf: (entry: RecordedStep['entry']) => string) =>
    steps
      .filter(({ entry }) => entry.type === type)
      .map(({ at, entry }) => ({ at: at - start.at, value: valueOf(entry) }));
  const open = { at: 0, mark: '' } as const;
  const stops = timed('stop', () => json('stop'));
  const cancels = cancelledCalls(run).map(({ step, event }) => ({ at: step.at - start.at, value: json(event.id) }));
  const prompts = timed('prompt', (entry) => json(entry.type === 'prompt' ? entry.messages : []));
  const fragments = eventsOf(run).some(({ event }) => asKnownEvent(event).type === 'toolCallFragment');
  return [
    ...(start.history ? [`\n      history: ${json(start.history)},`] : []),
    ...(fragments ? ['\n      fragments: true,'] : []),
    ...(stops.length > 0 ? [`\n      stop: ${playing(stops, open, '')},`] : []),
    ...(cancels.length > 0 ? [`\n      cancel: ${playing(cancels, open, '<string>')},`] : []),
    ...(prompts.length > 0 ? [`\n      prompts: ${playing(prompts, open, '<Message[]>')},`] : []),
  ];
}
