import { asKnownEvent } from '../../core/eventGuards.js';
import type { RecordedRun, RecordedStep } from '../recording/readRecording.js';

/**
 * Delays a run where different sources (the model, the calls, the user) emitted in the same millisecond, so that each
 * source has a millisecond of its own: diagrams of different sources say nothing about the order within one.
 */
export function separateSources(run: RecordedRun): RecordedRun {
  let delay = 0;
  let previous: { readonly at: number; readonly source: string } | undefined;
  const steps = run.steps.map((step): RecordedStep => {
    const source = sourceOf(step);
    if (source !== undefined) {
      if (previous?.at === step.at && previous.source !== source) delay += 1;
      previous = { at: step.at, source };
    }
    return delay === 0 ? step : { ...step, at: step.at + delay };
  });
  return { ...run, steps };
}

/** Who has caused a step. Undefined for what follows from other steps. */
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
      const isOutput = ['toolProgress', 'toolUsage', 'nested', 'toolResult'].includes(event.type);
      return isOutput && 'id' in event ? `call ${event.id}` : undefined;
    }
    default:
      return undefined;
  }
}
