import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { concat, endWith, interval, map, take, timer } from 'rxjs';
import { createAgent, progress, retryModel, tool } from 'rivulet';
import type { Agent } from 'rivulet';
import { drawRun } from 'rivulet/recording';
import { scriptedModel, toolCall } from 'rivulet/testing';
import { busyAgent, recordVirtually, weather } from '../../observe/recording/runs.js';
import { assertAccessible } from './accessible.js';
import type { InspectorCheck } from './inspector.js';

const pictures = join(import.meta.dirname, 'screenshots');

/**
 * How many times the CPU time of a page with a tenth of the events a page may take until it is drawn. In proportion, it
 * would be less than 10; squared, 100.
 */
const LARGEST_RATIO = 20;

/** A delta per event, in one lane. */
const manyDeltas = (events: number): Agent =>
  createAgent({
    model: scriptedModel([Array.from({ length: events }, (_, index) => [`word${index} `, { delay: 3 }]).flat()]),
  }) as unknown as Agent;

/** More than 10,000 events in 2,300 lanes: 575 turns with a request and two calls each. */
const manyLanes = (events: number): Agent => {
  const turns = Math.round(0.0575 * events);
  const step = tool({
    name: 'step',
    description: 'A step.',
    execute: () => concat(timer(3).pipe(map(() => progress(1))), timer(3).pipe(map(() => 1))),
  });
  const answers = Array.from({ length: turns }, () => [
    { delay: 2 },
    'I do this ',
    'and that.',
    toolCall('step'),
    toolCall('step'),
  ]);
  return createAgent({
    model: scriptedModel([...answers, 'Done']),
    tools: [step],
    maxTurns: turns + 1,
  }) as unknown as Agent;
};

/** Opens the drawing of a run as a file. A check also fails if the page prints to the console, or loads anything else. */
async function onDrawing(
  browser: Browser,
  agent: Agent,
  options: BrowserContextOptions,
  act: (page: Page, opening: number) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'rivulet-drawing-'));
  const file = join(folder, 'run.html');
  await writeFile(file, drawRun(recordVirtually(agent).recording));
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options });
  const problems: string[] = [];
  context.on('console', (message) => problems.push(`console: ${message.text()}`));
  context.on('weberror', (thrown) => problems.push(`uncaught: ${String(thrown.error())}`));
  context.on('request', (request) => {
    if (!request.url().startsWith('data:') && request.url() !== `file://${file}`)
      problems.push(`loaded ${request.url()}`);
  });
  try {
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    // CPU time of the page: the time that has passed includes what other processes took.
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    await page.goto(`file://${file}`);
    await page.evaluate(
      () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(undefined)))),
    );
    const { metrics } = await session.send('Performance.getMetrics');
    await act(page, 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Infinity));
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(overflow <= 0, `The page is ${overflow} pixels too wide.`);
    assert.deepEqual(problems, []);
  } finally {
    await context.close();
    await rm(folder, { recursive: true });
  }
}

const save = async (page: Page, name: string) => {
  await mkdir(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `drawing-${name}.png`) });
};

/** A rate limit, a silence, and a turn that is retracted after it: a line below what is void. */
const retractedAgent = (): Agent => {
  const limited = { code: 'http', retryable: true, toJSON: () => ({ code: 'http', status: 429, message: 'Wait.' }) };
  const error = Object.assign(new Error('Wait.'), limited);
  const overloaded = Object.assign(new Error('overloaded'), { retryable: true });
  const model = scriptedModel([
    [{ error }],
    ['It ', { delay: 1500 }, { error: overloaded }],
    ['It is ', { delay: 1200 }, 'cold.'],
  ]);
  return createAgent({ model: retryModel(model, { count: 5, delay: 500 }) }) as unknown as Agent;
};

/** Calls with many progress values, and one that waits for a decision and ends with the run. */
const waitingAgent = (): Agent => {
  const write = tool({
    name: 'write',
    description: 'Writes.',
    needsApproval: true,
    execute: () => timer(400).pipe(map(() => 'written')),
  });
  const step = tool({
    name: 'step',
    description: 'A step.',
    execute: () => interval(50).pipe(take(20), map(progress), endWith('done')),
  });
  const calls = [toolCall('weather', { city: 'Oslo' }), toolCall('weather', { city: 'Atlantis' }), toolCall('write')];
  return createAgent({
    model: scriptedModel([[...calls, toolCall('step')], 'Done']),
    tools: [weather, write, step],
    toolConcurrency: Infinity,
    approve: () => timer(2000).pipe(map(() => ({ approve: true as const }))),
  }) as unknown as Agent;
};

/** The labels of bars that a mark or a bar of their lane covers, and the marks that the chart cuts off. */
const hiddenThings = (page: Page) =>
  page.evaluate(() => {
    const coveredLabels = [...document.querySelectorAll('.span em')].flatMap((label) => {
      const text = document.createRange();
      text.selectNodeContents(label);
      const shown = text.getBoundingClientRect();
      const bar = label.parentElement;
      const right = Math.min(shown.right, bar?.getBoundingClientRect().right ?? 0);
      const others = label.closest('.track')?.querySelectorAll('.mark, .span:not(.answer)') ?? [];
      const covering = [...others]
        .filter((other) => other !== bar)
        .map((other) => other.getBoundingClientRect())
        .filter((other) => other.left < right && other.right > shown.left)
        .filter((other) => other.top < shown.bottom && other.bottom > shown.top);
      return shown.width > 0 && covering.length > 0 ? [`${label.textContent}`] : [];
    });
    const end = document.querySelector('.chart')?.getBoundingClientRect().right ?? 0;
    const cutMarks = [...document.querySelectorAll('.mark')].filter((mark) => mark.getBoundingClientRect().right > end);
    return [...coveredLabels, ...cutMarks.map((mark) => mark.className)];
  });

const forms: readonly (readonly [name: string, options: BrowserContextOptions])[] = [
  ['light', {}],
  ['dark', { colorScheme: 'dark' }],
  ['phone', { viewport: { width: 390, height: 844 } }],
];

/** The checks of a page of `drawRun`. */
export const drawingChecks: readonly InspectorCheck[] = [
  ...forms.map(([name, options]): InspectorCheck => ({
    name: `The drawing of a run can be read and used with the keyboard (${name})`,
    short: true,
    run: (browser) =>
      onDrawing(browser, busyAgent(), options, async (page) => {
        await save(page, name);
        await assertAccessible(page, name);
        assert.deepEqual(await hiddenThings(page), []);
        for (let presses = 0; (await page.evaluate(() => document.activeElement?.className)) !== 'chart'; presses++) {
          assert.ok(presses < 5, 'Tab does not reach the drawing.');
          await page.keyboard.press('Tab');
        }
        for (const key of ['ArrowRight', 'ArrowRight', 'ArrowDown', '+', '+', 'End']) await page.keyboard.press(key);
        assert.match(await page.locator('.panel h2').innerText(), /^35 of 35: end at 4\.125 s, Run$/);
        await page.keyboard.press('ArrowLeft');
        await save(page, `${name}-selected`);
        await assertAccessible(page, 'an event is selected');
        await page.getByText('The run as a table').click();
        await page.locator('tbody tr').filter({ hasText: 'Atlantis' }).waitFor();
        await page.locator('summary').scrollIntoViewIfNeeded();
        await save(page, `${name}-table`);
        await assertAccessible(page, 'the table');
        if (name !== 'light') return;
        const pdf = await page.pdf({ path: join(pictures, 'drawing.pdf'), format: 'A4' });
        assert.ok(pdf.length > 10_000);
      }),
  })),
  ...(
    [
      ['with a retracted turn', retractedAgent],
      ['with a decision and progress', waitingAgent],
    ] as const
  ).map(([what, create]): InspectorCheck => ({
    name: `The drawing of a run ${what} shows each label and each mark, on every width`,
    short: true,
    run: (browser) =>
      onDrawing(browser, create(), {}, async (page) => {
        for (const width of [390, 700, 1000, 1800]) {
          await page.setViewportSize({ width, height: 800 });
          assert.deepEqual(await hiddenThings(page), [], `${width} pixels`);
        }
      }),
  })),
  ...(
    [
      ['deltas in one lane', manyDeltas],
      ['events in 2,300 lanes', manyLanes],
    ] as const
  ).map(([what, create]): InspectorCheck => ({
    name: `The drawing of 10,000 ${what} opens in proportion to its events`,
    short: true,
    run: async (browser) => {
      let small = 0;
      await onDrawing(browser, create(1000), {}, async (_, opening) => void (small = opening));
      await onDrawing(browser, create(10_000), {}, async (page, opening) => {
        const times = `${Math.round(opening)} ms of CPU time, and ${Math.round(small)} ms for a tenth of them`;
        console.log(`       10,000 ${what}: ${times}`);
        assert.ok(opening < LARGEST_RATIO * small, times);
        await page.locator('.chart').focus();
        for (const key of ['ArrowRight', 'ArrowDown', 'End']) await page.keyboard.press(key);
        const title = await page.locator('.panel h2').innerText();
        const [, count = ''] = /^\d+ of (\d+): end/.exec(title) ?? [];
        assert.ok(Number(count) >= 10_000, title);
        await save(page, create === manyDeltas ? 'many-deltas' : 'many-lanes');
      });
    },
  })),
];
