import { takeUntil } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { createAgent } from '../../agent.js';
import { readRecording } from '../readRecording.js';
import type { RecordedRun, RunRecording } from '../readRecording.js';
import { recordRun } from '../recordRun.js';
import { runOf } from '../replay.js';
import { eventsOf, replayRun } from '../replayRun.js';

/**
 * Repeats a run in virtual time and records it again: computing then takes no time, so that all times follow from those
 * of the model, the tools and the decisions. A run that does not emit the recorded events again is returned as it is.
 */
export function repeatVirtually(recording: RunRecording, run: number): RecordedRun {
  const recorded = runOf(recording, { run });
  if (recorded.start.kind !== 'run' || recorded.start.resumed) return recorded;
  const lines: string[] = [];
  new TestScheduler(() => true).run(() => {
    const { agent, input, options, left } = replayRun(recording, { run });
    recordRun(createAgent(agent), (line) => void lines.push(line))
      .stream(input, options)
      .pipe(takeUntil(left))
      .subscribe({ error: () => undefined }); // the failure is in the recording
  });
  const repeated = runOf(readRecording(lines), {});
  return eventsText(repeated) === eventsText(recorded) ? repeated : recorded;
}

const eventsText = (run: RecordedRun): string => JSON.stringify(eventsOf(run).map(({ event }) => event));
