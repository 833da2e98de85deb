import assert from 'node:assert/strict';
import { ReplaySubject } from 'rxjs';
import type { Chunk } from 'rivulet';
import type { Page } from 'playwright-core';
import type { Check } from './checks.js';
import { chatOn } from './stage.js';

/** The accessible name of the focused element. */
const focusedName = (page: Page) =>
  page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? '');

/** What only examples/page does. */
export const pageChecks: readonly Check[] = [
  {
    name: 'The page can be used with the keyboard alone, and keeps the focus',
    prepare: () => ({
      script: ['Answer one.', 'Answer two.'],
      async act({ chat, page }) {
        const tabTo = async (name: string) => {
          for (let presses = 0; (await focusedName(page)) !== name; presses++) {
            assert.ok(presses < 20, `Tab does not reach "${name}".`);
            await page.keyboard.press('Tab');
          }
        };
        await page.keyboard.type('Question'); // the prompt has the focus from the start
        await page.keyboard.press('Enter');
        await chat.shows('Answer one.');
        await chat.idle();
        await tabTo('Regenerate');
        await page.keyboard.press('Enter');
        await chat.shows('Answer two.');
        await chat.idle();
        await tabTo('Previous version');
        await page.keyboard.press('Enter');
        await chat.shows('Answer one.');
        assert.equal(await focusedName(page), 'Previous version');
        await tabTo('Next version');
        await page.keyboard.press('Enter');
        await chat.shows('Answer two.');
        await tabTo('New chat');
        await page.keyboard.press('Enter');
        await page.getByText('Ask something').waitFor();
        assert.equal(await focusedName(page), 'Your message');
        await page.keyboard.press('Shift+Tab');
        await page.keyboard.press('Shift+Tab');
        assert.equal(await focusedName(page), 'How warm is it in Atlantis?');
      },
    }),
  },
  {
    name: 'The page tells a screen reader what happens, and reads an answer when it is complete',
    prepare: () => {
      const output = new ReplaySubject<Chunk>();
      return {
        script: () => output,
        async act({ chat, page }) {
          const status = page.getByRole('status');
          assert.equal(await chat.log.getAttribute('aria-live'), 'polite');
          await chat.send('Question');
          await status.filter({ hasText: 'Waiting for the model' }).waitFor();
          output.next({ type: 'text', text: 'Half' });
          await status.filter({ hasText: 'The model is writing' }).waitFor();
          const answer = page.getByRole('article');
          assert.equal(await answer.getAttribute('aria-busy'), 'true');
          output.next({ type: 'finish', reason: 'stop' });
          output.complete();
          await chat.idle();
          assert.equal(await answer.getAttribute('aria-busy'), 'false');
        },
      };
    },
  },
  {
    name: 'The page queues a prompt that is sent during an answer',
    prepare: () => {
      const output = new ReplaySubject<Chunk>();
      return {
        script: [output, 'The second answer.'],
        async act({ chat, page, provider }) {
          await chat.send('One');
          output.next({ type: 'text', text: 'The first answer.' });
          await chat.shows('The first answer.');
          await chat.send('Two');
          await page.getByText('Next: Two').waitFor();
          assert.equal(provider.requests.length, 1);
          output.next({ type: 'finish', reason: 'stop' });
          output.complete();
          await chat.shows('The second answer.');
          await chat.idle();
          assert.equal(await page.getByText('Next: Two').count(), 0);
        },
      };
    },
  },
  {
    name: 'The page begins a new chat, and the answer of the other one goes on',
    prepare: () => {
      const output = new ReplaySubject<Chunk>();
      return {
        script: () => output,
        async act({ chat, openTab, page }) {
          await chat.send('Go on');
          output.next({ type: 'text', text: 'Half' });
          await chat.shows('Half');
          const second = await openTab();
          await chatOn(second).shows('Half');
          await page.bringToFront();
          await page.getByRole('button', { name: 'New chat' }).click();
          await page.getByText('Ask something').waitFor();
          output.next({ type: 'text', text: ' and whole.' });
          output.next({ type: 'finish', reason: 'stop' });
          output.complete();
          await chatOn(second).shows('Half and whole.');
          await page.getByRole('button', { name: 'Chats' }).click();
          await page.getByRole('button', { name: 'Go on', exact: true }).click();
          await chat.shows('Half and whole.');
        },
      };
    },
  },
];
