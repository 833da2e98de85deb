import { DBOS } from '@dbos-inc/dbos-sdk';
import { catchError, defer, EMPTY, exhaustMap, filter, interval, tap } from 'rxjs';

/** How long workflows are kept after their end, in milliseconds: `RETENTION`, or a day. */
const age = Number(process.env['RETENTION'] ?? 86_400_000);

/**
 * Removes workflows that have ended, and their steps, at most 1000 a minute. DBOS keeps them for ever. Rivulet needs
 * them no more: the record and the log have what a page shows.
 */
export const removeEnded = interval(Math.min(age, 60_000)).pipe(
  exhaustMap(() =>
    defer(removeOnce).pipe(
      catchError((thrown: unknown) => {
        console.error('Ended workflows could not be removed.', thrown); // the database is away: the next time
        return EMPTY;
      }),
    ),
  ),
  filter((count) => count > 0),
  tap((count) => console.log(`worker ${process.pid}: removed ${count} workflows that have ended`)),
);

async function removeOnce(): Promise<number> {
  const ended = await DBOS.listWorkflows({
    status: ['SUCCESS', 'ERROR', 'CANCELLED'],
    completedBefore: new Date(Date.now() - age).toISOString(),
    limit: 1000,
    loadInput: false,
    loadOutput: false,
  });
  if (ended.length > 0) await DBOS.deleteWorkflows(ended.map(({ workflowID }) => workflowID));
  return ended.length;
}
