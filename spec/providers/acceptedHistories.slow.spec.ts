import { describe, expect, it } from '@jest/globals';
import { checkHistories, wires } from '../support/randomHistories.js';

describe('any history that a run can produce', () => {
  it.each(Object.keys(wires))(
    '%s accepts it: 500 of them',
    async (wire) => {
      await expect(checkHistories(wire, 500)).resolves.toBeUndefined();
    },
    300_000,
  );
});
