import { describe, expect, it } from '@jest/globals';
import { followingId, randomId } from '../../lib/transport/randomId.js';

describe('randomId', () => {
  it('randomId returns 32 hexadecimal digits', () => {
    expect(randomId()).toMatch(/^[0-9a-f]{32}$/);
    expect(randomId()).not.toBe(randomId());
  });
});

describe('followingId', () => {
  it.each([
    ['00112233445566778899aabbccddeeff', '00112233445566778899aabbccddef00'],
    ['00112233445566778899aabbffffffff', '00112233445566778899aabb00000000'],
    ['2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d', '2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7e'],
  ])('the id after %s is %s', (id, following) => {
    expect(followingId(id)).toBe(following);
  });
});
