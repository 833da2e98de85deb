import { describe, expect, it } from '@jest/globals';
import { checkHistories, wires } from '../support/randomHistories.js';

describe('any history that a run can produce', () => {
  it.each(Object.keys(wires))('%s accepts it: a sample of 40', async (wire) => {
    await expect(checkHistories(wire, 40)).resolves.toBeUndefined();
  });
});
