import { formatUsage } from '../../../lib/observe/draw/lanes.js';
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { describe, expect, it } from '@jest/globals';
import { map, merge, mergeMap, takeUntil, timer } from 'rxjs';
import { agentTool, createAgent, priceModel, retryModel, tool } from 'rivulet';
import type { Agent } from 'rivulet';
import { drawRun, readRecording, record, recordRun } from 'rivulet/recording';
import type { RunRecording } from 'rivulet/recording';
import { inVirtualTime, scriptedModel, toolCall } from 'rivulet/testing';
import type { Script, ScriptedRequest } from 'rivulet/testing';
import { layoutRun } from '../../../lib/observe/draw/layoutRun.js';
import type { Lane } from '../../../lib/observe/draw/drawnLane.js';
import { wireOfRun } from '../../../lib/observe/draw/wire.js';
import { busyAgent, recordVirtually, weather } from '../recording/runs.js';

/** A lane as text: its name, its note, and what it shows. */
const describeLane = ({ name, note, start, end, outcome, spans, marks, ticks, children }: Lane): object => ({
  lane: [name, note, start, end, outcome],
  ...(spans.length > 0 ? { spans: spans.map(({ kind, from, to }) => [kind, from, to]) } : {}),
  ...(marks.length > 0 ? { marks: marks.map(({ kind, at, label }) => [kind, at, label]) } : {}),
  ...(ticks.length > 0 ? { ticks: ticks.map(({ kind, at, isVoid }) => [kind, at, ...(isVoid ? ['void'] : [])]) } : {}),
  ...(children.length > 0 ? { children: children.map(describeLane) } : {}),
});

const layout = ({ runs }: RunRecording) => layoutRun(runs[0]!);
const agentOf = (script: Script<ScriptedRequest>, options: object = {}) =>
  createAgent({ model: scriptedModel(script), tools: [weather], ...options }) as unknown as Agent;

describe('the lanes of a drawing', () => {
  it('a run has lanes for its turns, requests and calls, with waits, progress, results, a retraction and a retry', () => {
    const { root, facts } = layout(recordVirtually(busyAgent()).recording);
    expect(describeLane(root)).toEqual({
      lane: ['Run', '', 0, 4125, 'completed'],
      spans: [['turn', 0, 4125]],
      marks: [
        ['subscribe', 0, 'subscribed'],
        ['result', 4125, 'result: stop'],
      ],
      children: [
        {
          lane: ['Turn 1', 'toolCalls, 120 in, 30 out', 0, 1045, 'completed'],
          spans: [['turn', 0, 1045]],
          children: [
            {
              lane: ['Request 1: scripted model-1', '6 deltas, 1,092 characters/s', 0, 245, 'completed'],
              spans: [
                ['wait', 0, 180],
                ['answer', 180, 245],
              ],
              ticks: [
                ['thinking', 180],
                ['thinking', 185],
                ['text', 225],
                ['text', 237],
                ['call', 245],
                ['call', 245],
              ],
            },
            {
              lane: ['weather', 'Oslo', 245, 545, 'completed'],
              spans: [
                ['queued', 245, 245],
                ['running', 245, 545],
              ],
              marks: [
                ['progress', 345, 'asking the station of Oslo'],
                ['result', 545, '{"celsius":-3}'],
              ],
            },
            {
              lane: ['weather', 'Atlantis', 245, 1045, 'failed'],
              spans: [
                ['queued', 245, 245],
                ['running', 245, 1045],
              ],
              marks: [
                ['progress', 345, 'asking the station of Atlantis'],
                ['error', 1045, 'failed: There is no weather for Atlantis.'],
              ],
            },
          ],
        },
        {
          lane: ['Turn 2', 'stop, 200 in, 12 out', 1045, 4125, 'completed'],
          spans: [['turn', 1045, 4125]],
          children: [
            {
              lane: ['Request 2: scripted model-1', '4 deltas, 8 characters/s', 1045, 4125, 'completed'],
              spans: [
                ['wait', 1045, 1095],
                ['answer', 1095, 1125],
                ['void', 1045, 1125],
                ['retry', 1125, 1525],
                ['wait', 1525, 1615],
                ['silence', 1625, 4125],
                ['answer', 1615, 4125],
              ],
              marks: [['retract', 1125, 'retract']],
              ticks: [
                ['text', 1095, 'void'],
                ['text', 1615],
                ['text', 1625],
                ['text', 4125],
              ],
            },
          ],
        },
      ],
    });
    expect(facts.map(({ name, value }) => `${name} ${value}`)).toEqual([
      'Ended stop',
      'Duration 4.13 s',
      'Turns 2',
      'Requests 2',
      'Tokens 320 in, 42 out',
    ]);
  });

  it('a stop is a mark of the run, and ends the running call', () => {
    const { root } = layout(
      recordVirtually(busyAgent(), (agent) => agent.stream('Oslo?', { stop: timer(700) })).recording,
    );
    expect(root.marks.map(({ kind, at }) => [kind, at])).toEqual([
      ['subscribe', 0],
      ['stop', 700],
      ['result', 700],
    ]);
    expect(root.children[0]?.outcome).toBe('stopped');
    expect(root.children[0]?.children.at(-1)).toMatchObject({ name: 'weather', end: 700, outcome: 'failed' });
  });

  it('a run that was unsubscribed, and one that failed, end with a mark and close their lanes', () => {
    const left = layout(
      recordVirtually(busyAgent(), (agent) => agent.stream('Oslo?').pipe(takeUntil(timer(300)))).recording,
    );
    expect(left.root.marks.at(-1)).toEqual({ kind: 'unsubscribe', at: 300, label: 'unsubscribed' });
    expect(left.root.children[0]?.children.map(({ end }) => end)).toEqual([245, 300, 300]);
    const failed = layout(recordVirtually(agentOf([['Hello', { error: new Error('The server is busy.') }]])).recording);
    expect(failed.root.marks.at(-1)).toEqual({ kind: 'error', at: 0, label: 'The server is busy.' });
  });

  it('a call that waits for a decision shows how long it waited and how long it was queued', () => {
    const write = tool({ name: 'write', description: 'w', needsApproval: true, execute: () => 'written' });
    const { recording } = recordVirtually(
      agentOf(
        [[toolCall('weather', { city: 'Oslo' }), toolCall('weather', { city: 'Rome' }), toolCall('write')], 'Done'],
        {
          tools: [weather, write],
          approve: () => timer(2000).pipe(map(() => ({ approve: true as const }))),
        },
      ),
    );
    const spans = layout(recording).root.children[0]?.children.map((lane) =>
      lane.spans.map(({ kind, from, to }) => `${kind} ${from}-${to}`),
    );
    expect(spans?.slice(1)).toEqual([
      ['queued 0-0', 'running 0-300'],
      ['queued 0-300', 'running 300-1100'],
      ['approval 0-2000', 'running 2000-2000'],
    ]);
  });

  it('an agent that runs as a tool has the lanes of its own turns, requests and calls', () => {
    const inner = createAgent({
      model: scriptedModel([[{ delay: 50 }, 'Looking.', toolCall('weather', { city: 'Oslo' })], 'Cold.']),
      tools: [weather],
    });
    const ask = agentTool(inner, { name: 'ask', description: 'Asks.' });
    const { recording } = recordVirtually(agentOf([[toolCall('ask', { prompt: 'Oslo?' })], 'Done'], { tools: [ask] }));
    const lane = layout(recording).root.children[0]?.children[1];
    expect(lane?.name).toBe('ask');
    expect(lane?.children.map(({ name, children }) => [name, ...children.map((child) => child.name)])).toEqual([
      ['Turn 1', 'Request 1: model', 'weather'],
      ['Turn 2', 'Request 2: model'],
    ]);
    expect(lane?.end).toBe(350);
  });

  it('a retry after status 429 is drawn as a rate limit', () => {
    const limited = Object.assign(new Error('Too many requests'), {
      code: 'http',
      retryable: true,
      toJSON: () => ({ name: 'HttpError', code: 'http', status: 429, message: 'Too many requests' }),
    });
    const model = retryModel(scriptedModel([[{ error: limited }], 'Hello']), { delay: 500 });
    const { recording } = recordVirtually(createAgent({ model }));
    expect(layout(recording).root.children[0]?.children[0]?.spans[0]).toEqual({
      kind: 'rateLimit',
      from: 0,
      to: 500,
      label: 'rate limit, retry 1 in 500 ms: Too many requests',
    });
  });
});

describe('the lanes of a drawing with prices, limits and requests at the same time', () => {
  it('a run with prices shows its tokens and its cost, and those of each turn, also if it has failed', () => {
    const usage = { input: 1000, output: 100 };
    const finish = { type: 'finish', reason: 'toolCalls', usage } as const;
    const broken = { error: new Error('The server is busy.') };
    const agentWith = (...last: readonly unknown[]) =>
      createAgent({
        model: priceModel(scriptedModel([[toolCall('weather', { city: 'Oslo' }), finish], last as ['Done']]), {
          input: 3,
          output: 15,
        }),
        tools: [weather],
      }) as unknown as Agent;
    const done = layout(recordVirtually(agentWith('Done', { ...finish, reason: 'stop' })).recording);
    expect(done.root.children.map(({ note }) => note)).toEqual([
      'toolCalls, 1,000 in, 100 out, cost 0.0045',
      'stop, 1,000 in, 100 out, cost 0.0045',
    ]);
    expect(done.facts).toContainEqual({ name: 'Cost', value: '0.009' });
    const failed = layout(recordVirtually(agentWith(broken)).recording);
    expect(failed.facts.slice(-2)).toEqual([
      { name: 'Tokens', value: '1,000 in, 100 out' },
      { name: 'Cost', value: '0.0045' },
    ]);
  });

  it.each([null, 'many', [], true])('a count of tokens that is %j is drawn as unknown', (count) => {
    expect(formatUsage({ input: count as never, output: 5 })).toBe('? in, 5 out');
  });

  it('a request of a recorded model has its own deltas and its own end while another one is open', () => {
    const lines: string[] = [];
    const model = record(
      scriptedModel([
        [{ delay: 10 }, 'a', { delay: 20 }, 'b'],
        [{ delay: 20 }, 'c', { delay: 20 }, 'd'],
      ]),
      (line) => lines.push(line),
    );
    inVirtualTime(() => merge(model.stream({ messages: [] }), model.stream({ messages: [] })));
    const { root } = layout(readRecording(lines));
    expect(
      root.children[0]?.children.map(({ end, outcome, ticks }) => [end, outcome, ticks.map(({ at }) => at)]),
    ).toEqual([
      [30, 'completed', [10, 30]],
      [40, 'completed', [20, 40]],
    ]);
  });

  it('a request that a limiter held back is drawn as queued until it was sent', () => {
    const { lines } = recordVirtually(agentOf([[{ delay: 1000 }, 'Hello']]));
    const entry = {
      type: 'exchange',
      at: 600,
      after: [400],
      exchange: { method: 'POST', url: '/chat', body: null, frames: ['data: 1'] },
    };
    const recording = readRecording([...lines, JSON.stringify(entry)]);
    const [run] = recording.runs;
    const { root } = layoutRun(run!, wireOfRun(recording, run!));
    expect(root.children[0]?.children[0]?.spans.map(({ kind, from, to, label }) => [kind, from, to, label])).toEqual([
      ['queued', 0, 600, 'sent after 600 ms'],
      ['wait', 600, 1000, 'first content after 1 s'],
      ['answer', 1000, 1000, 'answered for 0 ms'],
    ]);
  });
});

describe('the frames of a drawing', () => {
  const exchange = (at: number, prompt: string, text: string) =>
    JSON.stringify({
      type: 'exchange',
      at,
      after: [10],
      exchange: { method: 'POST', url: '/chat', body: { messages: [{ content: prompt }] }, frames: [text] },
    });
  /** Two runs of one recorder, the second of which starts later. */
  const twoRuns = (delay: number): readonly string[] => {
    const lines: string[] = [];
    inVirtualTime(() => {
      const agent = recordRun(
        agentOf([
          [{ delay: 50 }, 'A'],
          [{ delay: 50 }, 'B'],
        ]),
        (line) => lines.push(line),
      );
      return merge(agent.stream('of Ann'), timer(delay).pipe(mergeMap(() => agent.stream('of Bob'))));
    });
    return lines;
  };
  const framesIn = (lines: readonly string[], run: number) => {
    const page = drawRun(readRecording(lines), { run });
    return ['for Ann', 'for Bob'].filter((text) => page.includes(text));
  };

  it('drawRun shows the frames of its run only, not those of an earlier or a later one', () => {
    const lines = [...twoRuns(500), exchange(0, 'of Ann', 'for Ann'), exchange(500, 'of Bob', 'for Bob')];
    expect([framesIn(lines, 1), framesIn(lines, 2)]).toEqual([['for Ann'], ['for Bob']]);
  });

  it('drawRun tells the frames of runs of the same time by their prompts', () => {
    const lines = [...twoRuns(5), exchange(6, 'of Bob', 'for Bob'), exchange(6, 'of Ann', 'for Ann')];
    expect([framesIn(lines, 1), framesIn(lines, 2)]).toEqual([['for Ann'], ['for Bob']]);
  });

  it('drawRun shows no frame that could be of another run', () => {
    const lines = [...twoRuns(5), exchange(6, 'of Ann and of Bob', 'for Ann'), exchange(900, 'of Ann', 'for Ann')];
    expect([framesIn(lines, 1), framesIn(lines, 2)]).toEqual([[], []]);
  });
});

describe('drawRun', () => {
  const { recording } = recordVirtually(busyAgent(), (agent) => agent.stream('<script>alert("Oslo")</script> & more'));

  it('drawRun returns a page that loads nothing, and in which no text of the run is markup', () => {
    const page = drawRun(recording);
    expect(page).not.toMatch(/(?:src|href)="(?!data:)|url\(|@import|https?:/);
    expect(page.match(/<script/g)).toHaveLength(2);
    expect(page).toContain('&lt;script&gt;alert(&quot;Oslo&quot;)&lt;/script&gt; &amp; more');
  });

  it('drawRun allows its own script and style sheet only', () => {
    const page = drawRun(recording);
    const hashOf = (element: string) => {
      const [, text = ''] = new RegExp(`<${element}>([^]*?)</${element}>`).exec(page) ?? [];
      return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
    };
    // If this fails, correct the hashes in lib/observe/draw/policy.ts.
    expect(page).toContain(`; script-src ${hashOf('script')}; style-src ${hashOf('style')};`);
    expect(page).toContain(`content="default-src 'none';`);
  });

  it.each(['requestEnd', 'end'])('drawRun writes no markup that is the outcome of a crafted %s', (type) => {
    const { lines } = recordVirtually(busyAgent());
    const crafted = lines.map((line) => {
      const entry = JSON.parse(line) as { readonly type: string };
      return JSON.stringify(entry.type === type ? { ...entry, outcome: '"><img src=x>' } : entry);
    });
    const page = drawRun(readRecording(crafted));
    expect(page.replace(/<script type[^]*/, '')).not.toContain('img src=x');
    expect(page).toContain('class="lane run open"'.replace('open', type === 'end' ? 'open' : 'completed'));
  });

  it('drawRun draws 10,000 deltas as a page of less than 2 MB, with one path for them', () => {
    const deltas = Array.from({ length: 10_000 }, (_, index) => [`word${index} `, { delay: 2 }]).flat();
    const page = drawRun(recordVirtually(agentOf([deltas])).recording);
    expect(page.length).toBeLessThan(2_000_000);
    expect(page.match(/<path/g)).toHaveLength(1);
  });

  interface Page {
    readonly window: {
      readonly document: {
        querySelector(selector: string): (object & { readonly textContent: string }) | null;
        readonly defaultView: {
          KeyboardEvent: new (type: string, options: object) => object;
          Event: new (type: string) => object;
        };
      };
      close(): void;
    };
  }
  const { JSDOM } = createRequire(import.meta.url)('jsdom') as {
    readonly JSDOM: new (html: string, options: object) => Page;
  };

  it('drawRun returns a page in which keys select events, and show their JSON and the frame before them', () => {
    const exchange = {
      method: 'POST',
      url: 'http://a/',
      body: null,
      frames: ['data: one\n\n', 'data: two\n\n'],
      end: 'whole',
    };
    const lines = [
      ...recordVirtually(busyAgent()).lines,
      JSON.stringify({ type: 'exchange', at: 0, after: [180, 225], exchange }),
    ];
    const { window } = new JSDOM(drawRun(readRecording(lines)), { runScripts: 'dangerously' });
    const { document } = window;
    const press = (key: string) => {
      const chart = document.querySelector('.chart') as unknown as { dispatchEvent(event: object): void };
      chart.dispatchEvent(new document.defaultView.KeyboardEvent('keydown', { key, bubbles: true }));
    };
    const shown = (selector: string) => document.querySelector(selector)?.textContent ?? '';
    press('ArrowRight');
    expect(shown('.panel h2')).toBe('1 of 35: request at 0 ms, Request 1: scripted model-1');
    for (let presses = 0; presses < 3; presses++) press('ArrowRight');
    expect(shown('.panel h2')).toContain('4 of 35: text at 225 ms');
    expect(JSON.parse(shown('.json'))).toEqual({ type: 'text', text: 'Let me ' });
    expect(shown('.frame')).toBe('data: two\n\n');
    press('ArrowDown');
    expect(shown('.panel h2')).toMatch(/: toolCall at 245 ms, weather$/);
    press('End');
    expect(shown('.panel h2')).toMatch(/^35 of 35: end at 4.125 s, Run$/);
    expect(document.querySelector('tbody')?.textContent).toBe('');
    const details = document.querySelector('details') as unknown as { dispatchEvent(event: object): void };
    details.dispatchEvent(new document.defaultView.Event('toggle'));
    expect(shown('tbody tr:nth-child(2)')).toBe('Turn 10 ms1.04 scompletedtoolCalls, 120 in, 30 out1.04 s');
    press('+');
    expect(shown('.ticks')).toContain('500 ms');
    window.close();
  });

  it('drawRun fails for a recording without runs', () => {
    expect(() => drawRun(readRecording('{"exchanges":[]}'))).toThrow('The recording has 0 runs, and this is run 1.');
  });
});
