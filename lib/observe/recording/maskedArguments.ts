import type { ToolCallFragment } from '../../core/chunk.js';
import { isToolCall, isToolCallFragment } from '../../core/eventGuards.js';
import type { JsonObject } from '../../core/json/json.js';
import type { RecordedRun, RecordedStep } from './readRecording.js';

interface SentCall {
  readonly id: string | undefined;
  last: RecordedStep;
}

/** Without content, fragments have only dots: the last fragment of each call gets all its masked arguments. */
export function withArguments(run: RecordedRun): RecordedRun {
  if (run.hasContent) return run;
  const complete = completeCalls(run);
  const texts = new Map<RecordedStep, string>();
  const sent = new Set(run.steps.map((step) => fragmentOf(step)?.id));
  const without = [...complete.keys()].filter((id) => !sent.has(id));
  for (const types of [['chunk', 'both'] as const, ['event'] as const]) {
    const generated = [...without];
    for (const { id, last } of sentCalls(run, types)) {
      const args = complete.get(id ?? generated.shift() ?? '');
      if (args && Object.keys(args).length > 0) texts.set(last, JSON.stringify(args));
    }
  }
  const steps = run.steps.map((step) => {
    const fragment = fragmentOf(step);
    if (typeof fragment?.arguments !== 'string' || !('value' in step.entry)) return step;
    const text = texts.get(step) ?? '';
    const value: ToolCallFragment = { ...fragment, arguments: text };
    return { ...step, entry: { ...step.entry, value } };
  });
  return { ...run, steps };
}

const completeCalls = ({ steps }: RecordedRun): ReadonlyMap<string, JsonObject> =>
  new Map(
    steps.flatMap(({ entry }) =>
      'value' in entry && isToolCall(entry.value) ? [[entry.value.id, entry.value.arguments] as const] : [],
    ),
  );

function fragmentOf({ entry }: RecordedStep): ToolCallFragment | undefined {
  return 'value' in entry && isToolCallFragment(entry.value) ? entry.value : undefined;
}

function sentCalls(run: RecordedRun, types: readonly RecordedStep['entry']['type'][]): readonly SentCall[] {
  const calls: SentCall[] = [];
  const current = new Map<string, SentCall>();
  for (const step of run.steps) {
    const fragment = fragmentOf(step);
    if (typeof fragment?.arguments !== 'string' || !types.includes(step.entry.type)) continue;
    const { index, id: sentId } = fragment;
    const id = sentId === '' ? undefined : (sentId ?? undefined);
    const request = 'request' in step.entry ? step.entry.request : undefined;
    const key = `${request}.${index ?? ''}`;
    const open = current.get(key);
    if (open && (id === undefined || id === open.id)) {
      open.last = step;
      continue;
    }
    const call: SentCall = { id, last: step };
    calls.push(call);
    current.set(key, call);
  }
  return calls;
}
