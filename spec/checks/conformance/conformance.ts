import { normalize } from 'node:path';
import { concatMap, defer, from, mergeMap } from 'rxjs';
import type { Observable } from 'rxjs';
import { isUnreadable } from './case.js';
import type { Found } from './case.js';
import { find } from './find.js';
import { factoryOf, wireOf } from './providers.js';
import { notRun, runCase } from './runCase.js';
import type { Outcome } from './runCase.js';

/** The number of cases that run at a time: one can wait for its socket while another decodes. */
const concurrency = 4;

/**
 * Runs all cases at some paths through the providers.
 *
 * @param paths Quirks files, recordings, and folders of these. A case that is found twice is run once.
 * @returns The outcome of each case, as soon as it is known. Never errors: a case that cannot be read or run has
 * failed.
 */
export function conform(paths: readonly string[]): Observable<Outcome> {
  return defer(async () => unique(await Promise.all(paths.map((path) => find(normalize(path)))))).pipe(
    concatMap((found) => from(found)),
    mergeMap(outcomeOf, concurrency),
  );
}

async function outcomeOf(found: Found): Promise<Outcome> {
  if (isUnreadable(found)) return notRun(found.id, found.source, found.wire ?? null, found.problem);
  try {
    return await runCase(found, await factoryOf(wireOf(found)));
  } catch (error) {
    return notRun(found.id, found.source, found.wire, error);
  }
}

/** Removes a case that two paths have found. Two cases of one file may share an id: both stay. */
function unique(found: readonly (readonly Found[])[]): readonly Found[] {
  const seen = new Set<string>();
  return found.flatMap((some) => {
    const fresh = some.filter(({ source, id }) => !seen.has(`${source}\n${id}`));
    for (const { source, id } of some) seen.add(`${source}\n${id}`);
    return fresh;
  });
}
