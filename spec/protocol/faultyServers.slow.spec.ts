import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

describe('a faulty server', () => {
  it('a faulty server ends a stream with an error, and never the process', async () => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--import', 'tsx', 'spec/support/faultyServers.ts'],
      { timeout: 60_000 },
    );
    const { outcomes, uncaught } = JSON.parse(stdout) as { outcomes: Record<string, unknown>; uncaught: unknown };
    expect(uncaught).toEqual([]);
    expect(outcomes).toEqual({
      'six content encodings': ['connection', 'connection'],
      'an unfinished gzip body': ['stream_interrupted', 'provider'],
      'a gzip body that is not gzip': ['http', 'http'],
      'a reset before the response': ['connection', 'connection'],
      'a reset during the response': ['stream_interrupted', 'provider'],
      'a redirect': ['http', 'connection'], // the AI SDK follows it,
    });
  });
});
