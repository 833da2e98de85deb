import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { serveModel } from '../../lib/testing/server/index.js';
import type { LoopbackServer } from '../../lib/testing/server/index.js';

const project = fileURLToPath(new URL('../..', import.meta.url));
const patience = 60_000;
const words = Array.from({ length: 300 }, (_, index) => `\u001b[31mred\u202e ${index}\n`);
const answer = words.join('').replaceAll('\u001b[31m', '').replaceAll('\u202e', '');

describe('rivulet chat without a terminal', () => {
  let server: LoopbackServer;
  beforeAll(async () => void (server = await serveModel(() => words)));
  afterAll(() => server.close());

  /** Runs a line of a shell, where `$r` is the command. `input` is what it reads; undefined: its input stays open. */
  function run(line: string, input?: string): Promise<{ code: number | null; out: string; errors: string }> {
    const command = `${process.execPath} --import tsx lib/cli/main.ts chat --model openai-chat:m --base-url ${server.url}`;
    const child = spawn('bash', ['-c', line], {
      cwd: project,
      env: { PATH: process.env['PATH'] ?? '', HOME: '/nowhere', TERM: 'xterm', r: command },
    });
    let [out, errors] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
    if (input !== undefined) child.stdin.end(input);
    return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, errors })));
  }

  const first = answer.split('\n').slice(0, 2).join('\n');
  const none = 'Pass a prompt, or write it to the input. Without one, a chat needs a terminal.\n';
  it.each<readonly [line: string, input: string | undefined, out: string, errors: string]>([
    ['$r Hi | cat; echo ${PIPESTATUS[0]}', '', `${answer}0\n`, ''],
    ['$r | cat; echo ${PIPESTATUS[0]}', 'Hi', `${answer}0\n`, ''],
    ['$r < /dev/null | cat; echo ${PIPESTATUS[0]}', '', '2\n', none],
    ['$r Hi <&- | cat; echo ${PIPESTATUS[0]}', '', `${answer}0\n`, ''],
    [
      '$r Hi | cat; echo ${PIPESTATUS[0]}',
      undefined,
      `${answer}0\n`,
      expect.stringContaining('only the prompt') as never,
    ],
    ['$r Hi | head -2; echo ${PIPESTATUS[0]}', '', `${first}\n0\n`, ''],
    ['$r --json Hi | head -c 8; echo " ${PIPESTATUS[0]}"', '', '{"type": 0\n', ''],
    ['$r Hi >&-; echo $?', '', '0\n', ''],
    ['$r Hi 2>&- | cat; echo ${PIPESTATUS[0]}', '', `${answer}0\n`, ''],
    ['$r Hi 2> >(true) | cat; echo ${PIPESTATUS[0]}', '', `${answer}0\n`, ''],
    ...(existsSync('/dev/full')
      ? ([
          ['$r Hi > /dev/full; echo $?', '', '1\n', ''],
          ['$r Hi 2> /dev/full | cat; echo ${PIPESTATUS[0]}', '', `${answer}0\n`, ''],
        ] as const)
      : []),
  ])(
    '%s, with the input %j',
    async (line, input, out, errors) => expect(await run(line, input)).toEqual({ code: 0, out, errors }),
    patience,
  );
});
