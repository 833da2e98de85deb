import { describe, it } from '@jest/globals';
import { decodeGoogle } from '../../../lib/providers/google/decode.js';
import { recordings } from '../chatCompletions/reading.js';
import { expectQuirk, expectRecorded, quirksOf, wholeAnswer } from '../wholeAnswer.js';

describe('google: recorded streams', () => {
  it.each([...recordings('spec/recordings/google'), ...recordings('../shared/recordings/google')])(
    '$name comes out whole',
    (recording) => {
      expectRecorded(recording, wholeAnswer(decodeGoogle, recording.frames));
    },
  );

  const quirks = quirksOf('google');
  if (quirks.length > 0) it.each(quirks)('$id: $title', (quirk) => expectQuirk(quirk, decodeGoogle));
});
