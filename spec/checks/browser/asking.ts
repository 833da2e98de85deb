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
export const look = (page: Page) =>
  page.evaluate(() => {
    window.dispatchEvent(new Event('focus'));
    document.dispatchEvent(new Event('visibilitychange'));
  });

/** The answer that a page shows at the question. */
const given = (page: Page) => page.locator('app-tool-call .given').innerText();

type Service = Awaited<ReturnType<typeof startService>>;
type Device = Awaited<ReturnType<typeof openDevice>>;

const formOf = ({ page }: Device) => page.locator('app-tool-call app-question');
const send = (form: Locator) => form.getByRole('button', { name: 'Send answer' }).click();
const stepNames = ({ steps }: Service) => steps.map(([name]) => name);

/** The process that asked is killed, another device answers, and the first one learns it. No step is done twice. */
async function answerElsewhere(service: Service, first: Device, openSecond: () => Promise<Device>): Promise<Device> {
  await first.chat.send('Register a visitor');
  await formOf(first).getByRole('button', { name: 'Send answer' }).waitFor();
  await formOf(first).getByLabel('Name').fill('Nobody'); // typed, and never sent
  await service.kill();
  await service.start();

  const second = await openSecond();
  await second.page.getByText('One thing waits for you').click();
  const listed = second.page.locator('app-waiting app-question');
  await fillIn(listed, visitor('Ann'));
  await assertAccessible(second.page, 'the list of what waits');
  await savePicture('asking-list', second.page);
  await send(listed);
  await listed.waitFor({ state: 'detached' });
  await second.page.getByRole('navigation').getByRole('button', { name: 'Register a visitor', exact: true }).click();
  for (const { page, chat } of [second, first]) {
    await look(page); // the first device asks at intervals, too
    await chat.shows('Registered: Ann.');
    await chat.idle();
    assert.match(await given(page), /Ann[^]*3[^]*South[^]*Lunch[^]*2026-12-24[^]*SGk=/);
    await page.getByText('One thing waits for you').waitFor({ state: 'detached' });
  }
  await savePicture('asking-first', first.page);
  assert.deepEqual(stepNames(service), ['reserve', 'badge']);
  assert.equal(new Set(service.steps.map(([, key]) => key)).size, 2);
  return second;
}

/** Two devices answer at once: the first answer counts, and the other device says that it was late. */
async function answerAtOnce(service: Service, first: Device, second: Device): Promise<void> {
  await first.chat.send('Register another visitor');
  await formOf(first).waitFor();
  await look(second.page);
  await formOf(second).waitFor();
  await fillIn(formOf(first), visitor('Bob'));
  await fillIn(formOf(second), visitor('Cid'));
  await Promise.all([first, second].map((device) => send(formOf(device))));
  for (const { chat } of [first, second]) {
    await chat.shows(/Registered: (Bob|Cid)\./);
    await chat.idle();
  }
  const texts = await Promise.all([first, second].map(({ chat }) => chat.text()));
  const [one, two] = texts.map((text) => /Registered: (Bob|Cid)\./.exec(text)?.[1]);
  assert.equal(one, two, 'The devices show the same answer.');
  const [early, late] = one === 'Bob' ? [first, second] : [second, first];
  const sentence = 'Another device has answered before this one.';
  await late.chat.shows(sentence);
  await savePicture('asking-late', late.page);
  await assertAccessible(late.page, 'the answer of another device');
  assert.ok(!(await early.chat.text()).includes(sentence));
  for (const { page } of [first, second]) assert.equal(await page.getByRole('alert').count(), 0);
  assert.deepEqual(stepNames(service), ['reserve', 'badge', 'reserve', 'badge']);
}

/** Checks questions on two devices, with a service whose process is killed. */
export async function checkAsking(browser: Browser): Promise<void> {
  const service = await startService();
  try {
    const first = await openDevice(browser, service.url);
    const second = await answerElsewhere(service, first, () => openDevice(browser, service.url));
    await answerAtOnce(service, first, second);
    for (const { problems, close } of [first, second]) {
      assert.deepEqual(problems, []);
      await close();
    }
  } catch (error) {
    const pages = browser.contexts().flatMap((context) => context.pages());
    await Promise.all(pages.map((page, index) => savePicture(`asking-failed-${index + 1}`, page)));
    throw error;
  } finally {
    await service.close();
  }
}
