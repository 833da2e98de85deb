import { describe, expect, it } from '@jest/globals';
import { InspectedRuns } from '../../../lib/cli/inspect/inspectedRuns.js';
import { readRecording } from '../../../lib/observe/recording/readRecording.js';
import { busyAgent, recordVirtually } from '../../observe/recording/runs.js';

const { lines } = recordVirtually(busyAgent(), undefined, { name: 'support' });
const text = lines.join('\n');

describe('InspectedRuns', () => {
  it('InspectedRuns lists a run while it happens and when it has ended', () => {
    const runs = new InspectedRuns();
    const half = lines.findIndex((line) => line.includes('"toolProgress"'));
    runs.add('a', lines.slice(0, half).join('\n'));
    expect(runs.list()).toMatchObject([
      { name: 'support', title: 'How warm is it in Oslo?', state: 'running', turns: 0, calls: 2 },
    ]);
    runs.add('a', lines.slice(half).join('\n'));
    expect(runs.list()).toMatchObject([{ state: 'stop', turns: 2, calls: 2, entries: lines.length - 1 }]);
    expect(readRecording(runs.textOf(1) ?? '')).toEqual(readRecording(text));
  });

  it('InspectedRuns keeps runs of several processes apart, whose numbers are the same', () => {
    const runs = new InspectedRuns();
    for (const [index, line] of lines.entries()) {
      runs.add('a', line);
      if (index < 3) runs.add('b', line);
    }
    expect(runs.list().map(({ id, state }) => [id, state])).toEqual([
      [2, 'running'],
      [1, 'stop'],
    ]);
  });

  it('InspectedRuns ignores lines that are not entries, and entries of runs that began before', () => {
    const runs = new InspectedRuns();
    runs.add('a', `{"type":"stop","run":7,"at":1}\nnot JSON\n[]\n${lines.slice(0, 2).join('\n')}\n{"half`);
    expect(runs.list()).toMatchObject([{ entries: 1 }]);
    expect(runs.textOf(2)).toBeUndefined();
  });

  it('InspectedRuns ignores an entry that is not valid, and keeps what follows it', () => {
    const runs = new InspectedRuns();
    const bad = ['{"type":"deltas","run":1,"at":1}', '{"type":"event","run":1,"at":1}', '{"type":"exchange"}'];
    runs.add('a', [...lines.slice(0, 2), ...bad, ...lines.slice(2)].join('\n'));
    expect(runs.list()).toMatchObject([{ state: 'stop', turns: 2 }]);
    runs.add('b', '{"type":"start","run":1,"at":0,"kind":"run","input":[null]}');
    expect(runs.list().length).toBeLessThan(3);
  });

  it('InspectedRuns says of a run of a file that it was cut off', () => {
    const runs = new InspectedRuns();
    runs.add('run.jsonl', lines.slice(0, 9).join('\n'), true);
    expect(runs.list()).toMatchObject([{ state: 'cut off' }]);
  });

  it('InspectedRuns gives a run its own exchanges, and removes those without a run', () => {
    const exchange = (at: number, text: string) =>
      JSON.stringify({
        type: 'exchange',
        at,
        after: [1],
        exchange: { method: 'POST', url: '/chat', body: null, frames: [text] },
      });
    const runs = new InspectedRuns({ runs: 500, length: 2 * text.length + 10_000 });
    runs.add('a', `${text}\n${exchange(100, 'own')}\n${exchange(90_000, 'of another run')}`);
    expect(runs.textOf(1)).toContain('own');
    expect(runs.textOf(1)).not.toContain('of another run');
    for (let index = 0; index < 9; index++) runs.add('b', exchange(1, 'x'.repeat(text.length)));
    runs.add('c', text);
    expect(runs.list().map(({ id }) => id)).toEqual([2, 1]);
  });

  it('InspectedRuns keeps no header of another kind, and forgets the oldest of many sources without a run', () => {
    const runs = new InspectedRuns();
    const header = (more: object) => JSON.stringify({ type: 'recording', version: 2, at: 0, content: false, ...more });
    runs.add('long', `${header({ pad: 'p'.repeat(8000) })}\n${lines.slice(1).join('\n')}`);
    expect(runs.textOf(1)?.length).toBeLessThan(text.length + 1000);
    runs.add('old', header({}));
    for (let index = 0; index < 100; index++) runs.add(`source ${index}`, header({}));
    for (const name of ['old', 'source 99']) runs.add(name, lines.slice(1).join('\n'));
    const isContent = [2, 3].map((id) => /"content":(true|false)/.exec(runs.textOf(id) ?? '')?.[1]);
    expect(isContent).toEqual(['true', 'false']);
  });

  it('InspectedRuns removes the oldest run that has ended', () => {
    const runs = new InspectedRuns({ runs: 2, length: Infinity });
    runs.add('open', lines.slice(0, 3).join('\n'));
    for (const name of ['a', 'b']) runs.add(name, text);
    expect(runs.list().map(({ id }) => id)).toEqual([3, 1]);
    const short = new InspectedRuns({ runs: 500, length: text.length * 1.5 });
    for (const name of ['a', 'b', 'c']) short.add(name, text);
    expect(short.list().map(({ id }) => id)).toEqual([3]);
  });
});
