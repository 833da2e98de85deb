// A service: uiChatHandler on a real socket.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { uiChatHandler } from 'rivulet/ai-sdk-ui';
import type { OptionsOf } from 'rivulet';
import { nodeListener } from 'rivulet/service';
import type { HandledAgent } from 'rivulet/service';

const closing = new Set<() => void>();

/** Ends the services of a test, and their runs. */
export function closeServices(): void {
  for (const close of closing) close();
  closing.clear();
}

/** Starts a service, and returns the URL of its chat. */
export async function serve<C>(
  agent: HandledAgent<C>,
  options: OptionsOf<typeof uiChatHandler<C>> = {},
): Promise<string> {
  const handler = uiChatHandler(agent, options);
  const server = createServer(nodeListener(handler));
  closing.add(() => {
    handler.shutdown().subscribe();
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/chat`;
}
