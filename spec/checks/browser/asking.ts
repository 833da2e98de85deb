import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { freePort } from '../../support/freePort.js';
import { startPostgres } from '../../support/postgresServer.js';
import { assertAccessible } from './accessible.js';
import { visitor } from './register.js';
import { chatOn, savePicture } from './stage.js';

const script = join(import.meta.dirname, 'askingInstance.ts');

/** A service as a process with PostgreSQL, which can be killed, and the steps that its tool has done. */
async function startService() {
  const database = await startPostgres();
  const port = await freePort();
  const steps: (readonly [name: string, key: string])[] = [];
  let child: ChildProcess;
  const start = async () => {
    child = fork(script, [String(port), database.url], { execArgv: ['--import', 'tsx'] });
    child.on('message', (message) => Array.isArray(message) && steps.push(message as unknown as [string, string]));
    await new Promise<void>((resolve, reject) => {
      child.on('message', (message) => message === 'ready' && resolve());
      child.once('close', () => reject(new Error('The service has ended.')));
    });
  };
  const kill = async () => {
    const ended = once(child, 'close');
    child.kill('SIGKILL');
    await ended;
  };
  await start();
  const close = async () => {
    await kill();
    database.remove();
  };
  return { url: `http://127.0.0.1:${port}/`, steps, start, kill, close };
}

/** Fills in the six fields of `registerTool`. */
export async function fillIn(
  form: Locator,
  { name, people, entrance, day }: ReturnType<typeof visitor>,
): Promise<void> {
  await form.getByLabel('Name').fill(name);
  await form.getByLabel('Number of people').fill(String(people));
  await form.getByLabel('Entrance').selectOption(entrance);
  await form.getByRole('group', { name: 'Needs' }).getByLabel('Lunch').check();
  await form.getByLabel('Day').fill(day);
  await form.getByLabel('Photo').setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('Hi') });
}

/** Opens the page as another device of the user. */
async function openDevice(browser: Browser, url: string) {
  const context = await browser.newContext({ viewport: { width: 900, height: 800 } });
  context.setDefaultTimeout(30_000);
  const problems: string[] = [];
  context.on('weberror', (thrown) => problems.push(String(thrown.error())));
  const page = await context.newPage();
  await page.goto(url);
  await chatOn(page).prompt.waitFor();
  return { page, chat: chatOn(page), problems, close: () => context.close() };
}

/** A page looks for what other devices have done when a person comes back to it. */
const look = (page: Page) =>
  page.evaluate(() => {
    window.dispatchEvent(new Event('focus'));
    document.dispatchEvent(new Event('visibilitychange'));
  });

/** The answer that a page shows at the question. */
const given = (page: Page) => page.locator('app-tool-call .given').innerText();

/**
 * Checks that a question is answered on a second device, after the process that asked it was killed: nothing that was
 * done before is done again, and the first device learns the answer. Then two devices answer the same question at once.
 */
export async function checkAsking(browser: Browser, buildPage: () => unknown): Promise<void> {
  buildPage();
  const service = await startService();
  const pages = () => browser.contexts().flatMap((context) => context.pages());
  try {
    const first = await openDevice(browser, service.url);
    await first.chat.send('Register a visitor');
    const form = first.page.locator('app-tool-call app-question');
    await form.getByRole('button', { name: 'Send answer' }).waitFor();
    await form.getByLabel('Name').fill('Nobody'); // typed, and never sent
    await service.kill();
    await service.start();

    const second = await openDevice(browser, service.url);
    await second.page.getByText('One thing waits for you').click();
    const listed = second.page.locator('app-waiting app-question');
    await fillIn(listed, visitor('Ann'));
    await assertAccessible(second.page, 'the list of what waits');
    await savePicture('asking-list', second.page);
    await listed.getByRole('button', { name: 'Send answer' }).click();
    await listed.waitFor({ state: 'detached' });
    await second.page.getByRole('navigation').getByRole('button', { name: 'Register a visitor', exact: true }).click();
    await second.chat.shows('Registered: Ann.');
    await second.chat.idle();
    await look(first.page);
    await first.chat.shows('Registered: Ann.');
    await first.chat.idle();
    await savePicture('asking-first', first.page);
    for (const { page } of [first, second])
      assert.match(await given(page), /Ann[^]*3[^]*South[^]*Lunch[^]*2026-12-24[^]*SGk=/);
    assert.deepEqual(
      service.steps.map(([name]) => name),
      ['reserve', 'badge'],
    );
    assert.equal(new Set(service.steps.map(([, key]) => key)).size, 2);

    await first.chat.send('Register another visitor');
    await form.waitFor();
    await look(second.page);
    const other = second.page.locator('app-tool-call app-question');
    await other.waitFor();
    await fillIn(form, visitor('Bob'));
    await fillIn(other, visitor('Cid'));
    await Promise.all([form, other].map((each) => each.getByRole('button', { name: 'Send answer' }).click()));
    for (const { chat } of [first, second]) {
      await chat.shows(/Registered: (Bob|Cid)\./);
      await chat.idle();
    }
    const texts = await Promise.all([first, second].map(({ chat }) => chat.text()));
    const counted = texts.map((text) => /Registered: (Bob|Cid)\./.exec(text)?.[1]);
    assert.equal(counted[0], counted[1], 'The devices show the same answer.');
    const late = counted[0] === 'Bob' ? second : first;
    const early = late === first ? second : first;
    const sentence = 'Another device has answered before this one.';
    await late.chat.shows(sentence);
    await savePicture('asking-late', late.page);
    await assertAccessible(late.page, 'the answer of another device');
    assert.ok(!(await early.chat.text()).includes(sentence));
    for (const { page } of [first, second]) assert.equal(await page.getByRole('alert').count(), 0);
    assert.deepEqual(
      service.steps.map(([name]) => name),
      ['reserve', 'badge', 'reserve', 'badge'],
    );
    for (const { problems, close } of [first, second]) {
      assert.deepEqual(problems, []);
      await close();
    }
  } catch (error) {
    await Promise.all(pages().map((page, index) => savePicture(`asking-failed-${index + 1}`, page)));
    throw error;
  } finally {
    await service.close();
  }
}
