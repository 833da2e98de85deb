import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { createAgent, openaiChat } from 'rivulet';
import type { Agent, Tool } from 'rivulet';
import { serveModel } from 'rivulet/testing/server';
import type { LoopbackServer, ServedTurn, ServeOptions } from 'rivulet/testing/server';
import type { Script } from 'rivulet/testing';
import type { Check } from './checks.js';
import { openProxy } from './proxy.js';
import type { Proxy } from './proxy.js';

/** An example that shows a conversation in a browser. */
export interface Example {
  readonly name: string;
  /** Serves the page, and the agent at the URL that the page uses. */
  readonly serve: (agent: Agent) => Promise<{ readonly url: string; readonly close: () => Promise<void> }>;
  /** Checks of this example only. Default: none. */
  readonly checks?: readonly Check[];
}

/** What a check may vary. */
export interface Settings {
  /** The model's output. */
  readonly script: Script<ServedTurn>;
  /** Default: none. */
  readonly tools?: readonly Tool[];
  /** How the provider behaves. */
  readonly provider?: ServeOptions;
  readonly context?: BrowserContextOptions;
  /** Messages of the console that the check provokes. Default: none is accepted. */
  readonly accepted?: RegExp;
}

/** A page of the example in a browser, its service and its provider. */
export interface Stage {
  readonly browser: Browser;
  readonly context: BrowserContext;
  readonly page: Page;
  readonly chat: Chat;
  readonly provider: LoopbackServer;
  readonly proxy: Proxy;
  /** Opens another tab of the same user. */
  readonly openTab: () => Promise<Page>;
  /** Saves a picture of the page, to look at. */
  readonly picture: (name: string, page?: Page) => Promise<void>;
}

/** What a person finds on the page, by its accessible names. */
export interface Chat {
  readonly prompt: Locator;
  readonly log: Locator;
  readonly stop: Locator;
  readonly send: (text: string) => Promise<void>;
  /** Waits until the conversation contains a text. White space counts as one space. */
  readonly shows: (text: string | RegExp) => Promise<void>;
  /** Waits until no run goes on. */
  readonly idle: () => Promise<void>;
  /** The text of the conversation, white space as one space. */
  readonly text: () => Promise<string>;
}

/** Finds the conversation on a page. */
export function chatOn(page: Page): Chat {
  const prompt = page.getByRole('textbox', { name: 'Your message', exact: true });
  const log = page.getByRole('log');
  const stop = page.getByRole('button', { name: 'Stop', exact: true });
  return {
    prompt,
    log,
    stop,
    async send(text) {
      await prompt.fill(text);
      await prompt.press('Enter');
    },
    shows: (text) => log.filter({ hasText: text }).waitFor(),
    idle: () => stop.waitFor({ state: 'hidden' }),
    text: async () => (await log.innerText()).replace(/\s+/g, ' '),
  };
}

/** The provider's key. It must not reach the browser. */
const secret = 'sk-the-key-of-the-service-0123456789';
const pictures = join(import.meta.dirname, 'screenshots');

/** Saves a picture of a page, to look at. */
export async function savePicture(name: string, page: Page): Promise<void> {
  await mkdir(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `${name}.png`) });
}

/**
 * Opens a stage, runs a function on it, and closes it. Every check also fails if the page prints to the console or
 * throws, or if the provider's key passes between the page and the service.
 */
export async function onStage(
  browser: Browser,
  example: Example,
  settings: Settings,
  act: (stage: Stage) => Promise<void>,
): Promise<void> {
  const provider = await serveModel(settings.script, { apiKey: secret, ...settings.provider });
  const model = openaiChat('gpt-6.1-terra', { apiKey: secret, baseUrl: provider.url, retry: false });
  const agent = createAgent({ model, tools: settings.tools ?? [] });
  const service = await example.serve(agent);
  const proxy = await openProxy(service.url);
  const context = await browser.newContext({ viewport: { width: 900, height: 800 }, ...settings.context });
  context.setDefaultTimeout(300_000);
  const problems: string[] = [];
  context.on('console', (message) => {
    const text = message.text();
    if (!settings.accepted?.test(text)) problems.push(`console: ${text}`);
  });
  context.on('weberror', (thrown) => problems.push(`uncaught: ${String(thrown.error())}`));
  const openTab = async () => {
    const page = await context.newPage();
    await page.goto(proxy.url);
    await chatOn(page).prompt.waitFor();
    return page;
  };
  try {
    const page = await openTab();
    const picture = (name: string, of = page) => savePicture(`${example.name}-${name}`, of);
    const stage = { browser, context, page, chat: chatOn(page), provider, proxy, openTab, picture };
    try {
      await act(stage);
    } catch (error) {
      await picture('failed').catch(() => undefined); // the page may be closed
      throw error;
    }
    assert.deepEqual(problems, []);
    assert.ok(!proxy.traffic().includes(secret), "The provider's key reached the browser.");
  } finally {
    await context.close();
    await proxy.close();
    await service.close();
    await provider.close();
  }
}
