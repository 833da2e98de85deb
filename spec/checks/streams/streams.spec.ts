import { it } from '@jest/globals';
import { checkStreams } from './streams.js';

it('random well-formed streams of ten providers, mixed and cut, are read without a mistake', async () => {
  await checkStreams(200);
});
