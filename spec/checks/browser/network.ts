import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import type { Check } from './checks.js';
import { chatOn } from './stage.js';
import type { Stage } from './stage.js';

/** Each answer has its number and all of its words, so that a missing or doubled one shows. */
const answerTo = (prompt: string) =>
  Array.from({ length: 60 }, (_, index) => `${prompt.replace(/\W/g, '')}.${index + 1}`).join(' ');

/** Returns numbers from 0 to 1, always the same ones for a seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    const mixed = Math.imul(state ^ (state >>> 15), state | 1);
    const more = mixed ^ (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61));
    return ((more ^ (more >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Holds all bytes for a while. */
async function freeze(proxy: Stage['proxy'], milliseconds: number): Promise<void> {
  proxy.freeze();
  await sleep(milliseconds);
  proxy.thaw();
}

/** What the network does for a while. */
const troubles: readonly ((proxy: Stage['proxy'], random: () => number) => Promise<unknown>)[] = [
  (proxy, random) => freeze(proxy, 200 + random() * 1500),
  async (proxy, random) => {
    proxy.cut();
    await sleep(random() * 300);
  },
  async (proxy, random) => {
    proxy.delay(300);
    await sleep(500 + random() * 1000);
    proxy.delay(0);
  },
  (_, random) => sleep(random() * 700),
];

/** Plays a bad network until the signal is aborted. Once in a while it is silent for longer than two heartbeats. */
async function trouble(proxy: Stage['proxy'], random: () => number, isLong: boolean, signal: AbortSignal) {
  while (!signal.aborted) {
    if (isLong && random() < 0.01) await freeze(proxy, 35_000);
    else await troubles[Math.floor(random() * troubles.length)]?.(proxy, random);
  }
}

/** What the page says of an answer that was stopped. */
const STOPPED = 'You stopped';

/** Sends a prompt, and stops every third answer while the network fails. Returns what the page has to show. */
async function ask(page: Page, prompt: string, stopsAfter: number | undefined): Promise<string> {
  const chat = chatOn(page);
  await chat.send(prompt);
  await chat.shows(prompt);
  if (stopsAfter === undefined) {
    // The page asks again when it has given up: `Connect again`, or by itself.
    await chat.log.filter({ hasText: answerTo(prompt) }).waitFor({ timeout: 120_000 });
    await chat.idle();
    return answerTo(prompt);
  }
  await sleep(stopsAfter);
  const isRunning = await chat.stop.isVisible();
  const before = Date.now();
  if (isRunning) await chat.stop.click();
  await chat.stop.waitFor({ state: 'hidden', timeout: 3000 });
  assert.ok(Date.now() - before < 3000, 'Stop took longer than it may.');
  return isRunning ? STOPPED : answerTo(prompt);
}

/** How often a text contains another one. */
const countOf = (part: string, text: string): number => text.split(part).length - 1;

const check = (name: string, seed: number, milliseconds: number, short: boolean): Check => {
  /** The prompts that the model has received. */
  const asked: string[] = [];
  return {
    name,
    short,
    prepare: () => ({
      script: ({ history }) => {
        // Before the prompt, the message may have one whose answer was stopped.
        const prompt = history.findLast(({ role }) => role === 'user')?.parts.at(-1);
        const text = prompt?.type === 'text' ? answerTo(prompt.text) : '';
        asked.push(text);
        return (text.match(/\S+\s*/g) ?? []).flatMap((word) => [word, { delay: 25 }]);
      },
      accepted: /net::ERR_|Failed to load resource|ConnectionError|StreamInterruptedError|HttpError/,
      async act({ browser, chat, page, proxy }) {
        const first = 'Question 0';
        await chat.send(first);
        await chat.shows(answerTo(first));
        await chat.idle();
        const device = await (await browser.newContext({ viewport: { width: 900, height: 800 } })).newPage();
        await device.goto(proxy.url);
        const list = device.getByRole('button', { name: 'Chats', exact: true });
        if (await list.isVisible()) await list.click();
        await device.getByRole('button', { name: first, exact: true }).click();
        await chatOn(device).shows(answerTo(first));

        const end = new AbortController();
        const random = randomFrom(seed);
        const network = trouble(proxy, randomFrom(seed), !short, end.signal);
        const began = Date.now();
        const expected: string[] = [];
        try {
          for (let count = 1; Date.now() - began < milliseconds; count += 1)
            expected.push(await ask(page, `Question ${count}`, count % 3 === 0 ? random() * 1500 : undefined));
        } finally {
          end.abort();
          await network;
          proxy.thaw();
          proxy.delay(0);
        }
        const text = await chat.text();
        for (const answer of expected) assert.ok(text.includes(answer), `"${answer.slice(0, 40)}" is missing.`);
        // Stop wins, and the model is asked each question once.
        assert.equal(countOf(STOPPED, text), expected.filter((answer) => answer === STOPPED).length);
        assert.deepEqual(asked, [...new Set(asked)]);
        // The other device ends with the same: each answer once, and what was stopped is stopped.
        const last = `Question ${expected.length}`;
        for (let tries = 0; tries < 40 && !(await chatOn(device).text()).includes(last); tries += 1) {
          await device.evaluate(() => window.dispatchEvent(new Event('focus'))); // it looks for newer versions
          await sleep(1000); // the first device tries to write again after 10 s
        }
        await chatOn(device).idle();
        const other = await chatOn(device).text();
        for (const answer of expected)
          assert.equal(countOf(answer, other), countOf(answer, text), `"${answer.slice(0, 40)}" differs elsewhere.`);
        await device.context().close();
      },
    }),
  };
};

/** Two devices, and a network that freezes, cuts and delays at random: as long as that, for each seed. */
export const networkChecks = (seed: number, seconds: number): readonly Check[] => [
  check('The page survives a network that freezes, cuts and delays', seed, 12_000, true),
  check(`The page survives a bad network for ${seconds} seconds (seed ${seed})`, seed, seconds * 1000, false),
];
