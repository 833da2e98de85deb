import { TestScheduler } from 'rxjs/testing';
import { createAgent } from '../../agent/createAgent.js';
import { readRecording, type RecordedRun, type RecordedStep, type RunRecording } from '../recording/readRecording.js';
import { recordRun } from '../recording/recordRun.js';
import { runOf } from '../recording/replay.js';
import { callsOf, eventsOf } from '../recording/recordedCalls.js';
import { canRepeat, replayRun } from '../recording/replayRun.js';
import { asKnownEvent } from '../../core/eventGuards.js';

/** In virtual time, computing takes none. A run that does not emit the recorded events again stays as it is. */
export function repeatVirtually(recording: RunRecording, run: number): RecordedRun {
  const recorded = runOf(recording, { run });
  if (!canRepeat(recorded)) return recorded;
  for (const played of [separateSources(recorded), recorded]) {
    const repeated = repeatRun({ ...recording, runs: [played] }, 1);
    if (firstDifference(repeated, recorded) === undefined) return repeated;
  }
  return recorded;
}

export function repeatRun(recording: RunRecording, run: number): RecordedRun {
  const { start, hasContent } = runOf(recording, { run });
  const { name } = start;
  const lines: string[] = [];
  new TestScheduler(() => true).run(() => {
    const replayed = replayRun(recording, { run });
    const agent = recordRun(createAgent(replayed.agent), (line) => void lines.push(line), { name });
    replayed.play(agent).subscribe({ error: () => undefined }); // the failure is in the recording
  });
  return { ...runOf(readRecording(lines), {}), hasContent };
}

export function firstDifference(a: RecordedRun, b: RecordedRun): number | undefined {
  const [these, those] = [a, b].map((run) => eventsOf(run).map(({ event }) => JSON.stringify(event)));
  const length = Math.max(these?.length ?? 0, those?.length ?? 0);
  const index = Array.from({ length }, (_, position) => these?.[position] === those?.[position]).indexOf(false);
  return index < 0 ? undefined : index + 1;
}

/** Sources get milliseconds of their own: diagrams say nothing about the order of sources within one. */
function separateSources(run: RecordedRun): RecordedRun {
  const calls = callsOf(run).flatMap(({ id, outputs }) => outputs.map(({ step }) => [step, `call ${id}`] as const));
  const outputs = new Map<RecordedStep, string>(calls);
  let delay = 0;
  let previous: { readonly at: number; readonly source: string } | undefined;
  const steps = run.steps.map((step): RecordedStep => {
    const begun = begunCall(step);
    const source = begun ?? outputs.get(step) ?? sourceOf(step);
    if (source !== undefined) {
      if (previous?.at === step.at && previous.source !== source && begun === undefined) delay += 1;
      previous = { at: step.at, source };
    }
    return delay === 0 ? step : { ...step, at: step.at + delay };
  });
  return { ...run, steps };
}

/** The run itself begins a call. What the call emits directly afterwards is not separated from it. */
function begunCall({ entry }: RecordedStep): string | undefined {
  const event = entry.type === 'event' ? asKnownEvent(entry.value) : undefined;
  return event?.type === 'toolStart' || event?.type === 'toolWaiting' ? `call ${event.id}` : undefined;
}

function sourceOf({ entry }: RecordedStep): string | undefined {
  switch (entry.type) {
    case 'chunk':
    case 'both':
      return `request ${entry.request}`;
    case 'stop':
    case 'prompt':
      return entry.type;
    case 'event': {
      const event = asKnownEvent(entry.value);
      return event.type === 'toolResult' ? `call ${event.id}` : undefined;
    }
    default:
      return undefined;
  }
}
