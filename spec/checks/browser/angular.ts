import assert from 'node:assert/strict';
import { ReplaySubject } from 'rxjs';
import { tool } from 'rivulet';
import type { Chunk } from 'rivulet';
import { toolCall } from 'rivulet/testing';
import type { Step } from 'rivulet/testing';
import * as z from 'zod';
import { nestedTool, removes } from '../../support/nestedAgents.js';
import type { Check } from './checks.js';

const localTime = tool({ name: 'local_time', description: "The user's time.", parameters: z.object({}) });
const remove = tool({
  name: 'remove',
  description: 'Removes a file.',
  parameters: z.object({ path: z.string() }),
  needsApproval: true,
  execute: ({ path }) => `removed ${path}`,
});
const chooseColour = tool({
  name: 'choose_colour',
  description: 'Lets the user choose a colour.',
  parameters: z.object({ colours: z.array(z.string()) }),
});

const markdown = `# A heading

A paragraph with **bold** text and \`code\`.

| a | b |
|---|---|
| 1 | 2 |

1. one

10. ten

\`\`\`html
<p>an example</p>
\`\`\`

<img src=x onerror="console.error('executed')"> <script>console.error('executed')</script>

![a picture](https://example.org/picture.png?secret) [a link](https://example.org) [a trap](javascript:console.error('executed'))
`;

const growing = `## A **bold** heading

A paragraph with **bold text**, \`code\` and [a link](https://example.org/a-long-address) in it.

| name | value |
|------|------:|
| one | **1** |
| two | 2 |

- an item with *emphasis*
- another one

\`\`\`ts
const a = 1;
\`\`\`

`;

/** The text in pieces of two characters, so that each construct is seen while it is not complete. */
const inPieces = (text: string): Step[] =>
  (text.match(/[^]{1,2}/g) ?? []).flatMap((piece): Step[] => [piece, { delay: 2 }]);

/** What only examples/angular-chat does. */
export const angularChecks: readonly Check[] = [
  {
    name: 'The page shows the agents behind a tool, and approves a call of the innermost one',
    short: true,
    prepare: () => ({
      tools: [nestedTool([removes])],
      script: [[toolCall('ask', { prompt: 'Remove it.' }, 'a')], 'All done.'],
      async act({ chat, page, picture }) {
        await chat.send('Remove the file');
        const groups = page.getByRole('group', { name: 'The agent behind ask' });
        await page.getByRole('button', { name: 'Approve' }).waitFor();
        assert.equal(await groups.count(), 2);
        await chat.shows('I ask.');
        await picture('nested-agents');
        await page.getByRole('button', { name: 'Approve' }).click();
        await chat.shows('All done.');
        await chat.idle();
        assert.match((await groups.nth(1).textContent()) ?? '', /removed \/a/);
      },
    }),
  },
  {
    name: 'The page asks about one call at a time: a double click decides one of two, whose line breaks it shows',
    short: true,
    prepare: () => ({
      tools: [remove],
      script: [[toolCall('remove', { path: 'a\nb' }, 'a'), toolCall('remove', { path: 'c\nd' }, 'b')], 'All done.'],
      async act({ chat, page }) {
        await chat.send('Remove both');
        const approve = page.getByRole('button', { name: 'Approve', exact: true });
        await approve.last().waitFor();
        assert.match(await page.locator('dialog[open] dd').last().innerText(), /^(a\nb|c\nd)$/);
        await approve.last().dblclick();
        await page.locator('dialog').nth(1).waitFor({ state: 'detached' });
        await page.getByRole('button', { name: 'Decide' }).click({ timeout: 5000 }); // the other call still waits
        await page.getByRole('button', { name: 'Deny', exact: true }).click();
        await chat.shows('All done.');
        await chat.idle();
      },
    }),
  },
  {
    name: 'The page shows Markdown, and nothing of the model becomes HTML',
    short: true,
    prepare: () => ({
      script: [inPieces(markdown), markdown],
      async act({ chat, page, picture }) {
        await chat.send('One piece after the other');
        await chat.idle();
        await chat.send('All at once');
        await chat.shows('All at once');
        await chat.idle();
        const [streamed, complete] = await page.locator('app-markdown').all();
        assert.ok(streamed && complete);
        assert.equal(await streamed.innerHTML(), await complete.innerHTML());
        assert.equal(await complete.locator('h1, table, ol, pre').count(), 4);
        assert.equal(await complete.locator('ol li').count(), 2);
        assert.equal(await complete.locator('img, script').count(), 0);
        const links = await complete
          .locator('a')
          .evaluateAll((found) => found.map((link) => link.getAttribute('href')));
        assert.deepEqual(links, ['https://example.org/picture.png?secret', 'https://example.org']);
        await picture('markdown');
      },
    }),
  },
  {
    name: 'The page shows each block of Markdown as what it will be, while it streams',
    short: true,
    prepare: () => ({
      script: [inPieces(`${growing}Done.`)],
      async act({ chat, page, picture }) {
        await page.evaluate(() => {
          const seen: Record<string, string[]> = {};
          Object.assign(globalThis, { seen });
          new MutationObserver(() => {
            document.querySelectorAll('app-markdown > div').forEach(({ children, textContent }, index) => {
              const shown = [...children].map(({ tagName }) => tagName).join();
              const kinds = (seen[index] ??= []);
              if (shown !== '' && kinds.at(-1) !== shown) kinds.push(shown);
              if (/\*\*|\]\(/.test(textContent ?? '')) kinds.push(`the marks ${textContent}`);
            });
          }).observe(document.body, { childList: true, subtree: true, characterData: true });
        });
        await chat.send('Stream it');
        await chat.shows('const a = 1');
        await picture('growing');
        await chat.shows('Done.');
        await chat.idle();
        const seen = await page.evaluate(() => (globalThis as unknown as { seen: Record<string, string[]> }).seen);
        assert.deepEqual(Object.values(seen), [['H2'], ['P'], ['TABLE'], ['UL'], ['PRE'], ['P']]);
      },
    }),
  },
  {
    name: 'The page leaves the focus where it was after a decision, and announces each answer once',
    short: true,
    prepare: () => ({
      script: [
        [toolCall('remove', { path: '/a' }, 'a')],
        'It is removed.',
        [toolCall('remove', { path: '/b' }, 'b')],
        'It stays.',
        [toolCall('remove', { path: '/c' }, 'c')],
        'It is removed, too.',
      ],
      tools: [remove],
      async act({ chat, page }) {
        await page.evaluate(() => {
          const said: string[] = [];
          Object.assign(globalThis, { said });
          const status = document.querySelector('[role=status]');
          if (status)
            new MutationObserver(() => {
              const text = status.textContent?.trim() ?? '';
              if (text !== '' && said.at(-1) !== text) said.push(text);
            }).observe(status, { childList: true, subtree: true, characterData: true });
        });
        const hasFocus = (selector: string) =>
          page.waitForFunction((at) => document.activeElement?.matches(at), selector);
        for (const [prompt, button, answer] of [
          ['Remove a', 'Approve', 'It is removed.'],
          ['Remove b', 'Deny', 'It stays.'],
        ] as const) {
          await chat.send(prompt);
          await page.getByRole('button', { name: button, exact: true }).click();
          await chat.shows(answer);
          await hasFocus('.composer textarea');
        }
        await chat.send('Remove c');
        await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
        await page.keyboard.press('Escape');
        await page.getByRole('button', { name: 'Approve', exact: true }).waitFor({ state: 'hidden' });
        await page.getByRole('button', { name: 'Decide' }).press('Enter');
        await page.getByRole('button', { name: 'Approve', exact: true }).click();
        await chat.shows('It is removed, too.');
        await hasFocus('.log'); // the button is gone
        await chat.idle();
        const said = await page.evaluate(() => (globalThis as unknown as { said: string[] }).said);
        assert.deepEqual(said, ['It is removed.', 'It stays.', 'It is removed, too.']);
        await page.reload();
        await chat.shows('It is removed, too.');
        assert.equal(await page.getByRole('status').innerText(), '');
      },
    }),
  },
  {
    name: 'The page executes a tool of its own',
    short: true,
    prepare: () => ({
      script: [[toolCall('local_time')], 'That is your time.'],
      tools: [localTime],
      context: { timezoneId: 'Asia/Tokyo' },
      async act({ chat, provider }) {
        await chat.send('What time is it here?');
        await chat.shows('That is your time.');
        await chat.idle();
        assert.match(JSON.stringify(provider.requests[1]?.body), /Asia\/Tokyo/);
      },
    }),
  },
  {
    name: 'The page asks the user for the result of a call',
    prepare: () => ({
      script: [[toolCall('choose_colour', { colours: ['teal', 'chocolate'] })], 'A good choice.'],
      tools: [chooseColour],
      async act({ chat, page, picture, provider }) {
        await chat.send('Let me choose a colour');
        await page.getByRole('button', { name: 'chocolate' }).waitFor();
        await picture('choice');
        await page.getByRole('button', { name: 'chocolate' }).click();
        await chat.shows('A good choice.');
        assert.match(JSON.stringify(provider.requests[1]?.body), /chocolate/);
      },
    }),
  },
  {
    name: 'The page keeps several conversations, and an answer goes on while another one is shown',
    short: true,
    prepare: () => {
      const output = new ReplaySubject<Chunk>();
      return {
        script: [() => output, 'The answer of the second conversation.'],
        accepted: /status of 409/, // the write of a chat that is left may be cut off: the next one is merged
        async act({ chat, page, picture, provider }) {
          await chat.send('The first conversation');
          output.next({ type: 'text', text: 'It begins' });
          await chat.shows('It begins');
          await page.getByRole('button', { name: 'New chat' }).click();
          await chat.send('The second conversation');
          await chat.shows('The answer of the second conversation.');
          await picture('list');
          output.next({ type: 'text', text: ', and it goes on.' });
          await page.getByRole('button', { name: 'The first conversation', exact: true }).click();
          await chat.shows('It begins, and it goes on.');
          output.next({ type: 'finish', reason: 'stop' });
          output.complete();
          await chat.idle();
          await page.getByRole('button', { name: 'Delete The first conversation' }).click();
          await page.getByText('What would you like to know?').waitFor();
          await page.getByRole('button', { name: 'Restore “The first conversation”' }).click();
          await chat.shows('It begins, and it goes on.');
          await page.reload();
          await chat.shows('It begins, and it goes on.');
          await page.getByRole('button', { name: 'The second conversation', exact: true }).click();
          await chat.shows('The answer of the second conversation.');
          assert.equal(provider.requests.length, 2);
        },
      };
    },
  },
  {
    name: 'The page queues a message, and announces the answer to screen readers when it is complete',
    prepare: () => {
      const output = new ReplaySubject<Chunk>();
      return {
        script: [() => output, 'The second answer.'],
        async act({ chat, page }) {
          await chat.send('First');
          output.next({ type: 'text', text: 'The first' });
          await chat.shows('The first');
          await chat.send('Second');
          await page.getByText('Queued').waitFor();
          assert.ok(!(await page.getByRole('status').innerText()).includes('The first'));
          output.next({ type: 'text', text: ' answer.' });
          output.next({ type: 'finish', reason: 'stop' });
          output.complete();
          await page.getByRole('status').filter({ hasText: 'The second answer.' }).waitFor();
          assert.match(await chat.text(), /The first answer\..*The second answer\./);
        },
      };
    },
  },
  {
    name: 'The page remembers the theme',
    prepare: () => ({
      script: [],
      context: { colorScheme: 'light' },
      async act({ page }) {
        const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
        const light = await background();
        await page.getByRole('button', { name: 'Dark mode' }).click();
        const dark = await background();
        assert.notEqual(dark, light);
        await page.reload();
        await page.getByRole('button', { name: 'Light mode' }).waitFor();
        assert.equal(await background(), dark);
      },
    }),
  },
];
