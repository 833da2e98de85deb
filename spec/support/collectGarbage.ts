import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Collects all garbage now: what is measured after it does not pay for what was created before it. */
export const collectGarbage = runInNewContext('gc') as () => void;
