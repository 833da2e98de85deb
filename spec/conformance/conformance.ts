import { normalize } from 'node:path';
import { concatMap, defer, from, mergeMap } from 'rxjs';
import type { Observable } from 'rxjs';
import { isUnreadable } from './case.js';
import type { Found } from './case.js';
import { find } from './find.js';
import { factoryOf } from './providers.js';
import { notRun, runCase } from './runCase.js';
import type { Outcome } from './runCase.js';

/** Cases under way at a time: while one waits for its socket, another reads. */
const together = 4;

/**
 * Runs all cases at some paths against the real providers.
 *
 * @param paths Quirks files, recordings, and folders of these. One found twice is run once.
 * @returns What became of each, as it is known. Never errors: what cannot be read or run is a case that failed.
 */
export function conform(paths: readonly string[]): Observable<Outcome> {
  return defer(async () => unique(await Promise.all(paths.map((path) => find(normalize(path)))))).pipe(
    concatMap((found) => from(found)),
    mergeMap(outcomeOf, together),
  );
}

async function outcomeOf(found: Found): Promise<Outcome> {
  if (isUnreadable(found)) return notRun(found.id, found.source, found.wire ?? null, found.problem);
  try {
    return await runCase(found, await factoryOf(found.wire));
  } catch (error) {
    return notRun(found.id, found.source, found.wire, error);
  }
}

/** One path and id, found by two PATHs, is one case; two cases of a list that share an id by mistake are two. */
function unique(found: readonly (readonly Found[])[]): readonly Found[] {
  const seen = new Set<string>();
  return found.flatMap((some) => {
    const fresh = some.filter(({ source, id }) => !seen.has(`${source}\n${id}`));
    for (const { source, id } of some) seen.add(`${source}\n${id}`);
    return fresh;
  });
}
