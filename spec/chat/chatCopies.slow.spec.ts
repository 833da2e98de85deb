import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { deviceSteps, playDevices } from '../support/devices.js';

describe('chatCopies', () => {
  it('loses nothing and brings nothing back, in random orders of what a person does with two devices', async () => {
    const property = fc.asyncProperty(deviceSteps, async (steps) => expect(await playDevices(steps)).toEqual([]));
    await fc.assert(property, { numRuns: 300 });
  });
});
