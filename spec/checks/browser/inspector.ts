import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { EMPTY, ReplaySubject, Subject, lastValueFrom } from 'rxjs';
import { createAgent } from 'rivulet';
import type { Agent, Chunk } from 'rivulet';
import { inspectRuns } from 'rivulet/recording';
import { scriptedModel } from 'rivulet/testing';
import { runCommand } from '../../../lib/cli/runCommand.js';
import { busyAgent } from '../../observe/recording/runs.js';
import { assertAccessible } from './accessible.js';

/** A check of the page of `npx rivulet inspect`. */
export interface InspectorCheck {
  readonly name: string;
  readonly short?: boolean;
  readonly run: (browser: Browser) => Promise<void>;
}

/** A page of the inspector, and agents whose runs it shows. */
interface Stage {
  readonly page: Page;
  /** An agent with tools, a failure of a tool, and a retry, whose run takes four seconds. */
  readonly busy: Agent;
  readonly inspect: (agent: Agent, name: string) => Agent;
  /** Saves a picture, and looks for what not everybody can use. */
  readonly picture: (name: string) => Promise<void>;
}

const pictures = join(import.meta.dirname, 'screenshots');

/** Runs the command and opens its page. A check also fails if the page prints to the console, throws, or loads anything else. */
async function onInspector(
  browser: Browser,
  options: BrowserContextOptions,
  act: (stage: Stage) => Promise<void>,
): Promise<void> {
  const interrupts = new Subject<void>();
  const printed = new ReplaySubject<string>();
  const command = runCommand(['inspect', '--port', '0'], {
    readFile: (path) => readFile(path, 'utf8'),
    writeFile: (path, text) => writeFile(path, text),
    write: (text) => printed.next(text),
    writeError: (text) => printed.next(text),
    hasColors: false,
    hasErrorColors: false,
    interrupts,
    terminations: EMPTY,
    stdin: process.stdin,
    stdout: process.stdout,
    env: {},
  });
  const address = await new Promise<string>((resolve) =>
    printed.subscribe((text) => {
      const [found] = /http:\S+#\S+/.exec(text) ?? [];
      if (found !== undefined) resolve(found);
    }),
  );
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options });
  context.setDefaultTimeout(300_000);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const problems: string[] = [];
  context.on('console', (message) => problems.push(`console: ${message.text()}`));
  context.on('weberror', (thrown) => problems.push(`uncaught: ${String(thrown.error())}`));
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (!['data:', 'blob:'].includes(url.protocol) && url.host !== new URL(address).host)
      problems.push(`loaded ${url.href}`);
  });
  const page = await context.newPage();
  const inspect = (agent: Agent, name: string) => inspectRuns(agent, address, { name });
  try {
    await page.goto(address);
    await act({
      page,
      inspect,
      busy: inspect(busyAgent(), 'support'),
      picture: async (name) => {
        await mkdir(pictures, { recursive: true });
        await page.screenshot({ path: join(pictures, `inspector-${name}.png`) });
        await assertAccessible(page, name);
      },
    });
    assert.deepEqual(problems, []);
  } finally {
    await context.close();
    interrupts.next();
    assert.equal(await command, 0);
  }
}

const holdRun = (agent: Agent) => lastValueFrom(agent.stream('How warm is it in Oslo?'));

/** Waits until the list has an entry with a text. */
const listed = (page: Page, text: string) => page.locator('.runs button').filter({ hasText: text }).first().waitFor();

const assertFits = async (page: Page) => {
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  assert.ok(overflow <= 0, `The page is ${overflow} pixels too wide.`);
};

/** The checks of the inspector. */
export const inspectorChecks: readonly InspectorCheck[] = [
  {
    name: 'The inspector draws a run while it happens, and writes and replays it afterwards',
    short: true,
    run: (browser) =>
      onInspector(browser, {}, async ({ page, busy, picture }) => {
        await page.getByText('No runs yet').waitFor();
        await picture('empty');
        const held = holdRun(busy);
        await listed(page, 'running');
        await page.locator('.drawing .lane.tool').first().waitFor();
        await picture('live');
        assert.ok(await page.getByRole('button', { name: 'Replay in virtual time' }).isDisabled());
        await held;
        await listed(page, 'stop');
        await page.locator('.facts', { hasText: 'Ended' }).filter({ hasText: 'stop' }).waitFor();
        await picture('ended');

        await page.getByRole('button', { name: 'Copy as marble spec' }).click();
        await page.getByText('Copied.').waitFor();
        const spec = await page.evaluate(() => navigator.clipboard.readText());
        assert.match(spec, /playMarbles<Chunk>/);
        await picture('spec');
        await page.getByRole('button', { name: 'Close' }).click();

        await page.getByRole('button', { name: 'Replay in virtual time' }).click();
        await page.getByText(/the same \d+ events/).waitFor();
        const transcript = page.locator('.transcript');
        await page.getByLabel('Speed').selectOption('4');
        await page.getByRole('button', { name: 'Play', exact: true }).click();
        await transcript.filter({ hasText: 'asking the station of Oslo' }).waitFor();
        await page.getByRole('button', { name: 'Pause' }).click();
        await picture('replay');
        assert.doesNotMatch(await transcript.innerText(), /cold in Oslo/);
        const before = await page.locator('.panel h2').innerText();
        await page.getByRole('button', { name: 'Step →' }).click();
        assert.notEqual(await page.locator('.panel h2').innerText(), before);
        await page.getByRole('button', { name: '← Step' }).click();
        assert.equal(await page.locator('.panel h2').innerText(), before);
        await page.getByLabel('Speed').selectOption('16');
        await page.getByRole('button', { name: 'Play', exact: true }).click();
        await transcript.filter({ hasText: 'result: stop' }).waitFor();
        await picture('replayed');
      }),
  },
  {
    name: 'The inspector keeps what is selected while other runs arrive, and can be used with the keyboard alone',
    short: true,
    run: (browser) =>
      onInspector(browser, {}, async ({ page, inspect, picture }) => {
        const output = new Subject<Chunk>();
        const quick = inspect(
          createAgent({ model: scriptedModel(['One.', 'Two.', () => output]) }) as unknown as Agent,
          'a',
        );
        await holdRun(quick);
        await listed(page, 'stop');
        await holdRun(quick);
        const third = holdRun(quick);
        await listed(page, 'running');
        assert.equal(await page.locator('.runs button').count(), 3);
        assert.equal(await page.locator('.runs li:nth-child(3) button').getAttribute('aria-current'), 'true');
        await page.keyboard.press('Tab');
        await page.keyboard.press('ArrowUp');
        await page.keyboard.press('ArrowUp');
        assert.equal(await page.locator('.runs li:nth-child(1) button').getAttribute('aria-current'), 'true');
        output.next({ type: 'text', text: 'Three' });
        output.next({ type: 'finish', reason: 'stop' });
        output.complete();
        await third;
        await page.locator('.drawing:not([aria-busy]) .facts').filter({ hasText: 'stop' }).waitFor();
        assert.match(await page.evaluate(() => document.activeElement?.textContent ?? ''), /Oslo/);
        for (let presses = 0; (await page.evaluate(() => document.activeElement?.className)) !== 'chart'; presses++) {
          assert.ok(presses < 15, 'Tab does not reach the drawing.');
          await page.keyboard.press('Tab');
        }
        await page.keyboard.press('End');
        await page.locator('.panel h2').filter({ hasText: 'end' }).waitFor();
        await picture('keyboard');
      }),
  },
  ...(['light', 'dark'] as const).map((colorScheme): InspectorCheck => ({
    name: `The inspector fits a narrow screen (${colorScheme})`,
    run: (browser) =>
      onInspector(browser, { viewport: { width: 360, height: 740 }, colorScheme }, async ({ page, busy, picture }) => {
        await holdRun(busy);
        await listed(page, 'stop');
        await page.locator('.drawing .lane.tool').first().waitFor();
        await picture(`narrow-${colorScheme}`);
        await assertFits(page);
        await page.getByRole('button', { name: 'Replay in virtual time' }).click();
        await page.getByRole('button', { name: 'Step →' }).click();
        await picture(`narrow-replay-${colorScheme}`);
        await assertFits(page);
        await page.setViewportSize({ width: 1200, height: 800 });
        await picture(`wide-${colorScheme}`);
      }),
  })),
];
