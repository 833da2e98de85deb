import { from } from 'rxjs';
import { createAgent } from '../../../../lib/agent/createAgent.js';
import { tool } from '../../../../lib/core/tool.js';
import { partialArguments } from '../../../../lib/operators/partialArguments.js';
import { assertTyped } from '../family.js';
import type { Family } from '../family.js';
import { outcome } from '../../../support/outcome.js';
import { bodyOf, modelOfBody, tools, wires } from '../wires.js';

const poisons = [
  '"__proto__":{"polluted":true}',
  '"constructor":{"prototype":{"polluted":true}}',
  '"__proto__":null',
  '"__proto__":"polluted"',
  '"hasOwnProperty":1,"toString":null',
];

/** Adds keys to each object of a JSON text, first or last. Braces inside strings stay. */
function poison(line: string, keys: string, isFirst: boolean): string {
  return line.replace(/"(?:[^"\\]|\\.)*"|\{\}|[{}]/g, (token) => {
    if (token === '{}') return `{${keys}}`;
    if (isFirst && token === '{') return `{${keys},`;
    return !isFirst && token === '}' ? `,${keys}}` : token;
  });
}

/** Replaces the values of `name`, `id` and similar fields by names of prototypes. */
const rename = (line: string, word: string) => line.replace(/"(name|id|type|title|role)":"[^"]*"/g, `"$1":"${word}"`);

/** Keys of prototypes in every object that a server sends: nothing reaches `Object.prototype`. */
export const pollution: Family = {
  name: 'pollution',
  async run(check) {
    const act = tool({ name: 'act', description: 'Acts.', execute: (args) => args });
    for (const wire of wires) {
      const { bytes, contentType } = await bodyOf(wire);
      const lines = new TextDecoder().decode(bytes).split('\n');
      const attack = (name: string, change: (line: string) => string) =>
        check(`${wire}, ${name}`, async () => {
          const body = lines.map((line) => (line.includes('{') ? change(line) : line)).join('\n');
          const model = modelOfBody(wire, [new TextEncoder().encode(body)], contentType);
          const agent = createAgent({ model, tools: [...tools, act], maxTurns: 1 });
          const { values, error } = await outcome(agent.stream('Go.', { fragments: true }));
          await outcome(from(values).pipe(partialArguments()));
          if (error !== undefined) assertTyped(error);
        });
      for (const keys of poisons)
        for (const isFirst of [true, false])
          await attack(`${keys} ${isFirst ? 'first' : 'last'}`, (line) => poison(line, keys, isFirst));
      for (const word of ['__proto__', 'constructor', 'toString', 'then'])
        await attack(`named ${word}`, (line) => rename(line, word));
    }
  },
};
