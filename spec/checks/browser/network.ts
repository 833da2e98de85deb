import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import type { Check } from './checks.js';
import { chatOn } from './stage.js';
import type { Stage } from './stage.js';

/** Each answer has its number and all of its words, so that a missing or doubled one shows. */
const answerTo = (prompt: string) =>
  Array.from({ length: 60 }, (_, index) => `${prompt.replace(/\W/g, '')}.${index + 1}`).join(' ');

/** What the network does for a while. */
const troubles: readonly ((proxy: Stage['proxy']) => Promise<unknown>)[] = [
  async (proxy) => {
    proxy.freeze();
    await sleep(200 + Math.random() * 1500);
    proxy.thaw();
  },
  async (proxy) => {
    proxy.cut();
    await sleep(Math.random() * 300);
  },
  async (proxy) => {
    proxy.delay(300);
    await sleep(500 + Math.random() * 1000);
    proxy.delay(0);
  },
  () => sleep(Math.random() * 700),
];

/** Plays a bad network until the signal is aborted. */
async function trouble(proxy: Stage['proxy'], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) await troubles[Math.floor(Math.random() * troubles.length)]?.(proxy);
}

/** Sends a prompt, and stops every third answer while the network fails. Returns what the page has to show. */
async function ask(page: Page, prompt: string, stops: boolean): Promise<string> {
  const chat = chatOn(page);
  await chat.send(prompt);
  await chat.shows(prompt);
  if (!stops) {
    // The page asks again when it has given up: `Connect again`, or by itself.
    await chat.log.filter({ hasText: answerTo(prompt) }).waitFor({ timeout: 60_000 });
    await chat.idle();
    return answerTo(prompt);
  }
  await sleep(Math.random() * 1500);
  const isRunning = await chat.stop.isVisible();
  const before = Date.now();
  if (isRunning) await chat.stop.click();
  await chat.stop.waitFor({ state: 'hidden', timeout: 3000 });
  assert.ok(Date.now() - before < 3000, 'Stop took longer than it may.');
  return isRunning ? 'You stopped' : answerTo(prompt);
}

const check = (name: string, milliseconds: number, short: boolean): Check => ({
  name,
  short,
  prepare: () => ({
    script: ({ history }) => {
      const prompt = history.findLast(({ role }) => role === 'user')?.parts[0];
      const text = prompt?.type === 'text' ? answerTo(prompt.text) : '';
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
      const network = trouble(proxy, end.signal);
      const began = Date.now();
      const expected: string[] = [];
      try {
        for (let count = 1; Date.now() - began < milliseconds; count += 1)
          expected.push(await ask(page, `Question ${count}`, count % 3 === 0));
      } finally {
        end.abort();
        await network;
        proxy.thaw();
        proxy.delay(0);
      }
      const text = await chat.text();
      for (const answer of expected) assert.ok(text.includes(answer), `"${answer.slice(0, 40)}" is missing.`);
      // The other device ends with the same: each answer once, and what was stopped is stopped.
      const last = `Question ${expected.length}`;
      for (let tries = 0; tries < 40 && !(await chatOn(device).text()).includes(last); tries += 1) {
        await device.evaluate(() => window.dispatchEvent(new Event('focus'))); // it looks for newer versions
        await sleep(1000); // the first device tries to write again after 10 s
      }
      await chatOn(device).idle();
      const other = await chatOn(device).text();
      for (const answer of expected) {
        const count = (all: string) => all.split(answer).length;
        assert.equal(count(other), count(text), `"${answer.slice(0, 40)}" differs on the other device.`);
      }
      await device.context().close();
    },
  }),
});

/** Two devices, and a network that freezes, cuts and delays at random. */
export const networkChecks: readonly Check[] = [
  check('The page survives a network that freezes, cuts and delays', 12_000, true),
  check('The page survives ten minutes of a network that freezes, cuts and delays', 600_000, false),
];
