import assert from 'node:assert/strict';
import { map, ReplaySubject, Subject, take } from 'rxjs';
import { askTool, progress, tool } from 'rivulet';
import type { Chunk } from 'rivulet';
import { toolCall } from 'rivulet/testing';
import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import * as z from 'zod';
import { assertAccessible } from './accessible.js';
import { fillIn, look } from './asking.js';
import type { Check } from './checks.js';
import { note, registerTool, visitor } from './register.js';

const forms: readonly (readonly [name: string, options: BrowserContextOptions])[] = [
  ['light', {}],
  ['dark', { colorScheme: 'dark' }],
  ['phone', { viewport: { width: 390, height: 844 } }],
];

/** Asserts that nothing is wider than the page. */
async function assertFits(page: Page): Promise<void> {
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  assert.ok(overflow <= 0, `The page is ${overflow} pixels too wide.`);
}

/** Each state of a conversation, in light, in dark and on a phone, as axe sees it. */
export const stateChecks: readonly Check[] = forms.map(([form, context]) => ({
  name: `The page can be used by everybody in each state (${form})`,
  short: form === 'phone',
  prepare: () => {
    const output = new ReplaySubject<Chunk>();
    const steps = new Subject<number>();
    const work = tool({
      name: 'count',
      description: 'Counts.',
      execute: () =>
        steps.pipe(
          take(2),
          map((step) => (step === 1 ? progress({ percent: 50 }) : 'counted')),
        ),
    });
    return {
      context,
      tools: [work, note],
      script: [
        () => output,
        [toolCall('count')],
        'Counted.',
        [toolCall('write_note', { text: 'Buy milk' })],
        'Noted.',
        [{ error: new Error('The model is overloaded.') }],
      ],
      accepted: /Failed to load resource/,
      async act({ chat, page, picture }) {
        const check = async (state: string) => {
          await picture(`${form}-${state}`);
          await assertAccessible(page, state);
          await assertFits(page);
        };
        await check('empty');
        await chat.send('Tell me something long, and use **Markdown** where it helps.');
        output.next({ type: 'thinking', text: 'What is long?' });
        await chat.shows('Thinking');
        await check('thinking');
        output.next({
          type: 'text',
          text: '## A heading\n\nSome `code`, and [a link](https://example.org).\n\n```ts\nconst a',
        });
        await chat.shows('const a');
        await check('streaming');
        output.next({ type: 'text', text: ' = 1;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n' });
        output.next({ type: 'finish', reason: 'stop', usage: { input: 10, output: 20 } });
        output.complete();
        await chat.idle();
        await check('idle');
        await chat.send('Count');
        await page.getByText('count', { exact: true }).first().waitFor();
        steps.next(1);
        await check('tool');
        steps.next(2);
        await chat.shows('Counted.');
        await chat.idle();
        await chat.send('Note it');
        await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
        await check('approval');
        await page.getByRole('button', { name: 'Approve', exact: true }).click();
        await chat.shows('Noted.');
        await chat.idle();
        await chat.send('Fail');
        await page.getByRole('alert').waitFor();
        await check('error');
      },
    };
  },
}));

const ask = (name: string, message: string, schema: z.ZodType) =>
  askTool({ name, description: 'Asks.', execute: (_, context) => context.ask({ message, schema }) });

const long =
  'a long text that goes on and on, with 日本語 and aVeryLongWordWithoutAnySpaceThatCannotBeBrokenAnywhere '.repeat(6);

/** Questions whose form is unusual. */
const unusual = [
  ask(
    'long',
    long,
    z.object({ choice: z.enum(Array.from({ length: 60 }, (_, at) => `${at + 1}. ${long.slice(0, 80)}`)) }),
  ),
  ask(
    'many',
    'Which of them?',
    z.object({ several: z.array(z.enum(Array.from({ length: 60 }, (_, at) => `Choice ${at + 1}`))) }),
  ),
  ask(
    'rtl',
    'من أي حساب ندفع الفاتورة؟',
    z.object({
      account: z.enum(['الحساب الأول', 'الحساب الثاني']).meta({ title: 'الحساب' }),
      note: z.string().meta({ title: 'ملاحظة' }),
    }),
  ),
  ask(
    'nested',
    'Where do you live?',
    z.object({
      address: z.object({ street: z.string(), city: z.string() }),
      at: z.iso.time().meta({ title: 'When' }),
      size: z.literal([1, 2]).meta({ title: 'Size' }),
      tags: z.array(z.string()).default(['one', 'two']),
      either: z.union([z.string(), z.number()]).nullable(),
    }),
  ),
  ask('anything', 'Say anything.', z.record(z.string(), z.number())),
];

/** What a person answers to them. */
const answers: Readonly<Record<string, (form: Locator) => Promise<unknown>>> = {
  long: (form) => form.getByLabel('choice').selectOption({ index: 60 }),
  many: (form) => form.getByLabel('Choice 60').check(),
  async rtl(form) {
    await form.getByLabel('الحساب').selectOption('الحساب الثاني');
    await form.getByLabel('ملاحظة').fill('شكرا');
  },
  async nested(form) {
    await form.getByLabel('address').fill('{"street": "Karl Johan');
    await form.getByRole('button', { name: 'Send answer' }).click(); // the browser says what is wrong
    await form.getByLabel('address').fill('{"street": "Karl Johans gate", "city": "Oslo"}');
    await form.getByLabel('When').fill('10:00:00');
    await form.getByLabel('Size').selectOption('2');
  },
  anything: (form) => form.getByLabel('Your answer').fill('{"a": 1}'),
};

/** The states of a question, in the example that draws a form. */
export const questionChecks: readonly Check[] = [
  ...forms.map(([form, context]): Check => ({
    name: `The page shows a question to everybody in each state (${form})`,
    short: form === 'phone',
    prepare: () => ({
      context,
      tools: [registerTool((name) => `${name} done`)],
      script: [[toolCall('register', {}, 'a')], 'Registered.', [toolCall('register', {}, 'b')], 'Not registered.'],
      async act({ chat, page, picture, openTab }) {
        const check = async (state: string, of = page) => {
          await picture(`${form}-question-${state}`, of);
          await assertAccessible(of, state);
          await assertFits(of);
        };
        await chat.send('Register a visitor');
        const question = page.locator('app-tool-call app-question');
        const button = question.getByRole('button', { name: 'Send answer' });
        await button.waitFor();
        await check('empty');
        await fillIn(question, visitor('A'));
        await button.click();
        await question.getByText('Too small').waitFor();
        await page.waitForFunction(() => document.activeElement?.matches('[name=field-name]'));
        assert.equal(await question.getByLabel('Name').inputValue(), 'A');
        await check('problem');
        const tab = await openTab();
        const menu = tab.getByRole('button', { name: 'Chats', exact: true });
        if (await menu.isVisible()) await menu.click();
        await tab.getByText('One thing waits for you').click();
        await check('list', tab);
        await tab.close();
        await question.getByLabel('Name').fill('Ann');
        await button.click();
        await chat.shows('Registered.');
        await chat.idle();
        await check('answered');
        await chat.send('Register a visitor');
        await question.getByRole('button', { name: 'Decline' }).click();
        await chat.shows('Not registered.');
        await chat.idle();
        await check('declined');
      },
    }),
  })),
  {
    name: 'The page asks with a form that can be filled in with the keyboard alone, and announces it once',
    short: true,
    prepare: () => {
      const reserved = new ReplaySubject<string>();
      let count = 0;
      return {
        tools: [registerTool((name) => (name === 'reserve' && count++ > 0 ? reserved : `${name} done`))],
        script: [[toolCall('register', {}, 'a')], 'Registered.', [toolCall('register', {}, 'b')], 'Again.'],
        async act({ chat, page, proxy }) {
          const hasFocus = (selector: string) =>
            page.waitForFunction((at) => document.activeElement?.matches(at), selector);
          const said = () => page.evaluate(() => document.querySelector('main + [role=status]')?.textContent ?? '');
          const posts = () => proxy.requests().filter((request) => request.startsWith('POST')).length;
          await chat.prompt.focus();
          await page.keyboard.type('Register a visitor');
          await page.keyboard.press('Enter');
          await hasFocus('.log [role=group].question'); // whose name is the question
          assert.equal(await said(), '');
          const parts = ['Ann', '3', 'S', '', ' ', '12242026'];
          for (const part of parts) {
            await page.keyboard.press('Tab');
            if (part === ' ') await page.keyboard.press('Space');
            else await page.keyboard.type(part);
          }
          const name = () => page.evaluate(() => document.activeElement?.textContent ?? '');
          for (let presses = 0; (await name()).trim() !== 'Send answer'; presses += 1) {
            assert.ok(presses < 8, 'Tab does not reach the button.');
            await page.keyboard.press('Tab');
          }
          await page.keyboard.press('Enter');
          await hasFocus('.composer textarea');
          await chat.shows('Registered.');
          await chat.idle();
          const given = await page.locator('app-tool-call .given').innerText();
          assert.match(given, /Ann[^]*3[^]*South[^]*Lunch[^]*2026-12-24/);

          // Whoever types goes on typing, and hears of the question. An answer that is sent twice counts once.
          await chat.send('Register another visitor');
          await page.keyboard.type('Half a mess');
          reserved.next('reserved');
          reserved.complete();
          const form = page.locator('app-tool-call app-question');
          await form.waitFor();
          await page.keyboard.type('age');
          assert.equal(await chat.prompt.inputValue(), 'Half a message');
          assert.equal(await said(), 'Question: Who comes to visit?');
          await fillIn(form, visitor('Bob'));
          const before = posts();
          await form.getByRole('button', { name: 'Send answer' }).dblclick();
          await chat.shows('Again.');
          await chat.idle();
          assert.equal(posts(), before + 1);
          assert.notEqual(await said(), 'Question: Who comes to visit?');
        },
      };
    },
  },
  {
    name: 'The page keeps what was typed into the list of what waits when the answer is refused',
    prepare: () => ({
      tools: [registerTool((name) => `${name} done`)],
      script: [[toolCall('register', {}, 'a')], 'Registered.'],
      async act({ chat, page, openTab }) {
        await chat.send('Register a visitor');
        await page.locator('app-tool-call app-question').waitFor();
        const other = await openTab();
        await other.getByText('One thing waits for you').click();
        const listed = other.locator('app-waiting app-question');
        await fillIn(listed, visitor('A'));
        await listed.getByRole('button', { name: 'Send answer' }).click();
        const waiting = other.getByText('One thing waits for you');
        await listed.getByText('Too small').waitFor({ state: 'attached' });
        if (!(await listed.isVisible())) await waiting.click();
        assert.equal(await listed.getByLabel('Number of people').inputValue(), '3');
        assert.ok(await listed.getByLabel('Lunch').isChecked());
        await listed.getByLabel('Name').fill('Ann');
        await listed.getByRole('button', { name: 'Send answer' }).click();
        await look(page);
        await chat.shows('Registered.');
        assert.match(await page.locator('app-tool-call .given').innerText(), /Ann/);
      },
    }),
  },
  {
    name: 'The page draws a form for whatever a tool asks',
    prepare: () => ({
      tools: unusual,
      script: unusual.flatMap(({ name }) => [[toolCall(name, {}, name)], `Received ${name}.`]),
      context: { viewport: { width: 390, height: 844 } },
      async act({ chat, page, picture }) {
        for (const [name, fill] of Object.entries(answers)) {
          await chat.send(`Ask ${name}`);
          const form = page.locator('app-tool-call app-question');
          const button = form.getByRole('button', { name: 'Send answer' });
          await button.waitFor();
          await picture(`unusual-${name}`);
          await assertAccessible(page, name);
          await assertFits(page);
          await fill(form);
          await button.click();
          await chat.shows(`Received ${name}.`);
          await chat.idle();
        }
        await picture('unusual-answered');
        const text = await page.locator('app-tool-call .given').allInnerTexts();
        assert.match(
          text.join(),
          /60\. a long[^]*Choice 60[^]*الحساب الثاني[^]*Oslo[^]*10:00:00[^]*2[^]*one, two[^]*1/,
        );
      },
    }),
  },
];
