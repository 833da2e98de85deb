import { describe, expect, it } from '@jest/globals';
import { createAgent } from '../../../lib/agent/createAgent.js';
import { createService } from '../../../lib/service/createService.js';
import { nodeListener } from '../../../lib/service/http/nodeListener.js';
import type { ListenedRequest, ListenedResponse } from '../../../lib/service/http/nodeListener.js';
import { scriptedModel } from '../../../lib/testing/index.js';
import { protocolNames, protocols, startRequest } from '../../support/services.js';
import { inVirtualTime } from '../../support/virtualTime.js';

const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const request: ListenedRequest = { headers: {}, on: () => 0, pause: () => 0, resume: () => 0 };

/** What a connection does with what is written to it. */
interface Peer {
  /** Whether it takes more, and when it says so. Default: never. */
  readonly isFull: boolean;
  readonly drains?: number;
  /** When it has sent all. Default: never. */
  readonly sends?: number;
}

function connection({ isFull, drains, sends }: Peer) {
  const log = { destroyed: NaN, ended: NaN };
  const begun = Date.now();
  const close: (() => void)[] = [];
  const leave = () => {
    for (const listener of close.splice(0)) listener();
  };
  const response: ListenedResponse = {
    writeHead: () => undefined,
    write: () => !isFull,
    end: () => {
      log.ended = Date.now() - begun;
      if (sends !== undefined) setTimeout(leave, sends);
    },
    destroy: () => {
      log.destroyed = Date.now() - begun;
      leave();
    },
    once: (event, listener) => {
      if (event === 'close') close.push(listener);
      else if (drains !== undefined) setTimeout(listener, drains);
    },
  };
  return { response, log };
}

const peers: Readonly<Record<string, readonly [peer: Peer, isDestroyed: boolean]>> = {
  'does not read': [{ isFull: true }, true],
  'reads a little, and not the end': [{ isFull: false }, true],
  'reads slowly': [{ isFull: true, drains: 100, sends: 500 }, false],
  reads: [{ isFull: false, sends: 0 }, false],
};

describe('shutdown x connections of nodeListener', () => {
  const rows = protocolNames.flatMap((name) =>
    Object.entries(peers).flatMap(([peer, [behaviour, isDestroyed]]) =>
      (['stop', 'finish', 'abandon'] as const).map((how) => ({ name, peer, behaviour, isDestroyed, how })),
    ),
  );

  it.each(rows)(
    '$name, $how: a connection that $peer is destroyed: $isDestroyed',
    async ({ name, behaviour, isDestroyed, how }) => {
      const seen = await inVirtualTime(async () => {
        const text = Array.from({ length: 8 }, () => 'word '.repeat(1000));
        const agent = createAgent({ model: scriptedModel([text]) });
        const service = createService({ agent });
        const handler = protocols[name].over(service);
        const { response, log } = connection(behaviour);
        nodeListener(() => handler(startRequest(protocols[name])))(request, response);
        await wait(100);
        const before = Date.now();
        const took = new Promise<number>((resolve) =>
          service.shutdown(how).subscribe({ complete: () => resolve(Date.now() - before) }),
        );
        await wait(60_000);
        return { took: await took, destroyed: log.destroyed };
      });
      expect([!Number.isNaN(seen.destroyed), seen.took <= 10_500]).toEqual([isDestroyed, true]);
      if (isDestroyed) expect(seen.destroyed).toBeLessThanOrEqual(10_500);
    },
  );

  it('a service that has ended its connections has those of its lists and files among them', async () => {
    const destroyed = await inVirtualTime(async () => {
      const service = createService({ agent: createAgent({ model: scriptedModel([]) }) });
      const handler = protocols.agentHandler.over(service);
      const { response, log } = connection({ isFull: true });
      nodeListener(() => handler(new Request('http://service.test/?state=waiting')))(request, response);
      await wait(100);
      service.shutdown().subscribe();
      await wait(60_000);
      return log.destroyed;
    });
    expect(destroyed).toBeLessThanOrEqual(10_500);
  });
});
