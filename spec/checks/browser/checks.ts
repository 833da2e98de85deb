import assert from 'node:assert/strict';
import { NEVER, ReplaySubject, Subject, concat, concatMap, finalize, from, interval, of, take } from 'rxjs';
import { progress, tool } from 'rivulet';
import type { Chunk } from 'rivulet';
import { toolCall } from 'rivulet/testing';
import type { Step } from 'rivulet/testing';
import type { ServedTurn } from 'rivulet/testing/server';
import type { Browser, Page } from 'playwright-core';
import * as z from 'zod';
import { note } from './register.js';
import { chatOn } from './stage.js';
import type { Settings, Stage } from './stage.js';

/** A check of an example in a browser. It fails by throwing. */
export interface Check {
  /** A sentence whose subject is the page. */
  readonly name: string;
  /** Whether `--short` includes it. */
  readonly short?: boolean;
  /** Returns what the check needs, and what it does. Called once for each run of the check. */
  readonly prepare: () => Settings & { readonly act: (stage: Stage) => Promise<void> };
}

/** `w1 w2 w3 ...`: a missing or doubled word shows. */
const words = (count: number) => Array.from({ length: count }, (_, index) => `w${index + 1}`).join(' ');
const counting = (count: number, delay: number): Step[] =>
  (words(count).match(/\S+\s*/g) ?? []).flatMap((word): Step[] => [word, { delay }]);
const text = (value: string): Chunk => ({ type: 'text', text: value });
const finish: Chunk = { type: 'finish', reason: 'stop', usage: { input: 10, output: 20 } };
/** Chrome prints each request that fails. */
const connectionErrors = /net::ERR_|Failed to load resource/;

/** Asserts that a text is in the conversation once. */
async function assertOnce({ chat }: Stage, expected: string): Promise<void> {
  const found = (await chat.text()).split(expected).length - 1;
  assert.equal(found, 1, `"${expected.slice(0, 60)}" is there ${found} times.`);
}

/** A model that asks to write a note, and then says what became of it. */
const noting = ({ history }: ServedTurn, note = 'Buy milk') => {
  const result = history.at(-1)?.parts.find((part) => part.type === 'toolResult');
  if (!result) return [toolCall('write_note', { text: note })];
  return result.error === undefined ? 'It was written.' : `It was not written: ${result.error}`;
};

/**
 * The longest CPU time of a task of the page, in milliseconds. (A PerformanceObserver measures the time that has passed,
 * which includes what other processes took.)
 */
async function longestTask(browser: Browser, page: Page, act: () => Promise<unknown>): Promise<number> {
  interface Task {
    readonly name: string;
    /** Microseconds of CPU time of the thread. */
    readonly tdur?: number;
  }
  await browser.startTracing(page, { categories: ['disabled-by-default-devtools.timeline'] });
  await act();
  await page.evaluate(nextTask); // an answer of the page may arrive before its task has ended, and only ended tasks are traced
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { readonly traceEvents: Task[] };
  const times = traceEvents.flatMap(({ name, tdur }) => (name === 'RunTask' && tdur !== undefined ? [tdur] : []));
  assert.ok(times.length > 0, 'The trace has no tasks.');
  return Math.max(...times) / 1000;
}

/** Waits in the page until the current task has ended and another one has begun. */
const nextTask = () =>
  new Promise<void>((resolve) => {
    setTimeout(resolve);
  });

/** Fixed work in one task of a page: about 50 ms on a machine of 2026, the length of a task that is felt. */
const fixedWork = () => {
  let value = 1;
  for (let index = 0; index < 15_000_000; index++) value = Math.imul(value ^ index, 0x9e3779b1) + (value >>> 7);
  return value;
};

/** The checks of every example with a conversation. */
export const checks: readonly Check[] = [
  {
    name: 'The page shows text while it streams',
    short: true,
    prepare: () => {
      const output = new ReplaySubject<Chunk>();
      return {
        script: () => output,
        async act({ chat, page, picture }) {
          await chat.send('Hello');
          await chat.shows('Hello');
          await picture('sending');
          output.next({ type: 'thinking', text: 'A greeting.' });
          await page.getByText('Thinking', { exact: true }).waitFor();
          output.next(text('Good '));
          await chat.shows('Good');
          assert.ok(await chat.stop.isVisible());
          await picture('streaming');
          output.next(text('morning.'));
          output.next(finish);
          output.complete();
          await chat.shows('Good morning.');
          await chat.idle();
        },
      };
    },
  },
  {
    name: 'The page sends no request after the end of a run',
    short: true,
    prepare: () => ({
      script: ['One answer.'],
      async act({ chat, page, proxy, provider }) {
        await chat.send('Hello');
        await chat.shows('One answer.');
        await chat.idle();
        await page.waitForLoadState('networkidle');
        assert.equal(provider.requests.length, 1);
        assert.deepEqual(
          proxy.requests().filter((request) => /^(POST|DELETE) /.test(request)), // others are for the list of chats
          ['POST /api/chat'],
        );
      },
    }),
  },
  {
    name: 'The page stops a tool at the server',
    short: true,
    prepare: () => {
      const stopped = new Subject<void>();
      const done = new Promise<void>((resolve) => stopped.subscribe(() => resolve()));
      const slow = tool({
        name: 'slow',
        description: 'Takes long.',
        parameters: z.object({ what: z.string() }),
        execute: () => concat(of(progress('the first half')), NEVER).pipe(finalize(() => stopped.next())),
      });
      return {
        script: [[toolCall('slow', { what: 'a look-up' })]],
        tools: [slow],
        async act({ chat, picture, provider }) {
          await chat.send('Use the tool');
          await chat.shows('the first half');
          await picture('tool');
          await chat.stop.click();
          await chat.idle();
          await done; // the server has unsubscribed the tool
          await chat.shows('You stopped');
          await picture('stopped');
          assert.equal(provider.requests.length, 1);
        },
      };
    },
  },
  {
    name: 'The page cancels one tool at the server, and the answer goes on',
    short: true,
    prepare: () => {
      const cancelled = new Subject<void>();
      const done = new Promise<void>((resolve) => cancelled.subscribe(() => resolve()));
      const slow = tool({
        name: 'slow',
        description: 'Takes long.',
        parameters: z.object({}),
        execute: () => concat(of(progress('the first half')), NEVER).pipe(finalize(() => cancelled.next())),
      });
      return {
        script: [[toolCall('slow', {})], 'I answer without it.'],
        tools: [slow],
        async act({ chat, page, picture, provider }) {
          await chat.send('Use the tool');
          await chat.shows('the first half');
          await picture('cancel');
          await page.getByRole('button', { name: 'Cancel slow' }).click();
          await done; // the server has unsubscribed the tool
          await chat.shows('I answer without it.');
          await chat.idle();
          assert.equal(provider.requests.length, 2);
          assert.equal(await page.getByRole('button', { name: 'Cancel slow' }).count(), 0);
        },
      };
    },
  },
  {
    name: 'The page stops an answer with Escape, and the provider sees the connection close',
    prepare: () => ({
      script: () => concat(of(text('Half')), NEVER),
      async act({ chat, page, provider }) {
        const closed = new Promise((resolve) =>
          provider.events.subscribe(({ type }) => (type === 'closed' ? resolve(type) : undefined)),
        );
        await chat.send('Go');
        await chat.shows('Half');
        await page.keyboard.press('Escape');
        await closed;
        await chat.idle();
        await chat.shows('Half');
      },
    }),
  },
  {
    name: 'The page continues after a reload, without a lost or doubled word',
    short: true,
    prepare: () => ({
      script: [counting(300, 5)],
      async act(stage) {
        const { chat, page, provider } = stage;
        await chat.send('Count');
        await chat.shows('w100');
        await page.reload();
        await chat.shows('w300');
        await chat.idle();
        await assertOnce(stage, words(300));
        await page.reload();
        await chat.shows('w300');
        await assertOnce(stage, words(300));
        assert.equal(provider.requests.length, 1);
      },
    }),
  },
  {
    name: 'The page shows the same in two tabs',
    short: true,
    prepare: () => ({
      script: [counting(200, 5), 'The second answer.'],
      async act(stage) {
        const { chat, openTab, provider, page } = stage;
        await chat.send('Count');
        await chat.shows('w20');
        const second = await openTab();
        const other = { ...stage, page: second, chat: chatOn(second) };
        await other.chat.shows(words(200));
        await chat.shows(words(200));
        await assertOnce(other, words(200));
        await chat.idle();
        await other.chat.idle();
        await page.bringToFront();
        await chat.send('And now');
        await other.chat.shows('The second answer.');
        await chat.idle();
        await other.chat.idle();
        assert.equal(await other.chat.text(), await chat.text());
        assert.equal(provider.requests.length, 2);
      },
    }),
  },
  {
    name: 'The page follows what another tab does: a decision, and a stop',
    prepare: () => ({
      script: (turn) => (turn.turn < 3 ? noting(turn) : concat(of(text('Half')), NEVER)),
      tools: [note],
      async act({ chat, openTab, page }) {
        await chat.send('Write a note');
        const second = await openTab();
        const other = chatOn(second);
        await second.getByRole('button', { name: 'Approve' }).click();
        await chat.shows('It was written.');
        await page.bringToFront();
        await chat.send('Go on');
        await chat.shows('Half');
        await second.bringToFront();
        await other.shows('Half');
        await other.stop.click();
        await other.shows('You stopped');
        await page.bringToFront();
        await chat.shows('You stopped');
        await chat.idle();
        assert.equal(await other.text(), await chat.text());
      },
    }),
  },
  {
    name: 'The page comes back by itself when its connection is cut',
    short: true,
    prepare: () => ({
      script: [counting(300, 5)],
      accepted: connectionErrors,
      async act(stage) {
        const { chat, proxy, provider } = stage;
        await chat.send('Count');
        await chat.shows('w50');
        proxy.cut();
        await chat.shows('w300');
        await chat.idle();
        await assertOnce(stage, words(300));
        assert.equal(provider.requests.length, 1);
        assert.ok(proxy.requests().filter((request) => request.includes('/api/')).length > 1, 'Nothing was cut.');
      },
    }),
  },
  {
    name: 'The page asks before a tool runs, and shows its result',
    short: true,
    prepare: () => ({
      script: noting,
      tools: [note],
      async act({ chat, page, picture }) {
        await chat.send('Write a note');
        const approve = page.getByRole('button', { name: 'Approve' });
        await approve.waitFor();
        await picture('approval');
        await approve.press('Enter');
        await chat.shows('It was written.');
        await chat.shows('Buy milk is noted.');
        await chat.idle();
      },
    }),
  },
  {
    name: 'The page tells the model that the user denied a call, whose invisible characters it shows',
    prepare: () => ({
      script: (turn) => noting(turn, 'Buy milk\u{e0041}'),
      tools: [note],
      async act({ chat, page, provider }) {
        await chat.send('Write a note');
        const hidden = page.getByText(String.raw`Buy milk\u{e0041}`).first();
        await hidden.waitFor(); // a user who sees less than the tool receives cannot decide
        await page.getByRole('button', { name: 'Deny' }).click();
        await chat.shows('It was not written');
        await chat.idle();
        assert.equal(provider.requests.length, 2);
      },
    }),
  },
  {
    name: 'The page asks again after a reload',
    prepare: () => ({
      script: noting,
      tools: [note],
      async act({ chat, page }) {
        await chat.send('Write a note');
        await page.getByRole('button', { name: 'Approve' }).waitFor();
        await page.reload();
        await page.getByRole('button', { name: 'Approve' }).click();
        await chat.shows('It was written.');
      },
    }),
  },
  {
    name: 'The page shows a failure, and tries again',
    short: true,
    prepare: () => ({
      script: ['The second attempt.'],
      provider: { failFirst: { status: 500 } },
      async act({ chat, page, picture, provider }) {
        await chat.send('Hello');
        await page.getByRole('alert').waitFor();
        await picture('failed');
        await page.getByRole('button', { name: 'Try again' }).click();
        await chat.shows('The second attempt.');
        await chat.idle();
        assert.equal(await page.getByRole('alert').count(), 0);
        assert.equal(provider.requests.length, 2);
      },
    }),
  },
  {
    name: 'The page regenerates an answer and edits a prompt, and keeps the versions',
    prepare: () => ({
      script: ['Answer one.', 'Answer two.', 'Answer three.'],
      async act({ chat, page, picture, provider }) {
        await chat.send('Question');
        await chat.shows('Answer one.');
        await page.getByRole('button', { name: 'Regenerate' }).click();
        await chat.shows('Answer two.');
        await chat.idle();
        await chat.shows('2 / 2');
        await page.getByRole('button', { name: 'Edit' }).focus();
        await page.keyboard.press('Enter');
        const editor = page.getByRole('textbox', { name: 'Edit your message' });
        await editor.fill('Another question');
        await picture('edit');
        await editor.press('Enter');
        await chat.shows('Answer three.');
        await chat.idle();
        await chat.shows('3 / 3');
        await page.getByRole('button', { name: 'Previous version' }).click();
        await chat.shows('Answer two.');
        assert.ok(!(await chat.text()).includes('Answer three.'));
        await picture('versions');
        assert.equal(provider.requests.length, 3);
      },
    }),
  },
  {
    name: 'The page stays responsive at 2,000 tokens a second',
    short: true,
    prepare: () => {
      const token = (index: number) => (index % 100 === 99 ? `t${index}.\n\n` : `t${index} `);
      const burst = (at: number) => Array.from({ length: 20 }, (_, index) => text(token(at * 20 + index)));
      return {
        script: () =>
          concat(
            interval(10).pipe(
              take(200),
              concatMap((at) => from(burst(at))),
            ),
            of(finish),
          ),
        async act({ browser, chat, page, picture }) {
          const fixed = await longestTask(browser, page, () => page.evaluate(fixedWork));
          const longest = await longestTask(browser, page, async () => {
            await chat.send('Flood');
            await chat.shows('t1000 ');
            await chat.prompt.fill('typed while it streams');
            await chat.shows('t3999.');
            await chat.idle();
          });
          assert.equal(await chat.prompt.inputValue(), 'typed while it streams');
          await picture('long');
          assert.ok(longest < fixed, `A task takes ${longest} ms, fixed work ${fixed} ms.`);
        },
      };
    },
  },
  ...(['light', 'dark'] as const).map((colorScheme): Check => ({
    name: `The page fits a narrow screen (${colorScheme})`,
    prepare: () => ({
      script: noting,
      tools: [note],
      context: { viewport: { width: 340, height: 700 }, colorScheme },
      async act({ chat, page, picture }) {
        await picture(`narrow-empty-${colorScheme}`);
        await chat.send(`A long word: ${'x'.repeat(200)}`);
        await page.getByRole('button', { name: 'Approve' }).waitFor();
        await picture(`narrow-${colorScheme}`);
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        assert.ok(overflow <= 0, `The page is ${overflow} pixels too wide.`);
      },
    }),
  })),
  {
    name: 'The page lists the chats of the user, and another device opens, continues, renames and deletes them',
    short: true,
    prepare: () => ({
      script: ['Answer one.', 'Answer two.', 'Answer three.'],
      async act({ browser, chat, page, picture, proxy }) {
        const openList = async (of: Page) => {
          const button = of.getByRole('button', { name: 'Chats', exact: true });
          if (await button.isVisible()) await button.click(); // a wide page may show the list always
        };
        const entry = (of: Page, name: string) => of.getByRole('button', { name, exact: true });
        const focus = (of: Page) => of.evaluate(() => window.dispatchEvent(new Event('focus')));
        await chat.send('The first question');
        await chat.shows('Answer one.');
        await chat.idle();

        const context = await browser.newContext({ viewport: { width: 390, height: 740 } });
        const device = await context.newPage();
        const other = chatOn(device);
        device.on('dialog', (dialog) => void dialog.accept('Renamed'));
        await device.goto(proxy.url);
        await openList(device);
        await entry(device, 'The first question').waitFor();
        await picture('chats-narrow', device);
        await entry(device, 'The first question').click();
        await other.shows('Answer one.');
        await other.send('The second question');
        await other.shows('Answer two.');
        await other.idle();

        await focus(page);
        await chat.shows('Answer two.');
        await chat.send('The third question');
        await chat.shows('Answer three.');
        await chat.idle();
        await openList(page);
        await picture('chats');

        await focus(device);
        await other.shows('Answer three.');
        await openList(device);
        await device.getByRole('button', { name: 'Rename The first question' }).click();
        await entry(device, 'Renamed').waitFor();
        await device.getByRole('button', { name: 'Delete Renamed' }).click();
        await other.log.filter({ hasText: 'Answer one.' }).waitFor({ state: 'detached' });
        await focus(page);
        await entry(page, 'The first question').waitFor({ state: 'detached' });
        await context.close();
      },
    }),
  },
];
