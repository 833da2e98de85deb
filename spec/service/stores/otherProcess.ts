import { expect } from '@jest/globals';
import { concat, firstValueFrom, lastValueFrom, take, toArray } from 'rxjs';
import type { StreamEvent } from '../../../lib/core/event.js';
import type { RunLog } from '../../../lib/service/ports/runLog.js';

const text = (value: string) => ({ type: 'text', text: value }) as StreamEvent;

/** Expects that the reader of a run gets what another process writes, and that its messages arrive there. */
export async function expectSharedRun(writer: RunLog, reader: RunLog): Promise<void> {
  const run = 'other-process';
  const write = (events: readonly StreamEvent[]) => writer.append(run, 1, events);
  await lastValueFrom(write([text('Hel')]), { defaultValue: undefined });
  const reading = firstValueFrom(reader.read(run).pipe(toArray()));
  const messages = firstValueFrom(writer.messages(run).pipe(take(1)));
  await firstValueFrom(reader.read(run).pipe(take(1)));
  expect(await firstValueFrom(reader.send(run, { type: 'stop' }))).toBe(true);
  expect((await messages).message).toEqual({ type: 'stop' });
  const rest = concat(write([text('lo'), { type: 'b' }]), writer.end(run, 1));
  await lastValueFrom(rest, { defaultValue: undefined });
  expect((await reading).map(({ event }) => ('text' in event ? event.text : event.type)).join('')).toBe('Hellob');
}
