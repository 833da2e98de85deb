import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { runCommand } from '../../../lib/cli/runCommand.js';
import { serveModel } from '../../../lib/testing/server/index.js';
import type { LoopbackServer, ServeOptions } from '../../../lib/testing/server/index.js';
import { toolCall } from '../../../lib/testing/index.js';
import type { Script } from '../../../lib/testing/index.js';
import { fakeTerminal } from '../../support/terminal.js';

/** All but those of RxJS: the server and its connections are real. */
const realTimers = ['nextTick', 'setImmediate', 'setTimeout', 'clearTimeout', 'queueMicrotask'] as const;

describe('npx rivulet chat', () => {
  let server: LoopbackServer | undefined;
  afterEach(async () => {
    await server?.close();
    server = undefined;
  });

  /** Starts the command against a server with a script. */
  async function start(
    script: Script,
    args: readonly string[],
    terminal: Parameters<typeof fakeTerminal>[0] = {},
    options: ServeOptions = {},
  ) {
    server = await serveModel(script, options);
    const env = { OPENAI_API_KEY: 'key', RIVULET_HISTORY: 'history', ...terminal.env };
    const fake = fakeTerminal({ ...terminal, env });
    const code = runCommand(['chat', '--base-url', server.url, ...args], fake.shell);
    const type = (keys: string) => void fake.stdin.write(keys);
    /** Types each line, and waits for its reply. */
    const say = async (lines: readonly (readonly [line: string, reply: string])[]) => {
      for (const [line, reply] of lines) {
        type(`${line}\r`);
        await fake.until(reply);
        await fake.until('> ');
      }
    };
    return { ...fake, code, type, say };
  }
  const asked = () =>
    server?.requests.map(({ body }) => (body as { messages: { role: string; content: string }[] }).messages) ?? [];

  describe('with a prompt', () => {
    it('npx rivulet chat writes the answer to the output, and everything else beside it', async () => {
      const script: Script = [[{ type: 'thinking', text: 'Hm.' }, 'It is ', 'cold.']];
      const { code, written } = await start(script, ['How is it?', '--system', 'Be brief.'], { isTTY: true });
      expect(await code).toBe(0);
      expect(written.output).toBe('It is cold.\n');
      expect(written.errors).toContain('Hm.');
      expect(asked()[0]?.map(({ content }) => content)).toEqual(['Be brief.', 'How is it?']);
    });

    it('npx rivulet chat reads a prompt from a pipe, after that of the command line', async () => {
      const { code, stdin, written } = await start(['Two lines.'], ['How many lines?'], { isTTY: false });
      stdin.end('one\ntwo\n');
      expect(await code).toBe(0);
      expect(written.output).toBe('Two lines.\n');
      expect(asked()[0]?.map(({ content }) => content)).toEqual(['How many lines?\n\none\ntwo\n']);
    });

    it('npx rivulet chat sends its prompt when nothing comes from an input that stays open', async () => {
      jest.useFakeTimers({ doNotFake: [...realTimers] });
      try {
        const { code, written } = await start(['Hello.'], ['Hi'], { isTTY: false });
        await jest.advanceTimersByTimeAsync(2999);
        expect(written.errors).toBe('');
        await jest.advanceTimersByTimeAsync(1);
        expect(await code).toBe(0);
        expect(written).toEqual({ output: 'Hello.\n', errors: expect.stringContaining('only the prompt is sent') });
      } finally {
        jest.useRealTimers();
      }
    });

    it('npx rivulet chat waits for the end of an input that has begun', async () => {
      jest.useFakeTimers({ doNotFake: [...realTimers] });
      try {
        const { code, stdin, written } = await start(['Hello.'], ['Hi'], { isTTY: false });
        stdin.write('one ');
        await jest.advanceTimersByTimeAsync(60_000);
        expect(asked()).toEqual([]);
        stdin.end('two');
        expect(await code).toBe(0);
        expect(asked()[0]?.map(({ content }) => content)).toEqual(['Hi\n\none two']);
        expect(written.errors).toBe('');
      } finally {
        jest.useRealTimers();
      }
    });

    it('npx rivulet chat --json writes each event as a line', async () => {
      const { code, written } = await start(['Hello.'], ['Hi', '--json']);
      expect(await code).toBe(0);
      const events = written.output
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { type: string });
      expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(['text', 'message', 'turn', 'result']));
    });

    it('npx rivulet chat returns 1 for a run that fails, and writes the reason as an error', async () => {
      const options = { failFirst: { status: 400, times: 1 } };
      const { code, written } = await start(['Never.'], ['Hi'], {}, options);
      expect(await code).toBe(1);
      expect(written.output).toBe('');
      expect(written.errors).toMatch(/^failed: .*400/);
    });

    it('npx rivulet chat returns 130 after Ctrl-C, with what was written', async () => {
      const { code, written, interrupts, until } = await start([['One, ', { delay: 60_000 }, 'two.']], ['Count.']);
      await until('One, ');
      interrupts.next();
      expect(await code).toBe(130);
      expect(written.output).toBe('One, \n');
    });

    it.each([
      [{}, [], ['/v1/chat/completions', 'gpt-6.1-terra']],
      [{ ANTHROPIC_API_KEY: 'key' }, [], ['/v1/chat/completions', 'gpt-6.1-terra']],
      [{}, ['--model', 'openai-chat:qwen3'], ['/v1/chat/completions', 'qwen3']],
      [{}, ['--model', 'openai:qwen3'], ['/v1/responses', 'qwen3']],
      [{ RIVULET_MODEL: 'openai:qwen3' }, [], ['/v1/responses', 'qwen3']],
    ])('npx rivulet chat with OPENAI_BASE_URL, %j and %j asks %j', async (env, args, expected) => {
      server = await serveModel(['Hello.']);
      const fake = fakeTerminal({ env: { OPENAI_API_KEY: 'key', OPENAI_BASE_URL: server.url, ...env } });
      expect(await runCommand(['chat', 'Hi', ...args], fake.shell)).toBe(0);
      const [{ path, body, headers } = { path: '', body: {}, headers: {} }] = server.requests;
      expect([path, (body as { model?: string }).model]).toEqual(expected);
      expect(headers).not.toHaveProperty('authorization');
    });

    it('npx rivulet chat returns 2 without a model, and lists the providers', async () => {
      const fake = fakeTerminal();
      expect(await runCommand(['chat', 'Hi'], fake.shell)).toBe(2);
      expect(fake.written.errors).toMatch(/set the key of a provider.*\n\n {2}openai .*OPENAI_API_KEY/s);
    });

    it('npx rivulet chat returns 2 for an option that does not exist, and for an empty pipe', async () => {
      const fake = fakeTerminal({ isTTY: false, env: { OPENAI_API_KEY: 'key' } });
      expect(await runCommand(['chat', '--modle', 'x'], fake.shell)).toBe(2);
      fake.stdin.end();
      expect(await runCommand(['chat'], fake.shell)).toBe(2);
      expect(fake.written.errors).toContain('Pass a prompt');
    });
  });

  describe('in a terminal', () => {
    it('npx rivulet chat keeps the conversation until /exit', async () => {
      const { code, type, until } = await start(['Oslo.', 'Norway.'], []);
      await until('> ');
      type('A city?\r');
      await until('Oslo.');
      await until('> ');
      type('Its country?\r');
      await until('Norway.');
      await until('> ');
      type('/exit\r');
      expect(await code).toBe(0);
      expect(asked()[1]?.map(({ content }) => content)).toEqual(['A city?', 'Oslo.', 'Its country?']);
    });

    it('npx rivulet chat takes a pasted block as one prompt', async () => {
      const { code, type, until } = await start(['Three lines.'], []);
      await until('> ');
      type('\u001b[200~one\ntw');
      type('o\r\nthree\u001b[20');
      type('1~');
      type('\r');
      await until('Three lines.');
      await until('> ');
      type('\u0004'); // Ctrl-D
      expect(await code).toBe(0);
      expect(asked()[0]?.map(({ content }) => content)).toEqual(['one\ntwo\nthree']);
    });

    it('npx rivulet chat clears a line with Ctrl-C, and stops an answer with it', async () => {
      const { code, type, until } = await start([['One, ', { delay: 60_000 }, 'two.'], 'Done.'], []);
      await until('> ');
      type('wrong\u0003Count.\r');
      await until('One, ');
      type('\u0003');
      await until('> ');
      type('Go on.\r');
      await until('Done.');
      await until('> ');
      type('/exit\r');
      expect(await code).toBe(0);
      expect(asked()[1]?.map(({ content }) => content)).toEqual(['Count.', 'One, ', 'Go on.']);
    });

    it.each([[[null]], [[7]], [[{ role: 'x' }]], [[{ role: 'user', parts: [{ type: 'text' }] }]]])(
      'npx rivulet chat keeps its conversation if the messages of a saved one are damaged: %j',
      async (messages) => {
        const files = { 'bad.json': JSON.stringify({ version: 1, messages }) };
        const { code, type, until, say } = await start(['Oslo.', 'Norway.'], [], { files });
        await until('> ');
        await say([
          ['A city?', 'Oslo.'],
          ['/load bad.json', 'is not a message'],
          ['Its country?', 'Norway.'],
        ]);
        type('/exit\r');
        expect(await code).toBe(0);
        expect(asked()[1]?.map(({ content }) => content)).toEqual(['A city?', 'Oslo.', 'Its country?']);
      },
    );

    it('npx rivulet chat takes 80 columns in a terminal whose size is not known', async () => {
      const line = 'a line of several words';
      const { code, type, until, written } = await start([line], [], { columns: 0 });
      await until('> ');
      type('Hi\r');
      await until('words');
      await until('> ');
      type('/exit\r');
      expect(await code).toBe(0);
      expect(written.output).toContain(line);
    });

    it('npx rivulet chat saves, forgets, loads and draws a conversation, and changes the model', async () => {
      const { code, type, until, say, files } = await start(['Oslo.', 'Norway.'], []);
      await until('> ');
      await say([
        ['/draw run.html', 'There is no run yet.'],
        ['A city?', 'Oslo.'],
        ['/save chat.json', 'chat.json'],
        ['/draw run.html', 'run.html'],
        ['/clear', 'forgotten'],
        ['/load nothing.json', 'no such file'],
        ['/load run.html', 'not a saved chat'],
        ['/load chat.json', '2 messages.'],
        ['/model', 'openai-chat:'],
        ['/model openai-chat:other', 'openai-chat:other'],
        ['/model nobody:x', 'There is no provider "nobody"'],
        ['/modl', 'There is no command /modl.'],
        ['/toString', 'There is no command /toString.'],
        ['/__proto__ x', 'There is no command /__proto__.'],
        ['Its country?', 'Norway.'],
      ]);
      type('/exit\r');
      expect(await code).toBe(0);
      expect(files.get('run.html')).toMatch(/^<!doctype html>/i);
      expect(asked()[1]?.map(({ content }) => content)).toEqual(['A city?', 'Oslo.', 'Its country?']);
      expect(server?.requests[1]?.body).toMatchObject({ model: 'other' });
    });

    const withTools = ['--tools', 'spec/support/orderTools.ts'];
    const order: Script = [[toolCall('order', {}, 'c1')], 'Done.'];

    it('npx rivulet chat asks the questions of a tool field by field, and again what does not match', async () => {
      const { code, type, until } = await start(order, withTools);
      await until('> ');
      type('Order.\r');
      const fields = [
        ['What do you want?\n', 'dish (What to eat; soup, cake): ', 'soup'],
        ['', 'count: ', '12'],
        ['', 'spicy (optional): ', ''],
        ['', 'notes (default none', ''],
        ['count: Too big', 'dish (What to eat; soup, cake): ', 'cake'],
        ['', 'count: ', '3'],
        ['', 'spicy (optional): ', 'yes'],
        ['', 'notes (default none', 'warm'],
        ['Pay?\n{"price":5}\n', 'y/N: ', 'y'],
      ] as const;
      for (const [before, prompt, line] of fields) {
        expect(await until(prompt)).toContain(before);
        type(`${line}\r`);
      }
      await until('Done.');
      await until('> ');
      type('/exit\r');
      expect(await code).toBe(0);
      const meal = { dish: 'cake', count: 3, spicy: true, notes: 'warm' };
      expect(asked()[1]?.at(-1)?.content).toBe(JSON.stringify(meal));
    });

    it.each([
      ['an empty line', '\r'],
      ['/decline', '/decline\r'],
      ['Ctrl-C', '\u0003'],
      ['Ctrl-D', '\u0004'],
    ])('npx rivulet chat declines a question with %s', async (_, keys) => {
      const { code, type, until } = await start(order, withTools);
      await until('> ');
      type('Order.\r');
      await until('dish (What');
      type(keys);
      await until('Done.');
      await until('> ');
      type('/exit\r');
      expect(await code).toBe(0);
      expect(asked()[1]?.at(-1)?.content).toContain('denied');
    });

    it.each([
      ['y', 'sent'],
      ['', 'denied'],
    ])('npx rivulet chat asks whether a call may run: "%s" is %s', async (line, result) => {
      const { code, type, until } = await start([[toolCall('send', {}, 'c1')], 'Done.'], withTools);
      await until('> ');
      type('Send it.\r');
      expect(await until('y/N: ')).toContain('Run send {}?');
      type(`${line}\r`);
      await until('Done.');
      await until('> ');
      type('/exit\r');
      expect(await code).toBe(0);
      expect(asked()[1]?.at(-1)?.content).toContain(result);
    });

    describe.each([
      ['an approval', 'send', 'Run send {}?', 'y/N: ', 'y'],
      ['a question', 'order', 'What do you want?', 'dish (What', 'soup'],
    ])('npx rivulet chat answers %s', (_, tool, question, prompt, early) => {
      it.each([
        ['a line that comes with the prompt', `Go.\r${early}\r`, '', ''],
        ['a line while the model is silent', 'Go.\r', `${early}\r`, ''],
        ['a line at the moment of the question', 'Go.\r', '', `${early}\r`],
        ['keys, and a line', 'Go.\r', early, '\r'],
      ])('not with what was typed before it: %s', async (__, first, silent, late) => {
        const { code, type, until } = await start([[toolCall(tool, {}, 'c1')], 'Done.', 'Kept.'], withTools);
        await until('> ');
        type(first);
        await until('\u001b[?2004l');
        type(silent); // before the server has read the request
        await until(question);
        type(late);
        await until(prompt);
        type('\r');
        await until('Kept.');
        await until('> ');
        type('/exit\r');
        expect(await code).toBe(0);
        expect(asked()[1]?.at(-1)?.content).toContain('denied');
        expect(asked()[2]?.at(-1)?.content).toBe(early);
      });
    });

    it('npx rivulet chat shows each character of the call that it asks for', async () => {
      const hidden = { cmd: 'rm \u202e -rf\u001b[2K \u009b2J\u200b\u{e0041}\u3164' };
      const { code, type, until } = await start([[toolCall('send', hidden, 'c1')], 'Done.'], withTools);
      await until('> ');
      type('Send it.\r');
      const shown = String.raw`send {"cmd":"rm \u202e -rf\u001b[2K \u009b2J\u200b\udb40\udc41\u3164"}`;
      const output = await until('y/N: ');
      expect(output).toContain(`Run ${shown}?`);
      expect(output).toContain(`? ${shown} waits`);
      type('\r');
      await until('> ');
      type('/exit\r');
      expect(await code).toBe(0);
    });

    it('npx rivulet chat returns 2 for a module that exports no tools', async () => {
      const { code, written } = await start([], ['--tools', 'spec/support/stores.ts']);
      expect(await code).toBe(2);
      expect(written.errors).toContain('is not a list of tools');
    });

    it.each([
      ['terminations', 143],
      ['interrupts', 0],
    ] as const)('npx rivulet chat leaves the terminal as it was if a signal ends it: %s', async (signal, expected) => {
      const { code, until, written, [signal]: signals } = await start([], []);
      await until('> ');
      signals.next();
      expect(await code).toBe(expected);
      expect(written.output).toMatch(/\[\?2004l$/);
    });

    it('npx rivulet chat shows a failed run, and continues', async () => {
      const { code, type, until } = await start(['Hello.'], [], {}, { failFirst: { status: 400, times: 1 } });
      await until('> ');
      type('Hi\r');
      await until('failed: ');
      await until('> ');
      type('Again\r');
      await until('Hello.');
      await until('> ');
      type('/exit\r');
      expect(await code).toBe(0);
    });

    it('npx rivulet chat keeps its prompts for the next session', async () => {
      const { code, type, until, files, privateFiles } = await start(['Hello.', 'Hello again.'], []);
      await until('> ');
      type('Say hello.\r');
      await until('> ');
      expect(files.get('history')).toBe('"Say hello."\n'); // a signal may end the process
      expect([...privateFiles]).toEqual(['history']);
      type('\u001b[A\r'); // the key up
      await until('Hello again.');
      await until('> ');
      type('/exit\r');
      await code;
      expect(files.get('history')).toBe('"Say hello."\n"Say hello."\n');
    });

    it('npx rivulet chat reads only texts as earlier prompts, without what controls a terminal', async () => {
      const { code, type, until, files } = await start(['Hello.'], [], {
        files: { history: '"Say\\u001b]0;x\\u0007 \\u202ehello."\n{"a":1}\n7\nno JSON\n' },
      });
      await until('> ');
      type('\u001b[A\r'); // the key up
      await until('Hello.');
      await until('> ');
      type('/exit\r');
      await code;
      expect(asked()[0]?.map(({ content }) => content)).toEqual(['Say]0;x hello.']);
      expect(files.get('history')).toBe('"Say]0;x hello."\n"Say]0;x hello."\n');
    });
  });
});
