import { describe, it } from '@jest/globals';
import { decodeOllama } from '../../../lib/providers/ollama/decode.js';
import { recordings } from '../chatCompletions/reading.js';
import { expectQuirk, expectRecorded, quirksOf, wholeAnswer } from '../wholeAnswer.js';

describe('ollama: recorded streams', () => {
  it.each([...recordings('spec/recordings/ollama'), ...recordings('../shared/recordings/ollama')])(
    '$name comes out whole',
    (recording) => {
      expectRecorded(recording, wholeAnswer(decodeOllama, recording.frames));
    },
  );

  const quirks = quirksOf('ollama');
  if (quirks.length > 0) it.each(quirks)('$id: $title', (quirk) => expectQuirk(quirk, decodeOllama));
});
