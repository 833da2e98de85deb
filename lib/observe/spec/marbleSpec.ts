import { nonEmptyString, omitUndefined } from '../../core/json/json.js';
import { groupByKey } from '../../core/lists.js';
import { maskedText } from '../recording/maskContent.js';
import type { RecordedRun, RecordedStep } from '../recording/readRecording.js';
import {
  callsOf,
  cancelledCalls,
  eventsOf,
  eventsUntilLeft,
  generatedIdsOf,
  hasApprovals,
  toolsOf,
  waitingCalls,
} from '../recording/recordedCalls.js';
import type { RecordedCall, RecordedTool, WaitingStep } from '../recording/recordedCalls.js';
import { toMarbles, type MarbleEnd, type Timed } from './marbleText.js';
import { headOf, importLine, titleOf, toSource, type SpecRunner } from './specText.js';

export function marbleSpec(run: RecordedRun, { runner }: { readonly runner?: SpecRunner | undefined }): string {
  const { imports, it, equal } = headOf(runner);
  const { start, end } = run;
  const events = eventsOf(run);
  const count = eventsUntilLeft(run);
  const last =
    (count === undefined ? undefined : events.at(-1)?.at) ?? (end?.at ?? run.steps.at(-1)?.at ?? start.at) - start.at;
  const mark = { completed: '|', failed: '#', unsubscribed: '|' } as const;
  const expected = toMarbles(
    events.map(({ at, event }) => ({ at, value: event })),
    { at: last, mark: end ? mark[end.outcome] : '' },
  );
  const body = `  const model = scriptedModel([${requestLines(run).join('')}
  ]);${constants(run)}
  const agent = createAgent({
    model,${agentLines(run)}
  });
  const { marbles, values } = drawInVirtualTime(() =>
    ${runExpression(run)}.pipe(${leaving(run, count, last)}map(recordedEvent)),
  );
  ${equal('marbles', toSource(expected.marbles))}
  ${equal('values', `{${entries(expected.values, toSource)}\n  }`)}`;
  return `${imports}
${importsOf(body)}
// In a marble diagram, a letter stands for everything that was emitted in one millisecond.
${it}(${toSource(titleOf(run))}, () => {
${body}
});
`;
}

const importable = {
  rxjs: ['EMPTY', 'NEVER', 'map', 'take', 'takeUntil', 'type Observable'],
  rivulet: ['createAgent', 'tool', 'type Checkpoint', 'type Chunk', 'type Decision', 'type JsonObject', 'type Message'],
  'rivulet/recording': ['playCall', 'recordedEvent', 'type CallOutput'],
  'rivulet/testing': ['drawInVirtualTime', 'playMarbles', 'scriptedModel'],
} as const;

function importsOf(body: string): string {
  const code = body.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
  const isUsed = (name: string) => new RegExp(`\\b${name.replace('type ', '')}\\b`).test(code);
  return Object.entries(importable)
    .map(([module, names]) => importLine(module, names.filter(isUsed)))
    .join('');
}

const entries = <T>(values: Readonly<Record<string, readonly T[]>>, textOf: (value: T) => string): string =>
  Object.entries(values)
    .map(([letter, list]) => `\n    ${letter}: [${list.map(textOf).join(', ')}],`)
    .join('');

function playing(values: readonly Timed<string>[], end: MarbleEnd, type: string, error?: string): string {
  const drawn = toMarbles(values, end);
  const failure = error === undefined ? '' : `, new Error(${toSource(error)})`;
  const record = `{${entries(drawn.values, (value) => value)}\n  }`;
  return `playMarbles${type}(${toSource(drawn.marbles)}, ${record}${failure})`;
}

function requestLines(run: RecordedRun): readonly string[] {
  const chunks = groupByKey(
    run.steps.filter(({ entry }) => entry.type === 'chunk' || entry.type === 'both'),
    ({ entry }) => ('request' in entry ? entry.request : undefined),
  );
  return run.requests.map(({ entry, end }) => {
    const values = (chunks.get(entry.request) ?? []).map(({ at, entry: step }) => ({
      at: at - entry.at,
      value: 'value' in step ? toSource(step.value) : '',
    }));
    const mark = end && { completed: '|' as const, failed: '#' as const, unsubscribed: '' as const }[end.outcome];
    const error = end?.outcome === 'failed' ? (nonEmptyString(end.error?.['message']) ?? '') : undefined;
    return `\n    ${playing(values, { at: (end?.at ?? entry.at) - entry.at, mark: mark ?? '' }, '<Chunk>', error)},`;
  });
}

function constants(run: RecordedRun): string {
  const waiting = waitingCalls(run);
  const decided = waiting.filter(({ decided: decision }) => decision);
  const ids = generatedIdsOf(run);
  const { checkpoint } = run.start;
  return [
    listsById('calls', 'Observable<CallOutput>', callsOf(run), ({ id }) => id, callLine),
    listsById('approvals', 'true | Observable<true | JsonObject>', waiting, ({ call }) => call.id, approvalLine),
    listsById('decisions', 'Observable<Decision>', decided, ({ call }) => call.id, decisionLine),
    ids.length > 0 ? `\n  const ids = ${toSource(ids)};` : '',
    checkpoint ? `\n  const checkpoint: Checkpoint = ${toSource(checkpoint)};` : '',
  ].join('');
}

/** An attempt that was retracted may have had a call with the same id. */
function listsById<T>(
  name: string,
  type: string,
  values: readonly T[],
  idOf: (value: T) => string,
  lineOf: (value: T) => string,
): string {
  if (values.length === 0) return '';
  const lines = [...groupByKey(values, idOf)].map(
    ([id, list]) => `\n    [${toSource(id)}, [${list.map(lineOf).join(', ')}]],`,
  );
  return `\n  const ${name} = new Map<string, (${type})[]>([${lines.join('')}\n  ]);`;
}

function callLine({ start, outputs, isOpen }: RecordedCall): string {
  const values = outputs.map(({ step, output }) => ({ at: step.at - start.at, value: toSource(output) }));
  const at = values.at(-1)?.at ?? 0;
  return playing(values, { at, mark: isOpen ? '' : '|' }, '<CallOutput>');
}

function approvalLine({ asked, step, call }: WaitingStep): string {
  const at = step.at - asked.at;
  if (at === 0 && !call.details) return 'true';
  return playing([{ at, value: toSource(call.details ?? true) }], { at, mark: '|' }, '<true | JsonObject>');
}

function decisionLine({ step, decided }: WaitingStep): string {
  const at = (decided?.step.at ?? step.at) - step.at;
  return playing([{ at, value: toSource(decided?.decision ?? null) }], { at, mark: '|' }, '<Decision>');
}

function agentLines(run: RecordedRun): string {
  const tools = toolsOf(run);
  const hasCalls = callsOf(run).length > 0;
  return [
    tools.length > 0 ? `\n    tools: [${tools.map((each) => toolLine(each, hasCalls)).join('')}\n    ],` : '',
    ...settingLines(run),
    hasApprovals(run) ? approveLine(waitingCalls(run)) : '',
    generatedIdsOf(run).length > 0 ? "\n    newId: () => ids.shift() ?? 'another id'," : '',
  ].join('');
}

const approveLine = (waiting: readonly WaitingStep[]): string =>
  waiting.some(({ decided }) => decided)
    ? '\n    approve: ({ id }) => decisions.get(id)?.shift() ?? NEVER,'
    : '\n    approve: () => NEVER,';

function toolLine({ definition, isExternal, hasWaited, rejected }: RecordedTool, hasCalls: boolean): string {
  const { name, description, parameters } = definition;
  const validate = rejected.size === 0 ? '' : validatorOf(rejected);
  const fields = {
    name: toSource(name),
    description: toSource(description),
    parameters: validate === '' ? toSource(parameters) : `{ ...${toSource(parameters)}, validate: ${validate} }`,
    needsApproval: hasWaited && !isExternal ? '(_args, { call }) => approvals.get(call.id)?.shift() ?? false' : '',
    execute: isExternal ? '' : executeText(hasCalls),
  };
  const lines = Object.entries(fields).filter(([, text]) => text !== '');
  return `\n      tool({${lines.map(([field, text]) => `\n        ${field}: ${text},`).join('')}\n      }),`;
}

const executeText = (hasCalls: boolean): string =>
  hasCalls ? '(_args, context) => playCall(calls.get(context.call.id)?.shift() ?? EMPTY, context)' : '() => EMPTY';

function validatorOf(rejected: RecordedTool['rejected']): string {
  return `(args: JsonObject) => {
          const problem = new Map(${toSource([...rejected])} as const).get(JSON.stringify(args) as never);
          if (problem !== undefined) throw new Error(problem);
          return args;
        }`;
}

function settingLines({ agent, hasContent }: RecordedRun): readonly string[] {
  const { system, toolConcurrency, eagerTools, toolDeadline, maxTurns } = agent ?? {};
  const prefix = hasContent ? undefined : maskedText('\n');
  const settings = omitUndefined({ system, toolConcurrency, eagerTools, toolDeadline, maxTurns, prefix });
  return Object.entries(settings).map(
    ([name, value]) =>
      `\n    ${name}: ${value === 'unlimited' && name === 'toolConcurrency' ? 'Infinity' : toSource(value)},`,
  );
}

function runExpression(run: RecordedRun): string {
  const { checkpoint, input = [] } = run.start;
  const options = `{${optionLines(run).join('')}\n    }`;
  return checkpoint ? `agent.resume(checkpoint, ${options})` : `agent.stream(${toSource(input)}, ${options})`;
}

/** Whoever left in a handler left before anything else could happen in that millisecond. */
function leaving({ end }: RecordedRun, count: number | undefined, at: number): string {
  if (end?.outcome !== 'unsubscribed') return '';
  if (count !== undefined) return `take(${count}), `;
  return `takeUntil(${playing([{ at, value: toSource('left') }], { at, mark: '' }, '')}), `;
}

/** In the code of a spec, never those of the recording. */
const answerNames = ['decisions', 'results', 'errors'] as const;

function optionLines(run: RecordedRun): readonly string[] {
  const { start, steps } = run;
  const timed = (type: 'stop' | 'prompt', valueOf: (entry: RecordedStep['entry']) => string) =>
    steps
      .filter(({ entry }) => entry.type === type)
      .map(({ at, entry }) => ({ at: at - start.at, value: valueOf(entry) }));
  const open = { at: 0, mark: '' } as const;
  const stops = timed('stop', () => toSource('stop'));
  const cancels = cancelledCalls(run).map(({ step, event }) => ({ at: step.at - start.at, value: toSource(event.id) }));
  const prompts = timed('prompt', (entry) => toSource(entry.type === 'prompt' ? entry.messages : []));
  const types = new Set<string>(eventsOf(run).map(({ event }) => event.type));
  return [
    ...(start.history ? [`\n      history: ${toSource(start.history)},`] : []),
    ...answerNames.flatMap((name) => {
      const answers = start.answers?.[name];
      return answers ? [`\n      ${name}: ${toSource(answers)},`] : [];
    }),
    ...(types.has('checkpoint') ? ['\n      checkpoints: true,'] : []),
    ...(types.has('toolCallFragment') ? ['\n      fragments: true,'] : []),
    ...(stops.length > 0 ? [`\n      stop: ${playing(stops, open, '')},`] : []),
    ...(cancels.length > 0 ? [`\n      cancel: ${playing(cancels, open, '<string>')},`] : []),
    ...(prompts.length > 0 ? [`\n      prompts: ${playing(prompts, open, '<Message[]>')},`] : []),
  ];
}
