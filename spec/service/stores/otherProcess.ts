import { expect } from '@jest/globals';
import { concat, firstValueFrom, lastValueFrom, map, take, toArray } from 'rxjs';
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

/** Expects that nobody reads on in the log of another attempt than before, although it has as many events. */
export async function expectLostLog(log: RunLog, lose: () => Promise<unknown>): Promise<void> {
  const run = 'lost-log';
  const write = (attempt: number, types: readonly string[]) =>
    lastValueFrom(concat(...types.map((type) => log.append(run, attempt, [{ type }]))), { defaultValue: undefined });
  const idsOf = (count: number, from?: string) =>
    firstValueFrom(
      log.read(run, from).pipe(
        take(count),
        map(({ id }) => id),
        toArray(),
      ),
    );
  await write(1, ['a', 'b']);
  const notFound = { code: 'run_not_found' };
  const reading = expect(firstValueFrom(log.read(run).pipe(toArray()))).rejects.toMatchObject(notFound);
  expect(await idsOf(2)).toEqual(['1', '2']);
  await lose();
  await write(2, ['a', 'b', 'c']);
  await reading;
  expect(await idsOf(3)).toEqual(['2:1', '2:2', '2:3']);
  expect(await idsOf(2, '2:1')).toEqual(['2:2', '2:3']);
  await expect(idsOf(1, '1')).rejects.toMatchObject(notFound);
}
