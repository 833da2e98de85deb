import { describe, expect, it } from '@jest/globals';
import { checkHistories, wires } from '../support/randomHistories.js';

describe('any history that a run can produce', () => {
  it.each(Object.keys(wires))(
    '%s accepts it: 2,000 of them',
    async (wire) => {
      await expect(checkHistories(wire, 2000)).resolves.toBeUndefined();
    },
    300_000,
  );
});
