import assert from 'node:assert/strict';
import { lastValueFrom, take, toArray } from 'rxjs';
import { createAgent } from '../../../../lib/agent/createAgent.js';
import { userMessage } from '../../../../lib/core/message.js';
import type { Message } from '../../../../lib/core/message.js';
import { modelByName } from '../../../../lib/providers/registry/index.js';
import { toolCall } from '../../../../lib/testing/index.js';
import type { Script } from '../../../../lib/testing/index.js';
import { serveModel } from '../../../../lib/testing/server/index.js';
import type { ServedTurn } from '../../../../lib/testing/server/index.js';
import { offsets, key } from '../family.js';
import type { Family } from '../family.js';
import { tools, wires } from '../wires.js';

/** Calls the tools until the conversation ends with results, then answers. */
const script: Script<ServedTurn> = ({ history }) => {
  const last = history.at(-1)?.parts.at(-1);
  if (last?.type === 'toolResult') return ['It ', 'rains.'];
  return [
    { type: 'thinking', text: 'Hm.' },
    'Let me ',
    'look.',
    toolCall('weather', { city: 'Oslo' }),
    toolCall('look'),
  ];
};

/** A run that is left after every event, and continued with the history that it had. */
export const cancel: Family = {
  name: 'cancel',
  async run(check, { choose }) {
    for (const wire of wires) {
      const server = await serveModel(script, { apiKey: key });
      const model = modelByName(wire, { baseUrl: server.urlFor(wire), apiKey: key, retry: false });
      const agent = createAgent({ model, tools });
      const events = await lastValueFrom(agent.stream('How is it?').pipe(toArray()));
      for (const count of offsets(events.length, choose(Infinity, Infinity)))
        await check(`${wire}, left after ${count} of ${events.length} events`, async () => {
          const left = await lastValueFrom(agent.stream('How is it?').pipe(take(count), toArray()));
          const history: readonly Message[] = [
            userMessage('How is it?'),
            ...left.flatMap((event) => (event.type === 'message' ? [event.message] : [])),
          ];
          const result = await lastValueFrom(agent.run('And now?', { history }));
          assert.equal(result.finishReason, 'stop');
          assert.ok(result.text.endsWith('It rains.'), result.text);
        });
      await check(`${wire}, connections`, () => assert.equal(server.connections, 0));
      await server.close();
    }
  },
};
